"""Read the districts of a grid from the polygons of a GeoJSON file (RFC 7946).

A cell belongs to the polygon that contains its centre; if several do, to the first in the file. A centre on a border
belongs to the polygon east or north of it, so polygons that share a border share no cell. Cells outside every polygon
form one more district, ``elsewhere``. Coordinates are the decimals as written, and nothing is rounded, so the same file
gives the same districts on every machine.

The name of a district is the property ``name`` (in any case) of its feature, else ``district`` and its number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggregator.author.toml_section import MAX_FILE_BYTES, toml_text
from aggregator.author.value_table import ValueTableError
from protocol import exact
from protocol.domain import MICRODEGREES, Grid
from protocol.runs import runs_of
from protocol.spelling import repeated
from protocol.views import Districts

ELSEWHERE = "elsewhere"

UNITS = 2 * 10**24
"""Number of units in a degree, such that cell centres and decimals of 24 places are whole numbers of units."""

MICRODEGREE = UNITS // MICRODEGREES


class DistrictsError(ValueTableError):
    """A file does not describe districts of a grid. The text names the file and, if a feature is
    wrong, this feature."""


def read_districts(path: Path, grid: Grid) -> Districts:
    """Return the districts of a grid that the polygons of a GeoJSON file describe.

    Raises:
        DistrictsError: the file is not GeoJSON of polygons, a feature gets no cell, two districts have the same name,
            or there are fewer than two districts.
        OSError: the file cannot be read.
    """
    if (size := path.stat().st_size) > MAX_FILE_BYTES:
        raise DistrictsError(
            f"{path.name} must be at most {MAX_FILE_BYTES:,} bytes, and has {size:,}: simplify its polygons"
        )
    try:
        value = json.loads(path.read_bytes(), parse_float=exact.rational, parse_constant=exact.rational)
    except (ValueError, RecursionError) as error:
        raise DistrictsError(f"{path.name} is not a JSON file: {error}. Correct it, or name a GeoJSON file") from None
    try:
        return _districts(value, grid)
    except DistrictsError as error:
        raise DistrictsError(f"{path.name}: {error}") from None


def _districts(value: Any, grid: Grid) -> Districts:
    if not isinstance(value, dict):
        raise DistrictsError(f"the file must be a GeoJSON object of the type FeatureCollection, not {toml_text(value)}")
    if value.get("type") != "FeatureCollection":
        raise DistrictsError(f"the file's type must be FeatureCollection, not {toml_text(value.get('type'))}")
    features = value.get("features")
    if not isinstance(features, list) or not features:
        raise DistrictsError(f"features must be a list of at least one feature, not {toml_text(features)}")
    cells = np.full((grid.rows, grid.columns), len(features), dtype=np.int64)
    names = []
    for number, feature in enumerate(features):
        name = _name(feature, number)
        inside = _inside(_polygons(feature, name), grid)
        if not inside.any():
            raise DistrictsError(
                f"district {name!r} contains no cell's centre: it is outside the grid, too small or too narrow. Leave "
                "it out, or change the grid"
            )
        inside &= cells == len(features)
        if not inside.any():
            raise DistrictsError(f"earlier districts contain all cells of district {name!r}: leave out this district")
        cells[inside] = number
        names.append(name)
    names.append(ELSEWHERE)
    order = list(dict.fromkeys(cells.ravel().tolist()))
    present = [names[number] for number in order]
    if (twice := repeated(present)) is not None:
        raise DistrictsError(
            f"two districts have the name {toml_text(twice)}: change the property 'name' of one of them"
        )
    if len(present) < 2:
        raise DistrictsError("all cells lie in one district: draw at least two districts within the grid")
    return Districts(runs_of(cells.ravel().tolist()), tuple(present))


def _name(feature: Any, number: int) -> str:
    if not isinstance(feature, dict) or feature.get("type") != "Feature":
        raise DistrictsError(f"feature {number + 1} must be an object of the type Feature, not {toml_text(feature)}")
    properties = feature.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    named = [text for key, text in properties.items() if key.casefold() == "name"]
    if named and isinstance(named[0], str) and named[0].strip():
        return named[0].strip()
    return f"district {number + 1}"


def _polygons(feature: dict[str, Any], name: str) -> Iterator[list[list[tuple[int, int]]]]:
    """Yield the polygons of a feature, each a list of rings of (longitude, latitude) in ``UNITS`` of a degree."""
    geometry = feature.get("geometry")
    kind = geometry.get("type") if isinstance(geometry, dict) else None
    if not isinstance(geometry, dict) or kind not in ("Polygon", "MultiPolygon"):
        raise DistrictsError(f"district {name!r} must be a Polygon or a MultiPolygon, not {toml_text(kind)}")
    polygons = [geometry.get("coordinates")] if kind == "Polygon" else geometry.get("coordinates")
    if not isinstance(polygons, list) or not all(isinstance(rings, list) and rings for rings in polygons):
        raise DistrictsError(f"the coordinates of district {name!r} must be lists of rings, not {toml_text(polygons)}")
    for rings in polygons:
        yield [_ring(ring, name) for ring in rings]


def _ring(ring: Any, name: str) -> list[tuple[int, int]]:
    if not isinstance(ring, list) or len(ring) < 4:
        description = f"a list of {len(ring)}" if isinstance(ring, list) else toml_text(ring)
        raise DistrictsError(
            f"a ring of district {name!r} must be a list of at least four positions, not {description}"
        )
    points = []
    for position in ring:
        if not isinstance(position, list) or len(position) < 2:
            description = f"a list of {len(position)}" if isinstance(position, list) else toml_text(position)
            raise DistrictsError(
                f"a position of district {name!r} must be a list of a longitude and a latitude, not {description}"
            )
        points.append((_units(position[0], 180, name), _units(position[1], 90, name)))
    if points[0] != points[-1]:
        raise DistrictsError(
            f"a ring of district {name!r} does not end at the position where it begins: add its first position at the "
            "end"
        )
    return points


def _units(degrees: Any, limit: int, name: str) -> int:
    if isinstance(degrees, bool) or not isinstance(degrees, int | Fraction) or not -limit <= degrees <= limit:
        description = toml_text(str(degrees) if isinstance(degrees, Fraction) else degrees)
        raise DistrictsError(
            f"a {'longitude' if limit == 180 else 'latitude'} of district {name!r} must be a number of degrees from "
            f"-{limit} to {limit}, not {description}"
        )
    units = degrees * UNITS
    if units != int(units):
        raise DistrictsError(f"a position of district {name!r} has more than 24 decimals: round it")
    return int(units)


def _inside(polygons: Iterator[list[list[tuple[int, int]]]], grid: Grid) -> NDArray[np.bool_]:
    """Return (rows, columns), true for cells whose centre lies in one of the polygons.

    A centre lies in a polygon if a line from it to the east crosses the polygon's rings an odd number of times (Shimrat
    1962). An edge includes its lower end but not its upper end, so a line through a corner crosses one edge, both edges
    or none.
    """
    step = grid.step * MICRODEGREE
    first_x, first_y = (side * MICRODEGREE + step // 2 for side in (grid.west, grid.south))
    inside = np.zeros((grid.rows, grid.columns), dtype=np.bool_)
    for rings in polygons:
        crossed = np.zeros((grid.rows, grid.columns + 1), dtype=np.int64)
        for ring in rings:
            for (x1, y1), (x2, y2) in pairwise(ring):
                if y1 > y2:
                    x1, y1, x2, y2 = x2, y2, x1, y1
                low, high = -((first_y - y1) // step), -((first_y - y2) // step)
                for row in range(max(low, 0), min(high, grid.rows)):
                    y = first_y + row * step
                    # Exact, because this is a quotient of integers, rounded up.
                    reach = (x1 - first_x) * (y2 - y1) + (x2 - x1) * (y - y1)
                    centres_west = -(-reach // (step * (y2 - y1)))
                    crossed[row, min(max(centres_west, 0), grid.columns)] += 1
        east = np.cumsum(crossed[:, ::-1], axis=1)[:, ::-1]
        inside |= east[:, 1:] % 2 == 1
    return inside
