"""The range of lifts that satisfies a level for every prior within a total-variation ball around the campaign's prior.

A lift is Q(y|x) / P(y). For an observer with prior P', the lift is divided by the mean of the lifts under P'. A prior
P' within total variation d changes this mean by at most d times the range of the lifts (MATH 2.13).
"""

from __future__ import annotations

import math

from protocol import exact
from protocol.exact import NANONATS
from protocol.notions.information import RADIUS_UNITS

_HALVINGS = 60


def lift_range(b: float, radius: float) -> tuple[float, float]:
    """Return the range (low, high) of lifts that satisfies the bound b = e^level for every prior in the ball and every
    output.

    With u = 1 - low and v = high - 1, lifts of mean 1 satisfy the bound if

        (1 + b d) v + b d u <= b - 1   and   (1 + d / b) u + d v / b <= 1 - 1 / b,

    or, for any d, if high <= b low. The result is the range with the largest u v, to which the gain of windows is
    proportional.

    Args:
        b: the bound e^level.
        radius: d, the total-variation radius of the ball, 0 .. 1.
    """
    a, d = 1 / b, radius
    # The candidates are: both constraints tight, each constraint alone at its largest u v, and plain LDP.
    width = (b - a) / (1 + d * (a + b))
    candidates = [(1 - a * (1 + d * width), b * (1 - d * width) - 1), ((b - 1) / (2 * b), (b - 1) / 2)]
    if d:
        alone = [
            ((b - 1) / (2 * b * d), (b - 1) / (2 * (1 + b * d))),
            ((1 - a) / (2 * (1 + a * d)), (1 - a) / (2 * a * d)),
        ]
        candidates += [
            (u, v)
            for u, v in alone
            if u < 1 and (1 + b * d) * v + b * d * u <= b - 1 and (1 + a * d) * u + a * d * v <= 1 - a
        ]
    u, v = max(candidates, key=lambda ends: ends[0] * ends[1] if min(ends) > 0 else -1)
    return 1 - u, 1 + v


def level_for_ball(level: int, radius: int) -> int:
    """Return a level such that every LIP channel at this level for the campaign's prior satisfies ``level`` for all
    priors of the ball.

    The result is the larger of two levels: the largest s with e^s <= e^level (1 - d (e^s - e^-s)), and half of
    ``level``, at which every LIP channel satisfies LDP at ``level`` (Jiang, Li, Tandon 2020, Theorem 1).

    Args:
        level: the level for the whole ball in nanonats.
        radius: the ball's radius in parts per billion; 0 leaves the level unchanged.
    Returns:
        The level in nanonats, rounded down; for very small levels it may be below the smallest level of a campaign.
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
