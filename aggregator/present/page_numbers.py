"""The numbers on the page of an estimate: the picture, and tables of values, ranges and districts.

``page`` assembles the page.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from aggregator.campaign_facts import counted_text
from aggregator.estimate.ordered import DECILES
from aggregator.estimate.ordered_result import OrderedStatistics
from aggregator.estimate.resolutions import Resolution
from aggregator.estimate.result import Estimate
from aggregator.families.decoder import Floats
from aggregator.present.markup import Html, label_markup, tag
from aggregator.present.ordered import TrueOrdered, statistic_name, value_text
from aggregator.present.page_parts import image_of, page_table, picture_of, scrolled
from aggregator.present.shown_shares import (
    MAY_BE_ZERO,
    decimals,
    distance_text,
    district_words,
    interval_text,
    listed_values,
    may_be_zero,
    percent,
    query_texts,
    selection_of_shares,
    significant_districts,
)
from aggregator.quantity import quantity
from protocol.domain import Dates, Grid, NumberRange

MAX_PAGE_ROWS = 200
"""Maximum number of values in the table."""


def results_section(estimate: Estimate, truth: Floats | None, statistics: OrderedStatistics | None) -> list[Html]:
    """Return the section with the picture of an estimate, or with its table if only the mean is known."""
    if statistics is not None and statistics.cdf:
        from aggregator.present.ordered_plot import ordered_figure  # matplotlib takes a second to load

        words = (
            "The distribution function: for each value, the share of the people with this value or a lower one. It has "
            "its band, and the quantiles have their intervals."
        )
        return [tag("figure", picture_of(partial(ordered_figure, statistics), words))]
    if statistics is not None and statistics.bins:
        from aggregator.present.ordered_plot import histogram_figure  # matplotlib takes a second to load

        median = next(quantile for quantile in statistics.quantiles if quantile.p == 0.5)
        words = f"Shares of ranges, and deciles. The median is {value_text(median.value)}."
        return [tag("figure", picture_of(partial(histogram_figure, statistics, truth), words))]
    if statistics is not None:
        return numbers_section(statistics, truth)
    from aggregator.present.marks import marks
    from aggregator.present.plot import estimate_figure  # matplotlib takes a second to load

    grid = estimate.campaign.domain
    top = int(np.argmax(estimate.share))
    share = percent(estimate.share[top], min(decimals(estimate, listed_values(estimate, MAX_PAGE_ROWS)), 2))
    kind = "Map" if isinstance(grid, Grid) else "Bar chart"
    alt = f"{kind} of the shares. The largest is {estimate.label(top)} with {share}."
    draw = partial(estimate_figure, estimate, truth)
    if not isinstance(grid, Grid):
        return [tag("figure", picture_of(draw, alt))]
    maps = []
    for width in ("wide", "narrow"):
        drawn = draw(narrow=width == "narrow")
        picture = image_of(drawn, alt)
        marked, words = marks(estimate, grid, drawn)
        maps.append(tag("div", picture, *marked, class_=f"map {width}"))
    return [tag("figure", *maps, tag("figcaption", words, class_="soft"))]


def coverage_sentence(estimate: Estimate, truth: Floats) -> str:
    """Return a sentence that states how many intervals contain the true share of a rehearsal, and the distance of the
    estimate from the true shares."""
    known = ~np.isnan(estimate.low)
    inside = int(((estimate.low <= truth) & (truth <= estimate.high))[known].sum())
    within = f"the true share lies in {inside:,} of {quantity(int(known.sum()), 'interval')}"
    return f"{within}; {distance_text(estimate, truth)}."


def numbers_section(statistics: OrderedStatistics, truth: Floats | None) -> list[Html]:
    """Return the tables of the mean, the quantiles and the shares of ranges; those that were not requested are left
    out. Without all of them, return the table of the distribution function."""
    confidence = f"{100 * statistics.estimate.confidence:.4g}% interval"
    domain = statistics.estimate.campaign.domain
    of_unit = f", in {domain.unit}" if isinstance(domain, NumberRange) and domain.unit else ""
    true = None if truth is None else TrueOrdered(statistics, truth)
    names = (confidence, "truth") if true else (confidence,)
    parts = []
    if statistics.mean is not None:
        mean, _, low, high = query_texts(statistics.mean)
        truths = [true.mean(statistics.mean)] if true else []
        parts.append(
            page_table(
                "The mean of all days." if isinstance(domain, Dates) else "The mean of all numbers.",
                ("", "value", *names),
                [("mean", mean, f"{low} to {high}", *truths)],
            )
        )
    if statistics.quantiles:
        quantiles = [
            (f"{100 * quantile.p:.10g}%", value_text(quantile.value),
             f"{value_text(quantile.low)} to {value_text(quantile.high)}",
             *([value_text(true.quantile(quantile.p))] if true else []))
            for quantile in statistics.quantiles
        ]  # fmt: skip
        name = "Deciles" if tuple(quantile.p for quantile in statistics.quantiles) == DECILES else "Quantiles"
        noun, lower = ("day", "an earlier") if isinstance(domain, Dates) else ("value", "a lower")
        words = f"At least this share of people has the {noun} in the second column, or {lower} one."
        parts.append(page_table(f"{name}{of_unit}. {words}", ("people", "value", *names), quantiles))
    bins = [("bin", share) for share in statistics.bins]
    kinds = [*bins, ("between", statistics.between), ("above", statistics.above)]
    ranges = [(statistic_name(kind, share.as_json()), share) for kind, share in kinds if share is not None]
    if ranges:
        shares = [
            (name, percent(range_share.estimate, 1), interval_text(range_share.low, range_share.high, 1),
             *([percent(true.share_of(range_share), 1)] if true else []))
            for name, range_share in ranges
        ]  # fmt: skip
        parts.append(page_table(f"Shares of ranges{of_unit}, including both ends.", ("range", "share", *names), shares))
    if statistics.cdf and not parts:
        points = [
            (value_text(point.value), percent(point.estimate, 1), interval_text(point.low, point.high, 1),
             *([percent(true.up_to(point.value), 1)] if true else []),
             interval_text(point.simultaneous_low, point.simultaneous_high, 1))
            for point in statistics.cdf
        ]  # fmt: skip
        words = f"Shares of the people at or below a value{of_unit}."
        parts.append(page_table(words, ("value", "share", *names, f"simultaneous {confidence}"), points))
    return parts


def values_section(estimate: Estimate, truth: Floats | None) -> list[Html]:
    """Return the section with tables of the values and of coarser districts."""
    shown = listed_values(estimate, MAX_PAGE_ROWS, MAX_PAGE_ROWS)
    places = decimals(estimate, shown)
    interval = f"{100 * estimate.confidence:.4g}% interval"
    known = [("prior", estimate.prior), ("truth", truth), ("unbiased", estimate.raw), ("standard error", estimate.se)]
    columns = {name: column for name, column in known if column is not None}
    # A phone has room for three columns, so the interval is the third.
    names = ["value", "share", interval, *columns, f"simultaneous {interval}"]
    rows = [
        tag(
            "tr",
            tag("th", label_markup(estimate.label(x)), *_doubtful(estimate, x, len(shown)), scope="row", dir="auto"),
            tag("td", percent(estimate.share[x], places)),
            tag("td", interval_text(estimate.low[x], estimate.high[x], places)),
            *(tag("td", percent(column[x], places)) for column in columns.values()),
            tag("td", interval_text(estimate.simultaneous_low[x], estimate.simultaneous_high[x], places)),
        )
        for x in shown
    ]
    words = f"All {quantity(estimate.size, 'value')}." if len(shown) == estimate.size else _picked(estimate, len(shown))
    parts = [_districts(estimate, resolution, truth) for resolution in estimate.resolutions[:-1]]
    parts.append(scrolled(words, names, rows, class_="numbers"))
    if np.isnan(np.stack([estimate.raw, estimate.se])[:, shown]).any():
        parts.append(tag("p", "A dash means that the number is not known; see the warning above.", class_="soft"))
    return parts


def _districts(estimate: Estimate, resolution: Resolution, truth: Floats | None) -> Html:
    """Return a table of the districts of one resolution whose shares are significantly above zero."""
    shown = significant_districts(resolution)
    places = decimals(resolution, shown)
    simultaneous = f"simultaneous {100 * estimate.confidence:.4g}% interval"
    columns = {"unbiased": resolution.raw, "standard error": resolution.se}
    if truth is not None:
        columns = {"truth": np.bincount(resolution.districts, truth, resolution.size).astype(np.float64)} | columns
    names = ["district", "share", simultaneous, *columns]
    rows = [
        [resolution.label(z), percent(float(resolution.share[z]), places),
         interval_text(resolution.simultaneous_low[z], resolution.simultaneous_high[z], places),
         *(percent(float(column[z]), places) for column in columns.values())]
        for z in shown
    ]  # fmt: skip
    counted = counted_text(resolution.reports, estimate.campaign)
    more = f"; the {len(shown)} largest shares are shown" if len(shown) < int(resolution.above_zero.sum()) else ""
    return page_table(f"{district_words(estimate, resolution)}{more}. {counted} of this resolution.", names, rows)


def _picked(estimate: Estimate, shown: int) -> str:
    words = selection_of_shares(estimate, shown)
    return f"{words[0].upper()}{words[1:]}. Use the simultaneous intervals. The study's CSV export has every value."


def _doubtful(estimate: Estimate, x: int, shown: int) -> list[Html]:
    """Return the mark for a selected value whose share may be zero; empty for other values."""
    return [tag("span", f" {MAY_BE_ZERO}", class_="soft")] if may_be_zero(estimate, x, shown) else []
