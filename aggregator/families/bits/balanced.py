"""The decoder of bit vectors under the constraint that the shares sum to one.

The bits of a report are decoded one by one, so the unbiased shares need not sum to one. The following correction makes
their sum one:

    raw' = raw - u (1' raw - 1),    u = C 1 / (1' C 1)

where 1 is the vector of ones, and C the covariance of one report's contribution to raw under a reference distribution,
which does not depend on the reports. Since u sums to one, raw' sums to one, and since E[1' raw] = 1, raw' is unbiased.
Under the reference distribution, each linear query of raw' has the least variance among all unbiased linear estimates
from raw (generalised least squares: Aitken 1935).

The corrected estimate of a value depends on all bits of a report. So its interval is normal if the number of reports
divided by the squared skewness is large enough; otherwise the exact interval of the uncorrected estimate is used. The
choice depends only on the channel, the reference, and the effective number of reports.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from aggregator.families.bits.decoder import BitsDecoder
from aggregator.families.decoder import BinomialSteps, ContributionBounds, Decoder, Floats, Integers
from protocol.channels.bits.channel import Bits

CONSTANT_SUM = 1e-9
"""If the variance of the sum is below this fraction of the total variance, it is treated as zero, and each report's sum
as one."""


class BalancedDecoder(BitsDecoder):
    """A ``BitsDecoder`` whose shares sum to one.

    Attributes:
        uncorrected: the decoder without the correction.
    """

    def __init__(self, channel: Bits, reference: Floats) -> None:
        """Compute the correction with the least error at the shares ``reference``, which sum to one."""
        super().__init__(channel)
        self._uncorrected = BitsDecoder(channel)
        # The expected share of reports with each bit set, (k,).
        self._distribution: Floats = self._b + self._a_minus_b * reference
        variances = self._uncorrected.variances(self._distribution)
        with_sum = variances - reference * (1 - reference)  # C1 of the formula above
        total = float(with_sum.sum())
        varies = total > CONSTANT_SUM * float(variances.sum())
        self._part: Floats = with_sum / total if varies else np.zeros_like(with_sum)  # u of the formula above

    @property
    def uncorrected(self) -> Decoder:
        return self._uncorrected

    def _without_sum(self, v: Floats) -> tuple[Floats, float]:
        """Return the weights w and the constant c for which v . raw' = w . raw + c."""
        known = float(v @ self._part)
        return v - known, known

    def intercept(self, v: Floats) -> float:
        rest, known = self._without_sum(v)
        return self._uncorrected.intercept(rest) + known

    def invert(self, mean_features: Floats) -> Floats:
        raw = self._uncorrected.invert(mean_features)
        balanced: Floats = raw - self._part * (raw.sum() - 1)
        return balanced

    def adjoint(self, v: Floats) -> Floats:
        return self._uncorrected.adjoint(self._without_sum(v)[0])

    def variances(self, mean_features: Floats) -> Floats:
        raw, alone = self._uncorrected.invert(mean_features), self._uncorrected.variances(mean_features)
        with_sum = alone - raw * (raw.sum() - raw)
        variances: Floats = alone - 2 * self._part * with_sum + self._part**2 * with_sum.sum()
        return np.maximum(variances, 0)  # with estimated shares, the variance may be slightly negative

    def variance(self, v: Floats, mean_features: Floats) -> float:
        return self._uncorrected.variance(self._without_sum(v)[0], mean_features)

    def binomial_steps(self, counts: Integers, reports: int) -> BinomialSteps:
        """Return the steps of the uncorrected estimate; raw' would need one step for each bit vector."""
        return self._uncorrected.binomial_steps(counts, reports)

    @cached_property
    def contribution_bounds(self) -> ContributionBounds:
        # A report adds most to raw'[x] if only bit x is set, and least if all other bits are set.
        unset, set_ = self._b / self._a_minus_b, (1 - self._b) / self._a_minus_b
        largest = (1 - self._part) * set_ + self._part * (unset.sum() - unset + 1)
        smallest = -(1 - self._part) * unset - self._part * (set_.sum() - set_ - 1)
        return ContributionBounds(self._inverse_skewness(), smallest, largest)

    def _inverse_skewness(self) -> Floats:
        """Return 1 / skewness^2 of each value's contribution, the smaller of the numbers at share 0 and at share 1,
        (k,). The other bits are assumed to be independent, with the probabilities of the reference."""
        others = self._moments(self._distribution)
        inverse_skewness = np.full(self.input_count, np.inf)
        for second, third in (self._moments(self._b), self._moments(self._a)):
            spread = self._part**2 * (others[0].sum() - others[0]) + (1 - self._part) ** 2 * second
            skew = -(self._part**3) * (others[1].sum() - others[1]) + (1 - self._part) ** 3 * third
            ratio = np.divide(spread**3, skew**2, out=np.full(self.input_count, np.inf), where=skew != 0)
            inverse_skewness = np.minimum(inverse_skewness, np.where(spread > 0, ratio, 0.0))
        return inverse_skewness

    def _moments(self, distribution: Floats) -> tuple[Floats, Floats]:
        """Return the second and third central moments of each bit's contribution to its raw share, both (k,)."""
        of_bit = distribution * (1 - distribution)
        return of_bit / self._a_minus_b**2, of_bit * (1 - 2 * distribution) / self._a_minus_b**3

    @property
    def people_per_report(self) -> float:
        return float(np.maximum(self.contribution_bounds.largest, -self.contribution_bounds.smallest).max())
