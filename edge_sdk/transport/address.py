"""Addresses of studies: the text that a person typed or an author signed, and its parts.

SPEC 7.1 defines the syntax. An address is checked here, before anything is stored or sent; this module opens no
connection.

The modules upload and download connect to addresses.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from edge_sdk.errors import AddressRefused
from protocol.address import require_address
from protocol.errors import CampaignError

REPORTS_PATH = "/v1/reports"


@dataclass(frozen=True)
class Address:
    """The address of a study's uploads.

    Attributes:
        text: the address as written, without a "/" at its end.
        secure: whether the connection uses TLS.
        host, port: the host and the port of the server.
        path: the path of the request.
    """

    text: str
    secure: bool
    host: str
    port: int
    path: str


def address(url: str) -> Address:
    """Return the parsed address ``url``; a "/" at its end is ignored.

    Raises:
        AddressRefused: the text is not an address, or its connection would not be encrypted.
    """
    if not isinstance(url, str):
        raise AddressRefused(
            f"an address must be text: https://HOST, with a port and a path if necessary; not {type(url).__name__}"
        )
    text = url.rstrip("/")
    try:
        require_address(text)
    except CampaignError as error:
        raise AddressRefused(str(error)) from None
    parts = urlsplit(text)
    secure = parts.scheme == "https"
    return Address(text, secure, parts.hostname or "", parts.port or (443 if secure else 80), parts.path + REPORTS_PATH)
