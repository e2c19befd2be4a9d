"""Recipes: from a level to the integers of a channel that keeps it.

One idea: every recipe solves its inequality with the rational lower bound N / D of e^eps, and rounds the side that
tells less up. The certificate then holds by construction, and is computed all the same.

Which recipe suits a campaign: draft. What the integers mean: protocol.channels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from protocol.channels import Hadamard, RandomizedResponse
from protocol.channels.hadamard import HADAMARD_SCALE
from protocol.channels.response import RESPONSE_SCALE
from protocol.exact import EXP_BITS, exp_lower

D = 1 << EXP_BITS


def randomized_response(size: int, level: int) -> RandomizedResponse:
    """K-ary randomised response; for two values it is Warner's.

        Q(y|x) = e^eps / (e^eps + k - 1) for y = x, 1 / (e^eps + k - 1) otherwise

    The cover weight is rounded up.

    Source: Warner 1965; Kairouz, Bonawitz, Ramage 2016, eq. 4.
    """
    return RandomizedResponse(size, (_ceil(D << RESPONSE_SCALE, exp_lower(level) + (size - 1) * D),))


def hadamard(size: int, level: int) -> Hadamard:
    """Hadamard response over one block of all values (Acharya, Sun, Zhang 2019)."""
    return Hadamard(_truth(level), 0, ((1, size),))


def block_hadamard(blocks: Sequence[int], level: int) -> Hadamard:
    """Hadamard response within each block; a value alone in its block is told as it is.

    Source: Acharya et al. 2020, eq. 19.

    Args:
        blocks: a block number, from 0, per input.
        level: nanonats.
    """
    sizes = Counter(blocks)
    return Hadamard.over(_truth(level), 0, [0 if sizes[block] == 1 else block + 1 for block in blocks])


def high_low_hadamard(size: int, sensitive: Sequence[int], level: int) -> Hadamard:
    """Hadamard response for the sensitive values; the others hide among its outputs with probability 2 / (e^eps + 1).

    Source: Acharya et al. 2020, eq. 13-14, with S strictly larger than s and row 0 skipped (as printed, x in [s]
    would include the all-ones row, whose probabilities sum to 2 e^eps / (e^eps + 1)).
    """
    truth = _truth(level)
    marked = frozenset(sensitive)
    return Hadamard.over(truth, 2 * ((1 << HADAMARD_SCALE) - truth), [int(x in marked) for x in range(size)])


def lip_response(prior: Sequence[int], level: int) -> RandomizedResponse:
    """The best same-alphabet LIP channel; for two values, the optimum over all channels.

    With truth T and cover c, the lifts of symbol m are (c_m + T) / (c_m + P_m T) on itself and c_m / (c_m + P_m T)
    elsewhere. Both lie in [e^-eps, e^eps] exactly when c_m >= T max(P_m, 1 - e^eps P_m) / (e^eps - 1). Taking
    equality and T + sum c = 1:

        c_m = max(P_m, 1 - e^eps P_m) / (e^eps - 1 + S),   S = sum over m of max(P_m, 1 - e^eps P_m)

    This is the repaired form of Jiang, Li, Tandon 2020, Theorem 3, and equals it where that is legal: there every
    P_m >= 1 / (e^eps + 1), so S = 1 and c_m = P_m e^-eps. Every c is rounded up, which only weakens both lifts.

    Args:
        prior: positive integers, P_m = prior[m] / sum.
        level: nanonats.
    """
    N, W = exp_lower(level), sum(prior)
    least = [max(w * D, W * D - N * w) for w in prior]  # max(P_m, 1 - e^eps P_m), over W D
    whole = (N - D) * W + sum(least)
    return _response([_ceil(m << RESPONSE_SCALE, whole) for m in least])


def published_lip_response(prior: Sequence[int], level: int) -> RandomizedResponse:
    """The published LIP channel: Q(m|m) = 1 - (1 - P_m) e^-eps, Q(y|m) = P_y e^-eps.

    It keeps its level only where every P_m >= 1 / (e^eps + 1); the certificate decides.

    Source: Jiang, Li, Tandon 2020, Theorems 2, 3 and 5.
    """
    N, W = exp_lower(level), sum(prior)
    return _response([_ceil((w * D) << RESPONSE_SCALE, W * N) for w in prior])


def _truth(level: int) -> int:
    """2^64 e^eps / (e^eps + 1), rounded down."""
    N = exp_lower(level)
    return (N << HADAMARD_SCALE) // (N + D)


def _response(cover: list[int]) -> RandomizedResponse:
    return RandomizedResponse(len(cover), (cover[0],) if len(set(cover)) == 1 else tuple(cover))


def _ceil(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)
