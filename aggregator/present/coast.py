"""Coasts and country borders, drawn over maps for orientation.

The app draws the same file: Natural Earth's land and countries at 1:110m (public domain, naturalearthdata.com), in
hundredths of a degree. The aggregator does not import the app, so it has a copy of the file; a test checks that both
are equal. ``demo_app.widgets.coast`` describes the format of the file. The borders express no opinion on territories.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from aggregator.families.decoder import Floats


@dataclass(frozen=True)
class Lines:
    """Lines on the globe, each (points, 2) of longitudes and latitudes in degrees.

    Attributes:
        coasts: closed outlines of the land.
        borders: borders between countries.
    """

    coasts: tuple[Floats, ...]
    borders: tuple[Floats, ...]


@cache
def coast_lines() -> Lines:
    """Return the coasts and borders in the file."""
    packed = resources.files("aggregator").joinpath("data", "coast.bin").read_bytes()
    numbers = np.frombuffer(zlib.decompress(packed), dtype="<u2").astype(np.int64)
    outlines, borders, corners = numbers[:3].tolist()
    sizes, points = numbers[3 : 3 + outlines + borders], numbers[3 + outlines + borders :]
    east, north = np.split(points[: len(points) - corners], 2)
    places = np.stack([east / 100 - 180, north / 100 - 90], axis=1)
    polylines = tuple(np.split(places, np.cumsum(sizes)[:-1]))
    return Lines(polylines[:outlines], polylines[outlines:])
