"""Properties of views in a study: a report counts for the view of its key, and for no other view."""

from __future__ import annotations

import asyncio
import io
from collections import Counter
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from scipy import stats

from aggregator.anonymity import anonymity_of_views
from aggregator.engines import tallies
from aggregator.engines.steps import StudyVersion
from aggregator.estimate.error import campaign_error, view_errors
from aggregator.estimate.estimator import estimate
from aggregator.estimate.forgeries import FALSE_ALARM
from aggregator.estimate.minimum import NotEnough, devices_of, require_enough
from aggregator.estimate.tally import Tally
from aggregator.estimate.view_balance import find_view_imbalance
from aggregator.families.bits import recipe as unary
from aggregator.families.decoder import NotInvertible
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.noise.recipe import discrete_gaussian
from aggregator.families.response.recipe import randomized_response
from aggregator.intake import columns
from aggregator.intake.compact import compact
from aggregator.intake.ingest import ingest
from aggregator.intake.signatures import verifier
from aggregator.present.listing import certificate_table, status_table
from aggregator.present.tallies import tallies_table
from aggregator.receive.acknowledgements import CountedQuery
from aggregator.receive.snapshot import StudySnapshot
from aggregator.storage import tables
from aggregator.storage.tables import REPORTS
from aggregator.truth_file import Truth
from protocol import exact
from protocol.campaign import SignedCampaign, open_campaign, seal_campaign
from protocol.domain import Grid
from protocol.envelope import Kind, read_batch
from protocol.report import Report, pack, unpack
from protocol.views import Coarse, Identity, View
from tests.aggregator import fleet
from tests.aggregator.fleet import AUTHOR, NOW, device, enrolment
from tests.aggregator.simulated import population

GRID = Grid(0, 600_000, 0, 600_000, 100_000)
"""A grid of 6 x 6 cells."""
WEIGHTS = (2, 3, 5)


@lru_cache
def campaign(answers: int = 1) -> SignedCampaign:
    """A campaign of three views: 4 squares and 36 cells, reported as numbers, and 9 squares, reported as bits."""
    level = exact.NANONATS
    views = (
        View(WEIGHTS[0], Coarse(3), randomized_response(4, level)),
        View(WEIGHTS[1], Coarse(2), unary.oue(9, level)),
        View(WEIGHTS[2], Identity(), hadamard(36, level)),
    )
    plain = fleet.campaign(answers=answers).campaign
    campaign = replace(plain, domain=GRID, views=views, title=f"Map {answers}", minimum_devices=5)
    return open_campaign(seal_campaign(campaign, AUTHOR), [AUTHOR.public])


def view_of(number, signed):
    """Return the view of a device."""
    return signed.view_of(device(number, signed).public)


def report(number, signed, outputs, *, period=0, slot=0, bits=None):
    """Return a device's report of outputs, which its view need not have."""
    packed = pack(outputs, bits or signed.campaign.output_bits)
    return Report(signed.id, period, slot, len(outputs), packed).seal(device(number, signed))


def features(channel, output):
    """Return the features of an output."""
    if not channel.unary:
        return [output]
    return [bit for bit in range(channel.features) if output >> (channel.features - 1 - bit) & 1]


def filled(tmp_path, answers, devices=60):
    """Return a study with reports of two periods, its campaign, and each report's view and outputs by device and
    period."""
    signed = campaign(answers)
    study = fleet.study(tmp_path / "study", signed, range(devices))
    sent, batch = {}, []
    for number in range(devices):
        for period in (0, 1):
            if (number + period) % 3:
                view = view_of(number, signed)
                channel = signed.campaign.views[view].channel
                rng = np.random.default_rng([number, period])
                outputs = [int(rng.integers(channel.output_count)) for _ in range(1 + number % answers)]
                sent[number, period] = (view, outputs)
                batch.append(report(number, signed, outputs, period=period))
    file = tmp_path / "batch.htr"
    file.write_bytes(b"".join(batch))
    result = ingest(study, [file], now=NOW + fleet.WEEK)
    assert (result.accepted, sum(result.refused.values())) == (len(batch), 0)
    return study, signed, sent


