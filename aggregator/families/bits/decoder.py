"""The decoder of bit vectors.

The bit of input x is 1 with probability a[x] if x is the true input, else with probability b[x], independently of the
other bits. So with the mean features f

    p[x] = (f[x] - b[x]) / (a[x] - b[x])                                   (Gu et al. 2020, eq. 6)

and two bits y_i and y_j of a report are correlated only because a person has one input,

    E[y_i y_j] = b_i b_j + p_i (a_i - b_i) b_j + p_j (a_j - b_j) b_i       for i other than j

So the variance of any linear query is a sum over the inputs, and not over their pairs.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from aggregator.families.decoder import BinomialSteps, Decoder, Floats, Integers
from protocol.channels.bits.channel import Bits, S


class BitsDecoder(Decoder):
    """Decoder with a diagonal left inverse and an intercept. Features are bits, whose shares do not sum to one."""

    one_hot: ClassVar[bool] = False

    def __init__(self, channel: Bits) -> None:
        self.input_count = self.features = channel.input_count
        class_of = np.asarray(channel.class_of, dtype=np.int64)
        self._a: Floats = np.array([weight / S for weight in channel.own_weights])[class_of]
        self._b: Floats = np.array([weight / S for weight in channel.other_weights])[class_of]
        # The weights are subtracted as integers, because the difference of two close floats loses digits.
        gaps = [(a - b) / S for a, b in zip(channel.own_weights, channel.other_weights, strict=True)]
        self._a_minus_b: Floats = np.array(gaps)[class_of]

    def forward(self, p: Floats) -> Floats:
        features: Floats = self._b * p.sum() + self._a_minus_b * p
        return features

    def forward_squares(self, p: Floats) -> Floats:
        raise ValueError(
            "a report has several bits, so the mean of squared output probabilities is not defined: check ``one_hot`` "
            "first"
        )

    def backward(self, w: Floats) -> Floats:
        return self._b @ w + self._a_minus_b * w

    def intercept(self, v: Floats) -> float:
        return -float(v @ (self._b / self._a_minus_b))

    def invert(self, mean_features: Floats) -> Floats:
        return (mean_features - self._b) / self._a_minus_b

    def adjoint(self, v: Floats) -> Floats:
        return v / self._a_minus_b

    def variances(self, mean_features: Floats) -> Floats:
        return mean_features * (1 - mean_features) / self._a_minus_b**2

    def variance(self, v: Floats, mean_features: Floats) -> float:
        # For i other than j, Cov(f_i, f_j) = -p_i p_j (a_i - b_i) (a_j - b_j).
        weighted = v * self.invert(mean_features)
        alone = float(v**2 @ self.variances(mean_features))
        # With estimated shares, the variance may be slightly negative.
        return max(alone - float(weighted.sum() ** 2 - weighted @ weighted), 0.0)

    def binomial_steps(self, counts: Integers, reports: int) -> BinomialSteps:
        # The outputs S_x of the step are the bit vectors in which the bit of x is set, with p* = a and q* = b.
        return BinomialSteps(-self._b / self._a_minus_b, 1 / self._a_minus_b[np.newaxis], counts[np.newaxis], reports)

    @property
    def ceiling(self) -> Floats:
        return self._a.copy()

    @property
    def people_per_report(self) -> float:
        return float((np.maximum(1 - self._b, self._b) / self._a_minus_b).max())
