"""The HTML document of a campaign's page: data, script, style, and the content security policy.

The document is one file and runs one script, the linked modules of edge_sdk/web. Its policy names that script and the
style by their hashes, allows no other and no markup made from text, and lets the page talk to the study only. What an
author wrote stands in a block of JSON that no text can end.

The script: bundle. Who serves the document: receive. As a file: the command page.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path

from aggregator.page.bundle import bundle
from aggregator.page.tokens import BundleError
from aggregator.present.markup import Html, tag
from edge_sdk.texts.page import texts_of_page
from protocol.campaign import Campaign, SignedCampaign

_NO_SCRIPT = (
    ("en", "This page perturbs your answer in your browser, before it leaves. It needs JavaScript for that."),
    (
        "de",
        "Diese Seite verrauscht Ihre Antwort in Ihrem Browser, bevor sie ihn verlässt. Dafür braucht sie JavaScript.",
    ),
)
_NOT_YET = (
    ("en", "If this text stays, the page does not run: it did not arrive whole, or JavaScript is off. Load it again."),
    (
        "de",
        "Wenn dieser Text bleibt, läuft die Seite nicht: Sie kam nicht heil an, oder JavaScript ist aus. Laden Sie sie "
        "neu.",
    ),
)
_NOBODY = "'none'"
_STYLE_BLANK = re.compile(r"""("[^"]*"|'[^']*')|/\*.*?\*/|\s*([{};,])\s*|\s*(?=\n)""", re.DOTALL)
"""Texts of a style, which stay, and what may go: comments, and blank space around signs and at ends of lines."""
_IN_JSON = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})
"""What could end a script element, or a line of a script."""


@dataclass(frozen=True)
class PageCode:
    """The script and the style of every page."""

    script: str = field(repr=False)
    style: str = field(repr=False)

    @classmethod
    def read(cls, entry: Path, style: Path) -> PageCode:
        """Link a script's modules, and leave the comments and the blank space of a style out.

        Raises:
            BundleError
            OSError: a file cannot be read.
        """
        bare = _STYLE_BLANK.sub(lambda found: found[1] or found[2] or "", style.read_text(encoding="utf-8")).strip()
        if "</" in bare:
            raise BundleError("a style in a page cannot hold '</'")
        return cls(bundle(entry), bare)

    @property
    def script_source(self) -> str:
        """The script as a content security policy names it."""
        return _hash(self.script)

    @property
    def style_source(self) -> str:
        """The style as a content security policy names it."""
        return _hash(self.style)


@cache
def page_code() -> PageCode:
    """The script and the style of the browser's device, as they are installed."""
    sources = Path(str(resources.files("edge_sdk"))) / "web" / "page"
    return PageCode.read(sources / "main.js", sources / "page.css")


def policy(terms: Campaign, code: PageCode, *, served: bool) -> str:
    """The content security policy of a campaign's page, as a document may carry it itself.

    Args:
        served: whether the study answers where the document comes from; else the page talks to the addresses that the
            author signed, and to nobody where there are none.
    """
    asked = [*(["'self'"] if served else []), *(f"{address}/v1/" for address in terms.addresses)]
    return (
        f"default-src 'none'; script-src {code.script_source}; style-src {code.style_source}; img-src data:; "
        f"connect-src {' '.join(asked) or _NOBODY}; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


def document(signed: SignedCampaign, code: PageCode, *, closing: bytes = b"", served: bool) -> str:
    """The document of a campaign.

    Args:
        closing: the signed notice that closes the campaign early; b"" where there is none.
        served: whether the study answers where the document comes from, and sends the policy with it; else the policy
            is a part of the document.
    """
    data = {
        "campaign": base64.b64encode(signed.data).decode("ascii"),
        "author": signed.author.hex(),
        "authorName": None,
        "closing": base64.b64encode(closing).decode("ascii") if closing else None,
        "served": served,
        "texts": texts_of_page(signed.terms),
    }
    inside = policy(signed.terms, code, served=False)
    return html_document(
        signed.terms.title,
        tag(
            "body",
            tag("main", *_paragraphs(_NOT_YET), tag("noscript", *_paragraphs(_NO_SCRIPT)), id="page"),
            tag("script", Html(_json(data)), type="application/json", id="study"),
            tag("script", Html(code.script)),
        ),
        code.style,
        *([] if served else [tag("meta", http_equiv="Content-Security-Policy", content=inside)]),
    )


def html_document(title: str, body: Html, style: str, *first: Html) -> str:
    """A document of a page.

    Args:
        first: what its head begins with.
    """
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        *first,
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="referrer", content="no-referrer"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("title", title),
        tag("link", rel="icon", href="data:,"),
        tag("style", Html(style)),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _paragraphs(texts: Iterable[tuple[str, str]]) -> Iterator[Html]:
    """Texts by their languages."""
    return (tag("p", text, lang=language) for language, text in texts)


def _json(data: object) -> str:
    """JSON that stands in a script element and means the same there."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(_IN_JSON)


def _hash(text: str) -> str:
    """A text as a content security policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"
