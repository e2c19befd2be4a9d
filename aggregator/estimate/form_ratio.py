"""Shares of some people among others, such as among those who did not skip a question, with intervals.

Both are estimated, so their quotient is biased and its error is not normal where few are in the denominator. The
interval is the set of quotients that the reports do not contradict:

    t with (num - t den)^2 <= z^2 Var(num - t den)                                      (Fieller 1954)

num - t den is linear in the reports and unbiased for 0 at the true quotient, so the interval covers it as often as the
normal law says, whatever the denominator. Where the denominator may be zero, the interval is 0 .. 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggregator.estimate.interval import Interval, quantile
from aggregator.families.decoder import Floats


@dataclass(frozen=True)
class Ratio:
    """Quotients of unbiased estimates, of one denominator.

    Attributes:
        top: (k,) the numerators.
        top_variances: (k,)
        bottom: the denominator.
        bottom_variance: its variance; 0 where it is known.
        covariances: (k,) of each numerator with the denominator.
    """

    top: Floats
    top_variances: Floats
    bottom: float
    bottom_variance: float
    covariances: Floats

    @property
    def raw(self) -> Floats:
        """(k,) the quotients; NaN where the denominator is not above zero."""
        return self.top / self.bottom if self.bottom > 0 else np.full_like(self.top, np.nan)

    @property
    def se(self) -> Floats:
        """(k,) standard errors by linearisation, (num - raw den) / den   (Cochran 1977, 2.11)."""
        raw = self.raw
        variances = self.top_variances - 2 * raw * self.covariances + raw**2 * self.bottom_variance
        return np.sqrt(np.maximum(variances, 0)) / self.bottom if self.bottom > 0 else raw

    def intervals(self, alpha: float) -> Interval:
        """Return the intervals of Fieller, each of which misses its quotient with probability ``alpha``.

        Returns:
            (k,) lower and upper ends, not clipped; 0 and 1 if the denominator is not significantly above zero.
        """
        z = quantile(alpha)
        square = self.bottom**2 - z**2 * self.bottom_variance
        if not (square > 0 and self.bottom > 0):
            return np.zeros_like(self.top), np.ones_like(self.top)
        middle = self.top * self.bottom - z**2 * self.covariances
        root = np.sqrt(np.maximum(middle**2 - square * (self.top**2 - z**2 * self.top_variances), 0))
        return (middle - root) / square, (middle + root) / square
