"""The Wasserstein mechanism: the metric notion, and thereby the noise, that implies Pufferfish privacy.

Assume that in every scenario the distribution of answers given one secret can be transported to the one given the other
by moves of at most W steps. Then noise of level / W per step keeps the two secrets within e^level: each output's
probability changes by at most that factor when an answer moves by W steps.

``protocol.levels`` defines the scenarios and computes the level of a finished channel under them;
``aggregator.author.pufferfish_file`` reads the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from protocol.errors import NotionError
from protocol.levels import Pufferfish
from protocol.notions import Geo


def geo_for(asked: Pufferfish, level: int) -> Geo:
    """The notion that implies Pufferfish privacy at ``level``: geo-indistinguishability, ``level`` for W steps.

    Source: Song, Wang, Chaudhuri 2017, Algorithm 1 and Theorem 3.2 (there by continuous Laplace noise, W / eps).

    Args:
        asked: the answers are the inputs 0 .. k - 1, in the order of a line.
        level: nanonats.
    Raises:
        NotionError: under every scenario the two secrets of each pair give the same distribution of answers.
    """
    return Geo.between(level, _steps(asked), [0], range(len(asked.scenarios[0].joint[0])))


def _steps(asked: Pufferfish) -> int:
    steps = distance(asked)
    if not steps:
        raise NotionError(
            "in every scenario, both secrets of each pair have the same distribution of answers; no noise is needed"
        )
    return steps


def distance(asked: Pufferfish) -> int:
    """Return W, the largest distance over scenarios and pairs, in steps; secrets impossible in a scenario are
    skipped.
    """
    laws = [[scenario.joint[secret] for secret in pair] for scenario in asked.scenarios for pair in asked.pairs]
    return max((law_distance(first, second) for first, second in laws if sum(first) and sum(second)), default=0)


def law_distance(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the infinite Wasserstein distance of two distributions on a line: the largest distance of quantiles, in
    steps.

        W = max over u of |F^-1(u) - G^-1(u)|

    Source: Song, Wang, Chaudhuri 2017, Def. 3.1; on a line the quantiles are the best coupling.

    Args:
        first, second: weights of the points 0 .. k - 1, each not all zero; only proportions matter.
    """
    ends = [[total * sum(law) for total in accumulate(other)] for law, other in ((second, first), (first, second))]
    mine = theirs = furthest = 0
    # The pair of quantiles is constant between two jumps of the distribution functions, so one look per jump is enough.
    for end in sorted({total for totals in ends for total in totals} - {0}):
        while ends[0][mine] < end:
            mine += 1
        while ends[1][theirs] < end:
            theirs += 1
        furthest = max(furthest, abs(mine - theirs))
    return furthest
