"""Estimates for ordered values: quantiles, the distribution function, shares of ranges, the mean.

Every estimate has an interval. The interval of a range's share inverts a likelihood-ratio test (``profile``). The
interval of a quantile inverts two such tests: v is rejected as the p-quantile if the share at or below v is
significantly less than p, or the share below v is significantly more than p. Estimates are sums of the shares of
``estimator.estimate`` and lie within their intervals.

docs/BENCHMARKS.md has measurements. ``present.ordered`` prints the result.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from aggregator.estimate import interval, query
from aggregator.estimate.advice import WITHOUT_INTERVALS
from aggregator.estimate.bins import bin_starts, fewer_bins
from aggregator.estimate.class_weights import raked
from aggregator.estimate.classes import ClassesDecoder
from aggregator.estimate.estimator import estimate
from aggregator.estimate.merged import Merged
from aggregator.estimate.personal import PersonalTally
from aggregator.estimate.profile import SHORTER, Profile
from aggregator.estimate.reader import reader_of
from aggregator.estimate.result import Estimate
from aggregator.estimate.tally import Tally
from aggregator.estimate.transcript import TranscriptTally
from aggregator.estimate.weighting import KnownMargin
from aggregator.families.decoder import Floats
from protocol.campaign import Campaign, SignedCampaign
from protocol.channels.wave.channel import Wave
from protocol.domain import DITHER_BYTES, Answer, Dates, Domain, Line
from protocol.errors import HalftruthError
from protocol.notions.classes import class_channels
from protocol.views import is_plain

BLOCKS = 256
"""Maximum number of blocks of values that intervals distinguish."""

ROWS, LEAST_BLOCKS = 1024, 32
"""All classes of people together have at most ``ROWS`` blocks, unless each class would then have fewer than
``LEAST_BLOCKS``."""

POINTS = 21
"""Maximum number of points of the distribution function."""

DECILES = tuple(part / 10 for part in range(1, 10))

ShownValue = int | float | str
"""A value for readers: a number, a date or a label."""


class NotOrdered(HalftruthError, ValueError):
    """Quantiles or ranges were requested for unordered values, or cannot be estimated from the reports."""


@dataclass(frozen=True)
class Quantile:
    """The p-quantile: the value at or below which a part ``p`` of the people lie, with its interval.

    Attributes:
        value: the smallest value for which the share of people at or below it is at least p.
        low, high: the smallest and the largest value that the test does not reject.
    """

    p: float
    value: ShownValue
    low: ShownValue
    high: ShownValue

    def as_json(self) -> dict[str, Any]:
        """Return the machine-readable form."""
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
        """Return the machine-readable form."""
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
        """Return the machine-readable form."""
        return {
            "value": self.value,
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
            "simultaneous_low": self.simultaneous_low,
            "simultaneous_high": self.simultaneous_high,
        }


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
class Ordered:
    """Statistics of the distribution of ordered values; statistics that were not requested are empty or None.

    Attributes:
        found: the estimate from which the statistics are computed.
        quantiles, cdf, bins: the requested quantiles, points of the distribution function, and bins, in increasing
            order.
        above, between: the share of people in one range.
        mean: the unbiased mean, if the values are numbers.
    """

    found: Estimate
    quantiles: tuple[Quantile, ...]
    cdf: tuple[CdfPoint, ...]
    bins: tuple[RangeShare, ...]
    above: RangeShare | None
    between: RangeShare | None
    mean: query.QueryResult | None

    def place(self, value: ShownValue) -> int:
        """Return the input of ``value``."""
        return self.found.campaign.domain.index(value, bytes(DITHER_BYTES))

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the estimate, except the warning about single shares without intervals."""
        return tuple(warning for warning in self.found.warnings if not warning.startswith(WITHOUT_INTERVALS))

    def as_json(self) -> dict[str, Any]:
        """Return the machine-readable form; statistics that were not requested are left out."""
        found = self.found
        about = {
            "campaign": found.campaign.title,
            "campaign_id": found.campaign_id.hex(),
            "class": found.where,
            "reports": found.reports,
            "method": found.method,
            "confidence": found.confidence,
        }
        return about | self.numbers() | {"warnings": list(self.warnings)}

    def statistics(self) -> Iterator[Statistic]:
        """Yield the requested statistics, in the order of the JSON."""
        for one in self.quantiles:
            yield Statistic("quantile", {"p": one.p}, one.value, one.low, one.high)
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
            if (one := getattr(self, name)) is not None:
                requested[name] = one.as_json()
        return requested


