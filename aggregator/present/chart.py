"""Pictures of an estimate for a page: bars for a list of values, a map for a grid.

One idea: they are markup, as sharp on a phone as on paper, and take their colours from the page's style, in the light
and in the dark. Lengths across are percentages, so they fit whatever there is; text stays text, at its own size.

They follow the pictures for slides in what they draw: plot.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from aggregator.estimate.result import Estimate
from aggregator.families.decoder import Floats
from aggregator.present.markup import Html, tag
from aggregator.present.table import decimals, ends, interval_name, listed, may_be_zero, percent, selection
from protocol.domain import MICRODEGREES, Grid

Place: TypeAlias = Callable[[float], str]
"""From a share to how far right it is drawn."""

BARS = 40
"""The most values that are drawn."""

TALL, WIDE = 560, 900
"""The most pixels of a map, which is drawn smaller where there is no room."""

SHADES = 7
"""A map's colours; the top of shade i is (i / SHADES)^2 of the largest share."""


def chart(found: Estimate, truth: Floats | None = None) -> Html:
    """The picture of an estimate, a figure with its caption.

    Args:
        truth: (k,) the true shares to draw beside it, in rehearsals.
    """
    grid = found.terms.domain
    return _map(found, grid, truth) if isinstance(grid, Grid) else _bars(found, truth)


def _bars(found: Estimate, truth: Floats | None) -> Html:
    shown = listed(found, BARS)
    low, high = ends(found, len(shown))
    rows = [found.share, found.raw, low, high] + ([] if truth is None else [truth])
    least = min(0.0, float(np.nanmin([row[shown] for row in rows])))
    most = float(np.nanmax([row[shown] for row in rows]))
    most = most if most > least else least + 1
    places = min(decimals(found, shown), 2)

    def at(share: float) -> str:
        return f"{100 * (share - least) / (most - least):.2f}%"

    ticks = _ticks(least, most)
    grid = Html("".join(
        tag("line", class_="zero" if not tick else "tick", x1=at(tick), x2=at(tick), y1="0", y2="100%")
        for tick in ticks
    ))  # fmt: skip
    lines = [
        tag(
            "div",
            tag("span", found.label(x), class_="name", dir="auto"),
            tag(
                "svg",
                grid,
                _bar(at, min(found.share[x], 0.0), max(found.share[x], 0.0), pale=may_be_zero(found, x, len(shown))),
                *_doubt(at, float(found.raw[x]), float(low[x]), float(high[x])),
                *([] if truth is None else [_diamond(at(float(truth[x])))]),
                class_="bar",
            ),
            tag("span", percent(found.share[x], places), class_="figure"),
            class_="row",
        )
        for x in shown
    ]
    axis = tag("svg", *(tag("text", _tick(tick), x=at(tick), y="1rem") for tick in ticks), class_="axis")
    lines.append(tag("div", tag("span", class_="name"), axis, tag("span", class_="figure"), class_="row"))
    top = max(shown, key=lambda x: float(found.share[x]))
    alt = (
        f"Bar chart of {len(shown)} shares with their {interval_name(found, len(shown))}s. The largest is "
        f"{found.label(top)} with {percent(found.share[top], places)}. All numbers are in the table below."
    )
    caption = [_key(found, len(shown), truth)]
    if len(shown) < found.size:
        words = selection(found, len(shown))
        pale = " Pale: may be zero." if any(may_be_zero(found, x, len(shown)) for x in shown) else ""
        caption.append(tag("div", f"{words[0].upper()}{words[1:]}.{pale}"))
    return tag("figure", tag("div", *lines, role="img", aria_label=alt), tag("figcaption", *caption))


def _bar(at: Place, low: float, high: float, *, pale: bool = False) -> Html:
    left, right = (float(at(share).rstrip("%")) for share in (low, high))
    return tag(
        "rect", class_="share pale" if pale else "share", x=at(low), width=f"{right - left:.2f}%", y="18%", height="64%"
    )


def _doubt(at: Place, raw: float, low: float, high: float) -> list[Html]:
    """The interval with its ends, and the unbiased estimate; nothing where they are not known."""
    if math.isnan(low):
        return []
    across = tag("line", class_="range", x1=at(low), x2=at(high), y1="50%", y2="50%")
    caps = [tag("line", class_="range", x1=at(end), x2=at(end), y1="34%", y2="66%") for end in (low, high)]
    return [across, *caps, tag("circle", class_="raw", cx=at(raw), cy="50%", r="3")]


