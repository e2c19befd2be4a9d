"""Quantiles, ranges and the distribution function as a table and as CSV.

What they are and how sure: estimate.ordered. Their picture: ordered_plot.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from aggregator.estimate.ordered import Ordered, Value
from aggregator.present.document import csv_text
from aggregator.present.table import percent, significant
from protocol.campaign import Campaign
from protocol.domain import NumberRange

COLUMNS = ("what", "p", "from", "to", "estimate", "low", "high", "simultaneous_low", "simultaneous_high")


def ordered_table(found: Ordered) -> Table:
    """Return a row for each number, with its interval."""
    whole = found.found
    table = Table(title=Text(heading(whole.terms)), caption=f"{whole.reports:,} reports", box=box.SIMPLE_HEAD)
    table.title_justify = table.caption_justify = "left"
    table.add_column("")
    table.add_column("estimate", justify="right")
    table.add_column(f"{100 * whole.level:.4g}% interval")
    if found.cdf:
        table.add_column("for all points together")
    for quantile in found.quantiles:
        name = "median" if quantile.p == 0.5 else f"quantile {quantile.p:g}"
        table.add_row(name, value_text(quantile.value), f"{value_text(quantile.low)} to {value_text(quantile.high)}")
    shares = [(f"{value_text(one.first)} to {value_text(one.last)}", one) for one in found.bins]
    if found.above is not None:
        shares.append((f"from {value_text(found.above.first)} on", found.above))
    if found.between is not None:
        shares.append((f"{value_text(found.between.first)} to {value_text(found.between.last)}", found.between))
    for name, one in shares:
        table.add_row(Text(name), percent(one.estimate, 1), f"{percent(one.low, 1)} to {percent(one.high, 1)}")
    for point in found.cdf:
        alone = f"{percent(point.low, 1)} to {percent(point.high, 1)}"
        band = f"{percent(point.all_low, 1)} to {percent(point.all_high, 1)}"
        table.add_row(Text(f"up to {value_text(point.value)}"), percent(point.estimate, 1), alone, band)
    if found.mean is not None:
        estimate, low, high = significant([found.mean.estimate, found.mean.low, found.mean.high], found.mean.se)
        table.add_row("mean", estimate, f"{low} to {high}")
    return table


def heading(terms: Campaign) -> str:
    """Return the campaign's title, with the unit of its numbers."""
    unit = terms.domain.unit if isinstance(terms.domain, NumberRange) else ""
    return f"{terms.title}, {unit}" if unit else terms.title


def value_text(value: Value) -> str:
    """Return a value as a reader has it."""
    return value if isinstance(value, str) else f"{value:,.10g}"


def ordered_csv(found: Ordered) -> str:
    """Return a header and a row for each number, in the order of the JSON."""
    return csv_text(COLUMNS, rows_of(found))


def rows_of(found: Ordered) -> Iterator[dict[str, Any]]:
    """Yield a row of ``COLUMNS`` for each number, in the order of the JSON."""
    empty = dict.fromkeys(COLUMNS)
    for quantile in found.quantiles:
        told = quantile.as_json()
        yield empty | {"what": "quantile", "estimate": told.pop("value")} | told
    for point in found.cdf:
        told = point.as_json()
        yield empty | {"what": "cdf", "to": told.pop("value")} | told
    for name, ranges in (("bin", found.bins), ("above", (found.above,)), ("between", (found.between,))):
        for one in ranges:
            if one is not None:
                yield empty | {"what": name} | one.as_json()
    if found.mean is not None:
        mean = found.mean
        yield empty | {"what": "mean", "estimate": mean.estimate, "low": mean.low, "high": mean.high}