def ordered(
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
    where: str | None = None,
    margins: Sequence[KnownMargin] = (),
) -> Ordered:
    """Return the requested quantiles, distribution function, shares of ranges and mean, each with its interval.

    Args:
        campaign, tally: a campaign about ordered values, and the counts of its reports.
        quantiles: the parts p of the people, between 0 and 1.
        cdf: whether to return the distribution function, at up to ``POINTS`` values.
        bins: the boundaries of bins; a value at a boundary is in the upper bin.
        above: a value; returns the share of people above it.
        between: two values; returns the share of people from the first to the second value, both included.
        mean: whether to return the mean.
        method, confidence, where, margins: see ``estimator.estimate``.
    Raises:
        NotOrdered: the p of a quantile is not between 0 and 1, the values have no order, the reports do not support
            ranges, or a range has no value.
        NotInDomain: an end of a range lies outside the campaign's range, and the campaign does not clamp.
        NotANumber: the mean of values that are not numbers was requested.
        NotEnough, MethodRefused, NotInvertible, MarginRefused
    """
    unsigned = campaign.campaign if isinstance(campaign, SignedCampaign) else campaign
    if wrong := [p for p in quantiles if not 0 < p < 1]:
        raise NotOrdered(f"the p of a quantile must be between 0 and 1, such as 0.5, not {wrong[0]:g}")
    if not unsigned.domain.ordered:
        raise NotOrdered(
            f"the values of {unsigned.title!r} have no order (domain kind {unsigned.domain.kind!r}), and quantiles and "
            "ranges need one: estimate the shares"
        )
    found = estimate(campaign, tally, method=method, confidence=confidence, where=where, margins=margins)
    average = query.mean(unsigned, tally, confidence=confidence, margins=margins) if mean else None
    if not (quantiles or cdf or bins) and above is None and between is None:
        return Ordered(found, (), (), (), None, None, average)
    reading, z = _Reading.of(tally, found), interval.quantile(1 - confidence)
    edges = [reading.first(edge) for edge in sorted(bins, key=reading.first)]
    return Ordered(
        found,
        tuple(reading.quantile(p, z) for p in sorted(quantiles)),
        reading.cdf(confidence) if cdf else (),
        reading.bins(edges, z),
        None if above is None else reading.share_of(reading.past(above), unsigned.domain.size, z),
        None if between is None else reading.share_of(reading.first(between[0]), reading.past(between[1]), z),
        average,
    )


def has_summary(campaign: Campaign) -> bool:
    """Return whether ``summary`` applies: if a device uses the wave mechanism, or the campaign's goal is a mean."""
    return campaign.goal == "mean" or is_wave(campaign)


def has_mean(campaign: Campaign) -> bool:
    """Return whether the mean has an unbiased estimate; with the wave mechanism, only of evenly spaced numbers."""
    return isinstance(campaign.domain, Line) and (campaign.domain.evenly_spaced or not is_wave(campaign))


def is_wave(campaign: Campaign) -> bool:
    """Return whether all devices, or all devices of a class, use the wave mechanism, which estimates no single
    values."""
    if not is_plain(campaign.views):
        return False
    channels = class_channels(campaign.channel, len(campaign.classes)) if campaign.classes else (campaign.channel,)
    return any(isinstance(channel, Wave) for channel in channels)


