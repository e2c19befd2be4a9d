"""The estimate of a question of a form, or of a table of two questions, as a table and as CSV."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from aggregator.estimate.form_result import COLUMNS, FormCourse, FormEstimate
from aggregator.families.decoder import Floats
from aggregator.present.document import csv_text


def form_table(found: FormEstimate, truth: Floats | None = None) -> Table:
    """A row for each value, or for each cell, with what is left out and the test of association below.

    Args:
        truth: the true shares to set beside them, in rehearsals.
    """
    notes = [f"{found.reports:,} reports"]
    if found.skipping:
        notes.append(f"without those who skipped {' or '.join(found.skipping)}")
    if found.weighting is not None:
        notes.append(found.weighting.words)
    if found.association is not None:
        notes.append(
            f"{' and '.join(found.questions)}: "
            + ("an association is found" if found.association.significant else "no association is found")
            + f" (p = {found.association.p_value:.3g})"
            + ("" if found.weighting is None else ", among the people who answered, without weights")
        )
    if truth is not None:
        notes.append(
            f"{np.abs(found.shares.share - truth).sum() / 2:.1%} of the people are in another place than in truth"
        )
    table = Table(title=Text(found.terms.title), caption=Text("\n".join(notes)), box=box.SIMPLE_HEAD)
    table.title_justify = table.caption_justify = "left"
    for name in found.questions:
        table.add_column(Text(name))
    percent = f"{100 * found.level:.4g}%"
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


def form_course_table(course: FormCourse) -> Table:
    """A row for each value or cell, a column for each span of periods."""
    _, first = course.sides[0]
    note = (
        f"{100 * first.level:.4g}% intervals. Devices repeat an output for as long as their answer stays, so two spans "
        "share noise: their intervals say nothing of how sure a change is."
    )
    table = Table(title=Text(first.terms.title), caption=Text(note), box=box.SIMPLE_HEAD)
    table.title_justify = table.caption_justify = "left"
    for name in first.questions:
        table.add_column(Text(name))
    for span, found in course.sides:
        table.add_column(f"{span.words}\n{found.reports:,} reports", justify="right")
    rows = zip(*(found.rows for _, found in course.sides), strict=True)
    for label, row in zip(first.labels, rows, strict=True):
        ends = (f"{_percent(one['estimate'])}\n{_percent(one['low'])} to {_percent(one['high'])}" for one in row)
        table.add_row(*map(Text, label), *ends)
    return table


def form_course_csv(course: FormCourse) -> str:
    """A header and a row for each value or cell of each span of periods."""
    found = [(span, line) for span, one in course.sides for line in form_lines(one)]
    names = ["first_period", "last_period", *found[0][1]]
    return csv_text(names, [{"first_period": span.first, "last_period": span.last} | line for span, line in found])


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


def form_csv(found: FormEstimate) -> str:
    """A header and a row for each value, or for each cell; ``weighted_by`` is empty without weights."""
    lines = form_lines(found)
    return csv_text(list(lines[0]), lines)


def form_lines(found: FormEstimate) -> list[dict[str, Any]]:
    """The rows of ``form_csv``, by column."""
    names = [f"{question}_value" for question in found.questions]
    about = {"reports": found.reports, "weighted_by": "" if found.weighting is None else found.weighting.by}
    return [
        dict(zip(names, label, strict=True)) | {column: row[column] for column in COLUMNS} | about
        for label, row in zip(found.labels, found.rows, strict=True)
    ]
