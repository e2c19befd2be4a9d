"""Newton's method inside a logarithmic barrier, for the convex problems of the recipes.

The method minimises weight * objective - (sum of the logarithms of the slacks) for growing weights, each time from the
minimum for the previous weight. At such a minimum the objective exceeds the optimum by at most the number of logarithms
divided by the weight. The iteration stops when this bound is small enough (Boyd, Vandenberghe 2004, sec. 11.2-11.3).

``bits.idue`` and ``graded.recipe`` define the problems.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from aggregator.families.decoder import Floats

PRECISION = 1e-10
"""Relative precision of the optimum; rounding to 32 bits changes the objective by more."""

MAX_NEWTON_STEPS = 200
"""Maximum number of Newton steps for one weight."""

GROWTH = 10.0
"""The factor from one weight to the next."""

SHORTEST_STEP = 1e-10
"""The line search ends at this fraction of a Newton step."""

QUADRATIC = 1e-2
"""If Newton's decrement is below this, full steps are made without a line search, because rounding hides the small
decrease of the value."""


class Problem(ABC):
    """A convex function to be minimised under linear and nonlinear inequalities.

    Attributes:
        rows, limits: (c, d) and (c,), the linear inequalities rows @ z < limits.
        start: (d,) a point at which all inequalities hold strictly and ``barrier`` is finite.
        nonlinear_count: the number of nonlinear inequalities; ``barrier`` subtracts the logarithm of the slack of each.
    """

    rows: Floats
    limits: Floats
    start: Floats
    nonlinear_count: int = 0

    @abstractmethod
    def objective(self, z: Floats) -> float:
        """Return the objective, which is above zero, at ``z``."""

    @abstractmethod
    def barrier(self, z: Floats, weight: float) -> tuple[float, Floats, Floats]:
        """Return value, gradient and Hessian of ``weight`` times the objective, minus the logarithms of the slacks of
        the nonlinear inequalities.

        If such a slack is not above zero, the value is infinite, and gradient and Hessian have no meaning.
        """


def minimising_point(problem: Problem, precision: float = PRECISION) -> Floats:
    """Return a point whose objective is minimal up to the relative ``precision``; all inequalities hold strictly."""
    z = problem.start
    logarithms = len(problem.limits) + problem.nonlinear_count
    weight = logarithms / problem.objective(z)
    while True:
        for _ in range(MAX_NEWTON_STEPS):
            value, gradient, hessian = _derivatives(problem, z, weight)
            # The Hessian is scaled to a unit diagonal, because the unknowns differ by many orders of magnitude.
            scale = 1 / np.sqrt(np.diag(hessian))
            step = -scale * np.linalg.solve(hessian * np.outer(scale, scale), scale * gradient)
            decrement = -float(gradient @ step)
            if decrement < 1e-9:
                break
            length = 1.0
            near = decrement < QUADRATIC
            while length > SHORTEST_STEP and not _better(
                problem, z + length * step, weight, value, length * decrement, near
            ):
                length /= 2
            if length <= SHORTEST_STEP:
                break  # the remaining gain is smaller than the rounding of the value
            z = z + length * step
        if logarithms / weight < precision * problem.objective(z):
            return z
        weight *= GROWTH


def _derivatives(problem: Problem, z: Floats, weight: float) -> tuple[float, Floats, Floats]:
    slack = problem.limits - problem.rows @ z
    value, gradient, hessian = problem.barrier(z, weight)
    scaled = problem.rows / slack[:, np.newaxis]
    return value - float(np.log(slack).sum()), gradient + scaled.sum(axis=0), hessian + scaled.T @ scaled


def _better(problem: Problem, z: Floats, weight: float, value: float, gain: float, near: bool) -> bool:
    """Return whether ``z`` satisfies all inequalities and, unless ``near``, lowers the value by a tenth of ``gain``."""
    slack = problem.limits - problem.rows @ z
    if not (slack > 0).all():
        return False
    objective = problem.barrier(z, weight)[0] - float(np.log(slack).sum())
    return bool(np.isfinite(objective)) and (near or objective <= value - 0.1 * gain)