def by_hand(signed, sent):
    """Return the counts and the number of outputs of each view, computed report by report."""
    counts = [np.zeros(view.channel.features, dtype=np.int64) for view in signed.campaign.views]
    reports = [0] * len(counts)
    for view, outputs in sent:
        for output in outputs:
            counts[view][features(signed.campaign.views[view].channel, output)] += 1
            reports[view] += 1
    return counts, reports


def same(tally, signed, sent):
    """Assert that a tally by view equals the counts of ``by_hand``."""
    counts, reports = by_hand(signed, sent)
    assert [part.reports for part in tally.by_view] == reports
    assert all((part.counts == hand).all() for part, hand in zip(tally.by_view, counts, strict=True))
    assert tally.reports == sum(reports)
    assert (tally.counts == np.concatenate(counts)).all()


@pytest.mark.parametrize("answers", [1, 3])
def test_reports_are_counted_by_the_view_of_their_key(tmp_path, answers):
    """The tally of a view has the outputs of the keys with that view, for numbers and bits, also after compaction."""
    study, signed, sent = filled(tmp_path, answers)
    latest = dict(sorted(sent))
    for _ in range(2):
        same(study.tally(signed, 0), signed, [pair for (_, period), pair in sent.items() if period == 0])
        same(study.tally(signed), signed, [pair for (number, period), pair in sent.items() if latest[number] == period])
        spans = list(study.spans(signed, [(0, 1), (1, 1), (3, 3)]))
        same(spans[0], signed, [pair for (number, period), pair in sent.items() if latest[number] == period])
        same(spans[1], signed, [pair for (_, period), pair in sent.items() if period == 1])
        same(spans[2], signed, [])
        compact(study, now=NOW, alone=True, retention=0)
    first = {number for number, period in sent if period == 0}
    by_view = Counter(sent[number, 0][0] for number in first)
    groups = [part.groups for part in next(study.spans(signed, [(0, 0)])).by_view]
    assert [one.devices for one in groups] == [by_view[view] for view in range(3)]
    assert [int(one.reports.sum()) for one in groups] == [part.reports for part in study.tally(signed, 0).by_view]
    assert devices_of(study.tally(signed, 0)) == len(first)


@pytest.mark.parametrize("answers", [1, 3])
def test_tallies_of_the_workers_add_up_to_the_tally_of_each_view(tmp_path, answers):
    """Tallies of parts of the keys, one per worker, add up to the study's tally of each view, with groups."""
    study, signed, _ = filled(tmp_path, answers)
    study_version, version = StudyVersion.of(study), tables.snapshot(study.path / REPORTS).version()
    for chosen in (None, 0, 9, (0, 1)):
        parts = [tallies.part_tally(study_version, version, one, 4, signed.id.hex(), chosen) for one in range(4)]
        whole = tallies.total_tally(parts, study.refused(signed))
        expected = next(study.spans(signed, [chosen])) if isinstance(chosen, tuple) else study.tally(signed, chosen)
        assert [contents(part) for part in whole.by_view] == [contents(part) for part in expected.by_view]
        assert (whole.counts == expected.counts).all()
        assert (whole.reports, whole.version) == (expected.reports, expected.version)


def contents(tally):
    """Return all fields of a tally, with groups summed independently of the order of their rows."""
    fields = {name: getattr(tally, name) for name in ("reports", "version", "lost", "period") if hasattr(tally, name)}
    fields |= {name: getattr(tally, name).tolist() for name in ("counts", "chains", "priors") if hasattr(tally, name)}
    fields["refused"] = dict(tally.refused)
    if tally.groups is not None:
        groups = tally.groups
        cells = Counter()
        for group, feature, count in zip(groups.group, groups.feature, groups.count, strict=True):
            cells[int(group), int(feature)] += int(count)
        fields["groups"] = (+cells, groups.reports.tolist(), groups.devices, groups.max_outputs)
    return type(tally), fields


