"""Write coast.bin from a TopoJSON file of Natural Earth's countries and land.

Hundredths of a degree are fine enough for the small map of the app.

    npm pack world-atlas@2.0.2 && tar xzf world-atlas-2.0.2.tgz
    python -m demo_app.data.coast package/countries-110m.json

The module widgets.coast describes the format of the file.
"""

from __future__ import annotations

import json
import struct
import sys
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any

TURN = 36_000
"""A full turn, in hundredths of a degree."""


Polyline = list[tuple[int, int]]


def arcs(topology: dict[str, Any]) -> list[Polyline]:
    """Return the arcs of a topology, in hundredths of a degree.

    Source: The TopoJSON Format Specification 1.0, section 2.1.2: quantised, each point as its difference from the last.
    """
    (scale_x, scale_y), (shift_x, shift_y) = topology["transform"]["scale"], topology["transform"]["translate"]
    polylines = []
    for arc in topology["arcs"]:
        x = y = 0
        points = []
        for dx, dy in arc:
            x, y = x + dx, y + dy
            points.append((round((x * scale_x + shift_x) * 100), round((y * scale_y + shift_y) * 100)))
        polylines.append(points)
    return polylines


def polygons(topology: dict[str, Any], name: str) -> list[list[list[int]]]:
    """Return the polygons of an object; each is a list of rings, and a ring is a list of arc indexes."""
    ring_lists: list[list[list[int]]] = []
    for geometry in topology["objects"][name]["geometries"]:
        ring_lists += geometry["arcs"] if geometry["type"] == "MultiPolygon" else [geometry["arcs"]]
    return ring_lists


def land(topology: dict[str, Any]) -> list[Polyline]:
    """Return the rings of the land.

    Source: The TopoJSON Format Specification 1.0, section 2.1.4: a negative index means the reversed arc of its bitwise
    complement.
    """
    lines, rings = arcs(topology), []
    for ring in (ring for polygon in polygons(topology, "land") for ring in polygon):
        points: Polyline = []
        for index in ring:
            arc = lines[index] if index >= 0 else lines[~index][::-1]
            points += arc[1:] if points else arc
        rings += cut(points)
    return rings


def borders(topology: dict[str, Any]) -> list[Polyline]:
    """Return the arcs that two countries share."""
    indexes = [i for polygon in polygons(topology, "countries") for ring in polygon for i in ring]
    shared = {i for i in indexes if i >= 0} & {~i for i in indexes if i < 0}
    lines = arcs(topology)
    return [lines[i] for i in sorted(shared)]


def cut(ring: Polyline) -> list[Polyline]:
    """Return the parts of a ring on the map from 180 degrees west to 180 degrees east.

    On the globe a ring may cross the 180th meridian or surround a pole. The ring is projected onto the plane and then
    cut.
    """
    flat = [ring[0]]
    for x, y in ring[1:]:
        x += TURN * round((flat[-1][0] - x) / TURN)
        flat.append((x, y))
    if flat[-1][0] != flat[0][0]:
        pole = 9000 if sum(y for _, y in flat) > 0 else -9000
        flat += [(flat[-1][0], pole), (flat[0][0], pole), flat[0]]
    parts = []
    for turn in (-TURN, 0, TURN):
        part = [(x + turn, y) for x, y in flat]
        part = _one_side(part, -TURN // 2, 1)
        part = _one_side(part, TURN // 2, -1)
        if len(part) > 3:
            parts.append(part)
    return parts


def _one_side(ring: Polyline, edge: int, side: int) -> Polyline:
    """Return the part of a closed ring to the right (1) or the left (-1) of a meridian.

    Source: Sutherland and Hodgman 1974; clipping at a single edge.
    """
    points: Polyline = []
    for (x, y), (to_x, to_y) in pairwise(ring):
        if (x - edge) * side >= 0:
            points.append((x, y))
        if (x - edge) * (to_x - edge) < 0:
            points.append((edge, round(y + (to_y - y) * (edge - x) / (to_x - x))))
    return [*points, points[0]] if len(set(points)) > 2 else []


def triangles(rings: list[Polyline]) -> list[int]:
    """Return the corners of the triangles that cover the land: for each triangle, the indexes of three points of the
    rings."""
    from kivy.graphics.tesselator import TYPE_POLYGONS, WINDING_ODD, Tesselator

    cutter = Tesselator()
    for ring in rings:
        cutter.add_contour([length for point in ring for length in point])
    cutter.tesselate(WINDING_ODD, TYPE_POLYGONS, 3)
    places: dict[tuple[int, int], int] = {}
    for place, point in enumerate(point for ring in rings for point in ring):
        places.setdefault(point, place)
    # The rings do not cross, so every corner of a triangle is a point of a ring.
    corner_points = [pair for corners in cutter.vertices for pair in zip(corners[::2], corners[1::2], strict=True)]
    return [places[round(x), round(y)] for x, y in corner_points]


def packed(rings: list[Polyline], between: list[Polyline]) -> bytes:
    """Return the content of coast.bin."""
    corners = triangles(rings)
    lines = rings + between
    points = [point for line in lines for point in line]
    numbers = [
        len(rings), len(between), len(corners),
        *map(len, lines),
        *(x + TURN // 2 for x, _ in points),
        *(y + TURN // 4 for _, y in points),
        *corners,
    ]  # fmt: skip
    return zlib.compress(struct.pack(f"<{len(numbers)}H", *numbers), 9)


if __name__ == "__main__":
    source = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(__file__).with_name("coast.bin").write_bytes(packed(land(source), borders(source)))
