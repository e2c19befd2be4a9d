"""Pictures of ordered values, with quantiles: their distribution function with its band, or their shares in bins.

``aggregator.estimate.ordered`` computes estimates and errors, and ``ordered`` prints tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from aggregator.estimate.ordered_result import OrderedStatistics, ShownValue
from aggregator.estimate.result import Estimate
from aggregator.families.decoder import Floats
from aggregator.present.ordered import TrueOrdered
from aggregator.present.picture import INK, narrow_title, new_figure, plot_text, save
from aggregator.present.shown_shares import subtitle
from protocol.domain import Dates, Line, NumberRange

SHARE, FAINT = "#8fb8de", "#d9dee4"

NARROW_TICKS = 5
"""Maximum number of labels at the axis of values in a figure for a phone."""


def draw_ordered(statistics: OrderedStatistics, path: Path) -> None:
    """Draw the distribution function with its confidence band, and the quantiles, to a PNG file."""
    save(ordered_figure(statistics), path)


def draw_histogram(statistics: OrderedStatistics, path: Path, truth: Floats | None = None) -> None:
    """Draw the shares of bins and the deciles to a PNG file."""
    save(histogram_figure(statistics, truth), path)


def histogram_figure(statistics: OrderedStatistics, truth: Floats | None = None, *, narrow: bool = False) -> Figure:
    """Return a figure with the shares of bins above the deciles, both with their intervals.

    Args:
        truth: (k,) the true shares, in rehearsals.
        narrow: whether the figure is for a phone.
    """
    domain, estimate = statistics.estimate.campaign.domain, statistics.estimate
    figure = new_figure(8, 4.8 if narrow else 6, narrow=narrow)
    shares, deciles = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))

    place = statistics.place
    confidence = f"{100 * estimate.confidence:.4g}% interval"
    known = None if truth is None else TrueOrdered(statistics, truth)
    for number, range_share in enumerate(statistics.bins):
        first, past = place(range_share.first), place(range_share.last) + 1
        middle = (first + past - 1) / 2
        shares.bar(middle, range_share.estimate, width=past - first, color=SHARE, edgecolor="white")
        shares.vlines(
            middle, range_share.low, range_share.high, color=INK, lw=1.6, label=confidence if not number else None
        )
        if truth is not None:
            true, name = float(truth[first:past].sum()), "truth" if not number else None
            shares.plot(middle, true, "D", ms=5, mfc="white", mec=INK, label=name)
    for quantile in statistics.quantiles:
        strong = quantile.p == 0.5
        deciles.hlines(quantile.p, place(quantile.low), place(quantile.high), color=INK, lw=3 if strong else 1.6)
        deciles.plot(place(quantile.value), quantile.p, "o", ms=7 if strong else 5, mfc="white", mec=INK, mew=1.6)
        if known is not None:
            deciles.plot(place(known.quantile(quantile.p)), quantile.p, "D", ms=5, mfc="white", mec=INK)
    shares.set_ylim(0, None)
    shares.yaxis.set_major_formatter(PercentFormatter(1))
    shares.set_ylabel("share of people")
    _entitle(figure, shares, estimate, narrow)
    shares.legend(frameon=False, fontsize="small")
    deciles.set_ylim(0, 1)
    deciles.set_yticks(np.arange(1, 10) / 10)
    deciles.yaxis.set_major_formatter(PercentFormatter(1))
    deciles.set_ylabel("share at or below")
    ends = [place(range_share.first) for range_share in statistics.bins]
    dates = isinstance(domain, Dates) or not isinstance(domain, Line)
    if narrow:
        ends = ends[:: -(-len(ends) // NARROW_TICKS)]
    deciles.set_xticks(ends, [plot_text(domain.label(x), 16) for x in ends], rotation=30 if dates else 0)
    if isinstance(domain, NumberRange):
        deciles.set_xlabel(plot_text(domain.unit, 40))
    for axes in (shares, deciles):
        axes.grid(visible=True, axis="y" if axes is shares else "both", alpha=0.3)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        if narrow:
            axes.tick_params(labelsize=8)
    return figure


def ordered_figure(statistics: OrderedStatistics, *, narrow: bool = False) -> Figure:
    """Return a figure of the distribution function with its confidence band, and the quantiles with their intervals.

    Args:
        narrow: whether the figure is for a phone.
    """
    domain, estimate = statistics.estimate.campaign.domain, statistics.estimate
    figure = new_figure(8, 4.4 if narrow else 4.8, narrow=narrow)
    axes = figure.add_subplot()
    numbers = isinstance(domain, Line) and not isinstance(domain, Dates)
    labels = {} if numbers else {domain.label(x): x for x in range(domain.size)}

    def place(value: ShownValue) -> float:
        return labels[value] if isinstance(value, str) else float(value)

    if statistics.cdf:
        draw_cdf(axes, statistics, [place(point.value) for point in statistics.cdf])
    for number, quantile in enumerate(statistics.quantiles):
        name = "quantile with its interval" if not number else None
        axes.hlines(quantile.p, place(quantile.low), place(quantile.high), color=INK, lw=2.2)
        axes.plot(place(quantile.value), quantile.p, "o", ms=6, mfc="white", mec=INK, mew=1.6, label=name)
    if isinstance(domain, NumberRange):
        axes.set_xlabel(plot_text(domain.unit, 40))
    if labels:
        few = range(0, domain.size, max(1, domain.size // (NARROW_TICKS if narrow else 6)))
        axes.set_xticks(few, [plot_text(domain.label(x), 16) for x in few], rotation=30 if narrow else 0)
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.grid(visible=True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    _entitle(figure, axes, estimate, narrow)
    if narrow:
        axes.tick_params(labelsize=8)
        figure.legend(loc="outside lower left", frameon=False, fontsize="small")
    else:
        axes.legend(frameon=False, fontsize="small", loc="lower right")
    return figure


def draw_cdf(axes: Axes, statistics: OrderedStatistics, places: Sequence[float]) -> None:
    """Draw the distribution function with its intervals; ``places`` are the positions of its points."""
    confidence, points = f"{100 * statistics.estimate.confidence:.4g}%", statistics.cdf
    band = [point.simultaneous_low for point in points], [point.simultaneous_high for point in points]
    axes.fill_between(places, *band, color=FAINT, lw=0, label=f"simultaneous {confidence} intervals")
    alone = [point.low for point in points], [point.high for point in points]
    axes.fill_between(places, *alone, color=SHARE, lw=0, label=f"{confidence} intervals")
    axes.plot(places, [point.estimate for point in points], color=INK, lw=1.6, label="share at or below")


def _entitle(figure: Figure, axes: Axes, estimate: Estimate, narrow: bool) -> None:
    text = f"{plot_text(estimate.campaign.title, 80)}\n{subtitle(estimate, estimate.size)}"
    if narrow:
        narrow_title(figure, text)
    else:
        axes.set_title(text, loc="left", size=11, color=INK)