def test_an_output_of_another_view_is_refused(tmp_path):
    """A report with outputs of another view, or in the width of its own view instead of the campaign's, is refused as a
    bad output.

    Keys that are not enrolled have no view.
    """
    signed = campaign()
    numbers = {view: next(n for n in range(100) if view_of(n, signed) == view) for view in range(3)}
    bits = [view.channel.output_bits for view in signed.campaign.views]
    assert bits == [2, 9, 6]
    assert signed.campaign.output_bits == 9
    study = fleet.study(tmp_path / "study", signed, numbers.values())
    stranger = next(n for n in range(100) if n not in numbers.values())
    bad = [
        report(numbers[0], signed, [4]),  # other views have this output
        report(numbers[2], signed, [64]),  # a word for view 1
        report(numbers[0], signed, [1], bits=2),  # one byte, the width of the view, where two are required
        report(numbers[2], signed, [1], bits=6),
        report(numbers[1], signed, [1], bits=17),
    ]
    good = [report(numbers[view], signed, [1]) for view in range(3)]
    file = tmp_path / "batch.htr"
    file.write_bytes(b"".join([*bad, *good, report(stranger, signed, [1])]))
    result = ingest(study, [file], now=NOW)
    assert {name: n for name, n in result.refused.items() if n} == {"bad-output": len(bad), "unknown-key": 1}
    same(study.tally(signed, 0), signed, [(view, [1]) for view in range(3)])
    assert [view.devices for view in study.status(NOW)[0].views] == [1, 1, 1]


@given(st.integers(58, 200), st.integers(1, 5), st.data())
def test_outputs_of_few_bits_in_wide_reports_are_unpacked(bits, count, data):
    """Outputs of any width that are read in bulk equal those of ``unpack``; outputs above the limit are refused.

    Words have no padding, or the padding of a wider view.
    """
    outputs = data.draw(st.lists(st.integers(0, 2**20), min_size=count, max_size=count))
    large = data.draw(st.sampled_from([0, 2**57 - 1, 2**57, 2**58 - 1]))
    outputs[0] = outputs[0] if large == 0 else large
    packed = pack(outputs, bits)
    assert unpack(packed, count, bits) == tuple(outputs)
    octets = np.frombuffer(packed + bytes(64), dtype=np.uint8)
    at, length = np.zeros(1, dtype=np.int64), np.array([len(packed)])
    values, good = columns.unpacked_outputs(octets, at, length, count, bits, 2**57 - 1)
    assert good[0] == (max(outputs) < 2**57 - 1)
    assert not good[0] or values[0].tolist() == outputs
    words, good = columns.unpacked_words(octets, at, length, count, 21, None, bits)
    assert good[0] == (max(outputs) < 2**21)
    if good[0]:
        assert [int.from_bytes(word) >> 3 for word in words[0]] == outputs


