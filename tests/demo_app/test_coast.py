"""The coast that is drawn below a map: the content of its file, and the triangles of the land."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest

from demo_app.widgets.coast import Coast, coast

POINTS = 150
"""The number of random places on the globe at which the triangles are compared with the outlines."""

PLACES = {
    "Warsaw": (21.0, 52.2, True),
    "Nairobi": (36.8, -1.3, True),
    "La Paz": (-68.1, -16.5, True),
    "the South Pole": (0.0, -89.0, True),
    "the Gulf of Guinea": (0.0, 0.0, False),
    "the North Pacific": (-150.0, 30.0, False),
    "the Caspian Sea": (50.5, 41.5, False),
}


@pytest.fixture(scope="module")
def world() -> Coast:
    return coast()


def inside_outlines(world: Coast, x: float, y: float) -> bool:
    """Return whether a line to the east crosses the outlines an odd number of times; the slow reference for the
    triangles."""
    odd = False
    for outline in world.outlines:
        for start, end in pairwise(outline):
            low, high = world.latitudes[start], world.latitudes[end]
            if (low > y) != (high > y):
                west, east = world.longitudes[start], world.longitudes[end]
                odd ^= x < west + (east - west) * (y - low) / (high - low)
    return odd


def triangles(world: Coast) -> list[tuple[tuple[float, float], ...]]:
    found = [(world.longitudes[place], world.latitudes[place]) for place in world.corners]
    return [tuple(found[start : start + 3]) for start in range(0, len(found), 3)]


def signed_area(corners: tuple[tuple[float, float], ...]) -> float:
    (x, y), (to_x, to_y), (last_x, last_y) = corners
    return ((to_x - x) * (last_y - y) - (last_x - x) * (to_y - y)) / 2


def covers(corners: tuple[tuple[float, float], ...], x: float, y: float) -> bool:
    sides = [signed_area((corners[i], corners[(i + 1) % 3], (x, y))) for i in range(3)]
    return all(side > 0 for side in sides) or all(side < 0 for side in sides)


def test_outlines_are_closed_and_lie_on_the_globe(world: Coast) -> None:
    """Every point is on the globe, every outline is closed, and a triangle has three corners, which are points of
    outlines."""
    assert all(-180 <= longitude <= 180 for longitude in world.longitudes)
    assert all(-90 <= latitude <= 90 for latitude in world.latitudes)
    # OpenGL ES numbers vertices in 16 bits.
    assert len(world.longitudes) == len(world.latitudes) < 65_536
    for outline in world.outlines:
        first, last = outline[0], outline[-1]
        assert (world.longitudes[first], world.latitudes[first]) == (world.longitudes[last], world.latitudes[last])
    assert min(len(line) for line in world.outlines + world.borders) >= 2
    assert sum(map(len, world.outlines + world.borders)) == len(world.longitudes)
    assert len(world.corners) % 3 == 0
    assert max(world.corners) < world.outlines[-1].stop


def test_the_triangles_cover_the_land(world: Coast) -> None:
    """At random places, and at some well-known ones, the triangles and the outlines agree on land and sea."""
    cut = [(min(x for x, _ in one), max(x for x, _ in one), one) for one in triangles(world)]
    places = [(x, y) for x, y, _ in PLACES.values()]
    chance = random.Random(1)
    places += [(chance.uniform(-180, 180), chance.uniform(-90, 90)) for _ in range(POINTS)]
    for x, y in places:
        near = [corners for west, east, corners in cut if west <= x <= east]
        assert any(covers(corners, x, y) for corners in near) == inside_outlines(world, x, y), (x, y)
    for name, (x, y, land) in PLACES.items():
        assert inside_outlines(world, x, y) == land, name


def test_no_triangle_covers_another(world: Coast) -> None:
    """The areas of all triangles add up to the area inside the outlines, so no area is drawn twice."""
    enclosed = 0.0
    for outline in world.outlines:
        for start, end in pairwise(outline):
            enclosed += world.longitudes[start] * world.latitudes[end] - world.longitudes[end] * world.latitudes[start]
    assert math.fsum(abs(signed_area(corners)) for corners in triangles(world)) == pytest.approx(abs(enclosed) / 2)
