"""Estimates as tables for a terminal.

One idea: a person reads percentages and wants the doubt beside them. Where only the largest values fit, chance chose
some of them, so they are shown with the intervals that hold for all values together.

Programs read document.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from aggregator.estimate.decoders.decoder import Floats
from aggregator.estimate.query import Answer
from aggregator.estimate.result import Estimate
from protocol.campaign import Campaign

ROWS = 25
"""More values than this, and only the largest are shown."""

BAR = 24
EIGHTHS = " ▏▎▍▌▋▊▉"


def estimate_table(found: Estimate, truth: Floats | None = None, rows: int = ROWS) -> Table:
    """The shares, their intervals and a bar for each value.

    Args:
        truth: the true shares to set beside them, in rehearsals.
        rows: the most values to show.
    """
    shown = largest(found, rows)
    table = Table(title=Text(found.terms.title), caption=_caption(found, len(shown), truth), box=box.SIMPLE_HEAD)
    table.title_justify = table.caption_justify = "left"
    table.add_column("value", overflow="ellipsis", no_wrap=True, max_width=40)
    table.add_column("share", justify="right")
    table.add_column(interval_name(found, len(shown)))
    if truth is not None:
        table.add_column("truth", justify="right")
    table.add_column("")
    widest = max((float(found.share[x]) for x in shown), default=0.0)
    places = decimals(found, shown)
    low, high = ends(found, len(shown))
    for x in shown:
        between = "-" if math.isnan(low[x]) else f"{percent(low[x], places)} to {percent(high[x], places)}"
        cells = [Text(found.label(x)), Text(percent(found.share[x], places)), Text(between)]
        if truth is not None:
            cells.append(Text(percent(truth[x], places)))
        table.add_row(*cells, Text(bar(float(found.share[x]) / widest if widest > 0 else 0.0)))
    return table


def answer_table(answer: Answer, terms: Campaign, reports: int) -> Table:
    """One number about the population, with its interval."""
    table = Table(title=Text(terms.title), caption=f"{reports:,} reports", box=box.SIMPLE_HEAD)
    table.title_justify = table.caption_justify = "left"
    for name in ("query", "estimate", "se", f"{100 * answer.level:.4g}% interval"):
        table.add_column(name, justify="left" if name == "query" else "right")
    cells = [answer.estimate, answer.se, answer.low, answer.high]
    estimate, se, low, high = significant(cells, answer.se)
    table.add_row(Text(answer.what), estimate, se, f"{low} to {high}")
    if answer.mmse is not None:
        table.add_row(Text(f"{answer.what}, leaning on the prior"), significant([answer.mmse], answer.se)[0], "", "")
    return table


def total_variation(p: Floats, q: Floats) -> float:
    """Half the sum of absolute differences: the share of people who stand at another value."""
    return float(np.abs(p - q).sum() / 2)


def largest(found: Estimate, rows: int) -> list[int]:
    """The values to show: all in their own order, or the ``rows`` largest by share, then by raw share."""
    if found.size <= rows:
        return list(range(found.size))
    order = np.lexsort((-np.nan_to_num(found.raw), -found.share))
    return [int(x) for x in order[:rows]]


def ends(found: Estimate, shown: int) -> tuple[Floats, Floats]:
    """The intervals to show: each value's own where all are shown, simultaneous ones where the largest were picked."""
    return (found.low, found.high) if shown == found.size else (found.all_low, found.all_high)


def interval_name(found: Estimate, shown: int) -> str:
    """What ``ends`` are called."""
    kind = "" if shown == found.size else "simultaneous "
    return f"{kind}{100 * found.level:.4g}% interval"


def decimals(found: Estimate, shown: Iterable[int]) -> int:
    """Decimal places of a percentage: two digits of the smallest standard error shown, 1 to 4 places."""
    errors = [float(found.se[x]) for x in shown if found.se[x] > 0]
    if not errors:
        return 1
    return min(max(1, 1 - math.floor(math.log10(100 * min(errors)))), 4)


def percent(share: float, places: int) -> str:
    """A share for people; a share that is not known is a dash."""
    return "-" if math.isnan(share) else f"{100 * share:.{places}f}%"


def bar(part: float) -> str:
    """A bar of ``part`` of the full width, in eighths of a character."""
    eighths = round(min(max(part, 0.0), 1.0) * BAR * 8)
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()


def significant(numbers: Iterable[float], error: float) -> list[str]:
    """Numbers written to two digits of their standard error."""
    places = max(0, 1 - math.floor(math.log10(error))) if error > 0 else 3
    return ["-" if math.isnan(number) else f"{number:,.{min(places, 9)}f}" for number in numbers]


def subtitle(found: Estimate, shown: int) -> str:
    """What a picture or table of an estimate must say: how many, under what promise, how sure."""
    promise = f"epsilon {found.epsilon:g} ({found.terms.notion.name})"
    devices = "" if found.devices in (None, found.reports) else f" of {found.devices:,} devices"
    return f"{found.reports:,} reports{devices} · {promise} · {interval_name(found, shown)}s"


def _caption(found: Estimate, shown: int, truth: Floats | None) -> Text:
    lines = [f"{subtitle(found, shown)} · method {found.method}"]
    if found.where is not None:
        lines.insert(0, f"the class {found.where} only")
    if truth is not None:
        lines.append(f"total variation distance from the truth: {percent(total_variation(found.share, truth), 2)}")
    if shown < found.size:
        lines.append(f"the {shown} largest of {found.size:,} values; --format csv has them all")
    refused = sum(found.rejected.values())
    if refused:
        classes = ", ".join(f"{count:,} {name}" for name, count in sorted(found.rejected.items()) if count)
        lines.append(f"{refused:,} refused: {classes}")
    weight = found.influence.people_per_report
    if not math.isnan(weight):
        forged = math.ceil(found.reports / 100)
        lines.append(
            f"one forged report counts for up to {weight:.1f} people; {forged:,} of them (1%) could move a share by "
            f"{percent(found.influence.share_of(forged), 1)}"
        )
    return Text("\n".join(lines))
