"""Pictures of changes: the shares of values over the periods, and two sides with their differences.

The line of a value has the interval of each period. A difference has a separate plot with its own interval, because
the intervals of two periods do not show whether their shares differ.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from aggregator.estimate.change import Difference
from aggregator.estimate.resolutions import FINEST, ValueOrDistrict
from aggregator.estimate.trend import Trend, true_shares
from aggregator.present.picture import INK, narrow_title, new_figure, plot_text, save
from aggregator.present.plot import FAINT, MAX_BAR_LABEL, MAX_BARS, SHARE, TRUTH
from aggregator.present.shown_changes import (
    comparison_title,
    foremost_values_and_districts,
    interval_in_points,
    percentage_points,
    places_of,
    selection_of_values_and_districts,
    title_with_class,
)
from aggregator.present.shown_shares import level_text, listed_values, significant_districts

MAX_PLOTS = 12
"""Maximum number of values drawn."""

ACROSS = 3
LATER = "#e3b96f"


def draw_trend(trend: Trend, path: Path) -> None:
    """Draw the shares of each value over the periods to a PNG file."""
    save(trend_figure(trend), path)


def trend_figure(trend: Trend, *, narrow: bool = False) -> Figure:
    """Return a figure with a plot for each value, which shows the value's shares over the periods.

    Args:
        narrow: whether the figure is for a phone.
    """
    latest = trend.latest
    if trend.only is not None:
        shown = [trend.only]
    elif trend.change is not None:
        shown = foremost_values_and_districts(trend.change, MAX_PLOTS)
    else:
        districts = [
            ValueOrDistrict(resolution.name, z)
            for resolution in latest.resolutions[:-1]
            for z in significant_districts(resolution)
        ]
        shown = districts[:MAX_PLOTS] or [ValueOrDistrict(FINEST, x) for x in listed_values(latest, MAX_PLOTS)]
    across = 1 if narrow else min(ACROSS, len(shown))
    down = -(-len(shown) // across)
    height = 1.8 + 1.6 * down if narrow else 1.3 + 2.0 * down
    figure = new_figure(max(3.1 * across, 6.5), height, narrow=narrow)
    plots = figure.subplots(down, across, squeeze=False).ravel()
    pointwise = trend.only is not None or (not latest.resolutions and len(shown) == latest.size)
    for axes, target in zip(plots, shown, strict=False):
        _draw_shares(axes, trend, target, pointwise)
    for axes in plots[len(shown) :]:
        axes.set_visible(False)
    parts = [f"unbiased shares, {100 * latest.confidence:.4g}% intervals of each period"]
    if any(point.truth is not None for point in trend.points):
        parts.append("diamonds: the truth")
    if trend.change is not None:
        parts.append(
            f"changes from {trend.change.names[0]} to {trend.change.names[1]} in percentage points, "
            f"{'' if pointwise else 'simultaneous '}{100 * latest.confidence:.4g}% intervals"
        )
    if trend.only is None and trend.change is not None:
        parts.append(selection_of_values_and_districts(trend.change, len(shown)))
    figure.supxlabel("period", size=9, color=INK)
    _entitle(figure, title_with_class(latest), level_text(latest), *parts, narrow=narrow)
    return figure


def _draw_shares(axes: Axes, trend: Trend, target: ValueOrDistrict, pointwise: bool) -> None:
    """Draw the shares of one value or district over the periods in a plot, with their change.

    Args:
        pointwise: whether the change is drawn with its pointwise interval; if not, with its simultaneous interval.
    """
    known, x = trend.known, target.number
    middles = np.array([(span.first + span.last) / 2 for span, _ in known])
    sides = [estimate.at(target.resolution) for _, estimate in known]
    share = np.array([resolution.unbiased()[x] for resolution in sides])
    raw, low, high = (
        np.array([getattr(resolution, name)[x] for resolution in sides]) for name in ("raw", "low", "high")
    )
    axes.plot(middles, share, color=SHARE, lw=2, label="share")
    true = np.array([
        np.nan if point.truth is None else true_shares(point.estimate, target.resolution, point.truth)[x]
        for point in trend.points
        if point.estimate is not None
    ])  # fmt: skip
    axes.plot(middles, true, "D", ms=4.5, mfc="none", mec=TRUTH, mew=1.2)
    finite = ~np.isnan(low)
    axes.vlines(middles[finite], low[finite], high[finite], color=INK, lw=1.1)
    axes.plot(middles[finite], raw[finite], "o", ms=2.6, color=INK)
    top = float(np.nanmax([*share, *high, *raw, *true]))
    lowest = float(np.nanmin([0.0, *raw]))
    room = 0.06 * (top - lowest) or 1.0
    axes.set_ylim(lowest - room if lowest < 0 else 0.0, top + room)
    for number, (span, _) in enumerate(known):
        axes.hlines(share[number], span.first, span.last, color=SHARE, lw=2)
    axes.set_title(
        plot_text(trend.latest.at(target.resolution).label(x), MAX_BAR_LABEL), size=9.5, loc="left", color=INK, pad=16
    )
    if trend.change is not None:
        change = trend.change.at(target.resolution)
        places = places_of(change, [x] if trend.change.coarser else range(len(change.raw)))
        near, far = (change.low, change.high) if pointwise else (change.simultaneous_low, change.simultaneous_high)
        words = f"{percentage_points(change.raw[x], places)}  ({interval_in_points(near[x], far[x], places)})"
        colour = TRUTH if x in change.significant else INK
        axes.annotate(
            words, (0, 1), xytext=(0, 4), xycoords="axes fraction", textcoords="offset points", size=8, color=colour
        )
    first, last = (min(span.first for span, _ in known), max(span.last for span, _ in known))
    pad = max(0.04 * (last - first), 0.3)
    axes.set_xlim(first - pad, last + pad)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda part, _: f"{100 * part:.3g}%"))
    axes.tick_params(labelsize=7.5, length=2)
    axes.grid(axis="y", color=FAINT, lw=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def draw_difference(difference: Difference, path: Path) -> None:
    """Draw the shares of two sides, and their differences, to a PNG file."""
    shown = foremost_values_and_districts(difference, MAX_BARS)
    pointwise = not difference.coarser and len(shown) == len(difference.raw)
    cells = [(difference.at(target.resolution), target.number) for target in shown]
    places = np.arange(len(shown))
    figure = new_figure(10.0, 2.1 + 0.34 * len(shown))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1, 1.05))
    names = ("low", "high") if pointwise else ("simultaneous_low", "simultaneous_high")
    for shift, side, name, colour in (
        (-0.2, difference.before, difference.names[0], SHARE),
        (0.2, difference.after, difference.names[1], LATER),
    ):
        of_side = [(side.at(target.resolution), target.number) for target in shown]
        lengths = [float(resolution.unbiased()[x]) for resolution, x in of_side]
        left.barh(places + shift, lengths, height=0.36, color=colour, label=plot_text(name, MAX_BAR_LABEL))
        low, high = (np.array([getattr(resolution, end)[x] for resolution, x in of_side]) for end in names)
        known = ~np.isnan(low)
        left.hlines((places + shift)[known], low[known], high[known], color=INK, lw=1.0)
    left.set_yticks(places, [plot_text(districts.labels[x], MAX_BAR_LABEL) for districts, x in cells])
    left.set_ylim(len(shown) - 0.4, -0.6)
    left.axvline(0, color=INK, lw=0.9)
    left.set_title("unbiased shares", size=9.5, loc="left", color=INK)
    left.xaxis.set_major_formatter(FuncFormatter(lambda part, _: f"{100 * part:.4g}%"))
    raw, low, high = (np.array([getattr(districts, end)[x] for districts, x in cells]) for end in ("raw", *names))
    known = ~np.isnan(low)
    significant = np.array(
        [districts.simultaneous_low[x] > 0 or districts.simultaneous_high[x] < 0 for districts, x in cells]
    )
    for chosen, colour in ((~significant & known, INK), (significant & known, TRUTH)):
        right.hlines(places[chosen], low[chosen], high[chosen], color=colour, lw=1.5)
        for limit in (low, high):
            right.vlines(limit[chosen], places[chosen] - 0.13, places[chosen] + 0.13, color=colour, lw=1.5)
        right.plot(raw[chosen], places[chosen], "o", ms=4.5, color=colour)
    right.axvline(0, color=INK, lw=0.9)
    digits = (
        max(places_of(districts, [x]) for districts, x in cells)
        if difference.coarser
        else places_of(difference, [x for _, x in cells])
    )
    far = float(np.nanmax(np.abs([*low, *high, 1e-9])))
    right.set_xlim(-1.1 * far, 1.1 * far)
    beside = right.get_yaxis_transform()
    for place, number in enumerate(raw):
        words = percentage_points(number, digits)
        right.text(1.1, place, words, transform=beside, va="center", ha="right", size=8.5, color=INK)
    right.set_title("difference, percentage points", size=9.5, loc="left", color=INK)
    right.xaxis.set_major_formatter(FuncFormatter(lambda part, _: percentage_points(part, 0 if far > 0.1 else 1)))
    for axes in (left, right):
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6))
        axes.tick_params(labelsize=8.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", color=FAINT, lw=0.7)
        axes.set_axisbelow(True)
        for side_of in ("top", "right", "left"):
            axes.spines[side_of].set_visible(False)
    figure.legend(loc="outside lower left", ncols=2, frameon=False, fontsize=8.5)
    parts = [
        f"{'' if pointwise else 'simultaneous '}{100 * difference.confidence:.4g}% intervals; orange: significant "
        "differences",
        selection_of_values_and_districts(difference, len(shown)),
    ]
    _entitle(
        figure, comparison_title(difference), f"{difference.before.reports:,} and {difference.after.counted}", *parts
    )
    save(figure, path)


def _entitle(figure: Figure, title: str, *parts: str, narrow: bool = False) -> None:
    words = " · ".join(filter(None, parts))
    if narrow:
        narrow_title(figure, f"{title}\n{words}".replace("$", r"\$"))
        return
    letters = int(12.5 * figure.get_figwidth())
    lines = [*textwrap.wrap(title, letters), *textwrap.wrap(words, letters)]
    figure.suptitle("\n".join(lines).replace("$", r"\$"), size=10, x=0.01, ha="left", color=INK)
