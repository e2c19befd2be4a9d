"""Properties of the estimate of a campaign with views: each resolution is unbiased, consistent with the others, and
states its error."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from aggregator.author.audit import audit
from aggregator.cli.failure import Failure
from aggregator.cli.value_names import value_or_district
from aggregator.estimate.change import Side, difference
from aggregator.estimate.estimator import estimate
from aggregator.estimate.groups import GROUPS, Groups
from aggregator.estimate.method import MethodRefused
from aggregator.estimate.minimum import NotEnough
from aggregator.estimate.query import value_share, weighted_mean
from aggregator.estimate.resolutions import TreeShares, ValueOrDistrict, Views
from aggregator.estimate.span import Span
from aggregator.estimate.tally import Tally, ViewsTally
from aggregator.estimate.trend import trend
from aggregator.families.decoder import NotInvertible
from aggregator.families.projective.recipe import projective
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import randomized_response
from aggregator.present.markup import label_markup
from aggregator.present.page import page
from aggregator.present.shown_changes import foremost_values_and_districts, percentage_points
from aggregator.present.trend_plot import draw_difference, draw_trend
from aggregator.present.trends import change_csv, change_table, steps_table, trend_csv, value_table
from protocol.campaign import Campaign, SignedCampaign
from protocol.domain import Buckets, Grid
from protocol.exact import NANONATS
from protocol.notions import Ldp
from protocol.runs import runs_of
from protocol.views import Coarse, Districts, Identity, View
from tests.aggregator.test_estimate_groups import counted as sent_once

GRID = Grid(0, 7_000_000, 0, 11_000_000, 1_000_000)
NUMBERS = Buckets.of(list(range(0, 121, 2)))
CROSSING = Districts(runs_of([x % 11 // 4 for x in range(77)]), ("west", "middle", "east"))
"""Stripes of 4, 4 and 3 columns. Their borders cross no square of 2 x 2 cells, and several squares of 3 x 3 cells."""


def unsigned_campaign(domain, *maps, weights=None, minimum=1):
    weights = weights or [1] * len(maps)
    views = tuple(
        View(weight, map_, projective(map_.input_count(domain), NANONATS))
        for weight, map_ in zip(weights, maps, strict=True)
    )
    return Campaign(
        "Map", "Where?", "", "Town", domain, Ldp(NANONATS), "projective", views, 0, 86_400, 86_400, 1, minimum, "open"
    )


def district(campaign, view):
    return np.array([view.map.input(campaign.domain, x) for x in range(campaign.domain.size)])


def counted(campaign, people, numbers, rng=None):
    """Return the tally of ``numbers`` people of each view, either drawn or the expected counts rounded to whole
    numbers."""
    parts = []
    for view, n in zip(campaign.views, numbers, strict=True):
        distribution = decoder_of(view.channel).forward(
            np.bincount(district(campaign, view), people, view.channel.input_count)
        )
        distribution /= distribution.sum()
        counts = np.round(n * distribution).astype(np.int64) if rng is None else rng.multinomial(n, distribution)
        parts.append(Tally.of(counts))
    return ViewsTally.of_parts(parts, {}, None)


PEOPLE = np.random.default_rng(4).dirichlet(np.full(77, 0.3))
CAMPAIGNS = {
    "squares in squares": (GRID, Coarse(4), Coarse(2), Identity()),
    "two resolutions": (GRID, Coarse(4), Identity()),
    "stripes across squares": (GRID, Coarse(3), CROSSING, Identity()),
    "no view of the cells": (GRID, Coarse(4), Coarse(2)),
    "no view of the tree lies in the districts": (GRID, Coarse(3), CROSSING),
}


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_every_resolution_is_unbiased(name):
    """From the expected counts, the unbiased estimate and the shares of each resolution are the truth.

    Cells without a view have no unbiased estimate, and are left out.
    """
    domain, *maps = CAMPAIGNS[name]
    campaign = unsigned_campaign(domain, *maps)
    found = estimate(campaign, counted(campaign, PEOPLE, [10**12] * len(maps)))
    for each in found.resolutions:
        if each.name != "1" or Identity() in maps:
            truth = np.bincount(each.districts, PEOPLE)
            assert each.raw == pytest.approx(truth, abs=1e-6), each.name
            assert each.share == pytest.approx(truth, abs=1e-5), each.name
    assert [each.size for each in found.resolutions] == sorted(each.size for each in found.resolutions)
    assert found.resolutions[-1].share.tolist() == found.share.tolist()


def test_a_class_whose_number_of_devices_is_unknown_raises_no_alarm_about_keys():
    """In a class whose devices have several reports each, only a lower bound on the number of devices is known.

    The lower bounds are not proportional to the views' weights. So the test of the weights is not run, and the estimate
    states no number of devices.
    """
    campaign = unsigned_campaign(GRID, Coarse(4), Identity(), weights=[10, 1])
    rng, parts = np.random.default_rng(8), []
    for view, devices in zip(campaign.views, (1000, 100), strict=True):
        shares = np.bincount(district(campaign, view), PEOPLE, view.channel.input_count)
        outputs = rng.choice(
            view.channel.output_count, devices, p=decoder_of(view.channel).forward(shares / shares.sum())
        )
        count = np.ones(devices, dtype=np.int64)
        count[0] = 5
        groups = Groups.of(rng.integers(0, GROUPS, devices), outputs, count, devices, 5)
        counts = np.bincount(outputs, count, view.channel.output_count).astype(np.int64)
        parts.append(Tally(counts, int(count.sum()), groups=replace(groups, is_partial=True)))
    found = estimate(campaign, ViewsTally.of_parts(parts, {}, None), class_name="farmers")
    assert found.devices is None
    assert not [text for text in found.warnings if "its weight predicts" in text]


def test_shares_of_nested_resolutions_add_up():
    """The shares of a square's parts sum to the square's share and are in their intervals, for few and many people."""
    campaign = unsigned_campaign(GRID, Coarse(4), Coarse(2), Identity())
    for n in (50, 5000):
        found = estimate(campaign, counted(campaign, PEOPLE, [n, n, n], np.random.default_rng(n)))
        for each in found.resolutions:
            assert np.bincount(each.districts, found.share) == pytest.approx(each.share, abs=1e-12)
            assert (each.low <= each.share).all()
            assert (each.share <= each.high).all()
            assert (each.simultaneous_low <= each.low).all()


def test_a_view_that_crosses_the_others_has_a_separate_estimate():
    """Stripes that cross squares are estimated from their own survey and from the cells, and change no estimate of a
    cell."""
    campaign = unsigned_campaign(GRID, Coarse(3), CROSSING, Identity())
    tally = counted(campaign, PEOPLE, [4000, 3000, 4000], np.random.default_rng(1))
    found = estimate(campaign, tally)
    stripes = next(each for each in found.resolutions if each.name == "districts")
    alone = unsigned_campaign(GRID, CROSSING)
    own = estimate(alone, ViewsTally.of_parts(tally.parts[1:2], {}, None)).resolutions[0]
    assert (stripes.se < own.se).all()
    two = unsigned_campaign(GRID, Coarse(3), Identity())
    without = estimate(two, ViewsTally.of_parts(tally.parts[::2], {}, None))
    assert found.raw.tolist() == without.raw.tolist()


def test_a_view_without_reports_is_estimated_from_other_views():
    """The districts of a view without reports are estimated from the other views; districts finer than every other view
    have no error."""
    campaign = unsigned_campaign(GRID, Coarse(4), Coarse(2), Identity())
    rng = np.random.default_rng(2)
    found = estimate(campaign, counted(campaign, PEOPLE, [4000, 0, 4000], rng))
    assert any(
        "24 squares of 2 x 2 cells" in warning and "come from other views" in warning for warning in found.warnings
    )
    assert not np.isnan(found.resolutions[1].raw).any()
    found = estimate(campaign, counted(campaign, PEOPLE, [4000, 4000, 0], rng))
    assert np.isnan(found.raw).all()
    assert np.bincount(found.resolutions[1].districts, found.share) == pytest.approx(found.resolutions[1].share)
    assert any("finest resolution" in warning for warning in found.warnings)
    assert json.loads(json.dumps(found.as_json(), allow_nan=False))["values"][0]["raw"] is None


def test_resolutions_are_in_the_json():
    """In JSON "values" has the finest resolution, as in every campaign, and the coarser resolutions have their
    names."""
    campaign = unsigned_campaign(GRID, Coarse(4), Coarse(2), Identity(), weights=[1, 1, 2])
    found = estimate(campaign, counted(campaign, PEOPLE, [300, 300, 600], np.random.default_rng(3)), forged=7)
    document = found.as_json()
    assert [one["resolution"] for one in document["resolutions"]] == ["4", "2"]
    assert [len(one["values"]) for one in document["resolutions"]] == [6, 24]
    assert len(document["values"]) == 77
    assert set(document["values"][0]) == set(document["resolutions"][0]["values"][0])
    assert document["resolutions"][0]["values"][0]["value"] == campaign.views[0].map.label(GRID, 0)
    assert document["devices"] == document["reports"] == 1200
    channels = [decoder_of(view.channel).people_per_report for view in campaign.views]
    assert document["influence"]["people_per_report"] == pytest.approx(
        max(4 * channels[0], 4 * channels[1], 2 * channels[2])
    )


def test_methods_that_need_one_channel_are_refused_for_views():
    """Methods that need a single channel are refused with alternatives; linear gives the raw shares.

    Too few devices in all views together are refused.
    """
    campaign = unsigned_campaign(GRID, Coarse(2), Identity(), minimum=100)
    tally = counted(campaign, PEOPLE, [50, 50], np.random.default_rng(5))
    with pytest.raises(MethodRefused, match="projection or linear"):
        estimate(campaign, tally, method="em")
    linear = estimate(campaign, tally, method="linear")
    assert linear.share.tolist() == linear.raw.tolist()
    with pytest.raises(NotEnough):
        estimate(campaign, counted(campaign, PEOPLE, [50, 45], np.random.default_rng(5)))


def test_the_share_of_a_range_uses_all_views():
    """The share of a range is unbiased and more precise than from the values alone.

    Its interval contains the truth in at least 34 of 40 surveys; the seed is fixed. A range is a sum with weights 0 and
    1, and a single value is a sum with one weight. A failure means a wrong variance of a sum.
    """
    campaign = unsigned_campaign(NUMBERS, Coarse(16), Coarse(4), Identity())
    size = NUMBERS.size
    people = np.random.default_rng(6).dirichlet(np.full(size, 0.5))
    of_range = ((np.arange(size) >= 10) & (np.arange(size) < 37)).astype(float)
    truth = float(of_range @ people)
    expected = weighted_mean(campaign, counted(campaign, people, [10**12] * 3), of_range)
    assert expected.raw == pytest.approx(truth, abs=1e-6)
    alone = unsigned_campaign(NUMBERS, Identity())
    rng, held = np.random.default_rng(12), 0
    for _ in range(40):
        tally = counted(campaign, people, [1000, 1000, 1000], rng)
        found = weighted_mean(campaign, tally, of_range)
        held += found.low <= truth <= found.high
        assert found.se < weighted_mean(alone, tally.parts[2], of_range).se
    assert held >= 34
    one = np.zeros(size)
    one[7] = 1
    cell, whole = weighted_mean(campaign, tally, one), estimate(campaign, tally)
    assert cell.raw == pytest.approx(whole.raw[7])
    assert cell.se == pytest.approx(whole.se[7], rel=0.03)


def test_a_sum_finer_than_every_view_is_refused():
    """If all views are squares or coarser, a sum whose weights differ inside a square has no estimate."""
    campaign = unsigned_campaign(GRID, Coarse(4), Coarse(2))
    tally = counted(campaign, PEOPLE, [1000, 1000], np.random.default_rng(1))
    squares = district(campaign, campaign.views[0])
    assert weighted_mean(campaign, tally, (squares == 2).astype(float)).se > 0
    with pytest.raises(NotInvertible, match="within a district"):
        weighted_mean(campaign, tally, np.arange(77))


def covered(campaign, people, numbers, surveys, seed):
    """Return the coverage of each resolution's 95% intervals."""
    rng, total = np.random.default_rng(seed), sum(numbers)
    held = None
    for _ in range(surveys):
        found = estimate(campaign, counted(campaign, people, rng.multinomial(total, np.array(numbers) / total), rng))
        parts = []
        for each in found.resolutions:
            truth = np.bincount(each.districts, people)
            parts.append([((each.low <= truth) & (truth <= each.high)).mean(),
                          ((each.simultaneous_low <= truth) & (truth <= each.simultaneous_high)).all()])  # fmt: skip
        held = np.array(parts) / surveys if held is None else held + np.array(parts) / surveys
    return held


