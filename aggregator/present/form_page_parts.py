"""Elements that all parts of a form's page use: intervals in words, and tables that scroll."""

from __future__ import annotations

from collections.abc import Sequence

from aggregator.present.markup import Html, tag
from aggregator.present.table import percent

PLACES = 1
"""Digits after the point of a share in percent."""


def between(low: float, high: float) -> str:
    """Return an interval of a share in words."""
    return f"{percent(float(low), PLACES)} to {percent(float(high), PLACES)}"


def scrolled(caption: str, heads: Sequence[str], rows: Sequence[Html], kind: str = "sheet") -> Html:
    """Return a table that a narrow screen scrolls.

    Args:
        caption: text above the table; screen readers read it too.
        heads: the headings of the columns.
        rows: rows of cells.
        kind: the style class of the table.
    """
    head = tag("thead", tag("tr", *(tag("th", name, scope="col", dir="auto") for name in heads)))
    table = tag("table", tag("caption", tag("span", caption)), head, tag("tbody", *rows), class_=kind)
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption)
