"""Plans a form: expected standard errors of each question, and the weakest association that can be detected.

A table of a and b values has noise in each of the (a - 1)(b - 1) free numbers of its interaction, sigma with n reports
of its view. The largest singular value of noise alone exceeds t sigma in one of twenty tables (simulated), which is
what the test of association goes by. One pattern of strength s is pushed by noise to about

    sqrt((s^2 + (a - 1) sigma^2) (s^2 + (b - 1) sigma^2)) / s,        with a standard deviation of about sigma

(Benaych-Georges, Nadakuditi 2012), so it is found with probability .8 where that is .84 sigma above t sigma. As
Cramer's V, at even margins, s is V sqrt(min(a, b) - 1) / sqrt(a b): 0 without association, 1 where one answer tells the
other; .1 is called weak, .3 medium, .5 strong (Cohen 1988, with V for w). On the 36 tables of nine questions of UCI
Adult this foretold 3, 6, 15, 10 and 30 associations, and in one crowd the test finds 7, 10, 18, 17 and 30 (48,842
people at 1, 2 and 4 nats; 10^6 at 1 and 4).

Everything is at even answers, which are about the hardest to tell.
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
from aggregator.planner.goals import rounded_up
from protocol import exact
from protocol.channels import Channel
from protocol.domain.form import Form
from protocol.views import Map, Questions, View

MEDIUM = 0.3
"""The strength of association, as Cramer's V, that people are counted for."""

LEVELS = tuple(map(exact.level_from, ("0.5", "1", "1.5", "2", "3", "4", "5", "6", "8")))
"""In nanonats: those among which one is named at which associations are found."""

SURE, POWER = 0.95, 0.84
"""The part of tables without association that pass the test, and the normal quantile of .8."""

MANY = 10**12
"""Reports of an expected tally."""


@dataclass(frozen=True)
class QuestionPlan:
    """The plan of one question.

    Attributes:
        name: of the question.
        values: how many it has, with "skipped".
        reports: to expect behind its shares.
        se: standard error of one share, root mean square over the values; None if they cannot be distinguished.
        people_for: for each wanted standard error, how many people the form takes.
    """

    name: str
    values: int
    reports: float
    se: float | None
    people_for: dict[float, int]

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form."""
        people = {f"{wanted:g}": number for wanted, number in self.people_for.items()}
        return {"question": self.name, "values": self.values, "reports": self.reports, "se": self.se,
                "people_for": people}  # fmt: skip


@dataclass(frozen=True)
class TablePlan:
    """The plan of the association of two questions.

    Attributes:
        names: of the questions.
        cells: of the table.
        reports: to expect of its view.
        se: standard error of one cell, root mean square.
        detectable: the least Cramer's V that is found in four of five surveys; above 1 none is.
        people: how many the form takes to find a medium association.
    """

    names: tuple[str, str]
    cells: int
    reports: float
    se: float
    detectable: float
    people: int

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form."""
        return {"questions": list(self.names), "cells": self.cells, "reports": self.reports, "se": self.se,
                "detectable_v": self.detectable, "people_for_medium": self.people}  # fmt: skip