def summary(tally: Tally, found: Estimate) -> Ordered:
    """Return the mean, if it has an unbiased estimate, and for the wave mechanism also the nine deciles and the shares
    of bins.

    Args:
        tally: the counts from which the estimate was computed.
        found: the estimate.
    Raises:
        NotOrdered, NotEnough
    """
    campaign, confidence = found.campaign, found.confidence
    margins = () if found.weighting is None else found.weighting.margins
    mean = query.mean(campaign, tally, confidence=confidence, margins=margins) if has_mean(campaign) else None
    if not is_wave(campaign):
        return Ordered(found, (), (), (), None, None, mean)
    reading, z = _Reading.of(tally, found), interval.quantile(1 - confidence)
    deciles = tuple(reading.quantile(p, z) for p in DECILES)
    return Ordered(
        found, deciles, (), reading.bins(bin_starts(campaign.domain, fewer_bins(found.reports)), z), None, None, mean
    )


def value_of(domain: Domain, x: int) -> ShownValue:
    """Return the value of input ``x`` for readers, as a number or a label."""
    if isinstance(domain, Line) and not isinstance(domain, Dates):
        number = Fraction(domain.scaled[x], 10**domain.places)
        return int(number) if number.denominator == 1 else float(number)
    return domain.label(x)


def _profile_of(campaign: Campaign, tally: Tally, margins: Sequence[KnownMargin]) -> tuple[Merged, Profile]:
    """Return the merged reports, and the likelihood-ratio tests of their shares.

    Raises:
        NotOrdered: the devices use different channels without public classes, reports are not counted by whole outputs,
            or there are too many values for a mechanism other than wave.
    """
    if not is_plain(campaign.views):
        raise NotOrdered(
            "quantiles and ranges need one channel for everybody, and this is a campaign with views: estimate the "
            "shares of its resolutions, or the mean alone. Mechanism wave is made for quantiles"
        )
    decoder, _ = reader_of(campaign, tally)
    separate = isinstance(tally, PersonalTally | TranscriptTally)
    if separate or not decoder.one_hot:
        here = "devices have different channels" if separate else "reports are counted bit by bit"
        raise NotOrdered(
            f"quantiles and ranges need whole outputs of one channel for everybody, and here {here}: estimate the "
            "shares, or the mean alone. Mechanism wave is made for quantiles"
        )
    inner = decoder.decoders if isinstance(decoder, ClassesDecoder) else [decoder]
    if decoder.inputs > BLOCKS and any(one.by_value for one in inner):
        raise NotOrdered(
            f"quantiles and ranges of {decoder.inputs} values, more than {BLOCKS}, need mechanism wave: estimate "
            "the shares, or the mean alone"
        )
    if isinstance(decoder, ClassesDecoder):
        merged = _merged_classes(decoder, tally, margins)
    else:
        merged = Merged.of(decoder, tally.counts, BLOCKS)
    # This is conservative: each device is assumed to repeat one output in the largest number of reports of any device.
    return merged, Profile(merged, 1.0 if tally.correlated is None else tally.correlated.most)


