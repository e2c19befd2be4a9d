"""Shares among a part of the people, such as those who did not skip a question, with intervals.

Numerator and denominator are both estimated, so the quotient is biased, and its error is not normal if the denominator
is small. The interval is the set of quotients that a test does not reject:

    t with (num - t den)^2 <= z^2 Var(num - t den)                                      (Fieller 1954)

num - t den is linear in the reports and has mean 0 at the true quotient, so the interval has its nominal coverage under
normality, for any denominator. If the denominator is not significantly above zero, the interval is 0 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggregator.estimate.interval import Interval, critical_value
from aggregator.families.decoder import Floats


@dataclass(frozen=True)
class Ratio:
    """Quotients of unbiased estimates with a common denominator.

    Attributes:
        top: (k,) the numerators.
        top_variances: (k,) the variances of the numerators.
        bottom: the denominator.
        bottom_variance: the variance of the denominator; 0 if the denominator is known.
        covariances: (k,) the covariance of each numerator with the denominator.
    """

    top: Floats
    top_variances: Floats
    bottom: float
    bottom_variance: float
    covariances: Floats

    @property
    def raw(self) -> Floats:
        """Quotients, shape (k,); NaN if the denominator is not above zero."""
        return self.top / self.bottom if self.bottom > 0 else np.full_like(self.top, np.nan)

    @property
    def se(self) -> Floats:
        """Standard errors by linearisation, (num - raw den) / den, shape (k,) (Cochran 1977, 2.11); NaN if the
        denominator is not above zero."""
        raw = self.raw
        variances = self.top_variances - 2 * raw * self.covariances + raw**2 * self.bottom_variance
        return np.sqrt(np.maximum(variances, 0)) / self.bottom if self.bottom > 0 else raw

    def intervals(self, alpha: float) -> Interval:
        """Return Fieller's intervals, each of which misses its quotient with probability ``alpha``.

        Returns:
            (k,) lower and upper ends, not clipped; 0 and 1 if the denominator is not significantly above zero.
        """
        z = critical_value(alpha)
        square = self.bottom**2 - z**2 * self.bottom_variance
        if not (square > 0 and self.bottom > 0):
            return np.zeros_like(self.top), np.ones_like(self.top)
        middle = self.top * self.bottom - z**2 * self.covariances
        root = np.sqrt(np.maximum(middle**2 - square * (self.top**2 - z**2 * self.top_variances), 0))
        return (middle - root) / square, (middle + root) / square
