"""The numbers on the page of an estimate: the picture, and tables of values, ranges and districts.

``page`` assembles the page.
"""

from __future__ import annotations

import numpy as np

from aggregator.campaign_facts import counted_text
from aggregator.estimate.ordered import DECILES
from aggregator.estimate.ordered_result import OrderedStatistics
from aggregator.estimate.resolutions import Resolution
from aggregator.estimate.result import Estimate
from aggregator.families.decoder import Floats
from aggregator.present.markup import Html, label, tag
from aggregator.present.ordered import TrueOrdered, above_text, range_text, value_text
from aggregator.present.page_parts import page_table, picture_of, scrolled
from aggregator.present.shown_shares import (
    MAY_BE_ZERO,
    decimals,
    distance,
    district_words,
    interval_text,
    listed,
    may_be_zero,
    percent,
    query_texts,
    selection,
    significant_districts,
)
from protocol.domain import Dates, Grid, NumberRange

ROWS = 200
"""Maximum number of values in the table."""


def results_section(found: Estimate, truth: Floats | None, read: OrderedStatistics | None) -> list[Html]:
    """Return the section with the picture of an estimate, or with its table if only the mean is known."""
    if read is not None and read.cdf:
        from aggregator.present.ordered_plot import ordered_figure  # matplotlib takes a second to load

        words = (
            "The distribution function: for each value, the share of the people with this value or a lower one. It has "
            "its band, and the quantiles have their intervals."
        )
        return [tag("figure", picture_of(ordered_figure(read), words))]
    if read is not None and read.bins:
        from aggregator.present.ordered_plot import histogram_figure  # matplotlib takes a second to load

        median = next(one for one in read.quantiles if one.p == 0.5)
        words = f"Shares of ranges, and deciles. The median is {value_text(median.value)}."
        return [tag("figure", picture_of(histogram_figure(read, truth), words))]
    if read is not None:
        return numbers_section(read, truth)
    from aggregator.present.marks import marks
    from aggregator.present.plot import figure  # matplotlib takes a second to load

    grid = found.campaign.domain
    top = int(np.argmax(found.share))
    share = percent(found.share[top], min(decimals(found, listed(found, ROWS)), 2))
    kind = "Map" if isinstance(grid, Grid) else "Bar chart"
    drawn = figure(found, truth)
    picture = picture_of(drawn, f"{kind} of the shares. The largest is {found.label(top)} with {share}.")
    if not isinstance(grid, Grid):
        return [tag("figure", picture)]
    marked, words = marks(found, grid, drawn)
    return [tag("figure", tag("div", picture, *marked, class_="map"), tag("figcaption", words, class_="soft"))]


def coverage_sentence(found: Estimate, truth: Floats) -> str:
    """Return a sentence that states how many intervals contain the true share of a rehearsal, and the distance of the
    estimate from the true shares."""
    known = ~np.isnan(found.low)
    inside = int(((found.low <= truth) & (truth <= found.high))[known].sum())
    within = f"{inside:,} of {int(known.sum()):,} intervals contain the true share"
    return f"{within}; {distance(found, truth)}."


