"""Estimates of single questions of a form, each from all views that ask the question.

Each view asks different people, so the views are independent surveys. Each view gives an unbiased estimate of its
questions, and the estimates are averaged with the weights

    w_j  proportional to  n_j / (mean variance of one report of view j under the reference distribution)

Under the reference distribution all answers are equally frequent. Variances estimated from the same reports would bias
large shares downwards. The weights are the same for all values of a question, so the average sums to one if the
estimates of the views sum to one.

``form_table`` estimates tables of two questions, and ``form_ratio`` shares among the people who did not skip.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aggregator.estimate.bayes import empirical_bayes
from aggregator.estimate.distribution import project
from aggregator.estimate.form_ratio import Ratio
from aggregator.estimate.form_view import FormView, covariances, views_with
from aggregator.estimate.interval import Interval, Intervals
from aggregator.estimate.interval_estimates import Shares
from aggregator.estimate.method import needs_shrinkage
from aggregator.families.decoder import Floats
from protocol.errors import HalftruthError, NotYet


class NotAsked(HalftruthError, ValueError):
    """The tally has no reports from which the requested questions can be estimated."""


class NoReports(NotAsked, NotYet):
    """The tally has no reports on a question."""


class SharesEstimate(ABC):
    """Unbiased shares of values or cells, with their covariances."""

    @property
    @abstractmethod
    def raw(self) -> Floats:
        """Unbiased estimate, shape (k,)."""

    @property
    @abstractmethod
    def share(self) -> Floats:
        """Consistent distribution, shape (k,)."""

    @property
    @abstractmethod
    def variances(self) -> Floats:
        """Variances of ``raw``, estimated from the reports, shape (k,)."""

    @abstractmethod
    def covariances(self, v: Floats) -> Floats:
        """Return the covariance of each element of ``raw`` with v . raw, estimated from the reports, shape (k,)."""

    @property
    @abstractmethod
    def views(self) -> Sequence[FormView]:
        """The views whose reports are used."""

    @abstractmethod
    def by_group(self) -> Iterator[Floats]:
        """Yield for each group of devices the contribution of its reports to ``raw``, minus ``raw`` times the group's
        fraction of the reports, (k,)."""

    @abstractmethod
    def furthest_of(self, v: Floats) -> float:
        """Return a bound on how far one device can move v . raw by changing all its reports."""

    @property
    def furthest(self) -> Floats:
        """Bounds on how far one device can move each element of ``raw``, shape (k,)."""
        bounds = np.zeros(len(self.raw))
        # A question may have thousands of values, so one unit vector at a time saves memory.
        for place in range(len(bounds)):
            unit = np.zeros_like(bounds)
            unit[place] = 1
            bounds[place] = self.furthest_of(unit)
        return bounds

    def intervals(self, alpha: float) -> Interval:
        """Return lower and upper ends, not clipped, shape (k,); each misses its share with probability ``alpha``."""
        return self.among(np.ones(len(self.raw))).intervals(alpha)

    def among(self, indicator: Floats) -> Ratio:
        """Return the shares among the people who have one of the indicated values.

        Args:
            indicator: (a,) 1 for the values of the denominator, 0 for others.
        Returns:
            The quotients of the indicated values, in their order.
        """
        chosen = indicator > 0
        covariance = np.zeros_like(indicator) if chosen.all() else self.covariances(indicator)
        bottom = 1.0 if chosen.all() else float(indicator @ self.raw)
        return Ratio(
            self.raw[chosen],
            self.variances[chosen],
            bottom,
            max(float(indicator @ covariance), 0.0),
            covariance[chosen],
        )


@dataclass(frozen=True)
class PooledQuestion(SharesEstimate):
    """The shares of one question's values, pooled over views.

    Attributes:
        place: the position of the question in the form.
        pooled_views: the views that ask the question.
        weights: (J,) the weights of the views, with the sum one.
    """

    place: int
    pooled_views: tuple[FormView, ...]
    weights: Floats

    @property
    def views(self) -> tuple[FormView, ...]:
        return self.pooled_views

    def by_group(self) -> Iterator[Floats]:
        for contributions in zip(*(view.linear.by_group() for view in self.views), strict=True):
            parts = [view.marginal(self.place, add) for view, add in zip(self.views, contributions, strict=True)]
            yield np.asarray(self.weights @ np.array(parts))

    def furthest_of(self, v: Floats) -> float:
        views = zip(self.weights.tolist(), self.views, strict=True)
        return float(max(weight * view.furthest_of(view.lift(self.place, v)) for weight, view in views))

    @cached_property
    def raw(self) -> Floats:
        """Unbiased shares, including "skipped" if a person may skip, shape (a,)."""
        parts = [view.marginal(self.place, view.linear.raw) for view in self.views]
        return np.asarray(self.weights @ np.array(parts))

    @cached_property
    def share(self) -> Floats:
        """Consistent distribution, shape (a,), of empirical Bayes for many unordered values with much noise, else
        of the projection."""
        shrunk = needs_shrinkage(self.se) and not any(self.place in view.ordered_questions for view in self.views)
        return empirical_bayes(self.raw, self.se) if shrunk else project(self.raw)

    @cached_property
    def variances(self) -> Floats:
        """Variances of ``raw``, estimated from the reports, shape (a,)."""
        view_variances = [view.variances[self.place].shown / view.reports for view in self.views]
        return np.asarray(self.weights**2 @ np.array(view_variances))

    @property
    def se(self) -> Floats:
        """Standard errors of ``raw``, shape (a,)."""
        return np.sqrt(self.variances)

    def covariances(self, v: Floats) -> Floats:
        """Return the covariance of each element of ``raw`` with v . raw, estimated from the reports, shape (a,)."""
        view_covariances = [
            view.marginal(self.place, covariances(view.decoder, view.mean_features, view.lift(self.place, v)))
            / view.reports
            for view in self.views
        ]
        return np.asarray(self.weights**2 @ np.array(view_covariances))


def pooled_question(views: Sequence[FormView], place: int) -> PooledQuestion:
    """Return the shares of one question's values, pooled over all views that ask the question.

    Args:
        views: the form's views that have reports.
        place: the position of the question in the form.
    Raises:
        NoReports: no view asks the question.
        NotAsked: no view that asks the question distinguishes single values.
        NotInvertible: no unbiased estimate exists.
    """
    holding = views_with(views, place)
    if not holding:
        if any(place in view.questions for view in views):
            raise NotAsked(
                "the mechanisms with which this question was asked do not distinguish its values: choose other "
                "mechanisms in a new campaign"
            )
        raise NoReports("there are no reports on this question: ingest more")
    precision = np.array([view.tally.reports / view.variances[place].even.mean() for view in holding])
    return PooledQuestion(place, tuple(holding), precision / precision.sum())


def answered_indicator(size: int, skippable: bool) -> Floats:
    """Return an indicator, 1 for each value of a question and 0 for "skipped", shape (a,)."""
    indicator = np.ones(size)
    indicator[-1] = not skippable
    return indicator


def part_of(share: Floats, indicator: Floats) -> Floats:
    """Return consistent shares among the indicated values, with the sum one; all equal if these values have no share.

    Args:
        share: (a,) consistent shares.
        indicator: (a,) 1 for the values of the denominator, 0 for others.
    """
    chosen = share[indicator > 0]
    total = chosen.sum()
    return chosen / total if total > 0 else np.full_like(chosen, 1 / len(chosen))


def shares_among(estimate: SharesEstimate, indicator: Floats, confidence: float) -> Shares:
    """Return the shares among the people who have one of the indicated values, with their intervals.

    Args:
        estimate: the estimate of all values or cells.
        indicator: (k,) 1 for the values of the denominator, 0 for others.
        confidence: the confidence level of the intervals, such as 0.95.
    """
    ratio, share = estimate.among(indicator), part_of(estimate.share, indicator)
    intervals = Intervals.of(ratio.intervals, confidence, len(share))
    return Shares(ratio.raw, ratio.se, *intervals.possible(np.nan_to_num(ratio.se, nan=1.0), share), share)
