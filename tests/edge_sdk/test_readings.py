"""Readings: the slot of an answer, the collected readings, and the number of readings under one signature."""

from __future__ import annotations

import itertools
import json
import time

import pytest

from aggregator.intake.ingest import ingest
from aggregator.study import Study
from edge_sdk import Device
from edge_sdk.__main__ import main
from edge_sdk.answers import slots
from edge_sdk.errors import BudgetRefused, NotJoined, OutboxFull, QuotaReached, StoreError
from edge_sdk.timestamps import utc_text
from edge_sdk.transport.stored_outbox import MAX_ENVELOPES, MAX_WAITING_BYTES
from protocol import envelope, exact
from protocol.campaign import Campaign, open_campaign, seal_campaign
from protocol.channels import Bits
from protocol.domain import DITHER_BYTES, Values
from protocol.envelope import MAX_PAYLOAD, Kind
from protocol.errors import CampaignError, NotInDomain, OutsideSchedule
from protocol.keys import SigningKey, public_line
from protocol.notions import Ldp
from protocol.notions.transcript import TranscriptPrior
from protocol.report import Report
from protocol.views import plain_views
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, WEEK, Clock, Dice, agreed, campaign

NAT = exact.NANONATS
HOUR, DAY = 3600, 86_400


def hourly(answers=24, **changes):
    """Return a campaign of hourly readings, in periods of a day, for enrolled keys."""
    return campaign("Load", periods=365, period_seconds=DAY, answers=answers, enrolment="enrolled", **changes)


def wide(k: int, answers: int) -> bytes:
    """Return a campaign whose outputs have ``k`` bits."""
    channel = Bits.over([(3 << 30, 1 << 30)] * k)
    level = channel.loss(range(k), range(k)).level
    domain = Values(tuple(f"v{x}" for x in range(k)))
    campaign = Campaign(
        "Wide", "Which?", "", "Town", domain, Ldp(level), "rappor", plain_views(channel), OPENS, OPENS + DAY, DAY,
        answers, 1, "enrolled",
    )  # fmt: skip
    return seal_campaign(campaign, AUTHOR)


def exported(device, folder):
    """Export the waiting reports and return them, verified, by campaign; the queue is empty afterwards."""
    batch = b""
    for one in device.outbox.destinations():
        path = folder / f"{time.monotonic_ns()}.htr"
        device.outbox.export(path, one.campaign_id)
        batch += path.read_bytes()
    found = []
    for item in envelope.read_batch(batch):
        report = Report.decode(item.unverified)
        item.open(SigningKey.for_campaign(device._store.secret, report.campaign_id).public)
        found.append(report)
    return found


def places(reports):
    return [(report.period, report.slot, report.count) for report in reports]


# Readings


def test_a_repeated_reading_gives_the_same_bytes_or_is_refused(open_device, place):
    """Every reading of the period can be repeated and gives the same bytes, also after a restart; with another value it
    is refused and changes nothing."""
    values = ("none", "primary", "none", "none")
    with open_device(place) as device:
        campaign_id = agreed(device, hourly(4))
        first = [device.answer(campaign_id, value).envelope for value in values]
    device = open_device(place)
    before = (device.budget.spent, len(device.outbox), device.history(campaign_id))
    for number, value in enumerate(values):
        again = device.answer(campaign_id, value, number)
        assert (again.envelope, again.slot, again.cost, again.repeated) == (first[number], number, 0.0, True)
        with pytest.raises(QuotaReached):
            device.answer(campaign_id, "doctorate", number)
    assert (device.budget.spent, len(device.outbox), device.history(campaign_id)) == before


