"""Estimates for ordered values: quantiles, the distribution function, shares of ranges, the mean.

Every number has an interval. That of a share in a range inverts the likelihood-ratio test of it (profile), and so does
that of a quantile: v is refused as the p-quantile where the share at or below v is significantly less than p, or the
share below v significantly more. Estimates are sums of the shares of ``estimator.estimate`` and lie within their
intervals.

Measured: docs/BENCHMARKS.md. How it is printed: present.ordered.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from aggregator.estimate import interval, query
from aggregator.estimate.advice import WITHOUT_BARS
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
"""Intervals are as fine as this part of the range, where there are more values."""

ROWS, LEAST_BLOCKS = 1024, 32
"""Of classes of people together, blocks of classes and values, and of each class at least so many blocks."""

POINTS = 21
"""Of the distribution function, at most."""

DECILES = tuple(part / 10 for part in range(1, 10))

Value = int | float | str
"""A value as a reader has it: a number, a date or a label."""


class NotOrdered(HalftruthError, ValueError):
    """Quantiles or ranges were requested for unordered values, or cannot be estimated from the reports."""


@dataclass(frozen=True)
class Quantile:
    """The value at or below which a part ``p`` of the people are.

    Attributes:
        value: the least value with a share of p at or below it.
        low, high: the values that are not refused.
    """

    p: float
    value: Value
    low: Value
    high: Value

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form."""
        return {"p": self.p, "value": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class RangeShare:
    """The share of people in a range of values, both ends included.

    Attributes:
        first, last: the ends.
        estimate, low, high: fractions.
    """

    first: Value
    last: Value
    estimate: float
    low: float
    high: float

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form."""
        return {"from": self.first, "to": self.last, "estimate": self.estimate, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Point:
    """The share of people at or below a value.

    Attributes:
        low, high: its interval.
        simultaneous_low, simultaneous_high: intervals that hold for all points together: the band.
    """

    value: Value
    estimate: float
    low: float
    high: float
    simultaneous_low: float
    simultaneous_high: float

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form."""
        return {
            "value": self.value,
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
            "simultaneous_low": self.simultaneous_low,
            "simultaneous_high": self.simultaneous_high,
        }


@dataclass(frozen=True)
class Ordered:
    """Numbers about the distribution of ordered values; what was not asked for is empty or None.

    Attributes:
        found: the estimate that they are of.
        quantiles, cdf, bins: in increasing order.
        above, between: the share of people in one range.
        mean: unbiased, of numbers.
    """

    found: Estimate
    quantiles: tuple[Quantile, ...]
    cdf: tuple[Point, ...]
    bins: tuple[RangeShare, ...]
    above: RangeShare | None
    between: RangeShare | None
    mean: query.Answer | None

    def place(self, value: Value) -> int:
        """Return the input that ``value`` stands for."""
        return self.found.terms.domain.index(value, bytes(DITHER_BYTES))

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the estimate, except the one about single shares without error bars."""
        return tuple(warning for warning in self.found.warnings if not warning.startswith(WITHOUT_BARS))

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form; what was not asked for is left out."""
        found = self.found
        told = {
            "campaign": found.terms.title,
            "campaign_id": found.campaign_id.hex(),
            "class": found.where,
            "reports": found.reports,
            "method": found.method,
            "confidence": found.level,
        }
        return told | self.numbers() | {"warnings": list(self.warnings)}

    def numbers(self) -> dict[str, Any]:
        """The requested numbers only, in the machine-readable form."""
        told: dict[str, Any] = {}
        for name in ("quantiles", "cdf", "bins"):
            if rows := getattr(self, name):
                told[name] = [row.as_json() for row in rows]
        for name in ("above", "between", "mean"):
            if (one := getattr(self, name)) is not None:
                told[name] = one.as_json()
        return told


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
    level: float = 0.95,
    where: str | None = None,
    margins: Sequence[KnownMargin] = (),
) -> Ordered:
    """Return quantiles, distribution function and shares of ranges, each with its interval.

    Args:
        quantiles: parts of the people, between 0 and 1.
        cdf: whether to return the distribution function, at up to ``POINTS`` values.
        bins: where one bin ends and the next begins; a value at an edge is in the upper bin.
        above: a value; the share of people above it.
        between: two values; the share of people from one to the other, both included.
        mean: whether to return the mean.
        method, level, where, margins: as of ``estimator.estimate``.
    Raises:
        NotOrdered: the campaign's values have no order, its reports do not tell an order, or a range has no value.
        NotInDomain: an edge outside the campaign's range.
        NotEnough, MethodRefused, NotInvertible
    """
    terms = campaign.terms if isinstance(campaign, SignedCampaign) else campaign
    if not all(0 < p < 1 for p in quantiles):
        raise NotOrdered("a quantile is of a part of the people between 0 and 1, such as 0.5")
    if not terms.domain.ordered:
        raise NotOrdered(
            f"{terms.title!r} asks for {terms.domain.kind}, which have no order: quantiles and ranges need one"
        )
    found = estimate(campaign, tally, method=method, level=level, where=where, margins=margins)
    average = query.mean(terms, tally, level=level, margins=margins) if mean else None
    if not (quantiles or cdf or bins) and above is None and between is None:
        return Ordered(found, (), (), (), None, None, average)
    reading, z = _Reading.of(tally, found), interval.quantile(1 - level)
    edges = [reading.first(edge) for edge in sorted(bins, key=reading.first)]
    return Ordered(
        found,
        tuple(reading.quantile(p, z) for p in sorted(quantiles)),
        reading.cdf(level) if cdf else (),
        reading.bins(edges, z),
        None if above is None else reading.share_of(reading.past(above), terms.domain.size, z),
        None if between is None else reading.share_of(reading.first(between[0]), reading.past(between[1]), z),
        average,
    )


