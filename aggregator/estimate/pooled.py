"""The decoder of several classes of people together, with the features of all classes.

The share of a value is the sum over the classes of the share of people who are in the class and have the value. A
report is evidence for the class of its device only. So each class is decoded by its channel, and the estimates are
added; no similarity between classes is assumed.

The subclasses of ``Pooled`` are in ``classes`` (named classes), ``personal`` (a class for each declared prior) and
``transcript`` (channels that depend on earlier reports).
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from aggregator.estimate.likelihood import PRIOR_REPORTS
from aggregator.families.decoder import BinomialSteps, Decoder, Floats, Integers

MAX_ROUNDS = 2000
CONVERGED = 1e-9
"""Expectation maximisation has converged if a round changes the joint shares by less than this in total."""

NEGLIGIBLE = 1e-10
"""Two contributions to a value that differ by less than this fraction of a report's weight are treated as equal."""


class Pooled(Decoder):
    """A decoder for the k values, over the features of C classes.

    Arrays (C, k) have a row for each class. The class of a report is public, so the shares of the classes among the
    reports are known.

    Attributes:
        classes: C, the number of classes.
        members: (C,) the share of each class among the reports.
        priors: (C, k) the prior of each class; None if a class has none.
    """

    classes: int
    members: Floats
    priors: Floats | None

    @abstractmethod
    def _forward(self, p: Floats) -> Floats:
        """Return the mean features, shape (m,), under the shares of class and value, (C, k)."""

    @abstractmethod
    def _forward_squares(self, p: Floats) -> Floats:
        """Return the mean of the squared output probabilities under the shares of class and value, shape (m,)."""

    @abstractmethod
    def _backward(self, w: Floats) -> Floats:
        """Return the mean of w . f(Y) for each class and value, shape (C, k)."""

    @abstractmethod
    def _invert(self, mean_features: Floats) -> Floats:
        """Return the unbiased shares of class and value, shape (C, k), from the mean features, (m,)."""

    @abstractmethod
    def _moments(self, mean_features: Floats) -> Floats:
        """Return the mean square of one report's contribution to each share of class and value, shape (C, k)."""

    @abstractmethod
    def _contributions(self, counts: Integers) -> tuple[Floats, Integers]:
        """Return the possible contributions of a report to each value, and the number of reports with each
        contribution, both of shape (l, k)."""

    def _slack(self, counts: Integers) -> Floats | float:
        """Return a bound on the error of the base of the steps; see ``BinomialSteps``."""
        return 0.0

    @property
    def prior(self) -> Floats | None:
        """Prior of a person who reports and whose class is unknown, shape (k,); None if a class has no prior."""
        return None if self.priors is None else self.members @ self.priors

    @property
    def predicted(self) -> Floats:
        """Expected mean features if the priors of the classes are right, shape (m,)."""
        return self._forward(self._joint)

    def forward(self, p: Floats) -> Floats:
        return self._forward(np.outer(self.members, p))

    def forward_squares(self, p: Floats) -> Floats:
        return self._forward_squares(np.outer(self.members, p))

    def backward(self, w: Floats) -> Floats:
        return self.members @ self._backward(w)

    def invert(self, mean_features: Floats) -> Floats:
        raw: Floats = self._invert(mean_features).sum(axis=0)
        return raw

    def variances(self, mean_features: Floats) -> Floats:
        # A report contributes to one class only, so products between classes are zero.
        moment: Floats = self._moments(mean_features).sum(axis=0)
        return moment - self.invert(mean_features) ** 2

    def binomial_steps(self, counts: Integers, reports: int) -> BinomialSteps:
        contributions, times = self._contributions(counts)
        order = np.argsort(-contributions, axis=0, kind="stable")
        descending = np.take_along_axis(contributions, order, axis=0)
        heights = descending[:-1] - descending[1:]
        heights[heights < NEGLIGIBLE * self.people_per_report] = 0
        reached = np.cumsum(np.take_along_axis(times, order, axis=0), axis=0)[:-1]
        return BinomialSteps(descending[-1], heights, reached, reports, self._slack(counts))

    def posterior_mean(self, mean_features: Floats) -> Floats:
        """Return the mean over the reports of the posterior under the prior of the report's class, shape (k,).

            p[x] = sum over classes c and their outputs y of mean_features[y] P_c[x] Q_c(y|x) / P_c(y)

        Source: Jiang, Li, Tandon 2020, sec. III, where every person has a declared prior and a channel of their own.
        """
        better: Floats = self._better(mean_features, self._joint).sum(axis=0)
        return better

    def posterior_mode(self, mean_features: Floats) -> Floats:
        """Return the posterior mode of the shares, with a Dirichlet prior around the prior of each class, shape (k,).

        This is expectation maximisation over classes and values together; ``likelihood.posterior_mode`` is the same
        over values alone. No similarity between classes is assumed.
        """
        prior = p = self._joint
        for _ in range(MAX_ROUNDS):
            better = (self._better(mean_features, p) + PRIOR_REPORTS * prior) / (1 + PRIOR_REPORTS)
            converged = np.abs(better - p).sum() < CONVERGED
            p = better
            if converged:
                break
        shares: Floats = p.sum(axis=0)
        return shares

    @property
    def _joint(self) -> Floats:
        """Joint prior of class and value, shape (C, k)."""
        if self.priors is None:
            raise ValueError("a posterior needs the prior of every class, and a class has none: use 'projection'")
        return self.members[:, np.newaxis] * self.priors

    def _better(self, mean_features: Floats, p: Floats) -> Floats:
        marginal = self._forward(p)
        possible = marginal > 0
        posterior: Floats = p * self._backward(
            np.divide(mean_features, marginal, out=np.zeros_like(mean_features), where=possible)
        )
        posterior /= posterior.sum()
        return posterior
