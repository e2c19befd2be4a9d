"""Addresses of studies: what somebody typed or an author signed, and what is connected to.

An address is the text that SPEC 7.1 allows. It is checked here once, before anything is kept or sent; nothing here
connects to anything.

Who sends to it: upload. Who asks it: download.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from edge_sdk.errors import AddressRefused
from protocol.address import require_address
from protocol.errors import CampaignError

PATH = "/v1/reports"


@dataclass(frozen=True)
class Address:
    """Where a study takes uploads.

    Attributes:
        text: as it is written.
        secure: over TLS.
        host, port: whom to connect to.
        path: of the request.
    """

    text: str
    secure: bool
    host: str
    port: int
    path: str


def address(url: str) -> Address:
    """Where ``url`` leads; a "/" at its end makes no difference.

    Raises:
        AddressRefused: not an address; or what is sent could be read on the way.
    """
    if not isinstance(url, str):
        raise AddressRefused("an address is text: https://HOST, with a port and a path if need be")
    text = url.rstrip("/")
    try:
        require_address(text)
    except CampaignError as error:
        raise AddressRefused(str(error)) from None
    parts = urlsplit(text)
    secure = parts.scheme == "https"
    return Address(text, secure, parts.hostname or "", parts.port or (443 if secure else 80), parts.path + PATH)
