"""The browser's device: draws, envelope lengths and refusals do not depend on the answers, a forgotten campaign leaves
no answer, and each report goes only to its study."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from playwright.sync_api import Page

from protocol import envelope
from protocol.campaign import campaign_id, open_campaign
from protocol.domain import Form
from tests.edge_sdk.conftest import OPENS, WEEK, campaign
from tests.web import twin
from tests.web.chromium import CHROMIUM, Chromium

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")

TRUST = [public.hex() for public in twin.TRUST]


@pytest.fixture(scope="module")
def page(browser: Chromium) -> Page:
    return browser.page()


def call(page: Page, what: str, *given: Any) -> Any:
    return page.evaluate(f"async (given) => (await import('/tests/web/device.mjs')).{what}(...given)", list(given))


def test_draws_lengths_and_refusals_do_not_depend_on_the_answers(page: Page) -> None:
    """Three equal answers and answers that alternate between two values cannot be distinguished by draws, lengths or
    refusals.

    For every campaign of the answer vectors except forms, both draw the same number of random bytes at the same calls,
    queue envelopes of the same lengths, and get the same refusals.
    """
    people = []
    for number, one in enumerate(twin.CAMPAIGNS):
        campaign = open_campaign(one.data, twin.TRUST).campaign
        # The values depend on the view.
        if isinstance(campaign.domain, Form):
            continue
        values = list(dict.fromkeys(one.answers))[:2]
        times = [campaign.opens + period * campaign.period_seconds for period in range(min(3, campaign.periods))]
        options = {"trust": TRUST, "data": one.data.hex(), "role": one.role, "times": times, "secret": f"{number:064x}"}
        for place, (first, second) in enumerate(itertools.product(values, repeat=2)):
            given = [first, second, first][: len(times)]
            people.append({**options, "name": f"seen {number} {place}", "values": given})
    found = dict(
        zip([(person["data"], str(person["values"])) for person in people], call(page, "seen", *people), strict=True)
    )
    by_campaign = itertools.groupby(found.items(), lambda item: item[0][0])
    alike = [[shape for _, shape in group] for _, group in by_campaign]
    assert sum(len(shapes) > 1 for shapes in alike) > 12, "too few campaigns with several sequences to compare"
    for shapes in alike:
        assert shapes == shapes[:1] * len(shapes)
        _, became, _ = shapes[0]
        assert became[-1] == "BudgetRefused", "the answer after lowering the cap was not refused"
    assert sum("answered" in shapes[0][1] for shapes in alike) > 12


def test_a_forgotten_campaign_leaves_no_answer_in_the_records(page: Page) -> None:
    """Memo, readings, transcript, queue, consent and signed bytes are deleted; the ledger has one sum, and slots stay
    used."""
    for data in (
        campaign(answers=3),
        next(one.data for one in twin.CAMPAIGNS if open_campaign(one.data, twin.TRUST).campaign.transcript),
    ):
        opened, known = open_campaign(data, twin.TRUST).campaign, {"bytes": campaign_id(data).hex()}
        name = f"forgetting {opened.title}"
        values = [opened.domain.label(x) for x in (0, 1)]
        at = [
            {"now": opened.opens + place * opened.period_seconds, "what": "answer", "given": [known, value]}
            for place, value in enumerate(values)
        ]
        begin = [
            {"what": "lowerCaps", "given": [{"lifetime": str(10**15)}]},
            {"what": "join", "given": [{"bytes": data.hex()}]},
            {"what": "consent", "given": [known]},
        ]
        options = {"name": name, "trust": TRUST}
        now = {"now": opened.opens}
        answered, _ = call(page, "run", options, [now, *({**now, **step} for step in begin), *at])
        assert [receipt["repeated"] for receipt in answered[-2:]] == [False, False]
        [before, signed] = call(page, "records", name, known["bytes"])
        assert (len(before["memo"]), bool(signed)) == (2, True)
        call(page, "run", options, [at[-1], {**at[-1], "what": "forget", "given": [known]}])
        [kept, signed] = call(page, "records", name, known["bytes"])
        assert signed is None
        assert [kept[part] for part in ("memo", "readings", "transcript", "outbox")] == [[]] * 4
        assert [kept[part] for part in ("joined", "consent")] == [None, None]
        assert [entry["kind"] for entry in kept["ledger"]] in (["reserve", "carry"], ["reserve", "carry", "release"])
        assert sum(slots for _, slots in kept["used"]) == 2


def test_each_report_goes_only_to_its_study(browser: Chromium, page: Page) -> None:
    """With two campaigns, each study receives only its own envelopes; envelopes that one study refuses are not sent to
    the other."""
    study = browser.study
    made = {path: campaign(title=path, answers=9, addresses=(browser.origin + path,)) for path in ("/first", "/second")}
    known = {path: {"bytes": campaign_id(data).hex()} for path, data in made.items()}
    steps = [{"what": "lowerCaps", "given": [{"lifetime": str(10**15)}]}]
    for path, data in made.items():
        steps += [
            {"what": "join", "given": [{"bytes": data.hex()}]},
            {"what": "consent", "given": [known[path]]},
            {"what": "answer", "given": [known[path], "master"]},
        ]
    study.faults = ["unknown_campaign"]
    for name in ("received", "paths"):
        getattr(study, name).clear()
    days = [OPENS, OPENS, OPENS + WEEK, OPENS + 2 * WEEK]
    sends = [{"now": now, "what": "send", "given": []} for now in days[1:]]
    found, held = call(
        page,
        "run",
        {"name": "two studies", "trust": TRUST},
        [{"now": OPENS}, *({"now": OPENS} | step for step in steps), *sends],
    )
    assert sorted(one["outcome"] for one in found[-3]) == ["sent", "unknown_campaign"]
    assert [one["outcome"] for one in found[-2]] == ["sent"]
    assert {tuple(waits) for waits, _ in held["campaigns"].values()} == {()}
    assert len(study.received) == 3
    keys: dict[str, set[bytes]] = {path: set() for path in made}
    for path, body in zip(study.paths, study.received, strict=True):
        own, other = path.removesuffix("/v1/reports"), next(one for one in made if not path.startswith(one))
        assert campaign_id(made[own]) in body
        assert campaign_id(made[other]) not in body
        sealed = [one for one in envelope.read_batch(body) if isinstance(one, envelope.Envelope)]
        assert len(sealed) == 2
        keys[own] |= {one.key_id for one in sealed}
    assert not keys["/first"] & keys["/second"], "a key of one study reached the other"
