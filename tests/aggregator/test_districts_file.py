"""Properties of districts from a GeoJSON file: each cell is in exactly one polygon or elsewhere, and invalid files are
refused."""

import json
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.author.districts_file import ELSEWHERE, DistrictsError, read_districts
from protocol.domain import Grid

GRID = Grid(0, 6_000_000, 0, 8_000_000, 1_000_000)
"""6 rows and 8 columns of cells of one degree, with centres at half degrees."""


def written(folder, features):
    path = folder / "districts.geojson"
    path.write_text(features if isinstance(features, str) else json.dumps(collection(features)), encoding="utf-8")
    return path


def collection(features):
    return {"type": "FeatureCollection", "features": features}


def feature(name, *rings, kind="Polygon"):
    return {"type": "Feature", "properties": {"NAME": name}, "geometry": {"type": kind, "coordinates": list(rings)}}


def box(west, south, east, north):
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]


def cells(found, name):
    """Return the cells of a district, as (row, column)."""
    number = found.names.index(name)
    return {divmod(x, GRID.columns) for x in range(GRID.size) if found.input(GRID, x) == number}


def contains(ring, x, y):
    """Return whether a point is inside a ring: the slow reference, which counts the edges that a line to the north
    crosses."""
    odd = False
    for (x1, y1), (x2, y2) in pairwise(ring):
        if (x1 <= x) != (x2 <= x):
            odd ^= y < y1 + Fraction(y2 - y1) * (x - x1) / (x2 - x1)
    return odd


COORDINATE = st.integers(-20, 100).map(lambda tenths: tenths / 10)


@given(st.lists(st.tuples(COORDINATE, st.integers(0, 60).map(lambda y: y / 10)), min_size=3, max_size=8, unique=True))
def test_a_cell_is_in_the_polygon_that_contains_its_centre(tmp_path_factory, points):
    """The cells of any polygon equal those of exact arithmetic along other lines, even if the polygon crosses itself or
    leaves the grid.

    Cells whose centre is on the border are not compared here.
    """
    ring = [list(point) for point in [*points, points[0]]]
    exact = [(Fraction(str(x)), Fraction(str(y))) for x, y in ring]
    half = Fraction(1, 2)
    centres = {(row, column): (column + half, row + half) for row in range(6) for column in range(8)}
    inside = {place for place, (x, y) in centres.items() if contains(exact, x, y)}
    on_border = {
        place
        for place, (x, y) in centres.items()
        for (x1, y1), (x2, y2) in pairwise(exact)
        if (x2 - x1) * (y - y1) == (y2 - y1) * (x - x1) and min(x1, x2) <= x <= max(x1, x2)
        and min(y1, y2) <= y <= max(y1, y2)
    }  # fmt: skip
    path = written(tmp_path_factory.mktemp("d"), [feature("A", ring)])
    try:
        found = cells(read_districts(path, GRID), "A")
    except DistrictsError:  # districts with no cell or with all cells are refused
        found = set(centres) if len(inside | on_border) == GRID.size else set()
    assert found - on_border == inside - on_border


def test_a_centre_on_a_border_is_in_one_polygon(tmp_path):
    """A centre on a border belongs to the polygon east or north of it, so neighbouring polygons neither share nor omit
    a cell."""
    four = [
        feature("sw", box(0, 0, 4.5, 2.5)), feature("se", box(4.5, 0, 8, 2.5)),
        feature("nw", box(0, 2.5, 4.5, 6)), feature("ne", box(4.5, 2.5, 8, 6)),
    ]  # fmt: skip
    for features in (four, four[::-1]):
        found = read_districts(written(tmp_path, features), GRID)
        assert found.names == ("sw", "se", "nw", "ne")
        assert cells(found, "ne") == {(row, column) for row in range(2, 6) for column in range(4, 8)}
        assert cells(found, "sw") == {(row, column) for row in range(2) for column in range(4)}


def test_holes_islands_and_remaining_cells_have_their_district(tmp_path):
    """A hole is in no district, and all parts of a MultiPolygon are in one; a cell in several polygons belongs to the
    first.

    A cell in no polygon is elsewhere.
    """
    features = [
        feature("ring", box(0, 0, 5, 5), box(1, 1, 4, 4)),
        feature("islands", [box(2, 2, 3, 3)], [box(6, 0, 7, 1)], kind="MultiPolygon"),
        feature("late", box(0, 0, 8, 1)),
    ]
    found = read_districts(written(tmp_path, features), GRID)
    assert found.names == ("ring", "late", "islands", ELSEWHERE)
    assert cells(found, "islands") == {(2, 2), (0, 6)}
    assert cells(found, "late") == {(0, 5), (0, 7)}
    assert (1, 1) in cells(found, ELSEWHERE)
    assert len(cells(found, "ring")) == 25 - 9


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("[1", "not a JSON file"),
        ('{"type": "Feature"}', "FeatureCollection"),
        ('{"type": "FeatureCollection", "features": []}', "at least one feature"),
        ('{"type": "FeatureCollection", "features": [NaN]}', "a finite decimal number"),
        ("[3]", "a GeoJSON object of the type FeatureCollection, not"),
        ([3], "type Feature"),
        ([{"type": "Feature", "properties": None, "geometry": None}], "Polygon or a MultiPolygon"),
        ([feature("A", [[0, 0], [1, 0], [0, 0]])], "four positions"),
        ([feature("A", [[0, 0], [1, 0], [1, 1], [0, 1]])], "does not end at the position where it begins"),
        ([feature("A", [[0, 0], [200, 0], [1, 1], [0, 0]])], "from -180 to 180"),
        ([feature("A", [[0, 0], [True, 0], [1, 1], [0, 0]])], "a number of degrees"),
        ([feature("A", [[0, 0], [1, 91], [1, 1], [0, 0]])], "a latitude of district 'A' .* from -90 to 90, not 91"),
        ([feature("A", box(0.1, 0.1, 0.2, 0.2))], "too small or too narrow"),
        ([feature("A", box(0, 0, 4, 4)), feature("B", box(1, 1, 3, 3))], "all cells of district 'B'"),
        ([feature("A", box(0, 0, 4, 4)), feature("A", box(4, 0, 8, 6))], "two districts have the name 'A'"),
        ([feature("A", box(0, 0, 8, 6))], "all cells lie in one district"),
        ([feature("A", [3])], "four positions"),
        ([feature("A", 3)], "four positions"),
        ([{"type": "Feature", "geometry": {"type": "MultiPolygon", "coordinates": [[]]}}], "lists of rings"),
    ],
)  # fmt: skip
def test_invalid_maps_of_districts_are_refused(tmp_path, features, message):
    """An invalid map of districts is refused with an error that names the file and the reason."""
    with pytest.raises(DistrictsError, match=message) as refused:
        read_districts(written(tmp_path, features), GRID)
    assert "districts.geojson" in str(refused.value)
