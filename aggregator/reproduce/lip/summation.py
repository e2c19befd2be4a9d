"""The best LIP channel for the sum of one number per person, for comparison with channels for histograms.

The linear program is that of ``aggregator.families.table.column_generation``: a mixture of posteriors whose mean is the
prior. But the worth of a posterior is the squared mean of the centred number, (sum over x of P[x] f[x] lift[x])^2. This
worth is convex along one direction only. So for given dual prices of the values, the best posterior is found by trying
slopes of a tangent of the square; for one slope, a greedy rule as for a knapsack gives the posterior.

The channels of campaigns are chosen for distributions, by ``aggregator.planner.choice``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from aggregator.families.decoder import Floats
from aggregator.families.registry import decoder_of
from aggregator.families.table.prior_table import ATTEMPTS, SHRINK
from protocol import exact
from protocol.channels import Channel, Table
from protocol.errors import ChannelError, Uncertified
from protocol.exact import NANONATS
from protocol.notions import Lip, certify

_SLOPES = 129
"""Number of slopes at which posteriors are sought; the optimum is found to about four digits."""

_ROUNDS = 200
_CLOSE = 1e-6
"""The search ends if no posterior can add more than this share of the variance."""


def sum_mse(channel: Channel, prior: Sequence[int], values: Sequence[float]) -> float:
    """Return the expected squared error E[(f(X) - E[f(X)|Y])^2] of one person under the prior (Jiang, Li, Tandon 2019,
    eq. 14).

    Args:
        prior: positive integers, P[x] = prior[x] / sum.
        values: the number f(x) of each value x.
    """
    distribution, f = np.asarray(prior, dtype=np.float64) / sum(prior), np.asarray(values, dtype=np.float64)
    decoder = decoder_of(channel)
    marginal, mean = decoder.forward(distribution), decoder.forward(distribution * f)
    explained = np.divide(mean**2, marginal, out=np.zeros_like(mean), where=marginal > 0)
    return float(distribution @ f**2 - explained.sum())


def best_for_sum(prior: Sequence[int], values: Sequence[float], level: int) -> Table:
    """Return the LIP channel with the least ``sum_mse``, to about four digits of its gain over the prior.

    Args:
        prior: positive integers.
        values: the number f(x) of each value x; not all numbers may be the same.
        level: the LIP level in nanonats.
    Raises:
        ChannelError: the linear program was not solved.
        Uncertified: no rounding was found that satisfies the level.
    """
    notion = Lip(level, tuple(prior))
    distribution = np.asarray(prior, dtype=np.float64) / sum(prior)
    for attempt in range(ATTEMPTS):
        lifts, weights = _mixture(
            distribution, np.asarray(values, dtype=np.float64), level / NANONATS * (1 - SHRINK * 4**attempt)
        )
        rows = [[Fraction(cell) for cell in row] for row in (lifts * weights[:, np.newaxis]).T.tolist()]
        table = Table.rounded([[cell / sum(row) for cell in row] for row in rows])
        try:
            certify(table, notion)
        except Uncertified:
            continue
        return table
    raise Uncertified(f"no rounding of the best table for a sum satisfies {exact.in_nats(level)}: use another level")


def _mixture(distribution: Floats, f: Floats, nats: float) -> tuple[Floats, Floats]:
    """Return the lifts, shape (t, k), and the weights, (t,), of the optimal mixture."""
    b = math.exp(nats)
    centred = distribution * (f - distribution @ f)
    variance = float(centred @ f)
    slopes = np.linspace(-1, 1, _SLOPES) * math.sqrt(variance) * b
    pool = np.concatenate([np.ones((1, len(distribution))), _filled(2 * np.outer(slopes, centred), distribution, b)])
    for _ in range(_ROUNDS):
        worth = (pool @ centred) ** 2
        solved = linprog(-worth, A_eq=pool.T * distribution[:, np.newaxis], b_eq=distribution, method="highs")
        if solved.x is None:
            raise ChannelError(f"the linear program of the channel was not solved: {solved.message}")
        prices = -solved.eqlin.marginals * distribution
        proposals = _filled(2 * np.outer(slopes, centred) - prices, distribution, b)
        gains = (proposals @ centred) ** 2 - proposals @ prices
        better = proposals[gains > _CLOSE * variance]
        if not len(better):
            break
        pool = np.concatenate([pool, better])
    used = solved.x > 1e-12
    lifts = pool[used]
    # The linear program's weights have seven correct digits; these are exact up to float rounding.
    weights = np.linalg.lstsq(lifts.T, np.ones(len(distribution)), rcond=None)[0]
    if weights.min() < 0:
        weights = solved.x[used]
    return lifts, weights


def _filled(gains: Floats, distribution: Floats, b: float) -> Floats:
    """Return the lifts with the largest gain for the rows of ``gains``, (r, k), by the greedy rule for a knapsack: each
    different result once, at most (r, k). The lifts are between 1 / b and b, and their mean under the prior is one."""
    order = np.argsort(-gains / distribution, axis=1, kind="stable")
    costs = distribution[order] * (b - 1 / b)
    before = np.cumsum(costs, axis=1) - costs
    part = np.clip((1 - 1 / b - before) / costs, 0, 1)
    lifts = np.empty_like(gains)
    np.put_along_axis(lifts, order, 1 / b + part * (b - 1 / b), axis=1)
    return np.unique(lifts, axis=0)