def numbers_section(read: OrderedStatistics, truth: Floats | None) -> list[Html]:
    """Return the tables of the mean, the quantiles and the shares of ranges; those that were not requested are left
    out."""
    confidence = f"{100 * read.estimate.confidence:.4g}% interval"
    domain = read.estimate.campaign.domain
    of_unit = f", in {domain.unit}" if isinstance(domain, NumberRange) and domain.unit else ""
    true = None if truth is None else TrueOrdered(read, truth)
    names = ("truth", confidence) if true else (confidence,)
    parts = []
    if read.mean is not None:
        estimate, _, low, high = query_texts(read.mean)
        truths = [true.mean(read.mean)] if true else []
        parts.append(
            page_table(
                "The mean of all days." if isinstance(domain, Dates) else "The mean of all numbers.",
                ("", "value", *names),
                [("mean", estimate, *truths, f"{low} to {high}")],
            )
        )
    if read.quantiles:
        quantiles = [
            (f"{100 * one.p:.10g}%", value_text(one.value), *([value_text(true.quantile(one.p))] if true else []),
             f"{value_text(one.low)} to {value_text(one.high)}")
            for one in read.quantiles
        ]  # fmt: skip
        name = "Deciles" if tuple(one.p for one in read.quantiles) == DECILES else "Quantiles"
        what, lower = ("day", "an earlier") if isinstance(domain, Dates) else ("value", "a lower")
        words = f"{name}{of_unit}. At least this share of the people have the {what} in the row, or {lower} one."
        parts.append(page_table(words, ("people", "value", *names), quantiles))
    ranges = [(range_text(one), one) for one in (*read.bins, *filter(None, [read.between]))]
    ranges += [(above_text(one), one) for one in filter(None, [read.above])]
    if ranges:
        shares = [
            (name, percent(one.estimate, 1), *([percent(true.share_of(one), 1)] if true else []),
             interval_text(one.low, one.high, 1))
            for name, one in ranges
        ]  # fmt: skip
        parts.append(page_table(f"Shares of ranges{of_unit}, including both ends.", ("range", "share", *names), shares))
    return parts


def values_section(found: Estimate, truth: Floats | None) -> list[Html]:
    """Return the section with tables of the values and of coarser districts."""
    shown = listed(found, ROWS, ROWS)
    places = decimals(found, shown)
    confidence = f"{100 * found.confidence:.4g}%"
    names = ["value", "share", "unbiased", "standard error", f"{confidence} interval", f"{confidence} for all together"]
    columns = [found.share, found.raw, found.se]
    if truth is not None:
        names.insert(2, "truth")
        columns.insert(1, truth)
    if found.prior is not None:
        names.insert(2, "prior")
        columns.insert(1, found.prior)
    rows = [
        tag(
            "tr",
            tag("th", label(found.label(x)), *_doubtful(found, x, len(shown)), scope="row", dir="auto"),
            *(tag("td", percent(column[x], places)) for column in columns),
            tag("td", interval_text(found.low[x], found.high[x], places)),
            tag("td", interval_text(found.simultaneous_low[x], found.simultaneous_high[x], places)),
        )
        for x in shown
    ]
    words = f"All {found.size:,} values." if len(shown) == found.size else _picked(found, len(shown))
    parts = [_districts(found, each, truth) for each in found.resolutions[:-1]]
    parts.append(scrolled(words, names, rows, class_="numbers"))
    if np.isnan(np.stack([found.raw, found.se])[:, shown]).any():
        parts.append(tag("p", "A dash means that the number is not known; see the warning above.", class_="soft"))
    return parts


def _districts(found: Estimate, each: Resolution, truth: Floats | None) -> Html:
    """Return a table of the districts of one resolution whose shares are significantly above zero."""
    shown = significant_districts(each)
    places = decimals(each, shown)
    names = ["district", "share", "unbiased", "standard error", f"{100 * found.confidence:.4g}% for all together"]
    columns = [each.share, each.raw, each.se]
    if truth is not None:
        names.insert(2, "truth")
        columns.insert(1, np.bincount(each.districts, truth, each.size).astype(np.float64))
    rows = [
        [each.label(z), *(percent(float(column[z]), places) for column in columns),
         interval_text(each.simultaneous_low[z], each.simultaneous_high[z], places)]
        for z in shown
    ]  # fmt: skip
    counted = counted_text(each.reports, found.campaign)
    more = f", the {len(shown)} largest" if len(shown) < int(each.above_zero.sum()) else ""
    return page_table(f"{district_words(found, each)}{more}. {counted} of this resolution.", names, rows)


def _picked(found: Estimate, shown: int) -> str:
    words = selection(found, shown)
    return (
        f"{words[0].upper()}{words[1:]}. Use the intervals for all values together. The study's CSV export has "
        "every value."
    )


def _doubtful(found: Estimate, x: int, shown: int) -> list[Html]:
    """Return the mark for a selected value whose share may be zero; empty for other values."""
    return [tag("span", f" {MAY_BE_ZERO}", class_="soft")] if may_be_zero(found, x, shown) else []
