"""Names of districts on a map: inside each district if the name fits; the largest shares in a line below the map.

``plot`` draws the map.
"""

from __future__ import annotations

import textwrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from numpy.typing import NDArray
from scipy import ndimage

from aggregator.estimate.resolutions import Resolution
from aggregator.estimate.result import Estimate
from aggregator.present.picture import plot_text
from aggregator.present.shown_shares import decimals, percent, significant_districts
from protocol.domain import MICRODEGREES, Grid
from protocol.views import Districts

LETTERS = 24
"""Maximum length of a name; a longer one is cut."""

SIZE = 7.5
LISTED = 8
"""Maximum number of districts in the line below the map."""


def named_resolution(estimate: Estimate) -> Resolution | None:
    """Return the resolution whose districts have names; None if no resolution has them."""
    named = (shares for shares in estimate.resolutions if isinstance(shares.map, Districts) and shares.map.names)
    return next(named, None)


def list_largest(axes: Axes, estimate: Estimate, letters: int) -> None:
    """Write the named districts with the largest shares, and these shares, below a map.

    Args:
        letters: maximum length of a line.
    """
    resolution = named_resolution(estimate)
    if resolution is None:
        return
    shown = significant_districts(resolution)[:LISTED]
    places = decimals(resolution, shown)
    parts = [f"{plot_text(resolution.label(z), LETTERS)} {percent(float(resolution.share[z]), places)}" for z in shown]
    parts = [part.replace(" ", "\N{NO-BREAK SPACE}") for part in parts]  # a name stays on one line
    words = f"largest shares: {', '.join(parts)}" if parts else "no district has a share significantly above zero"
    axes.set_xlabel(textwrap.fill(words, letters), size=8.5, loc="left")


def write_names(figure: Figure, axes: Axes, estimate: Estimate, grid: Grid) -> None:
    """Write the names of districts on a map that is otherwise complete, districts with larger shares first."""
    resolution = named_resolution(estimate)
    if resolution is None:
        return
    figure.draw_without_rendering()  # the layout decides the size of a cell
    districts = resolution.districts.reshape(grid.rows, grid.columns)
    (left, bottom), (right, top) = axes.transData.transform(
        [(grid.west / MICRODEGREES, grid.south / MICRODEGREES), (grid.east / MICRODEGREES, grid.north / MICRODEGREES)]
    )
    cell = (right - left) / grid.columns, (top - bottom) / grid.rows
    for z in np.argsort(-resolution.share, kind="stable").tolist():
        text = axes.text(0, 0, plot_text(resolution.label(z), LETTERS), size=SIZE, ha="center", va="center", zorder=4)
        # A white outline keeps the text readable over dark cells and borders.
        text.set_path_effects([withStroke(linewidth=2, foreground="white")])
        _place(text, districts == z, cell, grid)


def _place(text: Text, inside: NDArray[np.bool_], cell: tuple[float, float], grid: Grid) -> None:
    """Move a text to the middle of the widest part of its district, or remove it if it does not fit.

    Args:
        inside: (rows, columns) the cells of the district.
        cell: width and height of a cell in pixels.
    """
    box = text.get_window_extent()
    wide, high = (
        max(1, int(np.ceil(length / size))) for length, size in zip((box.width, box.height), cell, strict=True)
    )
    room = ndimage.binary_erosion(inside, np.ones((high, wide), dtype=np.bool_))
    if not room.any():
        text.remove()
        return
    far = ndimage.distance_transform_edt(np.pad(inside, 1), sampling=cell[::-1])[1:-1, 1:-1]
    row, column = np.unravel_index(int(np.argmax(np.where(room, far, -1.0))), inside.shape)
    # If the number of cells is even, the middle is an edge between two of them.
    x = grid.west + (float(column) + (0.5 if wide % 2 else 0.0)) * grid.step
    y = grid.south + (float(row) + (0.5 if high % 2 else 0.0)) * grid.step
    text.set_position((x / MICRODEGREES, y / MICRODEGREES))
