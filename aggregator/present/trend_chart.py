"""The course of values over the periods for a page: a line a value, with the interval of each period.

One idea: each value has a scale of its own, because what matters is whether it changed; the numbers beside it say how
much, with the interval of the change, which the intervals of the periods do not tell.

The pictures for slides: trend_plot.
"""

from __future__ import annotations

import numpy as np

from aggregator.estimate.trend import Trend
from aggregator.present.markup import Html, tag
from aggregator.present.table import listed, percent
from aggregator.present.trends import (
    basis,
    between,
    ends,
    foremost,
    interval_name,
    places_of,
    points,
    selection,
    unbiased,
)

ROWS = 40
"""The most values that are drawn."""

EDGE = 2.0
"""Percent of the width that is left free at either side, and of the height at the top."""


def trend_chart(trend: Trend) -> Html:
    """The picture of a trend, a figure with its caption."""
    latest, change = trend.latest, trend.change
    shown = listed(latest, ROWS) if change is None else foremost(change, ROWS)
    known = trend.known
    middles = np.array([(span.first + span.last) / 2 for span, _ in known])
    width = float(np.ptp(middles)) or 1.0
    at = [f"{EDGE + (100 - 2 * EDGE) * (middle - middles[0]) / width:.2f}%" for middle in middles]
    lines = []
    for x in shown:
        share = np.array([unbiased(one)[x] for _, one in known])
        raw, low, high = (np.array([getattr(one, name)[x] for _, one in known]) for name in ("raw", "low", "high"))
        top, bottom = (float(reach([*share, *high, *low, *raw])) for reach in (np.nanmax, np.nanmin))
        lines.append(
            tag(
                "div",
                tag("span", latest.label(x), class_="name", dir="auto"),
                _line(at, share, raw, low, high, bottom, max(top, bottom + 1e-9)),
                _words(trend, x),
                class_="row",
            )
        )
    names = tag(
        "svg",
        *(tag("text", known[place][0].name, x=at[place], y="1rem") for place in _labelled(len(known))),
        class_="axis",
    )
    lines.append(tag("div", tag("span", "period", class_="name"), names, tag("span", class_="figure"), class_="row"))
    alt = (
        f"The course of {len(shown)} values over {len(known)} spans of periods, with the "
        f"{100 * latest.level:.4g}% interval of each. The numbers of the change are beside it."
    )
    caption = [
        tag("div", f"Line: the unbiased share; upright: the {100 * latest.level:.4g}% interval of that period. "
            "Each value has a scale of its own, as far as its intervals reach."),
    ]  # fmt: skip
    if change is not None:
        caption.append(
            tag("div", f"At the right: the change from {change.names[0]} to {change.names[1]} in percentage points, "
                f"with its {interval_name(change, len(shown))}; {basis(change)}.")
        )  # fmt: skip
    if len(shown) < latest.size and change is not None:
        words = selection(change, len(shown))
        caption.append(tag("div", f"{words[0].upper()}{words[1:]}."))
    return tag("figure", tag("div", *lines, role="img", aria_label=alt, class_="courses"), tag("figcaption", *caption))


def _line(
    at: list[str], share: np.ndarray, raw: np.ndarray, low: np.ndarray, high: np.ndarray, bottom: float, top: float
) -> Html:
    def up(part: float) -> str:
        return f"{100 - (100 - 2 * EDGE) * (part - bottom) / (top - bottom) - EDGE:.2f}%"

    parts = [
        tag("line", class_="course", x1=at[one], x2=at[one + 1], y1=up(share[one]), y2=up(share[one + 1]))
        for one in range(len(at) - 1)
    ]
    for place, x in enumerate(at):
        if not np.isnan(low[place]):
            parts.append(tag("line", class_="range", x1=x, x2=x, y1=up(low[place]), y2=up(high[place])))
            parts.append(tag("circle", class_="raw", cx=x, cy=up(raw[place]), r="2.5"))
    return tag("svg", *parts, class_="bar")


def _words(trend: Trend, x: int) -> Html:
    change = trend.change
    if change is None:
        return tag("span", percent(trend.latest.share[x], 1), class_="figure")
    places = places_of(change, range(len(change.raw)))
    low, high = ends(change, len(foremost(change, ROWS)))
    certain = " sure" if x in change.sure else ""
    return tag(
        "span",
        tag("strong", points(change.raw[x], places)),
        tag("span", between(low[x], high[x], places), class_="soft"),
        tag("span", " → ".join(percent(unbiased(side)[x], 1) for side in (change.before, change.after)), class_="soft"),
        class_=f"figure{certain}",
    )


def _labelled(count: int) -> list[int]:
    """Which of so many points have room for a name."""
    step = max(1, -(-count // 8))
    return list(range(0, count, step))
