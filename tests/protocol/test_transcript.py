"""Properties of transcripts: each report is designed for the posterior after the earlier ones (SPEC 6.9)."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import codec, domain, exact, notions, personal
from protocol.campaign import Campaign, decode_campaign, encode_campaign
from protocol.errors import CampaignError, NotionError, ReportError, Uncertified
from protocol.notions.classes import Classes
from protocol.notions.information import Lip
from protocol.notions.notion import certify
from protocol.notions.transcript import MAX_TRANSCRIPT, TranscriptPrior
from protocol.report import Report
from protocol.views import plain_views

NAT = 10**9
PRIOR = (50, 20, 10, 10)

priors = st.lists(st.integers(1, 2000), min_size=2, max_size=6).map(tuple)
levels = st.integers(exact.MIN_LEVEL, 3 * NAT)
drifts = st.sampled_from([0, 1, 3277, personal.DRIFT_ONE - 1])


def unsigned_campaign(notion: TranscriptPrior | None = None, channel=None, **changes) -> Campaign:
    notion = notion or TranscriptPrior(NAT, PRIOR)
    fields = {
        "title": "Mood", "question": "How are you?", "purpose": "", "organisation": "Council",
        "domain": domain.Values(tuple(f"v{x}" for x in range(len(notion.prior)))), "notion": notion,
        "mechanism": "lip", "views": plain_views(channel or notion.channel_of(notion.prior)), "opens": 0, "closes": 40,
        "period_seconds": 10, "answers_per_period": 1, "minimum_devices": 1, "enrolment": "open",
    }  # fmt: skip
    return Campaign(**{**fields, **changes})


def probability(channel, x: int, y: int) -> Fraction:
    return Fraction(channel.weight(x, y), 1 << channel.scale)


def paths(notion: TranscriptPrior, outputs: tuple[int, ...], periods: tuple[int, ...]) -> dict[tuple[int, ...], tuple]:
    """Return P(values of all periods) and P(values and outputs) for every path of values, computed from the model
    alone."""
    k, whole = len(notion.prior), sum(notion.prior)
    stays = 1 - Fraction(notion.drift, personal.DRIFT_ONE)
    channels = [
        notion.channel_of(notion.prior_after(list(zip(periods, outputs, strict=True))[:place], period))
        for place, period in enumerate(periods)
    ]
    found = {}
    for path in product(range(k), repeat=len(periods)):
        before = after = Fraction(notion.prior[path[0]], whole)
        for place, x in enumerate(path):
            if place:
                kept = stays ** (periods[place] - periods[place - 1])
                moved = (1 - kept) * Fraction(notion.prior[x], whole) + (kept if x == path[place - 1] else 0)
                before, after = before * moved, after * moved
            after *= probability(channels[place], x, outputs[place])
        found[path] = before, after
    return found


def within(lift: Fraction, level: int) -> bool:
    """Return whether e^-level <= lift <= e^level, decided with exact bounds."""
    return exact.satisfies(lift.numerator, lift.denominator, level) and exact.satisfies(
        lift.denominator, lift.numerator, level
    )


NUMBERS = {Fraction(0): Fraction(1, 10), Fraction(1, 4): Fraction(9, 10)}
"""Numbers from 0 to 1 with their probabilities; a fourth of the dithers round 1/4 up."""
FOURTHS = [(quarter << 62).to_bytes(domain.DITHER_BYTES, "big") for quarter in range(4)]
"""One dither of each quarter; all dithers of a quarter round ``NUMBERS`` in the same way."""


def worst_lift_of_second(line: domain.Line, drift: int) -> Fraction:
    """Return the largest factor by which the second report changes the probability of one of ``NUMBERS``, if one dither
    rounds the numbers of both periods."""
    inputs = {(number, dither): line.index(number, dither) for number in NUMBERS for dither in FOURTHS}
    notion = TranscriptPrior(NAT, (31, 9), drift)
    assert sum(NUMBERS[number] * x for (number, _), x in inputs.items()) / len(FOURTHS) == Fraction(9, 40)
    drawn = Fraction(drift, personal.DRIFT_ONE)
    worst = Fraction(1)
    for first, second in product(range(2), repeat=2):
        channel = notion.channel_of(notion.prior)
        later = notion.channel_of(notion.prior_after([(0, first)], 1))
        seen, both = dict.fromkeys(NUMBERS, Fraction(0)), dict.fromkeys(NUMBERS, Fraction(0))
        for earlier, number, dither in product(NUMBERS, NUMBERS, FOURTHS):
            moved = (1 - drawn) * (earlier == number) + drawn * NUMBERS[number]
            joint = NUMBERS[earlier] * moved * probability(channel, inputs[earlier, dither], first)
            seen[number] += joint
            both[number] += joint * probability(later, inputs[number, dither], second)
        for number in NUMBERS:
            lift = both[number] * sum(seen.values()) / (sum(both.values()) * seen[number])
            worst = max(worst, lift, 1 / lift)
    return worst


# Composition


@pytest.mark.parametrize("prior", [(1, 1), (99, 1), (5, 3, 2), (1000, 1, 1)])
@pytest.mark.parametrize("level", [NAT // 10, NAT, 3 * NAT])
@pytest.mark.parametrize("drift", [0, 6554])
def test_levels_add_exactly_along_the_transcript(prior: tuple[int, ...], level: int, drift: int) -> None:
    """Over the whole tree of three reports, the lift of every path of values after t reports is within t times the
    level, in exact arithmetic."""
    notion = TranscriptPrior(level, prior, drift)
    for t in (1, 2, 3):
        periods = (0, 1, 3)[:t]
        for outputs in product(range(len(prior)), repeat=t):
            joint = paths(notion, outputs, periods)
            seen = sum(after for _, after in joint.values())
            for before, after in joint.values():
                if before:
                    assert within(after / (before * seen), t * level)


@pytest.mark.parametrize("drift", [0, 6554])
def test_the_expected_prior_is_the_posterior(drift: int) -> None:
    """prior_after equals the posterior of the period's value that is computed by summing over all paths of values."""
    notion, periods = TranscriptPrior(NAT, (5, 3, 2), drift), (0, 2, 3)
    for outputs in product(range(3), repeat=2):
        earlier = list(zip(periods, outputs, strict=False))
        expected = notion.prior_after(earlier, 3)
        joint = {}
        # The third report is unknown, so all its outputs are summed.
        for x in range(3):
            joint[x] = sum(
                after for y in range(3) for path, (_, after) in paths(notion, (*outputs, y), periods).items()
                if path[-1] == x
            )  # fmt: skip
        for x in range(3):
            assert Fraction(expected[x], sum(expected)) == joint[x] / sum(joint.values())


