"""Corners of the linear program of ``column_generation`` if the level must hold for a ball of priors.

The lifts of an output satisfy the level for all priors within total variation d if and only if, with v over the corners
of this ball,

    max over x of lift[x] <= b min over v of <lift, v>   and   min over x of lift[x] >= a max over v of <lift, v>.

If the inputs are ordered by lift, the two worst priors are known: they move mass d from the largest lifts to the
smallest, or from the smallest to the largest. So for one order of the inputs there are two linear constraints, and a
corner has at most three different lifts: a staircase of three steps (MATH 2.13). The ordered partitions of the inputs
into three sets give all corners.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from aggregator.families.decoder import Floats
from aggregator.families.lifts import lift_range
from aggregator.families.table.column_generation import Coordinates, Mixture

MAX_LISTED = 10
"""Maximum number of inputs for which all staircases are listed; 10 inputs have about 3^10 staircases."""

_ORDERS = 100
"""Maximum number of orders of the inputs for which each round tries all cuts."""
_BEST_CUTS = 6
_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Staircases(Coordinates):
    """Variables of the linear program for a bound that holds for every prior within ``radius``.

    Each input is a class by itself. ``low`` and ``high`` are the range that ``lift_range`` returns; the lifts of a
    staircase may lie outside it.

    Attributes:
        bound: the bound b = e^level.
        radius: d, the total-variation radius of the ball.
    """

    bound: float
    radius: float

    @classmethod
    def of(cls, mass: Floats, bound: float, radius: float) -> Staircases:
        """Return the coordinates for the prior ``mass``; each input is a class by itself."""
        return cls(mass, mass**2, 0 * mass, *lift_range(bound, radius), 1.0, 1.0, bound, radius)

    def all_corners(self) -> Floats | None:
        n = len(self.mass)
        if n > MAX_LISTED:
            return None
        steps = np.array([part for part in itertools.product(range(3), repeat=n) if {0, 2} <= set(part)])
        top, middle, bottom = ((steps == step).astype(float) @ self.mass for step in range(3))
        levels, valid = self._levels(top, middle, bottom)
        lifts: Floats = np.take_along_axis(levels, steps, axis=1)[valid]
        return lifts

    def raised_alone(self) -> Floats:
        n = len(self.mass)
        levels, _ = self._levels(self.mass, np.zeros(n), 1 - self.mass)
        return np.where(np.eye(n, dtype=bool), levels[:, :1], levels[:, 2:])

    def greedy_corners(self, gains: Floats, prices: Floats) -> Floats:
        n = len(self.mass)
        rows = gains[:1] if len(gains) == 1 else gains[:: -(-len(gains) // _ORDERS)]
        # For each pair (i, j), the middle is i .. j - 1.
        ends, starts = np.array([(i, j) for i in range(1, n) for j in range(i, n)]).T
        corners = []
        for row in rows:
            order = np.argsort(-row / self.mass, kind="stable")
            mass, square, price = (np.concatenate([[0.0], np.cumsum(addends[order])])
                                   for addends in (self.mass, self.square, prices))  # fmt: skip
            cut = [[sums[ends], sums[starts] - sums[ends], sums[-1] - sums[starts]] for sums in (mass, square, price)]
            levels, valid = self._levels(*cut[0])
            gain = sum(levels[:, step] ** 2 * cut[1][step] - levels[:, step] * cut[2][step] for step in range(3))
            best = np.argsort(-np.where(valid, gain, -np.inf))[:_BEST_CUTS]
            for place in best[valid[best]]:
                lifts = np.empty(n)
                lifts[order] = np.repeat(levels[place], [ends[place], starts[place] - ends[place], n - starts[place]])
                corners.append(lifts)
        return np.unique(np.concatenate([np.array(corners), super().greedy_corners(gains, prices)]), axis=0)

    def _levels(self, top: Floats, middle: Floats, bottom: Floats) -> tuple[Floats, Floats]:
        """Return the three lifts of each staircase with these masses, and whether a staircase exists.

        With a middle step both constraints are tight. Without a middle step, the difference of the two lifts is the
        largest that the constraints allow.

        Args:
            top, middle, bottom: (c,) the prior masses of the steps, with the sum 1; middle is 0 for two steps.
        Returns:
            the lifts in decreasing order, (c, 3), and True for each staircase that exists, (c,).
        """
        a, b, d = 1 / self.bound, self.bound, self.radius
        # One of the two worst priors moves mass d from the top and then from the middle. The other moves it from the
        # bottom and then from the middle.
        off_top, off_bottom = np.minimum(d, top), np.minimum(d, bottom)
        down, up = np.minimum(d - off_top, middle), np.minimum(d - off_bottom, middle)
        apart = np.minimum((b - 1) / (bottom + b * off_top), (1 - a) / (top + a * off_bottom))
        rows = np.array([
            [top, middle, bottom],
            [1 + b * off_top, b * down, -b * (off_top + down)],
            [-a * (off_bottom + up), a * up, 1 + a * off_bottom],
        ]).transpose(2, 0, 1)  # fmt: skip
        usable = (middle > 0) & (np.abs(np.linalg.det(rows)) > _TOLERANCE)
        rows[~usable] = np.eye(3)
        levels = np.linalg.solve(rows, np.tile([1.0, b, a], (len(top), 1))[..., np.newaxis])[..., 0]
        falling = (levels[:, 0] >= levels[:, 1] - _TOLERANCE) & (levels[:, 1] >= levels[:, 2] - _TOLERANCE)
        two = middle <= 0
        levels[two] = np.stack([1 + bottom * apart, np.ones(len(top)), 1 - top * apart], axis=1)[two]
        return levels, two | (usable & falling & (levels[:, 2] > 0))


def of_two(mass: Floats, b: float, radius: float) -> Mixture:
    """Return the best mixture for two values, in closed form (MATH 2.13).

    An output raises one value. With the difference t, its lifts are 1 + t (1 - p) and 1 - t p, where p is the prior of
    the raised value, and

        t(p) = min((b - 1) / (1 - p + b min(d, p)), (1 - a) / (p + a min(d, 1 - p))).

    There is one output for each value; the weights of the outputs make the mean lift one.
    """
    a = 1 / b
    p = mass
    t = np.minimum((b - 1) / (1 - p + b * np.minimum(radius, p)), (1 - a) / (p + a * np.minimum(radius, 1 - p)))
    lifts = np.array([[1 + t[0] * p[1], 1 - t[0] * p[0]], [1 - t[1] * p[1], 1 + t[1] * p[0]]])
    return Mixture(lifts, t[::-1] / t.sum())
