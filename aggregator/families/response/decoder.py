"""The decoder of randomised response.

Output y has probability c[y] (the cover), plus t (the truth) if the input is y. So p[x] = (f[x] - c[x]) / t with
the relative frequencies f of the outputs.
"""

from __future__ import annotations

import numpy as np

from aggregator.families.decoder import BinomialSteps, Decoder, Floats, Integers, NotInvertible
from protocol.channels import RandomizedResponse


class ResponseDecoder(Decoder):
    """Decoder of randomised response, with L[y, x] = ([y = x] - c[x]) / t and Q(y|x) = c[y] + t [y = x]."""

    def __init__(self, channel: RandomizedResponse) -> None:
        self.input_count = self.features = channel.input_count
        unit = 1 << channel.scale
        cover = np.array([weight / unit for weight in channel.cover])
        self._cover: Floats = np.broadcast_to(cover, channel.input_count)
        self._truth = channel.truth / unit

    def forward(self, p: Floats) -> Floats:
        distribution: Floats = self._cover * p.sum() + self._truth * p
        return distribution

    def forward_squares(self, p: Floats) -> Floats:
        distribution: Floats = self._cover**2 * p.sum() + self._truth * (2 * self._cover + self._truth) * p
        return distribution

    def backward(self, w: Floats) -> Floats:
        return self._cover @ w + self._truth * w

    def invert(self, mean_features: Floats) -> Floats:
        raw: Floats = (mean_features - self._cover * mean_features.sum()) / self._checked_truth
        return raw

    def adjoint(self, v: Floats) -> Floats:
        return (v - self._cover @ v) / self._checked_truth

    def variances(self, mean_features: Floats) -> Floats:
        truth, others = (1 - self._cover) ** 2, self._cover**2
        moment: Floats = (
            mean_features * truth + (mean_features.sum() - mean_features) * others
        ) / self._checked_truth**2
        return moment - self.invert(mean_features) ** 2

    def binomial_steps(self, counts: Integers, reports: int) -> BinomialSteps:
        # The outputs S_x of the step are {x}, with p* = c[x] + t and q* = c[x].
        height = np.full((1, self.input_count), 1 / self._checked_truth)
        return BinomialSteps(-self._cover / self._checked_truth, height, counts[np.newaxis], reports)

    @property
    def ceiling(self) -> Floats:
        return self._cover + self._truth

    @property
    def people_per_report(self) -> float:
        return float(np.maximum(1 - self._cover, self._cover).max() / self._checked_truth)

    @property
    def _checked_truth(self) -> float:
        if not self._truth:
            raise NotInvertible(
                "the outputs do not depend on the answers, so nothing can be estimated; the author must choose a "
                "higher level"
            )
        return self._truth
