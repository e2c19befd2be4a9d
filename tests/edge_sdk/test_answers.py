"""An answer: its draw, cost and repetition, and the effects that must not depend on its value."""

from __future__ import annotations

import itertools
import math

import pytest

from edge_sdk.errors import ConsentMissing, NotJoined, QuotaReached
from edge_sdk.presentation import given_answers, input_label
from edge_sdk.timestamps import utc_text
from protocol import envelope
from protocol.campaign import open_campaign
from protocol.domain import DITHER_BYTES, Buckets, Dates, NumberRange
from protocol.errors import HalftruthError, NotInDomain, NotOpen, OutsideSchedule
from protocol.keys import SigningKey
from protocol.report import Enrolment, Report
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, WEEK, Clock, Dice, agreed, campaign


def test_a_report_verifies_and_contains_its_period_and_slot(open_device, clock):
    """The envelope is a report of the campaign, its period and slot, signed with the device's key for the campaign."""
    device = open_device(urandom=Dice(3))
    campaign_id = agreed(device, campaign())
    clock.now += 2 * WEEK + 5
    receipt = device.answer(campaign_id, "bachelor")
    key = SigningKey.for_campaign(Dice(3)(32), campaign_id)
    report = Report.decode(envelope.decode(receipt.envelope).open(key.public))
    assert (report.campaign_id, report.period, report.slot, report.count) == (campaign_id, 2, 0, 1)


def test_an_answer_is_the_draw_of_the_channel_from_the_given_bytes(open_device):
    """With given random bytes, an answer is exactly the channel's draw from them."""
    data = campaign()
    signed = open_campaign(data, [AUTHOR.public])
    for seed, (x, label) in itertools.product(range(20), enumerate(LABELS)):
        dice = Dice(seed)
        device = open_device(urandom=dice)
        receipt = device.answer(agreed(device, data), label)
        report = Report.decode(envelope.decode(receipt.envelope).unverified)
        secret, dither, rand = dice.given
        assert (len(secret), len(dither), len(rand)) == (32, DITHER_BYTES, signed.campaign.channel.rand_bytes)
        assert report.outputs(signed.campaign, None) == (signed.campaign.channel.sample(x, rand),)
        device.close()


@pytest.mark.parametrize(("periods", "answers"), [(1, 1), (10, 1), (200, 300), (70_000, 2)])
def test_room_is_made_for_the_longest_report_and_enrolment(open_device, clock, periods, answers):
    """The reserved space is the length of the report of a campaign's last slot, and that of its enrolment."""
    device = open_device()
    campaign_id = agreed(device, campaign(periods=periods, period_seconds=60, answers=answers))
    joined = device.records.joined_in_role(campaign_id)
    clock.now += 60 * (periods - 1)
    assert joined.longest_report == len(device.answer(campaign_id, "none", answers - 1).envelope)
    assert joined.longest_enrolment == len(device.enrolment(campaign_id))


def test_a_queued_report_is_signed_once_and_a_preview_never(open_device, clock, monkeypatch):
    """A device signs each queued report and each queued enrolment once, and nothing else."""
    signed = []
    monkeypatch.setattr(
        SigningKey, "sign", lambda key, message, sign=SigningKey.sign: signed.append(1) or sign(key, message)
    )
    device = open_device()
    data = campaign()
    # The signature of the campaign itself does not count.
    signed.clear()
    campaign_id = agreed(device, data)
    assert len(signed) == 1
    device.preview(campaign_id, "none")
    assert len(signed) == 1
    for number in range(2, 5):
        device.answer(campaign_id, "none")
        assert len(signed) == number
        clock.now += WEEK


@pytest.mark.parametrize(("answers", "reading"), [(1, None), (1, 0), (4, 0), (4, 3)])
def test_asking_for_one_reading_200_times_yields_one_report(open_device, answers, reading):
    """If one reading is requested 200 times, the device returns the same bytes each time, and charges and queues them
    once."""
    device = open_device()
    campaign_id = agreed(device, campaign(answers=answers))
    waiting = len(device.outbox)
    receipts = [device.answer(campaign_id, "master", reading) for _ in range(200)]
    assert {receipt.envelope for receipt in receipts} == {receipts[0].envelope}
    assert [receipt.cost for receipt in receipts] == [1.0] + [0.0] * 199
    assert [receipt.repeated for receipt in receipts] == [False] + [True] * 199
    assert len(device.outbox) == waiting + 1
    assert device.history(campaign_id) == {"master": 1}


