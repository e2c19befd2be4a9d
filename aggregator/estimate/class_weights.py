"""Weights of classes from known shares of the population: post-stratification, and raking over groups of classes.

A report states its class, which is public. So the share of each class among the reports is known, and the weights that
reproduce the margins have no noise. If one margin has a group for each class, its shares are the weights of the
classes. Otherwise iterative proportional fitting (raking) starts from the shares among the reports. If two classes are
in the same group of each margin, the ratio of their shares stays the same.

``reweighted`` contains the weighted decoder.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aggregator.estimate.classes import ClassesDecoder
from aggregator.estimate.reweighted import ReweightedDecoder
from aggregator.estimate.weighting import KnownMargin, MarginRefused, Weighting, require_distinct
from aggregator.families.decoder import Decoder, Floats

CONVERGED = 1e-13
"""Raking ends when the relative error of each group's share is below this."""

MAX_ROUNDS = 10_000

NOT_CONVERGED = 1e-9
"""Margins that still have a larger relative error after raking contradict each other."""


def raked(members: Floats, margins: Sequence[KnownMargin]) -> Floats:
    """Return the class shares that reproduce the margins and are nearest to the class shares among the reports.

    Args:
        members: (C,) the shares of the classes among the reports.
        margins: the known shares of the population by class.
    Returns:
        (C,) shares that sum to one; 0 for a class without reports.
    Raises:
        MarginRefused: a group has no reports, or margins contradict each other or have the same groups.
    Source: Deming, Stephan 1940.
    """
    require_distinct(margins)
    for margin in margins:
        reported = group_shares(members, margin)
        if not reported.all():
            name = margin.names[int(np.argmin(reported))]
            raise MarginRefused(
                f"nobody in group {name!r} has answered, so the answers of this part of the population are unknown: "
                "wait for reports, or merge the group with another one"
            )
    shares = members.copy()
    for _ in range(MAX_ROUNDS):
        off = 0.0
        for margin in margins:
            quotient = margin.shares / group_shares(shares, margin)
            off = max(off, float(np.abs(quotient - 1).max()))
            shares *= quotient[margin.groups]
        if off < CONVERGED:
            break
    if off > NOT_CONVERGED:
        raise MarginRefused(
            "no weights of the classes give all these margins, because they contradict each other: "
            "correct one, or leave one out"
        )
    return shares


def group_shares(shares: Floats, margin: KnownMargin) -> Floats:
    """Return the share of each group of a margin: the sum of the shares of the group's classes.

    Args:
        shares: (C,) the shares of the classes.
    Returns:
        (G,) the shares of the groups.
    """
    return np.bincount(margin.groups, weights=shares, minlength=len(margin.names)).astype(np.float64)


def reweight(
    decoder: Decoder, mean_features: Floats, margins: Sequence[KnownMargin], *, dependent: bool
) -> tuple[ReweightedDecoder, Weighting]:
    """Return the decoder that weights classes by their shares of the population, and the effect of the weights.

    Args:
        decoder: the decoder of the campaign.
        mean_features: (m,) the relative frequency of each output.
        margins: the known shares of the population by class.
        dependent: whether a device has several reports.
    Raises:
        MarginRefused: the campaign has no classes, a device has several reports, or as in ``raked``.
    """
    if not isinstance(decoder, ClassesDecoder):
        raise MarginRefused("the margins are by class, but the campaign has no classes: leave out --margins")
    if dependent:
        raise MarginRefused(
            "weights by class need one report from each device, and here devices have several: select one --period, "
            "or leave out --margins"
        )
    members = decoder.members
    reweighted = ReweightedDecoder(decoder.decoders, members, decoder.priors, raked(members, margins))
    # For comparison, the unweighted estimate takes the class sizes as fixed too, so only the weights differ.
    plain = ReweightedDecoder(decoder.decoders, members, decoder.priors, members)
    factors = reweighted.factors[members > 0]
    shares = tuple(group_shares(members, margin) for margin in margins)
    effects = _weighting_effects(reweighted, plain, mean_features)
    return reweighted, Weighting(tuple(margins), shares, float(factors.min()), float(factors.max()), *effects)


def _weighting_effects(
    reweighted: ReweightedDecoder, plain: ReweightedDecoder, mean_features: Floats
) -> tuple[float, float, float]:
    """Return (design effect, largest number of people per report with weights, the same without weights).

    If a class uses the wave mechanism, single values have no unbiased estimate. Then the design effect is that of the
    mean, and the numbers of people are NaN.
    """
    if reweighted.by_value:
        return (
            float(reweighted.variances(mean_features).sum() / plain.variances(mean_features).sum()),
            reweighted.people_per_report,
            plain.people_per_report,
        )
    line = np.arange(reweighted.input_count, dtype=np.float64)
    return reweighted.variance(line, mean_features) / plain.variance(line, mean_features), math.nan, math.nan
