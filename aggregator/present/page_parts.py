"""Elements that the sections of a page share: tables, lists of pairs, pictures.

``page`` assembles the page.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from aggregator.present.markup import Html, label, tag
from aggregator.present.table import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def pairs(rows: Iterable[tuple[str, str]]) -> Html:
    """Return a list of pairs of a name and a text."""
    return tag("dl", *(part for name, text in rows for part in (tag("dt", name), tag("dd", text, dir="auto"))))


def page_table(caption: str, names: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """Return a table; the first cell of each row is its heading."""
    lines = [
        tag("tr", tag("th", label(first), scope="row", dir="auto"), *(tag("td", cell) for cell in rest))
        for first, *rest in rows
    ]
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names)))
    return tag("div", tag("table", tag("caption", tag("span", caption)), head, tag("tbody", *lines)), class_="scroll")


def interval_text(low: float, high: float, places: int) -> str:
    """Return an interval of a share in percent; a dash if the interval is unknown."""
    return "-" if math.isnan(low) else f"{percent(low, places)} to {percent(high, places)}"


def picture_of(drawn: Figure, alt: str) -> Html:
    """Return a figure as an embedded picture, with its description for screen readers."""
    from aggregator.present.picture import png

    data = base64.b64encode(png(drawn)).decode("ascii")
    return tag("img", src=f"data:image/png;base64,{data}", alt=f"{alt} Numbers are in the table below.")
