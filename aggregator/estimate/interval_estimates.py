"""The estimates of a result with standard errors and intervals, and their machine-readable rows.

``interval`` computes the intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aggregator.estimate.interval import Intervals
from aggregator.families.decoder import Floats, Integers
from aggregator.json_number import json_number

_ERRORS = ("se", "low", "high", "simultaneous_low", "simultaneous_high")

SHARE_COLUMNS = ("estimate", "raw", *_ERRORS)
"""The names of the numbers in a row of shares."""

DIFFERENCE_COLUMNS = ("from", "to", "difference", *_ERRORS)
"""The names of the numbers in a row of differences."""


@dataclass(frozen=True)
class IntervalEstimates:
    """Unbiased estimates with their standard errors and intervals.

    All arrays have the shape (k,) and contain fractions of people; NaN where unknown.

    Attributes:
        raw: the unbiased estimates; an estimate may be negative or above one.
        se: the standard errors of ``raw``.
        low, high: the interval of each estimate by itself.
        simultaneous_low, simultaneous_high: the simultaneous interval of each estimate.
    """

    raw: Floats
    se: Floats
    low: Floats
    high: Floats
    simultaneous_low: Floats
    simultaneous_high: Floats

    @property
    def intervals(self) -> Intervals:
        """The ends of all intervals."""
        return Intervals(self.low, self.high, self.simultaneous_low, self.simultaneous_high)

    def _rows(self, names: Sequence[str], *columns: Floats) -> Iterator[dict[str, float | None]]:
        """Yield a row for each estimate: the given columns, then the errors and intervals; None where unknown."""
        for row in zip(*(column.tolist() for column in (*columns, self.se, *self.intervals)), strict=True):
            yield {name: json_number(x) for name, x in zip(names, row, strict=True)}


@dataclass(frozen=True)
class Shares(IntervalEstimates):
    """Shares of people, by value or district.

    Attributes:
        share: (k,) the consistent distribution; each interval contains its share.
    """

    share: Floats

    @property
    def size(self) -> int:
        """Number of shares."""
        return len(self.share)

    @property
    def above_zero(self) -> NDArray[np.bool_]:
        """True where the simultaneous interval is above zero, so the value occurs in the population; shape (k,)."""
        return self.simultaneous_low > 0

    def numbers(self) -> Iterator[dict[str, float | None]]:
        """Yield one row for each share.

        Returns:
            the rows with ``SHARE_COLUMNS``, as fractions; None where unknown.
        """
        return self._rows(SHARE_COLUMNS, self.share, self.raw)

    def unbiased(self) -> Floats:
        """Return the unbiased estimate of each value, or its consistent share if it has no unbiased estimate.

        Returns:
            (k,) the estimates.
        """
        return np.where(np.isnan(self.raw), self.share, self.raw)

    def reorder(self, order: Integers) -> Shares:
        """Return the shares at the given positions.

        Args:
            order: the positions, in the order of the result.
        Returns:
            The shares in this order.
        """
        intervals = self.intervals.transform(lambda ends: ends[order])
        return Shares(self.raw[order], self.se[order], *intervals, self.share[order])


@dataclass(frozen=True)
class DifferenceEstimates(IntervalEstimates):
    """Differences: shares of one side minus shares of another side."""

    @property
    def significant(self) -> list[int]:
        """Indices of the differences whose simultaneous interval does not contain zero."""
        return [int(x) for x in np.flatnonzero((self.simultaneous_low > 0) | (self.simultaneous_high < 0))]

    @property
    def evidence(self) -> Floats:
        """Absolute differences, each divided by the distance from the difference to the end of its simultaneous
        interval on the side of zero, shape (k,); above 1 if significant, 0 if unknown."""
        near = np.where(self.raw > 0, self.simultaneous_low, self.simultaneous_high)
        half = np.abs(self.raw - near)
        return np.nan_to_num(np.divide(np.abs(self.raw), half, out=np.zeros_like(half), where=half > 0))

    def numbers(self, before: Floats, after: Floats) -> list[dict[str, float | None]]:
        """Return a row with ``DIFFERENCE_COLUMNS`` for each difference between these shares; None where unknown."""
        return list(self._rows(DIFFERENCE_COLUMNS, before, after, self.raw))
