"""The picture of a plan: the error of each mechanism against the privacy level.

Both axes are logarithmic, so a factor of two has the same length everywhere. The chosen mechanism is drawn on top and
named first.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from aggregator.campaign_facts import report_noun
from aggregator.families.mechanism import PlannedQuestion
from aggregator.planner.plan import PlanRow
from aggregator.present.picture import DOTS_PER_INCH, save
from protocol import exact

OTHERS = [f"C{colour}" for colour in range(10) if colour != 3]
"""Matplotlib's colours except red, which is similar to the colour of the chosen mechanism."""


def draw_curve(
    points: Sequence[tuple[float, dict[str, float]]], rows: Sequence[PlanRow], question: PlannedQuestion, path: Path
) -> None:
    """Draw the errors of ``plan.curve`` to a PNG file."""
    figure = Figure(figsize=(9, 5.5), dpi=DOTS_PER_INCH, layout="constrained")
    axes = figure.add_subplot()
    names = [row.mechanism for row in rows if any(row.mechanism in errors for _, errors in points)]
    for place, name in enumerate(names):
        known = [(level, errors[name]) for level, errors in points if errors.get(name, float("nan")) > 0]
        if not known:
            continue
        chosen = place == 0 and rows[0].chosen
        axes.plot(
            *zip(*known, strict=True),
            label=f"{name} (chosen)" if chosen else name,
            color="#b3303c" if chosen else OTHERS[place % len(OTHERS)],
            linewidth=3 if chosen else 1.4,
            linestyle=("-", "--", ":", "-.")[place // len(OTHERS) % 4] if not chosen else "-",
            marker="o",
            markersize=5 if chosen else 3,
            zorder=3 if chosen else 2,
        )
    level = exact.nats(question.notion.level)
    axes.axvline(level, color="0.6", linewidth=1, zorder=1)
    axes.annotate(exact.in_nats(question.notion.level), (level, 0.02), xycoords=("data", "axes fraction"),
                  xytext=(4, 0), textcoords="offset points", color="0.4")  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks([point[0] for point in points])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.10g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("privacy level, nats")
    axes.set_ylabel(f"expected squared error of one {report_noun(bundled=question.bundled)}, summed over the values")
    axes.set_title(f"{question.size:,} values under {question.notion.name}", loc="left")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.01, 0.5))
    save(figure, path)
