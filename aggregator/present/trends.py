"""Changes as tables for a terminal, and as CSV: over the periods of a campaign, or between two sides.

One idea: a change is read from its own interval, never from two others; so that is what stands beside it, and a star
where even the interval that holds for all values together leaves no doubt that something has changed.

Pictures: trend_plot, trend_chart.
"""

from __future__ import annotations

import csv
import datetime
import io
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from aggregator.estimate.change import Difference
from aggregator.estimate.decoders.decoder import Floats
from aggregator.estimate.result import Estimate
from aggregator.estimate.trend import Span, Trend
from aggregator.present.document import COLUMNS
from aggregator.present.table import ROWS, percent
from protocol.campaign import Campaign

MINUS = "\N{MINUS SIGN}"
STEPS = "▁▂▃▄▅▆▇█"

LETTERS = 12
"""Of a course; of more spans, as many are taken at even distances, the first and the last among them."""

LAST_DATE = 253_402_300_799
"""The last second of the year 9999, where calendars end."""


def spans_table(trend: Trend, rows: int = ROWS) -> Table:
    """The spans with their dates and reports; of many, the first and the last."""
    terms = trend.latest.terms
    table = Table(title=Text(entitled(trend.latest)), box=box.SIMPLE_HEAD)
    table.title_justify = table.caption_justify = "left"
    for name in ("periods", "from", "to", "reports", "devices"):
        table.add_column(name, justify="right" if name in ("reports", "devices") else "left")
    half = rows // 2
    shown = trend.points if len(trend.points) <= rows else trend.points[:half] + trend.points[-half:]
    for point in shown:
        known = point.estimate
        words = "too few" if known is None else "-" if known.devices is None else f"{known.devices:,}"
        table.add_row(point.span.name, *dates(terms, point.span), f"{point.reports:,}", words)
    if len(shown) < len(trend.points):
        table.caption = f"the first and last {half} of {len(trend.points):,} spans; --format csv has them all"
    return table


def change_table(found: Difference, trend: Trend | None = None, rows: int = ROWS) -> Table:
    """The shares of both sides and their difference, a row a value.

    Args:
        trend: that the change is of; its course is drawn in a few characters.
        rows: the most values to show: those that differ most, for their noise.
    """
    shown = foremost(found, rows)
    title = entitled(found.after) if trend is not None else heading(found)
    table = Table(title=Text(title), caption=_caption(found, len(shown)), box=box.SIMPLE_HEAD)
    table.title_justify = table.caption_justify = "left"
    table.add_column("value", overflow="ellipsis", no_wrap=True, max_width=36)
    if trend is not None:
        table.add_column("course", no_wrap=True, min_width=6)
    for name in found.names:
        table.add_column(Text(name), justify="right", overflow="fold", max_width=24)
    table.add_column("change" if trend is not None else "difference", justify="right")
    table.add_column(Text(interval_name(found, len(shown))), min_width=14)
    table.add_column("")
    places, sure = places_of(found, shown), set(found.sure)
    low, high = ends(found, len(shown))
    for x in shown:
        cells = [found.after.label(x)]
        if trend is not None:
            cells.append(course([float(known.share[x]) for _, known in trend.known]))
        cells += [percent(side.share[x], places) for side in (found.before, found.after)]
        cells += [points(found.raw[x], places), between(low[x], high[x], places), "*" if x in sure else ""]
        table.add_row(*map(Text, cells))
    return table


def trend_csv(trend: Trend) -> str:
    """A header, and a row for each value of each span that has an estimate."""
    rows = [
        {"periods": span.name, "reports": known.reports, **row}
        for span, known in trend.known
        for row in known.as_json()["values"]
    ]
    return _csv(["periods", "reports", *COLUMNS], rows)


def change_csv(found: Difference) -> str:
    """A header and a row for each value: both sides, and their difference."""
    sides = (found.before.as_json()["values"], found.after.as_json()["values"])
    rows = [
        {"value": row["value"]}
        | {f"{side}_{name}": told[name] for side, told in zip(("from", "to"), pair, strict=True) for name in _SIDE}
        | row
        for *pair, row in zip(*sides, found.as_json()["values"], strict=True)
    ]
    return _csv(["value", *(f"{side}_{name}" for side in ("from", "to") for name in _SIDE), *_CHANGE], rows)


_SIDE = ("estimate", "raw", "se")
_CHANGE = ("difference", "se", "low", "high", "simultaneous_low", "simultaneous_high")