def test_channels_for_the_first_prior_would_not_add_up() -> None:
    """Three reports through the channel of the first prior exceed four times the level, so later reports need other
    channels."""
    prior, level = (Fraction(3, 4), Fraction(1, 4)), NAT
    channel = personal.lip_response((3, 1), level)
    worst = False
    for outputs in product(range(2), repeat=3):
        joint = [p * prod(probability(channel, x, y) for y in outputs) for x, p in enumerate(prior)]
        worst |= any(not within(after / sum(joint) / p, 4 * level) for after, p in zip(joint, prior, strict=True))
    assert worst


@given(priors, levels, drifts, st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3)), max_size=8))
def test_every_transcript_has_a_certified_channel(prior, level: int, drift: int, reports) -> None:
    """After any reports at any times, the next channel satisfies the level, costs exactly this level, and has an LDP
    level of at most twice it."""
    notion, earlier, period = TranscriptPrior(level, prior, drift), [], 0
    for y, later in reports:
        earlier.append((period, y % len(prior)))
        period += later
    expected = notion.prior_after(earlier, period)
    certificate = notion.certificate_of(expected)
    assert certificate.audited_level <= level == certificate.cost
    # The bound is twice the level (Jiang, Li, Tandon 2020, Theorem 1), plus rounding up.
    assert certificate.ldp_level <= 2 * level + 10
    assert notion.channel_of(expected).truth > 0
    assert min(expected) > 0


