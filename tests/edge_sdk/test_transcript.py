"""A device with transcripts: the channel of each report is designed for the posterior after the earlier reports."""

from __future__ import annotations

import pytest

from edge_sdk import BudgetPolicy
from edge_sdk.budget.ledger import EntryKind
from edge_sdk.errors import BudgetRefused, QuotaReached
from protocol import envelope, exact
from protocol.campaign import Campaign, open_campaign, seal_campaign
from protocol.domain import Values
from protocol.errors import CampaignError, OutsideSchedule
from protocol.notions.transcript import TranscriptPrior
from protocol.report import Report
from protocol.views import plain_views
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, WEEK, Dice

NAT = exact.NANONATS
NOTION = TranscriptPrior(NAT, (50, 20, 10, 10, 5, 5))
DRIFTING = TranscriptPrior(NAT, NOTION.prior, 6554)


def made(notion: TranscriptPrior = NOTION, channel=None, **changes) -> bytes:
    fields = {
        "title": "Mood", "question": "How are you?", "purpose": "", "organisation": "Town library",
        "domain": Values(LABELS), "notion": notion, "mechanism": "lip-response",
        "views": plain_views(channel or notion.channel_of(notion.prior)), "opens": OPENS, "closes": OPENS + 10 * WEEK,
        "period_seconds": WEEK, "answers_per_period": 1, "minimum_devices": 1, "enrolment": "open",
    }  # fmt: skip
    return seal_campaign(Campaign(**{**fields, **changes}), AUTHOR)


def report_of(data: bytes, sealed: bytes) -> tuple[int, int, int]:
    """Return the period, slot and output of a report."""
    report = Report.decode(envelope.decode(sealed).unverified)
    [y] = report.outputs(open_campaign(data, [AUTHOR.public]).campaign, None)
    return report.period, report.slot, y


@pytest.fixture
def agreed(open_device):
    """Return a function that opens a device and agrees to a campaign; it returns the device and the campaign's id."""

    def make(data: bytes, place: object = ":memory:", **options):
        device = open_device(place, **options)
        joined = device.join(data).campaign_id
        device.consent(joined)
        return device, joined

    return make


@pytest.mark.parametrize("notion", [NOTION, DRIFTING], ids=["still", "drifting"])
@pytest.mark.parametrize("periods", [range(6), (0, 1, 4, 5, 9)], ids=["every", "some"])
def test_every_report_is_drawn_for_the_earlier_ones(agreed, clock, notion, periods) -> None:
    """Each output is a sample of the channel for the posterior after the earlier outputs, and its slot is the number of
    these."""
    data, dice = made(notion), Dice(7)
    device, joined = agreed(data, urandom=dice)
    earlier = []
    for number, period in enumerate(periods):
        clock.now = OPENS + period * WEEK
        receipt = device.answer(joined, LABELS[2])
        expected = notion.channel_of(notion.prior_after(earlier, period)).sample(2, dice.given[-1])
        assert report_of(data, receipt.envelope) == (period, number, expected)
        earlier.append((period, expected))
    assert len({channel for _, channel in earlier}) > 1, "no period drew another output, so nothing was tested"


def test_every_report_costs_the_level(agreed, clock) -> None:
    """The level is reserved for every period and charged for every report, for all answers."""
    device, joined = agreed(made())
    assert device.terms(joined).worst_case_nanonats == device.budget.reserved_nanonats == 10 * NAT
    for period, label in enumerate([LABELS[0]] * 3 + [LABELS[3]]):
        clock.now = OPENS + period * WEEK
        assert device.preview(joined, label).cost_nanonats == NAT
        assert device.answer(joined, label).cost_nanonats == NAT
        assert device.preview(joined, label).cost_nanonats == 0
    assert device.budget.spent_nanonats == 4 * NAT
    assert device.budget.reserved_nanonats == 6 * NAT
    device.forget(joined)
    assert (device.budget.spent_nanonats, device.budget.reserved_nanonats) == (4 * NAT, 0)


