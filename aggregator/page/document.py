"""The HTML document of a campaign's page: data, script, style, and the content security policy.

The document is one file and runs one script, the linked modules of edge_sdk/web. Its policy contains the hashes of this
script and of the style. It allows no other script, no creation of markup from text, and no connections except to the
study. The author's texts are in a block of JSON, escaped so that no text can end the block.

``bundle`` links the script. ``aggregator.receive`` serves the document, and ``alone`` makes it a file.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path

from aggregator.page.bundle import bundle
from aggregator.page.tokens import BundleError
from aggregator.present.markup import Html, html_document, source_hash, tag
from edge_sdk.texts.page import texts_of_page
from protocol.campaign import Campaign, SignedCampaign

_NO_SCRIPT = (
    ("en", "This page changes your answer at random before it sends anything. It needs JavaScript for this change."),
    (
        "de",
        "Diese Seite verändert Ihre Antwort zufällig, bevor sie etwas sendet. Dafür braucht sie JavaScript.",
    ),
)
_NOT_YET = (
    (
        "en",
        "If this text stays, the page does not run: it did not load completely, or JavaScript is off. Turn JavaScript "
        "on, and load the page again.",
    ),
    (
        "de",
        "Wenn dieser Text bleibt, läuft die Seite nicht: Sie wurde nicht vollständig geladen, oder JavaScript ist aus. "
        "Schalten Sie JavaScript ein, und laden Sie die Seite neu.",
    ),
)
_NO_ORIGIN = "'none'"
_STYLE_BLANK = re.compile(r"""("[^"]*"|'[^']*')|/\*.*?\*/|\s*([{};,])\s*|\s*(?=\n)""", re.DOTALL)
"""Matches quoted texts and signs of a style, which are kept, and comments and blank space, which are removed."""
_IN_JSON = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})
"""Escapes of the characters that could end a script element, or a line of a script."""


NO_ICON = tag("link", rel="icon", href="data:,")
"""An empty icon element; it stops browsers from requesting an icon from the study."""


@dataclass(frozen=True)
class PageCode:
    """The script and the style of every page."""

    script: str = field(repr=False)
    style: str = field(repr=False)

    @classmethod
    def read(cls, entry: Path, style: Path) -> PageCode:
        """Bundle a script's modules, and remove the comments and blank space of a style.

        Raises:
            BundleError: the modules cannot be bundled, or the style contains ``</``.
            OSError: a file cannot be read.
        """
        bare = _STYLE_BLANK.sub(lambda match: match[1] or match[2] or "", style.read_text(encoding="utf-8")).strip()
        if "</" in bare:
            raise BundleError("the style contains '</', which could end its element in a page: write it as '<\\/'")
        return cls(bundle(entry), bare)

    @property
    def script_source(self) -> str:
        """The source of the script in a content security policy."""
        return source_hash(self.script)

    @property
    def style_source(self) -> str:
        """The source of the style in a content security policy."""
        return source_hash(self.style)


@cache
def page_code() -> PageCode:
    """Return the installed script and style of the browser's device.

    Raises:
        BundleError: see ``PageCode.read``.
        OSError: a file of the installation cannot be read.
    """
    sources = Path(str(resources.files("edge_sdk"))) / "web" / "page"
    return PageCode.read(sources / "main.js", sources / "page.css")


def policy(campaign: Campaign, code: PageCode, *, served: bool) -> str:
    """Return the content security policy of a campaign's page, in the form that a document can contain.

    Args:
        served: whether the study itself serves the document; if not, the page connects only to the signed addresses, if
            any.
    """
    connections = [*(["'self'"] if served else []), *(f"{address}/v1/" for address in campaign.addresses)]
    return (
        f"default-src 'none'; script-src {code.script_source}; style-src {code.style_source}; img-src data:; "
        f"connect-src {' '.join(connections) or _NO_ORIGIN}; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


def document(signed: SignedCampaign, code: PageCode, *, closing: bytes = b"", served: bool) -> str:
    """Return the document of a campaign.

    Args:
        closing: the signed closing notice; b"" for none.
        served: whether the study itself serves the document and sends the policy as a header; if not, the document
            contains the policy.
    """
    data = {
        "campaign": base64.b64encode(signed.data).decode("ascii"),
        "author": signed.author.hex(),
        "authorName": None,
        "closing": base64.b64encode(closing).decode("ascii") if closing else None,
        "served": served,
        "texts": texts_of_page(signed.campaign),
    }
    inside = policy(signed.campaign, code, served=False)
    return html_document(
        signed.campaign.title,
        tag(
            "body",
            tag("main", *_paragraphs(_NOT_YET), tag("noscript", *_paragraphs(_NO_SCRIPT)), id="page"),
            tag("script", Html(_json(data)), type="application/json", id="data"),
            tag("script", Html(code.script)),
        ),
        code.style,
        *([] if served else [tag("meta", http_equiv="Content-Security-Policy", content=inside)]),
        NO_ICON,
    )


def _paragraphs(texts: Iterable[tuple[str, str]]) -> Iterator[Html]:
    """Yield a paragraph for each text, marked with its language."""
    for language, text in texts:
        yield tag("p", text, lang=language)


def _json(data: object) -> str:
    """Return JSON that is safe inside a script element."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(_IN_JSON)
