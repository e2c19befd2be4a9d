"""The difference between the estimates of two periods, two classes of people, or two campaigns.

The error depends on whether the two sides share devices. Without shared devices the errors are independent. The
intervals are then combined by their squares (MOVER: Zou, Donner 2008; Newcombe 1998, method 10), which keeps the
coverage of exact intervals if there are few reports. With shared devices the sides are compared device by device,
through the random groups: a device that sends the same output on both sides adds nothing to the error. In a campaign
with views, a device has the same view in every period, and the compared estimates use all views together.

If very few devices changed their output, the estimated variance is nearly zero. So the variance of t^2 / 2 devices with
the largest possible change is added (Bonett, Price 2012, for any quantile t).

``trend`` chooses the periods, and ``present`` prints the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from aggregator.estimate.estimator import estimate
from aggregator.estimate.groups import spread
from aggregator.estimate.interval import Interval, Intervals
from aggregator.estimate.interval_estimates import DifferenceEstimates
from aggregator.estimate.linear import Linear, unbiased_estimate
from aggregator.estimate.resolutions import FINEST, TreeShares, ValueOrDistrict, name_of
from aggregator.estimate.result import Estimate, unsigned_and_id
from aggregator.estimate.shown_inputs import ShownInputs
from aggregator.estimate.tally import Tally
from aggregator.estimate.tally_decoder import decoder_and_prior
from aggregator.families.decoder import Floats
from protocol.campaign import Campaign, SignedCampaign
from protocol.errors import HalftruthError
from protocol.views import is_plain


class NotComparable(HalftruthError, ValueError):
    """The two sides have different values, or a side has no view of the requested resolution."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes:
        name: the side's name in words.
        campaign, tally: the campaign and the counts of its reports, restricted to a class if classes are compared.
        class_name: the class that campaign and tally are restricted to; None for everybody.
        estimate: the estimate of the tally; None if ``difference`` has to compute the estimate.
    """

    name: str
    campaign: Campaign | SignedCampaign
    tally: Tally
    class_name: str | None = None
    estimate: Estimate | None = None

    @property
    def unsigned(self) -> Campaign:
        """The campaign of this side, without its signature."""
        return unsigned_and_id(self.campaign)[0]

    @property
    def signed(self) -> SignedCampaign:
        """The signed campaign.

        Raises:
            TypeError: the campaign is not signed.
        """
        if not isinstance(self.campaign, SignedCampaign):
            raise TypeError("the campaign of a side is not signed: take the campaign that Study.campaign returns")
        return self.campaign


@dataclass(frozen=True)
class DistrictDifference(DifferenceEstimates):
    """The differences at one of the coarser resolutions of a campaign with views.

    Attributes:
        resolution: the name of the resolution.
        labels: the labels of the districts.
        before, after: (k_j,) the unbiased shares of both sides.
    """

    resolution: str
    labels: tuple[str, ...]
    before: Floats
    after: Floats

    @property
    def significant(self) -> list[int]:
        """The districts that differ significantly, the largest difference first."""
        return sorted(super().significant, key=lambda z: -abs(self.raw[z]))

    def as_json(self, only: ValueOrDistrict | None = None) -> dict[str, Any]:
        """Return the JSON object; scripts depend on the names of its keys. For ``only`` see ``Difference.as_json``."""
        return {"resolution": self.resolution} | _rows(self, self.labels, (self.before, self.after), only)


@dataclass(frozen=True)
class Difference(DifferenceEstimates):
    """The differences of the values' shares: the second side minus the first.

    The confidence of simultaneous intervals applies to all values, and to all differences that were computed together.

    Attributes:
        names: the names of both sides.
        before, after: the estimates of both sides.
        confidence: the confidence level of the intervals, such as 0.95.
        paired: whether the sides were compared device by device.
        coarser: the differences at the coarser resolutions of both sides, the coarsest first.
    """

    names: tuple[str, str]
    before: Estimate
    after: Estimate
    confidence: float
    paired: bool
    coarser: tuple[DistrictDifference, ...] = ()

    @cached_property
    def finest(self) -> DistrictDifference:
        """The differences of the values, in the same form as the differences at coarser resolutions."""
        labels = tuple(map(self.after.label, range(len(self.raw))))
        sides = self.before.unbiased(), self.after.unbiased()
        return DistrictDifference(self.raw, self.se, *self.intervals, FINEST, labels, *sides)

    @property
    def resolutions(self) -> tuple[DistrictDifference, ...]:
        """The differences at every resolution, the coarsest first; the finest resolution is that of the values."""
        return (*self.coarser, self.finest)

    def at(self, resolution: str) -> DistrictDifference:
        """Return the differences at the resolution of this name.

        Raises:
            NotComparable: a side has no view of this resolution.
        """
        for difference in self.resolutions:
            if difference.resolution == resolution:
                return difference
        raise NotComparable(f"a side has no view of the resolution {resolution}: compare another resolution")

    def as_json(self, only: ValueOrDistrict | None = None) -> dict[str, Any]:
        """Return the JSON object; scripts depend on the names of its keys.

        Args:
            only: the value or district to return; None returns all.
        """
        return {
            "from": self.names[0],
            "to": self.names[1],
            "confidence": self.confidence,
            "paired": self.paired,
            **_rows(self, self.finest.labels, (self.before.raw, self.after.raw), only),
            "resolutions": [districts.as_json(only) for districts in self.coarser],
        }


def _rows(
    differences: DifferenceEstimates, labels: Sequence[str], sides: tuple[Floats, Floats], only: ValueOrDistrict | None
) -> dict[str, Any]:
    """Return a row for each value or district, and the labels of the values or districts that differ significantly."""
    resolution = differences.resolution if isinstance(differences, DistrictDifference) else FINEST
    shown = [x for x in range(len(labels)) if only in (None, ValueOrDistrict(resolution, x))]
    rows = differences.numbers(*sides)
    return {
        "values": [{"value": labels[x]} | rows[x] for x in shown],
        "differ": [labels[x] for x in differences.significant if x in shown],
    }


def difference(
    before: Side,
    after: Side,
    *,
    confidence: float = 0.95,
    method: str | None = None,
    paired: bool = False,
    only: bool = False,
    difference_count: int = 1,
) -> Difference:
    """Return the differences between the shares of two sides, the second minus the first.

    Args:
        before, after: the first and the second side.
        confidence: the confidence level of the intervals.
        method: the method of both sides' consistent distributions; the difference uses the unbiased estimates.
        paired: whether both tallies use the same groups of devices and may share devices; if False, they must share
            none.
        only: whether a single value or district was requested; the confidence of simultaneous intervals then
            applies to this value or district alone.
        difference_count: the number of differences to which the confidence of simultaneous intervals applies.
    Raises:
        NotComparable: the sides have different values.
        NotEnough: fewer devices on a side than its campaign's minimum.
        NotInvertible: no unbiased estimate exists.
        MethodRefused: a side does not support the method.
    """
    require_same_values(before, after)
    estimates = [
        side.estimate
        or estimate(side.campaign, side.tally, confidence=confidence, method=method, class_name=side.class_name)
        for side in (before, after)
    ]
    *coarse_a, a = _unbiased(before)
    *coarse_b, b = _unbiased(after)
    shown_inputs = ShownInputs.of(after.unsigned.domain)
    se, ends = (same_devices if paired else independent_errors)(a, b)
    intervals = Intervals.of(ends, confidence, difference_count * (1 if only else shown_inputs.count)).transform(
        shown_inputs.shares
    )
    coarser: list[DistrictDifference] = []
    for earlier in coarse_a:
        coarser += [
            _of_districts(
                earlier, later, after.unsigned, confidence, paired, difference_count * (1 if only else len(earlier.raw))
            )
            for later in coarse_b
            if isinstance(earlier, TreeShares) and isinstance(later, TreeShares) and earlier.map == later.map
        ]
    return Difference(
        shown_inputs.shares(b.raw - a.raw), shown_inputs.shares(se), *intervals.transform(_within_one),
        (before.name, after.name), estimates[0], estimates[1], confidence, paired, tuple(coarser),
    )  # fmt: skip


def require_same_values(before: Side, after: Side) -> None:
    """Refuse two sides that do not have the same values.

    Raises:
        NotComparable: the sides have different values.
    """
    if before.unsigned.domain != after.unsigned.domain:
        raise NotComparable(
            f"{before.name} and {after.name} do not have the same values, so their shares cannot be compared: name "
            "campaigns with equal values"
        )


def _of_districts(
    a: TreeShares, b: TreeShares, campaign: Campaign, confidence: float, paired: bool, simultaneous_count: int
) -> DistrictDifference:
    """Return the difference at one resolution; ``simultaneous_count`` is the number of simultaneous intervals."""
    se, ends = (same_devices if paired else independent_errors)(a, b)
    intervals = Intervals.of(ends, confidence, simultaneous_count).transform(_within_one)
    labels = tuple(b.map.label(campaign.domain, z) for z in range(len(a.raw)))
    return DistrictDifference(b.raw - a.raw, se, *intervals, name_of(b.map), labels, a.raw, b.raw)


def _within_one(ends: Floats) -> Floats:
    """Return interval ends clipped to -1 .. 1, the possible differences of shares."""
    return np.clip(ends, -1, 1)


def _unbiased(side: Side) -> Sequence[Linear | TreeShares]:
    """Return the unbiased estimates of a side at each resolution; the last estimate is that of the values."""
    if not is_plain(side.unsigned.views):
        return TreeShares.of(side.unsigned, side.tally)
    return [unbiased_estimate(decoder_and_prior(side.unsigned, side.tally)[0], side.tally)]


class UnbiasedShares(Protocol):
    """Unbiased shares that can be compared."""

    @property
    def raw(self) -> Floats:
        """Unbiased shares, shape (k,)."""

    @property
    def se(self) -> Floats:
        """Standard errors of the shares, shape (k,)."""

    @property
    def furthest(self) -> Floats:
        """Bounds on how far one device can move each share, shape (k,)."""

    @property
    def filled(self) -> NDArray[np.bool_]:
        """True for each group of devices that has a report, shape (GROUPS,)."""

    def intervals(self, alpha: float) -> Interval:
        """Return lower and upper ends, not clipped, shape (k,); each misses its share with probability ``alpha``."""

    def by_group(self) -> Iterator[Floats]:
        """Yield for each group of devices the contribution of its reports to ``raw``, minus ``raw`` times the group's
        fraction of the reports, (k,)."""


def independent_errors(a: UnbiasedShares, b: UnbiasedShares) -> tuple[Floats, Callable[[float], Interval]]:
    """Return standard errors of b - a for sides without shared devices, and a function from alpha to the intervals."""
    raw = b.raw - a.raw

    def ends(alpha: float) -> Interval:
        (a_low, a_high), (b_low, b_high) = a.intervals(alpha), b.intervals(alpha)
        return raw - np.hypot(b.raw - b_low, a_high - a.raw), raw + np.hypot(b_high - b.raw, a.raw - a_low)

    return np.hypot(a.se, b.se), ends


def same_devices(a: UnbiasedShares, b: UnbiasedShares) -> tuple[Floats, Callable[[float], Interval]]:
    """Return standard errors of b - a for sides that may share devices, which are compared device by device, and a
    function from alpha to the intervals."""
    paired = zip(a.by_group(), b.by_group(), strict=True)
    between = spread((later - earlier for earlier, later in paired), a.filled | b.filled)
    furthest, raw = np.maximum(a.furthest, b.furthest), b.raw - a.raw

    def ends(alpha: float) -> Interval:
        t = between.critical_value(alpha)
        half = t * np.sqrt(between.variance + t**2 / 2 * furthest**2) if between.freedom else between.variance
        return raw - half, raw + half

    return np.sqrt(between.variance), ends
