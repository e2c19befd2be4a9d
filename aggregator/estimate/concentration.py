"""Estimate of how concentrated people are inside the districts of a map.

With few reports for each cell, the projection puts all shares into the few cells whose estimates are largest by chance.
If people are concentrated, these are often the right cells. If people are spread evenly, an even spread inside each
parent is closer to the truth. The reports decide between the two. Among the mixtures f projected + (1 - f) even, inside
parents whose shares are given, the mixture with the smallest squared error has

    f = sum u (p - even) / sum u^2,    u = projected - even

The unbiased estimate of f replaces p by the raw estimate, and subtracts from the numerator the contribution of the
noise, which is the divergence of the projection (Stein 1981, theorem 1). The mean squared error of this numerator is at
most sum u^2 v plus the trace of the squared matrix of the divergence (Bellec, Zhang 2021, theorem 2.1).

Each resolution uses the f of the next coarser resolution (1 at the coarsest), unless the estimate at this resolution
contradicts it. Then f is the nearest end of the confidence interval of the estimate. A mixture inside parents does not
change the sum of a parent, the unbiased estimates, or their intervals. (MATH 8.3)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aggregator.estimate.interval import critical_value
from aggregator.families.decoder import Floats, Integers

DOUBT = 0.05
"""The probability that the confidence interval of f does not contain f."""


@dataclass(frozen=True)
class Children:
    """The districts of one resolution inside parents whose shares are given.

    Attributes:
        raw: (k,) unbiased shares.
        variances: (k,) the variances of the estimates from each district's own subtree; inside a parent they are
            proportional to the variances that weighted the projection.
        parent: (k,) the parent of each district.
        above: (parents,) the shares of the parents, which may differ from the sums of ``raw``.
        projected, even: (k,) the shares of the parents, distributed over their districts by projection or evenly.
    """

    raw: Floats
    variances: Floats
    parent: Integers
    above: Floats
    projected: Floats
    even: Floats

    def weight(self) -> tuple[float, float]:
        """Return the estimate of f, the weight of the projection in the best mixture, and the standard error of the
        estimate.

        Inside a parent of known share, the errors of the estimates have the covariance diag(v) - v v' / sum(v). Let A
        be the set of districts with a positive projected share. Projected on A, the covariance is diag(v_A) - v_A v_A'
        / sum(v_A). The divergence is the trace of this matrix.

        Only parents whose share is at least one standard error of their districts are used. In smaller parents a single
        district keeps a positive share, and the choice of this district is not a smooth function of the counts.

        Returns:
            f, not clipped, and its standard error, which is infinite if no parent is used.
        """
        v, parent, count = self.variances, self.parent, len(self.above)

        def sums(numbers: Floats) -> Floats:
            return np.bincount(parent, numbers, count).astype(np.float64)

        total = sums(v)
        large = (self.above > 0) & (self.above**2 * np.bincount(parent, minlength=count) >= total)
        positive = np.where(self.projected > 0, v, 0.0)
        first, second, third = sums(positive), sums(positive**2), sums(positive**3)
        mean, skew = (np.divide(moment, first, out=np.zeros(count), where=first > 0) for moment in (second, third))
        u = np.where(large[parent], self.projected - self.even, 0.0)
        size = float(u @ u)
        if size <= 0:
            return 0.0, math.inf
        share = np.divide(v, total[parent], out=np.zeros_like(v), where=total[parent] > 0)
        conditional = self.raw + share * (self.above - sums(self.raw))[parent]
        divergence = (first - mean)[large].sum()
        trace = (second - 2 * skew + mean**2)[large].sum()
        numerator = float(u @ (conditional - self.even) - divergence)
        return numerator / size, math.sqrt(max(float(u**2 @ v + trace), 0.0)) / size

    def mixed(self, weight: float) -> tuple[Floats, float]:
        """Return the mixed shares, and the weight f of the projection in the mixture.

        Args:
            weight: the weight f of the next coarser resolution, which is used unless the reports contradict it.
        Returns:
            (k,) shares, and f.
        """
        estimate, error = self.weight()
        if math.isfinite(error):
            doubt = critical_value(DOUBT) * error
            weight = min(max(weight, estimate - doubt, 0.0), max(estimate + doubt, 0.0), 1.0)
        return weight * self.projected + (1 - weight) * self.even, weight
