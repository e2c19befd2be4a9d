"""Shares of a form's questions, weighted by other questions whose shares in the population are known.

A person's answer to the question of a margin is hidden, so single reports cannot be weighted. But additive weights

    w = 1 + g_0 + sum over margins m of g_m[the person's group]

need no table of more than two questions; the views with two questions give these tables. Let z be 1 and the indicators
of the groups, S = E[z z'], M the known margins, d = M minus the margins of the reports, and g = S^-1 d. Then

    weighted share of t  =  E[w t]  =  E[t] + d' S^-1 E[z t]

This estimate reproduces the known margins exactly (calibration estimator with the linear distance: Deville, Särndal
1992). With one margin the method is post-stratification, sum over groups of M_g T(g, t) / T(g). With several margins it
is linear raking, which removes the same bias as multiplicative raking if the effects of the groups on t are additive,
and needs no table of three questions.

Every moment is computed from the pooled shares p of the questions and the tables T minus their own margins (consistent
with p, and linear in the reports). So the weighted share is a smooth function of unbiased estimates, and its error
follows by linearisation:

    w t + b'(M - z) - (w - 1) b'z,    b = S^-1 E[z t]      (Woodruff 1971)

The expression is one number for each report of each view. For people who skipped the question of a margin, M and z of
this margin are 0: the margin refers to the people who answered the question, and weighting does not change their share.

``form`` computes the pooled shares, ``form_table`` the tables, and ``class_weights`` the weights of public classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from aggregator.estimate.distribution import project
from aggregator.estimate.form import NotAsked, PooledQuestion, SharesEstimate, pooled_question
from aggregator.estimate.form_table import CrossTable, centred, cross_table
from aggregator.estimate.form_view import FormView
from aggregator.estimate.weighting import KnownMargin, MarginRefused, Weighting, require_distinct
from aggregator.families.decoder import Floats
from protocol.domain.form import Form

SIGNIFICANT_GROUP = 3.0
"""A group is weighted only if its share of the reports is this many standard errors above zero. Linearisation does not
hold for a quotient with a smaller denominator."""

Function: TypeAlias = tuple[tuple[int, ...], Floats]
"""A number for each combination of answers: the positions of the questions in increasing order, and an array with an
axis for each."""

Moment: TypeAlias = Callable[[Function], float]
"""A function that returns the mean of a ``Function`` over all people, including those who skipped a question."""


def _times(first: Function, second: Function) -> Function:
    """Return the product of two functions of answers, as a function of all their questions."""
    places = tuple(sorted({*first[0], *second[0]}))
    shaped = []
    for factor_places, numbers in (first, second):
        missing = tuple(axis for axis, place in enumerate(places) if place not in factor_places)
        shaped.append(np.expand_dims(numbers, missing))
    return places, shaped[0] * shaped[1]


class PooledForm:
    """The pooled shares of the questions and tables of a form, each computed when it is first used.

    Args:
        views: the form's views that have reports.
        form: the form with all its questions.
    """

    def __init__(self, views: Sequence[FormView], form: Form) -> None:
        self.views, self.form = views, form
        self._questions: dict[int, PooledQuestion] = {}
        self._tables: dict[tuple[int, ...], CrossTable] = {}

    def question(self, place: int) -> PooledQuestion:
        """Return the pooled shares of a question.

        Raises:
            NotAsked, NotInvertible: see ``pooled_question``.
        """
        if place not in self._questions:
            self._questions[place] = pooled_question(self.views, place)
        return self._questions[place]

    def table(self, places: tuple[int, ...]) -> CrossTable:
        """Return the table of two questions.

        Raises:
            NotAsked: no view asks both, or there are more than two questions.
            NotEnough, NotInvertible: see ``cross_table``.
        """
        names = " and ".join(repr(self.form.questions[place].name) for place in places)
        if len(places) > 2:
            raise NotAsked(f"no device is asked {names} together: a table can be weighted by its own questions only")
        if places not in self._tables:
            try:
                self._tables[places] = cross_table(self.views, *places)
            except NotAsked:
                raise NotAsked(
                    f"there are no reports of devices that were asked both {names}, which the weights need: weight by "
                    "another question"
                ) from None
        return self._tables[places]

    def raw(self, function: Function) -> float:
        """Return the unbiased mean of a function of answers, from tables with the pooled shares as margins."""
        places, numbers = function
        if not places:
            return float(numbers)
        if len(places) == 1:
            return float(self.question(places[0]).raw @ numbers)
        table = self.table(places)
        rows, columns = (self.question(place).raw for place in places)
        known = rows @ numbers.mean(axis=1) + columns @ numbers.mean(axis=0) - numbers.mean()
        return float((centred(table.raw) * numbers).sum() + known)

    def consistent(self, function: Function) -> float:
        """Return the mean of a function of answers under the consistent distributions."""
        places, numbers = function
        if not places:
            return float(numbers)
        share = self.question(places[0]).share if len(places) == 1 else self.table(places).share
        return float((share * numbers).sum())

    def queries(self, functions: Sequence[Function]) -> list[tuple[FormView, Floats]]:
        """Return each view's contribution to the mean of the sum of ``functions``, as a query on the view's inputs."""
        queries: dict[int, tuple[FormView, Floats]] = {}

        def add(view: FormView, numbers: Floats) -> None:
            before = queries[id(view)][1] if id(view) in queries else 0.0
            queries[id(view)] = view, before + numbers

        def add_pooled(place: int, numbers: Floats) -> None:
            pooled = self.question(place)
            for view, weight in zip(pooled.views, pooled.weights.tolist(), strict=True):
                add(view, weight * view.lift(place, numbers))

        for places, numbers in functions:
            if len(places) == 1:
                add_pooled(places[0], numbers)
            elif places:
                add(self.table(places).view, centred(numbers).ravel())
                add_pooled(places[0], numbers.mean(axis=1))
                add_pooled(places[1], numbers.mean(axis=0))
        return list(queries.values())


@dataclass(frozen=True)
class _MarginIndicators:
    """A known margin, as indicator functions of its question.

    Attributes:
        known: the margin.
        place: the position of the question in the form.
        indicators: (G', a) 1 if a value is in the group; if every person is in a group, the last group is left out.
        targets: (G',) the known shares of these groups.
        answered_indicator: (a,) 1 for each value, 0 for "skipped".
    """

    known: KnownMargin
    place: int
    indicators: Floats
    targets: Floats
    answered_indicator: Floats

    @classmethod
    def of(cls, known: KnownMargin, form: Form) -> _MarginIndicators:
        if known.place is None:
            raise MarginRefused(f"margins of a form's answers must be by one of its questions, not by {known.by!r}")
        question = form.questions[known.place]
        indicators = np.zeros((len(known.names), question.size))
        indicators[known.groups, np.arange(question.domain.size)] = 1
        used = slice(None) if question.skippable else slice(-1)
        return cls(known, known.place, indicators[used], known.shares[used], indicators.sum(axis=0))

    def function(self, numbers: Floats) -> Function:
        """Return the function of the question's values that is ``numbers[g]`` for each value in group g, and 0 for
        the others."""
        values: Floats = numbers @ self.indicators
        return (self.place,), values


class Calibration:
    """The weights that calibrate a survey to known margins.

    Args:
        pooled_form: the pooled shares and the tables of the form.
        margins: the known shares of the population by questions of the form.
    Raises:
        MarginRefused: a group has too few reports, two margins have the same groups, or a margin is not by a question;
            or, when the weights are first used, the margins are linearly dependent.
        NotAsked: no view asks the question of a margin; or, when the weights are first used, no view asks the questions
            of two margins together.
    """

    def __init__(self, pooled_form: PooledForm, margins: Sequence[KnownMargin]) -> None:
        require_distinct(margins)
        self.pooled_form, self.margins = pooled_form, tuple(margins)
        self._by_margin = [_MarginIndicators.of(known, pooled_form.form) for known in margins]
        self.group_shares = tuple(map(self._group_shares, self._by_margin))
        self._indicators: list[Function] = [((), np.array(1.0))]
        for margin in self._by_margin:
            self._indicators += [((margin.place,), row) for row in margin.indicators]
        cuts = np.cumsum([1, *(len(margin.targets) for margin in self._by_margin)])
        self._parts = [slice(first, past) for first, past in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)]

    def _group_shares(self, margin: _MarginIndicators) -> Floats:
        """Return the shares of the groups among the people who answered the question, shape (G,)."""
        known, pooled = margin.known, self.pooled_form.question(margin.place)
        sums = np.zeros(len(known.names))
        for place, name in enumerate(known.names):
            of_group = np.zeros(len(pooled.raw))
            of_group[: len(known.groups)] = known.groups == place
            error = math.sqrt(max(float(of_group @ pooled.covariances(of_group)), 0.0))
            sums[place] = of_group @ pooled.raw
            if not sums[place] > SIGNIFICANT_GROUP * error:
                raise MarginRefused(
                    f"too few reports from people with {known.by} = {name!r} to weight them ({sums[place]:.2%} with a "
                    f"standard error of {error:.2%}): wait for more reports, or group this value with another"
                )
        shares: Floats = sums / sums.sum()
        return shares

    def _weights(self, moment: Moment) -> tuple[Floats, Floats]:
        """Return g, shape (z,), and S, shape (z, z), of the module's formulas."""
        z = self._indicators
        second = np.array([[moment(_times(row, other)) for other in z] for row in z])
        short = [0.0]
        for margin in self._by_margin:
            answered = moment(((margin.place,), margin.answered_indicator))
            short += [
                target * answered - moment(((margin.place,), row))
                for target, row in zip(margin.targets.tolist(), margin.indicators, strict=True)
            ]
        try:
            return np.linalg.solve(second, np.array(short)), second
        except np.linalg.LinAlgError:
            raise MarginRefused(
                "the margins are linearly dependent, so some of their shares follow from others: leave out one margin"
            ) from None

    @cached_property
    def _raw(self) -> tuple[Floats, Floats]:
        return self._weights(self.pooled_form.raw)

    @cached_property
    def _consistent(self) -> Floats:
        return self._weights(self.pooled_form.consistent)[0]

    def _functions(self, numbers: Floats) -> list[Function]:
        """Return a linear combination of the indicators as functions: a constant, and one function for each margin."""
        parts = [margin.function(numbers[part]) for margin, part in zip(self._by_margin, self._parts, strict=True)]
        return [((), np.array(numbers[0])), *parts]

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest possible weight of a person."""
        constant, *parts = self._functions(self._consistent)
        values = []
        for margin, (_, numbers) in zip(self._by_margin, parts, strict=True):
            answered = margin.answered_indicator > 0
            values.append(numbers[answered] if answered.all() else numbers)
        mean = 1 + float(constant[1])
        return mean + sum(float(weights.min()) for weights in values), mean + sum(
            float(weights.max()) for weights in values
        )

    def raw(self, function: Function) -> float:
        """Return the weighted mean of a function of answers. It may be negative. Its bias is of the order of its
        variance, so it vanishes with more reports."""
        g, _ = self._raw
        return self.pooled_form.raw(function) + sum(
            float(coefficient) * self.pooled_form.raw(_times(z, function))
            for coefficient, z in zip(g, self._indicators, strict=True)
        )

    def share(self, function: Function) -> float:
        """Return the weighted mean of a function of answers under the consistent distributions."""
        moment = self.pooled_form.consistent
        return moment(function) + sum(
            float(coefficient) * moment(_times(z, function))
            for coefficient, z in zip(self._consistent, self._indicators, strict=True)
        )

    def gradient(self, function: Function) -> list[tuple[FormView, Floats]]:
        """Return each view's contribution to the weighted mean of a function, as a query on the view's inputs."""
        g, second = self._raw
        moments = np.array([self.pooled_form.raw(_times(z, function)) for z in self._indicators])
        b = np.linalg.solve(second, moments)
        weights, slopes = self._functions(g), self._functions(b)
        functions = [function, *(_times(weight, function) for weight in weights)]
        for margin, part, (places, slope) in zip(self._by_margin, self._parts, slopes[1:], strict=True):
            functions.append((places, margin.answered_indicator * float(b[part] @ margin.targets) - slope))
        functions += [_times((places, -slope), weight) for places, slope in slopes for weight in weights]
        return self.pooled_form.queries(functions)


@dataclass(frozen=True)
class WeightedShares(SharesEstimate):
    """Shares of values or cells, weighted to known margins.

    Attributes:
        calibration: the weights that reproduce the known margins.
        indicators: the indicator function of each value or cell.
    """

    calibration: Calibration
    indicators: tuple[Function, ...]

    @cached_property
    def raw(self) -> Floats:
        """Weighted estimate, whose bias is of the order of its variance, shape (k,)."""
        return np.array([self.calibration.raw(indicator) for indicator in self.indicators])

    @cached_property
    def share(self) -> Floats:
        return project(np.array([self.calibration.share(indicator) for indicator in self.indicators]))

    @cached_property
    def _gradients(self) -> list[Mapping[int, tuple[FormView, Floats]]]:
        gradients = [self.calibration.gradient(indicator) for indicator in self.indicators]
        return [{id(view): (view, numbers) for view, numbers in gradient} for gradient in gradients]

    @property
    def views(self) -> list[FormView]:
        return list({key: view for gradient in self._gradients for key, (view, _) in gradient.items()}.values())

    def by_group(self) -> Iterator[Floats]:
        nothing = {id(view): np.zeros(view.decoder.input_count) for view in self.views}
        moves = [
            np.array([gradient[key][1] if key in gradient else zero for gradient in self._gradients])
            for key, zero in nothing.items()
        ]
        for contributions in zip(*(view.linear.by_group() for view in self.views), strict=True):
            yield np.sum([numbers @ add for numbers, add in zip(moves, contributions, strict=True)], axis=0)

    def furthest_of(self, v: Floats) -> float:
        return max((view.furthest_of(numbers) for view, numbers in self._along(v).values()), default=0.0)

    def _along(self, v: Floats) -> dict[int, tuple[FormView, Floats]]:
        """Return each view's contribution to v . raw, as a query on the view's inputs."""
        total: dict[int, tuple[FormView, Floats]] = {}
        for gradient, factor in zip(self._gradients, v.tolist(), strict=True):
            if factor:
                total = _sum(total, gradient, factor)
        return total

    @cached_property
    def variances(self) -> Floats:
        return np.array([_variance(gradient) for gradient in self._gradients])

    def covariances(self, v: Floats) -> Floats:
        total = self._along(v)
        both = [
            (_variance(_sum(gradient, total, 1)), _variance(_sum(gradient, total, -1))) for gradient in self._gradients
        ]
        return np.array([(plus - minus) / 4 for plus, minus in both])

    @cached_property
    def weighting(self) -> Weighting:
        """The effect of the weights."""
        pooled_form = self.calibration.pooled_form
        plain = [{id(view): (view, v) for view, v in pooled_form.queries([indicator])} for indicator in self.indicators]
        unweighted = sum(map(_variance, plain))
        effect = float(self.variances.sum() / unweighted) if unweighted else math.nan
        everybody = sum(view.tally.reports for view in pooled_form.views)
        mine, theirs = (max(map(_furthest, queries)) * everybody for queries in (self._gradients, plain))
        calibration = self.calibration
        return Weighting(calibration.margins, calibration.group_shares, *calibration.range, effect, mine, theirs)


def _variance(queries: Mapping[int, tuple[FormView, Floats]]) -> float:
    return sum(
        max(view.decoder.variance(v, view.mean_features), 0.0) / view.reports for view, v in queries.values() if v.any()
    )


def _furthest(queries: Mapping[int, tuple[FormView, Floats]]) -> float:
    """Return the largest change of the estimate that one report can cause."""
    return max(
        (view.decoder.furthest(v, view.mean_features) / view.tally.reports for view, v in queries.values()), default=0.0
    )


def _sum(
    first: Mapping[int, tuple[FormView, Floats]], second: Mapping[int, tuple[FormView, Floats]], factor: float
) -> dict[int, tuple[FormView, Floats]]:
    sums = dict(first)
    for key, (view, numbers) in second.items():
        sums[key] = view, (sums[key][1] if key in sums else 0.0) + factor * numbers
    return sums


def weighted_question(calibration: Calibration, place: int) -> WeightedShares:
    """Return the weighted shares of a question's values, including "skipped" if a person may skip.

    They are computed when they are first read; reading raises ``NotAsked`` if no view asks both this question and the
    question of a margin.
    """
    size = calibration.pooled_form.form.questions[place].size
    return WeightedShares(calibration, tuple(((place,), unit) for unit in np.eye(size)))


def weighted_table(calibration: Calibration, first: int, second: int) -> WeightedShares:
    """Return the weighted shares of the cells of two questions, row by row.

    They are computed when they are first read; reading raises ``NotAsked`` if the question of a margin is neither of
    the two.

    Args:
        first, second: the positions of the questions, in increasing order.
    """
    shape = tuple(calibration.pooled_form.form.questions[place].size for place in (first, second))
    units = np.eye(math.prod(shape)).reshape(-1, *shape)
    return WeightedShares(calibration, tuple(((first, second), unit) for unit in units))
