"""Random groups of devices, which give the error of an estimate if a device has more than one report.

A device repeats the output it once drew for a value, so its reports are correlated in an unknown way. Devices are
independent. So devices are assigned to groups by their key, which is a hash. Groups are independent, for any dependence
within a device, and the variance between them estimates the error:

    Var(raw) = G / (G - 1) sum over the G groups with reports of (the group's contribution to raw - its share of raw)^2

(random groups: Mahalanobis 1946; Wolter 2007, ch. 2; raw is a ratio, since the number of reports varies as well:
Cochran 1977, 6.5). A device is in the same group in both tallies of a comparison, so its contributions are subtracted:
a device whose output has not changed adds nothing to the difference.

The computation takes G multiplications with the channel. It needs no matrix of devices, and no matrix of outputs and
values. ``counting`` assigns reports to groups; ``linear`` and ``change`` use the error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from aggregator.families.decoder import Decoder, Floats, Integers

GROUPS = 256
"""The number of groups, a power of two. The relative error of a standard error is then 4 or 5%, which intervals take
into account."""


@dataclass(frozen=True)
class Groups:
    """The counts of a tally by group of devices, one row for each feature that occurs in a group.

    Attributes:
        group, feature, count: (r,) the group, the feature and the count of each row, by increasing group.
        reports: (GROUPS,) the number of outputs in each group.
        devices: the number of devices that sent the outputs; an upper bound if ``is_partial``.
        max_outputs: the largest number of outputs of one device.
        is_partial: whether the groups contain only a part of a tally.
    """

    group: Integers
    feature: Integers
    count: Integers
    reports: Integers
    devices: int
    max_outputs: int
    is_partial: bool = False

    @classmethod
    def of(cls, group: Integers, feature: Integers, count: Integers, devices: int, max_outputs: int) -> Groups:
        """Return the groups of the given rows, which may be in any order; rows of the same group and feature are added.

        Args:
            group, feature, count: (r,) the group, the feature and the count of each row, for a channel whose reports
                have one feature each.
            devices, max_outputs: see ``Groups``.
        """
        reports = np.bincount(group, weights=count, minlength=GROUPS).astype(np.int64)
        order = np.lexsort((feature, group))
        group, feature, count = group[order], feature[order], count[order]
        new = np.ones(len(group), dtype=np.bool_)
        new[1:] = (group[1:] != group[:-1]) | (feature[1:] != feature[:-1])
        first = np.flatnonzero(new)
        sums = np.add.reduceat(count, first) if len(first) else count
        return cls(group[first], feature[first], sums, reports, devices, max_outputs)

    @property
    def filled(self) -> NDArray[np.bool_]:
        """True for each group of devices that has a report, shape (GROUPS,)."""
        return self.reports > 0

    @property
    def min_devices(self) -> int:
        """The number of devices, or a lower bound if the groups contain only a part of a tally: each group with reports
        has a device, and no device has more than ``max_outputs`` outputs."""
        if not self.is_partial:
            return self.devices
        reports = int(self.reports.sum())
        return max(int(np.count_nonzero(self.reports)), -(-reports // max(self.max_outputs, 1)))

    def within(self, first: int, past: int) -> Groups:
        """Return the groups with only the features ``first`` .. ``past`` - 1."""
        mine = (first <= self.feature) & (self.feature < past)
        groups = Groups.of(self.group[mine], self.feature[mine] - first, self.count[mine], 0, self.max_outputs)
        return replace(groups, devices=min(self.devices, int(groups.reports.sum())), is_partial=True)

    def by_group(self, decoder: Decoder, raw: Floats) -> Iterator[Floats]:
        """Yield for each group the contribution of its reports to ``raw``, minus ``raw`` times the group's fraction of
        the reports, (k,)."""
        n = max(int(self.reports.sum()), 1)
        ends = np.searchsorted(self.group, np.arange(GROUPS + 1))
        for number, reports in enumerate(self.reports.tolist()):
            if not reports:
                yield np.zeros(decoder.input_count)
                continue
            rows = slice(ends[number], ends[number + 1])
            counts = np.bincount(self.feature[rows], weights=self.count[rows], minlength=decoder.features)
            yield reports / n * (decoder.invert(counts / reports) - raw)

    def query_contributions(self, weights: Floats, constant: float, mean: float) -> Floats:
        """Return n times the numbers that ``by_group`` yields, for a single estimate from n reports.

        Args:
            weights: (m,) the contribution of each feature.
            constant: the contribution of each report.
            mean: the estimate.
        Returns:
            (GROUPS,) the differences.
        """
        sums = np.bincount(self.group, weights=self.count * weights[self.feature], minlength=GROUPS)
        return sums + self.reports * (constant - mean)


@dataclass(frozen=True)
class Spread:
    """Variances estimated between groups of devices.

    Attributes:
        variance: (k,) the variances, (1,) for a single estimate; NaN without degrees of freedom.
        freedom: the degrees of freedom of the variances; 0 if fewer than two groups have reports.
    """

    variance: Floats
    freedom: int

    def critical_value(self, alpha: float) -> float:
        """Return t such that a Student t variable is outside -t .. t with probability ``alpha``; infinite without
        degrees of freedom."""
        return float(-special.stdtrit(self.freedom, alpha / 2)) if self.freedom else np.inf


def spread(contributions: Iterator[Floats], filled: NDArray[np.bool_]) -> Spread:
    """Return the variances of an estimate, computed from the contributions of the groups.

    Args:
        contributions: for each group, (k,), its contribution as yielded by ``Groups.by_group``.
        filled: (GROUPS,) whether the group has a report.
    """
    squares = np.zeros(1)
    for contribution in contributions:
        squares = squares + contribution**2
    return _spread(squares, filled)


def spread_of(groups: Groups, weights: Floats, constant: float, mean: float) -> Spread:
    """Return the variance of a single estimate between groups. For the arguments see ``Groups.query_contributions``."""
    contributions = groups.query_contributions(weights, constant, mean) / max(int(groups.reports.sum()), 1)
    return _spread(np.array([contributions @ contributions]), groups.filled)


def _spread(squares: Floats, filled: NDArray[np.bool_]) -> Spread:
    freedom = max(int(filled.sum()) - 1, 0)
    if not freedom:
        return Spread(np.full_like(squares, np.nan), 0)
    return Spread(squares * (freedom + 1) / freedom, freedom)
