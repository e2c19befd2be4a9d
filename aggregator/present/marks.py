"""Marks over the picture of a map, one for each region: its numbers appear when a reader points at it or touches it.

Each region has an invisible outline over the picture. When the pointer or the focus is on an outline, the outline is
drawn, and a line at the edge of the window shows the place, its share and its interval. This needs only markup and
style, and no script.

``regions`` cuts a map into regions, and ``plot`` draws the picture.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from aggregator.estimate.result import Estimate
from aggregator.present.markup import Html, tag
from aggregator.present.regions import Regions, regions
from aggregator.present.shown_shares import decimals, interval_text, percent
from protocol.domain import MICRODEGREES, Grid

MARKED = 150
"""Maximum number of marks: regions with shares significantly above zero come first, then those with larger shares."""

RECTANGLES = 3_000
"""Maximum number of rectangles in all outlines together; ragged districts have many."""


def marks(estimate: Estimate, grid: Grid, figure: Figure) -> tuple[list[Html], str]:
    """Return the marks, the largest area first, and a text that states which regions have marks.

    A finger covers several small cells, so the style widens every mark on touch screens. Widened marks overlap, so
    smaller marks are on top.

    Args:
        figure: a figure whose first axes have the map of shares. It has been drawn, so positions in it are known.
    """
    cut = regions(estimate)
    order = np.lexsort((-cut.share, ~cut.significant))
    box = _box(grid, figure)
    parts, left = [], RECTANGLES
    regions_drawn = len(np.unique(cut.region_of))
    for region in order[:MARKED].tolist():
        outline = _rectangles(np.reshape(cut.region_of == region, (grid.rows, grid.columns)))
        left -= len(outline)
        if not outline:  # finer regions cover it completely
            continue
        if left < 0:
            break
        drawn = " ".join(f"M{x} {grid.rows - y - high}h{wide}v{high}h-{wide}z" for x, y, wide, high in outline)
        text = _text(estimate, cut, region)
        path = tag("path", d=drawn)
        shape = tag("svg", tag("title", text), path, viewBox=box, preserveAspectRatio="none", role="img")
        mark = tag("div", shape, tag("p", text, aria_hidden="true"), class_="mark", tabindex="0")
        parts.append((int((cut.region_of == region).sum()), mark))
    words = "Touch a place on the map of shares, or point at it, to see its numbers."
    if len(parts) < regions_drawn:
        words += (
            f" {len(parts):,} of {regions_drawn:,} places show numbers: those whose share is significantly above zero "
            "come first, then those with the largest shares."
        )
    return [mark for _, mark in sorted(parts, key=lambda part: -part[0])], words


def _text(estimate: Estimate, cut: Regions, region: int) -> str:
    """Return the text of a mark: place, share, interval, and how the share relates to the drawn colour."""
    place = int(cut.districts[region])
    shares = estimate.resolutions[int(cut.resolutions[region])] if estimate.resolutions else estimate
    share, low, high = shares.share[place], shares.simultaneous_low[place], shares.simultaneous_high[place]
    places = decimals(shares, [place])
    words = f"{shares.label(place)}: {percent(float(share), places)}"
    if not np.isnan(low):
        words += f", simultaneous interval {interval_text(low, high, places)}"
    if not cut.significant[region]:
        words += "; the share may be zero"
    elif cut.share[region] < share:
        rest = percent(float(cut.share[region]), places)
        words += f"; {rest} of all people are in the rest of this place, outside the smaller places drawn in it"
    return words


def _box(grid: Grid, figure: Figure) -> str:
    """Return the viewBox of the picture; its unit is a cell, and its origin is the map's north-west corner."""
    west, south, east, north = (degrees / MICRODEGREES for degrees in (grid.west, grid.south, grid.east, grid.north))
    (left, bottom), (right, top) = figure.axes[0].transData.transform([(west, south), (east, north)])
    wide, high = figure.bbox.size
    across, down = (right - left) / grid.columns, (top - bottom) / grid.rows
    return " ".join(f"{number:.4g}" for number in (-left / across, (top - high) / down, wide / across, high / down))


def _rectangles(inside: NDArray[np.bool_]) -> list[tuple[int, int, int, int]]:
    """Return rectangles (column, row, columns, rows) that cover the cells: runs within a row, each joined with equal
    runs above it."""
    open_: dict[tuple[int, int], int] = {}
    rectangles = []
    edges = np.diff(np.pad(inside, ((0, 1), (1, 1))).astype(np.int8), axis=1)
    rows = np.flatnonzero(inside.any(axis=1))
    for row in range(int(rows[0]), int(rows[-1]) + 2) if len(rows) else ():
        runs = set(
            zip(np.flatnonzero(edges[row] == 1).tolist(), np.flatnonzero(edges[row] == -1).tolist(), strict=True)
        )
        for begin, end in sorted(open_.keys() - runs):
            first = open_.pop((begin, end))
            rectangles.append((begin, first, end - begin, row - first))
        for run in runs - open_.keys():
            open_[run] = row
    return rectangles