def test_the_worst_case_counts_every_period_of_a_window(open_device) -> None:
    """In a window, a campaign of two values and many periods costs one report for each period that the window touches,
    not one for each value."""
    notion = TranscriptPrior(NAT // 10, (3, 1))
    data = made(notion, domain=Values(("yes", "no")))
    device = open_device(budget=BudgetPolicy(lifetime=10, window=(3 * WEEK, 0.39)))
    with pytest.raises(BudgetRefused, match="window"):
        # An interval of three weeks touches four periods.
        device.join(data)
    open_device(budget=BudgetPolicy(lifetime=1, window=(3 * WEEK, 0.4))).join(data)
    with pytest.raises(BudgetRefused, match="lifetime"):
        open_device(budget=BudgetPolicy(lifetime=0.99)).join(data)


def test_within_a_period_the_same_value_is_the_same_report(agreed, clock) -> None:
    """A retry in the same period gives the same bytes at no cost, and another value is refused."""
    data = made()
    device, joined = agreed(data)
    for period in range(3):
        clock.now = OPENS + period * WEEK
        first = device.answer(joined, LABELS[0])
        again = device.answer(joined, LABELS[0])
        assert again.repeated
        assert (again.envelope, again.cost_nanonats) == (first.envelope, 0)
        with pytest.raises(QuotaReached):
            device.answer(joined, LABELS[1])
    number = device.records.campaigns.number(joined)
    assert [period for period, _ in device.records.transcripts.of(number)] == [0, 1, 2]
    # The queue has one enrolment and three reports.
    assert len(device.outbox) == 4


def test_a_transcript_is_charged_by_its_level_and_exposed_by_ldp(agreed, clock) -> None:
    """Each report is charged at the declared level. The exposure is the sum of the LDP levels of the channels that were
    used, at most twice as much."""
    data = made()
    device, joined = agreed(data)
    earlier, ldp = [], 0
    for period in range(4):
        clock.now = OPENS + period * WEEK
        ldp += NOTION.certificate_of(NOTION.prior_after(earlier, period)).ldp_level
        earlier.append((period, report_of(data, device.answer(joined, LABELS[5]).envelope)[2]))
    [exposed] = device.exposure(joined).campaigns
    assert (device.budget.spent_nanonats, exposed.nanonats) == (4 * NAT, ldp)
    assert 4 * NAT < ldp <= 8 * NAT + 40


def test_a_transcript_outlives_the_process(agreed, open_device, place, clock) -> None:
    """A device that is opened again continues its transcript."""
    data, dice = made(), Dice(2)
    device, joined = agreed(data, place)
    earlier = [(0, report_of(data, device.answer(joined, LABELS[1]).envelope)[2])]
    device.close()
    clock.now = OPENS + WEEK
    device = open_device(place, urandom=dice)
    receipt = device.answer(joined, LABELS[1])
    expected = NOTION.channel_of(NOTION.prior_after(earlier, 1)).sample(1, dice.given[-1])
    assert report_of(data, receipt.envelope) == (1, 1, expected)


def test_a_report_for_an_earlier_period_is_refused(agreed, clock) -> None:
    """A report for a period before the latest one is refused without a charge, because it would depend on a later
    report."""
    device, joined = agreed(made())
    for period in (0, 2):
        clock.now = OPENS + period * WEEK
        device.answer(joined, LABELS[0])
    clock.now = OPENS + WEEK
    with pytest.raises(OutsideSchedule, match="clock"):
        device.answer(joined, LABELS[0])
    assert device.budget.spent_nanonats == 2 * NAT
    clock.now = OPENS + 3 * WEEK
    assert device.answer(joined, LABELS[0]).slot == 2


def test_a_forgotten_transcript_ends_its_campaign(agreed, place) -> None:
    """After an answer, forgetting ends the campaign permanently; the spent amount stays, and all outputs are
    deleted."""
    data = made()
    device, joined = agreed(data, place)
    device.answer(joined, LABELS[0])
    device.forget(joined)
    assert device._store.rows("SELECT * FROM transcript") == []
    device.join(data)
    with pytest.raises(CampaignError, match="transcript"):
        device.consent(joined)
    assert not device.consented(joined)
    assert [(entry.kind, entry.nanonats) for entry in device.ledger] == [
        (EntryKind.RESERVE, 10 * NAT), (EntryKind.CARRY, NAT), (EntryKind.RELEASE, 9 * NAT),
    ]  # fmt: skip


def test_a_transcript_without_answers_may_be_joined_again(agreed) -> None:
    """A campaign that is forgotten before any answer may be joined again, because no later channel depends on a
    report."""
    data = made()
    device, joined = agreed(data)
    device.forget(joined)
    device.join(data)
    device.consent(joined)
    assert device.answer(joined, LABELS[0]).slot == 0


def test_random_bytes_and_lengths_do_not_depend_on_the_answer(agreed, clock) -> None:
    """For each of three sequences of answers, the same numbers of random bytes are drawn, and the reports have the same
    lengths."""
    data, seen = made(), set()
    for answers in ([0, 0, 0], [0, 3, 5], [5, 5, 1]):
        dice = Dice()
        clock.now = OPENS
        device, joined = agreed(data, urandom=dice)
        lengths = []
        for period, x in enumerate(answers):
            clock.now = OPENS + period * WEEK
            lengths.append(len(device.answer(joined, LABELS[x]).envelope))
        seen.add((tuple(lengths), tuple(dice.asked)))
        assert lengths == [device.preview(joined).report_bytes] * 3
    assert len(seen) == 1


def test_the_terms_state_that_reports_build_on_each_other(open_device) -> None:
    """The terms say before consent that reports build on each other."""
    terms = open_device().join(made())
    assert "earlier reports" in terms.promise.text()
    assert terms.cost_nanonats == NAT
