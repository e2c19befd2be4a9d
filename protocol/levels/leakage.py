"""The average leakage of a report: mutual information under a prior, and maximal leakage under any prior.

Both are sums over outputs, so columns of weights and masses are enough to compute them. An average can hide a rare
output that reveals everything, so neither bounds the leakage of a single report.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from protocol import exact
from protocol.channels.structure import Structure
from protocol.levels.level import LOG_ERROR, LOG_UNITS, Level, log_above

_CACHED_LOGARITHMS = 2**16


def mutual_information(structure: Structure, prior: Sequence[int]) -> Level:
    """Return I(X;Y) under a prior, the level of mutual information privacy (SoK, Def. 5; Jiang et al. 2020, eq. 2).

        sum over x, y of P(x) Q(y|x) ln(Q(y|x) / P(y))

    The level is in nanonats; ``bits_above`` converts it to bits.

    Args:
        prior: ``input_count`` positive integers.
    Raises:
        TooLarge: more than ``structure.max_steps`` steps.
    """
    total = sum(prior)
    logarithm = lru_cache(_CACHED_LOGARITHMS)(log_above)
    information = 0
    for column in structure.columns(prior):
        marginal = column.marginal
        # All ratios of a column have the same marginal, and weights recur, so a logarithm for each marginal and each
        # weight is cheaper than one for each ratio.
        below = logarithm(marginal, 1) - LOG_ERROR if marginal else 0
        for weight, mass in column.parts:
            if weight and weight * total != marginal:
                information += column.count * weight * mass * (logarithm(weight * total, 1) - below)
    units = -(-information // (total << structure.channel.scale))
    return Level(max(0, -(-units * exact.NANONATS // LOG_UNITS)))


def maximal_leakage(structure: Structure) -> Level:
    """Return ln of the sum over y of max over x of Q(y|x), rounded up (SoK, Def. 9).

    Raises:
        TooLarge: more than ``structure.max_steps`` steps.
    """
    uniform = [1] * structure.channel.input_count
    sum_of_maxima = sum(
        column.count * max(weight for weight, _ in column.parts) for column in structure.columns(uniform)
    )
    return Level(exact.level_of(sum_of_maxima, 1 << structure.channel.scale))


def bits_above(level: Level) -> float | None:
    """Return a level in bits, rounded up to a billionth; None if it is infinite."""
    if level.nanonats is None:
        return None
    # The factor is 1 / ln 2, rounded up.
    return -(-level.nanonats * 1_442_695_040_889 // 10**12) / 10**9
