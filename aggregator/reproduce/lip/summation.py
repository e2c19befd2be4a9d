"""The best LIP channel for the sum of one number per person, for comparison with channels for histograms.

The linear program is that of ``aggregator.families.table.column_generation``: a mixture of posteriors whose mean is the
prior. But the worth of a posterior is the squared mean of the centred number, (sum over x of P[x] f[x] lift[x])^2. It
is the largest of the tangents of the square, and a tangent is linear in the lifts. So for given dual prices of the
values, the best posterior is found by trying slopes of a tangent; for one slope, a greedy rule as for a knapsack gives
the posterior.

The channels of campaigns are chosen for distributions, by ``aggregator.planner.choice``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aggregator.families.decoder import Floats
from aggregator.families.registry import decoder_of
from aggregator.families.table.column_generation import Coordinates, Mixture, best_mixture
from aggregator.families.table.prior_table import certified_table
from protocol.channels import Channel, Table
from protocol.notions import Lip

_SLOPES = 129
"""Number of slopes at which posteriors are sought; the optimum is found to about four digits."""


@dataclass(frozen=True)
class SumCoordinates(Coordinates):
    """Variables of the linear program for a sum; each input is a class by itself.

    Attributes:
        centred: (k,) P[x] (f[x] - E[f(X)]).
    """

    centred: Floats

    def squared_posterior(self, lifts: Floats) -> Floats:
        """Return the squared mean of the centred number for each row of lifts: from (c, n) to (c,)."""
        return (lifts @ self.centred) ** 2

    def greedy_corners(self, gains: Floats, prices: Floats) -> Floats:
        """Return the best corners for several slopes of a tangent of the square; ``gains`` is not used."""
        deviation = math.sqrt(float(self.centred**2 @ (1 / self.mass)))
        slopes = np.linspace(-1, 1, _SLOPES) * deviation * self.high
        return super().greedy_corners(2 * np.outer(slopes, self.centred) - prices, prices)


def sum_mse(channel: Channel, prior: Sequence[int], values: Sequence[float]) -> float:
    """Return the expected squared error E[(f(X) - E[f(X)|Y])^2] of one person under the prior (Jiang, Li, Tandon 2020,
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
    mass, f = np.asarray(prior, dtype=np.float64) / sum(prior), np.asarray(values, dtype=np.float64)
    centred = mass * (f - mass @ f)

    def mixture(nats: float) -> Mixture:
        bound = math.exp(nats)
        return best_mixture(SumCoordinates(mass, mass**2, 0 * mass, 1 / bound, bound, 1.0, 1.0, centred))

    return certified_table(Lip(level, tuple(prior)), mixture)
