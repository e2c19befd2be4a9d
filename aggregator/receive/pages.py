"""The pages of a study's campaigns, made and compressed once; a request is answered from memory.

What a page holds and what its policy allows: page.document.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

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
        packed: the document, gzip-compressed.
    """

    known: Known
    packed: bytes = field(repr=False)
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
        return cls(known, gzip.compress(made, 9, mtime=0), headers)

    def answer(self, asked: Headers) -> Response:
        """The answer to a request with some headers."""
        if self.headers["etag"] in [one.strip() for one in asked.get("if-none-match", "").split(",")]:
            return Response(status_code=304, headers=self.headers)
        if _takes_gzip(asked):
            return Response(self.packed, media_type="text/html", headers=self.headers | {"content-encoding": "gzip"})
        return Response(gzip.decompress(self.packed), media_type="text/html", headers=self.headers)


def refusal_page(status: int, headers: Mapping[str, str] | None = None) -> Response:
    """A page for somebody whose link leads to no page now."""
    made, allowed = refusal(status, page_code())
    sent = _SAME | {"content-security-policy": f"{allowed}; frame-ancestors 'none'", "cache-control": "no-store"}
    return Response(made, status, sent | dict(headers or {}), "text/html")


def _takes_gzip(asked: Headers) -> bool:
    """Whether an Accept-Encoding takes gzip (RFC 9110, 12.5.3); a weight of 0 refuses it."""
    taken = {}
    for part in asked.get("accept-encoding", "").lower().replace(" ", "").split(","):
        coding, weighted, weight = part.partition(";q=")
        taken[coding] = not weighted or weight.strip("0.") != ""
    return taken.get("gzip", taken.get("*", False))
