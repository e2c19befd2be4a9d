"""Linear queries of the shares: a single share, a mean, a sum, any weighted sum.

A query has a number a[x] for each value x, and every report contributes a number to the result. So the result is a mean
over the reports, and its error is the standard error of a mean, for every mechanism (MATH 6.2). If devices have several
reports, the error is the standard error of a mean over devices.

Since the shares sum to one, a constant may be subtracted from all a[x] and added to the result. The raw estimates need
not sum to one, so the constant changes the error: for ages between 60 and 90, subtracting 75 makes the error far
smaller. The chosen constant minimises the variance if all values are equally frequent (or have the frequencies of the
prior). The constant does not depend on the reports, so the result stays unbiased.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aggregator.estimate import estimator, interval
from aggregator.estimate.class_weights import reweight
from aggregator.estimate.groups import spread_of
from aggregator.estimate.method import consistent
from aggregator.estimate.minimum import require_enough
from aggregator.estimate.ordered_campaign import has_mean
from aggregator.estimate.resolutions import FINEST, Views
from aggregator.estimate.shown_inputs import ShownInputs
from aggregator.estimate.tally import Tally
from aggregator.estimate.tally_decoder import decoder_and_prior
from aggregator.estimate.weighting import KnownMargin, require_unweighted
from aggregator.families.decoder import Decoder, Floats, NotInvertible
from aggregator.json_number import json_number
from protocol.campaign import Campaign
from protocol.domain import Dates, Domain, Line, NumberRange, calendar
from protocol.errors import HalftruthError
from protocol.views import is_plain

DAYS = "days since 1970-01-01"
"""The unit of a mean of days."""


class NotANumber(HalftruthError, ValueError):
    """The campaign's values have no mean, or no sum."""


@dataclass(frozen=True)
class QueryResult:
    """The result of a query: one number about the population, with its interval.

    ``estimate``, ``raw``, ``se`` and the interval are NaN if no unbiased estimate exists.

    Attributes:
        query: the query in words.
        estimate: the unbiased estimate, not a consistent share as in ``Estimate``; a share is clipped to 0 .. 1.
        raw: the unbiased estimate, not clipped.
        se: the standard error of ``raw``.
        low, high: the confidence interval.
        confidence: the confidence level of the interval.
        mmse: the estimate that uses the campaign's prior; None if the campaign has no prior, or the prior is not used.
        unit: the unit of the numbers; ``DAYS`` for days, and "" if the campaign states none.
        is_share: whether the number is a share of people, which is printed in percent.
    """

    query: str
    estimate: float
    raw: float
    se: float
    low: float
    high: float
    confidence: float
    mmse: float | None
    unit: str = ""
    is_share: bool = False

    @property
    def days(self) -> dict[str, str]:
        """Estimate, low and high as YYYY-MM-DD if the number is a day; empty for other numbers, and without an
        estimate."""
        if self.unit != DAYS or math.isnan(self.estimate):
            return {}
        return {name: calendar.text_of(round(getattr(self, name))) for name in ("estimate", "low", "high")}

    def times(self, factor: float, query: str) -> QueryResult:
        """Return the same result in another unit, such as people instead of shares.

        Args:
            factor: the factor by which all numbers are multiplied.
            query: the query in words.
        """
        low, high = sorted((self.low * factor, self.high * factor))
        return replace(
            self,
            query=query,
            estimate=self.estimate * factor,
            raw=self.raw * factor,
            se=self.se * abs(factor),
            low=low,
            high=high,
            mmse=None if self.mmse is None else self.mmse * factor,
            is_share=False,
        )

    def as_json(self) -> dict[str, Any]:
        numbers = {"estimate": self.estimate, "raw": self.raw, "se": self.se, "low": self.low, "high": self.high}
        known = {name: json_number(number) for name, number in numbers.items()}
        rest = {"confidence": self.confidence, "mmse": self.mmse, "unit": self.unit}
        return {"query": self.query} | known | rest | {f"{name}_day": day for name, day in self.days.items()}


