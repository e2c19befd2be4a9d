"""Estimates of a form's questions and tables of two questions, and their differences, as tables and as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from aggregator.campaign_facts import counted_noun
from aggregator.estimate.distribution import total_variation
from aggregator.estimate.form_change import FormDifference
from aggregator.estimate.form_result import FormEstimate
from aggregator.estimate.form_sides import FormSides
from aggregator.estimate.form_table import Association
from aggregator.estimate.interval_estimates import DIFFERENCE_COLUMNS, SHARE_COLUMNS
from aggregator.estimate.span import Span
from aggregator.families.decoder import Floats
from aggregator.present.document import csv_text
from aggregator.present.shown_changes import comparison_basis, interval_in_points, percentage_points
from aggregator.present.shown_shares import HALF_THE_SUM, interval_text, percent
from aggregator.present.table import new_table

PLACES = 1
"""Digits after the point of a share in percent."""


def form_table(estimate: FormEstimate, truth: Floats | None = None) -> Table:
    """Return a table with a row for each value or cell; the caption has the skipped questions and the test of
    association.

    Args:
        truth: the true shares to show beside the estimates, in rehearsals.
    """
    notes = [estimate.counted + ("" if estimate.class_name is None else f" of class {estimate.class_name}")]
    if estimate.skipping:
        notes.append(f"shares of the people who did not skip {' or '.join(estimate.skipping)}")
    if estimate.weighting is not None:
        notes.append(estimate.weighting.description(counted_noun(estimate.campaign)))
    if estimate.association is not None:
        notes.append(
            _tested(" and ".join(estimate.questions), estimate.association)
            + ("" if estimate.weighting is None else ", among the people who answered, without weights")
        )
    if truth is not None:
        notes.append(
            f"distance from the truth{HALF_THE_SUM}: {percent(total_variation(estimate.shares.share, truth), PLACES)}"
        )
    table = new_table(estimate.campaign.title, Text("\n".join(notes)))
    for name in estimate.questions:
        table.add_column(Text(name))
    shares, confidence = estimate.shares, f"{100 * estimate.confidence:.4g}%"
    for name in ("share", f"{confidence} interval", f"simultaneous {confidence} interval"):
        table.add_column(name, justify="right")
    if truth is not None:
        table.add_column("truth", justify="right")
    for x, label in enumerate(estimate.labels):
        table.add_row(
            *map(Text, label),
            percent(shares.share[x], PLACES),
            interval_text(shares.low[x], shares.high[x], PLACES),
            interval_text(shares.simultaneous_low[x], shares.simultaneous_high[x], PLACES),
            *([] if truth is None else [percent(truth[x], PLACES)]),
        )
    return table


def form_sides_table(comparison: FormSides[Any]) -> Table:
    """Return a table with a row for each value or cell, and a column for each span of periods or class of people."""
    _, first = comparison.sides[0]
    note = f"{100 * first.confidence:.4g}% interval of each share by itself"
    if first.association is not None:
        tests = (
            _tested(_name(name), estimate.association)
            for name, estimate in comparison.sides
            if estimate.association is not None
        )
        note = "\n".join([note, *tests])
    table = new_table(first.campaign.title, Text(note))
    for question in first.questions:
        table.add_column(Text(question))
    for name, estimate in comparison.sides:
        table.add_column(Text(f"{_name(name)}\n{estimate.counted}"), justify="right")
    sides = [estimate.shares for _, estimate in comparison.sides]
    for x, label in enumerate(first.labels):
        cells = (
            f"{percent(shares.share[x], PLACES)}\n{interval_text(shares.low[x], shares.high[x], PLACES)}"
            for shares in sides
        )
        table.add_row(*map(Text, label), *cells)
    return table


def form_difference_table(difference: FormDifference, questions: Sequence[str]) -> Table:
    """Return a table with a row for each value or cell: both shares, their difference, and the intervals of the
    difference."""
    confidence = f"{100 * difference.confidence:.4g}%"
    notes = [
        comparison_basis(difference),
        f"significant differences: {len(difference.significant)} of {len(difference.labels)}, by the simultaneous "
        f"{confidence} intervals",
    ]
    title = f"{difference.names[1]} minus {difference.names[0]}"
    table = new_table(title, Text("\n".join(notes)))
    for name in questions:
        table.add_column(Text(name))
    for name in (*difference.names, "difference", f"{confidence} interval", f"simultaneous {confidence} interval"):
        table.add_column(Text(name), justify="right")
    significant = set(difference.significant)
    for x, label in enumerate(difference.labels):
        table.add_row(
            *map(Text, label),
            percent(difference.before[x], PLACES),
            percent(difference.after[x], PLACES),
            percentage_points(difference.raw[x], PLACES),
            interval_in_points(difference.low[x], difference.high[x], PLACES),
            interval_in_points(difference.simultaneous_low[x], difference.simultaneous_high[x], PLACES),
            style="bold" if x in significant else "",
        )
    return table


def form_sides_csv(comparison: FormSides[Any]) -> str:
    """Return CSV with a row for each value or cell of each span of periods, or class of people."""
    rows = [(name, line) for name, estimate in comparison.sides for line in form_lines(estimate)]
    spans = isinstance(rows[0][0], Span)
    names = ["first_period", "last_period"] if spans else ["class"]
    lines = [
        ({"first_period": name.first, "last_period": name.last} if isinstance(name, Span) else {"class": name}) | line
        for name, line in rows
    ]
    return csv_text([*names, *rows[0][1]], lines)


def form_difference_csv(difference: FormDifference, questions: Sequence[str]) -> str:
    """Return CSV with a row for the difference of each value or cell."""
    names = [f"{question}_value" for question in questions]
    lines = [
        dict(zip(names, label, strict=True)) | {name: row[name] for name in DIFFERENCE_COLUMNS}
        for label, row in zip(difference.labels, difference.rows(), strict=True)
    ]
    return csv_text([*names, *DIFFERENCE_COLUMNS], lines)


def _tested(name: str, test: Association) -> str:
    return f"{name}: {'an' if test.significant else 'no'} association is found (p = {test.p_value:.3g})"


def _name(side: Span | str) -> str:
    return side.name_in_text if isinstance(side, Span) else side


def form_csv(estimate: FormEstimate) -> str:
    """Return CSV with a row for each value or cell; ``weighted_by`` is empty without weights."""
    lines = form_lines(estimate)
    return csv_text(list(lines[0]), lines)


def form_lines(estimate: FormEstimate) -> list[dict[str, Any]]:
    """Return the rows of ``form_csv``, by column."""
    names = [f"{question}_value" for question in estimate.questions]
    about = {"reports": estimate.reports, "weighted_by": "" if estimate.weighting is None else estimate.weighting.by}
    return [
        dict(zip(names, label, strict=True)) | {column: row[column] for column in SHARE_COLUMNS} | about
        for label, row in zip(estimate.labels, estimate.rows, strict=True)
    ]
