"""Pictures of an estimate: bars for a list of values, a map for a grid.

Each bar has its interval. On a map, cells whose interval includes zero are pale. If the intervals of a map without
views differ in width, another plot shows half their widths. Among thousands of cells some have a large estimate by
chance, so a map uses simultaneous intervals.
"""

from __future__ import annotations

import math
import textwrap
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from aggregator.estimate.interval import critical_value
from aggregator.estimate.result import Estimate
from aggregator.families.decoder import Floats, Integers
from aggregator.present.coast import coast_lines
from aggregator.present.map_names import list_largest, write_names
from aggregator.present.picture import INK, NARROW_LETTERS, narrow_title, new_figure, plot_text, save
from aggregator.present.regions import Regions, regions
from aggregator.present.shown_shares import (
    decimals,
    district_name,
    interval_name,
    listed_values,
    may_be_zero,
    percent,
    selection_of_shares,
    shown_intervals,
    subtitle,
)
from protocol.domain import MICRODEGREES, Grid

MAX_BARS = 40
"""Maximum number of bars."""

UNEVEN = 1.2
"""A map without views shows the widths of its intervals if the widest is more than this many times the narrowest."""

LOG_RANGE = 1e5
"""The logarithmic colour scale of a map with several resolutions ends at the largest share. It begins at a third of the
smallest significant share, but not below a third of the largest share divided by this number."""

MAX_BAR_LABEL = 34
FADED = 0.3
SHARE, TRUTH, FAINT, SHORE = "#8fb8de", "#c2410c", "#d9dee4", "#7b8794"

KILOMETRES = 111.2
"""Length of a degree of latitude, and of a degree of longitude at the equator."""


def draw_estimate(estimate: Estimate, path: Path, truth: Floats | None = None) -> None:
    """Draw an estimate to a PNG file; see ``estimate_figure``."""
    save(estimate_figure(estimate, truth), path)


def estimate_figure(estimate: Estimate, truth: Floats | None = None, *, narrow: bool = False) -> Figure:
    """Return a figure of an estimate: bars, or a map for a grid.

    Args:
        truth: (k,) the true shares to show beside the estimate, in rehearsals.
        narrow: whether the figure is for a phone.
    """
    grid = estimate.campaign.domain
    return _map(estimate, grid, truth, narrow) if isinstance(grid, Grid) else _bars(estimate, truth, narrow)


