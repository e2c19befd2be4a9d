"""The interface of decoders: multiplication by a channel's matrix and by a left inverse of that matrix.

An estimate is linear in the counts. An output y has features f(y): the output itself, one-hot among m, or for unary
channels its bits. A decoder is a pair of implicit matrices: the response R (k x m), with R[x] = E[f(Y) | x], and a left
inverse L (m x k) of R. Both are only multiplied with vectors, never stored. With the mean features f of the reports,
f @ L (for bits plus a constant) is an unbiased estimate of the shares p, and the variance of a linear query is the
variance of one number per report, by one formula for all mechanisms.

    forward    p @ R        the mean features                 backward   R @ w        a mean over the outputs
    invert     f @ L        the unbiased estimate             adjoint    L @ v        a feature's contribution to v . p

One-hot features sum to one. Bits do not, so a query on bits also has an ``intercept``.

``aggregator.estimate`` computes consistent distributions and intervals.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from protocol.errors import HalftruthError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


class NotInvertible(HalftruthError, ValueError):
    """No unbiased estimate exists, or none is computed for a channel of this size."""


@dataclass(frozen=True)
class BinomialSteps:
    """The estimate of each input as a sum of steps on binomial counts.

        raw[x] = base[x] + sum over s of heights[s, x] * counts[s, x] / n

    A report contributes one of a few numbers to n raw[x]: the base plus the heights of the steps that the report
    reaches. The number of reports that reach a step is binomial. A support channel has one step, reached by the outputs
    of S_x, with probability p* from x and q* from every other input (MATH 4.1). With two steps, a report counts for x,
    against x, or not at all.

    Attributes:
        base: (k,) the least contribution of one report to n raw[x].
        heights: (s, k) the heights of the steps, not negative; 0 if an input has fewer steps.
        counts: (s, k) the number of reports that reach each step.
        reports: n, the number of reports.
        slack: (k,) the largest difference between ``base`` and the true base, which may depend on the shares of the
            other values; 0 if ``base`` is exact.
    """

    base: Floats
    heights: Floats
    counts: Integers
    reports: int
    slack: Floats | float = 0.0

    @property
    def step_count(self) -> Integers:
        """The number of steps of each input, shape (k,)."""
        step_count: Integers = (self.heights > 0).sum(axis=0, dtype=np.int64)
        return step_count

    def of(self, chosen: NDArray[np.bool_]) -> BinomialSteps:
        slack = self.slack[chosen] if isinstance(self.slack, np.ndarray) else self.slack
        return BinomialSteps(self.base[chosen], self.heights[:, chosen], self.counts[:, chosen], self.reports, slack)


@dataclass(frozen=True)
class ContributionBounds:
    """Bounds on the contribution of one report to the estimate of each input, if it can have many values.

    Attributes:
        inverse_skewness: (k,) about the least 1 / skewness^2 of the contribution over the possible shares. If this
            times the number of reports is large, the estimate is nearly normal.
        smallest, largest: (k,) the smallest and the largest contribution.
    """

    inverse_skewness: Floats
    smallest: Floats
    largest: Floats


class Decoder(ABC):
    """Multiplications with a channel's response R and with a left inverse L of R.

    Attributes:
        input_count, features: the numbers of inputs, k, and of features, m.
        one_hot: whether each report has exactly one feature, its output. Only then are the counts of features counts of
            outputs, which posteriors need.
        by_value: whether the family has estimates of single shares.

    ``people_per_report`` and the methods that use L raise ``NotInvertible`` if no unbiased estimate exists, or none is
    computed for a channel of this size.
    """

    input_count: int
    features: int
    one_hot: ClassVar[bool] = True
    by_value: bool = True

    @abstractmethod
    def forward(self, p: Floats) -> Floats:
        """Return the mean features under ``p``, sum over x of p[x] R[x]: from (k,) to (m,)."""

    @abstractmethod
    def forward_squares(self, p: Floats) -> Floats:
        """Return the mean of the squared output probabilities under ``p``, sum over x of p[x] R[x]^2.

        Returns:
            The means, from (k,) to (m,).
        Raises:
            ValueError: a report has several features.
        """

    @abstractmethod
    def backward(self, w: Floats) -> Floats:
        """Return the mean of w . f(Y) for each input, R @ w: from (m,) to (k,)."""

    def intercept(self, v: Floats) -> float:
        """Return the constant term of the estimate of v . p."""
        return 0.0

    @abstractmethod
    def invert(self, mean_features: Floats) -> Floats:
        """Return the unbiased shares, ``mean_features`` @ L, from the reports' mean features: from (m,) to (k,)."""

    @abstractmethod
    def adjoint(self, v: Floats) -> Floats:
        """Return each feature's contribution to the estimate of v . p, L @ v: from (k,) to (m,)."""

    @abstractmethod
    def variances(self, mean_features: Floats) -> Floats:
        """Return the variance of one report's contribution to the estimate of each input: from (m,) to (k,)."""

    def variance(self, v: Floats, mean_features: Floats) -> float:
        """Return the variance of one report's contribution to the estimate of v . p          (MATH 6.2)."""
        phi = self.adjoint(v)
        return float(mean_features @ (phi - mean_features @ phi) ** 2)

    def furthest(self, v: Floats, mean_features: Floats) -> float:
        """Return an upper bound on the difference between one report's contribution and the estimate of v . p."""
        phi = self.adjoint(v)
        if self.one_hot:
            return float(np.abs(phi - mean_features @ phi).max())
        return float(
            max(np.maximum(phi, 0).sum() - mean_features @ phi, mean_features @ phi - np.minimum(phi, 0).sum())
        )

    def query(self, v: Floats, mean_features: Floats) -> float:
        """Return the unbiased estimate of v . p."""
        return self.intercept(v) + float(mean_features @ self.adjoint(v))

    @abstractmethod
    def binomial_steps(self, counts: Integers, reports: int) -> BinomialSteps:
        """Return the estimate as steps on binomial counts."""

    @property
    def uncorrected(self) -> Decoder:
        """The decoder without the correction that makes the shares sum to one; this decoder if it makes no
        correction."""
        return self

    @property
    def contribution_bounds(self) -> ContributionBounds | None:
        """The contributions of a report if they can have many values; None if ``binomial_steps`` gives the exact
        estimate."""
        return None

    @property
    @abstractmethod
    def ceiling(self) -> Floats:
        """Upper bounds on the probability of each feature, max over x of R[x], shape (m,)."""

    @property
    @abstractmethod
    def people_per_report(self) -> float:
        """The largest number of people that one report can count for in the estimate of one input."""
