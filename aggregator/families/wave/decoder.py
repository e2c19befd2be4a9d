"""The decoder of waves, with multiplication by running sums and the unbiased mean of the numbers.

An output is in the windows of neighbouring inputs, so multiplying by the channel takes one running sum, for any b. The
share of a single number is not estimated, because the estimate would have the noise of a whole window. Distributions
are estimated by maximum likelihood. The mean output is affine in the input, so the mean of evenly spaced numbers has an
unbiased estimate, linear in the counts:

    E[Y given x] = outside m (m - 1) / 2 + (inside - outside) (2 b + 1) (x + b)

The window of an input has 2 b + 1 of the m outputs, each with probability inside; each other output has probability
outside.
"""

from __future__ import annotations

import numpy as np

from aggregator.families.decoder import BinomialSteps, Decoder, Floats, Integers, NotInvertible
from protocol.channels import Wave

EQUAL_STEPS = 1e-9
"""Relative difference up to which the steps between numbers are treated as equal."""


class WaveDecoder(Decoder):
    """Decoder of a wave, with maximum likelihood for distributions and unbiased estimates only for queries affine in
    the input."""

    by_value = False

    def __init__(self, channel: Wave) -> None:
        self.input_count, self.features = channel.input_count, channel.output_count
        unit = 1 << channel.scale
        self._half, self._span = channel.half_width, channel.span
        self._inside, self._outside = channel.inside / unit, channel.outside / unit
        self._gap = (channel.inside - channel.outside) / unit
        outputs = np.arange(self.features)
        self._first = np.maximum(outputs - 2 * channel.half_width, 0)
        self._stop = np.minimum(outputs, self.input_count - 1) + 1

    def _near(self, p: Floats) -> Floats:
        """Return the mass of the inputs whose window contains each output, shape (m,)."""
        ends = np.concatenate([[0.0], np.cumsum(p)])
        mass: Floats = ends[self._stop] - ends[self._first]
        return mass

    def forward(self, p: Floats) -> Floats:
        distribution: Floats = self._outside * p.sum() + self._gap * self._near(p)
        return distribution

    def forward_squares(self, p: Floats) -> Floats:
        distribution: Floats = self._outside**2 * p.sum() + (self._inside**2 - self._outside**2) * self._near(p)
        return distribution

    def backward(self, w: Floats) -> Floats:
        ends = np.concatenate([[0.0], np.cumsum(w)])
        mean: Floats = self._outside * ends[-1] + self._gap * (ends[self._span :] - ends[: self.input_count])
        return mean

    def adjoint(self, v: Floats) -> Floats:
        slope = float(v[-1] - v[0]) / (self.input_count - 1)
        if np.abs(v - (v[0] + slope * np.arange(self.input_count))).max() > EQUAL_STEPS * np.abs(v).max():
            raise NotInvertible(
                "with the wave mechanism, a mean or sum has an unbiased estimate only if the numbers, or their "
                "weights, are evenly spaced: estimate quantiles or the shares of ranges"
            )
        step = slope / (self._gap * self._span)
        start = self._outside * self.features * (self.features - 1) / 2 + self._gap * self._span * self._half
        adds: Floats = v[0] + step * (np.arange(self.features) - start)
        return adds

    @property
    def _refused(self) -> NotInvertible:
        return NotInvertible(
            "the wave mechanism estimates quantiles and the shares of ranges, not of single numbers. Estimate these, "
            "or use method 'smooth', which smooths the shares"
        )

    def invert(self, mean_features: Floats) -> Floats:
        raise self._refused

    def variances(self, mean_features: Floats) -> Floats:
        raise self._refused

    def binomial_steps(self, counts: Integers, reports: int) -> BinomialSteps:
        raise self._refused

    @property
    def ceiling(self) -> Floats:
        return np.full(self.features, self._inside)

    @property
    def people_per_report(self) -> float:
        raise self._refused
