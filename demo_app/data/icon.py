"""Draw the app's icon: nine answers, some of them reported truthfully and some at random.

The picture consists of a few circles. It is computed with 4 x 4 samples for each pixel for smooth edges, and written as
PNG with the standard library. The result is committed.

    python -m demo_app.data.icon
"""

from __future__ import annotations

import struct
import zlib
from math import hypot
from pathlib import Path

from demo_app.theme import LIGHT, rgba

SIDE = 256
SAMPLES = 4
FILLED = {(0, 0), (2, 0), (1, 1), (0, 2), (1, 2), (2, 1)}
"""(column, row) of the dots that are full; the others are rings."""


def ink(x: float, y: float) -> bool:
    """Return whether the icon is light at a position, given in fractions of the side."""
    column, row = min(max(round((x - 0.5) / 0.21) + 1, 0), 2), min(max(round((y - 0.5) / 0.21) + 1, 0), 2)
    away = hypot(x - 0.5 - (column - 1) * 0.21, y - 0.5 - (row - 1) * 0.21)
    return away < 0.075 if (column, row) in FILLED else 0.05 < away < 0.075


def pixel(column: int, row: int) -> bytes:
    """Return the red, green and blue of a pixel."""
    places = [(place + 0.5) / SAMPLES for place in range(SAMPLES)]
    light = sum(ink((column + dx) / SIDE, (row + dy) / SIDE) for dx in places for dy in places) / SAMPLES**2
    ground, drawn = rgba(LIGHT.accent), rgba(LIGHT.accent_ink)
    return bytes(round(255 * (light * drawn[part] + (1 - light) * ground[part])) for part in range(3))


def png() -> bytes:
    lines = b"".join(b"\0" + b"".join(pixel(column, row) for column in range(SIDE)) for row in range(SIDE))
    head = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(lines, 9)) + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


if __name__ == "__main__":
    Path(__file__).with_name("icon.png").write_bytes(png())