def test_a_skipped_slot_is_refused(open_device, clock):
    """A skipped slot is refused in the same words as a filled one; the next free slot is accepted."""
    device = open_device()
    campaign_id = agreed(device, hourly(6))
    assert device.answer(campaign_id, "none", 2).slot == 2
    refusals = set()
    for value, number in itertools.product(("none", "primary"), (0, 1)):
        with pytest.raises(QuotaReached) as caught:
            device.answer(campaign_id, value, number)
        refusals.add(str(caught.value).replace(f"slot {number}", "slot N"))
    with pytest.raises(QuotaReached) as caught:
        device.answer(campaign_id, "primary", 2)
    refusals.add(str(caught.value).replace("slot 2", "slot N"))
    assert refusals == {
        "slot N of this period was already filled or skipped: use slot 3 or a later one, or name no slot"
    }
    assert device.answer(campaign_id, "none").slot == 3
    assert device.answer(campaign_id, "none", 5).slot == 5
    with pytest.raises(
        QuotaReached,
        match="takes 6 answers a period, and this period is full: the next period begins at "
        f"{utc_text(clock.now + DAY)}",
    ):
        device.answer(campaign_id, "none")
    clock.now += DAY
    assert device.answer(campaign_id, "none", 1).slot == 1


@pytest.mark.parametrize("number", [-1, 4, 2**70, True, 1.0, "1"])
def test_a_slot_outside_the_period_is_refused(open_device, number):
    """A slot outside the period's range is refused before anything is drawn."""
    dice = Dice()
    device = open_device(urandom=dice)
    campaign_id = agreed(device, hourly(4))
    for give in (device.answer, device.collect):
        with pytest.raises(ValueError, match="from 0 to 3"):
            give(campaign_id, "none", number)
    assert dice.asked == [32, DITHER_BYTES]


def test_forty_days_of_hourly_readings_remember_one_day(open_device, clock):
    """With hourly readings for 40 days, the store has the readings of one day only; those of earlier periods are
    deleted once they are sealed."""
    device = open_device()
    campaign_id = agreed(device, hourly())
    for day in range(40):
        for hour in range(24):
            clock.now = OPENS + day * DAY + hour * HOUR
            device.collect(campaign_id, LABELS[(day + hour) % 5], hour)
        device.bundle(campaign_id)
        assert device._store.rows("SELECT count(*) FROM reading") == [(24,)]
        with device._store.transaction():
            device.outbox.forget(device.records.campaigns.number(campaign_id))
    assert device.budget.spent == 5
    assert sum(device.history(campaign_id).values()) == 40 * 24


def test_the_latest_reading_is_repeated_after_the_clock_went_back(open_device, clock):
    """The clock runs ahead, goes back, and is right again. The latest period's report is returned once more, with the
    same bytes, although the memo's latest report of the value is that of the earlier period."""
    device = open_device()
    campaign_id = agreed(device, campaign(period_seconds=DAY))
    clock.now += 2 * DAY
    given = device.answer(campaign_id, "none")
    clock.now -= DAY
    earlier = device.answer(campaign_id, "none")
    clock.now += DAY
    again = device.answer(campaign_id, "none")
    assert not earlier.repeated
    assert again.repeated
    assert again.envelope == given.envelope
    with pytest.raises(QuotaReached):
        device.answer(campaign_id, "primary")


def test_a_clock_set_back_fills_no_slot_twice(open_device, clock):
    """After the clock went back, an earlier period whose readings were deleted accepts no reading again."""
    device = open_device()
    campaign_id = agreed(device, hourly(3))
    clock.now = OPENS + DAY
    for _ in range(3):
        device.answer(campaign_id, "none")
    clock.now += DAY
    device.answer(campaign_id, "none")
    clock.now -= DAY
    for value, number in itertools.product(("none", "primary"), range(3)):
        with pytest.raises(QuotaReached):
            device.answer(campaign_id, value, number)
    assert len(device.outbox) == 4


def test_forgetting_deletes_readings_and_keeps_slots_used(open_device, place):
    """Waiting and remembered readings are deleted; joining again continues with the next slot."""
    device = open_device(place)
    data = hourly(4)
    campaign_id = agreed(device, data)
    device.answer(campaign_id, "none")
    device.collect(campaign_id, "primary")
    device.forget(campaign_id)
    assert device._store.rows("SELECT * FROM reading") == []
    agreed(device, data)
    assert device.collected(campaign_id) == 0
    with pytest.raises(QuotaReached):
        device.answer(campaign_id, "none", 0)
    assert device.answer(campaign_id, "none").slot == 2
    assert device.budget.spent == 3


