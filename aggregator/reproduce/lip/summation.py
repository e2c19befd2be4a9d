"""The best LIP channel for a sum, as a comparator: what a report tells of one number, not of a whole histogram.

The same linear program as that of ``design.columns``, a mixture of posteriors with the prior as its mean,
but a posterior is worth the squared shift of the number's mean, (sum over x of P[x] f[x] lift[x])^2. That is convex
along one direction only, so the posterior that prices ask for is the greedy filling for one of a line of slopes.

Campaigns ask for distributions, and their channels are made for those: design.choice.
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
from protocol.notions import Information, certify

_SLOPES = 129
"""Slopes at which a posterior is looked for; between two of them, one as good to four digits is found."""

_ROUNDS = 200
_CLOSE = 1e-6
"""A search ends when no posterior could add more than this part of the variance."""


def sum_mse(channel: Channel, prior: Sequence[int], values: Sequence[float]) -> float:
    """E[(f(X) - E[f(X)|Y])^2] of one person under the prior   (Jiang, Li, Tandon 2019, eq. 14).

    Args:
        prior: positive integers, P[x] = prior[x] / sum.
        values: f.
    """
    law, f = np.asarray(prior, dtype=np.float64) / sum(prior), np.asarray(values, dtype=np.float64)
    decoder = decoder_of(channel)
    marginal, mean = decoder.forward(law), decoder.forward(law * f)
    told = np.divide(mean**2, marginal, out=np.zeros_like(mean), where=marginal > 0)
    return float(law @ f**2 - told.sum())


def best_for_sum(prior: Sequence[int], values: Sequence[float], level: int) -> Table:
    """The LIP channel of the least ``sum_mse``, to about four digits of what it gains.

    Args:
        prior: positive integers.
        values: f, not all the same.
        level: nanonats.
    Raises:
        Uncertified: no rounding was found that keeps the level.
    """
    notion = Information(level, tuple(prior))
    law = np.asarray(prior, dtype=np.float64) / sum(prior)
    for attempt in range(ATTEMPTS):
        lifts, weights = _mixture(
            law, np.asarray(values, dtype=np.float64), level / NANONATS * (1 - SHRINK * 4**attempt)
        )
        rows = [[Fraction(cell) for cell in row] for row in (lifts * weights[:, np.newaxis]).T.tolist()]
        table = Table.nearest([[cell / sum(row) for cell in row] for row in rows])
        try:
            certify(table, notion)
        except Uncertified:
            continue
        return table
    raise Uncertified(f"no rounding of the best table for a sum keeps {exact.nats(level):g} nats")


def _mixture(law: Floats, f: Floats, level: float) -> tuple[Floats, Floats]:
    """(t, k) lifts and (t,) weights."""
    b = math.exp(level)
    centred = law * (f - law @ f)
    variance = float(centred @ f)
    slopes = np.linspace(-1, 1, _SLOPES) * math.sqrt(variance) * b
    pool = np.concatenate([np.ones((1, len(law))), _filled(2 * np.outer(slopes, centred), law, b)])
    for _ in range(_ROUNDS):
        worth = (pool @ centred) ** 2
        solved = linprog(-worth, A_eq=pool.T * law[:, np.newaxis], b_eq=law, method="highs")
        if solved.x is None:
            raise ChannelError(f"the linear program of the channel was not solved: {solved.message}")
        prices = -solved.eqlin.marginals * law
        found = _filled(2 * np.outer(slopes, centred) - prices, law, b)
        gains = (found @ centred) ** 2 - found @ prices
        better = found[gains > _CLOSE * variance]
        if not len(better):
            break
        pool = np.concatenate([pool, better])
    used = solved.x > 1e-12
    lifts = pool[used]
    # The program's weights are good to seven digits; these to all that floats have.
    weights = np.linalg.lstsq(lifts.T, np.ones(len(law)), rcond=None)[0]
    if weights.min() < 0:
        weights = solved.x[used]
    return lifts, weights


def _filled(gains: Floats, law: Floats, b: float) -> Floats:
    """(r, k) gains -> (r, k): the lifts between 1 / b and b, of mean one, that gain most: a knapsack filled "
    "greedily."""
    order = np.argsort(-gains / law, axis=1, kind="stable")
    costs = law[order] * (b - 1 / b)
    before = np.cumsum(costs, axis=1) - costs
    part = np.clip((1 - 1 / b - before) / costs, 0, 1)
    lifts = np.empty_like(gains)
    np.put_along_axis(lifts, order, 1 / b + part * (b - 1 / b), axis=1)
    return np.unique(lifts, axis=0)
