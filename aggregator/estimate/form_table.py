"""Estimate of the table of two questions that the same people answer: cells, association, and shares within a row.

The unbiased table T from the view that asks both questions is noisy in each cell. The margins are more precise, since
many views ask each question. If the interaction of the two questions has low rank, its other singular values are noise.
So

    p, q    the margins, pooled over all views
    R       T - p q', less the mean of each row and column: the interaction
    s       its singular values, shrunk to sqrt(max(0, s^2 - e^2))
    e^2     sigma^2 ((sqrt(a - 1) + sqrt(b - 1))^2 - FREE): the squared edge of the singular values of noise, reduced
            for small tables; sigma^2 is the mean variance of R's (a - 1)(b - 1) degrees of freedom, from the exact
            covariance

The table is p q' plus the shrunk interaction, fitted to p and q. Its errors are not known, so the intervals are those
of T, which are valid for any association.

The test of association compares the largest singular value of R with the largest singular values of tables simulated
without association (parametric bootstrap, Efron and Tibshirani 1993, ch. 16). The random generator is seeded with the
counts, so the result is reproducible.

Sources: Gavish and Donoho 2017 for shrinkage towards the edge (this shrinkage agrees with theirs to first order at
large singular values); Deming and Stephan 1940 for iterative proportional fitting.

``form_result`` assembles the estimate of a form.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aggregator.estimate.form import (
    NotAsked,
    PooledQuestion,
    SharesEstimate,
    answered_indicator,
    part_of,
    pooled_question,
    shares_among,
)
from aggregator.estimate.form_view import FormView, covariances, views_with
from aggregator.estimate.interval import Interval, Intervals
from aggregator.estimate.interval_estimates import Shares
from aggregator.estimate.minimum import NotEnough
from aggregator.families.decoder import Floats

SIMULATED_TABLES = 199
"""The number of simulated tables of a test. The observed table then has one of 200 ranks, of which 5% is a whole
number."""

SIGNIFICANT = 0.05
"""The significance level of the test: the probability, up to the error of the bootstrap, that the test rejects if the
questions are independent."""

FREE = 4.0
"""The reduction of the squared edge e^2 for small tables, in units of sigma^2. A 2 x 2 table has one degree of freedom
and is not shrunk: without the reduction, the tables of eight yes/no questions had 1.6 times the squared error."""

FITTED = 1e-9
"""Fitting has converged if the error of every margin is below this."""

MAX_FITS = 500

LEAST = 1e-3
"""Fitting begins with at least this fraction of each cell's share without association, so that every margin can be
reached."""


@dataclass(frozen=True)
class Association:
    """The test of association of two questions.

    Attributes:
        statistic: the largest singular value of the interaction.
        threshold: the critical value at the level ``SIGNIFICANT``.
        p_value: the p-value, from the rank among the simulated tables.
    """

    statistic: float
    threshold: float
    p_value: float

    @property
    def significant(self) -> bool:
        """True if the test rejects independence."""
        return self.statistic > self.threshold


def centred(table: Floats) -> Floats:
    """Return one table or several, minus the mean of each row and column, plus the mean of all cells."""
    rows, columns = table.mean(axis=-1, keepdims=True), table.mean(axis=-2, keepdims=True)
    interaction: Floats = table - rows - columns + rows.mean(axis=-2, keepdims=True)
    return interaction


def shrunk(interaction: Floats, edge: float) -> Floats:
    """Return an interaction in which each singular value s is replaced by sqrt(max(0, s^2 - edge^2)).

    Args:
        interaction: (a, b) the interaction to shrink.
        edge: e, the edge of the singular values of noise.
    """
    left, s, right = np.linalg.svd(interaction, full_matrices=False)
    reduced: Floats = (left * np.sqrt(np.maximum(s**2 - edge**2, 0))) @ right
    return reduced


def fitted(table: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return the table scaled to the margins ``rows`` and ``columns`` by iterative proportional fitting.

    Args:
        table: (a, b); cells below ``LEAST`` times their share without association are first raised to this bound.
        rows, columns: (a,) and (b,) the margins, not negative, each with the sum 1.
    Source: Deming, Stephan 1940.
    """
    scaled = np.maximum(table, LEAST * np.outer(rows, columns))
    for _ in range(MAX_FITS):
        scaled *= _quotient(columns, scaled.sum(axis=0))
        off = scaled.sum(axis=1)
        scaled *= _quotient(rows, off)[:, np.newaxis]
        if np.abs(off - rows).max() < FITTED:
            break
    return scaled


def _quotient(targets: Floats, sums: Floats) -> Floats:
    return np.divide(targets, sums, out=np.zeros_like(targets), where=sums > 0)


