"""The difference between the estimates of two periods, two classes of people, or two campaigns.

What the two sides share decides the error. Sides that share no device have errors of their own, and their intervals are
put together by their squares (MOVER: Zou, Donner 2008; Newcombe 1998, method 10), so what is exact for few reports
stays so. Sides that share devices are compared device by device, through the groups that devices are dealt into: one
that says the same on both sides adds nothing to the error, however much noise is in what it says. A device of a
campaign with views has the same view in every period, and what is compared is the estimate from all views together.

If very few devices changed their output, the estimated variance would be nearly zero. So t^2 / 2 devices with the
largest possible change are added to the variance (Bonett, Price 2012, for any quantile).

Which periods: trend. How it is printed: present.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from aggregator.estimate.groups import spread
from aggregator.estimate.interval import Interval
from aggregator.estimate.linear import Linear, solve
from aggregator.estimate.reported import Reported
from aggregator.estimate.resolutions import FINEST, Place, TreeShares, name_of
from aggregator.estimate.result import Estimate, estimate, reader_of, unbiased
from aggregator.estimate.tally import Tally
from aggregator.families.decoder import Floats
from protocol.campaign import Campaign, SignedCampaign
from protocol.errors import HalftruthError
from protocol.views import is_plain


class NotComparable(HalftruthError, ValueError):
    """The two sides have different values."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes:
        name: what a reader calls it.
        campaign, tally: cut down to a class, where that is what is compared.
        where: that class.
        estimate: of the tally, if it has been made; made by ``difference`` otherwise.
    """

    name: str
    campaign: Campaign | SignedCampaign
    tally: Tally
    where: str | None = None
    estimate: Estimate | None = None

    @property
    def terms(self) -> Campaign:
        """The campaign of this side."""
        return self.campaign.terms if isinstance(self.campaign, SignedCampaign) else self.campaign

    @property
    def signed(self) -> SignedCampaign:
        """The signed campaign.

        Raises:
            TypeError: the side is of a campaign that nobody signed.
        """
        if not isinstance(self.campaign, SignedCampaign):
            raise TypeError("a side of a study is of a signed campaign")
        return self.campaign


@dataclass(frozen=True)
class DistrictDifference:
    """The difference at one of the coarser resolutions of a campaign with views.

    All arrays are (k_j,), as of ``Difference``.

    Attributes:
        resolution: its name, as of ``Resolution``.
        labels: of the districts.
        before, after: unbiased shares.
    """

    resolution: str
    labels: tuple[str, ...]
    before: Floats
    after: Floats
    raw: Floats
    se: Floats
    low: Floats
    high: Floats
    all_low: Floats
    all_high: Floats

    @property
    def sure(self) -> list[int]:
        """The districts that differ, whatever chance did, those that differ most first."""
        found = np.flatnonzero((self.all_low > 0) | (self.all_high < 0))
        return [int(z) for z in found[np.argsort(-np.abs(self.raw[found]), kind="stable")]]

    @property
    def evidence(self) -> Floats:
        """(k_j,) as of ``Difference``."""
        return _evidence(self.raw, self.all_low, self.all_high)

    def as_json(self, only: Place | None = None) -> dict[str, Any]:
        """The machine-readable form; its keys are a contract. ``only`` as of ``Difference.as_json``."""
        columns = (
            self.before, self.after, self.raw, self.se, self.low, self.high, self.all_low, self.all_high,
        )  # fmt: skip
        rows = _rows(self.labels, columns)
        return {
            "resolution": self.resolution,
            "values": [row for z, row in enumerate(rows) if only in (None, Place(self.resolution, z))],
            "differ": [self.labels[z] for z in self.sure if only in (None, Place(self.resolution, z))],
        }


@dataclass(frozen=True)
class Difference:
    """Shares of the later side minus those of the earlier one.

    All arrays are (k,), fractions of people.

    Attributes:
        names: of both sides.
        before, after: their estimates.
        level: of the intervals, such as 0.95.
        paired: whether the sides share devices, which were compared with themselves.
        raw: the difference of the unbiased estimates.
        se: its standard error.
        low, high: interval of each value's difference by itself, within -1 .. 1.
        all_low, all_high: intervals that hold together, for all values and, of several differences that were made
            together, for all of them.
        coarser: at each coarser resolution that views of both sides ask for, the coarsest first.
    """

    names: tuple[str, str]
    before: Estimate
    after: Estimate
    level: float
    paired: bool
    raw: Floats
    se: Floats
    low: Floats
    high: Floats
    all_low: Floats
    all_high: Floats
    coarser: tuple[DistrictDifference, ...] = ()

    @property
    def sure(self) -> list[int]:
        """The values that surely differ: their simultaneous interval does not contain zero."""
        return [int(x) for x in np.flatnonzero((self.all_low > 0) | (self.all_high < 0))]

    @property
    def evidence(self) -> Floats:
        """(k,) each difference over half its simultaneous interval: above 1 where it is sure, 0 where none is known."""
        return _evidence(self.raw, self.all_low, self.all_high)

    @cached_property
    def finest(self) -> DistrictDifference:
        """The differences of the values, as those of the coarser resolutions are given."""
        labels = tuple(map(self.after.label, range(len(self.raw))))
        sides = unbiased(self.before), unbiased(self.after)
        ends = self.low, self.high, self.all_low, self.all_high
        return DistrictDifference(FINEST, labels, *sides, self.raw, self.se, *ends)

    @property
    def resolutions(self) -> tuple[DistrictDifference, ...]:
        """The differences at every resolution, the coarsest first; the last are those of the values."""
        return (*self.coarser, self.finest)

    def at(self, resolution: str) -> DistrictDifference:
        """The differences at one resolution, by its name.

        Raises:
            NotComparable: the views of a side do not ask for it.
        """
        for each in self.resolutions:
            if each.resolution == resolution:
                return each
        raise NotComparable(f"not both sides were asked at the resolution {resolution}")

    def as_json(self, only: Place | None = None) -> dict[str, Any]:
        """The machine-readable form; its keys are a contract.

        Args:
            only: the value or district to tell of; all if not given.
        """
        columns = (
            self.before.raw, self.after.raw, self.raw, self.se, self.low, self.high, self.all_low, self.all_high,
        )  # fmt: skip
        rows = _rows(map(self.after.label, range(len(self.raw))), columns)
        return {
            "from": self.names[0],
            "to": self.names[1],
            "confidence": self.level,
            "paired": self.paired,
            "values": [row for x, row in enumerate(rows) if only in (None, Place(FINEST, x))],
            "differ": [self.after.label(x) for x in self.sure if only in (None, Place(FINEST, x))],
            "resolutions": [each.as_json(only) for each in self.coarser],
        }


def _evidence(raw: Floats, all_low: Floats, all_high: Floats) -> Floats:
    near = np.where(raw > 0, all_low, all_high)
    half = np.abs(raw - near)
    return np.nan_to_num(np.divide(np.abs(raw), half, out=np.zeros_like(half), where=half > 0))


_NAMES = ("from", "to", "difference", "se", "low", "high", "simultaneous_low", "simultaneous_high")


def _rows(labels: Iterable[str], columns: Sequence[Floats]) -> list[dict[str, Any]]:
    """A row for each value; columns in the order of ``_NAMES``."""
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [
        {
            "value": label,
            **{name: None if math.isnan(number) else number for name, number in zip(_NAMES, row, strict=True)},
        }
        for label, row in zip(labels, rows, strict=True)
    ]


def difference(
    before: Side,
    after: Side,
    *,
    level: float = 0.95,
    method: str | None = None,
    paired: bool = False,
    only: bool = False,
    steps: int = 1,
) -> Difference:
    """Return the differences between the shares of two sides.

    Args:
        level: of the intervals.
        method: of both sides' consistent distributions; the difference is one of unbiased estimates.
        paired: both tallies are by the same groups of devices, and may share devices; otherwise they share none, or
            nobody can tell.
        only: whether one value or district is asked for, so that its intervals hold for nothing else.
        steps: how many differences are made, for all of which simultaneous intervals hold together.
    Raises:
        NotComparable: the sides have other values.
        NotEnough: fewer devices on a side than its campaign waits for.
        NotInvertible: no unbiased estimate exists, so no difference does.
    """
    require_same_values(before, after)
    found = [
        side.estimate or estimate(side.campaign, side.tally, level=level, method=method, where=side.where)
        for side in (before, after)
    ]
    *coarse_a, a = _unbiased(before)
    *coarse_b, b = _unbiased(after)
    reported = Reported.of(after.terms.domain)
    alphas = 1 - level, (1 - level) / (steps * (1 if only else reported.count))
    se, alone, together = same_devices(a, b, *alphas) if paired else apart(a, b, *alphas)
    raw, se, *ends = map(reported.shares, [b.raw - a.raw, se, *alone, *together])
    low, high, all_low, all_high = (np.clip(end, -1, 1) for end in ends)
    names = (before.name, after.name)
    coarser: list[DistrictDifference] = []
    for one in coarse_a:
        coarser += [
            _of_districts(one, other, after.terms, level, paired, steps * (1 if only else len(one.raw)))
            for other in coarse_b
            if isinstance(one, TreeShares) and isinstance(other, TreeShares) and one.map == other.map
        ]
    return Difference(
        names, found[0], found[1], level, paired, raw, se, low, high, all_low, all_high, tuple(coarser)
    )  # fmt: skip


def require_same_values(before: Side, after: Side) -> None:
    """Refuse two sides that do not have the same values.

    Raises:
        NotComparable
    """
    if before.terms.domain != after.terms.domain:
        raise NotComparable(
            f"{before.name} and {after.name} do not have the same values, so their shares cannot be compared"
        )


def _of_districts(
    a: TreeShares, b: TreeShares, terms: Campaign, level: float, paired: bool, together: int
) -> DistrictDifference:
    """The difference at one resolution; ``together``: how many intervals hold together."""
    size = len(a.raw)
    alphas = 1 - level, (1 - level) / together
    se, *intervals = same_devices(a, b, *alphas) if paired else apart(a, b, *alphas)
    ends = (np.clip(end, -1, 1) for interval in intervals for end in interval)
    labels = tuple(b.map.label(terms.domain, z) for z in range(size))
    return DistrictDifference(name_of(b.map), labels, a.raw, b.raw, b.raw - a.raw, se, *ends)


def _unbiased(side: Side) -> Sequence[Linear | TreeShares]:
    """The unbiased estimates of a side at each resolution, the last of the values."""
    if not is_plain(side.terms.views):
        return TreeShares.of(side.terms, side.tally)
    return [solve(reader_of(side.terms, side.tally)[0], side.tally)]


class UnbiasedShares(Protocol):
    """Unbiased shares that can be compared with others."""

    @property
    def raw(self) -> Floats:
        """(k,) the shares."""

    @property
    def se(self) -> Floats:
        """(k,) their standard errors."""

    @property
    def furthest(self) -> Floats:
        """(k,) a bound on how far one device can move the shares."""

    @property
    def filled(self) -> NDArray[np.bool_]:
        """(GROUPS,) whether a group of devices has a report."""

    def intervals(self, alpha: float) -> Interval:
        """(k,) lower and upper ends, not clipped; each misses its share with probability ``alpha``."""

    def adds(self) -> Iterator[Floats]:
        """(k,) for each group of devices, what its reports add to the shares, beyond their part of them."""


def apart(a: UnbiasedShares, b: UnbiasedShares, *alphas: float) -> tuple[Floats, Interval, Interval]:
    """Return the standard errors and intervals of b - a where no device is in both.

    Args:
        alphas: with which a single interval misses its difference, for each of both intervals.
    """

    def ends(alpha: float) -> Interval:
        (a_low, a_high), (b_low, b_high) = a.intervals(alpha), b.intervals(alpha)
        return raw - np.hypot(b.raw - b_low, a_high - a.raw), raw + np.hypot(b_high - b.raw, a.raw - a_low)

    raw = b.raw - a.raw
    alone, together = map(ends, alphas)
    return np.hypot(a.se, b.se), alone, together


def same_devices(a: UnbiasedShares, b: UnbiasedShares, *alphas: float) -> tuple[Floats, Interval, Interval]:
    """Return the standard errors and intervals of b - a, where devices may be in both and are compared with themselves.

    Args:
        alphas: as of ``apart``.
    """
    between = spread((later - earlier for earlier, later in zip(a.adds(), b.adds(), strict=True)), a.filled | b.filled)
    furthest = np.maximum(a.furthest, b.furthest)

    def ends(alpha: float) -> Interval:
        t = between.quantile(alpha)
        half = t * np.sqrt(between.variance + t**2 / 2 * furthest**2) if between.freedom else between.variance
        return raw - half, raw + half

    raw = b.raw - a.raw
    alone, together = map(ends, alphas)
    return np.sqrt(between.variance), alone, together
