"""Search for the best LIP channel of a small domain: a linear program over posteriors, solved by column generation.

A channel is a mixture of posteriors whose mean is the prior, and its expected squared error is one minus the mean of
their squared lengths (MATH 2.1). So the best channel is a linear program over the corners of one polytope,

    a P[x] <= posterior[x] <= b P[x],   sum = 1,   a = e^-eps, b = e^eps

At a corner, all coordinates but one lie at an end of their range. Above about a dozen inputs there are too many corners
to list. So the program uses a few corners, and the dual prices identify the next corner to add. At most k corners get a
positive weight, so the channel has at most k outputs. ``prior_table`` defines the *gain* of a channel.

Source: the linear program is that of Lopuhaa-Zwakenberg, Tong, Skoric 2020 (arXiv 2008.13151); MATH 2.1.

``windows`` is for larger domains, and solves the same program for their few frequent inputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from aggregator.families.decoder import Floats
from protocol.errors import ChannelError

_LISTED = 14
"""Maximum number of coordinates for which all corners are listed and priced, so that the result is the optimum."""
_ENTERED = 6000
"""Maximum number of corners for which the program is solved at once, without generation."""
_MAX_ROUNDS = 400
_PATIENCE = 8
_CLOSE = 2e-5
"""Generation ends when the last ``_PATIENCE`` values of the objective differ by less than this fraction of the gain, or
by less than a thousandth of this fraction if all corners are listed."""
_PRICED = 1e-7
"""A corner is added if its reduced cost is more than this fraction of the gain."""
_TRIES = 400
"""Number of random changes of the gains with which each round searches for corners."""
_ADDED = 200
"""Maximum number of corners that a round adds."""
_KEPT = 3000
"""Number of corners above which those without weight are dropped."""
_MIN_WEIGHT = 1e-12


@dataclass(frozen=True)
class Coordinates:
    """The classes of inputs and the range of their lifts, which determine the corners of the linear program.

    In a class of many small inputs each input has the lift a or b, and the mean of these lifts is the variable l. Such
    a class adds (a + b) l - a b, which is linear in l, times the sum of squared probabilities.

    Attributes:
        mass: (n,) the prior mass of each class.
        square: (n,) the part of the sum of P[x]^2 that is multiplied by the square of the class's mean lift.
        linear: (n,) the part of the sum of P[x]^2 that is multiplied by (a + b) l - a b.
        low, high: a and b, the least and the largest lift.
        mean: the mean lift of every class over all outputs of the mixture.
        budget: the sum of mass times lift in every output.
    """

    mass: Floats
    square: Floats
    linear: Floats
    low: float
    high: float
    mean: float
    budget: float

    def squared_posterior(self, lifts: Floats) -> Floats:
        """Return the sum of squares of the posterior for each row of lifts: from (c, n) to (c,)."""
        a, b = self.low, self.high
        return lifts**2 @ self.square + ((a + b) * lifts - a * b) @ self.linear

    def all_corners(self) -> Floats | None:
        """Return the lifts of all corners, (c, n), or None if there are too many classes."""
        return _corners(self) if len(self.mass) <= _LISTED else None

    def raised_alone(self) -> Floats:
        """Return for each class the lifts of the posterior that raises this class most, with all other lifts equal,
        shape (n, n) (MATH 2.4).

        With suitable weights the mean of these posteriors is the prior, so the search starts from them.
        """
        rest = self.mass.sum() - self.mass
        others = np.maximum(self.low, (self.budget - self.high * self.mass) / rest)
        raised = (self.budget - rest * others) / self.mass
        lifts: Floats = np.where(np.eye(len(rest), dtype=bool), raised, others[:, np.newaxis])
        return lifts

    def greedy_corners(self, gains: Floats, prices: Floats) -> Floats:
        """Return corners in which the classes with a large gain per mass have large lifts.

        Args:
            gains: (r, n) the gains of the classes.
            prices: (n,) the dual price of a lift of each class; only subclasses use it.
        Returns:
            (c, n) the lifts of the corners.
        """
        return _filled(self, gains)


@dataclass(frozen=True)
class Mixture:
    """A mixture of posteriors: their lifts over the prior, and their probabilities.

    Attributes:
        lifts: (t, n) the lift of each class of inputs in each type of output.
        weights: (t,) the probability of each type of output.
    """

    lifts: Floats
    weights: Floats


def best_mixture(coordinates: Coordinates) -> Mixture:
    """Return the mixture with the largest mean ``squared_posterior``. It is the optimum if ``all_corners`` lists the
    corners, and otherwise close to the optimum.

    Raises:
        ChannelError: the solver of the linear program fails.
    """
    n = len(coordinates.mass)
    if n == 1:
        return _polished(coordinates, np.array([[coordinates.budget / coordinates.mass[0]]]))
    start = np.concatenate([np.full((1, n), coordinates.budget / coordinates.mass.sum()), coordinates.raised_alone()])
    listed = coordinates.all_corners()
    if listed is not None and len(listed) <= _ENTERED:
        return _polished(coordinates, np.concatenate([start, listed]))
    # The seed is fixed, so that the search for corners is the same at every call.
    draw = np.random.default_rng(n)
    # The floor is the objective of a channel that reveals nothing.
    floor = (
        float(coordinates.squared_posterior(start[:1])[0])
        * coordinates.mean
        * coordinates.mass.sum()
        / coordinates.budget
    )
    slope = (coordinates.low + coordinates.high) * (coordinates.square + coordinates.linear)
    first = slope * (draw.random((8 * n, n)) < 0.5) + 1e-9 * coordinates.mass
    pool = np.concatenate([start, coordinates.greedy_corners(first, 0 * coordinates.mass)])
    history: list[float] = []
    for _ in range(_MAX_ROUNDS):
        weights, prices, value = _master(coordinates, pool)
        history.append(value)
        close = _CLOSE if listed is None else _CLOSE / 1000
        if len(history) > _PATIENCE and value - history[-_PATIENCE] < close * (value - floor):
            break
        if listed is None:
            gain = slope - prices
            noise = np.outer(
                np.geomspace(1e-3, 1, _TRIES), np.abs(gain).mean() / coordinates.mass.mean() * coordinates.mass
            )
            noise *= draw.normal(size=noise.shape)
            corners = coordinates.greedy_corners(np.concatenate([gain[np.newaxis], gain + noise]), prices)
        else:
            corners = listed
        gains = coordinates.squared_posterior(corners) - corners @ prices
        best = np.argsort(-gains)[:_ADDED]
        better = corners[best][gains[best] > _PRICED * (value - floor)]
        if not len(better):
            break
        used = pool[weights > 0] if len(pool) > _KEPT else pool
        pool = np.concatenate([start, used, better])
    return _polished(coordinates, pool)


def plain_mixture(coordinates: Coordinates) -> Mixture:
    """Return a mixture that distinguishes all classes: with probability 1/2 an output raises one class, otherwise no
    class."""
    raised = coordinates.raised_alone()
    others = raised.min(axis=1)
    steps = raised.diagonal() - others
    # With these weights, the mean lift of every class is the same.
    weights = coordinates.mean / (steps * (1 + (others / steps).sum()))
    even = coordinates.budget / coordinates.mass.sum()
    return Mixture(
        np.concatenate([np.full((1, len(steps)), even), raised]),
        np.concatenate([[coordinates.mean / even], weights]) / 2,
    )


def _corners(coordinates: Coordinates) -> Floats:
    """Return the lifts of all corners, (c, n): each class but one has the lift ``low`` or ``high``."""
    n = len(coordinates.mass)
    high = (np.arange(2**n)[:, np.newaxis] >> np.arange(n) & 1).astype(bool)
    lifts = np.where(high, coordinates.high, coordinates.low)
    corners = []
    for x in range(n):
        candidates = lifts[~high[:, x]].copy()
        candidates[:, x] = 0
        candidates[:, x] = (coordinates.budget - candidates @ coordinates.mass) / coordinates.mass[x]
        corners.append(
            candidates[(candidates[:, x] >= coordinates.low - 1e-12) & (candidates[:, x] <= coordinates.high + 1e-12)]
        )
    lifts_of_corners = np.concatenate(corners)
    clipped: Floats = np.clip(lifts_of_corners, coordinates.low, coordinates.high)
    return clipped


def _filled(coordinates: Coordinates, gains: Floats) -> Floats:
    """Return corners by the greedy rule for a knapsack: classes get the high lift in the order of decreasing gain per
    mass.

    Each row of gains gives up to two corners. In the first, the first class that does not fit gets the remaining
    budget; this corner is the best if ``squared_posterior`` is linear. In the second, classes that do not fit are
    skipped, and the lightest class that can use the small remaining budget gets it.

    Args:
        gains: (r, n) the gains of the classes.
    Returns:
        (c, n) the lifts of the corners, c <= 2 r.
    """
    rows, n = gains.shape
    order = np.argsort(-gains / coordinates.mass, axis=1, kind="stable")
    span = coordinates.high - coordinates.low
    costs = coordinates.mass * span
    every = np.arange(rows)
    corners = []
    for passing in (False, True):
        lifts = np.full((rows, n), coordinates.low)
        room = np.full(rows, coordinates.budget - coordinates.low * coordinates.mass.sum())
        for place in range(n):
            x = order[:, place]
            cost = costs[x]
            if passing:
                part = np.where(cost <= room, 1.0, 0.0)
            else:
                part = np.clip(room / cost, 0, 1)
            lifts[every, x] += part * span
            room -= part * cost
        if passing:
            holds = (lifts < coordinates.high) & (costs >= room[:, np.newaxis])
            x = np.where(holds, costs, np.inf).argmin(axis=1)
            able = holds[every, x]
            lifts[every, x] += np.where(able, room / coordinates.mass[x], 0)
            lifts = lifts[able]
        corners.append(np.clip(lifts, coordinates.low, coordinates.high))
    return np.unique(np.concatenate(corners), axis=0)


def _master(coordinates: Coordinates, pool: Floats) -> tuple[Floats, Floats, float]:
    """Return the solution of the linear program over the corners ``pool``: their weights, the dual prices of the
    classes, and the value of the objective."""
    solved = linprog(
        -coordinates.squared_posterior(pool),
        A_eq=pool.T * coordinates.mass[:, np.newaxis],
        b_eq=coordinates.mean * coordinates.mass,
        method="highs",
    )
    if solved.x is None:
        raise ChannelError(
            f"the solver failed on the linear program of the channel ({solved.message}): choose another mechanism"
        )
    return solved.x, -solved.eqlin.marginals * coordinates.mass, -float(solved.fun)


def _polished(coordinates: Coordinates, pool: Floats) -> Mixture:
    """Return the best mixture of the corners ``pool``, with weights that are solved again to full float precision."""
    weights, _, _ = _master(coordinates, pool)
    lifts = pool[weights > _MIN_WEIGHT]
    while True:
        weights = np.linalg.lstsq(lifts.T, np.full(len(coordinates.mass), coordinates.mean), rcond=None)[0]
        if weights.min() > 0:
            return Mixture(lifts, weights)
        lifts = lifts[weights > 0]