def interaction_variance(view: FormView) -> float:
    """Return the mean variance of one report's contribution to the (a - 1)(b - 1) degrees of freedom of R.

    Args:
        view: a view of two questions.
    """
    a, b = view.shape
    cells = float(np.maximum(view.decoder.variances(view.mean_features), 0).sum())
    of_rows, of_columns = (float(view.variances[question].shown.sum()) for question in view.questions)
    total = view.decoder.variance(np.ones(view.decoder.input_count), view.mean_features)
    # The trace of the covariance of R is that of the cells, minus the variances of the row means and of the column
    # means, plus the variance of the total mean.
    trace = max(cells - of_rows / b - of_columns / a + total / (a * b), 0.0)
    return trace / max((a - 1) * (b - 1), 1)


@dataclass(frozen=True)
class CrossTable:
    """The estimate of a table of two questions.

    Attributes:
        view: the view that asks both questions.
        rows, columns: the margins, pooled over all views.
    """

    view: FormView
    rows: PooledQuestion
    columns: PooledQuestion

    @property
    def raw(self) -> Floats:
        """Unbiased shares of the cells, from the view that asks both questions, shape (a, b)."""
        return self.view.linear.raw.reshape(self.view.shape)

    @cached_property
    def unrelated(self) -> Floats:
        """Shares without association, shape (a, b)."""
        return np.outer(self.rows.share, self.columns.share)

    @cached_property
    def interaction(self) -> Floats:
        """The interaction R of the module's formulas, shape (a, b)."""
        return centred(self.raw - self.unrelated)

    @cached_property
    def edge(self) -> float:
        """The edge e of the singular values of noise."""
        a, b = self.view.shape
        widest = (math.sqrt(a - 1) + math.sqrt(b - 1)) ** 2
        return math.sqrt(interaction_variance(self.view) / self.view.reports * max(widest - FREE, 0.0))

    @cached_property
    def share(self) -> Floats:
        """Consistent table, with the pooled margins, shape (a, b)."""
        with_pattern = self.unrelated + shrunk(self.interaction, self.edge)
        return fitted(with_pattern, self.rows.share, self.columns.share)

    @cached_property
    def association(self) -> Association:
        statistic = float(np.linalg.norm(self.interaction, 2))
        null = np.sort(self._simulated())
        threshold = float(null[math.ceil((1 - SIGNIFICANT) * (SIMULATED_TABLES + 1)) - 1])
        return Association(statistic, threshold, (1 + int((null >= statistic).sum())) / (SIMULATED_TABLES + 1))

    def _simulated(self) -> Floats:
        """Return the largest singular values of interactions simulated without association:
        (SIMULATED_TABLES,)."""
        view, rng = self.view, np.random.default_rng(self._seed)
        tables = self._draws(rng).reshape(SIMULATED_TABLES, *view.shape)
        rows, columns = (
            self._margins(pooled, view.questions[place], tables.sum(axis=2 - place), rng)
            for place, pooled in enumerate((self.rows, self.columns))
        )
        products = rows[:, :, np.newaxis] * columns[:, np.newaxis, :]
        norms: Floats = np.linalg.norm(centred(tables - products), 2, axis=(1, 2))
        return norms

    def _draws(self, rng: np.random.Generator) -> Floats:
        """Return the unbiased shares of reports simulated without association, shape (SIMULATED_TABLES, k)."""
        view = self.view
        distribution = np.maximum(view.decoder.forward(self.unrelated.ravel()), 0)
        if view.decoder.one_hot:
            reports = max(round(view.reports), 1)
            counts = rng.multinomial(reports, distribution / distribution.sum(), size=SIMULATED_TABLES)
            return np.array([view.decoder.invert(sample / reports) for sample in counts])
        # The joint distribution of a report's features depends on the mechanism, so a normal approximation is used.
        units = np.eye(view.decoder.input_count)
        covariance = np.array([covariances(view.decoder, distribution, unit) for unit in units]) / view.reports
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        errors = rng.normal(size=(SIMULATED_TABLES, len(values))) * np.sqrt(np.maximum(values, 0)) @ vectors.T
        shares: Floats = self.unrelated.ravel() + errors
        return shares

    def _margins(self, pooled: PooledQuestion, place: int, sums: Floats, rng: np.random.Generator) -> Floats:
        """Return the pooled margins of the simulated tables, (SIMULATED_TABLES, a), with normal errors for the other
        views."""
        part = float(sum(w for w, view in zip(pooled.weights, pooled.views, strict=True) if view is self.view))
        mine = part**2 * self.view.variances[place].shown / self.view.reports
        errors = rng.normal(size=sums.shape) * np.sqrt(np.maximum(pooled.variances - mine, 0))
        return pooled.share + part * (sums - pooled.share) + errors

    @property
    def _seed(self) -> int:
        counts = np.ascontiguousarray(self.view.tally.counts, dtype="<i8").tobytes()
        return int.from_bytes(hashlib.sha256(b"association" + counts).digest()[:16])

    def cells(self, *, skippable: tuple[bool, bool] = (False, False), confidence: float = 0.95) -> Shares:
        """Return the shares of the cells among the people who answered both questions, row by row.

        Args:
            skippable: whether the last row, and the last column, is "skipped", which is excluded.
            confidence: the confidence level of the intervals.
        """
        indicator = self.both_answered(skippable)
        if not indicator.all():
            return shares_among(self.in_rows, indicator, confidence)
        linear, share = self.view.linear, part_of(self.share.ravel(), indicator)
        intervals = Intervals.of(linear.intervals, confidence, len(share)).possible(linear.se, share)
        return Shares(linear.raw, linear.se, *intervals, share)

    def within(
        self, place: int, value: int, *, skippable: tuple[bool, bool] = (False, False), confidence: float = 0.95
    ) -> Shares:
        """Return the shares of the other question's values among the people who gave ``value`` for question ``place``.

        Args:
            place: one of the two questions of the view.
            value: a value of this question.
            skippable: see ``cells``.
            confidence: the confidence level of the intervals.
        """
        indicator = self.answered_within(place, value, skippable=skippable)
        return shares_among(self.in_rows, indicator, confidence)

    def answered_within(self, place: int, value: int, *, skippable: tuple[bool, bool]) -> Floats:
        """Return an indicator of the cells with one value of a question where the other is answered, shape (k,)."""
        axis = self.view.questions.index(place)
        of_value = np.zeros(self.view.shape)
        cells = (value, slice(None)) if axis == 0 else (slice(None), value)
        of_value[cells] = answered_indicator(self.view.shape[1 - axis], skippable[1 - axis])
        return of_value.ravel()

    def both_answered(self, skippable: tuple[bool, bool]) -> Floats:
        """Return an indicator of the cells where both questions are answered, shape (k,)."""
        both = [answered_indicator(size, skips) for size, skips in zip(self.view.shape, skippable, strict=True)]
        return np.outer(*both).ravel()

    @property
    def in_rows(self) -> Cells:
        """The estimate of the cells, row by row."""
        return Cells(self)


