"""Shares of ranges of ordered values, and quantiles, with intervals from likelihood-ratio tests.

The interval of a range's share inverts a likelihood-ratio test (``profile``). The interval of a quantile inverts two
such tests: v is rejected as the p-quantile if the share at or below v is significantly less than p, or the share below
v is significantly more than p. The most likely distribution is concentrated on few values, so by chance a share can
jump past p at one value, and the interval is then too short. An interval that is much shorter than the one of Woodruff
(1952), read off the smooth estimate, is therefore extended to it. Shares are sums of the shares of an estimate and lie
within their intervals.

``ordered`` returns the requested statistics.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from aggregator.estimate import interval
from aggregator.estimate.class_weights import raked
from aggregator.estimate.classes import ClassesDecoder
from aggregator.estimate.merged import MergedReports
from aggregator.estimate.ordered_result import CdfPoint, NotOrdered, Quantile, RangeShare, ShownValue, value_of
from aggregator.estimate.personal import PersonalTally
from aggregator.estimate.profile import SHORT_TAIL_RATIO, Profile
from aggregator.estimate.result import Estimate
from aggregator.estimate.tally import Tally
from aggregator.estimate.tally_decoder import decoder_and_prior
from aggregator.estimate.transcript import TranscriptTally
from aggregator.estimate.weighting import KnownMargin
from protocol.campaign import Campaign
from protocol.domain import DITHER_BYTES, Answer, Line
from protocol.views import is_plain

INTERVAL_BLOCKS = 256
"""Maximum number of blocks of values that intervals distinguish."""

MAX_TOTAL_BLOCKS, MIN_BLOCKS = 1024, 32
"""All classes of people together have at most ``MAX_TOTAL_BLOCKS`` blocks, unless each class would then have fewer than
``MIN_BLOCKS``."""

MUCH_SHORTER = 0.5
"""An interval of a quantile is extended to Woodruff's if it has at most this part of the values of Woodruff's.
docs/ESTIMATES.md has the coverage with and without this rule."""

POINTS = 21
"""Maximum number of points of the distribution function."""


def _merged(campaign: Campaign, tally: Tally, margins: Sequence[KnownMargin]) -> MergedReports:
    """Return the reports of a tally, merged to blocks of values.

    Raises:
        NotOrdered: the devices use different channels without public classes, reports are not counted by whole outputs,
            or there are too many values for a mechanism other than wave.
    """
    if not is_plain(campaign.views):
        raise NotOrdered(
            "quantiles and ranges need one channel for everybody, and this is a campaign with views: estimate the "
            "shares of its resolutions, or the mean alone. Mechanism wave is made for quantiles"
        )
    decoder, _ = decoder_and_prior(campaign, tally)
    separate = isinstance(tally, PersonalTally | TranscriptTally)
    if separate or not decoder.one_hot:
        obstacle = "devices have different channels" if separate else "reports are counted bit by bit"
        raise NotOrdered(
            f"quantiles and ranges need whole outputs of one channel for everybody, and here {obstacle}: estimate the "
            "shares, or the mean alone. Mechanism wave is made for quantiles"
        )
    inner = decoder.decoders if isinstance(decoder, ClassesDecoder) else [decoder]
    if decoder.input_count > INTERVAL_BLOCKS and any(class_decoder.by_value for class_decoder in inner):
        raise NotOrdered(
            f"quantiles and ranges of {decoder.input_count} values, more than {INTERVAL_BLOCKS}, need mechanism wave: "
            "estimate the shares, or the mean alone"
        )
    if not isinstance(decoder, ClassesDecoder):
        return MergedReports.of(decoder, tally.counts, INTERVAL_BLOCKS)
    weights = raked(decoder.members, margins) if margins else None
    counts = decoder.of_classes(tally.counts)
    max_blocks = max(MIN_BLOCKS, min(INTERVAL_BLOCKS, MAX_TOTAL_BLOCKS // len(counts)))
    parts = zip(decoder.decoders, counts, strict=True)
    # Classes without reports are left out.
    merged_classes = [MergedReports.of(inner, part, max_blocks) for inner, part in parts if part.any()]
    return MergedReports.joined(merged_classes, None if weights is None else weights[decoder.members > 0])


class RangeStatistics:
    """Statistics of ranges of inputs. A range is given by its first input and the input after its last.
    A method that takes an answer raises ``NotInDomain`` if the domain does not accept it.

    Raises:
        NotOrdered: the reports do not support ranges.
    """

    def __init__(self, tally: Tally, estimate: Estimate) -> None:
        """Merge the reports of ``tally``, from which ``estimate`` was computed."""
        self._domain, self._share, self._confidence = estimate.campaign.domain, estimate.share, estimate.confidence
        self._z = interval.critical_value(1 - estimate.confidence)
        self._merged = _merged(
            estimate.campaign, tally, () if estimate.weighting is None else estimate.weighting.margins
        )
        # This is conservative: every device is assumed to have sent ``max_outputs`` reports, all with the same output.
        self._profile = Profile(self._merged, tally.max_outputs)
        self._places = np.arange(self._merged.blocks)

    def first(self, answer: Answer) -> int:
        """Return the first input at or above ``answer``."""
        return self._place(answer, bisect_left)

    def past(self, answer: Answer) -> int:
        """Return the first input above ``answer``."""
        return self._place(answer, bisect_right)

    def _place(self, answer: Answer, bisect: Callable[[Sequence[int], Any], int]) -> int:
        if isinstance(self._domain, Line):
            return bisect(self._domain.scaled, self._domain.number(answer) * 10**self._domain.decimal_places)
        return bisect(range(self._domain.size), self._domain.index(answer, bytes(DITHER_BYTES)))

    def _value(self, x: int) -> ShownValue:
        return value_of(self._domain, x)

    def share_of(self, first: int, past: int, name: str, remedy: str) -> RangeShare:
        """Return the share of the inputs ``first`` to ``past`` - 1, with its interval.

        Args:
            name, remedy: the range, and how to change a range without values, for the error.
        Raises:
            NotOrdered: the range has no value.
        """
        if first >= past:
            raise NotOrdered(
                f"{name} contains no value of the campaign, whose values are {self._domain.label(0)} to "
                f"{self._domain.label(self._domain.size - 1)}: {remedy}"
            )
        low, high = self._interval(first, past)
        share = float(self._share[first:past].sum())
        return RangeShare(self._value(first), self._value(past - 1), share, min(low, share), max(high, share))

    def bins(self, starts: Sequence[int]) -> tuple[RangeShare, ...]:
        """Return the shares of the bins that begin at the first input and at each of ``starts``; empty without
        ``starts``."""
        ends = zip([0, *starts], [*starts, self._domain.size], strict=True) if starts else ()
        return tuple(self.share_of(*end, "one of the bins", "leave an edge out") for end in ends)

    def above(self, answer: Answer) -> RangeShare:
        """Return the share of the inputs above ``answer``; see ``share_of``."""
        return self.share_of(self.past(answer), self._domain.size, f"the range above {answer}", "give a lower value")

    def between(self, low: Answer, high: Answer) -> RangeShare:
        """Return the share of the inputs from ``low`` to ``high``; see ``share_of``."""
        first = self.first(low)
        remedy = "give the lower end first" if first > self.first(high) else "widen it"
        return self.share_of(first, self.past(high), f"the range from {low} to {high}", remedy)

    def _interval(self, first: int, past: int) -> tuple[float, float]:
        """Return the interval of a range's share: the lower end is that of the blocks inside the range, the upper end
        that of all blocks that overlap the range."""
        ends = self._merged.ends
        starts = ends - self._merged.sizes
        inner, outer = (starts >= first) & (ends <= past), (ends > first) & (starts < past)
        low, high = self._profile.interval(inner, self._z)
        return low, high if (inner == outer).all() else self._profile.interval(outer, self._z)[1]

    def quantile(self, p: float) -> Quantile:
        """Return the ``p``-quantile with its interval.

        The interval has the values that the test of the profile does not reject. It is extended to the estimated
        quantile, and to the interval of Woodruff (1952) if it is at most ``MUCH_SHORTER`` times as long as that.
        """
        last, z = self._merged.blocks - 1, self._z * math.sqrt(SHORT_TAIL_RATIO)

        @cache  # The first steps of both bisections are the same.
        def root(block: int) -> float:
            return self._profile.root(self._places <= block, p, z)

        # Both conditions are monotone in the block and hold for the last block, so bisection finds the first one.
        low = bisect_left(range(last), True, key=lambda block: root(block) <= z)
        high = bisect_left(range(last), True, key=lambda block: root(block) < -z)
        ends = self._merged.ends
        place = self._estimated_quantile(p)
        first, final = min(int(ends[low] - self._merged.sizes[low]), place), max(int(ends[high]) - 1, place)
        smooth_first, smooth_final = self._woodruff(p, place, z)
        if final - first + 1 <= MUCH_SHORTER * (smooth_final - smooth_first + 1):
            first, final = min(first, smooth_first), max(final, smooth_final)
        return Quantile(p, self._value(place), self._value(first), self._value(final))

    def _estimated_quantile(self, p: float) -> int:
        """Return the first input at which the estimated distribution function reaches ``p``."""
        return min(int(np.searchsorted(np.cumsum(self._share), p - 1e-12)), self._domain.size - 1)

    def _woodruff(self, p: float, place: int, z: float) -> tuple[int, int]:
        """Return the first and last input of the interval of Woodruff (1952): the estimated quantiles at p minus and
        plus the errors of the share up to ``place``. An end at a share of 0 or 1 is left at ``place``."""
        past = int(self._merged.ends[np.searchsorted(self._merged.ends, place, side="right")])
        share = float(self._share[:past].sum())
        low, high = self._profile.interval(self._merged.ends <= past, z)
        below, above = p - max(high - share, 0), p + max(share - low, 0)
        first = self._estimated_quantile(below) if below > 0 else place
        return first, self._estimated_quantile(above) if above < 1 else place

    def cdf(self) -> tuple[CdfPoint, ...]:
        """Return the distribution function at the last inputs of evenly spaced blocks."""
        blocks = np.unique(np.linspace(0, self._merged.blocks - 2, POINTS).round().astype(int)).tolist()
        simultaneous_z = interval.critical_value((1 - self._confidence) / len(blocks))
        points = []
        for block in blocks:
            past = int(self._merged.ends[block])
            share = min(float(self._share[:past].sum()), 1.0)
            low, high = self._profile.interval(self._places <= block, self._z)
            every_low, every_high = self._profile.interval(self._places <= block, simultaneous_z)
            ends = (min(low, share), max(high, share), min(every_low, share), max(every_high, share))
            points.append(CdfPoint(self._value(past - 1), share, *ends))
        return tuple(points)
