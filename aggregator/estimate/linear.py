"""The unbiased estimate of a tally, and its standard errors.

If each device has one report, reports are independent and the error follows from the channel. If a device has several
reports, the error is estimated from the variance between groups of devices. This variance is expressed as a design
effect, by which the number of reports is divided (Kish 1965). Exact intervals then use the effective number of reports
(Korn, Graubard 1998).

``method`` computes consistent distributions, ``query`` weighted sums, and ``change`` differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from aggregator.estimate import interval
from aggregator.estimate.groups import Groups, Spread, spread
from aggregator.estimate.interval import Interval
from aggregator.estimate.tally import Tally
from aggregator.families.decoder import BinomialSteps, Decoder, Floats


@dataclass(frozen=True)
class Linear:
    """Unbiased shares estimated from a tally, with their errors.

    Attributes:
        raw: (k,) the unbiased estimate of each share.
        se: (k,) the standard errors of ``raw``; NaN if a device has several reports and all reports come from one group
            of devices.
        effect: (k,) the design effect, NaN where ``se`` is NaN; None if all reports are independent.
        between: the variance between groups of devices; None if all reports are independent.
    """

    decoder: Decoder
    tally: Tally
    raw: Floats
    se: Floats
    effect: Floats | None
    between: Spread | None

    @cached_property
    def steps(self) -> BinomialSteps:
        """The estimate as a sum of steps on binomial counts."""
        return self.decoder.binomial_steps(self.tally.counts, self.tally.reports)

    @cached_property
    def rough(self) -> NDArray[np.bool_]:
        """True for each value whose standard error is unreliable because too few reports affect the value, shape
        (k,)."""
        reports = self.tally.reports if self.effect is None else self.tally.reports / self.effect
        height = self.steps.heights.sum(axis=0)
        rough: NDArray[np.bool_] = (reports * self.se) ** 2 < interval.MIN_COUNT * height**2
        return rough

    @cached_property
    def contribution_range(self) -> Floats:
        """Difference between the largest and the smallest contribution of one report to each share, shape (k,)."""
        bounds = self.decoder.contribution_bounds
        return self.steps.heights.sum(axis=0) if bounds is None else bounds.largest - bounds.smallest

    @property
    def furthest(self) -> Floats:
        """Bounds on how far one device can move each share by changing all its reports, shape (k,)."""
        return self.contribution_range * self.tally.max_outputs / self.tally.reports

    @property
    def filled(self) -> NDArray[np.bool_]:
        """True for each group of devices that has a report, shape (GROUPS,).

        Raises:
            ValueError: the tally has no groups.
        """
        return self._groups.filled

    def by_group(self) -> Iterator[Floats]:
        """Yield for each group the contribution of its reports to ``raw``, minus ``raw`` times the group's fraction of
        the reports, (k,).

        Raises:
            ValueError: the tally has no groups.
        """
        return self._groups.by_group(self.decoder, self.raw)

    @property
    def _groups(self) -> Groups:
        if self.tally.groups is None:
            raise ValueError(
                "a comparison of the same devices needs groups of devices, and the tally has none: take "
                "the tallies of Study.spans"
            )
        return self.tally.groups

    def intervals(self, alpha: float) -> Interval:
        """Return lower and upper ends, not clipped, shape (k,); each interval misses its share with a probability of
        about ``alpha`` or less. NaN where ``se`` is NaN."""
        if self.effect is None or self.between is None:
            return interval.intervals(self.steps, self.raw, self.se, alpha, bounds=self.decoder.contribution_bounds)
        if not self.between.freedom:
            return np.full_like(self.raw, np.nan), np.full_like(self.raw, np.nan)
        wider = self.between.critical_value(alpha) / interval.critical_value(alpha)
        effect = self.effect * wider**2
        bounds = self.decoder.contribution_bounds
        return interval.intervals(self.steps, self.raw, self.se * wider, alpha, effect, bounds)


def unbiased_estimate(decoder: Decoder, tally: Tally) -> Linear:
    """Return the unbiased estimate of a tally.

    Args:
        decoder: the decoder of the tally's channel.
        tally: the counts of at least one report.
    Raises:
        NotInvertible: no unbiased estimate exists.
    """
    mean_features = tally.counts / tally.reports
    raw = decoder.invert(mean_features)
    se = interval.standard_errors(decoder, mean_features, tally.reports)
    groups = tally.correlated
    if groups is None:
        return Linear(decoder, tally, raw, se, None, None)
    between = spread(groups.by_group(decoder, raw), groups.filled)
    effect = design_effect(between.variance, se**2) if between.freedom else np.full_like(se, np.nan)
    return Linear(decoder, tally, raw, se * np.sqrt(effect), effect, between)


def design_effect(between: Floats, independent: Floats) -> Floats:
    """Return the design effect, shape (k,): the variance divided by that of independent reports; at least 1.

    If few reports affect a value, its estimated effect is unreliable and may be small by chance. So the effect of all
    values together is a lower bound.

    Args:
        between: (k,) variances between groups of devices.
        independent: (k,) variances of independent reports.
    """
    effects = np.divide(between, independent, out=np.zeros_like(between), where=independent > 0)
    overall = float(between.sum() / independent.sum()) if independent.sum() > 0 else 1.0
    return np.maximum(effects, max(overall, 1.0))