def weighted_mean(
    campaign: Campaign,
    tally: Tally,
    weights: Sequence[float] | Floats,
    *,
    offset: float = 0.0,
    confidence: float = 0.95,
    query: str = "weighted mean",
    margins: Sequence[KnownMargin] = (),
) -> QueryResult:
    """Return the estimated mean of weights[x] + offset over people with value x.

    Args:
        campaign: the campaign.
        tally: the counts of its reports.
        weights: the number of each value.
        offset: a number that is added to each person's number.
        confidence: the confidence level of the interval.
        query: the query in words.
        margins: the known shares of the population by class, to which the classes are weighted.
    Raises:
        MarginRefused: the classes cannot be weighted to the margins.
        NotEnough: fewer devices than the campaign's minimum.
        NotInvertible: no unbiased estimate exists, and the campaign has no prior.
        ValueError: the numbers of weights and values differ.
    """
    a = np.asarray(weights, dtype=np.float64)
    shown_inputs = ShownInputs.of(campaign.domain)
    if a.shape != (shown_inputs.count,):
        raise ValueError(f"the weights have shape {a.shape}, but each of {shown_inputs.count} values needs one weight")
    if not is_plain(campaign.views):
        require_unweighted(margins)
        return _of_views(campaign, tally, a, offset, confidence, query)
    decoder, prior = decoder_and_prior(campaign, tally)
    a = np.concatenate([a * shown_inputs.factor, np.zeros(campaign.domain.size - shown_inputs.count)])
    reference = np.full(len(a), 1 / len(a)) if prior is None else prior
    mean_features = tally.counts / tally.reports
    if margins:
        decoder, prior = reweight(decoder, mean_features, margins, dependent=tally.correlated is not None)[0], None
    mmse = None
    if prior is not None and decoder.one_hot:
        shares = consistent("mmse", decoder, mean_features, tally.reports, None, prior, [], shown_inputs)
        mmse = float(a @ shares) + offset
    try:
        shift = _steady_shift(decoder, a, reference)
        raw, variance, t = _mean_of_reports(decoder, tally, a - shift, confidence)
    except NotInvertible:
        if prior is None:
            raise
        return _unknown(query, confidence, mmse)
    se, centre = math.sqrt(variance), raw + shift + offset
    return QueryResult(query, centre, centre, se, centre - t * se, centre + t * se, confidence, mmse)


def _unknown(query: str, confidence: float, mmse: float | None, unit: str = "") -> QueryResult:
    return QueryResult(query, math.nan, math.nan, math.nan, math.nan, math.nan, confidence, mmse, unit)


def _mean_of_reports(decoder: Decoder, tally: Tally, v: Floats, confidence: float) -> tuple[float, float, float]:
    """Return the unbiased estimate of v . p, its variance, and the quantile of its interval in standard errors."""
    mean_features, groups = tally.counts / tally.reports, tally.correlated
    mean = decoder.query(v, mean_features)
    variance = max(decoder.variance(v, mean_features), 0.0) / tally.reports
    if groups is None:
        return mean, variance, interval.critical_value(1 - confidence)
    between = spread_of(groups, decoder.adjoint(v), decoder.intercept(v), mean)
    return mean, float(np.maximum(between.variance[0], variance)), between.critical_value(1 - confidence)


def _of_views(campaign: Campaign, tally: Tally, a: Floats, offset: float, confidence: float, query: str) -> QueryResult:
    """Return the mean weight, estimated from all views of the tree. The estimate is linear in the reports of each
    view."""
    require_enough(campaign, tally)
    views = Views.of(campaign, tally.by_view)
    districts = views.counted[views.tree[-1]].districts
    v = np.zeros(districts.max() + 1)
    v[districts] = a
    if not np.array_equal(v[districts], a):
        raise NotInvertible(
            "the weights differ within a district, and there are no reports at a finer resolution: give all values of "
            "a district the same weight"
        )
    centre, factors = views.passes().adjoint(len(views.tree) - 1, v)
    variance, t = 0.0, interval.critical_value(1 - confidence)
    for place, factor in zip(views.tree, factors, strict=True):
        decoder, part = views.counted[place].decoder, views.counted[place].tally
        if part.reports:
            mean, part_variance, wider = _mean_of_reports(decoder, part, factor, confidence)
            centre, variance, t = centre + mean, variance + part_variance, max(t, wider)
    se, centre = math.sqrt(variance), centre + offset
    return QueryResult(query, centre, centre, se, centre - t * se, centre + t * se, confidence, None)


def expected_variance(
    decoder: Decoder, weights: Sequence[float] | Floats, reference: Floats | None, distribution: Floats | None = None
) -> float:
    """Return the variance of one report's contribution to the mean weight that ``weighted_mean`` estimates.

    Args:
        decoder: the decoder of the campaign.
        weights: (k,) one number for each input.
        reference: (k,) the prior of the campaign; None without one.
        distribution: (k,) the true shares of the inputs; by default the reference, or equal shares without a reference.
    Raises:
        NotInvertible: no unbiased estimate exists.
    """
    a = np.asarray(weights, dtype=np.float64)
    tuned = np.full(len(a), 1 / len(a)) if reference is None else reference
    steady = a - _steady_shift(decoder, a, tuned)
    return decoder.variance(steady, decoder.forward(tuned if distribution is None else distribution))


def unit_of(domain: Domain) -> str:
    """Return the unit of a difference of two quantiles; "" if the campaign states none."""
    if isinstance(domain, NumberRange):
        return domain.unit
    return "days" if isinstance(domain, Dates) else "" if isinstance(domain, Line) else "values"


def points_of(campaign: Campaign) -> list[float]:
    """Return the numeric value of each answer, for the mean.

    Raises:
        NotANumber: the values are neither numbers nor dates.
    """
    if not isinstance(campaign.domain, Line):
        raise NotANumber(
            f"the answers to {campaign.title!r} have no mean (domain kind {campaign.domain.kind!r}), because a mean "
            "needs numbers, dates or buckets: estimate the shares"
        )
    return [float(number) for number in campaign.domain.points]


