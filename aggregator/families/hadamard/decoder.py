"""The decoder of Hadamard response.

A report counts for the inputs whose row is +1 at the report's column, and with the same weight against all other
inputs:

    L[y, x] = (+1 or -1) / (2 pi - 1)                      (pi: the probability of the truth)
    p[x] = (t[S_x] - t / 2) / (pi - 1/2)                   (Acharya, Sun, Zhang 2019, with t = 1)

S_x is the set of columns where row x is +1, t[S_x] the share of reports in S_x, and t the sum of all shares (below 1
inside a block).

Sums over rows are a Walsh-Hadamard transform. All vectors may have leading axes: one vector for each of many blocks
that have this channel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggregator.families.decoder import BinomialSteps, Decoder, Floats, Integers
from protocol.channels import Hadamard
from protocol.channels.hadamard.channel import ONE


class HadamardDecoder(Decoder):
    """Decoder of Hadamard response, in which each multiplication takes one Walsh-Hadamard transform."""

    def __init__(self, channel: Hadamard) -> None:
        self.input_count, self.features = channel.input_count, channel.output_count
        # This is 2 pi - 1 of the formula above.
        self._contrast = (2 * channel.truth - ONE) / ONE
        self._rows = slice(1, channel.input_count + 1)

    def forward(self, p: Floats) -> Floats:
        # The probability of a column is (sum of p + (2 pi - 1) sum of +-p) / K.
        return self._spread(p, 1.0, self._contrast) / self.features

    def forward_squares(self, p: Floats) -> Floats:
        # The squares are (1 +- c)^2 = (1 + c^2) +- 2 c.
        return self._spread(p, 1 + self._contrast**2, 2 * self._contrast) / self.features**2

    def _spread(self, p: Floats, even: float, odd: float) -> Floats:
        distribution: Floats = even * p.sum(axis=-1, keepdims=True) + odd * self._over_rows(p)
        return distribution

    def backward(self, w: Floats) -> Floats:
        mean: Floats = (w.sum(axis=-1, keepdims=True) + self._contrast * self._over_columns(w)) / self.features
        return mean

    def invert(self, mean_features: Floats) -> Floats:
        return self._over_columns(mean_features) / self._contrast

    def adjoint(self, v: Floats) -> Floats:
        return self._over_rows(v) / self._contrast

    def variances(self, mean_features: Floats) -> Floats:
        moment: Floats = mean_features.sum(axis=-1, keepdims=True) / self._contrast**2
        return moment - self.invert(mean_features) ** 2

    def binomial_steps(self, counts: Integers, reports: int) -> BinomialSteps:
        # The outputs S_x of the step are the columns where row x is +1, with p* = pi and q* = 1/2.
        reached = (counts.sum(axis=-1, keepdims=True) + self._over_columns(counts)) // 2
        height = np.full((1, *reached.shape), 2 / self._contrast)
        return BinomialSteps(np.full(reached.shape, -1 / self._contrast), height, reached[np.newaxis], reports)

    @property
    def ceiling(self) -> Floats:
        # This is an upper bound: if a column is +1 in no input's row, its probability is smaller.
        return np.full(self.features, (1 + self._contrast) / self.features)

    @property
    def people_per_report(self) -> float:
        return 1 / self._contrast

    def _over_columns(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Return for each input the sum of the columns with the signs of its row: from (..., K) to (..., k)."""
        return walsh(columns)[..., self._rows]

    def _over_rows(self, numbers: Floats) -> Floats:
        """Return for each column the sum of the inputs' numbers with its signs: from (..., k) to (..., K)."""
        rows = np.zeros((*numbers.shape[:-1], self.features))
        rows[..., self._rows] = numbers
        return walsh(rows)


def walsh(vectors: NDArray[Any]) -> NDArray[Any]:
    """Return the product of Sylvester's Hadamard matrix with each vector.

        out[..., r] = sum over c of (-1)^popcount(r & c) * vectors[..., c]

    The matrix of order 2K consists of four copies of the matrix of order K, of which the last is negated. So log2 K
    passes of sums and differences multiply a vector by the matrix of order K in K log2 K steps.

    Args:
        vectors: (..., K) the vectors; K is a power of two. Integers stay integers, so counts are transformed exactly.
    Raises:
        ValueError: K is not a power of two.
    """
    order = vectors.shape[-1]
    if order < 1 or order & (order - 1):
        raise ValueError(f"the length of a vector to transform must be a power of two, not {order}")
    out = np.array(vectors, order="C")
    half = 1
    while half < order:
        pairs = out.reshape(-1, order // (2 * half), 2, half)
        upper = pairs[:, :, 0] + pairs[:, :, 1]
        pairs[:, :, 1] = pairs[:, :, 0] - pairs[:, :, 1]
        pairs[:, :, 0] = upper
        half *= 2
    return out
