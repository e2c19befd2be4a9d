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
from itertools import product

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

MOST_RAKES = 20
"""Rounds in which the masses of parts and sides are brought together; they are nearly right before."""

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

    With several classes of people, the shares are those of (class, value), and the set contains its values in every
    class. No similarity between classes is assumed.

    Args:
        reports: by block of outputs.
        effect: by what the variance is larger than of independent reports, at least 1.
    """

    def __init__(self, reports: Merged, effect: float = 1.0) -> None:
        self._channel, self._classes = reports.channel, reports.classes
        self._reports = int(reports.counts.sum())
        self._weights = reports.counts / self._reports
        self._effect = effect
        rows = len(self._channel)
        # Parts of the people whose masses are known, and all rows of one class each.
        self._masses = np.ones(1) if reports.weights is None else reports.weights
        self._part = np.arange(rows) * len(self._masses) // rows
        self._class = np.arange(rows) // reports.blocks

    @cached_property
    def share(self) -> Floats:
        """(C K,) the most likely distribution; mostly zeros where the blocks are many."""
        rows = len(self._channel)
        even = self._masses[self._part] / np.bincount(self._part)[self._part]
        return self._best(even, np.ones(rows, dtype=np.bool_), 1.0)

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
        inside = np.tile(chosen, self._classes)
        here = float(self.share[inside].sum())
        value = self._log_likelihood(self._best(self._start(inside, t), inside, t))
        return math.copysign(math.sqrt(max(2 * (self._value - value), 0) / self._effect), t - here)

    def _start(self, inside: Chosen, t: float) -> Floats:
        """(C K,) a distribution with the share ``t`` in the rows ``inside``, near the most likely one.

        Each class keeps its share, so that its reports keep a positive likelihood.
        """
        start, slope = np.zeros_like(self.share), self._slope(self.share)
        sizes = np.bincount(self._class, self.share)
        held = np.bincount(self._class, np.where(inside, self.share, 0))
        here = float(held.sum())
        # The side that becomes smaller is exactly empty where t is 0 or 1.
        if t < here:
            within = held * t / here
            without = sizes - within
        else:
            without = (sizes - held) * ((1 - t) / max(1 - here, LEAST))
            within = sizes - without
        for side, masses in ((inside, within), (~inside, without)):
            for number, wanted in enumerate(masses):
                cell = side & (self._class == number)
                found = np.where(cell, self.share, 0)
                if found.sum() < LEAST:
                    found = np.where(np.arange(len(slope)) == np.where(cell, slope, -1).argmax(), 1.0, 0.0)
                start += found * (max(wanted, 0.0) / found.sum())
        return start

    def interval(self, chosen: Chosen, z: float) -> tuple[float, float]:
        """Return the interval of shares in the chosen blocks that the test does not reject.

        Args:
            chosen: (K,)
            z: quantile of the standard normal law, such as 1.96.
        """
        if chosen.all() or not chosen.any():
            return (1.0, 1.0) if chosen.all() else (0.0, 0.0)
        here = float(self.share[np.tile(chosen, self._classes)].sum())
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

    def _best(self, p: Floats, inside: Chosen, t: float) -> Floats:
        """(C K,) the most likely distribution with the share ``t`` in the rows ``inside``.

        Args:
            p: one that has it.
        """
        sides = [(inside, t), (~inside, 1 - t)]
        for _ in range(MOST_ROUNDS):
            slope = self._slope(p)
            if (self._highest(slope, inside, t) - 1) * self._reports < NATS:
                break
            target = self._newton(p, slope, sides)
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

    def _highest(self, slope: Floats, inside: Chosen, t: float) -> float:
        """The largest slope in the direction of any distribution with the share ``t`` inside.

        In each part of the people the best row inside is set against the best one outside, and the share goes where it
        gains most.
        """
        best = []
        for side in (inside, ~inside):
            found = np.full(len(self._masses), -np.inf)
            np.maximum.at(found, self._part[side], slope[side])
            best.append(found)
        if not np.isfinite(best[1]).all():
            return float(self._masses @ best[0])
        gains, left = best[0] - best[1], t
        highest = float(self._masses @ best[1])
        for part in np.argsort(-gains, kind="stable"):
            mass = min(float(self._masses[part]), left)
            highest, left = highest + mass * float(gains[part]), left - mass
        return highest

    def _newton(self, p: Floats, slope: Floats, sides: Sequence[tuple[Chosen, float]]) -> Floats:
        """(C K,) where the quadratic model of the log-likelihood at ``p`` is largest on the widened support."""
        support = p > 0
        for side, number in product([side for side, mass in sides if mass], range(self._classes)):
            places = np.flatnonzero(side & (self._class == number))
            held = np.flatnonzero(p[places] > 0)
            for first, stop in zip(np.r_[0, held], np.r_[held, len(places)], strict=True):
                if stop > first:
                    support[places[first + slope[places[first:stop]].argmax()]] = True
        places = np.flatnonzero(support)
        law, heavy = p @ self._channel, HEAVY
        rows = (self._channel[places] * (np.sqrt(self._weights) / law)).T
        kept = [(side[places] * heavy, mass * heavy) for side, mass in sides]
        if len(self._masses) > 1:
            kept += [((self._part[places] == part) * heavy, mass * heavy) for part, mass in enumerate(self._masses)]
        orthogonal, triangle = np.linalg.qr(np.vstack([rows, *(row for row, _ in kept)]))
        wanted = np.concatenate([2 * np.sqrt(self._weights), [mass for _, mass in kept]])
        found, _ = nnls(triangle, orthogonal.T @ wanted, maxiter=100 * len(places))
        target = np.zeros_like(p)
        target[places] = found
        return self._with_masses(target, p, sides)

    def _with_masses(self, target: Floats, p: Floats, sides: Sequence[tuple[Chosen, float]]) -> Floats:
        """(C K,) ``target`` with exactly the masses that ``p`` has inside and outside, and in each part."""
        parts = len(self._masses)
        for _ in range(MOST_RAKES if parts > 1 else 1):
            if parts > 1:
                held = np.bincount(self._part, target, parts)
                factors = np.divide(self._masses, held, out=np.zeros(parts), where=held > 0)
                target = np.where((held > 0)[self._part], target * factors[self._part], p)
            for side, mass in sides:
                inside = target[side].sum()
                target[side] = target[side] * (mass / inside) if inside > 0 else p[side]
        return target