def test_200_readings_of_one_answer_cost_one_charge(open_device):
    """Every reading of an unchanged answer gives a separate report; all reports have one output and cost one charge."""
    device = open_device()
    data = campaign(answers=200, enrolment="enrolled")
    opened = open_campaign(data, [AUTHOR.public]).campaign
    campaign_id = agreed(device, data)
    receipts = [device.answer(campaign_id, "master") for _ in range(200)]
    reports = [Report.decode(envelope.decode(receipt.envelope).unverified) for receipt in receipts]
    assert [report.slot for report in reports] == list(range(200))
    assert len({report.outputs(opened, None) for report in reports}) == 1
    assert [receipt.cost for receipt in receipts] == [1.0] + [0.0] * 199
    assert not any(receipt.repeated for receipt in receipts)
    assert len(device.outbox) == 200


def test_an_unchanged_answer_repeats_its_output_across_periods(open_device, clock):
    """In 200 periods an unchanged answer has one output and one charge."""
    device = open_device()
    data = campaign(periods=200, period_seconds=60, enrolment="enrolled")
    opened = open_campaign(data, [AUTHOR.public]).campaign
    campaign_id = agreed(device, data)
    outputs = set()
    for period in range(200):
        clock.now = OPENS + 60 * period
        report = Report.decode(envelope.decode(device.answer(campaign_id, "none").envelope).unverified)
        assert report.period == period
        outputs |= set(report.outputs(opened, None))
    assert len(outputs) == 1
    assert device.budget.spent == 1.0


def test_the_memo_survives_a_restart(open_device, place):
    """A retry after a restart sends the same bytes at no cost."""
    with open_device(place) as device:
        campaign_id = agreed(device, campaign())
        first = device.answer(campaign_id, "none")
    with open_device(place, trust=[]) as device:
        again = device.answer(campaign_id, "none")
        assert (again.envelope, again.cost, again.repeated) == (first.envelope, 0.0, True)
        assert device.budget.spent == 1.0


@pytest.mark.parametrize("value", LABELS)
def test_the_manner_of_answering_is_the_same_for_every_value(open_device, value):
    """For every answer, the device requests random bytes in the same sizes and order (secret, dither, draw), and the
    report has the same length and cost."""
    dice = Dice()
    device = open_device(urandom=dice)
    receipt = device.answer(agreed(device, campaign()), value)
    assert dice.asked == [32, DITHER_BYTES, 8]
    assert (len(receipt.envelope), receipt.cost) == (106, 1.0)


