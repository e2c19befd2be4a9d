"""Pictures of a form: bars for a question, and a heat map with margins for a table of two questions.

Every number is shown with its uncertainty: a bar has its interval, and a cell of the map whose share may be zero is
pale. If the true shares are given, as in rehearsals, they are marked too.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from aggregator.campaign_facts import counted_noun
from aggregator.estimate.form_result import FormEstimate
from aggregator.families.decoder import Floats
from aggregator.present.picture import DOTS_PER_INCH, INK, plot_text, save
from aggregator.present.plot import FADED, FAINT, SHARE, TRUTH
from aggregator.present.shown_shares import percent

MAX_FORM_LABEL = 26
WRITTEN = 400
"""Maximum number of cells of a heat map that also shows the shares as text."""


def draw_form(estimate: FormEstimate, path: Path, truth: Floats | None = None) -> None:
    """Draw the shares of a question, or the table of two questions, to a PNG file.

    Args:
        truth: the true shares to show beside the estimates, in rehearsals.
    """
    save(form_figure(estimate, truth), path)


def form_figure(estimate: FormEstimate, truth: Floats | None = None) -> Figure:
    """Return the picture that ``draw_form`` writes, as a figure."""
    return _bars(estimate, truth) if estimate.association is None else _map(estimate, truth)


def _bars(estimate: FormEstimate, truth: Floats | None) -> Figure:
    shares, labels = estimate.shares, [label[0] for label in estimate.labels]
    places = np.arange(len(labels))
    figure = Figure(figsize=(8.0, 1.9 + 0.27 * len(labels)), dpi=DOTS_PER_INCH, layout="constrained")
    axes = figure.add_subplot()
    axes.barh(places, shares.share, height=0.72, color=SHARE, label="share")
    axes.hlines(places, shares.low, shares.high, color=INK, lw=1.3, label=f"{100 * estimate.confidence:.4g}% interval")
    for limit in (shares.low, shares.high):
        axes.vlines(limit, places - 0.16, places + 0.16, color=INK, lw=1.3)
    if truth is not None:
        axes.plot(truth, places, "D", ms=5.5, mfc="none", mec=TRUTH, mew=1.5, ls="none", label="truth")
    axes.set_yticks(places, [plot_text(label, MAX_FORM_LABEL) for label in labels])
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=7))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g}%"))
    axes.grid(axis="x", color=FAINT, lw=0.7)
    _bare(axes)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8.5)
    _entitle(figure, estimate)
    return figure


def _map(estimate: FormEstimate, truth: Floats | None) -> Figure:
    """Return a figure with the table in the middle, the shares of its rows on the right, and the shares of its columns
    above."""
    rows = list(dict.fromkeys(label[0] for label in estimate.labels))
    columns = list(dict.fromkeys(label[1] for label in estimate.labels))
    shape = len(rows), len(columns)
    share, above_zero = estimate.shares.share.reshape(shape), estimate.shares.low.reshape(shape) > 0
    width, height = 4.2 + 0.62 * shape[1], 3.2 + 0.34 * shape[0]
    figure = Figure(figsize=(max(width, 7.0), max(height, 5.0)), dpi=DOTS_PER_INCH, layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(shape[1] + 1, 2.5), height_ratios=(1.6, shape[0] + 1))
    axes = figure.add_subplot(grid[1, 0])
    image = axes.imshow(share, aspect="auto", cmap="Blues", vmin=0, alpha=np.where(above_zero, 1.0, FADED))
    if share.size <= WRITTEN:
        for y, x in np.ndindex(shape):
            dark = above_zero[y, x] and share[y, x] > 0.6 * share.max()
            text = percent(float(share[y, x]), 1)
            if truth is not None:
                text += f"\n({percent(float(truth.reshape(shape)[y, x]), 1)})"
            axes.text(x, y, text, ha="center", va="center", size=6.5, color="white" if dark else INK)
    axes.set_xticks(
        range(shape[1]), [plot_text(label, MAX_FORM_LABEL) for label in columns], rotation=40, ha="right", size=8
    )
    axes.set_yticks(range(shape[0]), [plot_text(label, MAX_FORM_LABEL) for label in rows], size=8)
    axes.set_xlabel(plot_text(estimate.questions[1], MAX_FORM_LABEL))
    axes.set_ylabel(plot_text(estimate.questions[0], MAX_FORM_LABEL))
    _bare(axes)
    above = figure.add_subplot(grid[0, 0], sharex=axes)
    above.bar(range(shape[1]), share.sum(axis=0), color=SHARE)
    beside = figure.add_subplot(grid[1, 1], sharey=axes)
    beside.barh(range(shape[0]), share.sum(axis=1), color=SHARE)
    if truth is not None:
        true = truth.reshape(shape)
        above.plot(range(shape[1]), true.sum(axis=0), "D", ms=4, mfc="none", mec=TRUTH)
        beside.plot(true.sum(axis=1), range(shape[0]), "D", ms=4, mfc="none", mec=TRUTH)
    # The limits leave room for the diamonds.
    above.set_ylim(top=1.15 * max(above.dataLim.y1, 1e-9))
    beside.set_xlim(right=1.1 * max(beside.dataLim.x1, 1e-9))
    above.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g}%"))
    beside.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g}%"))
    above.tick_params(axis="x", labelbottom=False)
    beside.tick_params(axis="y", labelleft=False)
    for margin, axis in ((above, above.yaxis), (beside, beside.xaxis)):
        axis.set_major_locator(MaxNLocator(nbins=3))
        margin.tick_params(labelsize=7)
        _bare(margin)
    bar = figure.colorbar(image, ax=beside, fraction=0.12, format=FuncFormatter(lambda share, _: f"{100 * share:.3g}%"))
    bar.ax.tick_params(labelsize=7)
    _entitle(
        figure, estimate, "Pale: the share may be zero." + ("" if truth is None else " In brackets and orange: truth.")
    )
    return figure


def _bare(axes: Axes) -> None:
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)


def _entitle(figure: Figure, estimate: FormEstimate, note: str = "") -> None:
    lines = [textwrap.fill(estimate.campaign.title, 80), f"{' and '.join(estimate.questions)}: {estimate.counted}"]
    if estimate.skipping:
        lines[-1] += f"; shares of the people who did not skip {' or '.join(estimate.skipping)}"
    if estimate.association is not None:
        word = "an" if estimate.association.significant else "no"
        among = "" if estimate.weighting is None else ", among the people who answered, without weights"
        lines.append(f"{word} association is found (p = {estimate.association.p_value:.3g}){among}")
    if estimate.weighting is not None:
        lines.append(textwrap.fill(estimate.weighting.description(counted_noun(estimate.campaign)), 90))
    text = "\n".join([*lines, *([note] if note else [])]).replace("$", r"\$")
    figure.suptitle(text, size=10, x=0.01, ha="left", color=INK)
