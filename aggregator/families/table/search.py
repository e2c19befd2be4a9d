"""Designed channels: the optimum for two values, and a search for the channel with the least error for a few values.

A channel satisfies a matrix E of levels if and only if each column of the channel lies in the cone of all v with
v[x] <= e^E[x][x'] v[x']. So a channel is a decomposition of the vector of ones into rays of this cone. The error of the
unbiased estimate is convex in the weights of the rays: an optimal design of experiments (Fedorov 1972).

    two values        two rays: Theorem 2 of Acharya et al. 2020
    a few values      rays over all subsets, then rays found by the dual prices of the design

``recipe`` states the questions for which these channels apply. Larger domains need other families.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
from scipy import optimize

from aggregator.families.decoder import Floats, Integers
from aggregator.families.rounding import D, ceil
from protocol import exact, notions
from protocol.channels import Table
from protocol.channels.table.channel import TABLE_SCALE
from protocol.errors import NotionError, Uncertified
from protocol.exact import exp_lower
from protocol.notions import UNBOUNDED, Matrix

ONE = 1 << TABLE_SCALE

MAX_VALUES = 12
"""Maximum number of values of ``best_table``, which lists all subsets of the values."""

LEVEL_RESERVE = 1e-8
"""Nats of each level that are reserved for rounding to integers."""


def binary_optimum(e12: int, e21: int) -> Table:
    """Return the best channel for two values, for every loss that obeys the data-processing inequality.

        Q(1|1) = A (B - 1) / (A B - 1)    Q(2|1) = (A - 1) / (A B - 1)            A = e^e12, B = e^e21
        Q(1|2) =   (B - 1) / (A B - 1)    Q(2|2) = B (A - 1) / (A B - 1)

    With equal levels the channel is Warner's randomised response. Without a bound e12 it is Mangat's response with p =
    1 / B. The probability of the less likely output of each value is rounded up.

    Source: Acharya et al. 2020, Theorem 2 (there with the denominator e^e21 - e^-e12).

    Args:
        e12: the level of value 1 against value 2 in nanonats; ``UNBOUNDED`` for no bound.
        e21: the level of value 2 against value 1, in the same form.
    Raises:
        NotionError: a level is out of range, or zero. At zero, each probability of one row is at most that of the other
            row. Both rows sum to one, so they are equal and no estimate is possible.
    """
    if 0 in (e12, e21):
        raise NotionError("a level of zero makes the reports of both values indistinguishable; use levels above 0")
    for level in (e12, e21):
        if level != UNBOUNDED and not 0 < level <= exact.MAX_LEVEL:
            raise NotionError(
                f"a level must be above 0 and at most {exact.nats(exact.MAX_LEVEL):g} nats, not "
                f"{exact.nats(level):g}; for no bound, give UNBOUNDED"
            )
    A, B = (None if level == UNBOUNDED else exp_lower(level) for level in (e12, e21))
    if A is None:
        second, first = (0, 0 if B is None else ceil(ONE * D, B))
    elif B is None:
        second, first = (ceil(ONE * D, A), 0)
    else:
        denominator = A * B - D * D
        second, first = ceil(ONE * D * (B - D), denominator), ceil(ONE * D * (A - D), denominator)
    return Table(((ONE - first, first), (second, ONE - second)))


def best_table(matrix: Matrix) -> Table:
    """Return the best channel that a search finds for a matrix of levels, by the expected error of the unbiased
    estimate at equal shares.

    With columns w_j v_j, sum of w_j v_j = 1, the error of one report at the shares p is

        trace (sum of w_j v_j v_j' / (p . v_j))^-1 - |p|^2,      convex in w

    The first rays v_j come from all subsets S: such a ray is 1 on S, and has the lowest or the highest possible numbers
    elsewhere. If all levels are equal, there are no other rays. Otherwise linear programs search for rays that improve
    the design, by the dual prices of the design, until they find none. The result is within a millionth of the optimum
    over the rays found, and never worse than LDP at the smallest level.

    Args:
        matrix: the levels of all pairs of 2 to ``MAX_VALUES`` values.
    Raises:
        NotionError: too many values; a level of zero; or levels too far apart for 62-bit probabilities.
    """
    size = len(matrix.levels)
    if size > MAX_VALUES:
        raise NotionError(f"a table can be designed for at most {MAX_VALUES} values, not {size}")
    finite = [level for _, _, level in matrix.bounds()]
    if 0 in finite:
        raise NotionError("a level of zero makes the reports of two values indistinguishable; use levels above 0")
    if size == 2:
        return binary_optimum(matrix.levels[0][1], matrix.levels[1][0])
    distribution = np.full(size, 1 / size)
    rays, weights = _design(_shortest(matrix), distribution, exact.nats(min(finite)) - LEVEL_RESERVE)
    for faint in (1e-8, 1e-6, 1e-4):
        table = _integer_table(*_without(rays, weights, distribution, faint))
        try:
            notions.certify(table, matrix)
        except Uncertified:
            continue  # some output is so rare that rounding to integers changes its ratios too much
        return table
    raise NotionError("no table of 62-bit probabilities satisfies these levels: use levels that are closer together")


def _shortest(matrix: Matrix) -> Floats:
    """Return the tightest bound of each pair over all paths of pairs, shape (k, k), in nats, minus
    ``LEVEL_RESERVE``."""
    levels = np.array(
        [[np.inf if e == UNBOUNDED else exact.nats(e) - LEVEL_RESERVE for e in row] for row in matrix.levels]
    )
    np.fill_diagonal(levels, 0.0)
    for through in range(len(levels)):
        levels = np.minimum(levels, levels[:, through, np.newaxis] + levels[through])
    return levels


def _design(levels: Floats, distribution: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the rays of the best design found, shape (k, m), and their weights, (m,)."""
    size = len(distribution)
    # The starting design is LDP at the smallest level, and only better designs replace it.
    start = np.where(np.eye(size, dtype=bool), 1.0, math.exp(-level))
    every = np.hstack([start, _subset_rays(levels)])
    rays: Floats = np.unique((every / (distribution @ every)).round(15), axis=1)
    first = start / (distribution @ start)
    chosen = np.array([int(np.abs(rays - ray[:, np.newaxis]).sum(axis=0).argmin()) for ray in first.T])
    weights: Floats = distribution @ start / start[0].sum()
    before = np.inf
    for _ in range(60):
        chosen, weights = _solved(rays, chosen, weights, distribution)
        inverse = np.asarray(np.linalg.inv((rays[:, chosen] * weights) @ rays[:, chosen].T), dtype=np.float64)
        now = float(np.trace(inverse))
        slope: Floats = -np.square(inverse @ rays).sum(axis=0)
        # At the optimum, the slope of every ray in use equals its cost at the dual prices; each value has one price.
        price = np.asarray(np.linalg.lstsq(rays[:, chosen].T, slope[chosen], rcond=None)[0], dtype=np.float64)
        gain = slope - price @ rays
        entering = np.argsort(gain)[: 2 * size]
        entering = entering[gain[entering] < -1e-7 * now]
        if not len(entering) or before - now < 1e-8 * now:
            new_rays = _priced(levels, distribution, inverse, price, rays[:, chosen], 1e-6 * now)
            if not new_rays.size:
                break
            entering = np.arange(rays.shape[1], rays.shape[1] + new_rays.shape[1])
            rays = np.hstack([rays, new_rays])
        before = now
        fresh = np.setdiff1d(entering, chosen)
        chosen, weights = np.append(chosen, fresh), np.append(weights, np.zeros(len(fresh)))
    return rays[:, chosen], weights


def _priced(
    levels: Floats, distribution: Floats, inverse: Floats, price: Floats, starts: Floats, threshold: float
) -> Floats:
    """Return rays whose slope is below their cost at the dual prices by more than ``threshold``, shape (k, m); m may be
    0.

    The function |M^-1 v|^2 + price . v is convex in v. So from every start, a sequence of linear programs increases the
    function until it reaches a corner of the cone's section p . v = 1. Each corner is a ray. The search may miss the
    best ray.
    """
    size = len(distribution)
    bounded = [(x, other) for x in range(size) for other in range(size) if x != other and np.isfinite(levels[x, other])]
    cone = np.zeros((len(bounded), size))
    for row, (x, other) in enumerate(bounded):
        cone[row, x], cone[row, other] = np.exp(-levels[x, other]), -1.0
    better = []
    for ray in starts.T:
        value = -np.inf
        while (gain := float(((inverse @ ray) ** 2).sum() + price @ ray)) > value + 1e-9 * abs(value):
            best, value = ray, gain
            climb = 2 * inverse @ (inverse @ ray) + price
            step = optimize.linprog(-climb, cone, np.zeros(len(cone)), distribution[np.newaxis], [1.0])
            if step.x is None:
                break
            # The solver's corner is exact to 10^-7 only, so entries that violate a level are raised.
            ray = (np.maximum(step.x, 0)[:, np.newaxis] * np.exp(-levels)).max(axis=0)
            ray = ray / (distribution @ ray)
        if value > threshold:
            better.append(best)
    return np.unique(np.array(better).round(15), axis=0).T if better else np.empty((size, 0))


def _subset_rays(levels: Floats) -> Floats:
    """Return for each subset S two rays, (k, m), that are 1 on S, and elsewhere as low or as high as the levels
    allow."""
    size = len(levels)
    rays = []
    for members in itertools.product((False, True), repeat=size):
        if any(members):
            rays.append(np.exp(-levels[list(members)]).max(axis=0))
            highest = levels[:, list(members)].min(axis=1)
            if np.isfinite(highest).all():
                rays.append(np.exp(highest))
    return np.array(rays).T


def _solved(rays: Floats, chosen: Integers, weights: Floats, distribution: Floats) -> tuple[Integers, Floats]:
    """Return the chosen rays whose optimal weight is positive, and the optimal weights."""
    v, ones = rays[:, chosen], np.ones(len(distribution))
    scale = float(np.trace(np.linalg.inv((v * weights) @ v.T)))

    def error(w: Floats) -> tuple[float, Floats]:
        try:
            root = np.linalg.inv(np.linalg.cholesky((v * np.maximum(w, 0)) @ v.T))
        except np.linalg.LinAlgError:
            return 1e9, np.zeros_like(w)  # the matrix is singular
        inverse = root.T @ root
        return float(np.trace(inverse)) / scale, -((inverse @ v) ** 2).sum(axis=0) / scale

    result = optimize.minimize(
        error,
        weights,
        jac=True,
        method="SLSQP",
        bounds=[(0, None)] * len(weights),
        constraints={"type": "eq", "fun": lambda w: v @ w - ones, "jac": lambda w: v},
        options={"ftol": 1e-12, "maxiter": 200},
    )
    best = np.maximum(result.x, 0)
    if np.abs(v @ best - ones).max() > 1e-11 or not error(best)[0] <= 1:
        best = weights
    used = best > 0
    return chosen[used], best[used]


def _without(rays: Floats, weights: Floats, distribution: Floats, faint: float) -> tuple[Floats, Floats]:
    """Return the design without rays of very small weight; the other weights change only as much as their sum requires.
    If a weight would then not be above zero, return the whole design."""
    strong = weights > faint
    v, w = rays[:, strong], weights[strong]
    w = w + np.linalg.lstsq(v, np.ones(len(distribution)) - v @ w, rcond=None)[0]
    return (v, w) if w.min() > 0 else (rays, weights)


def _integer_table(rays: Floats, weights: Floats) -> Table:
    cells = [[Fraction(cell) for cell in row] for row in (rays * weights).tolist()]
    return Table.rounded([[cell / sum(row) for cell in row] for row in cells])
