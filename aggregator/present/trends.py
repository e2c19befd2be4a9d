"""Changes as tables for a terminal, and as CSV: over the periods of a campaign, or between two sides.

A change must be judged by its own interval, not by the intervals of the two shares. So the interval of a change is
printed beside the change, with a star if the simultaneous interval excludes zero. Changes are computed from the
unbiased estimates, so the shares beside them are unbiased too, and each change equals the difference of its shares. If
there are many values, those with the most significant change come first.

``trend_plot`` draws pictures.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from rich.table import Table
from rich.text import Text

from aggregator.campaign_facts import counted_noun, estimated_noun
from aggregator.estimate.change import Difference, DistrictDifference
from aggregator.estimate.resolutions import FINEST, ValueOrDistrict
from aggregator.estimate.result import Estimate
from aggregator.estimate.trend import Trend, true_shares
from aggregator.present.document import COLUMNS, csv_text
from aggregator.present.shown_changes import (
    BY_RESOLUTION,
    comparison_basis,
    comparison_title,
    dates,
    foremost_values,
    interval_in_points,
    percentage_points,
    places_of,
    selection_of_values,
    significant_values_and_districts,
    title_with_class,
)
from aggregator.present.shown_shares import (
    MAX_DISTRICTS,
    MAX_TABLE_ROWS,
    decimals,
    distance_from_truth,
    distance_name,
    district_name,
    interval_name,
    interval_text,
    level_text,
    percent,
    shown_intervals,
)
from aggregator.present.table import new_table

STEPS = "▁▂▃▄▅▆▇█"

LETTERS = 12
"""Maximum length of a line of block characters; if there are more spans, the line shows some at equal distances."""


def spans_table(trend: Trend) -> Table:
    """Return a table with a row for each span: its dates, and its numbers of outputs and devices, or of devices alone
    with transcripts; if there are many spans, only for the first and the last ones."""
    campaign = trend.latest.campaign
    table = new_table(title_with_class(trend.latest))
    rehearsal = any(point.truth is not None for point in trend.points)
    counted = [] if campaign.transcript else [f"{counted_noun(campaign)}s"]
    off = [distance_name(campaign.domain)] if rehearsal else []
    for name in ("periods", "from", "to", *counted, "devices", *off):
        table.add_column(name, justify="left" if name in ("periods", "from", "to") else "right")
    half = MAX_TABLE_ROWS // 2
    shown = trend.points if len(trend.points) <= MAX_TABLE_ROWS else trend.points[:half] + trend.points[-half:]
    for point in shown:
        known = point.estimate
        words = "too few devices" if known is None else "-" if known.devices is None else f"{known.devices:,}"
        cells = [point.span.name, *dates(campaign, point.span), *([f"{point.reports:,}"] if counted else []), words]
        if known is not None and point.truth is not None:
            cells.append(percent(distance_from_truth(known, point.truth), 2))
        table.add_row(*cells)
    if len(shown) < len(trend.points):
        table.caption = f"the first and last {half} of {len(trend.points):,} spans; --format csv has them all"
    return table


def change_table(difference: Difference, trend: Trend | None = None) -> Table:
    """Return a table with a row for each value: the shares of both sides and their difference.

    Args:
        trend: the trend to which the change belongs; the shares over time are drawn in a few characters.
    """
    shown = foremost_values(difference, MAX_TABLE_ROWS)
    title = title_with_class(difference.after) if trend is not None else comparison_title(difference)
    truths = None if trend is None or trend.ends is None else [point.truth for point in trend.ends]
    table = new_table(title, _changes_caption(difference, len(shown)))
    table.add_column("value", max_width=36)
    if trend is not None:
        table.add_column("trend", no_wrap=True)
    for name in difference.names:
        table.add_column(Text(name), justify="right", max_width=24)
    table.add_column("change" if trend is not None else "difference", justify="right")
    table.add_column(Text(interval_name(difference, len(shown))))
    if truths is not None and truths[0] is not None:
        table.add_column("true change", justify="right")
    table.add_column("")
    places, significant = places_of(difference, shown), set(difference.significant)
    low, high = shown_intervals(difference, len(shown))
    for districts in difference.coarser:
        _add_districts(table, difference, districts, trend is not None)
    for x in shown:
        cells = [difference.after.label(x)]
        if trend is not None:
            cells.append(trend_line([float(known.unbiased()[x]) for _, known in trend.known]))
        cells += [percent(side.unbiased()[x], places) for side in (difference.before, difference.after)]
        cells += [percentage_points(difference.raw[x], places), interval_in_points(low[x], high[x], places)]
        if truths is not None and truths[0] is not None and truths[1] is not None:
            cells.append(percentage_points(float(truths[1][x] - truths[0][x]), places))
        table.add_row(*map(Text, [*cells, "*" if x in significant else ""]))
    return table


def _add_districts(table: Table, difference: Difference, districts: DistrictDifference, in_trend: bool) -> None:
    """Add a section with the districts of one resolution that differ significantly."""
    name = district_name(difference.after.campaign.domain, districts.resolution, len(districts.labels))
    count = len(districts.significant)
    words = f"{len(districts.labels):,} {name}: {count:,} {'differs' if count == 1 else 'differ'}"
    table.add_row(Text(words, style="bold"))
    for z in districts.significant[:MAX_DISTRICTS]:
        places = places_of(districts, [z])
        cells = [districts.labels[z], *([""] if in_trend else [])]
        cells += [percent(side[z], places) for side in (districts.before, districts.after)]
        cells += [
            percentage_points(districts.raw[z], places),
            interval_in_points(districts.simultaneous_low[z], districts.simultaneous_high[z], places),
        ]
        cells += [""] * (len(table.columns) - len(cells) - 1)
        table.add_row(*map(Text, [*cells, "*"]))
    table.add_section()


def steps_table(trend: Trend) -> Table | Text:
    """Return a table of the significant changes from each span to the next: the value or district, and the change; a
    sentence if no change is significant."""
    confidence = f"{100 * trend.latest.confidence:.4g}%"
    changes = [
        (step, target)
        for step in trend.steps
        for target in significant_values_and_districts(step)
        if trend.only in (None, target)
    ]
    if not changes:
        return Text(f"No change from one span to the next is significant, by the simultaneous {confidence} intervals.")
    changes.sort(key=lambda change: -float(change[0].at(change[1].resolution).evidence[change[1].number]))
    shown = {(id(step), target) for step, target in changes[:MAX_TABLE_ROWS]}
    table = new_table(title_with_class(trend.latest))
    for name in ("from", "to", "value", "before", "after", "change", f"simultaneous {confidence} interval"):
        table.add_column(name, justify="right" if name in ("before", "after", "change") else "left", max_width=36)
    for step in trend.steps:
        for target in significant_values_and_districts(step):
            if (id(step), target) not in shown:
                continue
            difference, z = step.at(target.resolution), target.number
            places = places_of(difference, [z])
            cells = [
                *step.names,
                difference.labels[z],
                *(percent(float(side[z]), places) for side in (difference.before, difference.after)),
            ]
            cells += [
                percentage_points(float(difference.raw[z]), places),
                interval_in_points(difference.simultaneous_low[z], difference.simultaneous_high[z], places),
            ]
            table.add_row(*map(Text, cells))
    lines = [f"significant changes between spans: {len(changes):,}, by the simultaneous {confidence} intervals"]
    if any(step.coarser for step in trend.steps):
        lines.append(BY_RESOLUTION)
    if len(shown) < len(changes):
        lines.append(f"the {len(shown)} most significant are shown; --json has all")
    table.caption = Text("\n".join(lines))
    return table


def value_table(trend: Trend, target: ValueOrDistrict) -> Table:
    """Return a table with a row for each span: the share of one value or district, and its interval."""
    latest, x = trend.latest, target.number
    table = new_table(f"{title_with_class(latest)}: {latest.at(target.resolution).label(x)}")
    rehearsal = any(point.truth is not None for point in trend.points)
    counted = f"{estimated_noun(latest.campaign)}s"
    names = ["periods", "from", "to", counted, "share", f"{100 * latest.confidence:.4g}% interval"]
    for name in names + (["truth"] if rehearsal else []):
        table.add_column(name, justify="right" if name in (counted, "share", "truth") else "left")
    places = max(decimals(known.at(target.resolution), [x]) for _, known in trend.known)
    for point in trend.points:
        cells = [point.span.name, *dates(latest.campaign, point.span), f"{point.reports:,}"]
        if point.estimate is None:
            cells += ["too few devices", "-"]
        else:
            known = point.estimate.at(target.resolution)
            cells += [percent(known.unbiased()[x], places), interval_text(known.low[x], known.high[x], places)]
        if point.truth is not None:
            cells.append(percent(float(true_shares(latest, target.resolution, point.truth)[x]), places))
        table.add_row(*cells)
    unbiased = "the unbiased share; each interval is valid by itself"
    no_unbiased = math.isnan(latest.at(target.resolution).raw[x])
    lines = ["the consistent share, because no unbiased estimate exists" if no_unbiased else unbiased]
    if trend.change is not None:
        change = trend.change.at(target.resolution)
        lines.append(
            f"change from {trend.change.names[0]} to {trend.change.names[1]}: "
            f"{percentage_points(change.raw[x], places)} percentage points "
            f"({interval_in_points(change.low[x], change.high[x], places)}); {comparison_basis(trend.change)}"
        )
    table.caption = Text("\n".join(lines))
    return table


def trend_csv(trend: Trend) -> str:
    """Return CSV with a row for each value of each span that has an estimate, then for its coarser districts.

    If the campaign has views, there is a column ``resolution``, as in ``estimate_rows``.
    """
    latest = trend.latest
    about = {"campaign": latest.campaign.title, "class": latest.class_name}
    rows = [
        {**about, "periods": span["periods"], "reports": span["reports"], **kind, **row}
        for span in trend.as_json()["spans"]
        if span["values"] is not None
        for kind, values in _sections(latest, span["values"], span["resolutions"])
        for row in values
    ]
    truth = ["truth"] if any(point.truth is not None for point in trend.points) else []
    resolution = ["resolution"] if latest.resolutions else []
    return csv_text(["campaign", "class", "periods", "reports", *COLUMNS, *resolution, *truth], rows)


def change_csv(difference: Difference) -> str:
    """Return CSV with a row for each value, then for each coarser district: both sides and their difference.

    If there are districts, there is a column ``resolution``, as in ``estimate_rows``.
    """
    numbers, sides = difference.as_json(), (difference.before.as_json(), difference.after.as_json())
    sections = [(FINEST, numbers["values"], *(side["values"] for side in sides))]
    for resolution in reversed(numbers["resolutions"]):
        name = resolution["resolution"]
        of_sides = (
            next(districts["values"] for districts in side["resolutions"] if districts["resolution"] == name)
            for side in sides
        )
        sections.append((name, resolution["values"], *of_sides))
    rows = [
        {"value": row["value"]}
        | ({"resolution": name} if difference.coarser else {})
        | {f"{side}_{key}": side_row[key] for side, side_row in zip(("from", "to"), pair, strict=True) for key in _SIDE}
        | {key: row[key] for key in _CHANGE}
        for name, *columns in sections
        for row, *pair in zip(*columns, strict=True)
    ]
    names = ["value", *(["resolution"] if difference.coarser else [])]
    return csv_text([*names, *(f"{side}_{key}" for side in ("from", "to") for key in _SIDE), *_CHANGE], rows)


def _sections(
    estimate: Estimate, values: list[dict[str, Any]], coarser: list[dict[str, Any]]
) -> Iterator[tuple[dict[str, str], list[dict[str, Any]]]]:
    """Yield for each resolution, the finest first, the columns common to all its rows, and the rows."""
    yield {"value_kind": estimate.value_kind} | ({"resolution": FINEST} if estimate.resolutions else {}), values
    for resolution in reversed(coarser):
        yield {"value_kind": "district", "resolution": resolution["resolution"]}, resolution["values"]


_SIDE = ("estimate", "raw", "se")
_CHANGE = ("difference", "se", "low", "high", "simultaneous_low", "simultaneous_high")


def trend_line(shares: list[float]) -> str:
    """Return a line of at most ``LETTERS`` block characters that shows shares, scaled to the largest share."""
    if len(shares) > LETTERS:
        shares = [shares[round(letter * (len(shares) - 1) / (LETTERS - 1))] for letter in range(LETTERS)]
    largest = max(shares)
    return "".join(
        STEPS[round(max(share, 0.0) / largest * (len(STEPS) - 1))] if largest > 0 else STEPS[0] for share in shares
    )


def _changes_caption(difference: Difference, shown: int) -> Text:
    after = difference.after
    noun = "changes" if difference.paired else "differences"
    levels = " and ".join(dict.fromkeys(map(level_text, (difference.before, after))))
    lines = [
        f"{difference.before.reports:,} and {after.counted} · {levels} (docs/GLOSSARY.md) · {noun} in percentage "
        f"points, {interval_name(difference, shown)}s",
        f"{comparison_basis(difference)}; shares and {noun} are the unbiased estimates",
    ]
    if difference.coarser:
        lines.append(f"districts are shown if they differ significantly; {BY_RESOLUTION}")
    if shown < len(difference.raw):
        lines.append(f"{selection_of_values(difference, shown)}; --json has all")
    count = len(difference.significant)
    count_text = f"* significant {noun}: {count:,} of {len(difference.raw):,}" if count else f"no significant {noun}"
    lines.append(f"{count_text}, by the simultaneous {100 * difference.confidence:.4g}% intervals of all values")
    return Text("\n".join(lines))
