"""The signs: arrows, marks and the pictures of the destinations, drawn with lines.

A sign is a list of strokes in a box of 24 x 24, so it is sharp at every size and needs no font or file.
"""

from __future__ import annotations

from math import cos, pi, sin

from kivy.graphics import Color, SmoothLine

Stroke = tuple[float, ...]


def _arc(x: float, y: float, radius: float, start: float = 0.0, end: float = 360.0) -> Stroke:
    """Return a part of a circle as one stroke; degrees count clockwise from the top."""
    steps = 24
    points: list[float] = []
    for step in range(steps + 1):
        angle = (start + (end - start) * step / steps) * pi / 180
        points += [x + radius * sin(angle), y + radius * cos(angle)]
    return tuple(points)


_STROKES: dict[str, tuple[Stroke, ...]] = {
    "back": ((14, 5, 7, 12, 14, 19), (7, 12, 19, 12)),
    "forward": ((9, 5, 16, 12, 9, 19),),
    "plus": ((12, 5, 12, 19), (5, 12, 19, 12)),
    "minus": ((5, 12, 19, 12),),
    "whole": ((5, 10, 5, 5, 10, 5), (14, 5, 19, 5, 19, 10), (19, 14, 19, 19, 14, 19), (10, 19, 5, 19, 5, 14)),
    "check": ((5, 12, 10, 7, 19, 17),),
    "close": ((6, 6, 18, 18), (6, 18, 18, 6)),
    "campaigns": ((4, 6, 20, 6), (4, 12, 20, 12), (4, 18, 14, 18)),
    "budget": (_arc(12, 10, 8, -110, 110), (12, 10, 16, 15), _arc(12, 10, 1.2)),
    "history": (_arc(12, 12, 8), (12, 17, 12, 12, 15.5, 10)),
    "outbox": ((12, 8, 12, 20), (7.5, 15.5, 12, 20, 16.5, 15.5), (4, 9, 4, 4, 20, 4, 20, 9)),
    "settings": (
        (4, 17, 12, 17), (17, 17, 20, 17), _arc(14.5, 17, 2.2), (4, 7, 7, 7), (12, 7, 20, 7), _arc(9.5, 7, 2.2),
    ),
    "warning": ((12, 20, 3, 5, 21, 5, 12, 20), (12, 15, 12, 10.5), _arc(12, 7.8, 0.4)),
}  # fmt: skip

SIGNS = list(_STROKES)


def draw(sign: str, x: float, y: float, side: float, colour: tuple[float, ...]) -> None:
    """Draw a sign into the open canvas, in the square at (x, y) in pixels."""
    scale = side / 24
    Color(*colour)
    for stroke in _STROKES[sign]:
        points = [(x if place % 2 == 0 else y) + length * scale for place, length in enumerate(stroke)]
        SmoothLine(points=points, width=max(1.0, scale), cap="round", joint="round")