def test_a_transcript_has_one_reading_for_each_period(open_device, clock):
    """With transcripts, a period has one reading, and each report is sent separately."""
    notion = TranscriptPrior(NAT, (50, 20, 10, 10, 5, 5))
    campaign = Campaign(
        "Mood", "How?", "", "Town", Values(LABELS), notion, "lip-response",
        plain_views(notion.channel_of(notion.prior)), OPENS, OPENS + 5 * WEEK, WEEK, 1, 1, "enrolled",
    )  # fmt: skip
    device = open_device()
    campaign_id = agreed(device, seal_campaign(campaign, AUTHOR))
    first = device.answer(campaign_id, "none", 0)
    assert device.answer(campaign_id, "none").envelope == first.envelope
    clock.now += 2 * WEEK
    assert device.answer(campaign_id, "none", 0).slot == 1
    with pytest.raises(CampaignError, match="answer without collecting"):
        device.collect(campaign_id, "none")
    with pytest.raises(ValueError, match="from 0 to 0"):
        device.answer(campaign_id, "none", 1)


# Bundles


@pytest.mark.parametrize("values", [("none",) * 5, ("none", "primary", "none", "doctorate", "master")])
def test_a_bundle_has_the_outputs_of_single_reports(open_device, tmp_path, values):
    """With the same random bytes, one bundle contains the outputs of the corresponding single reports, at the same
    cost, in one envelope."""
    data = hourly()
    campaign = open_campaign(data, [AUTHOR.public]).campaign
    single, bundling = open_device(urandom=Dice(4)), open_device(urandom=Dice(4))
    campaign_id = agreed(single, data)
    agreed(bundling, data)
    receipts = [single.answer(campaign_id, value) for value in values]
    kept = [bundling.collect(campaign_id, value) for value in values]
    assert [(one.slot, one.cost, one.repeated) for one in kept] == [
        (one.slot, one.cost, one.repeated) for one in receipts
    ]
    assert (bundling.collected(campaign_id), len(bundling.outbox)) == (5, 0)
    assert bundling.budget.spent == single.budget.spent == len(set(values))
    assert bundling.bundle(campaign_id) == 1
    assert (bundling.collected(campaign_id), bundling.bundle(campaign_id)) == (0, 0)
    [report] = exported(bundling, tmp_path)
    assert (report.period, report.slot, report.count) == (0, 0, 5)
    separate = exported(single, tmp_path)
    assert report.outputs(campaign, None) == tuple(output for one in separate for output in one.outputs(campaign, None))


def test_only_neighbours_in_a_period_share_a_signature(open_device, clock, tmp_path):
    """A bundle ends before a reading that was answered directly, skipped, or of another period."""
    device = open_device()
    campaign_id = agreed(device, hourly(9))
    for number in (0, 1, 3, 4, 7):
        device.collect(campaign_id, "none", number)
        if number == 4:
            # This answer fills slot 5.
            device.answer(campaign_id, "none")
    clock.now += DAY
    device.collect(campaign_id, "none", 8)
    clock.now += 2 * DAY
    device.collect(campaign_id, "none", 0)
    assert device.collected(campaign_id) == 7
    assert device.bundle(campaign_id) == 5
    assert places(exported(device, tmp_path)) == [
        (0, 5, 1), (0, 0, 2), (0, 3, 2), (0, 7, 1), (1, 8, 1), (3, 0, 1),
    ]  # fmt: skip


@pytest.mark.parametrize("values", [*itertools.product(("none", "master"), repeat=3)])
def test_the_manner_of_collecting_is_the_same_for_every_value(open_device, values):
    """For every value the device draws the same number of random bytes, fills the same slots, gives the same refusals
    and seals bundles of the same length."""
    dice, clock = Dice(), Clock()
    device = open_device(urandom=dice, clock=clock)
    campaign_id = agreed(device, hourly(3))
    manner = [device.collect(campaign_id, value).slot for value in values]
    for value in ("none", "master"):
        with pytest.raises(QuotaReached, match="takes 3 answers"):
            device.collect(campaign_id, value)
    manner.append(device.bundle(campaign_id))
    assert (manner, dice.asked) == ([0, 1, 2, 1], [32, DITHER_BYTES, 8, 8, 8, 8, 8])
    assert (len(device.outbox), device.outbox.bytes) == (1, 107)


