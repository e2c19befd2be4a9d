"""Estimates of a form's questions and tables of two questions, and their differences, as tables and as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from aggregator.campaign_facts import counted_noun
from aggregator.estimate.distribution import total_variation
from aggregator.estimate.form_change import FormDifference
from aggregator.estimate.form_course import FormSides
from aggregator.estimate.form_result import FormEstimate
from aggregator.estimate.form_table import Association
from aggregator.estimate.interval_estimates import DIFFERENCE_COLUMNS, SHARE_COLUMNS
from aggregator.estimate.span import Span
from aggregator.families.decoder import Floats
from aggregator.present.document import csv_text
from aggregator.present.shown_changes import between, points
from aggregator.present.shown_shares import HALF_THE_SUM, interval_text, percent
from aggregator.present.table import new_table

PLACES = 1
"""Digits after the point of a share in percent."""


def form_table(found: FormEstimate, truth: Floats | None = None) -> Table:
    """Return a table with a row for each value or cell; the caption has the skipped questions and the test of
    association.

    Args:
        truth: the true shares to show beside the estimates, in rehearsals.
    """
    notes = [found.counted + ("" if found.class_name is None else f" of class {found.class_name}")]
    if found.skipping:
        notes.append(f"shares of the people who did not skip {' or '.join(found.skipping)}")
    if found.weighting is not None:
        notes.append(found.weighting.description(counted_noun(found.campaign)))
    if found.association is not None:
        notes.append(
            _tested(" and ".join(found.questions), found.association)
            + ("" if found.weighting is None else ", among the people who answered, without weights")
        )
    if truth is not None:
        notes.append(
            f"distance from the truth{HALF_THE_SUM}: {percent(total_variation(found.shares.share, truth), PLACES)}"
        )
    table = new_table(found.campaign.title, Text("\n".join(notes)))
    for name in found.questions:
        table.add_column(Text(name))
    shares, confidence = found.shares, f"{100 * found.confidence:.4g}%"
    for name in ("share", f"{confidence} interval", f"{confidence}, all together"):
        table.add_column(name, justify="right")
    if truth is not None:
        table.add_column("truth", justify="right")
    for x, label in enumerate(found.labels):
        table.add_row(
            *map(Text, label),
            percent(shares.share[x], PLACES),
            interval_text(shares.low[x], shares.high[x], PLACES),
            interval_text(shares.simultaneous_low[x], shares.simultaneous_high[x], PLACES),
            *([] if truth is None else [percent(truth[x], PLACES)]),
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
        table.add_column(Text(f"{_name(name)}\n{found.counted}"), justify="right")
    sides = [found.shares for _, found in course.sides]
    for x, label in enumerate(first.labels):
        cells = (f"{percent(one.share[x], PLACES)}\n{interval_text(one.low[x], one.high[x], PLACES)}" for one in sides)
        table.add_row(*map(Text, label), *cells)
    return table


def form_difference_table(found: FormDifference, questions: Sequence[str]) -> Table:
    """Return a table with a row for each value or cell: both shares, their difference, and the intervals of the
    difference."""
    confidence = f"{100 * found.confidence:.4g}%"
    notes = [
        "Devices on both sides are compared with themselves." if found.paired else "The sides share no device.",
        f"Significant differences: {len(found.significant)} of {len(found.labels)}, by the {confidence} intervals for "
        "all together.",
    ]
    title = f"{found.names[1]} less {found.names[0]}"
    table = new_table(title, Text("\n".join(notes)))
    for name in questions:
        table.add_column(Text(name))
    for name in (*found.names, "difference", f"{confidence} interval", f"{confidence}, all together"):
        table.add_column(Text(name), justify="right")
    significant = set(found.significant)
    for x, label in enumerate(found.labels):
        table.add_row(
            *map(Text, label),
            percent(found.before[x], PLACES),
            percent(found.after[x], PLACES),
            points(found.raw[x], PLACES),
            between(found.low[x], found.high[x], PLACES),
            between(found.simultaneous_low[x], found.simultaneous_high[x], PLACES),
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