def test_simulated_devices_answer_as_their_view():
    """Every simulated report has outputs of its key's view, all reports have one length, and the test of views gives
    no warning."""
    signed = campaign()
    truth = Truth(tuple((0.05 + x // 6 / 10, 0.05 + x % 6 / 10) for x in range(0, 36, 5)), (30,) * 8)
    batch = b"".join(sent.reports for sent in population(signed.campaign, signed.id, truth, 0, seed=1, processes=1))
    keys = b"".join(sent.enrolments for sent in population(signed.campaign, signed.id, truth, 0, seed=1, processes=1))
    public = {one.key_id: one.unverified[-32:] for one in read_batch(keys)}
    envelopes = [one for one in read_batch(batch) if one.kind is Kind.REPORT]
    views = Counter()
    for one in envelopes:
        view = signed.view_of(public[one.key_id])
        Report.decode(one.unverified).outputs(signed.campaign, view)
        views[view] += 1
    assert len({len(one.encode()) for one in envelopes}) == 1
    assert find_view_imbalance(GRID, signed.campaign.views, np.array([views[view] for view in range(3)])) is None


def test_the_study_confirms_only_counted_outputs_of_the_view(tmp_path):
    """The study confirms exactly the counted outputs of numbers or bits, and no other outputs of the same device."""
    study, signed, sent = filled(tmp_path, 3)
    batch = b"".join(report(n, signed, outputs, period=period) for (n, period), (_, outputs) in sent.items())
    other = [
        report(n, signed, [1 + outputs[0] % 2, *outputs[1:]], period=p)
        for (n, p), (_, outputs) in list(sent.items())[:9]
    ]
    question = CountedQuery.of(batch + b"".join(other))
    reader = StudySnapshot(study)
    reader.request(reader.campaigns)
    reader.refresh()
    known = asyncio.run(reader.snapshots(reader.campaigns, 0))
    with verifier(1) as threads:
        found = question.counted(known, threads)
    assert found[: len(sent)] == [True] * len(sent)
    assert not any(found[len(sent) :])


@pytest.mark.parametrize("devices", [60, 25])
def test_exported_tallies_are_those_of_each_view(tmp_path, devices):
    """The table of tallies has a row for each counted feature of a view in a period, and omits views of few devices.

    With 25 devices, in each period at least one view has fewer than 5 reports; with 60 devices each has enough.
    """
    study, signed, sent = filled(tmp_path, 1, devices=devices)
    found = tallies_table(signed, study.counts(signed), {})
    rows = {
        (row["period"], row["view"], row["feature"]): (row["count"], row["reports"]) for row in found.table.to_pylist()
    }
    expected, withheld = {}, 0
    for period in (0, 1):
        counts, reports = by_hand(signed, [pair for (_, when), pair in sent.items() if when == period])
        for view, (of_view, n) in enumerate(zip(counts, reports, strict=True)):
            if n < signed.campaign.minimum_devices:
                withheld += n
                continue
            expected |= {(period, view, int(y)): (int(of_view[y]), n) for y in np.flatnonzero(of_view)}
    assert (rows, found.withheld) == (expected, withheld)
    assert rows
    assert (withheld > 0) == (devices == 25)


def test_devices_of_all_views_of_a_figure_count_towards_the_minimum(tmp_path):
    """The devices of all views that contribute to a figure count towards the minimum, since each device has one
    view; too few are refused."""
    study, signed, _ = filled(tmp_path, 1, devices=9)
    parts = study.tally(signed).by_view
    few = min(parts, key=lambda part: part.reports)
    require_enough(signed.campaign, *parts)
    with pytest.raises(NotEnough, match="needs reports of 5 devices"):
        require_enough(signed.campaign, few)


@given(st.lists(st.integers(1, 50), min_size=2, max_size=6), st.data())
def test_the_test_of_views_is_exact(weights, data):
    """A warning is given if and only if a binomial tail of a view is below its part of the false alarm rate."""
    devices = data.draw(st.lists(st.integers(0, 400), min_size=len(weights), max_size=len(weights)))
    total = sum(devices)
    tails = [
        min(stats.binom.cdf(n, total, w / sum(weights)), stats.binom.sf(n - 1, total, w / sum(weights)))
        for n, w in zip(devices, weights, strict=True)
    ]
    limit = FALSE_ALARM / (2 * len(weights))
    if abs(min(tails) / limit - 1) > 1e-6:
        views = [View(weight, Identity(), randomized_response(36, exact.NANONATS)) for weight in weights]
        found = find_view_imbalance(GRID, views, np.array(devices))
        assert (found is not None) == (total > 0 and min(tails) < limit)


def test_the_table_of_a_campaign_numbers_its_views_from_1():
    """The table of ``inspect`` has a row for each view, numbered from 1, with its part of the devices."""
    console = Console(file=io.StringIO(), width=120)
    console.print(certificate_table(campaign().campaign))
    rows = [line.split()[:3] for line in console.file.getvalue().splitlines() if line.strip().startswith("view ")]
    assert rows == [["view", "1", "20.0%"], ["view", "2", "30.0%"], ["view", "3", "50.0%"]]


def test_a_view_without_unbiased_estimate_is_named():
    """The error that a campaign has no expected error names the view without an unbiased estimate as texts name it."""
    plain = campaign().campaign
    smooth = View(WEIGHTS[2], Identity(), discrete_gaussian(36, 60.0, exact.NANONATS))
    with pytest.raises(NotInvertible, match="the view of the answer itself has no unbiased estimate"):
        campaign_error(replace(plain, views=(*plain.views[:2], smooth)))


def test_keys_chosen_for_a_view_cause_a_warning(tmp_path):
    """A warning names a view for which a client chose its keys; the honest devices of the same study cause none.

    The honest keys are fixed, so the result is deterministic.
    """
    signed = campaign()
    study = fleet.study(tmp_path / "study", signed)
    honest = list(range(200))
    chosen = [n for n in range(200, 2000) if view_of(n, signed) == 0][:60]
    for numbers, seen in ((honest, False), (chosen, True)):
        study.enrol(b"".join(enrolment(n, signed) for n in numbers))
        file = tmp_path / f"{len(numbers)}.htr"
        file.write_bytes(b"".join(report(n, signed, [1]) for n in numbers))
        ingest(study, [file], now=NOW)
        (status,) = study.status(NOW)
        assert bool(status.warnings) == seen
    assert status.warnings[0].startswith("the view of 4 squares of 3 x 3 cells has ")
    assert status.warnings[0] in estimate(signed, study.tally(signed)).warnings
    assert "chosen for their view" in status.warnings[0]
    assert status.as_json()["views"][2]["view"] == "the answer itself"


def test_a_status_has_a_line_for_each_view(tmp_path):
    """On 80 columns each view has one line with its devices, the expected number and its name."""
    study, _, sent = filled(tmp_path, 1)
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(status_table(study.status(NOW)))
    text = console.export_text()
    devices = Counter(view for _, view in {(number, view) for (number, _), (view, _) in sent.items()})
    for place, view in enumerate(study.status(NOW)[0].views):
        expected = f"{devices.total() * WEIGHTS[place] / 10:,.0f}"
        (line,) = [
            line for line in text.splitlines() if line.split()[:3] == [f"{place + 1}", f"{devices[place]}", expected]
        ]
        assert line.rstrip().endswith(view.name)
    assert max(map(len, text.splitlines())) <= 80


def test_anonymity_counts_equal_reports_of_one_view():
    """k is the size of the smallest class of equal reports of one view; the classes of all views are counted."""
    level = exact.NANONATS
    channels = [randomized_response(4, level), hadamard(36, level)]
    tallies = [Tally.of(np.array([5, 3, 0, 4])), Tally.of(np.array([9, 7] + [0] * (channels[1].output_count - 2)))]
    found = anonymity_of_views(channels, tallies)
    assert (found.rows, found.equivalence_classes, found.k, found.smallest) == (28, 5, 3, {"view": "0", "output": "1"})
    assert anonymity_of_views(channels[1:], tallies[1:]).smallest == {"output": "1"}


def test_influence_and_error_are_divided_by_the_share_of_the_view():
    """The influence of a report and the error of a view are W / w_j times those of a campaign of that view alone."""
    signed = campaign()
    found = view_errors(signed.campaign)
    for place, (view, view_error) in enumerate(zip(signed.campaign.views, found, strict=True)):
        alone = view_errors(replace(signed.campaign, views=(replace(view, weight=1),)))[0]
        factor = sum(WEIGHTS) / WEIGHTS[place]
        assert view_error.people_per_report == pytest.approx(factor * alone.people_per_report)
        assert view_error.mse == pytest.approx(factor * alone.mse)