def test_a_waiting_reading_cannot_be_answered(open_device):
    """A waiting reading can be collected again with its value; an answer would reveal whether the value is the same."""
    device = open_device()
    campaign_id = agreed(device, hourly(4))
    device.collect(campaign_id, "none", 1)
    assert device.collect(campaign_id, "none", 1).repeated
    with pytest.raises(QuotaReached):
        device.collect(campaign_id, "primary", 1)
    refusals = set()
    for value in ("none", "primary"):
        with pytest.raises(QuotaReached) as caught:
            device.answer(campaign_id, value, 1)
        refusals.add(str(caught.value))
    assert len(refusals) == 1
    assert (device.collected(campaign_id), len(device.outbox), device.budget.spent) == (1, 0, 1)


def test_a_bundled_reading_given_again_is_the_bundle(open_device, tmp_path):
    """A retry after the bundle was sent returns the bundle's bytes at no cost, and queues nothing."""
    device = open_device()
    campaign_id = agreed(device, hourly(6))
    values = ("none", "primary", "none")
    for value in values:
        device.collect(campaign_id, value)
    device.bundle(campaign_id)
    [[sealed]] = device._store.rows("SELECT envelope FROM outbox")
    exported(device, tmp_path)
    device.answer(campaign_id, "none")
    for number, value in enumerate(values):
        again = device.answer(campaign_id, value, number)
        assert (again.envelope, again.slot, again.cost, again.repeated) == (sealed, number, 0.0, True)
        assert device.collect(campaign_id, value, number).repeated
    assert len(device.outbox) == 1


def test_waiting_readings_of_one_answer_periods_are_bundled(open_device, clock, tmp_path):
    """If a period takes one answer, waiting readings of several periods are bundled into one report for each period."""
    device = open_device()
    campaign_id = agreed(device, campaign(enrolment="enrolled"))
    for _ in range(3):
        assert not device.collect(campaign_id, "none").repeated
        assert device.collect(campaign_id, "none").repeated
        clock.now += WEEK
    assert device.bundle(campaign_id) == 3
    assert places(exported(device, tmp_path)) == [(0, 0, 1), (1, 0, 1), (2, 0, 1)]
    assert device.budget.spent == 1


def test_earlier_readings_of_a_closed_campaign_are_bundled(open_device, clock, tmp_path):
    """After the closing no reading is collected, and earlier readings are still bundled and sent."""
    device = open_device()
    campaign_id = agreed(device, hourly(4))
    device.collect(campaign_id, "none")
    clock.now = OPENS + 365 * DAY
    with pytest.raises(OutsideSchedule):
        device.collect(campaign_id, "none")
    assert device.bundle(campaign_id) == 1
    assert places(exported(device, tmp_path)) == [(0, 0, 1)]


def test_collecting_and_bundling_refuse_invalid_requests(open_device):
    """Collecting a value outside the domain or under a cap below the reserved amount is refused, and so is bundling for
    an unknown campaign; nothing is charged or kept."""
    device = open_device()
    campaign_id = agreed(device, hourly(4))
    with pytest.raises(NotInDomain):
        device.collect(campaign_id, "SECRET")
    with pytest.raises(NotJoined):
        device.bundle(bytes(16))
    device._store.execute("INSERT OR REPLACE INTO cap VALUES ('lifetime', 0, 1)")
    with pytest.raises(BudgetRefused):
        device.collect(campaign_id, "none")
    assert (device.budget.spent, device.collected(campaign_id)) == (0, 0)


# Limits


