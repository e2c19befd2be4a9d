"""Properties of maps: each cell is drawn at the finest resolution with a significant estimate, over the app's
coastline."""

import csv
import io
import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from aggregator.estimate.estimator import estimate
from aggregator.present.coast import coast_lines
from aggregator.present.document import estimate_csv, estimates_arrow, estimates_geojson
from aggregator.present.plot import draw_estimate, estimate_figure
from aggregator.present.regions import regions
from aggregator.present.shown_shares import district_name
from aggregator.present.table import estimate_table
from demo_app.widgets.coast import coast
from protocol.runs import runs_of
from protocol.views import Coarse, Districts, Identity
from tests.aggregator.test_estimate_views import CROSSING, GRID, NUMBERS, counted, unsigned_campaign

ROOT = Path(__file__).parents[2]
SHARP = np.full(77, 0.1 / 74)
SHARP[[12, 13, 60]] = 0.5, 0.1, 0.3
"""A map with most people in three cells."""


def found(n, *maps):
    """Return the estimate from ``n`` people of each view, at the resolutions of ``maps``."""
    campaign = unsigned_campaign(GRID, *(maps or (Coarse(4), Coarse(2), Identity())))
    return estimate(campaign, counted(campaign, SHARP, [n] * len(campaign.views), np.random.default_rng(1)))


@pytest.mark.parametrize("n", [20, 200, 1000, 100_000])
def test_a_cell_is_drawn_at_its_finest_significant_resolution(n):
    """The regions equal those of a lookup for each cell at every level of noise, and their shares sum to one."""
    one = found(n)
    cut = regions(one)
    for x in range(77):
        known = [place for place, each in enumerate(one.resolutions) if each.above_zero[each.districts[x]]]
        finest = max(known, default=0)
        assert cut.resolutions[cut.region_of[x]] == finest
        assert cut.districts[cut.region_of[x]] == one.resolutions[finest].districts[x]
        assert cut.significant[cut.region_of[x]] == bool(known)
    assert cut.density.sum() == pytest.approx(1, abs=1e-9)
    if n == 100_000:
        assert cut.density[[12, 60]] == pytest.approx(one.share[[12, 60]])


def test_every_cell_has_one_region_if_districts_cross_squares():
    """With districts that cross squares every cell has one region, and the shares of the cells sum to one."""
    one = found(100_000, Coarse(3), CROSSING, Identity())
    cut = regions(one)
    assert set(cut.region_of.tolist()) <= set(range(len(cut.share)))
    assert cut.density.sum() == pytest.approx(1, abs=1e-6)


def test_without_views_each_cell_is_a_region():
    """On a map without views each cell is a region with its own share."""
    campaign = unsigned_campaign(GRID, Identity())
    plain = estimate(campaign, counted(campaign, SHARP, [1000], np.random.default_rng(2)).by_view[0])
    cut = regions(plain)
    assert cut.density.tolist() == plain.share.tolist()
    assert cut.significant.tolist() == plain.above_zero.tolist()


def test_the_coastline_is_that_of_the_app():
    """The aggregator's file of the coastline is the app's, byte for byte, and both read the same lines from it."""
    assert (ROOT / "aggregator/data/coast.bin").read_bytes() == (ROOT / "demo_app/data/coast.bin").read_bytes()
    world, own = coast(), coast_lines()
    for places, read in ((world.outlines, own.coasts), (world.borders, own.borders)):
        assert len(places) == len(read)
        for line, points in zip(places, read, strict=True):
            assert points[:, 0].tolist() == [world.longitudes[place] for place in line]
            assert points[:, 1].tolist() == [world.latitudes[place] for place in line]


