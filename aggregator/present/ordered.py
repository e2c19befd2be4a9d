"""Quantiles, ranges and the distribution function as a table and as CSV.

``aggregator.estimate.ordered`` computes estimates and errors, and ``ordered_plot`` draws pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from aggregator.estimate.ordered_result import OrderedStatistics, RangeShare, ShownValue, value_of
from aggregator.estimate.query import QueryResult
from aggregator.families.decoder import Floats
from aggregator.present.document import csv_text
from aggregator.present.shown_shares import interval_text, percent, query_texts, subtitle
from aggregator.present.table import ShareBar, new_table
from aggregator.quantity import quantity
from protocol.campaign import Campaign
from protocol.domain import Line, NumberRange

COLUMNS = ("what", "p", "from", "to", "estimate", "low", "high", "simultaneous_low", "simultaneous_high")


def ordered_table(statistics: OrderedStatistics, truth: Floats | None = None) -> Table:
    """Return a table with a row for each statistic and its interval; bins also have bars.

    Args:
        truth: (k,) the true shares to show beside the estimate, in rehearsals.
    """
    estimate = statistics.estimate
    points = f" · the distribution function at {quantity(len(statistics.cdf), 'value')}" if statistics.cdf else ""
    caption = Text(f"{subtitle(estimate, estimate.size)}{points} · terms: docs/GLOSSARY.md")
    table = new_table(title_with_unit(estimate.campaign), caption)
    table.add_column("")
    table.add_column("estimate", justify="right")
    table.add_column(f"{100 * estimate.confidence:.4g}% interval")
    if statistics.cdf:
        table.add_column(f"simultaneous {100 * estimate.confidence:.4g}% interval")
    if truth is not None:
        table.add_column("truth", justify="right")
    if statistics.bins:
        table.add_column("")
    true = None if truth is None else TrueOrdered(statistics, truth)

    def add(
        name: str, number: str, between: str, true_text: str, *, band: str = "", drawn: ShareBar | str = ""
    ) -> None:
        cells = [name, number, between, *([band] if statistics.cdf else []), *([] if true is None else [true_text])]
        table.add_row(*map(Text, cells), *([drawn] if statistics.bins else []))

    for quantile in statistics.quantiles:
        name, interval = statistic_name("quantile", quantile.as_json()), map(value_text, (quantile.low, quantile.high))
        true_text = "" if true is None else value_text(true.quantile(quantile.p))
        add(name, value_text(quantile.value), " to ".join(interval), true_text)
    if statistics.mean is not None:
        mean, _, low, high = query_texts(statistics.mean)
        add("mean", mean, f"{low} to {high}", "" if true is None else true.mean(statistics.mean))
    if statistics.bins and table.row_count:
        table.add_section()
    widest = max((share.estimate for share in statistics.bins), default=0.0)
    shares: list[tuple[str, RangeShare | None, ShareBar | str]] = [
        ("bin", share, ShareBar(share.estimate / widest if widest else 0.0)) for share in statistics.bins
    ]
    for kind, share, drawn in [*shares, ("above", statistics.above, ""), ("between", statistics.between, "")]:
        if share is not None:
            true_text = "" if true is None else percent(true.share_of(share), 1)
            interval_cell = interval_text(share.low, share.high, 1)
            add(
                statistic_name(kind, share.as_json()), percent(share.estimate, 1), interval_cell, true_text, drawn=drawn
            )
    for point in statistics.cdf:
        alone = interval_text(point.low, point.high, 1)
        band = interval_text(point.simultaneous_low, point.simultaneous_high, 1)
        true_text = "" if true is None else percent(true.up_to(point.value), 1)
        add(f"up to {value_text(point.value)}", percent(point.estimate, 1), alone, true_text, band=band)
    return table


class TrueOrdered:
    """The true values of quantiles and ranges, from --truth.

    Args:
        share: (k,) the true shares.
    """

    def __init__(self, statistics: OrderedStatistics, share: Floats) -> None:
        self._statistics, self._share = statistics, share

    def quantile(self, p: float) -> ShownValue:
        """Return the value at or below which a share ``p`` of the people lie."""
        place = int(np.searchsorted(np.cumsum(self._share), p - 1e-12))
        return value_of(self._statistics.estimate.campaign.domain, min(place, len(self._share) - 1))

    def mean(self, result: QueryResult) -> str:
        """Return the mean as text in the format of ``result``."""
        domain = self._statistics.estimate.campaign.domain
        points = domain.points if isinstance(domain, Line) else ()
        true = float(self._share @ np.array([float(point) for point in points]))
        return query_texts(replace(result, estimate=true))[0]

    def share_of(self, range_share: RangeShare) -> float:
        return float(
            self._share[self._statistics.place(range_share.first) : self._statistics.place(range_share.last) + 1].sum()
        )

    def up_to(self, value: ShownValue) -> float:
        """Return the true share at or below a value."""
        return float(self._share[: self._statistics.place(value) + 1].sum())


def summary_table(statistics: OrderedStatistics, truth: Floats | None = None) -> Table:
    """Return the table of the default summary; its caption says how to get the shares of single values."""
    table = ordered_table(statistics, truth)
    more = "the campaign's goal is the mean"
    if statistics.bins:
        more = "--quantiles, --bins, --cdf, --above and --between select other statistics"
    table.caption = Text(f"{table.caption}\n{more}; --format csv has the shares of single values")
    return table


def statistic_name(kind: str, parameters: Mapping[str, Any]) -> str:
    """Return the name of a statistic, such as "median".

    Args:
        kind, parameters: as for ``Statistic``; the parameters may have other entries, too.
    """
    if kind == "quantile":
        return "median" if parameters["p"] == 0.5 else f"quantile {parameters['p']:g}"
    if kind == "cdf":
        return f"up to {value_text(parameters['value'])}"
    if kind == "mean":
        return kind
    first, last = value_text(parameters["from"]), value_text(parameters["to"])
    return f"from {first} on" if kind == "above" else first if first == last else f"{first} to {last}"


def title_with_unit(campaign: Campaign) -> str:
    """Return the campaign's title, with the unit of its numbers."""
    unit = campaign.domain.unit if isinstance(campaign.domain, NumberRange) else ""
    return f"{campaign.title}, {unit}" if unit else campaign.title


def value_text(value: ShownValue) -> str:
    """Return a value as text for a person."""
    return value if isinstance(value, str) else f"{value:,.10g}"


def ordered_csv(statistics: OrderedStatistics) -> str:
    """Return CSV with a row for each statistic, in the order of the JSON."""
    return csv_text(COLUMNS, rows_of(statistics))


def rows_of(statistics: OrderedStatistics) -> Iterator[dict[str, Any]]:
    """Yield a row with the columns ``COLUMNS`` for each statistic, in the order of the JSON."""
    empty = dict.fromkeys(COLUMNS)
    for quantile in statistics.quantiles:
        row = quantile.as_json()
        yield empty | {"what": "quantile", "estimate": row.pop("value")} | row
    for point in statistics.cdf:
        row = point.as_json()
        yield empty | {"what": "cdf", "to": row.pop("value")} | row
    for name, ranges in (("bin", statistics.bins), ("above", (statistics.above,)), ("between", (statistics.between,))):
        for range_share in ranges:
            if range_share is not None:
                yield empty | {"what": name} | range_share.as_json()
    if statistics.mean is not None:
        mean = statistics.mean
        yield empty | {"what": "mean", "estimate": mean.estimate, "low": mean.low, "high": mean.high}
