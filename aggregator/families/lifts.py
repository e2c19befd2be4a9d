"""The range of lifts that keeps a level for every prior within a total-variation ball around the declared one.

A lift is Q(y|x) / P(y). For an observer with prior P' it is divided by the mean of the lifts under P', which the worst
P' within total variation d moves by at most d times the range of the lifts (MATH 2.13).
"""

from __future__ import annotations

import math

from protocol import exact
from protocol.exact import NANONATS
from protocol.notions.information import RADIUS_UNITS

_HALVINGS = 60


def lift_range(b: float, radius: float) -> tuple[float, float]:
    """Return the range (low, high) of lifts that keeps the bound b = e^level for every prior in the ball and every
    output.

    With u = 1 - low and v = high - 1, lifts of mean 1 keep it where

        (1 + b d) v + b d u <= b - 1   and   (1 + d / b) u + d v / b <= 1 - 1 / b,

    or, for any d, if high <= b low. Of the possible ranges, return the one with the largest u v, the gain of windows.

    Args:
        b: e^level.
        radius: d, 0 .. 1.
    """
    a, d = 1 / b, radius
    # The candidates are: both constraints tight, each constraint alone at its largest u v, and plain LDP.
    width = (b - a) / (1 + d * (a + b))
    found = [(1 - a * (1 + d * width), b * (1 - d * width) - 1), ((b - 1) / (2 * b), (b - 1) / 2)]
    if d:
        alone = [
            ((b - 1) / (2 * b * d), (b - 1) / (2 * (1 + b * d))),
            ((1 - a) / (2 * (1 + a * d)), (1 - a) / (2 * a * d)),
        ]
        found += [
            (u, v)
            for u, v in alone
            if u < 1 and (1 + b * d) * v + b * d * u <= b - 1 and (1 + a * d) * u + a * d * v <= 1 - a
        ]
    u, v = max(found, key=lambda ends: ends[0] * ends[1] if min(ends) > 0 else -1)
    return 1 - u, 1 + v


def scaled(level: int, radius: int) -> int:
    """Return a level at which every LIP channel for the declared prior keeps ``level`` for the whole ball.

    The level is the larger of the largest s with e^s <= e^level (1 - d (e^s - e^-s)) and half the level, at which every
    LIP channel keeps ``level`` under plain LDP (Jiang, Li, Tandon 2020, Prop. 1).

    Args:
        level: nanonats.
        radius: the ball's radius in parts per billion; 0 leaves the level unchanged.
    Returns:
        Nanonats, rounded down; for very small levels it may be below the smallest level of a campaign.
    """
    if not radius:
        return level
    b, d = math.exp(exact.nats(level)), radius / RADIUS_UNITS
    low, high = 0.0, exact.nats(level)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if math.exp(middle) <= b * (1 - d * 2 * math.sinh(middle)):
            low = middle
        else:
            high = middle
    return max(level // 2, math.floor(low * NANONATS) - 1)
