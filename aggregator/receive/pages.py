"""The pages of a study's campaigns, made and compressed once; a request is answered from memory.

What a page holds and what its policy allows: page.document.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from starlette.datastructures import Headers
from starlette.responses import Response

from aggregator.holdings import Known
from aggregator.page.document import document, page_code, policy
from aggregator.page.refusal import refusal

_SAME = {
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    # Each visit asks whether it is still the page; nobody on the way may change it, for then its script would not run.
    "cache-control": "no-cache, no-transform",
    "vary": "accept-encoding",
}


@dataclass(frozen=True)
class CampaignPage:
    """A page as it is answered.

    Attributes:
        known: whose page it is.
        made: the document.
    """

    known: Known
    made: bytes = field(repr=False)
    headers: dict[str, str] = field(repr=False)

    @classmethod
    def of(cls, known: Known) -> CampaignPage:
        """Make the page of a campaign.

        Raises:
            BundleError: the script of all pages cannot be linked.
        """
        code, terms = page_code(), known.campaign.terms
        made = document(known.campaign, code, closing=known.closing, served=True).encode()
        sent = f"{policy(terms, code, served=True)}; frame-ancestors 'none'"
        etag = hashlib.sha256(made + sent.encode()).hexdigest()[:32]
        headers = _SAME | {"content-security-policy": sent, "etag": f'W/"{etag}"'}
        return cls(known, made, headers)

    @cached_property
    def by_brotli(self) -> bytes:
        """The document as browsers take it over https: a tenth less than by gzip, for .7 s of work, done once."""
        import brotli

        packed: bytes = brotli.compress(self.made)
        return packed

    @cached_property
    def by_gzip(self) -> bytes:
        """The document for who does not take brotli."""
        return gzip.compress(self.made, 9, mtime=0)

    def answer(self, asked: Headers) -> Response:
        """The answer to a request with some headers."""
        if self.headers["etag"] in [one.strip() for one in asked.get("if-none-match", "").split(",")]:
            return Response(status_code=304, headers=self.headers)
        taken = _taken(asked)
        for coding in ("br", "gzip"):
            if taken.get(coding, taken.get("*", False)):
                packed = self.by_brotli if coding == "br" else self.by_gzip
                return Response(packed, media_type="text/html", headers=self.headers | {"content-encoding": coding})
        return Response(self.made, media_type="text/html", headers=self.headers)


def refusal_page(status: int, headers: Mapping[str, str] | None = None) -> Response:
    """A page for somebody whose link leads to no page now."""
    made, allowed = refusal(status, page_code())
    sent = _SAME | {"content-security-policy": f"{allowed}; frame-ancestors 'none'", "cache-control": "no-store"}
    return Response(made, status, sent | dict(headers or {}), "text/html")


def _taken(asked: Headers) -> dict[str, bool]:
    """The codings that an Accept-Encoding names, and whether it takes each (RFC 9110, 12.5.3): 0 refuses it."""
    taken = {}
    for part in asked.get("accept-encoding", "").lower().replace(" ", "").split(","):
        coding, weighted, weight = part.partition(";q=")
        taken[coding] = not weighted or weight.strip("0.") != ""
    return taken
