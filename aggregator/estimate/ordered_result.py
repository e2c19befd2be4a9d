"""The statistics of ordered values with their intervals: quantiles, the distribution function, shares of ranges.

``ordered`` estimates them, and ``present.ordered`` prints them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from aggregator.estimate.advice import WITHOUT_INTERVALS
from aggregator.estimate.query import QueryResult, without_mean
from aggregator.estimate.result import Estimate
from protocol.domain import DITHER_BYTES, Dates, Domain, Line
from protocol.errors import HalftruthError

ShownValue = int | float | str
"""A value for readers: a number, a date or a label."""


class NotOrdered(HalftruthError, ValueError):
    """Quantiles or ranges were requested for unordered values, or cannot be estimated from the reports."""


@dataclass(frozen=True)
class Quantile:
    """The p-quantile: the value at or below which a share ``p`` of the people lie, with its interval.

    Attributes:
        value: the smallest value for which the share of people at or below it is at least p.
        low, high: the ends of the interval; see ``RangeStatistics.quantile``.
    """

    p: float
    value: ShownValue
    low: ShownValue
    high: ShownValue

    def as_json(self) -> dict[str, Any]:
        return {"p": self.p, "value": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class RangeShare:
    """The share of people in a range of values, both ends included, with its interval.

    Attributes:
        first, last: the first and the last value of the range.
        estimate, low, high: the share and its interval, as fractions.
    """

    first: ShownValue
    last: ShownValue
    estimate: float
    low: float
    high: float

    def as_json(self) -> dict[str, Any]:
        return {"from": self.first, "to": self.last, "estimate": self.estimate, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class CdfPoint:
    """The share of people at or below a value, with its intervals.

    Attributes:
        low, high: the interval of this share by itself.
        simultaneous_low, simultaneous_high: the simultaneous interval; those of all points form the confidence band.
    """

    value: ShownValue
    estimate: float
    low: float
    high: float
    simultaneous_low: float
    simultaneous_high: float

    def as_json(self) -> dict[str, Any]:
        return dict(vars(self))


class Statistic(NamedTuple):
    """One requested statistic with its interval.

    Attributes:
        kind: ``quantile``, ``cdf``, ``bin``, ``above``, ``between`` or ``mean``.
        parameters: ``p`` of a quantile, ``value`` of a point, ``from`` and ``to`` of a range.
        estimate, low, high: the estimate and its interval: values for a quantile or a mean, fractions for a
            share.
    """

    kind: str
    parameters: Mapping[str, ShownValue]
    estimate: ShownValue
    low: ShownValue
    high: ShownValue


@dataclass(frozen=True)
class OrderedStatistics:
    """Statistics of the distribution of ordered values; statistics that were not requested are empty or None.

    Attributes:
        estimate: the estimate from which the statistics are computed.
        quantiles: the requested quantiles, in increasing order.
        cdf: the points of the distribution function, in increasing order.
        bins: the share of people in each bin, in increasing order.
        above: the share of people above a value.
        between: the share of people between two values.
        mean: the unbiased mean, if the values are numbers; its numbers are NaN if no unbiased estimate exists.
    """

    estimate: Estimate
    quantiles: tuple[Quantile, ...]
    cdf: tuple[CdfPoint, ...]
    bins: tuple[RangeShare, ...]
    above: RangeShare | None
    between: RangeShare | None
    mean: QueryResult | None

    def place(self, value: ShownValue) -> int:
        """Return the input of ``value``."""
        return self.estimate.campaign.domain.index(value, bytes(DITHER_BYTES))

    @property
    def known(self) -> bool:
        """True if at least one statistic is known; otherwise the shares of single values are shown instead."""
        mean = self.mean is not None and not math.isnan(self.mean.estimate)
        return mean or any((self.quantiles, self.cdf, self.bins, self.above, self.between))

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the estimate, and a warning about a mean that is not known.

        The warning about single shares without intervals is left out if a statistic is known.
        """
        warnings = self.estimate.warnings
        if self.known:
            warnings = tuple(warning for warning in warnings if not warning.startswith(WITHOUT_INTERVALS))
        if self.mean is None or not math.isnan(self.mean.estimate):
            return warnings
        return (*warnings, without_mean(self.estimate.campaign))

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object; statistics that were not requested are left out."""
        estimate = self.estimate
        about = {
            "campaign": estimate.campaign.title,
            "campaign_id": estimate.campaign_id.hex(),
            "class": estimate.class_name,
            "reports": estimate.reports,
            "method": estimate.method,
            "confidence": estimate.confidence,
        }
        return about | self.numbers() | {"warnings": list(self.warnings)}

    def statistics(self) -> Iterator[Statistic]:
        """Yield the requested statistics, in the order of the JSON."""
        for quantile in self.quantiles:
            yield Statistic("quantile", {"p": quantile.p}, quantile.value, quantile.low, quantile.high)
        for point in self.cdf:
            yield Statistic("cdf", {"value": point.value}, point.estimate, point.low, point.high)
        ranges = [*(("bin", share) for share in self.bins), ("above", self.above), ("between", self.between)]
        for kind, share in ranges:
            if share is not None:
                yield Statistic(kind, {"from": share.first, "to": share.last}, share.estimate, share.low, share.high)
        if self.mean is not None:
            yield Statistic("mean", {}, self.mean.estimate, self.mean.low, self.mean.high)

    def numbers(self) -> dict[str, Any]:
        """Return the requested statistics only, in the machine-readable form."""
        requested: dict[str, Any] = {}
        for name in ("quantiles", "cdf", "bins"):
            if rows := getattr(self, name):
                requested[name] = [row.as_json() for row in rows]
        for name in ("above", "between", "mean"):
            if (statistic := getattr(self, name)) is not None:
                requested[name] = statistic.as_json()
        return requested


def value_of(domain: Domain, x: int) -> ShownValue:
    """Return the value of input ``x`` for readers, as a number or a label."""
    if isinstance(domain, Line) and not isinstance(domain, Dates):
        number = Fraction(domain.scaled[x], 10**domain.decimal_places)
        return int(number) if number.denominator == 1 else float(number)
    return domain.label(x)
