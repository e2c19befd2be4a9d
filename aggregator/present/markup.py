"""HTML elements, built so that text cannot become markup.

``Html`` is markup and every other string is text, which is escaped on its way in. So what an author or a
device wrote is read as nothing but text, wherever it ends up.

What a page holds: page.
"""

from __future__ import annotations

import html

_EMPTY = ("meta", "link", "img", "wbr")
"""Elements that end where they begin."""


class Html(str):
    """HTML markup, as opposed to plain text."""

    __slots__ = ()


def tag(name: str, /, *children: str, **attributes: str) -> Html:
    """An element; children that are not ``Html`` are text, and escaped.

    Args:
        attributes: a trailing underscore is dropped, others become hyphens.
    """
    words = "".join(f' {key.rstrip("_").replace("_", "-")}="{html.escape(value)}"' for key, value in attributes.items())
    inner = "".join(child if isinstance(child, Html) else html.escape(child) for child in children)
    return Html(f"<{name}{words}>" if name in _EMPTY else f"<{name}{words}>{inner}</{name}>")


def label(text: str) -> Html:
    """The name of a value. A narrow column breaks it at blanks and after commas, and elsewhere only where it must."""
    first, *rest = text.replace(" .. ", "\N{NO-BREAK SPACE}.. ").split(",")
    parts = [first, *(part for each in rest for part in (",", tag("wbr"), each))]
    return tag("span", *parts, class_="label")
