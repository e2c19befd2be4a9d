"""The difference between two sides of a form: two periods, two classes of people, or two campaigns.

Sides without shared devices have independent errors, and sides that share devices are compared device by device, as in
``change``. A device that repeats its output adds nothing to the error. A share among the people who answered is a
quotient. By linearisation (Cochran 1977, 2.11), the contribution of a device to the quotient is its contribution to

    (numerator - share x denominator) / denominator

The standard errors of the shares use the same linearisation.

``form_sides`` computes the sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggregator.estimate.change import independent_errors, same_devices
from aggregator.estimate.form import SharesEstimate
from aggregator.estimate.form_ratio import Ratio
from aggregator.estimate.interval import Interval, Intervals
from aggregator.estimate.interval_estimates import DifferenceEstimates
from aggregator.families.decoder import Floats, Integers


@dataclass(frozen=True)
class AnsweredShares:
    """Unbiased shares among the people who answered, for a comparison.

    Attributes:
        estimate: the estimate of all values or cells.
        indicator: (k,) 1 for the values or cells of people who answered, 0 for the others.
        order: (s,) the order of the answered values or cells in the result.
    """

    estimate: SharesEstimate
    indicator: Floats
    order: Integers

    @cached_property
    def _ratio(self) -> Ratio:
        return self.estimate.among(self.indicator)

    @property
    def raw(self) -> Floats:
        """Unbiased shares, shape (s,)."""
        return self._ratio.raw[self.order]

    @property
    def se(self) -> Floats:
        """Standard errors of ``raw``, shape (s,)."""
        return self._ratio.se[self.order]

    def intervals(self, alpha: float) -> Interval:
        """Return lower and upper ends, not clipped, shape (s,); each misses its share with probability ``alpha``."""
        if self.indicator.all():
            low, high = self.estimate.intervals(alpha)
        else:
            low, high = self._ratio.intervals(alpha)
        return low[self.order], high[self.order]

    def by_group(self) -> Iterator[Floats]:
        """Yield for each group of devices the contribution of its reports to ``raw``, minus ``raw`` times the group's
        fraction of the reports, (s,)."""
        ratio, chosen = self._ratio, self.indicator > 0
        for contribution in self.estimate.by_group():
            add = contribution[chosen]
            if not chosen.all():
                add = (add - ratio.raw * float(self.indicator @ contribution)) / ratio.bottom
            yield add[self.order]

    @property
    def filled(self) -> NDArray[np.bool_]:
        """True for each group of devices that has a report, shape (GROUPS,)."""
        filled: NDArray[np.bool_] = np.any([view.linear.filled for view in self.estimate.views], axis=0)
        return filled

    @cached_property
    def furthest(self) -> Floats:
        """Bounds on how far one device can move each share by changing all its reports, shape (s,)."""
        if self.indicator.all():
            return self.estimate.furthest[self.order]
        ratio = self._ratio
        places = np.flatnonzero(self.indicator > 0)
        bounds = np.full(len(places), np.nan)
        for row, (place, share) in enumerate(zip(places.tolist(), ratio.raw.tolist(), strict=True)):
            moved = -share * self.indicator
            moved[place] += 1
            bounds[row] = self.estimate.furthest_of(moved) / ratio.bottom
        return bounds[self.order]


@dataclass(frozen=True)
class FormDifference(DifferenceEstimates):
    """Differences of shares among the people who answered: the second side minus the first.

    A difference is NaN if a side's estimated share of people who answered is not above zero. The confidence of
    simultaneous intervals applies to all differences that were computed together.

    Attributes:
        names: the names of both sides.
        labels: the values of each row, one for each question.
        confidence: the confidence level of the intervals.
        paired: whether the sides were compared device by device.
        before, after: (s,) the unbiased shares of both sides.
    """

    names: tuple[str, str]
    labels: tuple[tuple[str, ...], ...]
    confidence: float
    paired: bool
    before: Floats
    after: Floats

    def rows(self) -> list[dict[str, Any]]:
        """Return a JSON object for each value or cell."""
        names = [{"value": label[0]} if len(label) == 1 else {"values": list(label)} for label in self.labels]
        return [name | row for name, row in zip(names, self.numbers(self.before, self.after), strict=True)]

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object; scripts depend on the names of its keys."""
        return {
            "from": self.names[0],
            "to": self.names[1],
            "confidence": self.confidence,
            "paired": self.paired,
            "values" if len(self.labels[0]) == 1 else "cells": self.rows(),
            "differ": [" and ".join(self.labels[x]) for x in self.significant],
        }


def form_difference(
    names: tuple[str, str],
    labels: Sequence[tuple[str, ...]],
    before: AnsweredShares,
    after: AnsweredShares,
    *,
    confidence: float = 0.95,
    paired: bool = False,
    difference_count: int = 1,
) -> FormDifference:
    """Return the differences between the shares of two sides.

    Args:
        names: the names of both sides.
        labels: the labels of the rows.
        before, after: the unbiased shares of both sides, for the same rows.
        confidence: the confidence level of the intervals.
        paired: whether both sides use the same groups of devices and may share devices; if False, they must share none.
        difference_count: the number of differences to which the confidence of simultaneous intervals applies.
    """
    se, ends = (same_devices if paired else independent_errors)(before, after)
    raw = after.raw - before.raw
    known = ~np.isnan(raw)

    def possible(alpha: float) -> Interval:
        low, high = ends(alpha)
        return np.where(known, np.clip(low, -1, 1), -1.0), np.where(known, np.clip(high, -1, 1), 1.0)

    intervals = Intervals.of(possible, confidence, difference_count * len(labels))
    return FormDifference(raw, se, *intervals, names, tuple(labels), confidence, paired, before.raw, after.raw)