def test_the_longest_transcript_is_certified() -> None:
    """After 63 reports of the rarest of 256 values at 3 nats, the integers still give a channel that satisfies
    the level."""
    notion = TranscriptPrior(3 * NAT, (2**40,) + (1,) * 255, 655)
    earlier = [(period, 7) for period in range(MAX_TRANSCRIPT - 1)]
    certificate = notion.certificate_of(notion.prior_after(earlier, MAX_TRANSCRIPT - 1))
    assert certificate.audited_level <= 3 * NAT


@given(priors, levels, drifts, st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_the_priors_of_all_reports_are_those_of_each(prior, level: int, drift: int, outputs: list[int]) -> None:
    """One pass over a transcript gives, for each report, the prior after only the reports before it."""
    notion = TranscriptPrior(level, prior, drift)
    reports = [(2 * place, y % len(prior)) for place, y in enumerate(outputs)]
    separate = [notion.prior_after(reports[:place], period) for place, (period, _) in enumerate(reports)]
    assert notion.priors_before(reports) == separate


@given(priors, st.integers(1, 10**30), levels)
def test_a_common_factor_of_the_weights_keeps_the_channel(prior, factor: int, level: int) -> None:
    """Weights that differ by a common factor give the same channel, so two implementations may reduce them
    differently."""
    notion = TranscriptPrior(level, prior)
    scaled = [factor * weight for weight in prior]
    assert notion.channel_of(scaled) == notion.channel_of(prior)
    assert notion.certificate_of(scaled).audited_level == notion.certificate_of(prior).audited_level


def test_drift_moves_the_posterior_back_to_the_start_prior() -> None:
    """Without drift a posterior does not change in silent periods; with drift it comes nearer to the start prior in
    each of them."""
    still, moving = TranscriptPrior(NAT, PRIOR), TranscriptPrior(NAT, PRIOR, 6554)
    assert still.prior_after([(0, 3)], 1) == still.prior_after([(0, 3)], 40)

    def share(period: int) -> Fraction:
        expected = moving.prior_after([(0, 3)], period)
        return Fraction(expected[3], sum(expected))

    shares = [share(period) for period in (1, 2, 5, 40)]
    assert shares == sorted(shares, reverse=True)
    assert abs(shares[-1] - Fraction(1, 9)) < Fraction(1, 100)
    assert moving.prior_after([], 17) == PRIOR


def test_a_transcript_has_an_order() -> None:
    """A transcript with two reports of one period, or with periods that decrease, is refused."""
    notion = TranscriptPrior(NAT, PRIOR)
    for earlier, period in (([(1, 0)], 1), ([(2, 0)], 1), ([(1, 0), (1, 1)], 3), ([(2, 0), (1, 1)], 3)):
        with pytest.raises(ValueError, match="is not after"):
            notion.prior_after(earlier, period)


# The notion and its campaign


def test_a_campaign_has_only_the_channel_of_the_start_prior() -> None:
    """A campaign is certified as LIP at the start prior, with the channel of this prior only; the cost of a report is
    the declared level."""
    made = unsigned_campaign()
    lip = certify(made.channel, Lip(NAT, PRIOR))
    assert (made.certificate.audited_level, made.certificate.ldp_level) == (lip.audited_level, lip.ldp_level)
    assert made.certificate.cost == NAT < lip.cost
    assert decode_campaign(encode_campaign(made)) == made
    with pytest.raises(Uncertified, match="start prior"):
        unsigned_campaign(channel=personal.lip_response(PRIOR, NAT - 1))


def test_the_worst_case_is_the_level_times_the_periods() -> None:
    """The worst case is the level times the number of periods, because every report is a new draw, even if there are
    few values."""
    made = unsigned_campaign(TranscriptPrior(NAT // 2, (3, 1)), closes=100)
    assert (made.periods, made.max_draws, made.worst_case) == (10, 10, 5 * NAT)


@pytest.mark.parametrize("changes", [{"answers_per_period": 2}, {"closes": 10 * (MAX_TRANSCRIPT + 1)}])
def test_a_transcript_has_one_answer_a_period(changes) -> None:
    """Campaigns with several answers in a period, whose reports have no order, and campaigns with too many periods are
    refused."""
    with pytest.raises(CampaignError, match="one answer per period"):
        unsigned_campaign(**changes)


ROUNDED = [domain.Buckets.of([0, 1]), domain.NumberRange.of(0, 1, rounds_randomly=True)]


@pytest.mark.parametrize("line", ROUNDED)
def test_random_rounding_needs_a_drift_of_zero(line: domain.Line) -> None:
    """The same dither rounds the numbers of all periods. So the second report satisfies the level without a drift but
    not with one, and a campaign with a drift is refused."""
    drifting, still = TranscriptPrior(NAT, (1, 1), personal.DRIFT_ONE // 2), TranscriptPrior(NAT, (1, 1))
    assert within(worst_lift_of_second(line, still.drift), NAT)
    assert not within(worst_lift_of_second(line, drifting.drift), NAT * 12 // 10)
    assert unsigned_campaign(still, domain=line).notion == still
    with pytest.raises(CampaignError, match="set drift to 0, or use a domain without random rounding"):
        unsigned_campaign(drifting, domain=line)


@pytest.mark.parametrize(
    "line", [domain.NumberRange.of(0, 1), domain.Dates.of("2026-01-01", "2026-01-02")], ids=["nearest", "dates"]
)
def test_rounding_without_a_dither_allows_a_drift(line: domain.Line) -> None:
    """If the answer alone determines the input, a campaign may have a drift."""
    drifting = TranscriptPrior(NAT, (1, 1), personal.DRIFT_ONE // 2)
    assert unsigned_campaign(drifting, domain=line).notion == drifting


@pytest.mark.parametrize(
    ("level", "prior", "drift"),
    [(0, PRIOR, 0), (NAT, (1,), 0), (NAT, (0, 1), 0), (NAT, (1,) * 257, 0), (NAT, PRIOR, -1), (NAT, PRIOR, 2**16)],
)
def test_invalid_levels_priors_and_drifts_are_refused(level: int, prior: tuple[int, ...], drift: int) -> None:
    """Levels and priors that LIP refuses, too many values, and drifts outside 0 to 1 are refused."""
    with pytest.raises(NotionError):
        TranscriptPrior(level, prior, drift)
    wire: codec.Value = ["transcript-lip", level, list(prior), drift]
    with pytest.raises(NotionError):
        notions.decode(wire)
    with pytest.raises(NotionError):
        notions.decode(["transcript-lip", NAT, list(PRIOR)])


def test_a_class_has_no_transcripts() -> None:
    """Classes with transcripts are refused, because members of a class answer through one channel."""
    with pytest.raises(NotionError, match="a class cannot have the notion transcript-lip"):
        Classes.of((Lip(NAT, PRIOR), TranscriptPrior(NAT, PRIOR)))


@pytest.mark.parametrize(
    ("period", "slot", "fits"), [(0, 0, True), (2, 0, True), (2, 2, True), (2, 3, False), (0, 1, False)]
)
def test_a_slot_is_the_number_of_earlier_reports(period: int, slot: int, fits: bool) -> None:
    """A report's slot, the number of earlier reports, is at most the number of earlier periods, and the report has one
    output."""
    campaign = unsigned_campaign()
    if fits:
        assert Report.of(bytes(16), campaign, period, slot, [1]).slot == slot
    else:
        with pytest.raises(ReportError):
            Report.of(bytes(16), campaign, period, slot, [1])
    with pytest.raises(ReportError):
        Report.of(bytes(16), campaign, 3, 0, [1, 1])