@dataclass(frozen=True)
class FormPlan:
    """The plan of a form with a number of people.

    Attributes:
        reports: how many people.
        level: of the form, nanonats.
        questions: each question.
        tables: each pair that is asked together, the easiest first.
        enough: the least of ``LEVELS`` at which half of the tables show a medium association, these people; None where
            none does, or they do at the form's own.
    """

    reports: int
    level: int
    questions: tuple[QuestionPlan, ...]
    tables: tuple[TablePlan, ...]
    enough: int | None

    @property
    def sentences(self) -> list[str]:
        """What can be learnt of associations, in plain words."""
        if not self.tables:
            return ["No device is asked two questions, so no association can be learnt."]
        whole, found = len(self.tables), sum(table.detectable <= MEDIUM for table in self.tables)
        never = sum(table.detectable > 1 for table in self.tables)
        at = f"With {self.reports:,} people at {exact.in_nats(self.level)}"
        pairs = f"{whole} pair{'' if whole == 1 else 's'} of questions"
        if not found:
            told = f"{at} no association of medium strength (Cramer's V {MEDIUM}) can be learnt in any of {pairs}."
        else:
            told = f"{at} an association of medium strength (Cramer's V {MEDIUM}) can be learnt in {found} of {pairs}."
        sentences = [told]
        if never:
            sentences.append(f"In {never} not even the strongest can be distinguished from no association.")
        if found < whole:
            half = sorted(table.people for table in self.tables)[(whole - 1) // 2]
            levels = "" if self.enough is None else f", or {exact.in_nats(self.enough)} for these people"
            most = max(table.people for table in self.tables)
            sentences.append(f"Half of the pairs take {half:,} people{levels}; all take {most:,}.")
        return sentences

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form; its keys are a contract."""
        return {
            "reports": self.reports,
            "epsilon": exact.nats(self.level),
            "questions": [question.as_json() for question in self.questions],
            "tables": [table.as_json() for table in self.tables],
            "enough_epsilon": None if self.enough is None else exact.nats(self.enough),
            "says": self.sentences,
        }


def plan_form(asked: DraftForm, reports: int, *, wanted: Sequence[float] = (0.01,)) -> FormPlan:
    """Return what a form can teach.

    Args:
        reports: how many people.
        wanted: standard errors of one share.
    """
    form, level = asked.form, asked.question.notion.level
    total = sum(view.weight for view in asked.views)
    told = [
        _Expected(view, found, view.weight / total)
        for view in asked.views
        if (found := _expected(form, view.map, view.channel)) is not None
    ]
    questions = tuple(_question(form, place, told, reports, wanted) for place in range(len(form.questions)))
    pairs = [(one, _table(form, one, reports)) for one in told if len(one.found.questions) == 2]
    pairs.sort(key=lambda pair: pair[1].detectable)
    enough = None
    if pairs and (middle := pairs[(len(pairs) - 1) // 2])[1].detectable > MEDIUM:
        enough = _enough(asked, middle[0], reports, level)
    return FormPlan(reports, level, questions, tuple(table for _, table in pairs), enough)


@dataclass(frozen=True)
class _Expected:
    """A view with the counts to expect, and its part of the devices."""

    view: View
    found: FormView
    part: float


def _enough(asked: DraftForm, one: _Expected, reports: int, level: int) -> int | None:
    """The least level above the form's own at which the table of a view shows a medium association."""
    for other in LEVELS:
        if other > level:
            channel = asked.channel(one.view, other)
            found = _expected(asked.form, one.view.map, channel)
            if found is not None and detectable(found, reports * one.part) <= MEDIUM:
                return other
    return None


def _expected(form: Form, map_: Map, channel: Channel) -> FormView | None:
    """A view with the counts to expect at even answers; None if the channel cannot distinguish the values."""
    decoder = decoder_of(channel)
    if not isinstance(map_, Questions) or not decoder.by_value:
        return None
    shape = tuple(question.size for question in map_.asked(form))
    law = decoder.forward(np.full(decoder.inputs, 1 / decoder.inputs))
    return FormView(map_.places, shape, decoder, Tally(np.rint(law * MANY).astype(np.int64), MANY))


def _question(
    form: Form, place: int, views: Sequence[_Expected], reports: int, wanted: Sequence[float]
) -> QuestionPlan:
    question = form.questions[place]
    holding = [one for one in views if place in one.found.questions]
    precision = sum(one.part / float(one.found.variances[place].even.mean()) for one in holding)
    behind = reports * sum(one.part for one in holding)
    if not precision:
        return QuestionPlan(question.name, question.size, behind, None, {})
    people = {error: math.ceil(1 / precision / error**2) for error in wanted}
    return QuestionPlan(question.name, question.size, behind, 1 / math.sqrt(precision * reports), people)


def _table(form: Form, one: _Expected, reports: int) -> TablePlan:
    view, behind = one.found, reports * one.part
    first, second = (form.questions[place].name for place in view.questions)
    se = math.sqrt(float(view.decoder.variances(view.share).mean()) / behind)
    found = detectable(view, behind)
    people = rounded_up(reports * (found / MEDIUM) ** 2)
    return TablePlan((first, second), math.prod(view.shape), behind, se, found, people)


def detectable(view: FormView, reports: float) -> float:
    """Return the least association of two questions, as Cramer's V, that four of five surveys find.

    Args:
        view: of two questions, with the counts to expect.
        reports: of this view.
    """
    a, b = view.shape
    strength = _strength(a - 1, b - 1) * math.sqrt(interaction_variance(view) / reports)
    return strength * math.sqrt(a * b / (min(a, b) - 1))


@cache
def _strength(a: int, b: int) -> float:
    """The pattern that is found in a by b free numbers, in standard deviations of one."""
    noise = np.random.default_rng(0).normal(size=(999, a, b))
    threshold = float(np.quantile(np.linalg.norm(noise, 2, axis=(1, 2)), SURE))
    low, high = max(a * b, 1) ** 0.25, threshold + POWER + a + b  # below the former noise hides any pattern
    while high - low > 1e-6:
        s = (low + high) / 2
        pushed = math.sqrt((s**2 + a) * (s**2 + b)) / s
        low, high = (low, s) if pushed - POWER >= threshold else (s, high)
    return high
