"""The coasts of the world, and the borders of its countries, for drawing below a map.

The file coast.bin contains the 110m land and countries of Natural Earth (public domain, naturalearthdata.com; version
4.1.0 as packed in the npm package world-atlas 2.0.2), in hundredths of a degree and cut into triangles. The numbers are
read without a loop, so a map delays no frame. ``data.coast`` writes the file from the TopoJSON of that package.

The file is deflated and consists of 16-bit integers, the low byte first:

    the number of outlines of the land, the number of borders, the number of corners of triangles
    the number of points of each outline, then of each border
    the longitude of each point, in hundredths of a degree east of 180 degrees west
    the latitude of each point, in hundredths of a degree north of the south pole
    the corners: indexes of points of the outlines, three for each triangle

The module surface draws the lines. The borders are for orientation only and make no claim about territory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Coast:
    """The points of all lines, and the lines and triangles between them.

    Attributes:
        longitudes, latitudes: the position of each point, in degrees.
        outlines: the closed outlines of the land, as ranges of point indexes.
        borders: the borders between countries, as ranges of point indexes.
        corners: the corners of the triangles that cover the land: three point indexes for each triangle.
    """

    longitudes: tuple[float, ...]
    latitudes: tuple[float, ...]
    outlines: tuple[range, ...]
    borders: tuple[range, ...]
    corners: tuple[int, ...]


@cache
def coast() -> Coast:
    """Return the content of coast.bin."""
    import sys
    import zlib
    from array import array
    from itertools import accumulate, pairwise

    numbers = array("H")
    numbers.frombytes(zlib.decompress((Path(__file__).parent.parent / "data" / "coast.bin").read_bytes()))
    if sys.byteorder == "big":
        numbers.byteswap()
    outlines, borders, corners = numbers[:3]
    lines = 3 + outlines + borders
    ends = pairwise(accumulate(numbers[3:lines], initial=0))
    places = [range(start, end) for start, end in ends]
    points = (len(numbers) - lines - corners) // 2
    return Coast(
        longitudes=tuple([east / 100 - 180 for east in numbers[lines : lines + points]]),
        latitudes=tuple([north / 100 - 90 for north in numbers[lines + points : lines + 2 * points]]),
        outlines=tuple(places[:outlines]),
        borders=tuple(places[outlines:]),
        corners=tuple(numbers[lines + 2 * points :]),
    )