@pytest.mark.slow
def test_a_bundle_of_4096_readings_is_one_report(open_device, tmp_path):
    """At most as many readings may wait as one report can carry; the next is refused for every value, and nothing is
    dropped."""
    dice = Dice()
    device = open_device(urandom=dice)
    campaign_id, other = agreed(device, hourly(4096)), agreed(device, hourly(4, opens=OPENS - 1))
    for number in range(slots.MAX_WAITING):
        device.collect(campaign_id, LABELS[number % 6])
    before, spent = device.history(other), device.budget.spent
    for value, number in itertools.product(("none", "primary"), (None, 3)):
        with pytest.raises(OutboxFull, match="nothing was drawn or charged"):
            device.collect(other, value, number)
    assert (device.history(other), device.budget.spent) == (before, spent)
    device.answer(other, "none")
    assert device.bundle(campaign_id) == 1
    assert places(exported(device, tmp_path)) == [(0, 0, 1), (0, 0, 4096)]
    assert not device.collect(other, "primary").repeated


def test_bundles_are_split_at_the_envelope_limit(open_device, tmp_path):
    """The longest payload of a bundle is within the protocol's limit, and with one more output it would not be."""
    data = wide(4000, 150)
    campaign = open_campaign(data, [AUTHOR.public]).campaign
    device = open_device(lifetime=10**6)
    campaign_id = agreed(device, data)
    for _ in range(150):
        device.collect(campaign_id, "v7")
    assert device.bundle(campaign_id) == 2
    first, second = exported(device, tmp_path)
    assert (first.slot, second.slot, first.count + second.count) == (0, first.count, 150)
    assert len(first.encode()) <= MAX_PAYLOAD[Kind.REPORT] < len(first.encode()) + 500
    assert {*first.outputs(campaign, None), *second.outputs(campaign, None)} == {first.outputs(campaign, None)[0]}


def test_readings_stay_collected_if_the_outbox_is_full(open_device, tmp_path):
    """As many bundles are sealed as the outbox has room for, in order; the other readings stay collected."""
    device = open_device(lifetime=10**6)
    campaign_id = agreed(device, wide(4000, 700))
    for _ in range(700):
        device.collect(campaign_id, "v7")
    most = device.records.campaigns.find(campaign_id).max_outputs
    assert device.bundle(campaign_id) == 3
    assert MAX_WAITING_BYTES - 2**16 < device.outbox.bytes <= MAX_WAITING_BYTES
    assert device.collected(campaign_id) == 700 - 3 * most
    with pytest.raises(OutboxFull):
        device.bundle(campaign_id)
    assert device.collected(campaign_id) == 700 - 3 * most
    reports = exported(device, tmp_path)
    assert device.bundle(campaign_id) == 3
    reports += exported(device, tmp_path)
    assert [slot for report in reports for slot in range(report.slot, report.slot + report.count)] == [*range(700)]


def test_a_full_outbox_stops_answers_and_not_collecting(open_device):
    """While the outbox is full, answers and bundles are refused, and readings are still collected."""
    device = open_device()
    campaign_id = agreed(device, hourly(4096))
    for _ in range(MAX_ENVELOPES):
        device.answer(campaign_id, "none")
    with pytest.raises(OutboxFull):
        device.answer(campaign_id, "none")
    device.collect(campaign_id, "none")
    with pytest.raises(OutboxFull):
        device.bundle(campaign_id)
    assert device.collected(campaign_id) == 1


