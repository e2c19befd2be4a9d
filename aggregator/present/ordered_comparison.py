"""Quantiles and ranges over periods or by class, as tables and as CSV.

``aggregator.estimate.ordered_comparison`` computes estimates and errors. ``ordered`` prints one period or class.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.table import Table
from rich.text import Text

from aggregator.estimate.ordered_comparison import OrderedComparison, Shift
from aggregator.estimate.ordered_result import OrderedStatistics
from aggregator.estimate.query import unit_of
from aggregator.present.document import csv_text
from aggregator.present.ordered import COLUMNS, rows_of, statistic_name, value_text
from aggregator.present.shown_changes import interval_in_points, percentage_points
from aggregator.present.shown_shares import MINUS, percent, query_texts, rounded_to_error
from aggregator.present.table import new_table
from aggregator.quantity import quantity
from protocol.domain import NumberRange

SIDE_COLUMNS = ("side", "less", "reports", *COLUMNS)


def comparison_tables(comparison: OrderedComparison) -> list[Table]:
    """Return a table of the statistics with a column for each side, and a table of the differences if there are any."""
    tables = [_sides(comparison)]
    if comparison.differences:
        tables.append(_differences(comparison))
    return tables


def _sides(comparison: OrderedComparison) -> Table:
    estimate = comparison.known[0][1].estimate
    unit = unit_of(comparison.domain)
    known = comparison.known[: 2 if comparison.by == "campaign" else 1]
    titles = [statistics.estimate.campaign.title for _, statistics in known]
    caption = f"in brackets: {100 * estimate.confidence:.4g}% intervals of each statistic by itself"
    table = new_table(" and ".join(titles) + (f", {unit}" if unit else ""), caption)
    table.add_column("")
    for side in comparison.sides:
        table.add_column(Text(side.name_in_text), justify="right")
    table.add_row(*counts_row(comparison))
    cells = {side.name: side_cells(statistics) for side, statistics in comparison.known}
    for name in next(iter(cells.values())):
        table.add_row(Text(name), *(cells.get(side.name, {}).get(name, "too few devices") for side in comparison.sides))
    return table


def counts_row(comparison: OrderedComparison) -> tuple[str, ...]:
    """Return the row with the number of reports, outputs or devices of each side; each cell names its noun if the nouns
    of the sides differ."""
    nouns = [comparison.noun_of(side) for side in comparison.sides]
    if len(set(nouns)) == 1:
        return f"{nouns[0]}s", *(f"{side.reports:,}" for side in comparison.sides)
    return "counted", *(quantity(side.reports, noun) for side, noun in zip(comparison.sides, nouns, strict=True))


def side_cells(statistics: OrderedStatistics) -> dict[str, str]:
    """Return each statistic with its interval as text, keyed by the statistic's name."""
    texts: dict[str, str] = {}
    # The shares up to a number, and the mean, come last.
    for statistic in sorted(statistics.statistics(), key=lambda statistic: statistic.kind in ("cdf", "mean")):
        if statistic.kind == "mean" and statistics.mean is not None:
            number, _, low, high = query_texts(statistics.mean)
        elif statistic.kind == "quantile":
            number, low, high = map(value_text, (statistic.estimate, statistic.low, statistic.high))
        else:
            number, low, high = (
                percent(float(share), 1) for share in (statistic.estimate, statistic.low, statistic.high)
            )
        texts[statistic_name(statistic.kind, statistic.parameters)] = f"{number} ({low} to {high})"
    return texts


SHARED_DEVICES = {
    "period": "the intervals are valid even if the same devices answered on both sides",
    "class": "classes share no device",
    "campaign": "the campaigns are assumed to share no device",
}
"""Notes on devices that are on both sides, by the kind of the sides."""


def _differences(comparison: OrderedComparison) -> Table:
    estimate = comparison.known[0][1].estimate
    table = new_table("Differences", f"differences of shares are in percentage points; {SHARED_DEVICES[comparison.by]}")
    confidence = f"{100 * estimate.confidence:.4g}%"
    for name in ("", "from", "to", "difference", f"{confidence} interval"):
        table.add_column(name, justify="right" if name == "difference" else "left")
    for difference in comparison.differences:
        sides = difference.before.name_in_text, difference.after.name_in_text
        for shift in difference.shifts:
            table.add_row(
                *map(Text, [statistic_name(shift.kind, shift.parameters), *sides, *shift_texts(shift, comparison)])
            )
    return table


def shift_texts(shift: Shift, comparison: OrderedComparison) -> tuple[str, str]:
    """Return a difference and its interval as texts, with their unit."""
    if shift.kind not in ("quantile", "mean"):
        return percentage_points(shift.difference, 1), interval_in_points(shift.low, shift.high, 1)
    unit = unit_of(comparison.domain)
    numbers = [shift.difference, shift.low, shift.high]
    texts = [f"{number:,.10g}" for number in numbers]
    if shift.kind == "mean" or not all(float(number).is_integer() for number in numbers):
        texts = rounded_to_error(numbers, (shift.high - shift.low) / 4)
    difference, low, high = map(_signed, texts)
    if texts[0] in ("1", "-1") and not isinstance(comparison.domain, NumberRange):  # an author wrote a number's unit
        unit = unit.removesuffix("s")
    return f"{difference} {unit}".strip(), f"{low} to {high}"


def _signed(text: str) -> str:
    """Return a number as text with its sign; zero and an unknown number have none."""
    size = text.removeprefix("-")
    if not size.strip("0."):
        return size or text
    return f"{'+' if size == text else MINUS}{size}"


def comparison_csv(comparison: OrderedComparison) -> str:
    """Return CSV with a row for each statistic of each side, and a row for each difference."""
    return csv_text(SIDE_COLUMNS, _csv_rows(comparison))


def _csv_rows(comparison: OrderedComparison) -> Iterator[dict[str, Any]]:
    for side in comparison.sides:
        about = {"side": side.name, "less": None, "reports": side.reports}
        if side.statistics is None:
            yield about | dict.fromkeys(COLUMNS)
        else:
            for row in rows_of(side.statistics):
                yield about | row
    empty = dict.fromkeys(COLUMNS)
    for difference in comparison.differences:
        for shift in difference.shifts:
            row = shift.as_json()
            row["estimate"] = row.pop("difference")
            if "value" in row:
                row["to"] = row.pop("value")
            sides = {"side": difference.after.name, "less": difference.before.name, "reports": None}
            yield sides | empty | {"what": shift.kind} | row
