"""The plan of a question as tables: its mechanisms, goals, classes and views.

``aggregator.planner.plan`` computes the plan. Scripts use ``as_json`` of the same objects.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from aggregator.campaign_facts import report_noun
from aggregator.present.listing import GLOSSARY, MAX_LISTED_VALUES
from aggregator.present.shown_shares import percent
from aggregator.quantity import quantity, rounded
from protocol import exact
from protocol.domain import Items, Line
from protocol.notions import Lip
from protocol.notions.information import RADIUS_UNITS

if TYPE_CHECKING:
    from aggregator.families.mechanism import PlannedQuestion
    from aggregator.planner.class_plan import ClassPlan
    from aggregator.planner.form_plan import FormPlan
    from aggregator.planner.goals import GoalPlan
    from aggregator.planner.plan import PlanRow


def goals_table(goals: Sequence[GoalPlan], question: PlannedQuestion) -> Table:
    """Return a table with a row for each goal: the number of people needed, the mechanism, and the expected errors.

    Args:
        goals: the goals of ``question``; at least one.
    """
    domain = question.domain
    span = domain.range_text if isinstance(domain, Line) else f"{domain.size:,} ordered values"
    table = Table(
        box=None,
        pad_edge=False,
        title=f"People needed: {span}, {question.notion.name} at {exact.in_nats(question.notion.level)}",
        title_justify="left",
        caption_justify="left",
    )
    means = any(plan.errors.mean is not None for plan in goals)
    table.add_column("goal")
    table.add_column("people", justify="right")
    table.add_column("for")
    for name in ("decile", *(["mean"] if means else []), "range"):
        table.add_column(name, justify="right")
    table.add_column("auto chooses")
    nouns = {"distribution": "a decile", "mean": "the mean", "ranges": "a range"}
    for plan in goals:
        people = ["-" if number is None else f"{number:,}" for number in plan.people_for.values()]
        error_texts = [f"{error:.4g}" if plan.goal != "ranges" else percent(error, 1) for error in plan.people_for]
        errors = plan.errors
        numbers = [errors.decile, *([errors.mean] if means else [])]
        cells = ["-" if number is None else rounded(number, 2) for number in numbers]
        cells.append("-" if errors.in_range is None else percent(errors.in_range, 1))
        lines = [f"{nouns[plan.goal]} \u00b1 {error}" for error in error_texts]
        table.add_row(*map(Text, [plan.goal, "\n".join(people), "\n".join(lines), *cells, _chosen(plan)]))
    unit = f", in {goals[0].unit}" if goals[0].unit else ""
    table.caption = Text(
        f"The errors are for {quantity(goals[0].reports, 'person', 'people')}: decile is the mean absolute error of "
        f"nine deciles{unit}; "
        + (f"mean is the standard error of the mean{unit}; " if means else "")
        + "range is the mean absolute error of the share of a range of two fifths of the values. Errors of deciles and "
        "ranges are simulated, so their numbers of people are rounded."
        + _dash_sentence(number for plan in goals for number in plan.people_for.values())
        + " A draft states its goal under [analysis].\n"
    )
    return table


GAP, REASON = 2, 24
"""The blanks between two columns, and the least width of a column of reasons."""

ERRORS = {
    "decile": "the mean absolute error of nine deciles, simulated",
    "mean": "the standard error of the mean",
    "range": "the mean absolute error of the share of a range of two fifths of the values, simulated",
}
"""Meaning of the errors of ordered values."""


def classes_table(plans: Sequence[ClassPlan], question: PlannedQuestion) -> Table:
    """Return a table of the expected errors for each class of people and for everybody.

    Args:
        plans: the plan of each class; the last plan is that for everybody.
        question: the question to one class.
    """
    domain, everybody, goal = question.domain, plans[-1], question.goal
    span = domain.range_text if isinstance(domain, Line) else f"{domain.size:,} values"
    table = Table(
        box=None, pad_edge=False, title=f"{span}, {len(plans) - 1} classes of people", title_justify="left",
        caption_justify="left",
    )  # fmt: skip
    noun = {"distribution": "a decile", "mean": "the mean", "ranges": "a range"}.get(goal, "a share")
    counted = report_noun(bundled=question.bundled)
    in_shares = noun in ("a range", "a share")
    columns = [("class", "left"), ("nats", "right"), (f"{counted}s", "right")]
    rows = [[plan.name or "everybody", f"{exact.nats(plan.level):g}", f"{plan.reports:,}"] for plan in plans]
    rows[-1][1] = ""
    meanings: dict[str, str] = {}
    for name, words in ERRORS.items():
        numbers = [None if plan.errors is None else plan.errors.as_json()[name] for plan in plans]
        if any(number is not None for number in numbers):
            columns.append((name, "right"))
            meanings[name] = words
            for row, number in zip(rows, numbers, strict=True):
                in_range = name == "range"
                row.append("-" if number is None else percent(number, 1) if in_range else rounded(number, 2))
    if any(plan.se is not None for plan in plans):
        columns.append(("standard error", "right"))
        for row, plan in zip(rows, plans, strict=True):
            row.append("-" if plan.se is None else f"{plan.se:.3g}")
    for target in everybody.people_for:
        error_text = percent(target, 1) if in_shares else f"{target:.4g}"
        columns.append((f"people for {noun} \u00b1 {error_text}", "right"))
        for row, plan in zip(rows, plans, strict=True):
            row.append("-" if plan.people_for[target] is None else f"{plan.people_for[target]:,}")
    columns.append(("mechanism", "left"))
    for row, plan in zip(rows, plans, strict=True):
        row.append(plan.mechanism)
    for heading, side in columns:
        table.add_column(heading, justify="left" if side == "left" else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    words = f"Classes are assumed to be of equal size. For everybody, each {counted} has the same weight."
    if everybody.people_for:
        error = "mean absolute error" if goal in ("distribution", "ranges") else "standard error"
        words += f" People for {noun} \u00b1 E: the people needed for the {error} E."
        words += _dash_sentence(number for plan in plans for number in plan.people_for.values())
    if meanings:
        unit = f", in {everybody.unit}" if everybody.unit else ""
        errors = (f"{name} is {meaning}{'' if name == 'range' else unit}" for name, meaning in meanings.items())
        words += f" The errors: {'; '.join(errors)}."
    if everybody.se_precision is not None:
        words += (
            f" With `estimate --pool precision`, which is for classes that have the same shares, everybody's standard "
            f"error is {everybody.se_precision:.3g}."
        )
    table.caption = Text(f"{words}\n{GLOSSARY}")
    return table


def _dash_sentence(people: Iterable[int | None]) -> str:
    """Return the sentence that explains a missing number of people; "" if none is missing."""
    from aggregator.planner.goals import MAX_PLANNED_PEOPLE  # other tables do not need the planner

    if None not in people:
        return ""
    return f" A dash for people means more than {MAX_PLANNED_PEOPLE:,}, or that the error is not computed."


def _chosen(plan: GoalPlan) -> str:
    domain = plan.question.domain
    few = isinstance(domain, Line) and domain.rounds_randomly and domain.size <= MAX_LISTED_VALUES
    values = f"{domain.size:,} {'numbers, rounded at random' if few else 'values'}"
    return f"{plan.choice.mechanism.name}, {values}"


def plan_table(
    rows: Sequence[PlanRow], question: PlannedQuestion, reports: int, *, width: int, unsuited: bool = False
) -> Table:
    """Return a table of every suitable mechanism for a question, the chosen one first.

    Args:
        width: the number of columns of the terminal. If the reasons do not fit beside the numbers, they follow the
            table.
        unsuited: whether the caption explains why each other mechanism is unsuitable; if not, it gives only their
            number.
    """
    noun = report_noun(bundled=question.bundled)
    lip = isinstance(question.notion, Lip)
    errors = sorted({error for row in rows for error in row.people_for}, reverse=True)
    people = [f"people for {error:g}" for error in errors]
    numbers = any(row.mean_se is not None for row in rows)
    bits = any(row.candidate is not None and row.candidate.report_mae is not None for row in rows)
    headings = ["mechanism", "bits", "standard error", *(["error of the mean"] if numbers else []), *people]
    headings += [
        *(["a person's error"] if lip else []),
        *(["mean absolute error"] if bits else []),
        f"people per {noun}",
    ]
    unsuitable = _unsuited(rows) if unsuited else _left_out(rows)
    suitable: list[PlanRow] = []
    cells_of: list[list[str]] = []
    for row in rows:
        candidate = row.candidate
        if candidate is None:
            continue
        cells = [row.mechanism, f"{candidate.channel.output_bits:,}"]
        cells.append("-" if math.isnan(row.se) else f"{row.se:.3g}")
        if numbers:
            cells.append("-" if row.mean_se is None or math.isnan(row.mean_se) else f"{row.mean_se:.3g}")
        cells += [f"{row.people_for[error]:,}" if error in row.people_for else "-" for error in errors]
        if lip:
            cells.append(
                "-"
                if candidate.person_mse is None or math.isnan(candidate.person_mse)
                else f"{candidate.person_mse:.5f}"
            )
        if bits:
            cells.append("-" if candidate.report_mae is None else f"{candidate.report_mae:.5f}")
        cells.append("-" if math.isnan(candidate.people_per_report) else rounded(candidate.people_per_report, 3))
        suitable.append(row)
        cells_of.append(cells)
    widths, beside = _widths(headings, cells_of, width)
    notes = [] if beside else [f"{row.mechanism}: {row.reason}" for row in suitable]
    table = Table(
        box=None,
        pad_edge=False,
        title=f"{_size(question)}, {_promised(question)}, {quantity(reports, noun)}",
        title_justify="left",
        caption=Text("\n".join(filter(None, [*notes, _columns(headings, noun), unsuitable, GLOSSARY]))),
        caption_justify="left",
    )
    for name, column_width in zip(headings, widths, strict=True):
        table.add_column(name, justify="left" if name == "mechanism" else "right", width=column_width, overflow="fold")
    if beside:
        table.add_column("why", overflow="fold")
    for row, cells in zip(suitable, cells_of, strict=True):
        words = [*cells[1:], *([row.reason] if beside else [])]
        table.add_row(Text(row.mechanism, "bold" if row.chosen else ""), *map(Text, words))
    return table


def _widths(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> tuple[list[int], bool]:
    """Return the widths of the columns, and whether a column of reasons fits beside them.

    No column is narrower than its cells, because a number that is broken in two is read as two numbers.

    Args:
        width: the number of columns of the terminal.
    """
    cells = [max((len(row[column]) for row in rows), default=0) for column in range(len(headings))]
    unwrapped = [max(len(heading), cell) for heading, cell in zip(headings, cells, strict=True)]
    wrapped = [max(cell, *map(len, heading.split())) for heading, cell in zip(headings, cells, strict=True)]
    for beside in (True, False):
        for widths in (unwrapped, wrapped):
            room = width - sum(widths) - GAP * (len(widths) - 1)
            if room >= (GAP + REASON if beside else 0):
                return widths, beside
    return wrapped, False


def _columns(headings: Sequence[str], noun: str) -> str:
    """Return a text that explains the columns of errors and numbers of people.

    Args:
        noun: the word for an output (see ``report_noun``).
    """
    meanings = {
        "standard error": "of one share",
        "error of the mean": "its standard error",
        "people for": "the people needed for the standard error E of a share",
        "a person's error": f"the expected squared error of one answer, estimated from its {noun} and the prior",
        "mean absolute error": f"of one {noun} that is taken as the answer",
        f"people per {noun}": f"the largest number of people that one forged {noun} counts for",
    }
    return "; ".join(
        f"{name}{' E' if name == 'people for' else ''}: {meaning}"
        for name, meaning in meanings.items()
        if any(heading.startswith(name) for heading in headings)
    )


def _promised(question: PlannedQuestion) -> str:
    """Return a text with the notion, its level and, for a ball of priors, the radius."""
    notion = question.notion
    words = f"{notion.name} at {exact.in_nats(notion.level)}"
    if isinstance(notion, Lip) and notion.radius:
        words += f" for every prior within {exact.decimal_text(Fraction(notion.radius, RADIUS_UNITS))}"
    return words


def _size(question: PlannedQuestion) -> str:
    domain = question.domain
    if isinstance(domain, Items):
        return f"shares of people who have each of {quantity(domain.item_count, 'item')}, padding {domain.padding:,}"
    return f"{question.size:,} values"


def _unsuited(rows: Sequence[PlanRow]) -> str:
    """Return the unsuitable mechanisms, grouped by reason."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.candidate is None:
            reasons.setdefault(row.reason, []).append(row.mechanism)
    return "\n".join(f"{', '.join(names)}: {reason}" for reason, names in reasons.items())