def _csv(columns: list[str], rows: Iterable[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    lines = csv.DictWriter(text, columns, lineterminator="\n")
    lines.writeheader()
    lines.writerows(rows)
    return text.getvalue()


# What tables, pictures and pages have in common.


def entitled(found: Estimate) -> str:
    """The campaign's title, and the class of people that it is cut down to."""
    return found.terms.title + ("" if found.where is None else f", class {found.where}")


def heading(found: Difference) -> str:
    """What is compared: two classes or periods of a campaign, or two campaigns."""
    sides = " and ".join(found.names)
    return f"{found.after.terms.title}: {sides}" if found.before.campaign_id == found.after.campaign_id else sides


def foremost(found: Difference, rows: int) -> list[int]:
    """The values to show: all in their order, or the ``rows`` whose difference is largest for its noise."""
    if len(found.raw) <= rows:
        return list(range(len(found.raw)))
    noise = np.where(found.se > 0, found.se, np.inf)
    order = np.argsort(-np.nan_to_num(np.abs(found.raw) / noise), kind="stable")
    return [int(x) for x in order[:rows]]


def ends(found: Difference, shown: int) -> tuple[Floats, Floats]:
    """The intervals to show: each value's own where all are shown, simultaneous ones where some were picked."""
    return (found.low, found.high) if shown == len(found.raw) else (found.all_low, found.all_high)


def interval_name(found: Difference, shown: int) -> str:
    """What ``ends`` are called."""
    return f"{'' if shown == len(found.raw) else 'simultaneous '}{100 * found.level:.4g}% interval"


def places_of(found: Difference, shown: Iterable[int]) -> int:
    """Decimal places of a percentage: two digits of a quarter of the narrowest interval shown, 1 to 4 places.

    Not of the standard error, which is nothing where no device has changed.
    """
    widths = [float(found.high[x] - found.low[x]) / 4 for x in shown]
    errors = [width for width in widths if width > 0]
    return min(max(1, 1 - math.floor(math.log10(100 * min(errors)))), 4) if errors else 1


def points(difference: float, places: int) -> str:
    """A difference of shares in percentage points, with its sign; one that is not known is a dash."""
    if math.isnan(difference):
        return "-"
    text = f"{100 * difference:+.{places}f}"
    return text[1:] if float(text) == 0 else text.replace("-", MINUS)


def between(low: float, high: float, places: int) -> str:
    """An interval of a difference."""
    return "-" if math.isnan(low) else f"{points(low, places)} to {points(high, places)}"


def course(shares: list[float]) -> str:
    """Shares in characters, from nothing to the largest of them; of many, as many as fit."""
    if len(shares) > LETTERS:
        shares = [shares[round(at * (len(shares) - 1) / (LETTERS - 1))] for at in range(LETTERS)]
    most = max(shares)
    return "".join(
        STEPS[round(max(share, 0.0) / most * (len(STEPS) - 1))] if most > 0 else STEPS[0] for share in shares
    )


def dates(terms: Campaign, span: Span) -> tuple[str, str]:
    """When a span begins and ends, UTC."""
    begins = terms.opens + span.first * terms.period_seconds
    closes = min(terms.opens + (span.last + 1) * terms.period_seconds, terms.closes)
    return moment(begins, terms.period_seconds), moment(closes, terms.period_seconds)


def moment(seconds: int, period: int) -> str:
    """A time, UTC; its hour too, where periods are shorter than days or do not begin at midnight."""
    if seconds > LAST_DATE:
        return f"{seconds:,} s"
    shown = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return f"{shown:%Y-%m-%d}" if seconds % 86_400 == 0 and period % 86_400 == 0 else f"{shown:%Y-%m-%d %H:%M}"


def basis(found: Difference) -> str:
    """How the two sides were set against each other, in a sentence."""
    if found.paired:
        return "devices that answered on both sides were compared with themselves"
    return "the two sides were taken to be independent"


def _caption(found: Difference, shown: int) -> Text:
    told = found.after
    what = "changes" if found.paired else "differences"
    lines = [
        f"{found.before.reports:,} and {told.reports:,} reports · epsilon {told.epsilon:g} ({told.terms.notion.name})"
        f" · {what} in percentage points, {interval_name(found, shown)}s",
        f"{basis(found)}; {what} are of the unbiased estimates",
    ]
    if shown < len(found.raw):
        lines.append(f"the {shown} of {len(found.raw):,} values that differ most; --format csv has them all")
    count = len(found.sure)
    lines.append(
        f"* {count:,} of {len(found.raw):,} values differ, all {100 * found.level:.4g}% intervals together"
        if count
        else f"no value differs for sure, all {100 * found.level:.4g}% intervals together"
    )
    return Text("\n".join(lines))
