"""The error page for an unknown campaign, or a request that the server cannot answer now, in English and German."""

from __future__ import annotations

from aggregator.page.document import NO_ICON, PageCode
from aggregator.present.markup import html_document, tag

_GONE = (
    (
        "en",
        "No survey here",
        "This link leads to no survey on this server. Copy the whole link, or ask the person who gave you the link.",
    ),
    (
        "de",
        "Hier ist keine Umfrage",
        "Dieser Link führt zu keiner Umfrage dieses Servers. Kopieren Sie den ganzen Link, oder fragen Sie die "
        "Person, die Ihnen den Link gegeben hat.",
    ),
)
_LATER = (
    (
        "en",
        "Please try again soon",
        "The server received too many requests, or is briefly not available. Load this page again in a minute.",
    ),
    (
        "de",
        "Bitte versuchen Sie es gleich noch einmal",
        "Der Server hat zu viele Anfragen bekommen, oder er ist kurz nicht erreichbar. Laden Sie diese Seite in einer "
        "Minute neu.",
    ),
)


def refusal(status: int, code: PageCode) -> tuple[str, str]:
    """Return the document for an HTTP status, and its content security policy. The document runs no script."""
    texts = _GONE if status in (404, 405) else _LATER
    parts = [tag("section", tag("h1", head), tag("p", text), lang=language) for language, head, text in texts]
    document = html_document(texts[0][1], tag("body", tag("main", *parts, id="page")), code.style, NO_ICON)
    return (
        document,
        f"default-src 'none'; style-src {code.style_source}; img-src data:; base-uri 'none'; form-action 'none'",
    )
