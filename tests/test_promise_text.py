"""The promise that people read is true: in every program and notion, each bound is the exact one, rounded up.

The exact factors are computed here with 80 decimal digits, not by the tested code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Context, Decimal

import pytest

from aggregator.author.audit import Audit
from aggregator.families.lifts import level_for_ball
from aggregator.present import listing
from aggregator.present.page_promise import promise_section
from demo_app import texts
from edge_sdk.campaigns.terms import Terms
from protocol import exact, notions, personal
from protocol.campaign import Campaign, SignedCampaign
from protocol.channels import Blocks, Channel, Hadamard, RandomizedResponse
from protocol.domain import Values
from protocol.notions import Certificate, Notion, Promise
from protocol.notions.sentences import MARKS, SENTENCES
from protocol.views import plain_views
from tests.edge_sdk.conftest import response
from tests.families.hadamard import truth_of

K = 4
PRIOR = (4, 3, 2, 1)
NAT = exact.NANONATS
LEVELS = sorted({10**6 + step * (20 * NAT - 10**6) // 49 for step in range(50)} | {10**6 * 1219**step // 1000**step
                for step in range(50)})  # fmt: skip
"""99 levels of 0.001 to 20 nats, half of them evenly spread, half evenly by their logarithms."""

WIDE = Context(prec=80)
BOUND = re.compile(r"(?:at most|up to|höchstens|bis zu) ([0-9][0-9.,^]*[0-9]|[0-9])(?![0-9]|[.,][0-9]| (?:of|von) 100)")


def one_sided(level: int) -> RandomizedResponse:
    """Return a channel in which value 0 satisfies the level against every other value, and the others exceed it by far
    against value 0."""
    rare = 2**40
    return RandomizedResponse(
        K, (-(-((2**64 - (K - 1) * rare) << exact.EXP_BITS) // exact.exp_lower(level)), *(rare,) * (K - 1))
    )


def two_blocks(level: int) -> Blocks:
    inner = Hadamard(truth_of(level), 2)
    return Blocks(0, ((1, 2), (2, 2)), (inner, inner))


def made(kind: str, level: int) -> tuple[Notion, Channel]:
    """Return a notion of this kind at a level, and a channel that satisfies it."""
    half = max(exact.MIN_LEVEL, level // 2)
    few = response(K, half)
    rows = tuple(tuple(0 if x == y else half if x + y == 1 else level for y in range(K)) for x in range(K))
    if kind == "ldp":
        return notions.Ldp(level), response(K, level)
    if kind == "high-low":
        return notions.HighLow(level, K, (0,)), one_sided(level)
    if kind == "block":
        return notions.Block.over(level, [0, 0, 1, 1]), two_blocks(level)
    if kind == "pairwise":
        return notions.Matrix(level, rows), few
    if kind == "geo":
        return notions.Geo(half, 2, (), ((3, K - 1),)), few
    if kind in ("minid", "avgid"):
        return notions.Graded.over([half, level + 1, level + 1, level + 1], kind), few
    if kind == "lip":
        return notions.Lip(level, PRIOR, 10**7), personal.lip_response(PRIOR, level_for_ball(level, 10**7))
    if kind == "own-lip":
        return (notion := notions.DeclaredPrior(level, K)), notion.channel_of(notion.uniform)
    if kind == "transcript-lip":
        return (start := notions.TranscriptPrior(level, PRIOR)), start.channel_of(PRIOR)
    if kind == "mutual-information":
        return notions.MutualInformation(level, PRIOR), response(K, level)
    return notions.Classes.of((notions.Ldp(level), notions.Ldp(half))), Blocks(
        0, ((1, K), (2, K)), (response(K, level), few)
    )


def expected(notion: Notion, certificate: Certificate) -> list[int]:
    """Return the levels that occur in the sentences of a notion, in their order."""
    level, ldp = notion.level, certificate.ldp_level
    more = [] if ldp is None or ldp <= level else [ldp]
    if isinstance(notion, notions.Geo):
        near, twice = (notion.level * steps * notion.smallest_gap // notion.unit for steps in (1, 2))
        return [near, twice, *([] if ldp is None or ldp <= twice else [ldp])]
    if isinstance(notion, notions.Graded | notions.Matrix):
        return [min(bound for _, _, bound in notion.bounds()), level, *more]
    if isinstance(notion, notions.Lip):
        return [level, level, certificate.ball_level, certificate.ball_level, ldp]
    if isinstance(notion, notions.DeclaredPrior | notions.TranscriptPrior):
        return [level, level, 2 * level]
    if isinstance(notion, notions.MutualInformation):
        return [level, ldp]
    return [level, *more]


def require_true(text: str, levels: Sequence[int], language: str = "en") -> None:
    """Check that each bound in the text is at least e^level, and exceeds it by less than one unit of the last digit."""
    point, group = MARKS[language]
    written = [found.replace(group, "").replace(point, ".").replace("10^", "1e") for found in BOUND.findall(text)]
    shown = [Decimal(number) for number in written]
    assert len(shown) == len(levels), text
    for printed, level in zip(shown, levels, strict=True):
        factor = WIDE.exp(Decimal(level) / NAT)
        digits = factor - 1 if factor < 2 else factor
        unit = Decimal(1).scaleb(digits.adjusted() - (1 if factor < 10**15 else -1))
        assert printed >= factor, (text, level)
        assert printed - factor < unit, (text, level)


KINDS = [*notions._FROM_WIRE, notions.Classes.name]


@pytest.mark.parametrize("kind", KINDS)
def test_every_stated_bound_is_the_exact_one_rounded_up(kind: str) -> None:
    """The device's terms, the app in both languages, the aggregator's audit and the page state each bound of a notion
    as the exact factor, rounded up by less than a unit of its last digit, at each of ``LEVELS`` that the notion can
    have."""
    for level in LEVELS:
        if kind in ("minid", "avgid", "pairwise") and not 2 * exact.MIN_LEVEL <= level < exact.MAX_LEVEL:
            continue
        notion, channel = made(kind, level)
        names = ("first", "second") if kind == "classes" else ()
        campaign = Campaign(
            "T", "Q?", "", "Library", Values(tuple("abcd")), notion, "by hand", plain_views(channel), 0, 9, 9, 1, 1,
            "open", names,
        )  # fmt: skip
        signed = SignedCampaign(campaign, bytes(16), bytes(32), b"")
        listed = listing._promises(campaign)
        page = str("".join(promise_section(Audit(campaign, None, None, None, None))))
        for place, certificate in enumerate(campaign.certificates):
            inner = notion.notions[place] if isinstance(notion, notions.Classes) else notion
            levels = expected(inner, certificate)
            terms = Terms.of(signed, certificate, place if names else None, 0)
            require_true(terms.promise.text(), levels)
            for language in texts.LANGUAGES:
                require_true(terms.promise.text(language), levels, language)
            require_true(listed[place][1], levels)
            assert terms.promise.text() in page


def test_every_notion_has_its_sentences_in_every_language() -> None:
    """Every kind of notion has its sentences in every language of the app; all languages have the same ones. No
    sentence is about the true shares of answers, which no prior promises."""
    assert set(texts.LANGUAGES) == set(SENTENCES) == set(MARKS)
    for sentences in SENTENCES.values():
        assert set(KINDS) <= sentences.keys() == SENTENCES["en"].keys()
        said = " ".join(part for text in sentences.values() for part in ([text] if isinstance(text, str) else text))
        assert not re.search(r"likelier|more likely|wahrscheinlicher", said)
        assert not re.search(r"people in this survey|those in this survey|Befragte", said)


def test_the_promise_of_a_report_with_several_answers_is_for_each_of_them() -> None:
    """If a report can contain 24 answers, terms, audit and page say that every limit is for one of them; if it can
    contain one, they do not."""
    notion, channel = made("ldp", NAT)
    for most in (1, 24):
        campaign = Campaign(
            "T", "Q?", "", "Library", Values(tuple("abcd")), notion, "by hand", plain_views(channel), 0, 9, 9, most, 1,
            "open",
        )  # fmt: skip
        terms = Terms.of(SignedCampaign(campaign, bytes(16), bytes(32), b""), campaign.certificate, None, 0)
        page = str("".join(promise_section(Audit(campaign, None, None, None, None))))
        for said in (terms.promise.text(), listing._promises(campaign)[0][1], page):
            assert ("up to 24 of your answers" in said) == (most == 24)
        assert ("bis zu 24 Ihrer Antworten" in terms.promise.text("de")) == (most == 24)


def test_the_promise_of_high_low_names_the_unprotected_direction() -> None:
    """For high-low, the promise says in both languages that an answer that is not sensitive is not protected; if
    nothing bounds a report, it says that the report may reveal the answer for certain."""
    notion, channel = made("high-low", NAT)
    certificate = notions.certify(channel, notion)
    assert certificate.ldp_level is not None
    assert certificate.ldp_level > 5 * NAT
    for language, words in {
        "en": "Answers that are not sensitive are not protected",
        "de": "Antworten, die nicht heikel sind",
    }.items():
        assert words in Promise.of(notion, certificate, max_outputs=1).text(language)
    blocks = Blocks.over(
        -(-(1 << 127 << exact.EXP_BITS) // exact.exp_lower(NAT)), [0, 1, 1, 0], lambda _: two_blocks(NAT).channels[0]
    )
    sided = notions.HighLow(NAT, K, (1, 2))
    assert "for certain" in Promise.of(sided, notions.certify(blocks, sided), max_outputs=1).text()


@pytest.mark.parametrize(
    ("nats", "english", "german"),
    [
        (0.4, "1.5", "1,5"),
        (1, "2.8", "2,8"),
        (7.04, "1200", "1200"),
        (12, "170,000", "170.000"),
        (100, "10^44", "10^44"),
    ],
)
def test_the_app_writes_factors_as_its_language_does(nats: float, english: str, german: str) -> None:
    """A factor is rounded up to two digits and written with the language's separators; a huge factor is written as a
    power of ten."""
    for language, words in {"en": english, "de": german}.items():
        texts.use_language(language)
        assert texts.factor_text(nats) == words
    texts.use_language("en")
