"""Estimates of a form's questions and tables of two questions, and their differences, as tables and as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from aggregator.estimate.form_change import FormDifference
from aggregator.estimate.form_course import FormSides
from aggregator.estimate.form_result import FormEstimate
from aggregator.estimate.form_table import Association
from aggregator.estimate.interval_estimates import DIFFERENCE_COLUMNS, SHARE_COLUMNS
from aggregator.estimate.span import Span
from aggregator.families.decoder import Floats
from aggregator.present.document import csv_text
from aggregator.present.shown_changes import MINUS
from aggregator.present.table import HALF_THE_SUM, new_table
from aggregator.quantity import quantity


def form_table(found: FormEstimate, truth: Floats | None = None) -> Table:
    """Return a table with a row for each value or cell; the caption has the skipped questions and the test of
    association.

    Args:
        truth: the true shares to show beside the estimates, in rehearsals.
    """
    notes = [quantity(found.reports, "report") + ("" if found.where is None else f" of class {found.where}")]
    if found.skipping:
        notes.append(f"shares of the people who did not skip {' or '.join(found.skipping)}")
    if found.weighting is not None:
        notes.append(found.weighting.description)
    if found.association is not None:
        notes.append(
            _tested(" and ".join(found.questions), found.association)
            + ("" if found.weighting is None else ", among the people who answered, without weights")
        )
    if truth is not None:
        notes.append(f"distance from the truth{HALF_THE_SUM}: {np.abs(found.shares.share - truth).sum() / 2:.1%}")
    table = new_table(found.campaign.title, Text("\n".join(notes)))
    for name in found.questions:
        table.add_column(Text(name))
    percent = f"{100 * found.confidence:.4g}%"
    for name in ("share", f"{percent} interval", f"{percent}, all together"):
        table.add_column(name, justify="right")
    if truth is not None:
        table.add_column("truth", justify="right")
    for x, (label, row) in enumerate(zip(found.labels, found.rows, strict=True)):
        table.add_row(
            *map(Text, label),
            _percent(row["estimate"]),
            f"{_percent(row['low'])} to {_percent(row['high'])}",
            f"{_percent(row['simultaneous_low'])} to {_percent(row['simultaneous_high'])}",
            *([] if truth is None else [_percent(float(truth[x]))]),
        )
    return table


def form_sides_table(course: FormSides[Any]) -> Table:
    """Return a table with a row for each value or cell, and a column for each span of periods or class of people."""
    _, first = course.sides[0]
    note = f"{100 * first.confidence:.4g}% interval of each share by itself"
    if first.association is not None:
        tests = (_tested(_name(name), one.association) for name, one in course.sides if one.association is not None)
        note = "\n".join([note, *tests])
    table = new_table(first.campaign.title, Text(note))
    for question in first.questions:
        table.add_column(Text(question))
    for name, found in course.sides:
        table.add_column(Text(f"{_name(name)}\n{quantity(found.reports, 'report')}"), justify="right")
    rows = zip(*(found.rows for _, found in course.sides), strict=True)
    for label, row in zip(first.labels, rows, strict=True):
        ends = (f"{_percent(one['estimate'])}\n{_percent(one['low'])} to {_percent(one['high'])}" for one in row)
        table.add_row(*map(Text, label), *ends)
    return table


def form_difference_table(found: FormDifference, questions: Sequence[str]) -> Table:
    """Return a table with a row for each value or cell: both shares, their difference, and the intervals of the
    difference."""
    percent = f"{100 * found.confidence:.4g}%"
    notes = [
        "Devices on both sides are compared with themselves." if found.paired else "The sides share no device.",
        f"Significant differences: {len(found.significant)} of {len(found.labels)}, by the {percent} intervals for all "
        "together.",
    ]
    title = f"{found.names[1]} less {found.names[0]}"
    table = new_table(title, Text("\n".join(notes)))
    for name in questions:
        table.add_column(Text(name))
    for name in (*found.names, "difference", f"{percent} interval", f"{percent}, all together"):
        table.add_column(Text(name), justify="right")
    significant = set(found.significant)
    for x, (label, row) in enumerate(zip(found.labels, found.rows(), strict=True)):
        table.add_row(
            *map(Text, label),
            _percent(row["from"]),
            _percent(row["to"]),
            _points(row["difference"]),
            f"{_points(row['low'])} to {_points(row['high'])}",
            f"{_points(row['simultaneous_low'])} to {_points(row['simultaneous_high'])}",
            style="bold" if x in significant else "",
        )
    return table


def form_sides_csv(course: FormSides[Any]) -> str:
    """Return CSV with a row for each value or cell of each span of periods, or class of people."""
    found = [(name, line) for name, one in course.sides for line in form_lines(one)]
    spans = isinstance(found[0][0], Span)
    names = ["first_period", "last_period"] if spans else ["class"]
    lines = [
        ({"first_period": name.first, "last_period": name.last} if isinstance(name, Span) else {"class": name}) | line
        for name, line in found
    ]
    return csv_text([*names, *found[0][1]], lines)


def form_difference_csv(found: FormDifference, questions: Sequence[str]) -> str:
    """Return CSV with a row for the difference of each value or cell."""
    names = [f"{question}_value" for question in questions]
    lines = [
        dict(zip(names, label, strict=True)) | {name: row[name] for name in DIFFERENCE_COLUMNS}
        for label, row in zip(found.labels, found.rows(), strict=True)
    ]
    return csv_text([*names, *DIFFERENCE_COLUMNS], lines)


def _tested(name: str, test: Association) -> str:
    return f"{name}: {'an' if test.significant else 'no'} association is found (p = {test.p_value:.3g})"


def _name(side: Span | str) -> str:
    return side.name_in_text if isinstance(side, Span) else side


def _points(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:+.1f}".replace("-", MINUS)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


def form_csv(found: FormEstimate) -> str:
    """Return CSV with a row for each value or cell; ``weighted_by`` is empty without weights."""
    lines = form_lines(found)
    return csv_text(list(lines[0]), lines)


def form_lines(found: FormEstimate) -> list[dict[str, Any]]:
    """Return the rows of ``form_csv``, by column."""
    names = [f"{question}_value" for question in found.questions]
    about = {"reports": found.reports, "weighted_by": "" if found.weighting is None else found.weighting.by}
    return [
        dict(zip(names, label, strict=True)) | {column: row[column] for column in SHARE_COLUMNS} | about
        for label, row in zip(found.labels, found.rows, strict=True)
    ]
