"""The section of an estimate's page on changes between periods or differences between classes.

``page`` assembles the page. ``trends`` and ``ordered_comparison`` print tables for a terminal.
"""

from __future__ import annotations

from functools import partial

from aggregator.campaign_facts import estimated_noun
from aggregator.estimate.change import DistrictDifference
from aggregator.estimate.ordered_comparison import OrderedComparison
from aggregator.estimate.query import unit_of
from aggregator.estimate.trend import Trend
from aggregator.present.markup import Html, tag
from aggregator.present.ordered import statistic_name
from aggregator.present.ordered_comparison import SHARED_DEVICES, counts_row, shift_texts, side_cells
from aggregator.present.page_numbers import MAX_PAGE_ROWS
from aggregator.present.page_parts import page_table, picture_of
from aggregator.present.shown_changes import dates, foremost_values, interval_in_points, percentage_points, places_of
from aggregator.present.shown_shares import district_name, interval_name, percent, shown_intervals


def trend_section(trend: Trend) -> list[Html]:
    """Return the section with the picture of the changes between periods, and with their tables."""
    from aggregator.present.trend_plot import trend_figure

    campaign, change = trend.latest.campaign, trend.change
    rows = [
        (
            point.span.name,
            " to ".join(dates(campaign, point.span)),
            f"{point.reports:,}",
            "too few devices" if point.estimate is None else "estimated",
        )
        for point in trend.points
    ]
    parts = [
        tag("figure", picture_of(partial(trend_figure, trend),
            "The share of each value over the periods, with the interval of each period.")),
        page_table("The periods", ("periods", "from, to (UTC)", f"{estimated_noun(campaign)}s", ""), rows),
    ]  # fmt: skip
    if change is not None:
        count = len(change.significant)
        words = f"Significant changes: {count:,} of {len(change.raw):,} values" if count else "No significant change"
        shown = foremost_values(change, MAX_PAGE_ROWS)
        places, (low, high) = places_of(change, range(len(change.raw))), shown_intervals(change, len(shown))
        parts[1:1] = [
            *(_changed_districts(trend, districts) for districts in change.coarser),
            tag("p", f"{words}, by the simultaneous intervals for all values."),
            page_table(
                "Changes in percentage points",
                ("value", "change", interval_name(change, len(shown)), "", *change.names),
                [
                    (
                        change.after.label(x),
                        percentage_points(change.raw[x], places),
                        interval_in_points(low[x], high[x], places),
                        "significant" if x in change.significant else "",
                        *(percent(side.unbiased()[x], 1) for side in (change.before, change.after)),
                    )
                    for x in shown
                ],
            ),
            tag("p", "Devices that answered in both periods are compared with themselves"
                + ("" if campaign.transcript else ". A device repeats its output while its "
                   "answer stays the same, so most of the noise cancels in the difference if few answers change")
                + ". So judge a change by its own interval, not by the intervals of the two shares."),
        ]  # fmt: skip
    return parts


def _changed_districts(trend: Trend, districts: DistrictDifference) -> Html:
    """Return a table of the districts of one resolution with a significant change."""
    latest, shown = trend.latest, districts.significant[:MAX_PAGE_ROWS]
    places = places_of(districts, shown)
    name = district_name(latest.campaign.domain, districts.resolution, len(districts.labels))
    words = f"{len(districts.labels):,} {name}: {len(districts.significant):,} with a significant change"
    if len(shown) < len(districts.significant):
        words += f"; the {len(shown)} largest changes are shown"
    names = trend.change.names if trend.change is not None else ()
    rows = [
        [districts.labels[z], percentage_points(float(districts.raw[z]), places),
         interval_in_points(float(districts.simultaneous_low[z]), float(districts.simultaneous_high[z]), places),
         *(percent(float(side[z]), places) for side in (districts.before, districts.after))]
        for z in shown
    ]  # fmt: skip
    confidence = f"simultaneous {100 * latest.confidence:.4g}% interval"
    return page_table(f"{words}. Changes in percentage points.", ("district", "change", confidence, *names), rows)


def ordered_comparison_section(comparison: OrderedComparison) -> list[Html]:
    """Return the section with the quantiles, ranges and mean of each period or class, and their differences."""
    from aggregator.present.ordered_comparison_plot import MAX_SIDES, comparison_figure

    known, parts = comparison.known, []
    if len(known) <= MAX_SIDES:
        words = (
            f"The distribution function of each {comparison.by}, with its intervals; below, differences from the "
            "first one."
        )
        parts.append(tag("figure", picture_of(partial(comparison_figure, comparison), words)))
    confidence, unit = f"{100 * known[0][1].estimate.confidence:.4g}%", unit_of(comparison.domain)
    numbers = comparison.without_cdf()
    if not any(statistics.numbers() for _, statistics in numbers.known):
        numbers = comparison
    cells = {side.name: side_cells(statistics) for side, statistics in numbers.known}
    rows = [counts_row(comparison)]
    for name in next(iter(cells.values())):
        rows.append((name, *(cells.get(side.name, {}).get(name, "too few devices") for side in comparison.sides)))
    subject = "Each class of people" if comparison.by == "class" else "Each period"
    words = f"{subject}{f', in {unit}' if unit else ''}; in brackets"
    parts.append(
        page_table(f"{words} {confidence} intervals.", ("", *(side.name_in_text for side in comparison.sides)), rows)
    )
    for difference in numbers.differences:
        sides = f"{difference.after.name_in_text} minus {difference.before.name_in_text}"
        words = f"Differences, {sides}. Shares in percentage points; {SHARED_DEVICES[comparison.by]}."
        shifts = [
            (statistic_name(shift.kind, shift.parameters), *shift_texts(shift, comparison))
            for shift in difference.shifts
        ]
        parts.append(page_table(words, ("", "difference", f"{confidence} interval"), shifts))
    return parts