def _left_out(rows: Sequence[PlanRow]) -> str:
    """Return a text with the number of unsuitable mechanisms; empty if all are suitable."""
    number = sum(row.candidate is None for row in rows)
    return (
        f"{quantity(number, 'other mechanism')} cannot be used for this question; --all lists the reasons"
        if number
        else ""
    )


def plan_views_table(views: Sequence[Mapping[str, Any]], *, bundled: bool) -> Table:
    """Return a table with a row for each view of a draft.

    Args:
        views: mappings with the keys of ``views`` in the JSON of a plan.
        bundled: whether a report may have several outputs.
    """
    table = Table(box=None, pad_edge=False, title="\nViews, each estimated from its own reports", title_justify="left")
    for name in ("view", "devices", "bits", "standard error", f"people per {report_noun(bundled=bundled)}"):
        table.add_column(name, justify="right")
    for name in ("family", "asked for"):
        table.add_column(name)
    for place, view in enumerate(views, 1):
        numbers = ["-" if view[name] is None else f"{view[name]:.3g}" for name in ("se", "people_per_report")]
        cells = [f"{place}", f"{view['share']:.1%}", f"{view['output_bits']:,}", *numbers, view["family"], view["view"]]
        table.add_row(*map(Text, cells))
    return table


def form_tables(plan: FormPlan) -> list[Table]:
    """Return tables of the expected errors for each question of a form and for each pair."""
    people = quantity(plan.reports, "person", "people")
    questions = Table(
        box=None, pad_edge=False, title=f"{people} at {exact.in_nats(plan.level)}: each question",
        title_justify="left",
    )  # fmt: skip
    errors = sorted({error for question in plan.questions for error in question.people_for}, reverse=True)
    for name in ("question", "values", "reports", "standard error", *(f"people for {error:g}" for error in errors)):
        questions.add_column(name, justify="left" if name == "question" else "right")
    for question in plan.questions:
        cells = [
            question.name,
            f"{question.values:,}",
            f"{question.reports:,.0f}",
            "-" if question.se is None else f"{question.se:.3g}",
        ]
        cells += [f"{question.people_for[error]:,}" if error in question.people_for else "-" for error in errors]
        questions.add_row(*map(Text, cells))
    tables = Table(
        box=None, pad_edge=False, title="\nAssociations, the easiest to find first", title_justify="left",
        caption=Text(
            "V is the least Cramer's V that is found in four of five surveys (0 is none, 0.1 weak, 0.3 medium, 1 "
            "the strongest); \"above 1\" means that not even the strongest is found. People: the number needed to find "
            f"a medium association.\n{GLOSSARY}"
        ),
        caption_justify="left",
    )  # fmt: skip
    for name in ("questions", "cells", "reports", "error of a cell", "V", "people"):
        tables.add_column(name, justify="left" if name == "questions" else "right")
    for pair in plan.tables:
        strength = f"{pair.detectable:.2f}" if pair.detectable <= 1 else "above 1"
        cells = [", ".join(pair.names), f"{pair.cells:,}", f"{pair.reports:,.0f}", f"{pair.se:.3g}", strength]
        tables.add_row(*map(Text, [*cells, f"{pair.people:,}"]))
    return [questions, tables] if plan.tables else [questions]
