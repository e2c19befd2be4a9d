"""The coasts of the world, and the borders of its countries, for drawing below a map.

One idea: the 110m land and countries of Natural Earth (public domain, naturalearthdata.com; version 4.1.0 as packed in
the npm package world-atlas 2.0.2) are kept as whole hundredths of a degree, each point as its difference from the one
before, deflated: 20 kB. ``data.coast`` writes the file from the TopoJSON of that package.

    twice, for the rings of the land and for the borders:
    the number of lines, then for each: the number of points, then (longitude, latitude) differences; all zigzag varints

How they are drawn: gridmap. The borders are there to find one's way; they say nothing about whose land it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

Outline = tuple[tuple[float, float], ...]


def rings() -> tuple[Outline, ...]:
    """The land: closed outlines as (longitude, latitude) in degrees."""
    return _outlines()[0]


def borders() -> tuple[Outline, ...]:
    """Lines between countries, as (longitude, latitude) in degrees."""
    return _outlines()[1]


@cache
def _outlines() -> tuple[tuple[Outline, ...], tuple[Outline, ...]]:
    import zlib

    numbers = _numbers(zlib.decompress((Path(__file__).parent.parent / "data" / "coast.bin").read_bytes()))
    return _lines(numbers), _lines(numbers)


def _lines(numbers: Iterator[int]) -> tuple[Outline, ...]:
    found = []
    for _ in range(next(numbers)):
        longitude = latitude = 0
        points = []
        for _ in range(next(numbers)):
            longitude += next(numbers)
            latitude += next(numbers)
            points.append((longitude / 100, latitude / 100))
        found.append(tuple(points))
    return tuple(found)


def _numbers(stored: bytes) -> Iterator[int]:
    """The integers of zigzag varints."""
    value = shift = 0
    for byte in stored:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value >> 1 ^ -(value & 1)
            value = shift = 0
