"""The parts of the context-aware experiments: exact errors by brute force, and people drawn as devices would draw."""

from __future__ import annotations

import gzip
import math

import numpy as np
import pytest
from scipy import stats

from aggregator.estimate.distribution import total_variation
from aggregator.estimate.error import expected_mse
from aggregator.estimate.linear import unbiased_estimate
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.sets.recipe import subset_error
from aggregator.reproduce import simulated_people
from aggregator.reproduce.context import EXPERIMENTS, blocks, places, reader
from aggregator.reproduce.context.reader import METHODS, CampaignReader, block_notion, even_blocks, people_needed
from aggregator.reproduce.context.sensitive import high_low_shares
from aggregator.reproduce.data import GRID_COLUMNS, GRID_ROWS, DataFolder
from aggregator.reproduce.experiment import Setting
from aggregator.reproduce.simulated_people import level_of_nats
from protocol.notions import Block, HighLow, Ldp


def read_by(size, notion, mechanism):
    return CampaignReader(simulated_people.campaign(simulated_people.values(size), notion, mechanism))


@pytest.mark.parametrize(
    ("notion", "mechanism"),
    [
        (Ldp(level_of_nats(1)), "hadamard"),
        (Ldp(level_of_nats(1)), "projective"),
        (Block.over(level_of_nats(1), [0, 0, 0, 1, 1, 1]), "best-in-blocks"),
        (HighLow(level_of_nats(1), 6, (0, 2)), "hadamard"),
    ],
)
def test_people_drawn_from_a_distribution_report_by_its_mixture(notion, mechanism):
    """Outputs have the frequencies of the channel's integers mixed by the shares: n = 10^6, chi-square at alpha =
    10^-4.

    A failure means that people are not drawn from the shares.
    """
    asked, distribution = read_by(6, notion, mechanism), np.array([0.4, 0.3, 0.0, 0.15, 0.1, 0.05])
    channel, people = asked.campaign.channel, 1_000_000
    weights = [sum(p * channel.weight(x, y) for x, p in enumerate(distribution)) for y in range(channel.output_count)]
    expected = np.array(weights) / 2**channel.scale * people
    tally = asked.drawn(distribution, people, np.random.default_rng(2))
    assert tally.reports == tally.counts.sum() == people
    assert not tally.counts[expected == 0].any()
    some = expected > 0
    fitted = expected[some] * people / expected[some].sum()
    assert stats.chisquare(tally.counts[some], fitted).pvalue > 1e-4


@pytest.mark.parametrize("mechanism", ["hadamard", "projective"])
def test_each_person_is_reported_once(mechanism):
    """A fixed population of 100,000 sends one report a person, and the estimate is within 0.03 of its shares."""
    asked, held = read_by(5, Ldp(level_of_nats(2)), mechanism), np.array([50_000, 20_000, 0, 20_000, 10_000])
    tally = asked.tally(held, np.random.default_rng(1))
    assert tally.counts.sum() == tally.reports == held.sum()
    # For 100,000 people, the standard error of a share is below 0.006.
    assert total_variation(asked.shares(tally, "projection"), held / held.sum()) < 0.03


@pytest.mark.parametrize("method", METHODS)
def test_every_estimate_is_a_distribution_near_the_truth(method):
    """With 10^6 people over 20 values the estimate of each method sums to one and is within 0.02 of the truth, in total
    variation."""
    distribution = 1 / np.arange(1, 21)
    distribution /= distribution.sum()
    asked = read_by(20, block_notion(20, 4, 2.0), "hadamard")
    share = asked.shares(asked.drawn(distribution, 1_000_000, np.random.default_rng(4)), method)
    assert share.sum() == pytest.approx(1)
    assert share.min() >= 0
    # The standard errors are about 0.001, and the uniform prior adds up to 0.01.
    assert total_variation(share, distribution) < 0.02


def test_the_methods_give_different_estimates():
    """With 1,000 reports over 50 values the estimates of each two methods are more than 0.01 apart in total
    variation."""
    asked = read_by(50, Ldp(level_of_nats(1)), "hadamard")
    tally = asked.drawn(np.full(50, 0.02), 1000, np.random.default_rng(4))
    found = [asked.shares(tally, method) for method in METHODS]
    assert all(total_variation(a, b) > 0.01 for i, a in enumerate(found) for b in found[:i])


