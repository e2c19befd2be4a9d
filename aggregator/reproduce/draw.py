"""Drawing of a document's figures: a PNG file for each experiment, with the plots of the paper's figure.

A colour has the same meaning in every figure except maps and figures of estimators. The papers' mechanisms and
estimates are red, and dotted where they violate the claimed level. The best mechanism that satisfies the level, or the
one that `auto` chooses, is blue; other choices of halftruth are green.
"""

from __future__ import annotations

import io
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from PIL import Image

from aggregator.present.picture import INK
from aggregator.present.plot import FAINT
from aggregator.reproduce.document import ExperimentRun
from aggregator.reproduce.experiment import Curve, Plot

DOTS_PER_INCH = 100
WIDTH, HEIGHT = 4.6, 3.6
"""Size of a plot in inches."""

STYLES: dict[str, tuple[str, str, float]] = {
    "published": ("#c2410c", "-", 1.1),
    "invalid": ("#c2410c", ":", 2.0),
    "optimum": ("#1d5fa8", "-", 2.4),
    "ours": ("#2e8b57", "-", 2.0),
    "ldp": ("#7a5195", "--", 1.5),
    "free": ("#8a8f98", "--", 1.5),
    "server": ("#b08900", "-.", 1.5),
    "bound": ("#1f2933", ":", 1.2),
    "alone": ("#8a8f98", "-.", 1.2),
    "other": ("#0f8b8d", "-", 1.5),
}
"""Colour, dashes and width of each role."""

DASHES = ("-", "--", "-.", ":")
LONG = (0, (8, 1.5, 1, 1.5, 1, 1.5))
"""The dash pattern of a fourth curve of the papers' mechanisms; dotted curves violate the claimed level."""

FAR_DOTS = (0, (1, 2.6))
"""The dash pattern of a second curve that violates the claimed level, with dots farther apart."""

COLOURS = 255
"""The number of colours in a figure's file: enough for a dozen lines and their edges, at half the file size."""

MARKS = ("o", "s", "^", "D", "v")


def draw(run: ExperimentRun, path: Path) -> None:
    """Draw the figure of an experiment, and write it to a PNG file."""
    plots = run.result.plots
    columns = 2 if len(plots) == 4 else min(len(plots), 3)
    rows = -(-len(plots) // columns)
    figure = Figure(figsize=(max(WIDTH * columns, 6.2), HEIGHT * rows + 0.9), dpi=DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(figure)
    every = list(figure.subplots(rows, columns, squeeze=False).flat)
    named: dict[str, Line2D] = {}
    for axes, plot in zip(every, plots, strict=False):
        for name, line in _plot(axes, plot).items():
            named.setdefault(name, line)
    for axes in every[len(plots) :]:
        axes.set_visible(False)
    figure.suptitle(run.title, size=11, x=0.01, ha="left", color=INK)
    figure.legend(
        list(named.values()),
        list(named),
        loc="outside lower center",
        ncols=min(len(named), 3 if columns > 1 else 2),
        frameon=False,
        fontsize=8,
    )
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png")
    picture = Image.open(drawn).convert("RGB")
    picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        path, format="PNG", optimize=True
    )


def _plot(axes: Axes, plot: Plot) -> dict[str, Line2D]:
    """Draw a plot, and return its lines by name."""
    lines: dict[str, Line2D] = {}
    times: dict[str, int] = {}
    for curve in plot.curves:
        place = times[curve.role] = times.get(curve.role, -1) + 1
        lines[curve.name] = _curve(axes, curve, place)
    axes.set_title(plot.title, size=9.5, loc="left", color=INK)
    axes.set_xlabel(plot.x_label, size=9)
    axes.set_ylabel(plot.y_label, size=9)
    if plot.log_x:
        axes.set_xscale("log")
    if plot.log_y:
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        if high < 100 * low:  # an axis of less than two decades also has labels at 2 and 5
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.yaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    if not plot.log_x:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.tick_params(labelsize=8)
    axes.grid(color=FAINT, lw=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return lines


def _curve(axes: Axes, curve: Curve, place: int) -> Line2D:
    colour, dashes, width = STYLES[curve.role]
    if curve.marks:
        (line,) = axes.plot(
            curve.x, curve.y, MARKS[place % len(MARKS)], ms=4.5, mfc="none", mec=colour, mew=1.2, ls="none", zorder=5
        )
        return line
    style: str | tuple[int, tuple[float, ...]] = dashes
    if place:
        invalid = curve.role == "invalid"
        style = FAR_DOTS if invalid else DASHES[(DASHES.index(dashes) + place) % len(DASHES)]
        if curve.role == "published" and style == ":":
            style = LONG
    # If curves coincide, both remain visible in this order.
    order = {"optimum": 4, "published": 5}.get(curve.role, 3)
    (line,) = axes.plot(curve.x, curve.y, color=colour, ls=style, lw=width, zorder=order)
    return line