def test_maps_are_drawn_from_any_estimate(tmp_path):
    """A map is drawn with and without views, with few people, with coarse views alone, and with the truth.

    With 20 people no district has a share above zero, and the title says so.
    """
    plain = unsigned_campaign(GRID, Identity())
    cases = {
        "views": found(1000),
        "few": found(20),
        "no cells": found(1000, Coarse(4), Coarse(2)),
        "plain": estimate(plain, counted(plain, SHARP, [1000], np.random.default_rng(2)).by_view[0]),
    }
    for name, one in cases.items():
        drawn = estimate_figure(one, SHARP)
        titles = [axes.get_title(loc="left").replace("\n", " ") for axes in drawn.axes]
        wanted = {"few": "no district has a share significantly above zero at any", "plain": "share; pale"}
        assert any(
            wanted.get(name, "at the finest resolution at which its share is significantly above zero") in title
            for title in titles
        )
    draw_estimate(cases["no cells"], tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


def test_a_scale_bar_is_a_round_length():
    """A scale bar is 1, 2 or 5 times a power of ten kilometres, at most a quarter of the width, and at least a tenth
    of it."""
    one = found(1000)
    for step in (1_000, 1_000_000):
        grid = replace(GRID, north=7 * step, east=11 * step, step=step)
        drawn = estimate_figure(replace(one, campaign=replace(one.campaign, domain=grid)))
        texts = [text.get_text() for axes in drawn.axes for text in axes.texts]
        length = next(float(text.removesuffix(" km")) for text in texts if text.endswith(" km"))
        wide = 111.2 * 11 * step / 1e6
        assert 0.1 * wide <= length <= 0.25 * wide
        assert f"{length:e}"[0] in "125"


def test_every_format_names_the_resolution():
    """CSV and Arrow have a row for each value and then for each district; GeoJSON has them too, with each outline."""
    one = found(1000, Coarse(4), CROSSING, Identity())
    rows = list(csv.DictReader(estimate_csv(one)))
    named = [row["resolution"] for row in rows]
    assert {name: named.count(name) for name in named} == {"1": 77, "4": 6, "districts": 3}
    assert named[:77] == ["1"] * 77
    table = estimates_arrow([(one, None)])
    assert table.column("resolution").to_pylist() == named
    for name in ("4", "districts"):
        shares = [float(row["estimate"]) for row in rows if row["resolution"] == name]
        assert shares == next(each.share.tolist() for each in one.resolutions if each.name == name)
    features = json.loads(estimates_geojson([(one, None)]))["features"]
    assert [each["properties"]["resolution"] for each in features] == named
    for name in ("1", "4", "districts"):
        areas = [area(each["geometry"]) for each in features if each["properties"]["resolution"] == name]
        sizes = np.bincount(next(each.districts for each in one.resolutions if each.name == name))
        assert areas == pytest.approx(sizes.tolist())
    assert next(each for each in features if each["properties"]["value"] == "west")["geometry"]["type"] == "Polygon"


def area(geometry):
    """Return the area, in square degrees, of counterclockwise polygons without holes."""
    polygons = [geometry["coordinates"]] if geometry["type"] == "Polygon" else geometry["coordinates"]
    return sum((x1 * y2 - x2 * y1) / 2 for (ring,) in polygons for (x1, y1), (x2, y2) in itertools.pairwise(ring))


def test_a_district_of_several_parts_has_them_all():
    """A district whose cells are not a rectangle is a MultiPolygon of its rows, even if one row ends where the next
    begins."""
    rough = Districts(runs_of([0 if x in (0, 10, 11, 12, 30) else 1 for x in range(77)]))
    one = found(1000, rough, Identity())
    features = json.loads(estimates_geojson([(one, None)]))["features"]
    geometry = next(each["geometry"] for each in features if each["properties"]["value"] == "district 1")
    assert geometry["type"] == "MultiPolygon"
    west = sorted((ring[0][0], ring[1][0]) for (ring,) in geometry["coordinates"])
    assert west == [(0.0, 1.0), (0.0, 2.0), (8.0, 9.0), (10.0, 11.0)]
    assert area(geometry) == pytest.approx(5)


def test_a_single_district_is_named_in_the_singular():
    """The name of the districts of a resolution agrees with their number."""
    names = {
        "1": ("cell", "cells"),
        "4": ("square of 4 x 4", "squares of 4 x 4"),
        "districts": ("district", "districts"),
    }
    for resolution, (one, several) in names.items():
        assert (district_name(GRID, resolution, 1), district_name(GRID, resolution, 2)) == (one, several)
    assert district_name(NUMBERS, "3", 1) == "group of 3 values"
    assert district_name(NUMBERS, "1", 1) == "value"


def test_tables_show_the_significant_districts():
    """The table on a terminal has each resolution by name; of the coarser ones it has the districts with shares
    significantly above zero."""
    one = found(3000)
    console = Console(width=140, record=True, file=io.StringIO())
    console.print(estimate_table(one, SHARP))
    text = console.export_text()
    for each, words in zip(one.resolutions, ("squares of 4 x 4", "squares of 2 x 2", "cells"), strict=True):
        assert f"{each.size} {words}: {int(each.above_zero.sum())} with a" in text  # the column breaks here
    for each in one.resolutions[:-1]:
        for z in np.flatnonzero(each.above_zero).tolist():
            assert each.map.label(GRID, z) in text


def test_names_of_districts_are_written_where_they_fit():
    """Of two districts the wide one has its name inside and the narrow one has none; the line below has both shares."""
    narrow = Districts(runs_of([0 if x % 11 < 10 else 1 for x in range(77)]), ("plain", "a long name"))
    one = found(100_000, narrow, Identity())
    drawn = estimate_figure(one)
    (name,) = (text for text in drawn.axes[0].texts if text.get_text() in narrow.names)
    assert name.get_text() == "plain"
    x, y = (int(place) for place in name.get_position())
    assert one.resolutions[0].districts[11 * y + x] == 0
    box = name.get_window_extent().transformed(drawn.axes[0].transData.inverted())
    assert box.x0 >= 0
    assert box.x1 <= 10
    words = drawn.axes[0].get_xlabel().replace("\N{NO-BREAK SPACE}", " ").replace("\n", " ")
    assert f"plain {100 * one.resolutions[0].share[0]:.1f}" in words
