"""Plan a form: the expected standard errors of each question, and the weakest association that can be detected.

The interaction of two questions with a and b values has (a - 1)(b - 1) free numbers. Each of these numbers, estimated
from the n reports of the view that asks both questions, has noise with the standard deviation sigma. The largest
singular value of noise alone exceeds t sigma in 1 of 20 tables (simulated); the test of association uses this
threshold. Noise raises the singular value of a pattern of strength s to about

    sqrt((s^2 + (a - 1) sigma^2) (s^2 + (b - 1) sigma^2)) / s,        with a standard deviation of about sigma

(Benaych-Georges, Nadakuditi 2012). So the pattern is found with probability .8 if this value is .84 sigma above t
sigma. For even margins and Cramer's V, s = V sqrt(min(a, b) - 1) / sqrt(a b). V is 0 without association, and 1 if one
answer determines the other; .1 is called weak, .3 medium, .5 strong (Cohen 1988, with V for w). For the 36 tables of
nine questions of UCI Adult, the associations that this formula predicted, and those that the test found in one
simulation, were

    people     level     predicted  found
    48,842     1 nat             3      7
    48,842     2 nats            6     10
    48,842     4 nats           15     18
    1,000,000  1 nat            10     17
    1,000,000  4 nats           30     30

All errors are for evenly distributed answers, which are nearly the worst case.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from aggregator.author.form_section import DraftForm
from aggregator.estimate.form_table import interaction_variance
from aggregator.estimate.form_view import FormView
from aggregator.estimate.tally import Tally
from aggregator.families.registry import decoder_of
from aggregator.planner.goals import rounded_up_people
from aggregator.quantity import quantity
from protocol import exact
from protocol.channels import Channel
from protocol.domain.form import Form
from protocol.views import Map, QuestionsMap, View

MEDIUM = 0.3
"""The strength of association, as Cramer's V, for which the people needed are computed."""

LEVELS = tuple(map(exact.level_from, ("0.5", "1", "1.5", "2", "3", "4", "5", "6", "8")))
"""Levels in nanonats; the plan states the least of these levels at which associations are found."""

SURE, POWER = 0.95, 0.84
"""The part of tables without association for which the test does not reject, and the normal quantile of .8."""

MANY = 10**12
"""Number of reports of a tally of expected counts, so large that rounding does not matter."""


@dataclass(frozen=True)
class QuestionPlan:
    """The plan of one question.

    Attributes:
        name: the name of the question.
        values: the number of values of the question, "skipped" included.
        reports: the expected number of reports from which its shares are estimated.
        se: the standard error of one share, root mean square over the values; None if the values cannot be
            distinguished.
        people_for: the number of people that the form needs for each target standard error.
    """

    name: str
    values: int
    reports: float
    se: float | None
    people_for: dict[float, int]

    def as_json(self) -> dict[str, Any]:
        people = {f"{target:g}": number for target, number in self.people_for.items()}
        return {"question": self.name, "values": self.values, "reports": self.reports, "se": self.se,
                "people_for": people}  # fmt: skip


@dataclass(frozen=True)
class TablePlan:
    """The plan of the association of two questions.

    Attributes:
        names: the names of the two questions.
        cells: the number of cells of the table.
        reports: the expected number of reports of the view that asks both questions.
        se: the standard error of one cell, root mean square over the cells.
        detectable: the least Cramer's V that is found in four of five surveys; above 1 if no association can be found.
        people: the number of people that the form needs to find a medium association.
    """

    names: tuple[str, str]
    cells: int
    reports: float
    se: float
    detectable: float
    people: int

    def as_json(self) -> dict[str, Any]:
        return {"questions": list(self.names), "cells": self.cells, "reports": self.reports, "se": self.se,
                "detectable_v": self.detectable, "people_for_medium": self.people}  # fmt: skip


