"""The local prior: what a person's own history says about their next answer, and what a report adds to it.

One idea: an observer who knew this person's history could believe no more after a report than Bayes' rule says, so
the device computes it for the person before they answer. Counts in, a bound out; neither ever leaves.

The prior is the counts plus one for each value: a value never given is unlikely, and not impossible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from protocol.channels import Channel

MOST_CELLS = 2**16
"""A channel of more cells is not walked through; its level bounds the belief instead."""


@dataclass(frozen=True)
class Belief:
    """The most an observer could believe that the answer is one certain value, as a probability.

    Attributes:
        before: from the history alone.
        after: having seen one report as well; never too low.
    """

    before: float
    after: float


def belief(channel: Channel, level: int | None, counts: Mapping[int, int], x: int | None = None) -> Belief:
    """What could be believed about value ``x``, or about the value where it is worst.

        P(x|y) = P(x) Q(y|x) / sum over x' of P(x') Q(y|x'),  the largest over y

    Args:
        level: the channel's LDP level in nanonats; None where it is infinite.
        counts: reports of each value so far.
    """
    k = channel.inputs
    weights = [1] * k
    for value, times in counts.items():
        weights[value] += times
    total = sum(weights)
    inputs = range(k) if x is None else (x,)
    before = max(weights[value] for value in inputs) / total
    if k * channel.outputs > MOST_CELLS:
        # Every other value emits y with at least e^-level times the probability that x does.
        after = 1.0 if level is None else before / (before + (1 - before) * math.exp(-level / 10**9))
        return Belief(before, after)
    after = before
    for y in range(channel.outputs):
        column = [channel.weight(value, y) * weight for value, weight in enumerate(weights)]
        everything = sum(column)
        if everything:
            after = max(after, max(column[value] for value in inputs) / everything)
    return Belief(before, after)
