"""Estimates from transcripts: against exact integers, against sums over all transcripts, and from devices to the
estimate."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import date
from decimal import Decimal
from itertools import product

import numpy as np
import pytest

from aggregator import simulation
from aggregator.author.draft import campaign_of
from aggregator.author.toml_section import DraftError
from aggregator.estimate import interval
from aggregator.estimate.estimator import estimate
from aggregator.estimate.method import MethodRefused
from aggregator.estimate.query import weighted_mean
from aggregator.estimate.transcript import SILENT, TranscriptDecoder, TranscriptTally, transcripts
from aggregator.intake.ingest import ingest
from aggregator.present.table import estimate_table
from aggregator.truth_file import Truth
from edge_sdk import BudgetPolicy, Device
from protocol.campaign import Campaign, decode_campaign, encode_campaign, open_campaign, seal_campaign
from protocol.domain import Values
from protocol.errors import CampaignError, ReportError
from protocol.keys import SigningKey
from protocol.notions.transcript import TranscriptPrior
from protocol.report import Enrolment, Report, pack
from protocol.views import plain_views
from tests.aggregator.matrix import dense
from tests.aggregator.simulated import population
from tests.aggregator.test_present_estimate import printed

NAT = 10**9
AUTHOR = SigningKey(bytes(range(32)))
OPENS, WEEK = 1_800_000_000, 604_800
LABELS = ("wheat", "rye", "oats")
K = len(LABELS)
STILL, DRIFTING = TranscriptPrior(NAT, (5, 3, 2)), TranscriptPrior(NAT, (5, 3, 2), 13107)
both = pytest.mark.parametrize("notion", [STILL, DRIFTING], ids=["still", "drifting"])


def campaign(notion: TranscriptPrior = STILL, channel=None, **changes) -> Campaign:
    fields = {
        "title": "Crops", "question": "What do you grow?", "purpose": "", "organisation": "Council",
        "domain": Values(LABELS), "notion": notion, "mechanism": "lip-response",
        "views": plain_views(channel or notion.channel_of(notion.prior)), "opens": OPENS, "closes": OPENS + 4 * WEEK,
        "period_seconds": WEEK, "answers_per_period": 1, "minimum_devices": 1, "enrolment": "open",
    }  # fmt: skip
    return Campaign(**{**fields, **changes})


def channels(notion: TranscriptPrior, chain: list[int]) -> list[tuple[int, int, np.ndarray]]:
    """Return (period, output, Q) for each report of a transcript, with Q from the integers."""
    earlier, found = [], []
    for period, y in enumerate(chain):
        if y != SILENT:
            channel = notion.channel_of(notion.prior_after(earlier, period))
            found.append((period, y, dense(channel)))
            earlier.append((period, y))
    return found


def every(periods: tuple[int, ...]) -> np.ndarray:
    """Return all transcripts of devices that answer in these of four periods."""
    chains = np.full((K ** len(periods), 4), SILENT)
    chains[:, periods] = list(product(range(K), repeat=len(periods)))
    return chains


# The decoder


@both
@pytest.mark.parametrize("only", [None, 2])
def test_each_report_of_a_transcript_is_decoded_by_its_channel(notion: TranscriptPrior, only: int | None) -> None:
    """A transcript contributes the mean, over its reports, of rows of inverses of dense matrices."""
    chains = np.concatenate([every((0, 1, 2)), every((0, 2)), every((2,))])
    decoder = TranscriptDecoder(notion, chains, only)
    for row, chain in enumerate(chains.tolist()):
        contributions = [
            np.linalg.inv(distribution)[y]
            for period, y, distribution in channels(notion, chain)
            if only in (None, period)
        ]
        np.testing.assert_allclose(decoder._contributed[row], np.mean(contributions, axis=0), atol=1e-10)
    np.testing.assert_allclose(decoder.adjoint(np.ones(K)), 1)
    assert decoder.people_per_report == pytest.approx(np.abs(decoder._contributed).max())


@pytest.mark.parametrize("periods", [(0, 1, 2), (1, 3)])
def test_the_estimate_is_unbiased_and_its_variance_right(periods: tuple[int, ...]) -> None:
    """Over all transcripts, the mean of the estimate is the truth and its variance that of one device."""
    chains, p = every(periods), np.array([0.2, 0.3, 0.5])
    decoder = TranscriptDecoder(STILL, chains)
    distribution = np.array(
        [p @ np.prod([distribution[:, y] for _, y, distribution in channels(STILL, chain)], axis=0) for chain in chains]
    )
    assert distribution.sum() == pytest.approx(1)
    np.testing.assert_allclose(decoder.invert(distribution), p, atol=1e-12)
    np.testing.assert_allclose(decoder.forward(p), distribution, atol=1e-14)
    np.testing.assert_allclose(
        decoder.variances(distribution), distribution @ (decoder._contributed - p) ** 2, atol=1e-12
    )
    assert (distribution <= decoder.ceiling + 1e-12).all()
    v = np.array([1.0, 0.0, 3.0])
    assert decoder.variance(v, distribution) == pytest.approx(distribution @ (decoder._contributed @ v - p @ v) ** 2)


@both
@pytest.mark.parametrize("periods", [(0, 1, 2), (1, 3)])
def test_posterior_means_are_those_of_all_paths(notion: TranscriptPrior, periods: tuple[int, ...]) -> None:
    """The MMSE estimate is the mean of P(value | transcript) over the transcripts, computed as a sum over all paths."""
    start, stays = np.array(notion.prior) / 10, 1 - notion.drift / 2**16
    chains = every(periods)
    decoder = TranscriptDecoder(notion, chains)
    for row, chain in enumerate(chains.tolist()):
        chances, expected = channels(notion, chain), np.zeros(K)
        joint = {}
        for path in product(range(K), repeat=len(periods)):
            weight = start[path[0]] * np.prod(
                [distribution[x, y] for x, (_, y, distribution) in zip(path, chances, strict=True)]
            )
            for place in range(1, len(path)):
                kept = stays ** (periods[place] - periods[place - 1])
                weight *= kept * (path[place] == path[place - 1]) + (1 - kept) * start[path[place]]
            joint[path] = weight
        for path, weight in joint.items():
            for x in path:
                expected[x] += weight / sum(joint.values()) / len(path)
        share = np.eye(len(chains))[row]
        np.testing.assert_allclose(decoder.posterior_mean(share), expected, atol=1e-12)


def test_without_drift_the_posterior_equals_the_integer_prior() -> None:
    """Without drift the mean in floats is the integer prior of the next channel, even after many reports."""
    notion = TranscriptPrior(3 * NAT, (10**6, 5, 1))
    generator = np.random.default_rng(3)
    chains = generator.integers(0, K, (20, 12))
    decoder = TranscriptDecoder(notion, chains)
    for row, chain in enumerate(chains.tolist()):
        expected = notion.prior_after(list(enumerate(chain)), 12)
        exact = [weight / sum(expected) for weight in expected]
        np.testing.assert_allclose(decoder.posterior_mean(np.eye(20)[row]), exact, atol=1e-9)


def test_map_recovers_from_a_wrong_prior_and_mmse_does_not() -> None:
    """Without drift map is within 0.02 of a truth far from the prior, and mmse is not within 0.05.

    With drift, map and em are refused.
    """
    p, chains = np.array([0.1, 0.1, 0.8]), every((0, 1, 2))
    distribution = TranscriptDecoder(STILL, chains).forward(p)
    tally = TranscriptTally(np.round(distribution * 10**6).astype(np.int64), 10**6, chains=chains)
    found = estimate(campaign(), tally, method="map")
    assert np.abs(found.share - p).max() < 0.02
    assert np.abs(estimate(campaign(), tally, method="mmse").share - p).max() > 0.05
    drifting = campaign(DRIFTING)
    for method in ("map", "em"):
        with pytest.raises(MethodRefused):
            estimate(drifting, tally, method=method)


def test_more_periods_have_a_smaller_error() -> None:
    """The standard error for devices that answered four times is at least a fifth below that for devices that
    answered once."""
    p = np.array([0.5, 0.3, 0.2])
    spread = []
    for periods in ((0,), (0, 1, 2, 3)):
        decoder = TranscriptDecoder(STILL, every(periods))
        spread.append(np.sqrt(decoder.variances(decoder.forward(p))).mean())
    assert spread[1] < 0.8 * spread[0]


def test_many_transcripts_are_read_in_parts(monkeypatch) -> None:
    """The number of transcripts decoded in one part does not change the result."""
    chains = every((0, 1, 2))
    for notion in (STILL, DRIFTING):
        whole = TranscriptDecoder(notion, chains)
        monkeypatch.setattr("aggregator.estimate.transcript.CELLS", 50)
        parts = TranscriptDecoder(notion, chains)
        for name in ("_contributed", "_likelihood", "_posterior", "_scale", "_ceiling"):
            np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))
        monkeypatch.undo()


def test_intervals_have_nominal_coverage() -> None:
    """Over 300 surveys of 400 devices, 95% intervals miss at most 80 of 900 shares, three values a survey.

    More than 80 misses have a probability below 10^-4 if each interval misses in 5%; the seed is fixed. A failure means
    that the standard errors of transcripts are too small.
    """
    p, generator = np.array([0.6, 0.3, 0.1]), np.random.default_rng(8)
    chains, distribution = [], []
    for periods, part in (((0, 1, 2), 0.5), ((0, 3), 0.3), ((2,), 0.2)):
        chains.append(every(periods))
        distribution.append(part * TranscriptDecoder(STILL, chains[-1]).forward(p))
    chains, distribution, missed = np.concatenate(chains), np.concatenate(distribution), 0
    decoder = TranscriptDecoder(STILL, chains)
    for _ in range(300):
        counts = generator.multinomial(400, distribution)
        raw = decoder.invert(counts / 400)
        se = interval.standard_errors(decoder, counts / 400, 400)
        low, high = interval.intervals(decoder.binomial_steps(counts, 400), raw, se, 0.05)
        missed += int(((p < low) | (p > high)).sum())
    assert missed <= 80


# Transcripts in a tally


def slow_transcripts(rows: list[tuple[int, int, int, int]], only: int | None) -> tuple[dict[int, tuple[int, ...]], int]:
    """Return the transcript of each device and the number of reports left out, computed device by device: the slow
    reference."""
    found, lost = {}, 0
    for key in {row[0] for row in rows}:
        sent = [row[1:] for row in rows if row[0] == key]
        chain, last, sound = [SILENT] * 4, -1, []
        for slot in range(len(sent)):
            there = [(period, y) for period, at, y in sent if at == slot]
            if len(there) != 1 or there[0][0] <= last:
                break
            last = there[0][0]
            sound.append(there[0])
        for period, y in sound:
            if only is None or period <= only:
                chain[period] = y
        asked = [period for period, _, _ in sent if only in (None, period)]
        decoded = [period for period, _ in sound if only in (None, period)]
        lost += len(asked) - len(decoded)
        if decoded:
            found[key] = tuple(chain)
    return found, lost


@pytest.mark.parametrize("only", [None, 0, 1, 3])
@pytest.mark.parametrize("seed", range(6))
def test_transcripts_end_at_the_first_gap(seed: int, only: int | None) -> None:
    """A transcript has the slots 0, 1, ... once each, by increasing period; reports after a gap are left out, in
    tallies of periods too."""
    generator, rows = np.random.default_rng(seed), []
    for key in range(60):
        places = [(period, slot) for period in range(4) for slot in range(4)]
        honest = [(period, slot) for slot, period in enumerate(sorted(generator.permutation(4)[:3].tolist()))]
        chosen = [places[at] for at in generator.permutation(16)[:3]] if key % 3 == 0 else honest
        chosen = [place for place in chosen if generator.random() < 0.8]
        rows += [(key * 10**15 - 10**17, period, slot, int(generator.integers(K))) for period, slot in chosen]
    order = generator.permutation(len(rows))
    columns = np.array([rows[at] for at in order], dtype=np.int64).T
    keys, chains, lost = transcripts(*columns, 4, only)
    expected, missing = slow_transcripts(rows, only)
    assert dict(zip(keys.tolist(), map(tuple, chains.tolist()), strict=True)) == expected
    assert lost == missing
    assert lost > 0


def test_a_study_without_reports_has_no_transcript() -> None:
    """A study without reports has no transcript, and leaves out no report."""
    nothing = np.zeros(0, dtype=np.int64)
    keys, chains, lost = transcripts(nothing, nothing, nothing, nothing, 4)
    assert (len(keys), chains.shape, lost) == (0, (0, 4), 0)


# End to end


def test_transcripts_of_devices_over_four_periods_are_decoded(study_of, tmp_path) -> None:
    """The transcripts of 200 devices over four periods, in which one in ten is silent once, are decoded from their
    reports alone.

    The simultaneous 99.9% intervals contain the true shares, and the standard errors are below 0.75 times those of one
    period.
    """
    made, signed = study_of(campaign())
    now, envelopes, chains = [0], [], []
    policy = BudgetPolicy(lifetime=4)
    for number in range(200):
        dice, now[0] = simulation.random_source(5, number), OPENS
        x = 0 if number < 100 else 1 if number < 160 else 2
        with Device.open(":memory:", [AUTHOR.public], policy, clock=lambda: now[0], urandom=dice) as device:
            joined = device.join(signed.data).campaign_id
            device.consent(joined)
            envelopes.append(device.enrolment(joined))
            chain = []
            for period in range(4):
                if number % 10 == 0 and period == 1 + number % 3:
                    continue
                now[0] = OPENS + period * WEEK
                sealed = device.answer(joined, LABELS[x]).envelope
                chain.append((period, sealed))
            chains.append((x, chain))
            assert device.budget.spent_nanonats == len(chain) * NAT
    reports = [sealed for _, chain in chains for _, sealed in chain]
    order = np.random.default_rng(1).permutation(len(reports))
    batch = tmp_path / "batch.htr"
    batch.write_bytes(b"".join(envelopes) + b"".join(reports[at] for at in order))
    result = ingest(made, [batch], now=OPENS + 3 * WEEK)
    assert (result.accepted, result.refused) == (len(reports), {})
    tally = made.tally(signed)
    assert (tally.reports, tally.lost) == (200, 0)
    assert (tally.chains != SILENT).sum(axis=1) @ tally.counts == len(reports)
    found = estimate(signed, tally, confidence=0.999)
    assert found.method == "mmse"
    table = " ".join(printed(estimate_table(found)).split())
    assert "200 devices · level" in table  # not "200 reports": the study has more of them
    assert "one forged device counts for at most" in table
    # The seed is fixed.
    assert ((found.simultaneous_low <= (0.5, 0.3, 0.2)) & (found.simultaneous_high >= (0.5, 0.3, 0.2))).all()
    assert not [warning for warning in found.warnings if "left out" in warning]
    one = estimate(signed, made.tally(signed, period=2), method="linear")
    assert one.reports == sum(any(period == 2 for period, _ in chain) for _, chain in chains)
    assert found.se.mean() < 0.75 * one.se.mean()
    answer = weighted_mean(signed.campaign, tally, [1.0, 0.0, 2.0])
    assert answer.estimate == pytest.approx(found.raw[0] + 2 * found.raw[2])
    assert answer.mmse == pytest.approx(found.share[0] + 2 * found.share[2])


def test_a_report_after_a_gap_is_left_out(study_of, tmp_path) -> None:
    """If a report is lost, the later reports of its device are left out with a warning, until the lost one arrives."""
    made, signed = study_of(campaign())
    truth = Truth(LABELS, (10, 10, 10))
    for period in (0, 2, 3):
        (sent,) = population(signed.campaign, signed.id, truth, period, seed=1)
        (tmp_path / f"{period}.htr").write_bytes(sent.reports)
        ingest(made, [tmp_path / f"{period}.htr"], now=OPENS + 3 * WEEK)
    tally = made.tally(signed)
    assert (tally.reports, tally.lost) == (30, 60)
    [warning] = [warning for warning in estimate(signed, tally).warnings if "left out" in warning]
    assert warning.startswith("reports left out: 60. ")
    assert (made.tally(signed, period=2).reports, made.tally(signed, period=2).lost) == (0, 30)
    (sent,) = population(signed.campaign, signed.id, truth, 1, seed=1)
    (tmp_path / "1.htr").write_bytes(sent.reports)
    ingest(made, [tmp_path / "1.htr"], now=OPENS + 3 * WEEK)
    tally = made.tally(signed)
    assert (tally.reports, tally.lost) == (30, 0)
    assert (tally.chains != SILENT).all()


def test_people_simulated_without_a_seed_are_new_in_each_period(study_of, tmp_path) -> None:
    """Without a seed the people of a later period are new, and their first reports can be decoded."""
    made, signed = study_of(campaign())
    (sent,) = population(signed.campaign, signed.id, Truth(LABELS, (3, 3, 3)), 2)
    (tmp_path / "2.htr").write_bytes(sent.reports)
    ingest(made, [tmp_path / "2.htr"], now=OPENS + 2 * WEEK)
    assert (made.tally(signed).reports, made.tally(signed).lost) == (9, 0)


@pytest.mark.parametrize("notion", [STILL, DRIFTING], ids=["still", "drifting"])
def test_a_device_with_the_same_random_bytes_sends_the_same_bytes(notion) -> None:
    """A real device with the same random numbers sends, in each of three periods, the bytes that the simulation
    wrote."""
    signed = open_campaign(seal_campaign(campaign(notion), AUTHOR), [AUTHOR.public])
    truth = Truth(LABELS, (2, 1, 1))
    order, now = simulation.shuffled(truth, seed=7), [0]
    sent = [next(population(signed.campaign, signed.id, truth, period, seed=7)).reports for period in range(3)]
    written = [b"", b"", b""]
    for person, which in enumerate(order):
        dice, now[0] = simulation.random_source(7, person), OPENS
        with Device.open(":memory:", [AUTHOR.public], None, clock=lambda: now[0], urandom=dice) as device:
            joined = device.join(signed.data).campaign_id
            device.consent(joined)
            for period in range(3):
                now[0] = OPENS + period * WEEK
                written[period] += device.enrolment(joined) + device.answer(joined, LABELS[which]).envelope
    assert written == sent


@pytest.mark.parametrize(
    ("period", "slot", "count", "refused"), [(0, 1, 1, True), (2, 3, 1, True), (2, 0, 2, True), (2, 2, 1, False)]
)
def test_reports_above_the_quota_of_a_period_are_refused(study_of, tmp_path, period, slot, count, refused) -> None:
    """A slot number above the period, and two outputs in one report, are refused as over quota."""
    made, signed = study_of(campaign())
    key = SigningKey.for_campaign(bytes(32), signed.id)
    report = Report(signed.id, period, slot, count, pack([1] * count, signed.campaign.channel.output_bits))
    (tmp_path / "batch.htr").write_bytes(Enrolment(signed.id, key.public).seal(key) + report.seal(key))
    result = ingest(made, [tmp_path / "batch.htr"], now=OPENS + 3 * WEEK)
    assert result.refused == ({"over-quota": 1} if refused else {})
    with pytest.raises(ReportError) if refused else nullcontext():
        report.require_fit(signed.campaign)


# The draft


def drafted(prior: dict, answers: dict | None = None, **schedule) -> Campaign:
    document = {
        "title": "Crops", "question": "What?", "organisation": "Council",
        "domain": answers or {"kind": "values", "values": list(LABELS)},
        "privacy": {"notion": "lip", "epsilon": Decimal("0.5")},
        "prior": {"kind": "transcript", "counts": [5, 3, 2], **prior},
        "schedule": {"opens": date(2026, 1, 1), "closes": date(2026, 1, 29), "period_days": 7, **schedule},
    }  # fmt: skip
    return campaign_of(document, folder=None)


def test_a_draft_makes_a_campaign_of_transcripts() -> None:
    """[prior] kind = "transcript" makes a campaign of one answer a period, with the draft's drift.

    An invalid drift, and several answers a period, are refused.
    """
    made = drafted({"drift": Decimal("0.1")})
    assert made.notion == TranscriptPrior(NAT // 2, (5, 3, 2), 6554)
    assert made.worst_case == 4 * (NAT // 2)
    assert drafted({}).notion.drift == 0
    assert decode_campaign(encode_campaign(made)) == made
    for wrong in ({"drift": Decimal(1)}, {"drift": Decimal("-0.1")}, {"drift": "often"}):
        with pytest.raises(DraftError, match="drift"):
            drafted(wrong)
    with pytest.raises(CampaignError, match="one answer per period"):
        drafted({}, answers_per_period=2)


@pytest.mark.parametrize(
    "answers",
    [{"kind": "buckets", "edges": [0, 1, 2]}, {"kind": "number", "low": 0, "high": 2, "rounding": "random"}],
    ids=["buckets", "number"],
)
def test_a_drift_is_refused_for_numbers_rounded_at_random(answers: dict) -> None:
    """The refusal names the entry ``drift`` and its remedy, and the remedy works."""
    with pytest.raises(DraftError, match=r"^\[prior\] drift: .* use a domain without random rounding"):
        drafted({"drift": Decimal("0.1")}, answers)
    assert drafted({}, answers).notion.drift == 0
    nearest = {"kind": "number", "low": 0, "high": 2}
    assert drafted({"drift": Decimal("0.1")}, nearest).notion.drift == 6554
