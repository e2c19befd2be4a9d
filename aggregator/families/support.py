"""What support schemes share: their error, and the integer weight outside the support.

From input x every output of a set S_x is e^eps times likelier than any other, and for every other input x' the set S_x
is equally likely. Then two probabilities say all about the error,

    p* = P(Y in S_x | x),   q* = P(Y in S_x | x'),
    n MSE = sum over x of th (1 - th) / (p* - q*)^2,   th = q* + p[x] (p* - q*)                        (MATH 4.1)

so the recipes of projective geometry, subset selection and triples compute it for every size there is and take the
least. Where other values hide among the sensitive ones, how often they do is a part of the error. These comparisons are
in floats and decide nothing about privacy: the integers are then made of the rational lower bound of e^eps, rounding
the weight of the outputs that tell less up.
"""

from __future__ import annotations

from aggregator.families.rounding import D, ceil
from protocol.exact import exp_lower


def support_error(size: int, inside: float, outside: float) -> float:
    """Expected squared error of one report, summed over ``size`` values, at uniform shares          (MATH 4.1).

    Args:
        inside, outside: p* and q*.
    """
    gap = inside - outside
    th = outside + gap / size
    return size * th * (1 - th) / gap**2


def outside_weight(one: int, having: int, lacking: int, level: int) -> int:
    """The least outside weight that keeps the level and makes a row sum to ``one``, where lacking = 1 modulo having."""
    ideal = ceil(D * one, exp_lower(level) * having + D * lacking)
    return ideal + (one - ideal) % having
