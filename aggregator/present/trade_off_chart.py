"""The chart of tests of pairs of answers on a page: missed detections against false alarms, as SVG lines.

``trade_off_plot`` draws the same chart as a picture file, and page.css styles the lines.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from aggregator.author.trade_off import TradeOff
from aggregator.present.markup import Html, tag
from protocol import exact

WIDTH, SIDE, LEFT, TOP = 390, 300, 60, 12
"""The chart's width; side, left and top of the square for errors from 0 to 1; in units of the chart."""

LONGEST = 34
"""Maximum characters in an entry of the legend."""


def trade_off_chart(curves: Sequence[TradeOff], noun: str) -> Html:
    """Return the lines of the best tests of each pair (solid) and the promised bounds (dashed), and their legend.

    On a narrow screen, the legend is below the chart.

    Args:
        noun: the word for an output (see ``counted_noun``).
    """
    bottom = TOP + SIDE
    parts = [
        tag("title", f"False alarms against missed detections of the best tests of one {noun}"),
        _line("frame", [(0, 1), (0, 0), (1, 0)]),
        _line("nothing", [(0, 1), (1, 0)]),
        *(_text(LEFT - 8, TOP + (1 - part) * SIDE + 4, f"{part:.0%}", "end") for part in (0, 0.5, 1)),
        *(_text(LEFT + part * SIDE, bottom + 18, f"{part:.0%}", "middle") for part in (0, 0.5, 1)),
        _text(LEFT + SIDE / 2, bottom + 38, "false alarms", "middle"),
        tag("text", "missed detections", transform=f"translate(16 {TOP + SIDE / 2:g}) rotate(-90)",
            text_anchor="middle"),
    ]  # fmt: skip
    legend = [("nothing", "no information")]
    for place, curve in enumerate(curves):
        parts.append(_line(f"pair{place}", curve.points))
        legend.append((f"pair{place}", f"{_short(curve.answer)} or {_short(curve.other)}"))
        if curve.promised(0) is not None:
            parts.append(_line(f"pair{place} promise", curve.promises))
            legend.append((f"pair{place} promise", f"promised: {_in_nats(curve.bounds)}"))
    chart = tag("svg", *parts, viewBox=f"0 0 {WIDTH} {bottom + 46}", role="img")
    entries = (tag("li", _sample(name), words) for name, words in legend)
    return tag("div", chart, tag("ul", *entries), class_="tests")


def _sample(name: str) -> Html:
    """Return a short line in the style of a line of the chart."""
    return tag("svg", tag("path", d="M0 5h30", class_=name), viewBox="0 0 30 10", aria_hidden="true")


def _line(name: str, points: Iterable[tuple[float, float]]) -> Html:
    """Return a line through points (false alarm, missed detection), rounded to a tenth of the chart's unit."""
    places = dict.fromkeys(f"{LEFT + SIDE * false:.1f} {TOP + SIDE * (1 - missed):.1f}" for false, missed in points)
    return tag("path", d="M" + "L".join(places), class_=name)


def _text(x: float, y: float, words: str, anchor: str) -> Html:
    return tag("text", words, x=f"{x:g}", y=f"{y:g}", text_anchor=anchor)


def _in_nats(levels: tuple[float | None, float | None]) -> str:
    """Return two levels in nats, rounded up; only one if they are equal."""
    forth, back = (exact.in_nats(math.ceil((level or 0) * 1e4) * 10**5) for level in levels)
    return forth if forth == back else f"{forth}, reverse {back}"


def _short(label: str) -> str:
    maximum = LONGEST // 2
    return label if len(label) <= maximum else f"{label[: maximum - 1]}…"