def _merged_classes(decoder: ClassesDecoder, tally: Tally, margins: Sequence[KnownMargin]) -> Merged:
    """Return the merged reports of all classes that have reports."""
    weights = raked(decoder.members, margins) if margins else None
    counts = decoder.of_classes(tally.counts)
    most = max(LEAST_BLOCKS, min(BLOCKS, ROWS // len(counts)))
    parts = zip(decoder.decoders, counts, strict=True)
    found = [Merged.of(inner, part, most) for inner, part in parts if part.any()]
    return Merged.joined(found, None if weights is None else weights[decoder.members > 0])


class _Reading:
    """Statistics of ranges of inputs. A range is given by its first input and the input after its last."""

    @classmethod
    def of(cls, tally: Tally, found: Estimate) -> _Reading:
        """Return the statistics of an estimate that was computed from a tally.

        Raises:
            NotOrdered
        """
        margins = () if found.weighting is None else found.weighting.margins
        return cls(found.campaign.domain, found.share, _profile_of(found.campaign, tally, margins))

    def __init__(self, domain: Domain, share: Floats, profile: tuple[Merged, Profile]) -> None:
        self._domain, self._share = domain, share
        self._merged, self._profile = profile
        self._places = np.arange(self._merged.blocks)

    def first(self, answer: Answer) -> int:
        """Return the first input at or above ``answer``."""
        return self._place(answer, bisect_left)

    def past(self, answer: Answer) -> int:
        """Return the first input above ``answer``."""
        return self._place(answer, bisect_right)

    def _place(self, answer: Answer, bisect: Callable[[Sequence[int], Any], int]) -> int:
        if isinstance(self._domain, Line):
            return bisect(self._domain.scaled, self._domain.number(answer) * 10**self._domain.places)
        return bisect(range(self._domain.size), self._domain.index(answer, bytes(DITHER_BYTES)))

    def value(self, x: int) -> ShownValue:
        """Return the value of input ``x`` for readers."""
        return value_of(self._domain, x)

    def share_of(self, first: int, past: int, z: float) -> RangeShare:
        """Return the share of the inputs ``first`` to ``past`` - 1, with its interval.

        Raises:
            NotOrdered: the range has no value.
        """
        if first >= past:
            raise NotOrdered(
                f"the range contains no value of the campaign, whose values are {self._domain.label(0)} to "
                f"{self._domain.label(self._domain.size - 1)}: widen it, give its ends in increasing order, or leave a "
                "boundary of the bins out"
            )
        low, high = self._interval(first, past, z)
        share = float(self._share[first:past].sum())
        return RangeShare(self.value(first), self.value(past - 1), share, min(low, share), max(high, share))

    def bins(self, starts: Sequence[int], z: float) -> tuple[RangeShare, ...]:
        """Return the shares of the bins that begin at the first input and at each of ``starts``; empty without
        ``starts``."""
        ends = zip([0, *starts], [*starts, self._domain.size], strict=True) if starts else ()
        return tuple(self.share_of(first, past, z) for first, past in ends)

    def _interval(self, first: int, past: int, z: float) -> tuple[float, float]:
        """Return the interval of a range's share: the lower end is that of the blocks inside the range, the upper end
        that of all blocks that overlap the range."""
        ends = self._merged.ends
        starts = ends - self._merged.sizes
        inner, outer = (starts >= first) & (ends <= past), (ends > first) & (starts < past)
        low, high = self._profile.interval(inner, z)
        return low, high if (inner == outer).all() else self._profile.interval(outer, z)[1]

    def quantile(self, p: float, z: float) -> Quantile:
        """Return the ``p``-quantile with its interval."""
        last, z = self._merged.blocks - 1, z * math.sqrt(SHORTER)
        # Both conditions are monotone in the block and hold for the last block, so bisection finds the first one.
        low = bisect_left(range(last), True, key=lambda block: self._root(block, p) <= z)
        high = bisect_left(range(last), True, key=lambda block: self._root(block, p) < -z)
        ends = self._merged.ends
        found = min(int(np.searchsorted(np.cumsum(self._share), p - 1e-12)), self._domain.size - 1)
        first, final = int(ends[low] - self._merged.sizes[low]), int(ends[high]) - 1
        return Quantile(p, self.value(found), self.value(min(first, found)), self.value(max(final, found)))

    def _root(self, block: int, p: float) -> float:
        """Return the signed root of the statistic that tests whether the share up to and including a block is ``p``."""
        return self._profile.root(self._places <= block, p)

    def cdf(self, confidence: float) -> tuple[CdfPoint, ...]:
        """Return the distribution function at the last inputs of evenly spaced blocks."""
        blocks = np.unique(np.linspace(0, self._merged.blocks - 2, POINTS).round().astype(int)).tolist()
        alone, together = interval.quantile(1 - confidence), interval.quantile((1 - confidence) / len(blocks))
        points = []
        for block in blocks:
            past = int(self._merged.ends[block])
            share = min(float(self._share[:past].sum()), 1.0)
            low, high = self._profile.interval(self._places <= block, alone)
            least, most = self._profile.interval(self._places <= block, together)
            ends = (min(low, share), max(high, share), min(least, share), max(most, share))
            points.append(CdfPoint(self.value(past - 1), share, *ends))
        return tuple(points)
