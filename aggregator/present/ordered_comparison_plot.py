"""Distribution functions of several periods, classes or campaigns side by side, with their quantiles.

``aggregator.estimate.ordered_comparison`` computes estimates and errors, and ``ordered_comparison`` prints tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from aggregator.estimate.ordered_comparison import OrderedComparison, Shift
from aggregator.estimate.ordered_result import OrderedStatistics
from aggregator.present.ordered_plot import SHARE, draw_cdf
from aggregator.present.picture import INK, narrow_title, new_figure, plot_text, save
from aggregator.quantity import quantity
from protocol.domain import Dates, Line, NumberRange
from protocol.errors import HalftruthError

MAX_SIDES = 12
"""Maximum number of sides in a picture."""

WIDE = 3
"""Maximum number of plots in a row."""


class TooManySides(HalftruthError, ValueError):
    """A picture was requested of more sides than it has room for."""


def draw_comparison(comparison: OrderedComparison, path: Path) -> None:
    """Draw the sides of a comparison to a PNG file.

    Raises:
        TooManySides: more than ``MAX_SIDES`` sides have statistics.
        OSError: the file could not be written.
    """
    save(comparison_figure(comparison), path)


def comparison_figure(comparison: OrderedComparison, *, narrow: bool = False) -> Figure:
    """Return a figure with a plot for each side; the curve of the first side is dashed in the other plots.

    Below a plot is the difference of its distribution function from the first plot's, if the difference is known.

    Args:
        narrow: whether the figure is for a phone.
    Raises:
        TooManySides: more than ``MAX_SIDES`` sides have statistics.
    """
    known = comparison.known
    if len(known) > MAX_SIDES:
        raise TooManySides(
            f"{len(known)} distribution functions are too many to draw: choose at most {MAX_SIDES} periods or classes"
        )
    (first, reference), *_ = known
    columns = 1 if narrow else min(len(known), WIDE)
    rows = math.ceil(len(known) / columns)
    shifted = {
        difference.after.name: [shift for shift in difference.shifts if shift.kind == "cdf"]
        for difference in comparison.differences
        if difference.before is first
    }
    below_ratios = [1.6] * rows
    if narrow:
        below_ratios = [1.6 if side.name in shifted else 0.01 for side, _ in known]
    ratios = [ratio for below_ratio in below_ratios for ratio in (3, below_ratio)]
    figure = new_figure(1 + 3.2 * columns, 1.2 + 0.8 * sum(ratios) if narrow else 0.6 + 4.6 * rows, narrow=narrow)
    drawn = figure.subplots(2 * rows, columns, sharex=True, sharey="row", squeeze=False, height_ratios=ratios)
    plots, below = drawn[::2].ravel().tolist(), drawn[1::2].ravel().tolist()
    for place, (side, statistics) in enumerate(known):
        _draw(plots[place], statistics, reference if place else None, first.name_in_text)
        plots[place].set_title(
            f"{plot_text(side.name_in_text, 30)}: {quantity(side.reports, comparison.noun_of(side))}",
            loc="left",
            size=10,
        )
        if shifted.get(side.name):
            _draw_shifts(below[place], statistics, shifted[side.name], first.name_in_text)
            below[place].tick_params(labelleft=True)
            plots[place].set_xlabel("")
        else:
            below[place].set_visible(False)
            plots[place].tick_params(labelbottom=True)
    for axes in plots[len(known) :] + below[len(known) :]:
        axes.set_visible(False)
    for axes in below:
        axes.tick_params(labelbottom=True)
    titles = [statistics.estimate.campaign.title for _, statistics in known[: 2 if comparison.by == "campaign" else 1]]
    title = plot_text(" and ".join(titles), 80)
    if narrow:
        narrow_title(figure, title)
    else:
        figure.suptitle(title, x=0.01, ha="left", size=11)
    handles, labels = plots[min(1, len(known) - 1)].get_legend_handles_labels()
    columns = 1 if narrow else 2
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize="small")
    return figure


def _draw_shifts(axes: Axes, statistics: OrderedStatistics, points: Sequence[Shift], name: str) -> None:
    """Draw the difference of a distribution function from the one of the side ``name``."""
    places = [statistics.place(point.parameters["value"]) for point in points]
    axes.fill_between(places, [point.low for point in points], [point.high for point in points], color=SHARE, lw=0)
    axes.plot(places, [point.difference for point in points], color=INK, lw=1.6)
    axes.axhline(0, color=INK, lw=0.8, ls="--")
    axes.set_title(f"difference from {plot_text(name, 30)}, percentage points", loc="left", size=8)
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=""))
    _finish(axes, statistics)


def _finish(axes: Axes, statistics: OrderedStatistics) -> None:
    """Label the axis of values of a plot, and draw its grid lines."""
    domain = statistics.estimate.campaign.domain
    few = range(0, domain.size, max(1, math.ceil(domain.size / 5)))
    turned = isinstance(domain, Dates) or not isinstance(domain, Line)
    axes.set_xticks(few, [plot_text(domain.label(x), 16) for x in few], rotation=30 if turned else 0)
    if isinstance(domain, NumberRange):
        axes.set_xlabel(plot_text(domain.unit, 40))
    axes.grid(visible=True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _draw(axes: Axes, statistics: OrderedStatistics, reference: OrderedStatistics | None, name: str) -> None:
    draw_cdf(axes, statistics, [statistics.place(point.value) for point in statistics.cdf])
    if reference is not None:
        before = [reference.place(point.value) for point in reference.cdf]
        estimates = [point.estimate for point in reference.cdf]
        axes.plot(before, estimates, color=INK, lw=1, ls="--", label=f"{plot_text(name, 30)}, for comparison")
    for quantile in statistics.quantiles:
        ends = statistics.place(quantile.low), statistics.place(quantile.high)
        axes.hlines(quantile.p, *ends, color=INK, lw=2)
        axes.plot(statistics.place(quantile.value), quantile.p, "o", ms=4.5, mfc="white", mec=INK, mew=1.4)
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    _finish(axes, statistics)
