"""Pictures of ordered values, with quantiles: their distribution function with its band, or their shares in bins.

``aggregator.estimate.ordered`` computes estimates and errors, and ``ordered`` prints tables.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from aggregator.estimate.ordered_result import OrderedStatistics, ShownValue
from aggregator.estimate.result import Estimate
from aggregator.families.decoder import Floats
from aggregator.present.picture import DOTS_PER_INCH, plain, save
from aggregator.present.shown_shares import subtitle
from protocol.domain import Dates, Line, NumberRange

INK, SHARE, FAINT = "#1f2933", "#8fb8de", "#d9dee4"


def draw_ordered(found: OrderedStatistics, path: Path) -> None:
    """Draw the distribution function with its confidence band, and the quantiles, to a PNG file."""
    save(ordered_figure(found), path)


def draw_histogram(found: OrderedStatistics, path: Path, truth: Floats | None = None) -> None:
    """Draw the shares of bins and the deciles to a PNG file."""
    save(histogram_figure(found, truth), path)


def histogram_figure(found: OrderedStatistics, truth: Floats | None = None) -> Figure:
    """Return a figure with the shares of bins above the deciles, both with their intervals.

    Args:
        truth: (k,) the true shares, in rehearsals.
    """
    domain, whole = found.estimate.campaign.domain, found.estimate
    figure = Figure(figsize=(8, 6), dpi=DOTS_PER_INCH, layout="constrained")
    shares, deciles = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))

    at = found.place
    confidence = f"{100 * whole.confidence:.4g}% interval"
    for number, one in enumerate(found.bins):
        first, past = at(one.first), at(one.last) + 1
        middle = (first + past - 1) / 2
        shares.bar(middle, one.estimate, width=past - first, color=SHARE, edgecolor="white")
        shares.vlines(middle, one.low, one.high, color=INK, lw=1.6, label=confidence if not number else None)
        if truth is not None:
            true, name = float(truth[first:past].sum()), "truth" if not number else None
            shares.plot(middle, true, "D", ms=5, mfc="white", mec=INK, label=name)
    for quantile in found.quantiles:
        strong = quantile.p == 0.5
        deciles.hlines(quantile.p, at(quantile.low), at(quantile.high), color=INK, lw=3 if strong else 1.6)
        deciles.plot(at(quantile.value), quantile.p, "o", ms=7 if strong else 5, mfc="white", mec=INK, mew=1.6)
    shares.set_ylim(0, None)
    shares.yaxis.set_major_formatter(PercentFormatter(1))
    shares.set_ylabel("share of people")
    shares.set_title(_title(whole), loc="left", size=11, color=INK)
    shares.legend(frameon=False, fontsize="small")
    deciles.set_ylim(0, 1)
    deciles.set_yticks(np.arange(1, 10) / 10)
    deciles.yaxis.set_major_formatter(PercentFormatter(1))
    deciles.set_ylabel("people at or below")
    ends = [at(one.first) for one in found.bins]
    dates = isinstance(domain, Dates) or not isinstance(domain, Line)
    deciles.set_xticks(ends, [plain(domain.label(x), 16) for x in ends], rotation=30 if dates else 0)
    if isinstance(domain, NumberRange):
        deciles.set_xlabel(plain(domain.unit, 40))
    for axes in (shares, deciles):
        axes.grid(visible=True, axis="y" if axes is shares else "both", alpha=0.3)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def ordered_figure(found: OrderedStatistics) -> Figure:
    """Return a figure of the distribution function with its confidence band, and the quantiles with their intervals."""
    domain, whole = found.estimate.campaign.domain, found.estimate
    figure = Figure(figsize=(8, 4.8), dpi=DOTS_PER_INCH, layout="constrained")
    axes = figure.add_subplot()
    numbers = isinstance(domain, Line) and not isinstance(domain, Dates)
    labels = {} if numbers else {domain.label(x): x for x in range(domain.size)}

    def at(value: ShownValue) -> float:
        return labels[value] if isinstance(value, str) else float(value)

    if found.cdf:
        places = [at(point.value) for point in found.cdf]
        confidence = f"{100 * whole.confidence:.4g}%"
        band = [point.simultaneous_low for point in found.cdf], [point.simultaneous_high for point in found.cdf]
        axes.fill_between(places, *band, color=FAINT, lw=0, label=f"{confidence} for all points together")
        alone = [point.low for point in found.cdf], [point.high for point in found.cdf]
        axes.fill_between(places, *alone, color=SHARE, lw=0, label=f"{confidence} for one point")
        axes.plot(places, [point.estimate for point in found.cdf], color=INK, lw=1.6, label="people at or below")
    for number, quantile in enumerate(found.quantiles):
        name = "quantile with its interval" if not number else None
        axes.hlines(quantile.p, at(quantile.low), at(quantile.high), color=INK, lw=2.2)
        axes.plot(at(quantile.value), quantile.p, "o", ms=6, mfc="white", mec=INK, mew=1.6, label=name)
    if isinstance(domain, NumberRange):
        axes.set_xlabel(plain(domain.unit, 40))
    if labels:
        few = range(0, domain.size, max(1, domain.size // 6))
        axes.set_xticks(few, [plain(domain.label(x), 16) for x in few])
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.grid(visible=True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(_title(whole), loc="left", size=11, color=INK)
    axes.legend(frameon=False, fontsize="small", loc="lower right")
    return figure


def _title(found: Estimate) -> str:
    return f"{plain(found.campaign.title, 80)}\n{subtitle(found, found.size)}"
