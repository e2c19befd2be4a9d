"""Elements that the sections of a page share: tables, lists of pairs, pictures.

``page`` assembles the page.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from aggregator.present.markup import Html, label_markup, tag

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PHONE = "(max-width: 36rem)"
"""The media query of a phone, as in page.css."""


def definition_list(rows: Iterable[tuple[str, str]]) -> Html:
    """Return a list of pairs of a name and a text."""
    return tag("dl", *(part for name, text in rows for part in (tag("dt", name), tag("dd", text, dir="auto"))))


def page_table(caption: str, names: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """Return a table of texts; the first cell of each row is its heading."""
    lines = [
        tag("tr", tag("th", label_markup(first), scope="row", dir="auto"), *(tag("td", cell) for cell in rest))
        for first, *rest in rows
    ]
    return scrolled(caption, names, lines)


def warning_boxes(texts: Iterable[str]) -> list[Html]:
    """Return the box with warnings, for the top of a page; empty without warnings."""
    listed = [tag("li", f"{text[:1].upper()}{text[1:]}.") for text in texts]
    if not listed:
        return []
    heading = tag("h2", "Read this first", id="warnings-title")
    return [tag("section", heading, tag("ul", *listed), class_="warning", aria_labelledby="warnings-title")]


def scrolled(caption: str, heads: Sequence[str], rows: Iterable[Html], **style: str) -> Html:
    """Return a table that a narrow screen scrolls.

    Args:
        caption: text above the table; screen readers read it too.
        heads: the headings of the columns.
        rows: rows of cells.
        style: the attributes of the table, such as its style class.
    """
    head = tag("thead", tag("tr", *(tag("th", name, scope="col", dir="auto") for name in heads)))
    table = tag("table", tag("caption", tag("span", caption)), head, tag("tbody", *rows), **style)
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption)


def picture_of(draw: Callable[..., Figure], alt: str) -> Html:
    """Return an embedded picture and its variant for a phone, with a description for screen readers.

    Args:
        draw: a function that returns the figure; ``narrow`` states whether it is for a phone.
    """
    source = tag("source", media=PHONE, srcset=_embedded(draw(narrow=True)))
    return tag("picture", source, image_of(draw(narrow=False), alt))


def image_of(drawn: Figure, alt: str) -> Html:
    """Return one figure as an embedded picture, with its description for screen readers."""
    return tag("img", src=_embedded(drawn), alt=f"{alt} Numbers are in the table below.")


def _embedded(drawn: Figure) -> str:
    """Return the address of a picture that contains its bytes."""
    from aggregator.present.picture import png

    return f"data:image/png;base64,{base64.b64encode(png(drawn)).decode('ascii')}"
