"""Estimates as tables for a terminal.

Shares are percentages with intervals.

``shown_shares`` selects the values, and ``document`` writes estimates for programs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, OverflowMethod, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text, TextType

from aggregator.campaign_facts import counted_noun, estimated_noun
from aggregator.estimate.query import QueryResult
from aggregator.estimate.resolutions import Resolution
from aggregator.estimate.result import Estimate
from aggregator.families.decoder import Floats
from aggregator.present.shown_shares import (
    MAX_TABLE_ROWS,
    MAY_BE_ZERO,
    decimals,
    distance_text,
    district_words,
    in_result_units,
    interval_name,
    interval_text,
    listed_values,
    may_be_zero,
    percent,
    prior_comparison,
    query_texts,
    selection_of_shares,
    shown_intervals,
    significant_districts,
    subtitle,
)
from aggregator.quantity import quantity, upper_bound
from protocol.campaign import Campaign
from protocol.domain import Items

BAR = 24
EIGHTHS = " ▏▎▍▌▋▊▉"


class FoldedTable(Table):
    """A table that breaks long words in a narrow terminal; rich's tables cut them."""

    def add_column(self, *heads: Any, overflow: OverflowMethod = "fold", **style: Any) -> None:
        """Add a column; see ``rich.table.Table.add_column``."""
        super().add_column(*heads, overflow=overflow, **style)


def new_table(title: str, caption: TextType | None = None) -> Table:
    """Return an empty table with its title and caption at the left, and a line below its head."""
    table = FoldedTable(title=Text(title), caption=caption, box=box.SIMPLE_HEAD)
    table.title_justify = table.caption_justify = "left"
    return table


def estimate_table(estimate: Estimate, truth: Floats | None = None) -> Table:
    """Return a table with a row for each value: share, interval and bar.

    Args:
        truth: (k,) the true shares to show beside the estimate, in rehearsals.
    """
    shown = listed_values(estimate, MAX_TABLE_ROWS)
    table = new_table(estimate.campaign.title, _shares_caption(estimate, len(shown), truth))
    table.add_column("value" if estimate.note is None else "rounded to", max_width=40)
    table.add_column("share", justify="right")
    table.add_column(interval_name(estimate, len(shown)))
    if estimate.prior is not None:
        table.add_column("prior", justify="right")
    if truth is not None:
        table.add_column("truth", justify="right")
    table.add_column("")
    widest = max((float(estimate.share[x]) for x in shown), default=0.0)
    places = decimals(estimate, shown)
    low, high = shown_intervals(estimate, len(shown))
    for resolution in estimate.resolutions[:-1]:
        _add_districts(table, estimate, resolution, truth)
    if estimate.resolutions:
        table.add_row(Text(district_words(estimate, estimate.resolutions[-1]), style="bold"))
    for x in shown:
        cells = [estimate.label(x), percent(estimate.share[x], places), interval_text(low[x], high[x], places)]
        if estimate.prior is not None:
            cells.append(percent(estimate.prior[x], places))
        if truth is not None:
            cells.append(percent(truth[x], places))
        drawn = ShareBar(float(estimate.share[x]) / widest if widest > 0 else 0.0)
        table.add_row(*map(Text, cells), Text(MAY_BE_ZERO) if may_be_zero(estimate, x, len(shown)) else drawn)
    return table


def _add_districts(table: Table, estimate: Estimate, resolution: Resolution, truth: Floats | None) -> None:
    """Add a section with the districts of one resolution whose shares are significantly above zero."""
    shown = significant_districts(resolution)
    table.add_row(Text(district_words(estimate, resolution), style="bold"))
    places = decimals(resolution, shown)
    for z in shown:
        interval = interval_text(resolution.simultaneous_low[z], resolution.simultaneous_high[z], places)
        cells = [resolution.label(z), percent(resolution.share[z], places), interval]
        if truth is not None:
            cells.append(percent(float(truth[resolution.districts == z].sum()), places))
        table.add_row(*map(Text, cells), ShareBar(float(resolution.share[z]) / float(resolution.share.max())))
    table.add_section()


def query_table(result: QueryResult, campaign: Campaign, reports: int) -> Table:
    """Return a table with one number about the population and its interval."""
    table = new_table(campaign.title, quantity(reports, estimated_noun(campaign)))
    for name in ("query", "estimate", "standard error", f"{100 * result.confidence:.4g}% interval"):
        table.add_column(name, justify="left" if name == "query" else "right")
    number, se, low, high = query_texts(result)
    table.add_row(Text(result.query), number, se, f"{low} to {high}")
    if result.raw != result.estimate and not math.isnan(result.raw):
        unbiased = in_result_units(result, [result.raw])[0]
        table.add_row(Text(f"{result.query}, unbiased: outside the possible range"), unbiased, se, "")
    if result.mmse is not None:
        table.add_row(Text(f"{result.query}, using the prior"), in_result_units(result, [result.mmse])[0], "", "")
    return table


@dataclass(frozen=True)
class ShareBar:
    """A bar in a table; in a narrow column, all bars are drawn to the same smaller scale.

    Attributes:
        part: the part of the full width that the bar fills.
    """

    part: float

    def text(self, width: int = BAR) -> str:
        """Return the bar in block characters, to an eighth of a character.

        Args:
            width: the full width, in characters.
        """
        eighths = round(min(max(self.part, 0.0), 1.0) * width * 8)
        return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(0, min(BAR, options.max_width))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(self.text(min(BAR, options.max_width)))


def _shares_caption(estimate: Estimate, shown: int, truth: Floats | None) -> Text:
    lines = [f"{subtitle(estimate, shown)} · method {estimate.method} (docs/ESTIMATES.md) · terms: docs/GLOSSARY.md"]
    if estimate.class_name is not None:
        lines.insert(0, f"only people of the class {estimate.class_name}")
    if estimate.pool == "precision":
        lines.append("classes are weighted by precision: their shares are assumed to be the same")
    if estimate.weighting is not None:
        lines.append(estimate.weighting.description(counted_noun(estimate.campaign)))
    if truth is not None:
        lines.append(distance_text(estimate, truth))
    added = prior_comparison(estimate)
    if added:
        lines.append(added)
    if shown < estimate.size:
        lines.append(f"{selection_of_shares(estimate, shown)}; --format csv has all")
    if isinstance(estimate.campaign.domain, Items):
        items = quantity(estimate.size, "item")
        lines.append(f"shares of people who have an item, of {items}; they need not sum to 100%")
    if estimate.note is not None:
        lines.append(estimate.note)
    refused = sum(estimate.refused.values())
    if refused:
        reasons = ", ".join(f"{count:,} {name}" for name, count in sorted(estimate.refused.items()) if count)
        lines.append(f"{refused:,} refused: {reasons}")
    weight = estimate.influence.people_per_report
    if not math.isnan(weight):
        noun = estimated_noun(estimate.campaign)
        forged = estimate.influence.forged or math.ceil(estimate.reports / 100)
        lines.append(
            f"one forged {noun} counts for at most {upper_bound(weight, 1)} people; "
            f"if {forged:,} of {quantity(estimate.reports, noun)} ({percent(forged / estimate.reports, 1)}) were "
            "forged, an unbiased share could move by at most "
            f"{upper_bound(100 * estimate.influence.share_of(forged), 1)} percentage points"
        )
    return Text("\n".join(lines))
