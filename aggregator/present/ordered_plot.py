"""The picture of ordered values: their distribution function with its band, and quantiles with their intervals.

What they are and how sure: estimate.ordered. As a table: ordered.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from aggregator.estimate.ordered import Ordered, Value
from aggregator.present.picture import DOTS_PER_INCH, plain, save
from protocol.domain import Dates, Line, NumberRange

INK, SHARE, FAINT = "#1f2933", "#8fb8de", "#d9dee4"


def draw_ordered(found: Ordered, path: Path) -> None:
    """Draw the distribution function with its band, and the quantiles, to a PNG file."""
    save(ordered_figure(found), path)


def ordered_figure(found: Ordered) -> Figure:
    """Return the distribution function with its band, and the quantiles with their intervals, as a figure."""
    domain, whole = found.found.terms.domain, found.found
    figure = Figure(figsize=(8, 4.8), dpi=DOTS_PER_INCH, layout="constrained")
    axes = figure.add_subplot()
    numbers = isinstance(domain, Line) and not isinstance(domain, Dates)
    labels = {} if numbers else {domain.label(x): x for x in range(domain.size)}

    def at(value: Value) -> float:
        return labels[value] if isinstance(value, str) else float(value)

    if found.cdf:
        places = [at(point.value) for point in found.cdf]
        level = f"{100 * whole.level:.4g}%"
        band = [point.all_low for point in found.cdf], [point.all_high for point in found.cdf]
        axes.fill_between(places, *band, color=FAINT, lw=0, label=f"{level} for all points together")
        alone = [point.low for point in found.cdf], [point.high for point in found.cdf]
        axes.fill_between(places, *alone, color=SHARE, lw=0, label=f"{level} for one point")
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
    axes.set_title(plain(whole.terms.title, 80), loc="left")
    axes.legend(frameon=False, fontsize="small", loc="lower right")
    return figure
