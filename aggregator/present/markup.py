"""HTML elements and documents, built so that text cannot become markup.

``Html`` is markup. Every other string is text, and is escaped when it is added. Therefore the texts of an author or a
device never become markup.

``page`` makes the page of an estimate, and ``aggregator.page.document`` that of a campaign.
"""

from __future__ import annotations

import base64
import hashlib
import html

_EMPTY = ("meta", "link", "img", "source", "wbr")
"""Names of the elements without content."""


class Html(str):
    """HTML markup, as opposed to plain text."""

    __slots__ = ()


def tag(name: str, /, *children: str, **attributes: str) -> Html:
    """Return an element; children that are not ``Html`` are escaped.

    Args:
        attributes: a trailing underscore in a name is dropped, other underscores become hyphens.
    """
    words = "".join(f' {key.rstrip("_").replace("_", "-")}="{html.escape(value)}"' for key, value in attributes.items())
    inner = "".join(child if isinstance(child, Html) else html.escape(child) for child in children)
    return Html(f"<{name}{words}>" if name in _EMPTY else f"<{name}{words}>{inner}</{name}>")


def label_markup(text: str) -> Html:
    """Return the name of a value as markup that breaks lines at blanks and after commas, if possible, in a narrow
    column."""
    first, *rest = text.replace(" .. ", "\N{NO-BREAK SPACE}.. ").split(",")
    parts = [first, *(part for words in rest for part in (",", tag("wbr"), words))]
    return tag("span", *parts, class_="label")


def html_document(title: str, body: Html, style: str, *first: Html) -> str:
    """Return a complete HTML document.

    Args:
        first: elements of the head, placed directly after the charset.
    """
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        *first,
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Html(style)),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def source_hash(text: str) -> str:
    """Return the hash of a script or a style in the form of a source in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"