def test_the_needed_people_give_the_requested_distance():
    """With the computed number of people the mean distance of raw estimates is the requested one, within 3% over 2,000
    surveys.

    A difference of 3% is more than 3 standard errors; the seed is fixed. A failure means a wrong number of people.
    """
    distribution = np.array([0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05])
    asked, generator = read_by(8, Ldp(level_of_nats(1)), "hadamard"), np.random.default_rng(6)
    people = round(people_needed(asked, distribution, 0.02))
    away = []
    for _ in range(2000):
        tally = asked.drawn(distribution, people, generator)
        away.append(total_variation(unbiased_estimate(asked.decoder, tally).raw, distribution))
    assert np.mean(away) == pytest.approx(0.02, rel=0.03)  # the mean's standard error is below 1%


def test_blocks_are_equal_runs():
    """m blocks are runs of consecutive values with sizes as equal as possible; one block is plain LDP."""
    assert even_blocks(10, 5) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert sorted(np.bincount(even_blocks(11, 3)).tolist()) == [3, 4, 4]
    assert block_notion(10, 1, 1.0) == Ldp(level_of_nats(1))
    assert block_notion(4, 2, 1.0) == Block.over(level_of_nats(1), [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("size", "ratios"), [(100, (1.09, 1.30, 2.43, 14.4)), (16, (1.21, 1.44, 2.70, 10.9)), (10, (1.31, 1.56, 2.89, 8.4))]
)
def test_the_error_of_hadamard_in_a_block_has_the_listed_ratios(size, ratios):
    """In a block of 100, 16 or 10 values, Hadamard's error divided by that of the best subset selection has the listed
    values at 0.5, 1, 2 and 4 nats."""
    for eps, ratio in zip((0.5, 1, 2, 4), ratios, strict=True):
        best = min(subset_error(size, ones, level_of_nats(eps)) for ones in range(1, size))
        assert expected_mse(hadamard(size, level_of_nats(eps))) / best == pytest.approx(ratio, rel=0.005)


def test_equal_blocks_divide_the_error_by_their_number():
    """For uniform shares, Hadamard in m equal blocks has 1/m of the squared error of Hadamard over all values, within
    1%."""
    plain = expected_mse(read_by(60, Ldp(level_of_nats(1)), "hadamard").campaign.channel)
    for m in (2, 5, 10):
        inside = expected_mse(read_by(60, block_notion(60, m, 1.0), "hadamard").campaign.channel)
        assert plain / inside == pytest.approx(m, rel=0.01)


@pytest.mark.parametrize(
    ("sensitive", "part", "ratios"),
    [(100, 0.1, (1.02, 1.09, 1.37, 3.25)), (100, 0.5, (1.03, 1.19, 1.88, 7.9)), (500, 0.5, (1.02, 1.17, 1.91, 9.5))],
)
def test_the_error_of_hadamard_under_high_low_has_the_stated_ratios(sensitive, part, ratios):
    """The error of Hadamard response relative to projective geometry under high-low LDP has the stated ratios (MATH
    5.2).

    There are 1,000 values, and projective geometry uses the share of people who have a sensitive one. The levels are
    0.5, 1, 2 and 4 nats.
    """
    distribution = high_low_shares(1000, sensitive, part)
    assert distribution.sum() == pytest.approx(1)
    assert distribution[:sensitive].sum() == pytest.approx(part)
    for eps, ratio in zip((0.5, 1, 2, 4), ratios, strict=True):
        notion = HighLow(level_of_nats(eps), 1000, tuple(range(sensitive)))
        channels = [
            simulated_people.campaign(simulated_people.values(1000), notion, *options).channel
            for options in (("hadamard",), ("projective", part))
        ]
        hadamard, projective = (expected_mse(channel, distribution) for channel in channels)
        assert hadamard / projective == pytest.approx(ratio, rel=0.006)


@pytest.mark.parametrize(("grid", "cells"), [((5, 7), 1250), ((25, 35), 50), ((25, 70), 25)])
def test_the_grid_is_cut_into_rectangles(grid, cells):
    """The blocks of Table 1 are equal rectangles of the grid, numbered by row and column."""
    found = np.array(places.grid_blocks(*grid)).reshape(GRID_ROWS, GRID_COLUMNS)
    assert set(np.bincount(found.ravel())) == {cells}
    down, across = GRID_ROWS // grid[0], GRID_COLUMNS // grid[1]
    assert (found[:down, :across] == 0).all()
    assert found[0, across] == 1
    assert found[down, 0] == grid[1]
    assert found[-1, -1] == math.prod(grid) - 1


@pytest.fixture
def folder(tmp_path):
    """A folder with a file of five grid cells in four districts."""
    rows = ["row,col,checkins,users", "62,175,6000,9", "62,176,1900,9", "10,20,1500,9", "100,300,599,9", "0,0,1,1"]
    with gzip.open(tmp_path / "gowalla_u5628_us_grid.csv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(rows) + "\n")
    return DataFolder(tmp_path)


def test_the_map_shows_cells_at_their_places(folder):
    """Each cell is drawn at its centre, in the band of its share; a result from a part of the data is labelled as
    such."""
    (each,) = (one for one in EXPERIMENTS if one.name == "fig3")
    result = each.result(folder, 1, quick=True)
    assert result.data == "Gowalla, a part of it, 10,000 check-ins in the United States"
    truth, plain, blocks = result.plots
    assert {curve.name: list(zip(curve.x, curve.y, strict=True)) for curve in truth.curves} == {
        "1% or more": [(-125.9, 27.1), (-94.9, 37.5), (-94.7, 37.5), (-69.9, 45.1)],
        "0.001% to 0.04%": [(-129.9, 25.1)],
    }
    assert all(curve.marks for plot in result.plots for curve in plot.curves)
    # Blocks keep the empty districts empty, so every estimated cell is in a district of one of the five cells.
    near = {(-126, 27), (-95, 37), (-70, 45), (-130, 25)}  # each district is one degree wide and high
    drawn = {(math.floor(x), math.floor(y)) for curve in blocks.curves for x, y in zip(curve.x, curve.y, strict=True)}
    assert drawn <= near
    assert len(plain.curves)


@pytest.mark.long
def test_table_1_on_a_part_of_the_data_is_labelled_as_such(folder):
    """The findings label a part of the data as such, and more blocks give an estimate nearer to the truth."""
    (each,) = (one for one in EXPERIMENTS if one.name == "table1")
    result = each.run(Setting(folder, np.random.default_rng(1), 1, True, lambda _: None))
    assert result.data.startswith("Gowalla, a part of it")
    assert "cannot be compared with the paper's" in result.findings[0].why
    assert "a part of Gowalla" in result.verdict
    projected = next(curve for curve in result.plots[0].curves if curve.name == "Hadamard, projected")
    assert projected.x == (1, 35, 875, 1750)
    assert projected.y[0] > projected.y[-1]


def test_the_distributions_are_those_of_the_paper():
    """The distributions are geometric with .95, Zipf with 1, uniform, and the geometric one in another order."""
    geometric, zipf, uniform, permuted = reader.distributions(np.random.default_rng(1)).values()
    assert geometric[1] / geometric[0] == pytest.approx(0.95)
    assert zipf[9] / zipf[0] == pytest.approx(0.1)
    assert set(uniform) == {1 / reader.VALUES}
    assert sorted(permuted) == pytest.approx(sorted(geometric))
    assert not np.array_equal(permuted, geometric)


def test_claims_on_blocks_that_do_not_hold_are_reported(monkeypatch):
    """If LDP is nearer to the truth at one point, a ratio of errors is not the number of blocks, or the numbers of
    people are not in proportion to Theorem 4, the finding says that the claim does not hold."""
    far = [[0.5] * len(blocks.PEOPLE)] + [[0.4 - m / 1000] * len(blocks.PEOPLE) for m in (*range(4), 5, 6)]
    last = dict.fromkeys("abcd", blocks._LastDistances(0.5, 0.4, 0.3))
    ratios = [float(m) for m in reader.BLOCKS]

    def reasons(far, ratios):
        better, _, equal, *_ = blocks._findings(dict.fromkeys("abcd", far), last, ratios)
        return [finding.why.partition(" hold")[0].partition("difference")[0] for finding in (better, equal)]

    assert reasons(far, ratios) == ["no ", "no "]
    assert reasons([[0.5] * 9 + [0.1], *far[1:]], [2 * ratio for ratio in ratios]) == ["it does not"] * 2

    monkeypatch.setattr(blocks, "subset_error", lambda *_: 1.0)
    sizes, names = (1, *reader.BLOCKS), ("hadamard", "auto")
    error = {(m, name, eps): 1.0 for m in sizes for name in names for eps in reader.LEVELS}
    bits, saved = {(m, name): 10 for m in sizes for name in names}, dict.fromkeys(reader.BLOCKS, 1.0)
    for constants, why in (([0.6, 0.7], "no difference: the order is right"), ([0.1, 0.9], "it does not hold")):
        assert blocks._findings_of_gains(error, bits, (saved, saved), constants, [0.1])[0].why == why
