"""The decoder of a table, which uses the least-squares left inverse.

Among all unbiased linear estimates, the estimate with the least error at reference shares r weights each output by the
inverse of its probability at r (generalised least squares, Aitken 1935):

    L = D^-1 Q' (Q D^-1 Q')^-1,     D = diag(r @ Q)

If a table has as many outputs as inputs, L is the inverse of Q for every r.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from aggregator.families.decoder import BinomialSteps, Decoder, Floats, Integers, NotInvertible
from protocol.channels import Table

SINGULAR = 1e-10
"""Singular values below this fraction of the largest one are treated as zero; in their direction the error would be
10^10 times as large."""


class TableDecoder(Decoder):
    """Decoder that stores Q and L; a table has at most 2^20 cells."""

    def __init__(self, channel: Table, reference: Sequence[float] | Floats | None = None) -> None:
        self.input_count, self.features = channel.input_count, channel.output_count
        self._distribution = np.array([[weight / (1 << channel.scale) for weight in row] for row in channel.rows])
        self._reference = (
            np.full(self.input_count, 1 / self.input_count) if reference is None else np.asarray(reference)
        )

    @cached_property
    def _inverse(self) -> Floats:
        marginal = self._reference @ self._distribution
        possible = marginal > 0  # other outputs never occur
        root = np.sqrt(np.where(possible, marginal, 1.0))
        left, singular, right = np.linalg.svd(self._distribution / root, full_matrices=False)
        if np.count_nonzero(singular > SINGULAR * singular[0]) < self.input_count:
            raise NotInvertible(
                "under this channel, different shares of the values can give the same distribution of reports, so "
                "there is no unbiased estimate: use method 'em', or with a prior 'mmse' or 'map'. A "
                "new campaign whose channel has more outputs may have an unbiased estimate"
            )
        inverse: Floats = (right.T / singular) @ left.T / root[:, np.newaxis]
        inverse[~possible] = 0
        return inverse

    def forward(self, p: Floats) -> Floats:
        distribution: Floats = p @ self._distribution
        return distribution

    def forward_squares(self, p: Floats) -> Floats:
        distribution: Floats = p @ self._distribution**2
        return distribution

    def backward(self, w: Floats) -> Floats:
        return self._distribution @ w

    def invert(self, mean_features: Floats) -> Floats:
        return mean_features @ self._inverse

    def adjoint(self, v: Floats) -> Floats:
        return self._inverse @ v

    def variances(self, mean_features: Floats) -> Floats:
        moment: Floats = mean_features @ self._inverse**2
        return moment - self.invert(mean_features) ** 2

    def binomial_steps(self, counts: Integers, reports: int) -> BinomialSteps:
        order = np.argsort(-self._inverse, axis=0, kind="stable")
        descending = np.take_along_axis(self._inverse, order, axis=0)
        heights = descending[:-1] - descending[1:]
        heights[heights < SINGULAR * self.people_per_report] = 0  # these differ by rounding only
        reached = np.cumsum(counts[order], axis=0)[:-1]
        return BinomialSteps(descending[-1], heights, reached, reports)

    @property
    def ceiling(self) -> Floats:
        largest: Floats = self._distribution.max(axis=0)
        return largest

    @property
    def people_per_report(self) -> float:
        return float(np.abs(self._inverse).max())