@dataclass(frozen=True)
class Cells(SharesEstimate):
    """Shares of the cells of a table, row by row, from the reports of the view that asks both questions."""

    table: CrossTable

    @property
    def raw(self) -> Floats:
        return self.table.view.linear.raw

    @property
    def share(self) -> Floats:
        return self.table.share.ravel()

    @cached_property
    def variances(self) -> Floats:
        view = self.table.view
        return np.maximum(view.decoder.variances(view.mean_features), 0) / view.reports

    def covariances(self, v: Floats) -> Floats:
        view = self.table.view
        return covariances(view.decoder, view.mean_features, v) / view.reports

    @property
    def views(self) -> list[FormView]:
        return [self.table.view]

    def by_group(self) -> Iterator[Floats]:
        return self.table.view.linear.by_group()

    def furthest_of(self, v: Floats) -> float:
        return self.table.view.furthest_of(v)

    @property
    def furthest(self) -> Floats:
        return self.table.view.linear.furthest

    def intervals(self, alpha: float) -> Interval:
        return self.table.view.linear.intervals(alpha)


def cross_table(views: Sequence[FormView], first: int, second: int) -> CrossTable:
    """Return the estimate of the table of two questions.

    Args:
        views: the form's views that have reports.
        first, second: the positions of the questions in the form, in increasing order; the values of the first are the
            rows.
    Raises:
        NotAsked: no view with reports asks both questions and distinguishes their values.
        NotEnough: all reports come from one group of devices.
        NotInvertible: no unbiased estimate exists.
        ValueError: ``first`` does not come before ``second``.
    """
    if first >= second:
        raise ValueError("the question of the rows does not come before that of the columns in the form: swap them")
    both = views_with(views, first, second)
    if not both:
        raise NotAsked(
            "there are no reports of devices that were asked both questions: choose two that a view asks together, or "
            "ingest more"
        )
    view = max(both, key=lambda view: view.tally.reports)
    if math.isnan(view.reports):
        raise NotEnough(
            "all reports on both questions come from one device, or from very few, so the noise of their table is "
            "unknown: ingest reports of more devices"
        )
    return CrossTable(view, pooled_question(views, first), pooled_question(views, second))