def test_a_failed_bundle_leaves_all_readings_collected(open_device, monkeypatch):
    """If the disk fails while a bundle is written, all its readings stay collected and nothing is queued."""
    device = open_device()
    campaign_id = agreed(device, hourly(9))
    for number in (0, 2, 4):
        device.collect(campaign_id, "none", number)
    sealed, calls = slots.FilledSlots.mark_sealed, []

    def fails_at_the_second(self, *arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise OSError(5, "Input/output error")
        sealed(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(slots.FilledSlots, "mark_sealed", fails_at_the_second)
        with pytest.raises(StoreError):
            device.bundle(campaign_id)
    assert (len(calls), device.collected(campaign_id), len(device.outbox)) == (2, 3, 0)
    assert device.bundle(campaign_id) == 3


def test_two_processes_collect_and_bundle_one_store(open_device, place, tmp_path):
    """Each reading is in exactly one bundle, independently of which of two devices on one store collected or bundled
    it."""
    one, other = open_device(place), open_device(place)
    campaign_id = agreed(one, hourly(8))
    for device in (one, other, one, other):
        device.collect(campaign_id, "none")
    assert other.bundle(campaign_id) == 1
    one.collect(campaign_id, "none")
    assert [one.bundle(campaign_id), other.bundle(campaign_id)] == [1, 0]
    assert places(exported(one, tmp_path)) == [(0, 0, 4), (0, 4, 1)]


def test_the_repr_of_a_receipt_does_not_contain_the_value(open_device):
    """The repr of a receipt, which may end in a log by accident, does not contain the value."""
    device = open_device()
    campaign_id = agreed(device, hourly())
    assert "master" not in repr(device.collect(campaign_id, "master"))


# On the command line


def test_a_script_can_collect_retry_and_bundle_readings(tmp_path, capsys):
    """A script can read the output of collecting, retrying, and bundling one campaign or all; a reading out of range is
    a usage error."""
    now = int(time.time())
    store, files = str(tmp_path / "store"), []
    (tmp_path / "author.pub").write_text(public_line(AUTHOR.public))
    for number, answers in enumerate((4, 1)):
        files.append(tmp_path / f"{number}.campaign")
        files[-1].write_bytes(
            campaign(f"{number}", opens=now - 9, answers=answers, level=NAT // 10, enrolment="enrolled")
        )

    def script(*arguments, code=0):
        assert main(["--store", store, *arguments, "--json"]) == code
        out, err = capsys.readouterr()
        return json.loads(out) if not code else err

    ids = [script("join", str(file), "--trust", str(tmp_path / "author.pub"))["campaign"] for file in files]
    for ident in ids:
        script("consent", ident)
    kept = script("answer", ids[0], "none", "--collect")
    assert kept == {"campaign": ids[0], "period": 0, "slot": 0, "cost": 0.1, "repeated": False, "collected": 1}
    assert script("answer", ids[0], "none", "--collect", "--slot", "0")["repeated"]
    assert script("answer", ids[0], "none", "--slot", "2")["slot"] == 2
    assert script("answer", ids[1], "none", "--collect")["collected"] == 1
    assert "must be a whole number from 0 to 3" in script("answer", ids[0], "none", "--slot", "4", code=2)
    assert "already filled or skipped" in script("answer", ids[0], "none", "--slot", "1", code=1)
    assert script("outbox", "bundle", ids[0]) == {"bundled": 1, "collected": 0, "queued": 2}
    assert script("outbox", "bundle") == {"bundled": 1, "collected": 0, "queued": 3}
    assert script("outbox", "bundle") == {"bundled": 0, "collected": 0, "queued": 3}
    with Device.open(store) as device:
        assert places(exported(device, tmp_path)) == [(0, 2, 1), (0, 0, 1), (0, 0, 1)]


def test_a_study_counts_every_reading_of_a_bundle(open_device, clock, tmp_path):
    """Every reading that a device collected and bundled, with a reading answered in between, is counted once."""
    data = campaign("Load", periods=30, period_seconds=DAY, answers=24)
    study = Study.create(tmp_path / "study")
    signed = study.import_campaign(data, [AUTHOR.public], "load")
    device = open_device()
    campaign_id = agreed(device, data)
    for hour in range(40):
        clock.now = OPENS + hour * HOUR
        give = device.answer if hour == 7 else device.collect
        give(campaign_id, LABELS[hour % 3])
    assert device.bundle(campaign_id) == 3
    device.outbox.export(tmp_path / "day.htr")
    found = ingest(study, [tmp_path / "day.htr"], now=int(clock.now))
    assert (found.accepted, sum(found.refused.values())) == (4, 0)
    assert study.periods(signed) == {0: 24, 1: 16}
    again = ingest(study, [tmp_path / "day.htr"], now=int(clock.now))
    assert again.refused == {"replayed": 4}
