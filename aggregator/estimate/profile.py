"""Likelihood-ratio tests of how many people lie in a set of values.

The share t of people in a set is tested by how much less likely the reports are, at best, if it is t:

    LR(t) = 2 (max over all p of l(p) - max over p with p(set) = t of l(p)),       l(p) = sum of log-likelihoods

Each maximum is found by a constrained Newton method: the support gains a local maximum of the slope between every two
of its points, a quadratic model of l is maximised on it by non-negative least squares, and a line search follows. The
slope bounds what is left to gain, since l is concave (Wang 2007; Lindsay 1983).

LR has the law of chi-square with one degree of freedom where the reports tell neighbouring values apart. Where the
values are many, so that the most likely distribution sits on few of them, the test of a distribution function at a
point has a law with shorter tails (Banerjee and Wellner 2001). On a grid it lies between the two (Tang, Banerjee and
Kosorok 2012). Intervals of shares use the wider law, those of quantiles the shorter: there the steps of a grid are
added to the interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from aggregator.estimate.merged import Merged
from aggregator.families.decoder import Floats

Chosen = NDArray[np.bool_]

NATS = 0.01
"""A maximum is found where no distribution has a log-likelihood this much higher."""

MOST_ROUNDS = 60

HEAVY = 1e3
"""Weight of the equations that keep the masses, beside those of the quadratic model."""

LEAST = 1e-14
"""Shares below this count as zero."""

SHORTER = 0.6
"""Quantiles of the law with shorter tails over those of chi-square: 1.61 of 2.71 at .9, 2.29 of 3.84 at .95."""

NOBODY = 3.0
"""A share of 0 or 1 is refused where the statistic is this many times what refuses another: if nobody is in a set, the
most likely distribution gains in many directions at once. Of a point law, n = 10,000 to 48,842, 32 and 74 numbers, 1
and 2 nats, the .9 quantile of the statistic was 3.7 to 8.3, beside 2.7 of chi-square."""


class Profile:
    """The most likely distribution of ordered values, and the tests of the share in a set of them.

    Args:
        reports: by block of outputs.
        effect: by what the variance is larger than of independent reports, at least 1.
    """

    def __init__(self, reports: Merged, effect: float = 1.0) -> None:
        self._channel = reports.channel
        self._reports = int(reports.counts.sum())
        self._weights = reports.counts / self._reports
        self._effect = effect

    @cached_property
    def share(self) -> Floats:
        """(K,) the most likely distribution; mostly zeros where the blocks are many."""
        blocks = len(self._channel)
        return self._best(np.full(blocks, 1 / blocks), [(np.ones(blocks, dtype=np.bool_), 1.0)])

    @cached_property
    def _value(self) -> float:
        return self._log_likelihood(self.share)

    def root(self, chosen: Chosen, t: float) -> float:
        """Return the signed root of the statistic for the share ``t`` in the chosen blocks, about standard normal.

        It rises with t, and is 0 where t is the share in the most likely distribution.

        Args:
            chosen: (K,) some of the blocks, and not all of them.
            t: 0 to 1.
        """
        here = float(self.share[chosen].sum())
        groups = [(chosen, t), (~chosen, 1 - t)]
        start = np.zeros_like(self.share)
        slope = self._slope(self.share)
        for group, mass in groups:
            inside = np.where(group, self.share, 0)
            if inside.sum() < LEAST:
                inside = np.where(np.arange(len(slope)) == np.where(group, slope, -1).argmax(), 1.0, 0.0)
            start += inside * (mass / inside.sum())
        value = self._log_likelihood(self._best(start, groups))
        return math.copysign(math.sqrt(max(2 * (self._value - value), 0) / self._effect), t - here)

    def interval(self, chosen: Chosen, z: float) -> tuple[float, float]:
        """Return the shares in the chosen blocks that the test does not refuse.

        Args:
            z: quantile of the standard normal law, such as 1.96.
        """
        if chosen.all() or not chosen.any():
            return (1.0, 1.0) if chosen.all() else (0.0, 0.0)
        here = float(self.share[chosen].sum())
        return self._end(chosen, -z, here, 0.0), self._end(chosen, z, here, 1.0)

    def _end(self, chosen: Chosen, z: float, here: float, limit: float) -> float:
        """The share between ``here`` and ``limit`` at which the root is z; the limit if it is nowhere."""
        reached = self.root(chosen, limit)
        if abs(reached) <= math.sqrt(NOBODY) * abs(z):
            return limit
        near, far = (here, -z), (limit, reached - z)  # regula falsi (Illinois) on root - z
        while abs(far[0] - near[0]) > 1e-4 * (1 + abs(here)) / 10:
            t = near[0] - near[1] * (far[0] - near[0]) / (far[1] - near[1])
            value = self.root(chosen, t) - z
            if abs(value) < 1e-3:
                return t
            if value * far[1] < 0:
                near, far = far, (t, value)
            else:
                near, far = (near[0], near[1] / 2), (t, value)
        return far[0]

    def _log_likelihood(self, p: Floats) -> float:
        """Nats, of all reports."""
        return self._reports * float(self._weights @ np.log(p @ self._channel))

    def _slope(self, p: Floats) -> Floats:
        slope: Floats = self._channel @ (self._weights / (p @ self._channel))
        return slope

    def _best(self, p: Floats, groups: Sequence[tuple[Chosen, float]]) -> Floats:
        """(K,) the most likely distribution with the given mass in each group of blocks.

        Args:
            p: one that has these masses.
            groups: disjoint sets of blocks that together are all, and the mass of each.
        """
        for _ in range(MOST_ROUNDS):
            slope = self._slope(p)
            gap = sum(mass * float(slope[group].max()) for group, mass in groups if mass) - 1
            if gap * self._reports < NATS:
                break
            target = self._newton(p, slope, groups)
            aim, value, part = float(slope @ (target - p)), self._log_likelihood(p), 1.0
            while (found := self._log_likelihood(p + part * (target - p))) < value + part * aim / 10 * self._reports:
                part /= 2
                if part < 1e-6:
                    return p
            if found <= value:
                break
            p = p + part * (target - p)
            p[p < LEAST] = 0
        return p

    def _newton(self, p: Floats, slope: Floats, groups: Sequence[tuple[Chosen, float]]) -> Floats:
        """(K,) where the quadratic model of the log-likelihood at ``p`` is largest on the widened support."""
        support = np.zeros(len(p), dtype=np.bool_)
        for group, mass in groups:
            if mass:
                places = np.flatnonzero(group)
                held = np.flatnonzero(p[places] > 0)
                for first, stop in zip(np.r_[0, held], np.r_[held, len(places)], strict=True):
                    if stop > first:
                        support[places[first + slope[places[first:stop]].argmax()]] = True
        support |= p > 0
        places = np.flatnonzero(support)
        law, heavy = p @ self._channel, HEAVY
        rows = (self._channel[places] * (np.sqrt(self._weights) / law)).T
        kept = [(group[places] * heavy, mass * heavy) for group, mass in groups]
        orthogonal, triangle = np.linalg.qr(np.vstack([rows, *(row for row, _ in kept)]))
        wanted = np.concatenate([2 * np.sqrt(self._weights), [mass for _, mass in kept]])
        found, _ = nnls(triangle, orthogonal.T @ wanted, maxiter=100 * len(places))
        target = np.zeros_like(p)
        target[places] = found
        for group, mass in groups:
            inside = target[group].sum()
            target[group] = target[group] * (mass / inside) if inside > 0 else p[group]
        return target