def has_summary(terms: Campaign) -> bool:
    """Whether ``summary`` says more than the shares of single values: of waves, and where a mean is wanted."""
    return terms.goal == "mean" or is_wave(terms)


def has_mean(terms: Campaign) -> bool:
    """Whether the mean has an unbiased estimate; of a wave, where numbers are evenly spaced."""
    return isinstance(terms.domain, Line) and (terms.domain.evenly_spaced or not is_wave(terms))


def is_wave(terms: Campaign) -> bool:
    """Whether devices use the wave mechanism, all or those of a class, which does not estimate single values."""
    if not is_plain(terms.views):
        return False
    channels = class_channels(terms.channel, len(terms.classes)) if terms.classes else (terms.channel,)
    return any(isinstance(channel, Wave) for channel in channels)


def summary(tally: Tally, found: Estimate) -> Ordered:
    """Return what a reader wants first: of a wave the nine deciles, the shares of bins and the mean, else the mean.

    Args:
        tally: what the estimate was made from.
    Raises:
        NotOrdered, NotEnough
    """
    terms, level = found.terms, found.level
    margins = () if found.weighting is None else found.weighting.margins
    mean = query.mean(terms, tally, level=level, margins=margins) if has_mean(terms) else None
    if not is_wave(terms):
        return Ordered(found, (), (), (), None, None, mean)
    reading, z = _Reading.of(tally, found), interval.quantile(1 - level)
    deciles = tuple(reading.quantile(p, z) for p in DECILES)
    return Ordered(
        found, deciles, (), reading.bins(bin_starts(terms.domain, fewer_bins(found.reports)), z), None, None, mean
    )


def value_of(domain: Domain, x: int) -> Value:
    """Return the value of input ``x`` as a number or text for readers."""
    if isinstance(domain, Line) and not isinstance(domain, Dates):
        number = Fraction(domain.scaled[x], 10**domain.places)
        return int(number) if number.denominator == 1 else float(number)
    return domain.label(x)


def _profile_of(terms: Campaign, tally: Tally, margins: Sequence[KnownMargin]) -> tuple[Merged, Profile]:
    """The tests of shares that a tally allows.

    Raises:
        NotOrdered: its reports are not of one channel for everybody, or not counted output by output.
    """
    if not is_plain(terms.views):
        raise NotOrdered(
            "quantiles and ranges are read from one channel for everybody, and this campaign asks devices for views of "
            "the answer: take the shares of its resolutions, or the mean alone; mechanism wave is made for quantiles"
        )
    decoder, _ = reader_of(terms, tally)
    if not decoder.one_hot or isinstance(tally, PersonalTally | TranscriptTally):
        raise NotOrdered(
            "quantiles and ranges need whole outputs of one channel for everybody, and here reports are counted bit by "
            "bit or each device has its own: take the shares, or the mean alone; mechanism wave is made for quantiles"
        )
    inner = decoder.decoders if isinstance(decoder, ClassesDecoder) else [decoder]
    if decoder.inputs > BLOCKS and any(one.by_value for one in inner):
        raise NotOrdered(f"quantiles and ranges of more than {BLOCKS} values need the mechanism wave")
    if isinstance(decoder, ClassesDecoder):
        merged = _merged_classes(decoder, tally, margins)
    else:
        merged = Merged.of(decoder, tally.counts, BLOCKS)
    # As if each device repeated itself as often as it could.
    return merged, Profile(merged, 1.0 if tally.correlated is None else tally.correlated.most)


