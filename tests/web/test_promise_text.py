"""A page's promise is that of Python's device, and its figures about a report are equal or more cautious."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fractions import Fraction

import pytest
from playwright.sync_api import Page

from edge_sdk.disclosure.posterior import fit_probabilities, posterior_of
from edge_sdk.texts import LANGUAGES, texts_in
from edge_sdk.texts.page import texts_of_page
from protocol import exact
from protocol.campaign import SignedCampaign, open_campaign
from protocol.channels import Bits, Channel
from protocol.channels.bits.channel import S
from protocol.domain import Values
from protocol.notions import Promise
from protocol.notions.classes import class_channels
from protocol.notions.sentences import SENTENCES
from protocol.views import plain_views
from tests.edge_sdk.conftest import LABELS
from tests.families.subset import subset
from tests.test_promise_text import KINDS, made
from tests.web import campaigns, twin
from tests.web.chromium import CHROMIUM, chromium

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")

TRUST = [public.hex() for public in twin.TRUST]
CASES = json.loads((twin.VECTORS / "answer.json").read_text(encoding="utf-8"))["cases"]
WORDS: tuple[Channel, ...] = (
    *(subset(len(LABELS), ones, exact.NANONATS) for ones in range(2, len(LABELS))),
    Bits.over([(S // 2, S // 5 * 2), (S // 5 * 3, S // 2)] * (len(LABELS) // 2)),
)
"""Channels of bit vectors: sets of every size, with and without a remainder, and bits of two classes."""
CAMPAIGNS = list(
    dict.fromkeys(
        [case["campaign"] for case in CASES]
        + [data.hex() for data in (campaigns.EDUCATION, campaigns.CLASSES)]
        + [campaigns.campaign(mechanism=one.family, views=plain_views(one)).hex() for one in WORDS]
    )
)
NOTIONS = [
    campaigns.campaign(domain=Values(tuple("abcd")), notion=notion, views=plain_views(channel)).hex()
    for notion, channel in (made(kind, exact.NANONATS) for kind in KINDS if kind != "classes")
]
"""A campaign of each notion."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started.page()


def signed(data: str) -> SignedCampaign:
    return open_campaign(bytes.fromhex(data), twin.TRUST)


def ask(page: Page, what: str, *given: object) -> list:
    return page.evaluate(
        f"async (given) => (await import('/tests/web/promise_texts.mjs')).{what}(...given)", list(given)
    )


def test_the_page_states_the_same_promise_as_the_device(page: Page) -> None:
    """For every campaign of the vectors, every notion, every class and every language, the page states the same
    promise as Python's device."""
    texts = {language: texts_in(language) | {"promise": SENTENCES[language]} for language in LANGUAGES}
    found = ask(page, "promises", CAMPAIGNS + NOTIONS, TRUST, texts)
    expected, kinds, bundles = [], set(), 0
    for data in CAMPAIGNS + NOTIONS:
        campaign = signed(data).campaign
        kinds.add(campaign.notion.name)
        most = campaign.answers_per_period
        bundles += most > 1
        whole = campaign.view_certificates[0]
        for place in (None, *range(len(campaign.classes))):
            proved = whole if place is None else whole.class_certificates[place]
            expected.append(
                [Promise.of(campaign.notion, proved, place, max_outputs=most).text(language) for language in LANGUAGES]
            )
    assert found == expected
    assert kinds == set(KINDS)
    assert bundles


def test_a_page_has_each_sentence_of_its_promise() -> None:
    """The document of a campaign contains all sentences of its promise, for every class."""
    for data in CAMPAIGNS:
        campaign = signed(data).campaign
        whole = campaign.view_certificates[0]
        for language, texts in texts_of_page(campaign).items():
            for place in (None, *range(len(campaign.classes))):
                promise = Promise.of(
                    campaign.notion,
                    whole if place is None else whole.class_certificates[place],
                    place,
                    max_outputs=campaign.answers_per_period,
                )
                words = [
                    text if isinstance(text, str) else text[promise.sensitive_count != 1]
                    for text in texts["promise"].values()
                ]
                parts = [re.split(r"\{.*?\}", text) for text in words]
                rest = promise.text(language)
                for part in sorted((part for one in parts for part in one), key=len, reverse=True):
                    rest = rest.replace(part, " ")
                assert not re.search(r"[a-zA-Z]", rest), (language, rest)


def test_a_factor_equals_pythons(page: Page) -> None:
    """For levels from a nanonat to 200 nats the factor has the same digits as in Python."""
    levels = sorted({1, 2, 10**9, 2 * 10**9, *(10**6 * 1219**step // 1000**step for step in range(60)), *range(
        19 * 10**9, 200 * 10**9, 10**10 + 7)})  # fmt: skip
    expected = [exact.decimal_text(exact.factor_above(level), group="") for level in levels]
    assert ask(page, "factors", list(map(str, levels))) == expected


def test_the_exposure_on_the_page_is_never_below_the_exact_one(page: Page) -> None:
    """For every channel of the vectors, with and without a history, the page's figures are never below Python's exact
    figures.

    They are equal if the channel is small enough to be audited cell by cell. How often a report fits is equal for every
    channel of bit vectors, too.
    """
    equal, words = 0, set()
    for counts in ((), ((0, 3), (1, 1))):
        for data, revealed in zip(CAMPAIGNS, ask(page, "revelations", CAMPAIGNS, TRUST, list(counts)), strict=True):
            campaign = signed(data).campaign
            channel, proved = campaign.views[0].channel, campaign.view_certificates[0]
            if campaign.classes:
                channel, proved = class_channels(channel, len(campaign.classes))[0], proved.class_certificates[0]
            for x, numbers in zip((None, *range(8)), revealed, strict=False):
                before, after, truth, wrong = (one and Fraction(int(one[0]), int(one[1])) for one in numbers)
                exactly = posterior_of(channel, proved.ldp_level, dict(counts), x)
                assert before == exactly.before
                assert after >= exactly.after
                assert truth is not None or not channel.unary
                if truth is not None:
                    assert channel.unary or after == exactly.after
                    if x is not None or not channel.unary:
                        assert (truth, wrong) == fit_probabilities(channel, exactly.x)
                        equal += 1
                        words |= {channel.family} if channel.unary else set()
    assert equal > 50
    assert words == {"bits", "subset"}
