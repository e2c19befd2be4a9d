"""Elements of the parts of a form's page: intervals in words, shades of heat maps, and tables that scroll."""

from __future__ import annotations

from collections.abc import Sequence

from aggregator.present.markup import Html, tag
from aggregator.present.table import percent

PLACES = 1
"""Digits after the point of a share in percent."""

SHADES = 9
"""Number of shades of a heat map, besides white."""


def between(low: float, high: float) -> str:
    """Return an interval of a share in words."""
    return f"{percent(float(low), PLACES)} to {percent(float(high), PLACES)}"


def shade(share: float, low: float, top: float) -> str:
    """Return the style class of a cell of a heat map. A cell has no colour only if its interval contains zero.

    Args:
        share: the share of the cell.
        low: the lower end of its interval.
        top: the largest share of the table.
    """
    return f"heat{max(1, round(SHADES * share / top))}" if low > 0 else "unsure"


def scrolled(caption: str, heads: Sequence[str], rows: Sequence[Html], kind: str = "words") -> Html:
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
