"""Recipes: from a level to the integers of a channel that keeps it.

One idea: every recipe solves its inequality with the rational lower bound N / D of e^eps, and rounds the side that
tells less up. The certificate then holds by construction, and is computed all the same.

Which recipe suits a campaign: draft. What the integers mean: protocol.channels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias

from aggregator.estimate.error import expected_mse
from protocol import personal
from protocol.channels import Blocks, Channel, Hadamard, RandomizedResponse
from protocol.channels.blocks import OPEN, Constant, largest_weight
from protocol.channels.hadamard import HADAMARD_SCALE
from protocol.channels.response import RESPONSE_SCALE
from protocol.exact import EXP_BITS, exp_lower

D = 1 << EXP_BITS

Build: TypeAlias = Callable[[int, int], Channel]
"""A recipe of a plain channel: from a number of inputs and a level in nanonats."""


def randomized_response(size: int, level: int) -> RandomizedResponse:
    """K-ary randomised response; for two values it is Warner's.

        Q(y|x) = e^eps / (e^eps + k - 1) for y = x, 1 / (e^eps + k - 1) otherwise

    The cover weight is rounded up.

    Source: Warner 1965; Kairouz, Bonawitz, Ramage 2016, eq. 4.
    """
    return RandomizedResponse(size, (_ceil(D << RESPONSE_SCALE, exp_lower(level) + (size - 1) * D),))


def hadamard(size: int, level: int) -> Hadamard:
    """Hadamard response, which tells one bit whatever k is (Acharya, Sun, Zhang 2019)."""
    return Hadamard(_truth(level), size)


def in_blocks(blocks: Sequence[int], level: int, build: Build) -> Channel:
    """A channel for each block, which tells the block; a value alone in its block is told as it is.

    Source: Acharya et al. 2020, sec. 6.

    Args:
        blocks: a block number, from 0, per input.
        level: nanonats.
        build: the recipe of the inner channels, called once for each size of a block.
    """
    sizes = Counter(blocks)
    if len(sizes) == 1:
        return build(len(blocks), level)
    built = cache(lambda size: build(size, level))
    return Blocks.over(0, [OPEN if sizes[block] == 1 else block + 1 for block in blocks], built)


def best_in_blocks(blocks: Sequence[int], level: int, builders: Sequence[Build]) -> Channel:
    """In each block the channel of least expected error, values of a block being equally common.

    The ranking holds whatever share of the people a block has: what one report adds to its block's estimates is only
    more or less often added.
    """
    return in_blocks(
        blocks, level, lambda size, level: min((build(size, level) for build in builders), key=expected_mse)
    )


def high_low(size: int, sensitive: Sequence[int], level: int, build: Build) -> Blocks:
    """A channel for the sensitive values, among whose outputs the others hide just often enough.

        cover = largest weight of the inner channel / e^eps, rounded up

    A single sensitive value always gives one answer, which the others give with probability e^-eps: for two values in
    all this is the optimum for every linear or convex loss, Mangat's response (Acharya et al. 2020, Theorem 2).

    Args:
        sensitive: the sensitive values, neither none nor all of ``size``.
        level: nanonats.
        build: the recipe of the inner channel, for two sensitive values or more.
    """
    marked = frozenset(sensitive)
    inner = Constant() if len(marked) == 1 else build(len(marked), level)
    cover = _ceil(largest_weight(inner) * D, exp_lower(level))
    return Blocks.over(cover, [int(x in marked) for x in range(size)], lambda _: inner)


def block_hadamard(blocks: Sequence[int], level: int) -> Channel:
    """Hadamard response within each block   (Acharya et al. 2020, eq. 19)."""
    return in_blocks(blocks, level, hadamard)


def high_low_hadamard(size: int, sensitive: Sequence[int], level: int) -> Blocks:
    """Hadamard response for the sensitive values; the others hide among its outputs with probability 2 / (e^eps + 1).

    Source: Acharya et al. 2020, eq. 13-14, with S strictly larger than s and row 0 skipped (as printed, x in [s]
    would include the all-ones row, whose probabilities sum to 2 e^eps / (e^eps + 1)).
    """
    return high_low(size, sensitive, level, hadamard)


def utility_randomized_response(size: int, sensitive: Sequence[int], level: int) -> Blocks:
    """K-ary response for the s sensitive values; each of the others gives each of these with probability c.

        Q(y|x) = e^eps c for y = x, c otherwise   x sensitive;      c = 1 / (e^eps + s - 1)
        Q(y|x) = c for y sensitive, (e^eps - 1) c for y = x         x not sensitive

    Source: Murakami, Kawamoto 2019, Definition 3 (utility-optimised RR).
    """
    return high_low(size, sensitive, level, randomized_response)


def lip_response(prior: Sequence[int], level: int) -> RandomizedResponse:
    """The best same-alphabet LIP channel; for two values, the optimum over all channels.

    Derivation and source: ``protocol.personal.lip_response``, by which devices derive theirs too.

    Args:
        prior: positive integers.
        level: nanonats.
    """
    return personal.lip_response(prior, level)


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