def mean(
    campaign: Campaign, tally: Tally, *, confidence: float = 0.95, margins: Sequence[KnownMargin] = ()
) -> QueryResult:
    """Return the unbiased estimate of the mean of the answers in a campaign that asks for numbers or dates.

    The answers are those in the domain, to which devices round. Rounding at random adds no bias; rounding to the
    nearest number may add some.

    Args:
        campaign, tally, confidence, margins: see ``weighted_mean``.
    Raises:
        NotANumber: the values are neither numbers nor dates.
        NotEnough, NotInvertible, MarginRefused: as in ``weighted_mean``.
    """
    points = points_of(campaign)
    try:
        average = weighted_mean(campaign, tally, points, confidence=confidence, query="mean", margins=margins)
    except NotInvertible:
        if not has_mean(campaign):
            raise  # the numbers are not evenly spaced, as the error says
        raise NotInvertible(f"{without_mean(campaign)}: estimate quantiles or shares instead") from None
    return replace(average, unit=DAYS if isinstance(campaign.domain, Dates) else unit_of(campaign.domain))


def without_mean(campaign: Campaign) -> str:
    """Return a sentence for a mean without an unbiased estimate."""
    cause = "for this channel" if is_plain(campaign.views) else "from these reports"
    return f"the mean has no unbiased estimate {cause}"


def unknown_mean(campaign: Campaign, confidence: float) -> QueryResult:
    """Return the result for a mean without an unbiased estimate: its numbers are NaN."""
    unit = DAYS if isinstance(campaign.domain, Dates) else unit_of(campaign.domain)
    return _unknown("mean", confidence, None, unit)


def total(campaign: Campaign, tally: Tally, *, population: int | None = None, confidence: float = 0.95) -> QueryResult:
    """Return the estimated sum over people in a campaign that asks for a number.

    Args:
        campaign, tally, confidence: see ``weighted_mean``.
        population: the number of people that the reports represent; None takes the number of reports.
    Raises:
        NotANumber: the values are not numbers.
        NotEnough, NotInvertible: as in ``weighted_mean``.
    """
    if isinstance(campaign.domain, Dates):
        raise NotANumber(f"the answers to {campaign.title!r} are dates, which have no sum: estimate the mean")
    people = tally.reports if population is None else population
    return mean(campaign, tally, confidence=confidence).times(people, "sum")


def weighted_sum(
    campaign: Campaign,
    tally: Tally,
    weights: Sequence[float] | Floats,
    *,
    offset: float = 0.0,
    population: int | None = None,
    confidence: float = 0.95,
) -> QueryResult:
    """Return the estimated sum of weights[x] + offset over people with value x (weighted summation in Jiang, Li, Tandon
    2020).

    Args:
        campaign, tally, weights, offset, confidence: see ``weighted_mean``.
        population: the number of people that the reports represent; None takes the number of reports.
    Raises:
        NotEnough, NotInvertible, ValueError: as in ``weighted_mean``.
    """
    answer = weighted_mean(campaign, tally, weights, offset=offset, confidence=confidence)
    return answer.times(tally.reports if population is None else population, "weighted sum")


def value_share(
    campaign: Campaign, tally: Tally, x: int, *, resolution: str = FINEST, confidence: float = 0.95
) -> QueryResult:
    """Return the estimated share of people with value ``x``. ``QueryResult.times`` converts the share to a number of
    people.

    The unbiased estimate and the interval are those of ``x`` in the histogram.

    Args:
        campaign, tally, confidence: see ``weighted_mean``.
        x: the index of a value or district.
        resolution: the name of the resolution of the district ``x``, in a campaign with views.
    Raises:
        NotEnough, NotInvertible, MethodRefused: as in ``estimator.estimate``.
        ValueError: ``x`` is not a value or district.
    """
    estimate = estimator.estimate(campaign, tally, confidence=confidence)
    shown = estimate.at(resolution)
    if not 0 <= x < shown.size:
        raise ValueError(f"there is no value {x}: give the position of a value, 0 to {shown.size - 1}")
    mmse = float(estimate.share[x]) if estimate.method == "mmse" else None
    return QueryResult(
        f"share of {shown.label(x)}", float(np.clip(shown.raw[x], 0, 1)), float(shown.raw[x]), float(shown.se[x]),
        float(shown.low[x]), float(shown.high[x]), confidence, mmse, is_share=True,
    )  # fmt: skip


def _steady_shift(decoder: Decoder, a: Floats, reference: Floats) -> float:
    """Return the c that minimises the variance of (a - c) . raw at the reference: cov(a . raw, 1 . raw) / var(1 . raw).

    The result is 0 if the raw shares always sum to one. The covariance is computed from variances by polarisation.
    """
    distribution, ones = decoder.forward(reference), np.ones_like(a)
    spread = decoder.variance(ones, distribution)
    if spread < 1e-18:
        return 0.0
    return (decoder.variance(a + ones, distribution) - decoder.variance(a - ones, distribution)) / (4 * spread)