def _bars(estimate: Estimate, truth: Floats | None, narrow: bool) -> Figure:
    shown = listed_values(estimate, MAX_BARS)
    pale = [may_be_zero(estimate, x, len(shown)) for x in shown]
    note = ""
    if len(shown) < estimate.size:
        note = f"\n{selection_of_shares(estimate, len(shown))}{' (pale)' if any(pale) else ''}"
    figure = new_figure(8.0, 1.9 + (0.4 if narrow else 0.27) * len(shown), narrow=narrow)
    axes = figure.add_subplot()
    places = np.arange(len(shown))
    share = estimate.share[shown]
    bars = axes.barh(places, share, height=0.44 if narrow else 0.72, color=SHARE, label="share")
    for drawn, doubtful in zip(bars, pale, strict=True):
        drawn.set_alpha(FADED if doubtful else 1.0)
    low, high = (limit[shown] for limit in shown_intervals(estimate, len(shown)))
    raw = estimate.raw[shown]
    known = ~np.isnan(low)
    if known.any():
        axes.hlines(
            places[known], low[known], high[known], color=INK, lw=1.3, label=interval_name(estimate, len(shown))
        )
        for limit in (low, high):
            axes.vlines(limit[known], places[known] - 0.16, places[known] + 0.16, color=INK, lw=1.3)
        axes.plot(raw[known], places[known], "o", ms=3, color=INK, label="unbiased estimate")
    if truth is not None:
        axes.plot(truth[shown], places, "D", ms=5.5, mfc="none", mec=TRUTH, mew=1.5, ls="none", label="truth")
    _write_shares(axes, estimate, shown, truth, 0.2 if narrow else 0.11)
    labels = [plot_text(estimate.label(x), MAX_BAR_LABEL) for x in shown]
    axes.set_yticks([] if narrow else places, [] if narrow else labels)
    if narrow:  # beside the bars, labels would leave little room for them
        for place, label in zip(places, labels, strict=True):
            axes.text(
                0, place - 0.45, label, transform=axes.get_yaxis_transform(), va="center", size=8.5, color=INK,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
            )  # fmt: skip
        axes.tick_params(labelsize=8)
    axes.set_ylim(len(shown) - 0.4, -0.8 if narrow else -0.6)
    axes.axvline(0, color=INK, lw=0.8)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4 if narrow else 7))
    axes.xaxis.set_major_formatter(FuncFormatter(_percent_tick))
    axes.grid(axis="x", color=FAINT, lw=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    figure.legend(loc="outside lower center", ncols=2 if narrow else 4, frameon=False, fontsize=8.5)
    _entitle(figure, estimate, len(shown), note, narrow)
    return figure


def _write_shares(axes: Axes, estimate: Estimate, shown: list[int], truth: Floats | None, room: float) -> None:
    """Write each share as a number, to the right of everything drawn in its row.

    Args:
        room: the room for the numbers, as a part of the range of all that is drawn.
    """
    places = min(decimals(estimate, shown), 2)
    rows = [estimate.share, shown_intervals(estimate, len(shown))[1], estimate.raw] + ([] if truth is None else [truth])
    right = np.nanmax([row[shown] for row in rows], axis=0)
    left = float(np.nanmin([0.0, *estimate.raw[shown]]))
    span = float(right.max()) - left or 1.0
    gap = (0.012 if truth is None else 0.018) * span  # a diamond takes more room than the end of an interval
    for place, x in enumerate(shown):
        axes.text(right[place] + gap, place, percent(estimate.share[x], places), va="center", size=8.5, color=INK)
    axes.set_xlim(left - 0.02 * span, right.max() + room * span)


def _map(estimate: Estimate, grid: Grid, truth: Floats | None, narrow: bool) -> Figure:
    cut = regions(estimate)
    plots = [("share", cut.density, "GnBu")]
    if truth is not None:
        plots.append(("truth", truth, "GnBu"))
    half = critical_value((1 - estimate.confidence) / estimate.size) * estimate.se
    if not estimate.resolutions and half.max() > UNEVEN * half.min():
        plots.append(("half the width of the simultaneous interval", half, "Greys"))
    stretch = 1 / max(math.cos(math.radians((grid.south + grid.north) / 2 / MICRODEGREES)), 0.05)
    # A degree of longitude is shorter than one of latitude, so the picture is stretched.
    tall = (grid.north - grid.south) * stretch / (grid.east - grid.west)
    stacked = narrow or tall < 0.8
    width = 8.0 if stacked else 1.2 + 4.2 * len(plots)
    height = 0.9 + len(plots) * (0.6 + 6.4 * tall) if stacked else 1.7 + min(3.0 * tall, 9.0)
    if narrow:
        height = 1.2 + len(plots) * (0.9 + 2.3 * min(tall, 3.0))
    letters = NARROW_LETTERS if narrow else 100 if stacked else 48
    figure = new_figure(width, min(height, 18.0), narrow=narrow, layout="compressed")
    shape = (len(plots), 1) if stacked else (1, len(plots))
    top = float(max(cut.density.max(), 0.0 if truth is None else truth.max())) or 1.0
    doubtful = ~cut.significant[cut.region_of]
    shades: Normalize = PowerNorm(0.5, 0, top)
    if estimate.resolutions and cut.significant.any():
        # Shares per cell may differ by a factor of hundreds between regions, so the scale is logarithmic.
        smallest = float(cut.density[~doubtful].min())
        shades = LogNorm(max(smallest, top / LOG_RANGE) / 3, top, clip=True) if 0 < smallest < top else shades
    for axes, (name, numbers, colours) in zip(figure.subplots(*shape, squeeze=False).flat, plots, strict=True):
        image = _plot(axes, grid, numbers, colours, doubtful if name == "share" else np.zeros_like(doubtful), stretch)
        if name in ("share", "truth"):
            image.set_norm(shades)
        bar = figure.colorbar(
            ScalarMappable(image.norm, image.cmap), ax=axes, pad=0.02, format=FuncFormatter(_percent_tick)
        )
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=8)
        text = textwrap.fill(_drawn_how(estimate, cut, int(doubtful.sum())) if name == "share" else name, letters)
        axes.set_title(text, size=8.5 if narrow else 9.5, loc="left", color=INK)
        if name == "share" and estimate.resolutions:
            axes.add_collection(LineCollection(_edges(grid, cut.region_of), colors=INK, linewidths=0.35, alpha=0.35))
        axes.tick_params(labelsize=8)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=7 if stacked and not narrow else 3))
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda degrees, place: f"{degrees:g}°"))
    list_largest(figure.axes[0], estimate, letters if stacked else 52)
    _entitle(figure, estimate, 0, "", narrow)
    if narrow:
        # The number of lines of text decides the height.
        figure.draw_without_rendering()
        figure.set_figheight(figure.get_tightbbox().height + 0.1)
    write_names(figure, figure.axes[0], estimate, grid)
    return figure


