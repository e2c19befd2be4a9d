"""Likelihood-ratio tests of the share of people in a set of values.

The statistic for a share t is twice the amount by which the constraint p(set) = t lowers the maximal log-likelihood:

    LR(t) = 2 (max over all p of l(p) - max over p with p(set) = t of l(p)),       l(p) = sum of log-likelihoods

Each maximum is found by a constrained Newton method. Each step adds to the support, between every two neighbouring
support points, the value with the largest gradient. It then maximises a quadratic model of l on this support by
non-negative least squares, and ends with a line search. The gradient bounds the remaining gain, since l is concave
(Wang 2007; Lindsay 1983).

LR has a chi-square distribution with one degree of freedom if the reports distinguish neighbouring values. With many
values the maximum-likelihood distribution is concentrated on few of them, and LR for a distribution function at a point
has shorter tails than chi-square (Banerjee and Wellner 2001). On a grid the distribution of LR lies between these two
(Tang, Banerjee and Kosorok 2012). Intervals of shares use chi-square. Intervals of quantiles use the shorter tails, and
are extended by the steps of the grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import product

import numpy as np

from aggregator.estimate.merged import MergedReports
from aggregator.estimate.nonnegative import nonnegative_solution
from aggregator.families.decoder import Floats, Mask

CONVERGED_NATS = 0.01
"""The search has converged if the log-likelihood is within this many nats of its maximum."""

MAX_ROUNDS = 60

HEAVY = 1e3
"""The weight of the equations that fix the share of the set and of each class, relative to the equations of the
quadratic model."""

MAX_RAKES = 20
"""Maximum number of rounds of raking to the known shares of the classes and the share of the tested set. Before raking
these shares are nearly right."""

LEAST = 1e-14
"""Smaller shares are treated as zero."""

EVEN_PART = 0.1
"""The part of an even distribution in a start at which, without it, an observed output would be impossible."""

SHORT_TAIL_RATIO = 0.6
"""Ratio of the quantiles with shorter tails to those of chi-square: 1.61 / 2.71 at .9, and 2.29 / 3.84 at .95."""

AT_LIMITS = 3.0
"""A share of 0 or 1 is rejected only if the statistic is this many times its usual critical value. If a set is
empty, the statistic exceeds chi-square, because the unconstrained maximum improves in many directions at once. With
all people at one value, n = 10,000 to 48,842, 32 and 74 numbers, 1 and 2 nats, the .9 quantile of the statistic was
3.7 to 8.3; that of chi-square is 2.7."""


class Profile:
    """The maximum-likelihood distribution of ordered values, and tests of the share of a set of values.

    With several classes of people, the distribution is over pairs (class, value), and a set contains its values in
    every class. No similarity between classes is assumed.

    Args:
        merged: the reports, merged into blocks of outputs.
        effect: the design effect of dependent reports, at least 1.
    """

    def __init__(self, merged: MergedReports, effect: float = 1.0) -> None:
        self._classes = merged.classes
        self._reports = int(merged.counts.sum())
        self._weights = merged.counts / self._reports
        self._effect = effect
        # Each output belongs to one class, and the outputs of the classes follow one another.
        blocks = np.split(merged.channel, merged.classes)
        self._bounds = [int(np.flatnonzero(block.any(axis=0))[-1]) + 1 for block in blocks[:-1]]
        self._channels = [
            np.ascontiguousarray(np.split(block, self._bounds, axis=1)[number]) for number, block in enumerate(blocks)
        ]
        rows = len(merged.channel)
        self._class_shares = np.ones(1) if merged.weights is None else merged.weights
        self._share_index = np.arange(rows) * len(self._class_shares) // rows
        self._class_of_row = np.arange(rows) // merged.blocks

    @cached_property
    def share(self) -> Floats:
        """Maximum-likelihood distribution, shape (C K,); mostly zeros if there are many blocks."""
        rows = len(self._share_index)
        even = self._class_shares[self._share_index] / np.bincount(self._share_index)[self._share_index]
        return self._best(even, np.ones(rows, dtype=np.bool_), 1.0)

    @cached_property
    def _value(self) -> float:
        return self._log_likelihood(self.share)

    def root(self, chosen: Mask, t: float, z: float | None = None) -> float:
        """Return the signed root of the statistic for the share ``t`` in the chosen blocks. It is nearly standard
        normal.

        The root increases in t, and is 0 if t is the share in the maximum-likelihood distribution. It is infinite if
        the reports are impossible at the share t, as at 0 if only the chosen blocks give some observed output.

        Args:
            chosen: (K,) whether a block is in the set; at least one block is in the set, and at least one is not.
            t: the tested share, 0 to 1.
            z: if given, the search ends as soon as its bounds show on which side of z and of -z the root is, and the
                returned number is on the same sides; None for the root.
        """
        inside = np.tile(chosen, self._classes)
        estimate = float(self.share[inside].sum())
        start = self._start(inside, t)
        if not self._explains(start):
            start = self._spread(start, inside)
        if not self._explains(start):
            return math.copysign(math.inf, t - estimate)
        decisive = None if z is None else self._value - z**2 * self._effect / 2
        value = self._log_likelihood(self._best(start, inside, t, decisive))
        return math.copysign(math.sqrt(max(2 * (self._value - value), 0) / self._effect), t - estimate)

    def _start(self, inside: Mask, t: float) -> Floats:
        """Return a distribution with the share ``t`` in the rows ``inside``, near the maximum-likelihood distribution.

        Each class keeps its share, so that its reports keep a positive likelihood.

        Returns:
            (C K,) the distribution.
        """
        start, slope = np.zeros_like(self.share), self._slope(self.share)
        sizes = np.bincount(self._class_of_row, self.share)
        inside_shares = np.bincount(self._class_of_row, np.where(inside, self.share, 0))
        estimate = float(inside_shares.sum())
        # The rows that lose people are scaled, so that their share is exactly 0 if t is 0 or 1.
        if t < estimate:
            within = inside_shares * t / estimate
            without = sizes - within
        else:
            without = (sizes - inside_shares) * ((1 - t) / max(1 - estimate, LEAST))
            within = sizes - without
        for side, masses in ((inside, within), (~inside, without)):
            for number, mass in enumerate(masses):
                cell = side & (self._class_of_row == number)
                shares = np.where(cell, self.share, 0)
                if shares.sum() < LEAST:
                    shares = np.where(np.arange(len(slope)) == np.where(cell, slope, -1).argmax(), 1.0, 0.0)
                start += shares * (max(mass, 0.0) / shares.sum())
        return start

    def _explains(self, p: Floats) -> bool:
        """Return whether every observed output is possible under ``p``."""
        return bool((self._outputs(p) > 0).all())

    def _spread(self, p: Floats, inside: Mask) -> Floats:
        """Return ``p`` mixed with a distribution that is even inside and outside in each class, and has the same share
        there, shape (C K,)."""
        cell = 2 * self._class_of_row + inside
        even = np.bincount(cell, p)[cell] / np.bincount(cell)[cell]
        return (1 - EVEN_PART) * p + EVEN_PART * even

    def interval(self, chosen: Mask, z: float) -> tuple[float, float]:
        """Return the interval of shares in the chosen blocks that the test does not reject.

        Args:
            chosen: (K,) whether a block is in the set.
            z: the critical value of the standard normal distribution, such as 1.96.
        """
        if chosen.all() or not chosen.any():
            return (1.0, 1.0) if chosen.all() else (0.0, 0.0)
        estimate = float(self.share[np.tile(chosen, self._classes)].sum())
        return self._end(chosen, -z, estimate, 0.0), self._end(chosen, z, estimate, 1.0)

    def _end(self, chosen: Mask, z: float, estimate: float, limit: float) -> float:
        """Return the share between ``estimate`` and ``limit`` at which the root is z; ``limit`` if the test does not
        reject ``limit`` (see ``AT_LIMITS``)."""
        reached = self.root(chosen, limit)
        if abs(reached) <= math.sqrt(AT_LIMITS) * abs(z):
            return limit
        # Find the zero of root - z by regula falsi with the Illinois rule, or by bisection while a root is infinite.
        near, far = (estimate, -z), (limit, reached - z)
        while abs(far[0] - near[0]) > 1e-4 * (1 + abs(estimate)) / 10:
            if math.isinf(near[1]) or math.isinf(far[1]):
                t = (near[0] + far[0]) / 2
            else:
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
        """Return the log-likelihood of all reports in nats; minus infinity if an observed output is impossible."""
        with np.errstate(divide="ignore"):
            return self._reports * float(self._weights @ np.log(self._outputs(p)))

    def _slope(self, p: Floats) -> Floats:
        """Return the gradient of the log-likelihood per report, shape (C K,)."""
        ratios = np.split(self._weights / self._outputs(p), self._bounds)
        return np.concatenate([channel @ part for channel, part in zip(self._channels, ratios, strict=True)])

    def _outputs(self, p: Floats) -> Floats:
        """Return the probability of each observed output under ``p``, shape (M,)."""
        parts = zip(np.split(p, self._classes), self._channels, strict=True)
        return np.concatenate([part @ channel for part, channel in parts])

    def _best(self, p: Floats, inside: Mask, t: float, decisive: float | None = None) -> Floats:
        """Return the most likely distribution that has the share ``t`` in the rows ``inside``, shape (C K,).

        Args:
            p: a distribution with this share, where the search begins.
            decisive: a log-likelihood. If given, the search ends earlier, if the distribution exceeds it or no
                distribution with this share reaches it.
        """
        sides = [(inside, t), (~inside, 1 - t)]
        for _ in range(MAX_ROUNDS):
            slope = self._slope(p)
            gain, value = (self._highest(slope, inside, t) - 1) * self._reports, self._log_likelihood(p)
            if gain < CONVERGED_NATS or (decisive is not None and not value <= decisive <= value + gain):
                break
            target = self._newton(p, slope, sides)
            aim, part = float(slope @ (target - p)), 1.0
            while (
                moved_value := self._log_likelihood(p + part * (target - p))
            ) < value + part * aim / 10 * self._reports:
                part /= 2
                if part < 1e-6:
                    return p
            if moved_value <= value:
                break
            p = p + part * (target - p)
            p[p < LEAST] = 0
        return p

    def _highest(self, slope: Floats, inside: Mask, t: float) -> float:
        """Return the largest value of slope . q over distributions q with the share ``t`` inside.

        In each class the largest slope inside is compared with the largest slope outside, and the share t is assigned
        to the classes with the largest differences.
        """
        best = []
        for side in (inside, ~inside):
            slopes = np.full(len(self._class_shares), -np.inf)
            np.maximum.at(slopes, self._share_index[side], slope[side])
            best.append(slopes)
        if not np.isfinite(best[1]).all():
            return float(self._class_shares @ best[0])
        gains, left = best[0] - best[1], t
        highest = float(self._class_shares @ best[1])
        for part in np.argsort(-gains, kind="stable"):
            mass = min(float(self._class_shares[part]), left)
            highest, left = highest + mass * float(gains[part]), left - mass
        return highest

    def _newton(self, p: Floats, slope: Floats, sides: Sequence[tuple[Mask, float]]) -> Floats:
        """Return the maximum of the quadratic model of the log-likelihood at ``p`` on the extended support, (C K,)."""
        support = p > 0
        for side, number in product([side for side, mass in sides if mass], range(self._classes)):
            places = (side & (self._class_of_row == number)).nonzero()[0]
            positive = (p[places] > 0).nonzero()[0].tolist()
            for first, stop in zip([0, *positive], [*positive, len(places)], strict=True):
                if stop > first:
                    support[places[first + slope[places[first:stop]].argmax()]] = True
        places = np.flatnonzero(support)
        scales = np.split(np.sqrt(self._weights) / self._outputs(p), self._bounds)
        targets = np.split(2 * np.sqrt(self._weights), self._bounds)
        in_class = np.split(support, self._classes)
        groups = [
            ((channel[rows] * scale).T, class_targets)
            for channel, rows, scale, class_targets in zip(self._channels, in_class, scales, targets, strict=True)
        ]
        constraints = [(side[places], mass) for side, mass in sides]
        if len(self._class_shares) > 1:
            constraints += [(self._share_index[places] == part, mass) for part, mass in enumerate(self._class_shares)]
        equations = tuple(HEAVY * np.array(part, dtype=float) for part in zip(*constraints, strict=True))
        solution = nonnegative_solution(groups, (equations[0], equations[1]), p[places] > 0)
        target = np.zeros_like(p)
        target[places] = solution
        return self._with_masses(target, p, sides)

    def _with_masses(self, target: Floats, p: Floats, sides: Sequence[tuple[Mask, float]]) -> Floats:
        """Return ``target`` raked to the shares that ``p`` has inside, outside, and in each class, shape (C K,)."""
        parts = len(self._class_shares)
        for _ in range(MAX_RAKES if parts > 1 else 1):
            if parts > 1:
                sums = np.bincount(self._share_index, target, parts)
                factors = np.divide(self._class_shares, sums, out=np.zeros(parts), where=sums > 0)
                target = np.where((sums > 0)[self._share_index], target * factors[self._share_index], p)
            for side, mass in sides:
                inside = target[side].sum()
                target[side] = target[side] * (mass / inside) if inside > 0 else p[side]
        return target
