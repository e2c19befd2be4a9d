"""The decoder of graded projective response, which counts reports orthogonal to each input and makes shares sum to one.

S_x is the set of the cs outputs orthogonal to input x, out of K; two such sets have ci outputs in common. These numbers
are the same for all input classes. So t_x, the share of reports in S_x, has the mean

    p_x d_x + sum over x' of p_x' b_x',   d_x = (cs - ci) (inside_x - outside_x),
                                          b_x = ci inside_x + (cs - ci) outside_x

With a = 1 / d, B = a' b / a' 1 for the vector 1 of ones, and h = (b - B) a, which sums to 0, the solution is

    raw = a (t - B - h' t)                                                                         (MATH 4.5)

The sum of raw need not be one. As for bit vectors, a correction makes the sum one: raw' = raw - u (1' raw - 1), where
u is each value's part of the variance of the sum, if the reports are spread evenly over all outputs. With one class and
as many inputs as points, raw and raw' equal the estimate of projective response. The contribution of a report to a
value depends mostly on whether the report is in S_x, and slightly on the output. Intervals are normal if the number of
reports divided by the squared skewness is large enough; otherwise they are the exact intervals of t_x, widened by the
range of b.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from aggregator.families.decoder import BinomialSteps, ContributionBounds, Decoder, Floats, Integers
from aggregator.families.projective.cycle import Cycle
from protocol.channels.graded.channel import GradedProjective

CONSTANT_SUM = 1e-9
"""The variance of the sum is treated as zero below this fraction of the sum of absolute covariances."""


class GradedDecoder(Decoder):
    """Decoder of graded projective response, in which each multiplication takes one sum over orthogonal points."""

    def __init__(self, channel: GradedProjective, *, balanced: bool = True) -> None:
        """Compute the coefficients of the estimate for ``channel``; if ``balanced``, the shares are corrected to sum to
        one."""
        self.input_count, self.features = channel.input_count, channel.output_count
        self._channel, geometry, unit = channel, channel.geometry, 1 << channel.scale
        only_in_one = geometry.support - geometry.shared
        classes = np.asarray(channel.class_of, dtype=np.int64)
        pairs = list(zip(channel.inside, channel.outside, strict=True))
        self._inside = np.array([inside / unit for inside, _ in pairs])[classes]
        self._outside = np.array([outside / unit for _, outside in pairs])[classes]
        d = np.array([only_in_one * (inside - outside) / unit for inside, outside in pairs])[classes]
        # In the formulas above and in MATH 4.5, these are b, a, B, h, g and u. The sum of the raw shares is g't minus a
        # constant.
        self._others = np.array([(geometry.shared * i + only_in_one * o) / unit for i, o in pairs])[classes]
        self._factor: Floats = 1 / d
        self._even = float(self._factor @ self._others / self._factor.sum())
        self._tilt: Floats = (self._others - self._even) * self._factor
        self._of_sum: Floats = self._factor - self._factor.sum() * self._tilt
        self._part = self._balance() if balanced else np.zeros(self.input_count)
        self._balanced = balanced

    def _balance(self) -> Floats:
        """Return u, the covariance of each raw share with the sum divided by the variance of the sum, shape (k,).

        For outputs spread evenly, the covariances of t_x and t_x' are proportional to the identity minus 1 / K.
        """
        g, K = self._of_sum, self.features
        centred = g - g.sum() / K
        covariance: Floats = self._factor * (centred - self._tilt @ centred)
        variance = covariance.sum()
        # If all points are inputs, the shares sum to 1 without a correction.
        if variance <= CONSTANT_SUM * np.abs(covariance).sum():
            return np.zeros(self.input_count)
        part: Floats = covariance / variance
        return part

    @cached_property
    def _cycle(self) -> Cycle:
        return Cycle(self._channel.geometry, self.input_count)

    @property
    def uncorrected(self) -> Decoder:
        return GradedDecoder(self._channel, balanced=False) if self._balanced else self

    def forward(self, p: Floats) -> Floats:
        return self._outside @ p + self._cycle.over_inputs((self._inside - self._outside) * p)

    def forward_squares(self, p: Floats) -> Floats:
        return self._outside**2 @ p + self._cycle.over_inputs((self._inside**2 - self._outside**2) * p)

    def backward(self, w: Floats) -> Floats:
        mean: Floats = self._outside * w.sum() + (self._inside - self._outside) * self._cycle.over_outputs(w)
        return mean

    def invert(self, mean_features: Floats) -> Floats:
        sums, total = self._cycle.over_outputs(mean_features), float(mean_features.sum())
        raw = self._factor * (sums - self._even * total - self._tilt @ sums)
        return raw - self._part * (raw.sum() - total) if self._balanced else raw

    def adjoint(self, v: Floats) -> Floats:
        known = float(v @ self._part)
        rest = (v - known if self._balanced else v) * self._factor
        total = float(rest.sum())
        return self._cycle.over_inputs(rest - total * self._tilt) - total * self._even + known

    @cached_property
    def _common(self) -> tuple[Floats, Floats]:
        """For each output y, less[y] and beyond[y], both (K,): a report of y contributes

            a (1[y in S_x] - less[y]) - u beyond[y]

        to the share of x. beyond[y] is the sum of the report's raw shares minus 1.
        """
        over_inputs = self._cycle.over_inputs
        beyond: Floats = over_inputs(self._of_sum) - self._factor.sum() * self._even - 1
        return self._even + over_inputs(self._tilt), beyond

    def variances(self, mean_features: Floats) -> Floats:
        (less, beyond), a, u = self._common, self._factor, self._part
        over_outputs = self._cycle.over_outputs
        moment = a**2 * (over_outputs(mean_features * (1 - 2 * less)) + mean_features @ less**2)
        if self._balanced:
            moment += u**2 * (mean_features @ beyond**2) - 2 * a * u * (
                over_outputs(mean_features * beyond) - mean_features @ (less * beyond)
            )
        return moment - self.invert(mean_features) ** 2

    def binomial_steps(self, counts: Integers, reports: int) -> BinomialSteps:
        low, high = float(self._others.min()), float(self._others.max())
        height = self._factor[np.newaxis]
        base: Floats = -(low + high) / 2 * self._factor
        slack: Floats = (high - low) / 2 * self._factor
        return BinomialSteps(base, height, self._cycle.count(counts)[np.newaxis], reports, slack)

    @cached_property
    def contribution_bounds(self) -> ContributionBounds:
        less, beyond = self._common
        class_count = len(self._channel.inputs_by_class)
        inverse_skewness, smallest, largest = np.empty(class_count), np.empty(class_count), np.empty(class_count)
        for place, members in enumerate(self._channel.inputs_by_class):
            x = members[0]  # all inputs of a class have the same a and u
            common = self._factor[x] * less + self._part[x] * beyond
            inverse_skewness[place] = self._inverse_skewness(x, common)
            # The bounds assume that each output lies inside some set of the class and outside another one, which can
            # only widen them.
            smallest[place], largest[place] = -common.max(), self._factor[x] - common.min()
        classes = np.asarray(self._channel.class_of, dtype=np.int64)
        return ContributionBounds(inverse_skewness[classes], smallest[classes], largest[classes])

    def _inverse_skewness(self, x: int, common: Floats) -> float:
        """Return 1 / skewness^2 of a report's contribution to ``x``, the smaller of the numbers at a share of 1, and at
        a share of 0 with all other values equally common."""
        alone = np.zeros(self.input_count)
        alone[x] = 1
        inside = np.rint(self._cycle.over_inputs(alone))
        adds = self._factor[x] * inside - common
        inverse_skewness = np.inf
        for distribution in (self.forward(alone), self.forward((1 - alone) / (self.input_count - 1))):
            away = adds - distribution @ adds
            skew = float(distribution @ away**3)
            if skew:
                inverse_skewness = min(inverse_skewness, float(distribution @ away**2) ** 3 / skew**2)
        return inverse_skewness

    @property
    def ceiling(self) -> Floats:
        return np.full(self.features, float(self._inside.max()))

    @property
    def people_per_report(self) -> float:
        return float(np.maximum(self.contribution_bounds.largest, -self.contribution_bounds.smallest).max())
