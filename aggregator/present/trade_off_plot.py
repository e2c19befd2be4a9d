"""The picture of an audit: missed detections against false alarms of the best tests of pairs of answers.

The errors of every test of one output lie on or above a solid line; the campaign promises that none lie below the
dashed line of the same colour. An output reveals less if the line is nearer to the diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten

import numpy as np
from matplotlib.figure import Figure

from aggregator.author.trade_off import TradeOff
from aggregator.campaign_facts import counted_noun
from aggregator.present.picture import DOTS_PER_INCH, save
from protocol.campaign import Campaign

LONGEST = 40
"""Maximum characters in a label."""


def draw_trade_offs(curves: Sequence[TradeOff], campaign: Campaign, path: Path) -> None:
    """Draw the tests of pairs of answers to a PNG file.

    Raises:
        OSError: the file could not be written.
    """
    figure = Figure(figsize=(8.5, 5.5), dpi=DOTS_PER_INCH, layout="constrained")
    axes = figure.add_subplot()
    axes.plot((0, 1), (1, 0), color="0.7", linewidth=1, label="no information")
    for place, curve in enumerate(curves):
        colour = f"C{place}"
        label = f"{_short(curve.answer)} or {_short(curve.other)}: {_in_nats(curve.levels)}"
        axes.plot(*zip(*curve.points, strict=True), color=colour, linewidth=2, label=label)
        if None not in curve.bounds:
            false = np.linspace(0, 1, 401)
            forth, back = (float(bound or 0) for bound in curve.bounds)
            promised = np.maximum(1 - np.exp(forth) * false, np.exp(-back) * (1 - false))
            label = f"promised: {_in_nats(curve.bounds)}"
            axes.plot(false, promised, color=colour, linewidth=1, linestyle="--", label=label)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_aspect("equal")
    axes.set_xlabel("false alarms: the test decides\nfor the first answer, but the second is true")
    axes.set_ylabel("missed detections: the test decides\nfor the second answer, but the first is true")
    axes.set_title(
        f"Best tests of one {counted_noun(campaign)}: {_short(campaign.title)}", loc="left", fontsize="medium"
    )
    axes.grid(visible=True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.01, 1))
    save(figure, path)


def _in_nats(levels: tuple[float | None, float | None]) -> str:
    """Return two levels as text; only one if they are equal."""
    forth, back = ("infinite" if level is None else f"{level:.4g}" for level in levels)
    unit = "nat" if forth == "1" else "nats"
    return f"{forth} {unit}" if forth == back else f"{forth} {unit}, reverse {back}"


def _short(label: str) -> str:
    return shorten(label, LONGEST, placeholder="...") if len(label) > LONGEST else label