def _plot(axes: Axes, grid: Grid, numbers: Floats, colours: str, faded: NDArray[np.bool_], stretch: float) -> AxesImage:
    """Draw the cells of a map with coasts, borders and a scale bar; return the image of the cells."""
    south, north, west, east = (degrees / MICRODEGREES for degrees in (grid.south, grid.north, grid.west, grid.east))
    axes.set_facecolor("white")
    image = axes.imshow(
        numbers.reshape(grid.rows, grid.columns),
        origin="lower",
        extent=(west, east, south, north),
        aspect=stretch,
        interpolation="nearest",
        alpha=np.where(faded, FADED, 1.0).reshape(grid.rows, grid.columns),
        cmap=colours,
    )
    world = coast_lines()
    # The lines are drawn above the cells, which cover the land, and thin, because they do not separate shares.
    axes.add_collection(LineCollection(list(world.coasts), colors=SHORE, linewidths=0.7, alpha=0.8))
    axes.add_collection(LineCollection(list(world.borders), colors=SHORE, linewidths=0.5, linestyles=":", alpha=0.8))
    kilometres = KILOMETRES * (east - west) / stretch
    length = _round_below(kilometres / 4)
    wide, high = length / kilometres * (east - west), north - south
    x, y = west + 0.03 * (east - west), south + 0.04 * high
    axes.plot([x, x, x + wide, x + wide], [y + 0.015 * high, y, y, y + 0.015 * high], color=INK, lw=1.2)
    axes.text(x + wide / 2, y + 0.015 * high, f"{length:g} km", ha="center", va="bottom", size=8, color=INK)
    axes.set_xlim(west, east)
    axes.set_ylim(south, north)
    return image


def _round_below(number: float) -> float:
    """Return the largest number of the form 1, 2 or 5 times a power of ten that is not above ``number``."""
    power = 10.0 ** math.floor(math.log10(number))
    return max(step * power for step in (1, 2, 5) if step * power <= number)


def _edges(grid: Grid, region_of: Integers) -> list[list[tuple[float, float]]]:
    """Return the line segments between cells of different regions, in degrees."""
    cells = region_of.reshape(grid.rows, grid.columns)
    west, south, step = (degrees / MICRODEGREES for degrees in (grid.west, grid.south, grid.step))
    segments = []
    for row, column in np.argwhere(cells[:, 1:] != cells[:, :-1]).tolist():
        x, y = west + (column + 1) * step, south + row * step
        segments.append([(x, y), (x, y + step)])
    for row, column in np.argwhere(cells[1:] != cells[:-1]).tolist():
        x, y = west + column * step, south + (row + 1) * step
        segments.append([(x, y), (x + step, y)])
    return segments


def _drawn_how(estimate: Estimate, cut: Regions, doubtful: int) -> str:
    """Return a text that explains the colours of the map."""
    pale = f"pale: {doubtful:,} of {estimate.size:,} cells whose share may be zero"
    if not estimate.resolutions:
        return f"share; {pale}"
    known = np.bincount(cut.resolutions[cut.significant], minlength=len(estimate.resolutions))[::-1].tolist()
    parts = [
        f"{count:,} {district_name(estimate.campaign.domain, resolution.name, count)}"
        for count, resolution in zip(known, reversed(estimate.resolutions), strict=True)
        if count
    ]
    if not parts:
        return f"share of a cell; no district has a share significantly above zero at any resolution; {pale}"
    return (
        "share of a cell; each part of the map is drawn at the finest resolution at which its share is significantly "
        f"above zero: {', '.join(parts)}; {pale}"
    )


def _entitle(figure: Figure, estimate: Estimate, shown: int, note: str, narrow: bool) -> None:
    title = textwrap.fill(estimate.campaign.title, 80).replace("$", r"\$")
    rounded = "" if estimate.note is None else "\n" + textwrap.fill(estimate.note, 90)
    text = f"{title}\n{subtitle(estimate, shown)}{note}{rounded}"
    if narrow:
        narrow_title(figure, text)
    else:
        figure.suptitle(text, size=11, x=0.01, ha="left", color=INK)


def _percent_tick(share: float, place: int | None) -> str:
    return f"{100 * share:.4g}%"
