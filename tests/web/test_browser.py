"""The browser's modules in a real browser."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Error, Page

from aggregator.estimate.estimator import estimate
from aggregator.intake.ingest import ingest
from aggregator.simulation import random_source, shuffled
from aggregator.study import Study
from aggregator.truth_file import Truth
from edge_sdk import BudgetPolicy, Device
from protocol.campaign import campaign_id, open_campaign
from protocol.domain import Values
from tests.aggregator.simulated import population
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, WEEK, campaign
from tests.edge_sdk.test_declared_priors import of_offered
from tests.edge_sdk.test_roles import PRIOR, of_declared
from tests.vectors import generate
from tests.web import campaigns, twin
from tests.web.chromium import CHROMIUM, Chromium
from tests.web.test_core import CASES, wycheproof

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")


def test_every_vector_holds(browser: Chromium) -> None:
    """In a browser's page, as with node's WebCrypto, each case of each topic and of Wycheproof gives its stated
    result."""
    page = browser.page()
    cases = CASES | {"author": generate.ANALYST.public.hex(), "keys": CASES["keys"] + wycheproof()}
    found = page.evaluate("async (cases) => (await import('/tests/web/vectors.mjs')).faults(cases)", cases)
    page.close()
    assert {topic: len(faults) for topic, faults in found.items()} == {
        topic: len(cases) for topic, cases in cases.items() if topic != "author"
    }
    wrong = [
        f"{topic}: {case.get('name', case)}: {fault}"
        for topic, faults in found.items()
        for case, fault in zip(cases[topic], faults, strict=True)
        if fault is not None
    ]
    assert wrong == []


class Tab:
    """A tab that runs the steps of a device on a separate database."""

    def __init__(self, page: Page, name: str) -> None:
        self.page = page
        self.name = name

    @property
    def options(self) -> dict[str, Any]:
        return {"name": self.name, "trust": [public.hex() for public in twin.TRUST]}

    def run(self, steps: list[dict[str, Any]], name: str = "") -> tuple[list[Any], dict[str, Any]]:
        """Return the result of each step after the first, and the whole state at the end."""
        call = "async ([options, steps]) => (await import('/tests/web/device.mjs')).run(options, steps)"
        found, held = self.page.evaluate(call, [self.options | {"name": self.name + name}, steps])
        return found, held


@pytest.fixture
def tab(browser: Chromium, request: pytest.FixtureRequest) -> Iterator[Tab]:
    page = browser.page()
    yield Tab(page, request.node.name)
    page.close()


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 400), marks=pytest.mark.long)])
def test_the_browser_device_equals_the_python_device(tab: Tab, seeds: range) -> None:
    """A page's device and Python's device with the same random bytes have equal envelopes, charges, refusals and
    ledgers.

    Two campaigns of any kind are joined, agreed to, answered and forgotten in any order, under caps, with a clock that
    may go back.
    """
    answers, refusals = 0, 0
    for seed in seeds:
        answered, refused = twin.difference(seed, partial(tab.run, name=str(seed)))
        answers, refusals = answers + answered, refusals + refused
    assert answers > 3 * len(seeds), "too few answers: most sequences must give some"
    assert refusals > 5 * len(seeds), "too few refusals: most sequences must meet some"


def at(now: float, what: str, *given: Any) -> dict[str, Any]:
    return {"now": now, "what": what, "given": list(given)}


def begun(data: bytes) -> list[dict[str, Any]]:
    """Return the first steps of a device: it joins a campaign and agrees, under caps that are never reached."""
    caps = at(OPENS, "lowerCaps", {"lifetime": str(10**15)})
    return [{"now": OPENS}, caps, at(OPENS, "join", {"bytes": data.hex()}), at(OPENS, "consent", known(data))]


def known(data: bytes) -> dict[str, str]:
    return {"bytes": campaign_id(data).hex()}


def charges(held: dict[str, Any]) -> int:
    return sum(entry[2] == "charge" for entry in held["ledger"])


@pytest.mark.parametrize("kills", [12, pytest.param(200, marks=pytest.mark.long)])
def test_a_killed_tab_has_charged_every_reported_answer(browser: Chromium, tab: Tab, kills: int) -> None:
    """If a tab is closed at a random moment or crashes, its reported answers are charged and reach the study with the
    same bytes.

    The tab answers one new value after another and sends. Each charge reaches the study once. In the short test 12 tabs
    are killed, every fourth by a crash; after each crash, all is compared.
    """
    chance = random.Random(3)
    domain = Values(tuple(map(str, range(24 * kills))))
    data = campaign(domain=domain, answers=4096, periods=2, period_seconds=10**8, addresses=(browser.origin,))
    tab.run(begun(data))
    browser.study.stored.clear()
    browser.study.reported.clear()
    for kill in range(kills):
        page, now = browser.page(), OPENS + 2 * 86_400 * kill
        values = [str(24 * kill + i) for i in range(24)]
        asked = {**tab.options, "now": now, "id": known(data)["bytes"], "values": values}
        page.evaluate("(asked) => { import('/tests/web/device.mjs').then((it) => it.answersOn(asked)) }", asked)
        before = len(browser.study.reported)
        # Every fifth tab may die before it did anything.
        while kill % 5 and len(browser.study.reported) == before:
            page.wait_for_timeout(1)
        page.wait_for_timeout(chance.uniform(0, 60))
        if kill % 4 == 3:
            with pytest.raises(Error):
                page.goto("chrome://crash")
        page.close()
        if kill % 4 == 3:
            [attempts], held = tab.run([{"now": now + 86_400}, at(now + 86_400, "send")])
            assert [one["outcome"] for one in attempts] in ([], ["sent"], ["sent", "sent"])
            assert held["campaigns"][known(data)["bytes"]][0] == []
            # The study has all reports, whether their acknowledgements came before the kill or not; its first envelope
            # is the enrolment.
            came = set(browser.study.stored)
            assert set(browser.study.reported) <= came
            assert len(came) - 1 == charges(held)
    assert len(browser.study.reported) > kills / 2, "too few answers were reported before the tabs were closed"


def test_every_new_output_is_charged_under_a_changing_clock(tab: Tab) -> None:
    """If the clock is set back before the consent, then weeks ahead, and back, every sent report is charged or repeats
    a stored output.

    Every refusal has its reason and no slot is filled twice. `setClock` resets the later time and refunds no budget.
    """
    data = campaign(periods=10)
    weeks = (3, 1, 7, 7, 2, 3, 1, 0, 9)
    at_times = [OPENS + WEEK * week for week in weeks]
    consented, early, *later = at_times
    caps = {"lifetime": str(100 * 10**9)}
    begin = [{"now": OPENS}, at(OPENS, "lowerCaps", caps), at(OPENS, "join", {"bytes": data.hex()})]
    begin += [at(consented, "consent", known(data)), at(early, "answer", known(data), "none")]
    [*_, refused], held = tab.run(begin)
    assert refused == {
        "refused": "OutsideSchedule",
        "message": "the clock shows a time before the consent: correct the clock, and answer again",
    }
    assert charges(held) == 0
    labels = iter(LABELS)
    steps = [step for now in later[:3] for step in (at(now, "answer", known(data), next(labels)), at(now, "budget"))]
    found, held = tab.run([{"now": OPENS}, *steps, at(early, "setClock"), at(early, "setClock")])
    first, spent, again, *_ = found
    assert (first["period"], first["cost"], spent["spent"]) == (7, str(10**9), str(10**9))
    assert again["refused"] == "QuotaReached"
    assert "takes 1 answer a period" in again["message"]
    assert found[4]["refused"] == "OutsideSchedule", "an answer for week 2 precedes the consent in week 3"
    assert found[-2:] == [[campaign_id(data).hex()], []]
    after = [
        at(now, "answer", known(data), value)
        for now, value in zip(later[3:], ("none", "none", "primary", "primary"), strict=True)
    ]
    receipts, held = tab.run([{"now": OPENS}, *after, at(later[0], "answer", known(data), "secondary")])
    *answered, ahead = receipts
    assert [one.get("period") for one in answered] == [3, 1, None, 9]
    assert ahead["refused"] == "QuotaReached", "the period that was answered ahead of time was answered again"
    sent = held["campaigns"][campaign_id(data).hex()][0]
    assert len(sent) - 1 == 4
    assert charges(held) == 2, "the charges are not those of two values"


def test_the_clock_is_not_set_if_a_window_cap_has_no_room(tab: Tab) -> None:
    """The clock is not set if the cap of a window has no room for both the campaign's worst case and the answers that
    have dates in the future; a refusal changes nothing."""
    data = campaign(periods=10)
    early, late = OPENS + WEEK, OPENS + 5 * WEEK
    caps = {"lifetime": str(100 * 10**9), "window": {"seconds": WEEK, "nanonats": str(2 * 10**9)}}
    begin = [{"now": OPENS}, at(OPENS, "lowerCaps", caps), at(OPENS, "join", {"bytes": data.hex()})]
    begin += [at(OPENS, "consent", known(data)), at(late, "answer", known(data), "none")]
    steps = [at(early, "setClock"), at(early, "setClock"), at(late, "setClock")]
    [*_, refused, again, held], _ = tab.run([*begin, *steps])
    assert refused["refused"] == "BudgetRefused"
    assert refused["message"].startswith("answers with later dates may have cost 1 nat, but the window cap of 604800 s")
    assert again == refused
    assert held == []


@pytest.mark.parametrize("data", [of_declared(), of_offered()], ids=["response", "offered"])
def test_terms_and_previews_are_for_the_uniform_or_the_declared_prior(tab: Tab, data: bytes) -> None:
    """Before consent, terms, preview and possible disclosure are those of Python's device: for the uniform prior, or
    for the prior that was declared before the campaign was forgotten."""
    device = Device.open(":memory:", twin.TRUST, clock=lambda: OPENS)
    device.lower_caps(BudgetPolicy(lifetime=100))
    key = device.join(data).campaign_id

    def stated() -> list[Any]:
        terms, preview = device.terms(key), device.preview(key)
        costs = (terms.cost_nanonats, terms.worst_case_nanonats, preview.cost_nanonats)
        return [*map(str, costs), preview.fits_true, preview.fits_other, preview.posterior.after]

    uniform = stated()
    device.consent(key, prior=PRIOR)
    device.forget(key)
    device.join(data)
    assert uniform != stated()
    asked = [at(OPENS, what, known(data)) for what in ("terms", "preview", "reveals")]
    again = [at(OPENS, "forget", known(data)), at(OPENS, "join", {"bytes": data.hex()})]
    first, caps, join, _ = begun(data)
    agree = at(OPENS, "consent", known(data), {"prior": PRIOR})
    found, _ = tab.run([first, caps, join, *asked, agree, *again, *asked])
    for (terms, preview, reveals), expected in ((found[2:5], uniform), (found[-3:], stated())):
        shares = [
            Fraction(int(reveals[name]["n"]), int(reveals[name]["d"])) for name in ("fitsTrue", "fitsOther", "after")
        ]
        assert [terms["cost"], terms["worstCase"], preview["cost"], *shares] == expected


def test_no_answer_to_a_form_is_accepted_before_consent(tab: Tab) -> None:
    """Before consent, preview and possible disclosure refuse all answers to a form alike, so the refusals do not show
    which questions the device is asked; without an answer both are given."""
    answers = ["vote=yes; age=20", "vote=yes; late=no", "age=20; late=no", "nonsense"]
    asked = [
        at(campaigns.NOW, what, known(campaigns.FEW), value) for what in ("preview", "reveals") for value in answers
    ]
    bare = [at(campaigns.NOW, what, known(campaigns.FEW)) for what in ("preview", "reveals")]
    first, caps, join, consent = [one | {"now": campaigns.NOW} for one in begun(campaigns.FEW)]
    found, _ = tab.run([first, caps, join, *asked, *bare, consent, *asked])
    before, (preview, reveals), after = found[2:10], found[10:12], found[13:]
    assert {one["refused"] for one in before} == {"ConsentMissing"}
    assert len({one["message"] for one in before}) == 1
    assert (preview["cost"], "after" in reveals) == (str(10**9), True)
    assert [one.get("refused") for one in after].count("NotInDomain") == 6


AT_ONCE = """([options, steps, start]) => {
  window.over = new Promise((resolve) => setTimeout(resolve, start - Date.now()))
    .then(() => import("/tests/web/device.mjs")).then((it) => it.run(options, steps));
}"""


def test_two_tabs_are_one_device(browser: Chromium, tab: Tab) -> None:
    """If two tabs answer 40 values each at the same time, 20 of which both answer, each slot is filled once and each
    of the 60 values is drawn once."""
    data = campaign(domain=Values(tuple(map(str, range(60)))), answers=100)
    tab.run(begun(data))
    other = browser.page()
    start = time.time() * 1000 + 500
    for page, first in ((tab.page, 0), (other, 20)):
        steps = [at(OPENS, "answer", known(data), str(value)) for value in range(first, first + 40)]
        page.evaluate(AT_ONCE, [tab.options, [{"now": OPENS}, *steps], start])
    found = [receipt for page in (tab.page, other) for receipt in page.evaluate("() => window.over")[0]]
    other.close()
    assert sorted(receipt["slot"] for receipt in found) == list(range(80))
    _, held = tab.run([{"now": OPENS}])
    assert charges(held) == 60
    assert sorted(held["campaigns"][known(data)["bytes"]][1].values()) == [1] * 40 + [2] * 20


def test_an_answer_on_full_storage_changes_nothing(browser: Chromium, request: pytest.FixtureRequest) -> None:
    """If the browser gives no more space, an answer is refused and changes nothing; with free space the next slot is
    answered."""
    data = campaign(domain=Values(tuple(map(str, range(200)))), answers=200)
    # The browser has not cached the storage quota of this origin yet.
    origin = browser.origin.replace("127.0.0.1", "localhost")
    page = browser.page()
    quota = browser.context.new_cdp_session(page)
    quota.send("Storage.overrideQuotaForOrigin", {"origin": origin, "quotaSize": 50_000})
    page.goto(origin)
    tab = Tab(page, request.node.name)
    found, held = tab.run([*begun(data), *(at(OPENS, "answer", known(data), str(value)) for value in range(150))])
    refused = [answer for answer in found[3:] if "refused" in answer]
    assert {answer["refused"] for answer in refused} == {"StoreError"}
    assert "no room left" in refused[0]["message"]
    answered = len(found) - 3 - len(refused)
    assert len(held["campaigns"][known(data)["bytes"]][0]) - 1 == charges(held) == answered
    quota.send("Storage.overrideQuotaForOrigin", {"origin": origin})
    [receipt], after = tab.run([{"now": OPENS}, at(OPENS, "answer", known(data), "199")])
    assert (receipt["slot"], receipt["cost"], charges(after)) == (answered, str(10**9), answered + 1)
    page.close()


def test_a_private_window_is_another_device_and_ends_with_it(browser: Chromium, tab: Tab) -> None:
    """A private window works like any window, shares no data with others, and its device is deleted when it closes."""
    data = campaign(answers=9)
    tab.run(begun(data))
    ids = []
    for _ in range(2):
        with browser.private() as within:
            private = Tab(browser.page(within), tab.name)
            assert private.run([{"now": OPENS}, at(OPENS, "campaigns")])[0] == [[]]
            *_, receipt = private.run([*begun(data), at(OPENS, "answer", known(data), "none")])[0]
            assert (receipt["slot"], receipt["cost"]) == (0, str(10**9))
            ids.append(receipt["envelope"][8:24])
    assert ids[0] != ids[1]
    assert charges(tab.run([{"now": OPENS}])[1]) == 0


def test_uploads_wait_and_are_the_same_bytes(browser: Chromium, tab: Tab) -> None:
    """After a failed upload everything stays in the queue and the same bytes are sent again; the study has each
    envelope once.

    The failures are: no network, status 500, status 503, a lost response, an acknowledgement for other bytes, and a
    study without the campaign.
    """
    data = campaign(answers=9, periods=2, period_seconds=10**8, addresses=(browser.origin,))
    study, day = browser.study, 86_400
    tab.run([*begun(data), at(OPENS, "answer", known(data), "none")])
    study.received.clear()
    study.stored.clear()
    outcomes = []
    tab.page.evaluate("() => import('/tests/web/device.mjs')")
    now = OPENS
    for fault in ("offline", "500", "busy", "drop", "digest", "unknown_campaign", ""):
        now += 2 * day
        study.faults = [fault] if fault not in ("offline", "") else []
        browser.context.set_offline(fault == "offline")
        [[sent, *more]], held = tab.run([{"now": now}, at(now, "send")])
        outcomes.append(sent["outcome"])
        if fault == "busy":
            assert sent["nextAttempt"] >= now + 7200
        # A new answer must not change the upload that is repeated.
        if fault == "digest":
            tab.run([{"now": now}, at(now, "answer", known(data), "master")])
    assert outcomes == ["failed", "failed", "failed", "failed", "failed", "unknown_campaign", "sent"]
    assert len(set(study.received)) == 2
    assert [one["outcome"] for one in more] == ["sent"], "the later answer must be a separate upload"
    [sent], held = tab.run([{"now": now}, at(now, "send")])
    assert (sent, held["campaigns"][known(data)["bytes"]][0]) == ([], [])
    assert len(set(study.stored)) == 3, "expected an enrolment and two reports, whatever was sent twice"
    study.faults = ["refused", "500"]
    tab.run([{"now": now}, at(now, "answer", known(data), "primary")])
    for _ in range(2):
        [[sent]], held = tab.run([{"now": now + day}, at(now + day, "send")])
        assert (sent["outcome"], len(held["campaigns"][known(data)["bytes"]][0])) == ("refused", 1)
    assert study.faults == ["500"], "a refused envelope was sent again"
    study.faults = []


@pytest.mark.parametrize("people", [200, pytest.param(10_000, marks=pytest.mark.long)])
def test_reports_of_browsers_are_counted(browser: Chromium, tmp_path: Path, people: int) -> None:
    """With the same random bytes, devices in the browser send the same reports as simulated people, and the study
    accepts all of them.

    n: 200 people, and 10,000 in the long test; alpha = 5%. The study's simultaneous 95% intervals contain the truth;
    with other seeds, at most one test in twenty would fail.
    """
    data = campaign()
    signed = open_campaign(data, [AUTHOR.public])
    truth = Truth(LABELS, tuple(people * share // 100 for share in (5, 10, 35, 30, 15, 5)))
    expected = b"".join(part.reports for part in population(signed.campaign, signed.id, truth, 0, seed=1))
    persons = []
    for number, group in enumerate(shuffled(truth, seed=1).tolist()):
        draw = random_source(1, number)
        rands = [draw(count).hex() for count in (32, 8, signed.campaign.channel.rand_bytes)]
        persons.append({"name": f"person {number}", "value": LABELS[group], "rands": rands})
    page = browser.page()
    sent = b""
    for begin in range(0, people, 100):
        asked = {
            "trust": [AUTHOR.public.hex()],
            "now": OPENS,
            "data": data.hex(),
            "people": persons[begin : begin + 100],
        }
        sent += bytes.fromhex(
            "".join(page.evaluate("async (asked) => (await import('/tests/web/device.mjs')).crowd(asked)", asked))
        )
    page.close()
    assert sent == expected
    study = Study.create(tmp_path / "study")
    study.import_campaign(data, [AUTHOR.public], "education")
    (tmp_path / "sent.htr").write_bytes(sent)
    result = ingest(study, [tmp_path / "sent.htr"], now=OPENS + 1)
    assert (result.accepted, sum(result.refused.values())) == (people, 0)
    found = estimate(signed, study.tally(signed))
    shares = np.array(truth.counts) / people
    assert ((found.simultaneous_low <= shares) & (shares <= found.simultaneous_high)).all()
