"""The recipe of waves: the width of the window, and the weights that satisfy a level."""

from __future__ import annotations

from itertools import count
from math import gcd

from aggregator.families.mechanism import Mechanism, PlannedQuestion, Recipe, for_ldp
from aggregator.families.rounding import D, ceil
from protocol.channels import Wave
from protocol.channels.support import ONE
from protocol.exact import NANONATS, exp_lower
from protocol.notions import Lip


def wave(size: int, level: int) -> Wave:
    """Return the wave channel: the square wave of Li et al. 2020, on integers.

        Q(y|x) = e^eps / ((2 b + 1) e^eps + k - 1) for x <= y <= x + 2 b, 1 / ((2 b + 1) e^eps + k - 1) otherwise

    The outside weight is rounded up to the next integer for which a row sums to exactly 2^128.

    Source: Li, Wang, Lopuhaä-Zwakenberg, Li, Skoric 2020.

    Args:
        size: k, the number of values.
        level: the LDP level in nanonats.
    """
    half = half_width(size, level)
    span = 2 * half + 1
    outside = ceil(ONE * D, span * exp_lower(level) + (size - 1) * D)
    return Wave(size, half, outside + (pow(size - 1, -1, span) * ONE - outside) % span)


def half_width(size: int, level: int) -> int:
    """Return the half width b of Li et al. 2020, or the nearest permitted one (the larger of two equally near).

        b = floor(k (eps e^eps - e^eps + 1) / (2 e^eps (e^eps - 1 - eps)))

    This b maximises a bound on the mutual information of input and output. It is about k / 2 for small levels, and
    small for large levels. Near this b, the error depends little on b. A half width is permitted if k - 1 and 2 b + 1
    have no common factor, because only then can a row sum to exactly 2^128.

    Args:
        size: k, the number of values.
        level: the LDP level in nanonats.
    Returns:
        b, 1 .. k - 1.
    """
    odds = exp_lower(level)
    slope = (level - NANONATS) * odds + NANONATS * D
    best = size * slope * D // (2 * odds * (NANONATS * (odds - D) - level * D))
    return next(
        half
        for step in count()
        for half in (best + step, best - step)
        if 1 <= half < size and gcd(2 * half + 1, size - 1) == 1
    )


def _on_numbers(question: PlannedQuestion) -> Recipe | str:
    if not question.domain.ordered:
        return "it needs numbers, dates or ordered values"
    if isinstance(question.notion, Lip):
        return "it needs a notion without a prior"
    return for_ldp(wave)(question)


MECHANISMS = (
    Mechanism(
        "wave",
        "a random number; the numbers near the true one are the most likely; for distribution and mean",
        "Li et al. 2020",
        "n + k per iteration",
        _on_numbers,
    ),
)
