"""The decoder of subset selection, in which each report counts for d values.

Bit x of a report is set with probability p* from input x and q* from every other input. So p[x] is (f[x] - q*) / (p* -
q*) with the mean features f, and each estimate depends on one binomial count. Two estimates are correlated, because a
report has exactly d ones; their covariance follows from the shares.

The channel's remainder changes q* by less than 2^-64 of p* - q*, and is left out.
"""

from __future__ import annotations

import numpy as np

from aggregator.families.decoder import BinomialSteps, Decoder, Floats, Integers
from protocol.channels.sets.subset import SubsetSelection


class SubsetDecoder(Decoder):
    """Decoder whose features are the k bits of a report, which sum to d; L is the identity divided by p* - q*."""

    one_hot = False

    def __init__(self, channel: SubsetSelection) -> None:
        self.input_count = self.features = channel.input_count
        k, d = channel.input_count, channel.ones
        self._ones = d
        unit = 1 << channel.scale
        mine = channel.support * channel.inside  # 2^128 p*
        self._inside = mine / unit
        # q* is the expected number of other ones, divided by k - 1. p* - q* is computed without cancellation.
        self._outside = (unit * d - mine) / (unit * (k - 1))
        self._gap = (mine * k - unit * d) / (unit * (k - 1))
        # These are the probabilities that two bits are both set: first the bits of the true input and of another value,
        # then the bits of two other values. Given the bit of the true input, the rest of a set is uniform.
        self._with_own = mine * (d - 1) / (unit * (k - 1))
        self._two_others = (mine * (d - 1) * (d - 2) + (unit - mine) * d * (d - 1)) / (unit * (k - 1) * (k - 2))

    def forward(self, p: Floats) -> Floats:
        mean: Floats = self._outside * p.sum() + self._gap * p
        return mean

    def forward_squares(self, p: Floats) -> Floats:
        raise ValueError(
            "a report has d bits set, so the mean of squared output probabilities is not defined: check ``one_hot`` "
            "first"
        )

    def backward(self, w: Floats) -> Floats:
        mean: Floats = self._outside * w.sum() + self._gap * w
        return mean

    def intercept(self, v: Floats) -> float:
        return float(-self._outside * v.sum() / self._gap)

    def invert(self, mean_features: Floats) -> Floats:
        return (mean_features - self._outside) / self._gap

    def adjoint(self, v: Floats) -> Floats:
        return v / self._gap

    def variances(self, mean_features: Floats) -> Floats:
        return mean_features * (1 - mean_features) / self._gap**2

    def variance(self, v: Floats, mean_features: Floats) -> float:
        """Return the variance of one report's contribution to the estimate of v . p; the bits of a report are
        dependent.

            E[b_i b_j] = a (p_i + p_j) + c (1 - p_i - p_j)      for i other than j

        where a applies to the bits of the true input and another input, c to the bits of two other inputs, and p is the
        estimate.
        """
        p = self.invert(mean_features)
        # Both sums are over i other than j.
        sum_of_products = v.sum() ** 2 - v @ v
        weighted_sum_of_products = 2 * (v.sum() * (v @ p) - v**2 @ p)
        second = (
            v**2 @ mean_features
            + self._two_others * sum_of_products
            + (self._with_own - self._two_others) * weighted_sum_of_products
        )
        return float(max(second - (v @ mean_features) ** 2, 0.0)) / self._gap**2

    def furthest(self, v: Floats, mean_features: Floats) -> float:
        phi = np.sort(self.adjoint(v))  # a report has d features
        mean = float(mean_features @ self.adjoint(v))
        return float(max(phi[-self._ones :].sum() - mean, mean - phi[: self._ones].sum()))

    def binomial_steps(self, counts: Integers, reports: int) -> BinomialSteps:
        base = np.full(self.input_count, -self._outside / self._gap)
        return BinomialSteps(base, np.full((1, self.input_count), 1 / self._gap), counts[np.newaxis], reports)

    @property
    def ceiling(self) -> Floats:
        return np.full(self.features, self._inside)

    @property
    def people_per_report(self) -> float:
        return max(1 - self._outside, self._outside) / self._gap