@dataclass(frozen=True)
class FormPlan:
    """The plan of a form with a number of people.

    Attributes:
        reports: the number of people.
        level: the level of the form in nanonats.
        questions: one plan for each question.
        tables: one plan for each pair that is asked together, the smallest detectable association first.
        sufficient_level: the least of ``LEVELS`` at which this number of people shows a medium association in half of
            the tables; None if no level is sufficient, or if the form's level already is.
    """

    reports: int
    level: int
    questions: tuple[QuestionPlan, ...]
    tables: tuple[TablePlan, ...]
    sufficient_level: int | None

    @property
    def sentences(self) -> list[str]:
        """Sentences for the author about the associations that can be found."""
        if not self.tables:
            return ["No device is asked two questions, so no association can be found."]
        pairs, detected = len(self.tables), sum(table.detectable <= MEDIUM for table in self.tables)
        undetectable = sum(table.detectable > 1 for table in self.tables)
        location, of_them = f"in {detected or 'any'} of {pairs} pairs of questions", f"In {undetectable} of them, even"
        if pairs == 1:
            location, of_them = f"between {' and '.join(self.tables[0].names)}", "Even"
        people = quantity(self.reports, "person", "people")
        medium = f"{'an' if detected else 'no'} association of medium strength (Cramer's V {MEDIUM})"
        sentences = [f"With {people} at {exact.in_nats(self.level)}, {medium} can be found {location}."]
        if undetectable:
            sentences.append(f"{of_them} the strongest association cannot be distinguished from none.")
        if detected < pairs:
            required = sorted(table.people for table in self.tables)
            level = ""
            if self.sufficient_level is not None:
                level = f", or {exact.in_nats(self.sufficient_level)} with {people}"
            if pairs == 1:
                sentences.append(f"An association of medium strength needs {required[0]:,} people{level}.")
            else:
                sentences.append(
                    "Associations of medium strength can be found in half of the pairs with "
                    f"{required[(pairs - 1) // 2]:,} people{level}; in all pairs, with {required[-1]:,} people."
                )
        return sentences

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object; scripts depend on the names of its keys."""
        return {
            "reports": self.reports,
            "epsilon": exact.nats(self.level),
            "questions": [question.as_json() for question in self.questions],
            "tables": [table.as_json() for table in self.tables],
            "enough_epsilon": None if self.sufficient_level is None else exact.nats(self.sufficient_level),
            "says": self.sentences,
        }


def plan_form(draft: DraftForm, reports: int, *, target_errors: Sequence[float] = (0.01,)) -> FormPlan:
    """Return the expected errors of a form, and the associations that can be found.

    Args:
        reports: the number of people.
        target_errors: the target standard errors of one share.
    """
    form, level = draft.form, draft.question.notion.level
    total = sum(view.weight for view in draft.views)
    expected = [
        _ExpectedView(view, form_view, view.weight / total)
        for view in draft.views
        if (form_view := _expected(form, view.map, view.channel)) is not None
    ]
    questions = tuple(_question(form, place, expected, reports, target_errors) for place in range(len(form.questions)))
    pairs = [
        (expected_view, _table(form, expected_view, reports))
        for expected_view in expected
        if len(expected_view.form_view.questions) == 2
    ]
    pairs.sort(key=lambda pair: pair[1].detectable)
    sufficient_level = None
    if pairs and (middle := pairs[(len(pairs) - 1) // 2])[1].detectable > MEDIUM:
        sufficient_level = _sufficient_level(draft, middle[0], reports, level)
    return FormPlan(reports, level, questions, tuple(table for _, table in pairs), sufficient_level)


@dataclass(frozen=True)
class _ExpectedView:
    """A view with its expected counts, and the share of the devices that have it."""

    view: View
    form_view: FormView
    share: float


def _sufficient_level(draft: DraftForm, expected_view: _ExpectedView, reports: int, level: int) -> int | None:
    """Return the least of ``LEVELS`` above the form's level at which the table of a view shows a medium association;
    None if no level does."""
    for candidate_level in LEVELS:
        if candidate_level > level:
            channel = draft.channel(expected_view.view, candidate_level)
            form_view = _expected(draft.form, expected_view.view.map, channel)
            if form_view is not None and detectable(form_view, reports * expected_view.share) <= MEDIUM:
                return candidate_level
    return None


def _expected(form: Form, map_: Map, channel: Channel) -> FormView | None:
    """Return a view with its expected counts for evenly distributed answers; None if the channel cannot distinguish the
    values."""
    decoder = decoder_of(channel)
    if not isinstance(map_, QuestionsMap) or not decoder.by_value:
        return None
    shape = tuple(question.size for question in map_.questions(form))
    distribution = decoder.forward(np.full(decoder.input_count, 1 / decoder.input_count))
    return FormView(map_.positions, shape, decoder, Tally(np.rint(distribution * MANY).astype(np.int64), MANY))


def _question(
    form: Form, place: int, views: Sequence[_ExpectedView], reports: int, target_errors: Sequence[float]
) -> QuestionPlan:
    question = form.questions[place]
    holding = [expected_view for expected_view in views if place in expected_view.form_view.questions]
    precision = sum(
        expected_view.share / float(expected_view.form_view.variances[place].even.mean()) for expected_view in holding
    )
    view_reports = reports * sum(expected_view.share for expected_view in holding)
    if not precision:
        return QuestionPlan(question.name, question.size, view_reports, None, {})
    people = {error: math.ceil(1 / precision / error**2) for error in target_errors}
    return QuestionPlan(question.name, question.size, view_reports, 1 / math.sqrt(precision * reports), people)


def _table(form: Form, expected_view: _ExpectedView, reports: int) -> TablePlan:
    view, view_reports = expected_view.form_view, reports * expected_view.share
    first, second = (form.questions[place].name for place in view.questions)
    se = math.sqrt(float(view.decoder.variances(view.mean_features).mean()) / view_reports)
    association = detectable(view, view_reports)
    people = rounded_up_people(reports * (association / MEDIUM) ** 2)
    return TablePlan((first, second), math.prod(view.shape), view_reports, se, association, people)


def detectable(view: FormView, reports: float) -> float:
    """Return the least association of two questions, as Cramer's V, that four of five surveys find.

    Args:
        view: a view of two questions, with its expected counts.
        reports: the number of reports of this view.
    """
    a, b = view.shape
    strength = _strength(a - 1, b - 1) * math.sqrt(interaction_variance(view) / reports)
    return strength * math.sqrt(a * b / (min(a, b) - 1))


@cache
def _strength(a: int, b: int) -> float:
    """Return the strength of a pattern that is found in a by b free numbers, in standard deviations of one number."""
    noise = np.random.default_rng(0).normal(size=(999, a, b))
    threshold = float(np.quantile(np.linalg.norm(noise, 2, axis=(1, 2)), SURE))
    # Below the lower end, noise hides any pattern.
    low, high = max(a * b, 1) ** 0.25, threshold + POWER + a + b
    while high - low > 1e-6:
        s = (low + high) / 2
        singular_value = math.sqrt((s**2 + a) * (s**2 + b)) / s
        low, high = (low, s) if singular_value - POWER >= threshold else (s, high)
    return high