def test_sending_does_not_depend_on_the_answers(open_device):
    """After each of three sequences of answers, a device has sent reports of the same lengths in the same periods,
    drawn the same numbers of random bytes, and accepted or refused another campaign in the same words."""
    seen = set()
    for history in [["none"] * 8, [*LABELS, "none", "primary"], ["none", "primary"] * 4]:
        clock, dice = Clock(), Dice()
        device = open_device(lifetime=6.5, clock=clock, urandom=dice)
        campaign_id = agreed(device, campaign(periods=8))
        other = campaign("Another question", level=10**9 // 2)
        manner = []
        for value in history:
            manner.append(len(device.answer(campaign_id, value).envelope))
            try:
                device.join(other)
            except HalftruthError as error:
                manner.append(str(error))
            clock.now += WEEK
        with pytest.raises(OutsideSchedule):
            device.answer(campaign_id, history[0])
        seen.add((tuple(manner), tuple(dice.asked), len(device.outbox), device.outbox.bytes))
    assert len(seen) == 1


def test_a_repeated_answer_draws_as_many_bytes_as_a_new_one(open_device, clock):
    dice = Dice()
    device = open_device(urandom=dice)
    campaign_id = agreed(device, campaign())
    for value in ("none", "none", "primary", "none"):
        before = len(dice.asked)
        device.answer(campaign_id, value)
        assert dice.asked[before:] == [8]
        clock.now += WEEK


@pytest.mark.parametrize("answered", [*itertools.product(("none", "master"), repeat=3)])
def test_the_number_of_reports_is_the_number_of_answers(open_device, answered):
    """Equal and different values give the same number of reports, in the same slots; then every value is refused."""
    dice = Dice()
    device = open_device(urandom=dice)
    campaign_id = agreed(device, campaign(answers=3, enrolment="enrolled"))
    receipts = [device.answer(campaign_id, value) for value in answered]
    assert [(receipt.slot, receipt.repeated, len(receipt.envelope)) for receipt in receipts] == [
        (slot, False, 106) for slot in range(3)
    ]
    assert (len(device.outbox), dice.asked) == (3, [32, DITHER_BYTES, 8, 8, 8])
    for value in ("none", "master"):
        with pytest.raises(QuotaReached, match="takes 3 answers"):
            device.answer(campaign_id, value)


def test_the_quota_of_a_period_is_kept(open_device, clock):
    """Once a period has its maximum number of answers, the next answer waits for the next period."""
    device = open_device()
    campaign_id = agreed(device, campaign(answers=2))
    assert [device.answer(campaign_id, value).slot for value in ("none", "primary")] == [0, 1]
    waiting, spent = len(device.outbox), device.budget.spent
    with pytest.raises(QuotaReached, match=f"the next period begins at {utc_text(clock.now + WEEK)}"):
        device.answer(campaign_id, "master")
    assert (len(device.outbox), device.budget.spent) == (waiting, spent)
    clock.now += WEEK
    assert device.answer(campaign_id, "master").slot == 0


@pytest.mark.parametrize("value", ["BACHELOR-SECRET", "", 7, 3.5, (1, 2), None, b"bytes"])
def test_a_value_outside_the_domain_is_refused_and_never_repeated(open_device, value):
    """A value outside the domain, also one of another type, is refused by an error without the value, and nothing is
    charged or remembered."""
    device = open_device()
    campaign_id = agreed(device, campaign())
    with pytest.raises(NotInDomain) as caught:
        device.answer(campaign_id, value)
    assert "SECRET" not in str(caught.value)
    assert device.budget.spent == 0
    assert device.history(campaign_id) == {}


AGES = NumberRange.of(17, 90, unit="years")
DAYS = Dates.of("2026-01-01", "2026-12-31")


@pytest.mark.parametrize(
    ("domain", "value", "says"),
    [
        *(
            (AGES, value, "a finite decimal number")
            for value in ("nan", "inf", math.nan, -math.inf, "", "40 years", "4,5")
        ),
        *((AGES, value, "17 to 90 years") for value in (16, "90.5", 1e300, "-1e400")),
        *((DAYS, value, "YYYY-MM-DD") for value in ("2026-02-30", "1.2.2026", "", 40)),
        *((DAYS, value, "2026-01-01 to 2026-12-31") for value in ("2025-12-31", "2027-01-01")),
    ],
)
def test_an_invalid_number_or_day_is_not_charged(open_device, domain, value, says):
    """For an invalid number or day the error names the expected values; nothing is charged, stored or queued."""
    device = open_device()
    campaign_id = agreed(device, campaign(domain=domain))
    waiting = len(device.outbox)
    with pytest.raises(NotInDomain, match=says):
        device.answer(campaign_id, value)
    assert (device.budget.spent, len(device.outbox)) == (0, waiting)
    assert device.history(campaign_id) == {}


@pytest.mark.parametrize(
    ("domain", "value", "kept"),
    [
        (NumberRange.of(17, 90, clamps=True), "1e400", "90"),
        (NumberRange.of(17, 90, clamps=True), -3, "17"),
        (AGES, "40.5", "41"),
        (NumberRange.of("-10.5", 40, "0.5"), -0.2, "0"),
        (Dates.of("2026-01-01", "2026-01-31", 10), "2026-01-20", "2026-01-11"),
        (Dates.of("2026-01-01", "2026-01-31", clamps=True), "2030-01-01", "2026-01-31"),
    ],
)
def test_a_number_or_day_is_rounded_to_a_counted_value(open_device, domain, value, kept):
    """For a number between two steps, or outside the range if the campaign clamps, the device stores and reports the
    value that is counted."""
    device = open_device()
    campaign_id = agreed(device, campaign(domain=domain))
    assert input_label(device, campaign_id, device.preview(campaign_id, value).posterior.x) == kept
    device.answer(campaign_id, value)
    assert [one.label for one in given_answers(device, campaign_id)] == [kept]


def test_a_device_answers_only_open_campaigns_with_consent(open_device, clock):
    """A device answers open campaigns that the person agreed to, and no others."""
    device = open_device()
    clock.now -= 86_400
    campaign_id = agreed(device, campaign())
    with pytest.raises(NotOpen, match="opens in 24 hours"):
        device.answer(campaign_id, "none")
    clock.now = OPENS + 10 * WEEK
    with pytest.raises(OutsideSchedule, match="closed"):
        device.answer(campaign_id, "none")
    clock.now = OPENS
    other = device.join(campaign("Unasked")).campaign_id
    with pytest.raises(ConsentMissing):
        device.answer(other, "none")
    with pytest.raises(ConsentMissing):
        device.enrolment(other)
    with pytest.raises(NotJoined):
        device.answer(bytes(16), "none")
    assert device.budget.spent == 0


def test_an_answer_dated_before_its_consent_is_refused(open_device, clock):
    """An answer is refused if the clock is before its consent; the window caps rely on this."""
    device = open_device()
    clock.now += WEEK
    campaign_id = agreed(device, campaign())
    clock.now -= 1
    with pytest.raises(OutsideSchedule, match="before the consent"):
        device.answer(campaign_id, "none")


def test_the_first_envelope_of_an_open_campaign_is_the_enrolment(open_device, tmp_path):
    """If anyone may answer a campaign, the first envelope is the enrolment; otherwise the person hands the enrolment
    over."""
    device = open_device()
    campaign_id = agreed(device, campaign())
    device.consent(campaign_id)
    device.answer(campaign_id, "none")
    device.outbox.export(tmp_path / "open.htr")
    first, second = envelope.read_batch((tmp_path / "open.htr").read_bytes())
    enrolment = Enrolment.open(first)
    assert enrolment.campaign_id == campaign_id
    second.open(enrolment.public)

    closed = agreed(device, campaign("By invitation", enrolment="enrolled"))
    assert len(device.outbox) == 0
    assert Enrolment.open(envelope.decode(device.enrolment(closed))).campaign_id == closed


def test_envelopes_of_two_campaigns_share_no_bytes(open_device):
    """The enrolments for two campaigns have different keys and key ids; neither the enrolments nor the reports share
    eight adjacent bytes of their payloads."""
    device = open_device()
    ids = [agreed(device, campaign(title)) for title in ("One question", "Another question")]
    first, second = (envelope.decode(device.enrolment(campaign_id)) for campaign_id in ids)
    assert Enrolment.open(first).public != Enrolment.open(second).public
    reports = [envelope.decode(device.answer(campaign_id, "none").envelope) for campaign_id in ids]
    for one, other in ((first, second), reports):
        assert one.key_id != other.key_id
        pieces = {one.unverified[at : at + 8] for at in range(len(one.unverified) - 7)}
        assert not any(other.unverified[at : at + 8] in pieces for at in range(len(other.unverified) - 7))


def test_an_unchanged_number_has_one_input(open_device, clock):
    """The dither is drawn once for each campaign, so an unchanged number between two edges is always the same input,
    and is charged once."""
    device = open_device()
    campaign_id = agreed(device, campaign("Hours", Buckets.of([0, 10]), periods=50))
    for _ in range(50):
        device.answer(campaign_id, 5)
        clock.now += WEEK
    assert device.budget.spent == 1.0
    assert sum(device.history(campaign_id).values()) == 50


def test_a_preview_leaves_no_trace(open_device):
    """A preview states the length and cost of the next report, and leaves no trace."""
    dice = Dice()
    device = open_device(urandom=dice)
    campaign_id = agreed(device, campaign())
    before = list(dice.asked), device.ledger, len(device.outbox)
    preview = device.preview(campaign_id, "none")
    assert (list(dice.asked), device.ledger, len(device.outbox)) == before
    assert device.history(campaign_id) == {}
    receipt = device.answer(campaign_id, "none")
    assert (preview.report_bytes, preview.cost) == (len(receipt.envelope), receipt.cost)
    assert device.preview(campaign_id, "none").cost == 0
    assert device.preview(campaign_id).cost == 1.0


def test_a_receipt_and_a_device_never_show_an_answer(open_device):
    """The reprs of a receipt, a device and its budget, which may end in a log by accident, contain neither the value
    nor the store's secret."""
    device = open_device()
    campaign_id = agreed(device, campaign())
    shown = repr(device.answer(campaign_id, "bachelor")) + repr(device) + repr(device.budget)
    assert "bachelor" not in shown
    assert device._store.secret.hex() not in shown