def _diamond(x: str) -> Html:
    return tag("svg", tag("path", class_="truth", d="M0-6 6 0 0 6-6 0z"), x=x, y="50%", width="1", height="1")


def _key(found: Estimate, shown: int, truth: Floats | None) -> Html:
    def whole(share: float) -> str:
        return f"{100 * share:.2f}%"

    entries = [("share", [_bar(whole, 0, 1)])]
    if not np.isnan(found.raw).all():
        entries.append((f"{interval_name(found, shown)} and unbiased estimate", _doubt(whole, 0.5, 0.1, 0.9)))
    if truth is not None:
        entries.append(("truth", [_diamond("50%")]))
    return tag("div", *(tag("span", tag("svg", *parts), name) for name, parts in entries), class_="key")


def _map(found: Estimate, grid: Grid, truth: Floats | None) -> Html:
    top = float(max(found.share.max(), 0.0 if truth is None else truth.max())) or 1.0
    doubtful = ~(found.all_low > 0)
    largest_cell = int(np.argmax(found.share))
    places = decimals(found, [largest_cell])
    alt = (
        f"Map of shares in {grid.rows} rows and {grid.columns} columns of cells. The largest is at "
        f"{found.label(largest_cell)} with {percent(found.share[largest_cell], places)}. "
        "Numbers are in the table below."
    )
    panels = [_panel(grid, found.share, doubtful, top, alt)]
    if truth is not None:
        even = np.zeros_like(doubtful)
        panels += [tag("p", "The truth:"), _panel(grid, truth, even, top, "Map of the true shares.")]
    steps = [top * (shade / SHADES) ** 2 for shade in range(1, SHADES + 1)]
    swatches = [
        tag("span", tag("svg", tag("rect", class_=f"s{shade}", width="100%", height="100%")), f"to {_tick(step)}")
        for shade, step in enumerate(steps, 1)
    ]
    words = (
        f"Pale: {int(doubtful.sum()):,} of {grid.size:,} cells that may well be empty, since their "
        f"{interval_name(found, 0)} begins at zero. North is up."
    )
    return tag("figure", *panels, tag("figcaption", tag("div", *swatches, class_="key"), tag("div", words)))


def _panel(grid: Grid, shares: Floats, doubtful: NDArray[np.bool_], top: float, alt: str) -> Html:
    """A map: for each shade, firm and pale, one path over runs of equal cells."""
    shade = np.clip(np.ceil(SHADES * np.sqrt(np.clip(shares, 0, None) / top)), 0, SHADES).astype(int)
    kind = (2 * shade + doubtful).reshape(grid.rows, grid.columns)[::-1]  # the first row of a picture is the north
    runs: dict[int, list[str]] = {}
    for y, row in enumerate(kind.tolist()):
        start = 0
        for x in range(1, grid.columns + 1):
            if x == grid.columns or row[x] != row[start]:
                runs.setdefault(row[start], []).append(f"M{start} {y}h{x - start}v1h{start - x}z")
                start = x
    paths = [
        tag("path", d="".join(parts), class_=f"s{number // 2}" + (" pale" if number % 2 else ""))
        for number, parts in sorted(runs.items())
        if number > 1  # shade 0 is empty
    ]
    # A degree of longitude is shorter than one of latitude.
    width = max(math.cos(math.radians((grid.south + grid.north) / 2 / MICRODEGREES)), 0.05)
    picture = tag(
        "svg",
        tag("g", *paths, transform=f"scale({width:.4f} 1)", shape_rendering="crispEdges"),
        class_="map",
        width=f"{min(TALL * grid.columns * width / grid.rows, WIDE):.0f}",
        viewBox=f"0 0 {grid.columns * width:.4f} {grid.rows}",
        role="img",
        aria_label=alt,
    )
    north, south, west, east = (degrees(side) for side in (grid.north, grid.south, grid.west, grid.east))
    side = tag("div", tag("span", north), tag("span", south), class_="side")
    return tag("div", side, picture, tag("div", tag("span", west), tag("span", east), class_="foot"), class_="compass")


def _ticks(least: float, most: float) -> list[float]:
    """At most six round numbers from ``least`` to ``most``, 0 among them."""
    rough = (most - least) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return [step * place for place in range(math.ceil(least / step), math.floor(most / step) + 1)]


def _tick(share: float) -> str:
    return f"{100 * share:.3g}%"


def degrees(microdegrees: int) -> str:
    """An angle for people."""
    return f"{microdegrees / MICRODEGREES:.6f}".rstrip("0").rstrip(".") + "°"