def _merged_classes(decoder: ClassesDecoder, tally: Tally, margins: Sequence[KnownMargin]) -> Merged:
    """The reports of all classes together; of classes that nobody answered for, none."""
    weights = raked(decoder.members, margins) if margins else None
    counts = decoder.of_classes(tally.counts)
    most = max(LEAST_BLOCKS, min(BLOCKS, ROWS // len(counts)))
    parts = zip(decoder.decoders, counts, strict=True)
    found = [Merged.of(inner, part, most) for inner, part in parts if part.any()]
    return Merged.joined(found, None if weights is None else weights[decoder.members > 0])


class _Reading:
    """Ranges of values, numbered by their first input and the one after their last."""

    @classmethod
    def of(cls, tally: Tally, found: Estimate) -> _Reading:
        """The ranges of an estimate that was made from a tally.

        Raises:
            NotOrdered
        """
        margins = () if found.weighting is None else found.weighting.margins
        return cls(found.terms.domain, found.share, _profile_of(found.terms, tally, margins))

    def __init__(self, domain: Domain, share: Floats, profile: tuple[Merged, Profile]) -> None:
        self._domain, self._share = domain, share
        self._merged, self._profile = profile
        self._places = np.arange(self._merged.blocks)

    def first(self, answer: Answer) -> int:
        """The first input at or above ``answer``."""
        return self._place(answer, bisect_left)

    def past(self, answer: Answer) -> int:
        """The first input above ``answer``."""
        return self._place(answer, bisect_right)

    def _place(self, answer: Answer, bisect: Callable[[Sequence[int], Any], int]) -> int:
        if isinstance(self._domain, Line):
            return bisect(self._domain.scaled, self._domain.number(answer) * 10**self._domain.places)
        return bisect(range(self._domain.size), self._domain.index(answer, bytes(DITHER_BYTES)))

    def value(self, x: int) -> Value:
        """The value of input ``x`` for readers."""
        return value_of(self._domain, x)

    def share_of(self, first: int, past: int, z: float) -> RangeShare:
        """The share of the inputs from ``first`` to before ``past``."""
        if first >= past:
            raise NotOrdered(
                f"a range holds no value of the campaign, whose values are {self._domain.label(0)} to "
                f"{self._domain.label(self._domain.size - 1)}: widen it, or give its ends in increasing order"
            )
        low, high = self._interval(first, past, z)
        share = float(self._share[first:past].sum())
        return RangeShare(self.value(first), self.value(past - 1), share, min(low, share), max(high, share))

    def bins(self, starts: Sequence[int], z: float) -> tuple[RangeShare, ...]:
        """The shares of the bins that begin at these inputs and at the first; none where none begins."""
        ends = zip([0, *starts], [*starts, self._domain.size], strict=True) if starts else ()
        return tuple(self.share_of(first, past, z) for first, past in ends)

    def _interval(self, first: int, past: int, z: float) -> tuple[float, float]:
        """The interval of a share; where blocks are no single values, of all that the range may hold."""
        ends = self._merged.ends
        starts = ends - self._merged.sizes
        inner, outer = (starts >= first) & (ends <= past), (ends > first) & (starts < past)
        low, high = self._profile.interval(inner, z)
        return low, high if (inner == outer).all() else self._profile.interval(outer, z)[1]

    def quantile(self, p: float, z: float) -> Quantile:
        """The value at or below which a part ``p`` of the people are."""
        last, z = self._merged.blocks - 1, z * math.sqrt(SHORTER)
        # Both hold from some block on, and for the last one in any case.
        low = bisect_left(range(last), True, key=lambda block: self._root(block, p) <= z)
        high = bisect_left(range(last), True, key=lambda block: self._root(block, p) < -z)
        ends = self._merged.ends
        found = min(int(np.searchsorted(np.cumsum(self._share), p - 1e-12)), self._domain.size - 1)
        first, final = int(ends[low] - self._merged.sizes[low]), int(ends[high]) - 1
        return Quantile(p, self.value(found), self.value(min(first, found)), self.value(max(final, found)))

    def _root(self, block: int, p: float) -> float:
        """How significantly less than ``p`` the share up to a block is, as a standard normal value."""
        return self._profile.root(self._places <= block, p)

    def cdf(self, level: float) -> tuple[Point, ...]:
        """The distribution function, at the last inputs of evenly spaced blocks."""
        blocks = np.unique(np.linspace(0, self._merged.blocks - 2, POINTS).round().astype(int)).tolist()
        alone, together = interval.quantile(1 - level), interval.quantile((1 - level) / len(blocks))
        points = []
        for block in blocks:
            past = int(self._merged.ends[block])
            share = min(float(self._share[:past].sum()), 1.0)
            low, high = self._profile.interval(self._places <= block, alone)
            least, most = self._profile.interval(self._places <= block, together)
            ends = (min(low, share), max(high, share), min(least, share), max(most, share))
            points.append(Point(self.value(past - 1), share, *ends))
        return tuple(points)
