"""Estimate quantiles, the distribution function, shares of ranges and the mean of ordered values, with intervals.

``range_statistics`` computes the intervals, and ``ordered_result`` defines the results. docs/BENCHMARKS.md has
measurements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aggregator.estimate import estimator, query
from aggregator.estimate.bins import bin_count, bin_starts
from aggregator.estimate.ordered_campaign import has_mean, is_wave
from aggregator.estimate.ordered_result import NotOrdered, OrderedStatistics
from aggregator.estimate.range_statistics import RangeStatistics
from aggregator.estimate.result import Estimate, unsigned_and_id
from aggregator.estimate.tally import Tally
from aggregator.estimate.weighting import KnownMargin
from aggregator.families.decoder import NotInvertible
from protocol.campaign import Campaign, SignedCampaign
from protocol.domain import Answer

DECILES = tuple(part / 10 for part in range(1, 10))


def ordered_statistics(
    campaign: Campaign | SignedCampaign,
    tally: Tally,
    *,
    quantiles: Sequence[float] = (),
    cdf: bool = False,
    bins: Sequence[Answer] = (),
    above: Answer | None = None,
    between: tuple[Answer, Answer] | None = None,
    mean: bool = False,
    method: str | None = None,
    confidence: float = 0.95,
    class_name: str | None = None,
    margins: Sequence[KnownMargin] = (),
) -> OrderedStatistics:
    """Return the requested quantiles, distribution function, shares of ranges and mean, each with its interval.

    Args:
        campaign, tally: a campaign about ordered values, and the counts of its reports.
        quantiles: the shares p of the people, between 0 and 1.
        cdf: whether to return the distribution function, at up to ``range_statistics.POINTS`` values.
        bins: the boundaries of bins; a value at a boundary is in the upper bin.
        above: a value; returns the share of people above it.
        between: two values; returns the share of people from the first to the second value, both included.
        mean: whether to return the mean.
        method, confidence, class_name, margins: see ``estimator.estimate``.
    Raises:
        NotOrdered: the p of a quantile is not between 0 and 1, the values have no order, the reports do not support
            ranges, or a range has no value.
        NotInDomain: an end of a range lies outside the campaign's range, and the campaign does not clamp.
        NotANumber: the mean of values that are neither numbers nor dates was requested.
        NotEnough, MethodRefused, NotInvertible, MarginRefused, ValueError: as in ``estimator.estimate``.
    """
    unsigned, _ = unsigned_and_id(campaign)
    if wrong := [p for p in quantiles if not 0 < p < 1]:
        raise NotOrdered(f"the p of a quantile must be between 0 and 1, such as 0.5, not {wrong[0]:g}")
    if not unsigned.domain.ordered:
        raise NotOrdered(
            f"the values of {unsigned.title!r} have no order (domain kind {unsigned.domain.kind!r}), and quantiles, "
            "ranges and means need one: estimate the shares"
        )
    estimate = estimator.estimate(
        campaign, tally, method=method, confidence=confidence, class_name=class_name, margins=margins
    )
    average = query.mean(unsigned, tally, confidence=confidence, margins=margins) if mean else None
    if not (quantiles or cdf or bins) and above is None and between is None:
        return OrderedStatistics(estimate, (), (), (), None, None, average)
    ranges = RangeStatistics(tally, estimate)
    edges = [ranges.first(edge) for edge in sorted(bins, key=ranges.first)]
    return OrderedStatistics(
        estimate,
        tuple(ranges.quantile(p) for p in sorted(quantiles)),
        ranges.cdf() if cdf else (),
        ranges.bins(edges),
        None if above is None else ranges.above(above),
        None if between is None else ranges.between(*between),
        average,
    )


def summary_statistics(tally: Tally, estimate: Estimate) -> OrderedStatistics:
    """Return the mean, if the values are numbers, and for the wave mechanism also the nine deciles and the shares of
    bins, if the reports of every class support them.

    Args:
        tally: the counts from which the estimate was computed.
        estimate: the estimate.
    Returns:
        The numbers of a mean without an unbiased estimate are NaN.
    """
    campaign = estimate.campaign
    mean = _mean(tally, estimate) if has_mean(campaign) else None
    mean_only = OrderedStatistics(estimate, (), (), (), None, None, mean)
    if not is_wave(campaign):
        return mean_only
    try:
        ranges = RangeStatistics(tally, estimate)
    except NotOrdered:  # a class uses another mechanism, on too many values
        return mean_only
    deciles = tuple(ranges.quantile(p) for p in DECILES)
    bins = ranges.bins(bin_starts(campaign.domain, bin_count(estimate.reports)))
    return replace(mean_only, quantiles=deciles, bins=bins)


def _mean(tally: Tally, estimate: Estimate) -> query.QueryResult:
    margins = () if estimate.weighting is None else estimate.weighting.margins
    try:
        return query.mean(estimate.campaign, tally, confidence=estimate.confidence, margins=margins)
    except NotInvertible:
        return query.unknown_mean(estimate.campaign, estimate.confidence)
