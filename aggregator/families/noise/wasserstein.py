"""The Wasserstein mechanism: noise with a level of geo-indistinguishability that implies Pufferfish privacy.

Assume that in every scenario the distribution of answers given one secret can be transported to the distribution given
the other secret by moves of at most W steps. With noise of level / W per step, an answer that moves by W steps changes
the probability of an output by at most the factor e^level. So the probabilities of an output given the two secrets have
a ratio of at most e^level.

``protocol.levels`` defines the scenarios and computes the level of a finished channel under them;
``aggregator.author.pufferfish_file`` reads the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from protocol.errors import NotionError
from protocol.levels import Pufferfish
from protocol.notions import Geo


def geo_for(pufferfish: Pufferfish, level: int) -> Geo:
    """Return the notion that implies Pufferfish privacy at ``level``: geo-indistinguishability with ``level`` for W
    steps.

    Source: Song, Wang, Chaudhuri 2017, Algorithm 1 and Theorem 3.2 (with continuous Laplace noise of scale W / eps).

    Args:
        pufferfish: the scenarios and pairs of secrets; the answers are the inputs 0 .. k - 1, in the order of a line.
        level: the Pufferfish level in nanonats.
    Raises:
        NotionError: under every scenario the two secrets of each pair give the same distribution of answers.
    """
    steps = largest_wasserstein(pufferfish)
    if not steps:
        raise NotionError(
            "in every scenario, both secrets of each pair have the same distribution of answers, so answers reveal "
            "nothing about them: choose another notion"
        )
    return Geo.between(level, steps, [0], range(len(pufferfish.scenarios[0].joint[0])))


def largest_wasserstein(pufferfish: Pufferfish) -> int:
    """Return W, the largest distance over scenarios and pairs, in steps. Secrets that are impossible in a scenario are
    skipped."""
    distributions = [
        [scenario.joint[secret] for secret in pair] for scenario in pufferfish.scenarios for pair in pufferfish.pairs
    ]
    return max(
        (infinite_wasserstein(first, second) for first, second in distributions if sum(first) and sum(second)),
        default=0,
    )


def infinite_wasserstein(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the infinite Wasserstein distance of two distributions on a line in steps: the largest distance between
    their quantiles.

        W = max over u of |F^-1(u) - G^-1(u)|

    Source: Song, Wang, Chaudhuri 2017, Def. 3.1; on a line, the best coupling pairs the quantiles.

    Args:
        first, second: the weights of the points 0 .. k - 1, not all zero; only their proportions matter.
    """
    ends = [
        [total * sum(distribution) for total in accumulate(other)]
        for distribution, other in ((second, first), (first, second))
    ]
    mine = theirs = furthest = 0
    # The pair of quantiles is constant between two jumps of the distribution functions, so one comparison per jump
    # suffices.
    for end in sorted({total for totals in ends for total in totals} - {0}):
        while ends[0][mine] < end:
            mine += 1
        while ends[1][theirs] < end:
            theirs += 1
        furthest = max(furthest, abs(mine - theirs))
    return furthest