def test_intervals_have_nominal_coverage():
    """In 30 surveys of 3,000 people the coverage of 95% intervals is at least 93%.

    All intervals of a resolution contain the truth in at least 26 surveys. The seed is fixed. A failure means that the
    stated errors are too small.
    """
    held = covered(unsigned_campaign(GRID, Coarse(4), Coarse(2), Identity()), PEOPLE, [600, 900, 1500], 30, 9)
    assert (held[:, 0] > 0.93).all(), held
    assert (held[:, 1] > 0.86).all(), held


@pytest.mark.long
@pytest.mark.parametrize("name", ["squares in squares", "stripes across squares", "numbers"])
def test_intervals_have_nominal_coverage_long(name):
    """Over 200 surveys of 1,000 and of 50,000 people, the coverage of 95% intervals of each value is at least 93%.

    For four districts 200 surveys have a standard error of 1.1%. All intervals of a resolution together contain the
    truth in more than 91% of the surveys; if the true rate is 95%, each of the 18 checks fails for 1.2% of the seeds.
    The seeds are fixed. A failure means that the stated errors are too small.
    """
    domain, *maps = CAMPAIGNS.get(name, (NUMBERS, Coarse(16), Coarse(4), Identity()))
    people = np.random.default_rng(6).dirichlet(np.full(domain.size, 0.3))
    for n in (1000, 50_000):
        held = covered(unsigned_campaign(domain, *maps), people, [n // 4, n // 4, n // 2], 200, n)
        assert (held[:, 0] > 0.93).all(), held
        assert (held[:, 1] > 0.91).all(), held


# Two periods


SPANS = [Span(0, 0), Span(1, 1)]
BLOCK = Grid(0, 4_000_000, 0, 6_000_000, 1_000_000)
LIVED = np.random.default_rng(6).dirichlet(np.full(24, 0.5))


def block():
    """A campaign of two resolutions with randomised response, whose decoder is fast."""
    campaign = unsigned_campaign(BLOCK, Coarse(3), Identity(), weights=[2, 3])
    views = (replace(one, channel=randomized_response(one.channel.input_count, NANONATS)) for one in campaign.views)
    return replace(campaign, views=tuple(views))


def panel(campaign, rng, devices, moves):
    """Return tallies of two periods, and the true change of each cell.

    The devices keep their view, and repeat their output while their district stays the same. The fraction ``moves`` of
    all people move to the last cell. Nine in ten devices are in each period, and eight in both.
    """
    view = rng.choice(
        len(campaign.views),
        devices,
        p=np.array([one.weight for one in campaign.views]) / sum(one.weight for one in campaign.views),
    )
    before = rng.choice(len(LIVED), devices, p=LIVED)
    after = np.where(rng.random(devices) < moves, len(LIVED) - 1, before)
    there, key = rng.random(devices), rng.integers(-(2**63), 2**63 - 1, devices)
    parts = []
    for place, one in enumerate(campaign.views):
        distributions = np.array([decoder_of(one.channel).forward(unit) for unit in np.eye(one.channel.input_count)])
        distributions = np.cumsum(distributions / distributions.sum(axis=1, keepdims=True), axis=1)
        was, now = (district(campaign, one)[x] for x in (before, after))
        first = (rng.random((devices, 1)) > distributions[was]).sum(axis=1)
        second = np.where(was == now, first, (rng.random((devices, 1)) > distributions[now]).sum(axis=1))
        parts.append([])
        for output, here in ((first, there < 0.9), (second, there >= 0.1)):
            device = np.flatnonzero(here & (view == place))
            parts[-1].append(sent_once(np.eye(one.channel.output_count, dtype=np.int64)[output[device]], device, key))
    change = moves * (np.eye(len(LIVED))[-1] - LIVED)
    return [ViewsTally.of_parts([both_periods[at] for both_periods in parts], {}, None) for at in (0, 1)], change


@pytest.mark.parametrize("moves", [0.01, 0.3])
def test_intervals_of_a_change_have_nominal_coverage(moves):
    """The 95% intervals of the changes of cells and of squares have nominal coverage, for one value and for all values
    together.

    There are 12 panels of 1,500 devices. With correct simultaneous intervals, fewer than 8 panels have all
    true changes in their intervals with probability 2e-4. If very few devices have changed, the coverage may be above
    95%. The seed is fixed. A failure means that the errors of a change are too small.
    """
    campaign, rng = block(), np.random.default_rng(41)
    alone, together = [], []
    for _ in range(12):
        tallies, change = panel(campaign, rng, 1500, moves)
        found = trend(SignedCampaign(campaign, b"", b"", b""), SPANS, tallies).change
        of_squares = np.bincount(district(campaign, campaign.views[0]), change)
        sides = [(found, change), (found.coarser[0], of_squares)]
        alone.append([((one.low <= truth) & (truth <= one.high)).mean() for one, truth in sides])
        together.append(
            [((one.simultaneous_low <= truth) & (truth <= one.simultaneous_high)).all() for one, truth in sides]
        )
    assert (np.mean(alone, axis=0) > 0.93).all()
    assert (np.sum(together, axis=0) >= 8).all()


def test_a_change_of_a_square_is_significant_at_its_resolution():
    """With 1,500 devices a move of 30% is significant for its target square, which JSON and the table name.

    Changes of the square's cells sum to the square's change. The seed is fixed.
    """
    campaign, rng = block(), np.random.default_rng(45)
    tallies, _ = panel(campaign, rng, 1500, 0.3)
    whole = trend(SignedCampaign(campaign, b"", b"", b""), SPANS, tallies)
    found = whole.change
    (squares,) = found.coarser
    np.testing.assert_allclose(np.bincount(district(campaign, campaign.views[0]), found.raw), squares.raw, atol=1e-12)
    np.testing.assert_allclose(squares.after - squares.before, squares.raw, atol=1e-12)
    last = campaign.views[0].map.label(campaign.domain, 3)
    resolutions = found.as_json()["resolutions"]
    assert [one["resolution"] for one in resolutions] == ["3"]
    assert last in resolutions[0]["differ"]
    console = Console(width=140, record=True, file=io.StringIO())
    console.print(change_table(found))
    text = console.export_text()
    assert f"4 squares of 3 x 3: {len(squares.significant)} differ" in text
    assert last in text
    for width in (60, 72):
        narrow = Console(width=width, record=True, file=io.StringIO())
        narrow.print(change_table(found, whole))
        folded = narrow.export_text()
        assert folded.split().count("*") == text.split().count("*") > 0
        assert "by the simultaneous 95% intervals of all values" in " ".join(folded.split())
        assert "…" not in folded


def test_csv_steps_and_pictures_have_the_districts_that_changed(tmp_path):
    """The table of steps, both CSV files and the page show a move of 30% for its square; pictures of it are drawn.

    The seed is fixed.
    """
    campaign, rng = replace(block(), closes=2 * 86_400), np.random.default_rng(45)
    tallies, change = panel(campaign, rng, 1500, 0.3)
    signed = SignedCampaign(campaign, b"", b"", b"")
    found = trend(signed, SPANS, tallies, steps=True, truths=[LIVED, LIVED + change])
    squares = found.change.at("3")
    last = campaign.views[0].map.label(campaign.domain, 3)
    assert ValueOrDistrict("3", 3) in foremost_values_and_districts(found.change, 40)
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(steps_table(found))
    assert last in console.export_text()
    unchanged = trend(signed, SPANS, [tallies[0], tallies[0]], steps=True)
    assert "No change from one span to the next is significant, by the simultaneous" in str(steps_table(unchanged))
    rows = [row for row in csv.DictReader(io.StringIO(change_csv(found.change))) if row["resolution"] == "3"]
    assert [float(row["difference"]) for row in rows] == squares.raw.tolist()
    assert [float(row["to_raw"]) for row in rows] == squares.after.tolist()
    rows = [row for row in csv.DictReader(io.StringIO(trend_csv(found))) if row["resolution"] == "3"]
    of_squares = np.bincount(district(campaign, campaign.views[0]), LIVED).tolist()
    assert [float(row["truth"]) for row in rows if row["periods"] == "0"] == of_squares
    assert [float(row["raw"]) for row in rows if row["periods"] == "1"] == squares.after.tolist()
    text = page(found.latest, audit(campaign), tallies[1], comparison=found)
    assert "inside each district, the distribution nearest to the unbiased estimates; " in text
    section = text.split('id="comparison"')[1].split("</section>")[0]
    assert label_markup(last) in section
    assert percentage_points(float(squares.raw[3]), 1)[:4] in section
    for draw, drawn in ((draw_trend, found), (draw_difference, found.change)):
        draw(drawn, tmp_path / "drawn.png")
        assert (tmp_path / "drawn.png").read_bytes().startswith(b"\x89PNG")


def test_the_trend_of_a_named_district_has_its_rows_only():
    """The trend and the change of one named square have its single intervals and no rows of other districts."""
    campaign, rng = block(), np.random.default_rng(45)
    tallies, _ = panel(campaign, rng, 1500, 0.3)
    signed = SignedCampaign(campaign, b"", b"", b"")
    name = campaign.views[0].map.label(campaign.domain, 3)
    region = value_or_district(campaign, name)
    assert region == ValueOrDistrict("3", 3)
    assert value_or_district(campaign, campaign.domain.label(5)) == ValueOrDistrict("1", 5)
    with pytest.raises(Failure, match=r"not an answer .*, and no district has this name"):
        value_or_district(campaign, "nowhere")
    one, every = (trend(signed, SPANS, tallies, only=only) for only in (region, None))
    alone, among = (each.change.at("3") for each in (one, every))
    assert alone.simultaneous_low.tolist() == alone.low.tolist() == among.low.tolist()
    assert among.simultaneous_low[3] < among.low[3]
    document = one.as_json()
    assert [row["value"] for row in document["change"]["resolutions"][0]["values"]] == [name]
    assert document["change"]["values"] == document["spans"][0]["values"] == []
    assert [row["value"] for row in document["spans"][0]["resolutions"][0]["values"]] == [name]
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(value_table(one, region))
    text = console.export_text()
    assert name in text
    assert percentage_points(float(alone.raw[3]), 1)[:4] in text
    answer = value_share(campaign, tallies[0], 3, resolution="3")
    assert answer.raw == pytest.approx(float(among.before[3]))


def test_a_change_of_a_map_is_the_difference_of_its_estimates():
    """The change equals the difference computed by groups in the test; repeated outputs make it more precise, and
    unpaired errors add."""
    campaign, rng = block(), np.random.default_rng(42)
    tallies, _ = panel(campaign, rng, 3000, 0.01)
    sides = [Side(str(at), campaign, tally) for at, tally in enumerate(tallies)]
    paired, unpaired = difference(*sides, paired=True), difference(*sides)
    np.testing.assert_allclose(paired.raw, paired.after.raw - paired.before.raw, atol=1e-12)
    np.testing.assert_allclose(unpaired.se, np.hypot(paired.before.se, paired.after.se))
    assert (paired.high - paired.low < 0.7 * (unpaired.high - unpaired.low)).all()
    sides = [TreeShares.of(campaign, tally)[-1] for tally in tallies]
    for one, tally in zip(sides, tallies, strict=True):
        passes, groups = Views.of(campaign, tally.by_view).passes(), np.array(list(one.by_group()))
        np.testing.assert_allclose(groups.sum(axis=0), 0, atol=1e-12)
        own = [np.array(list(part.linear.by_group())) for part in one._counted]
        for x in (0, 5, 23):
            _, factors = passes.adjoint(1, np.eye(len(LIVED))[x])
            np.testing.assert_allclose(groups[:, x], sum(part @ by for part, by in zip(own, factors, strict=True)))
        np.testing.assert_allclose(passes.estimate(1, [part.linear.raw for part in one._counted], 1.0), one.raw)
    together = np.array(list(sides[1].by_group())) - np.array(list(sides[0].by_group()))
    np.testing.assert_allclose(paired.se**2, (together**2).sum(axis=0) * GROUPS / (GROUPS - 1))


def test_no_device_moves_a_map_further_than_stated():
    """If one device changes to any other output in any view, no cell changes by more than ``furthest``."""
    campaign, rng = block(), np.random.default_rng(43)
    tally = panel(campaign, rng, 500, 0.0)[0][0]
    bound, passes = TreeShares.of(campaign, tally)[-1].furthest, Views.of(campaign, tally.by_view).passes()
    most = np.zeros_like(bound)
    for place, (view, part) in enumerate(zip(campaign.views, tally.by_view, strict=True)):
        decoder = decoder_of(view.channel)
        outputs = [decoder.invert(unit) / part.reports for unit in np.eye(view.channel.output_count)]
        cells = [passes.estimate(1, [one if at == place else None for at in (0, 1)], 0.0) for one in outputs]
        most = np.maximum(most, np.ptp(cells, axis=0))
    assert (most <= bound * (1 + 1e-9)).all()
    assert (bound < 3 * most).all()


def test_a_change_needs_an_answer_at_the_finest_resolution():
    """If a period has no reports of the cells' view, there is no change of cells; other views may be without
    reports."""
    campaign, rng = block(), np.random.default_rng(44)
    tallies, _ = panel(campaign, rng, 500, 0.0)
    none = [
        sent_once(np.zeros((0, view.channel.output_count), dtype=np.int64), [], np.array([], int))
        for view in campaign.views
    ]
    side = Side("a", campaign, tallies[0])
    for parts, fits in (((none[0], tallies[1].parts[1]), True), ((tallies[1].parts[0], none[1]), False)):
        other = Side("b", campaign, ViewsTally.of_parts(parts, {}, None))
        if fits:
            assert not np.isnan(difference(side, other, paired=True).low).any()
        else:
            with pytest.raises(NotInvertible, match="no reports at the finest resolution"):
                difference(side, other, paired=True)
