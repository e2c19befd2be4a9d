"""Graded projective response in the experiments of Gu et al. 2020, with points of a geometry instead of bit vectors.

A report contains information about all items, so the error of a count depends on the true shares. For fixed people and
a fixed assignment of the budgets to the items, the variance of an item's estimated count is exactly

    n (E phi_x(Y)^2 - p_x),   phi_x: contribution of a report to the estimated share of x,
                              with mean 1 for x and 0 for other items

``synthetic`` and ``first_items`` have the figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aggregator.families.registry import decoder_of
from aggregator.reproduce.experiment import Finding, by_level
from aggregator.reproduce.idldp.surveys import USUAL, ExactErrors, ItemHolders, Parts, campaign

GRADED = "graded"
"""Name of the mechanism in drafts."""

LABEL = "graded, in few bits"

ASSIGNMENTS = 40
"""The number of random assignments of the budgets to items; the relative error depends on the budgets of frequent
items."""


@dataclass(frozen=True)
class PointErrors(ExactErrors):
    """Expected errors of graded projective response. ``deviation`` has a row, and ``parts`` an entry, for each of
    ``ASSIGNMENTS`` random assignments of the budgets to items, and not for each class of budgets. All entries of
    ``parts`` are equal.

    Attributes:
        bits: the number of bits of a report.
    """

    bits: int


def point_errors(people: ItemHolders, eps: float, generator: np.random.Generator, parts: Parts = USUAL) -> PointErrors:
    """Return the errors of graded projective response if each person has one item.

    Args:
        eps: the smallest budget of an item, in nats.
    """
    channel = campaign(people.size, 0, eps, GRADED, parts).channel
    decoder = decoder_of(channel).uncorrected
    deviations = np.empty((ASSIGNMENTS, people.size))
    for deviation in deviations:
        order = generator.permutation(people.size)
        p = people.counts[order] / len(people)
        variances = decoder.variances(decoder.forward(p)) + p**2 - p
        deviation[order] = np.sqrt(len(people) * np.maximum(variances, 0))
    even = np.full(ASSIGNMENTS, 1 / ASSIGNMENTS)
    return PointErrors(people.counts, np.zeros(people.size), deviations, even, len(people), channel.output_bits)


def in_few_bits(errors: Mapping[str, Sequence[float]], size: int, levels: Sequence[float]) -> Finding:
    """Return a finding with the ratio of the errors of graded projective response and of IDUE, by level.

    Args:
        errors: the total errors of ``LABEL`` and of "IDUE", and the "bits" of a report, by level.
        size: the number of items, which is the number of bits of IDUE's reports.
    """
    ratios = [ours / theirs for ours, theirs in zip(errors[LABEL], errors["IDUE"], strict=True)]
    return Finding(
        "(with budgets by item, a report has a bit for each item)",
        "the ratio of the total error of our graded projective response to that of IDUE is "
        + by_level((f"{ratio:.2f}" for ratio in ratios), levels)
        + f". A report has {min(errors['bits']):.0f} to {max(errors['bits']):.0f} bits instead of {size:,}",
        "the channel has two weights for each class of items, on a symmetric design; no published mechanism needs as "
        "few bits",
    )
