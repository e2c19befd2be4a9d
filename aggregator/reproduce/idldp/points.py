"""Graded projective response in the experiments of Gu et al. 2020: a point of a geometry instead of a word of bits.

A report tells something of all items at once, so the error of a count depends on who holds what. For people who stay
as they are the variance of an item's count is

    n (E phi_x(Y)^2 - p_x),   phi_x what a report adds to the share of x, whose mean is 1 for x and 0 for the others,

exactly, for each way in which the budgets are dealt to the items.

Which figures show it: single.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aggregator.families.decoder import Floats
from aggregator.families.registry import decoder_of
from aggregator.reproduce.experiment import Finding
from aggregator.reproduce.idldp.surveys import USUAL, Exact, ItemHolders, Parts, campaign, frequent

GRADED = "graded"
"""The mechanism, as drafts name it."""

LABEL = "graded, in few bits"

DEALINGS = 40
"""Ways in which budgets are dealt: which of the frequent items has a small one moves their relative error."""


@dataclass(frozen=True)
class OfPoints:
    """What the count of each item is off by, in expectation over reports, for several dealings of the budgets.

    Attributes:
        people: everybody.
        deviation: (d, m) the standard deviation of each item's count in each of the dealings.
        bits: of a report.
    """

    people: ItemHolders
    deviation: Floats
    bits: int

    @property
    def mse(self) -> float:
        """Sum over the items of the squared error, over n."""
        return float((self.deviation**2).sum(axis=1).mean() / len(self.people))

    def relative(self, most: int) -> float:
        """RE(k): the mean relative error of the ``most`` frequent items, the estimates being nearly normal."""
        top = frequent(self.people.counts, most)
        each = self.deviation[:, top] * np.sqrt(2 / np.pi) / self.people.counts[top]
        return float(each.mean())


def of_points(people: ItemHolders, eps: float, generator: np.random.Generator, parts: Parts = USUAL) -> OfPoints:
    """The errors of graded projective response where everybody holds one item, in ``DEALINGS`` dealings.

    Args:
        eps: nats, the budget of the best protected items.
    """
    channel = campaign(people.size, 0, eps, GRADED, parts).channel
    decoder = decoder_of(channel).plain
    found = np.empty((DEALINGS, people.size))
    for deviation in found:
        order = generator.permutation(people.size)
        p = people.counts[order] / len(people)
        variances = decoder.variances(decoder.forward(p)) + p**2 - p
        deviation[order] = np.sqrt(len(people) * np.maximum(variances, 0))
    return OfPoints(people, found, channel.output_bits)


def in_few_bits(points: Sequence[OfPoints], unary: Sequence[Exact], size: int, levels: Sequence[float]) -> Finding:
    """What graded projective response has of IDUE's error, level by level.

    Args:
        size: how many items there are, the bits of a word.
    """
    ratios = [ours.mse / theirs.mse for ours, theirs in zip(points, unary, strict=True)]
    bits = sorted({one.bits for one in points})
    return Finding(
        "(budgets by item take a bit for each item)",
        "our graded projective response has of IDUE's total error "
        + ", ".join(f"{ratio:.2f} times at {eps:g}" for ratio, eps in zip(ratios, levels, strict=True))
        + f" nats, in {bits[0]} to {bits[-1]} bits instead of {size:,}",
        "two weights for each class of items on a symmetric design; no published mechanism takes so few bits",
    )
