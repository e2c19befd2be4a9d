"""Check the addresses of a study and links to web pages, which an author signs (SPEC 7.1).

A host has exactly one valid spelling: no other text is accepted for the same name or IP address. So the device connects
to exactly the host shown to the person. This module opens no connection.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence

from protocol.errors import CampaignError
from protocol.spelling import repeated

MAX_ADDRESS = 200
MAX_WEB_ADDRESS = 500
MAX_ADDRESSES = 4

_HTTPS, _HTTP = "https://", "http://"
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_PATH = re.compile(r"(?:/[A-Za-z0-9._~-]+)*")
_REST = re.compile(r"(?:[/?#][A-Za-z0-9._~:/?#@!$&'()*+,;=%-]*)?")


def require_address(text: str) -> None:
    """Refuse an invalid address of a study.

    Raises:
        CampaignError: the address is invalid.
    """
    _require_written(text, "an address", MAX_ADDRESS)
    if not text.startswith((_HTTPS, _HTTP)):
        raise CampaignError(
            f"an address must begin with {_HTTPS} (or {_HTTP}, if the study runs on this machine), not {text[:40]!r}"
        )
    authority, rest = _split(text)
    for sign, part in (("?", "query"), ("#", "fragment")):
        if sign in rest:
            raise CampaignError(f"the address has a {part}: end it before the {sign!r}")
    host = _require_authority(authority, "an address")
    if text.startswith(_HTTP) and not _is_loopback(host):
        raise CampaignError(
            f"data sent to {_HTTP}{host} can be read on the way: use https; plain http is for this machine only"
        )
    if not _PATH.fullmatch(rest) or {".", ".."} & set(rest.split("/")):
        raise CampaignError(
            "the path of an address must be /NAME/NAME..., of letters, digits and -._~, without / at its end and "
            f"without the names . and ..; not {rest[:40]!r}"
        )


def require_addresses(addresses: Sequence[str]) -> None:
    """Refuse a campaign's addresses if they are not allowed.

    Raises:
        CampaignError: an address is invalid or listed twice, or there are too many.
    """
    if len(addresses) > MAX_ADDRESSES:
        raise CampaignError(f"a campaign must have at most {MAX_ADDRESSES} addresses, not {len(addresses)}")
    for address in addresses:
        require_address(address)
    if len(set(addresses)) != len(addresses):
        raise CampaignError(f"the address {repeated(addresses)} is listed twice: leave one out")


def require_link(text: str) -> None:
    """Refuse an invalid link to a web page.

    Raises:
        CampaignError: the link is invalid.
    """
    _require_written(text, "a link to a web page", MAX_WEB_ADDRESS)
    if not text.startswith(_HTTPS):
        raise CampaignError(f"a link to a web page must begin with {_HTTPS}, not {text[:40]!r}")
    authority, rest = _split(text)
    _require_authority(authority, "a link to a web page")
    if not _REST.fullmatch(rest):
        raise CampaignError(
            "a link to a web page has a character that is not allowed: write this character as % and two hexadecimal "
            "digits"
        )


def host_of(text: str) -> str:
    """Return the host of an address or link, with its port if it has one."""
    return _split(text)[0]


def _split(text: str) -> tuple[str, str]:
    """Return the host with its port, and the rest of the address after it."""
    after = text.partition("://")[2]
    end = next((place for place, sign in enumerate(after) if sign in "/?#"), len(after))
    return after[:end], after[end:]


def _require_written(text: str, subject: str, limit: int) -> None:
    if len(text) > limit:
        raise CampaignError(f"{subject} must have at most {limit} characters, not {len(text)}")
    wrong = next((sign for sign in text if not "!" <= sign <= "~"), None)
    if wrong is not None:
        raise CampaignError(
            f"{subject} must be visible ASCII, and {wrong!r} is not: leave it out, or write a host name with "
            "such characters in its xn-- form"
        )


def _require_authority(authority: str, subject: str) -> str:
    """Return the host of ``authority``; refuse credentials, an invalid port and an invalid host."""
    if "@" in authority:
        raise CampaignError(f"{subject} has credentials: leave out the part before the '@'")
    host, port = authority, ""
    if ":" in authority and not authority.endswith("]"):
        host, _, port = authority.rpartition(":")
        if not _PORT.fullmatch(port) or int(port) > 65535:
            raise CampaignError(f"the port in {subject} must be 1 to 65535, not {port[:40]!r}")
    if not _is_host(host):
        raise CampaignError(
            f"the host of {subject} must be a name in lower case such as study.example, or an IP address in its "
            f"shortest form; not {host[:40]!r}"
        )
    return host


def _is_host(host: str) -> bool:
    if host.startswith("[") and host.endswith("]"):
        # An IPv4 address mapped into IPv6 has two spellings, and Python versions differ in the one they write.
        return _is_ip(host[1:-1], ipaddress.IPv6Address) and ipaddress.IPv6Address(host[1:-1]).ipv4_mapped is None
    if _is_ip(host, ipaddress.IPv4Address):
        return True
    # Some resolvers read a name that ends in a number as an IP address.
    return len(host) <= 253 and bool(_NAME.fullmatch(host)) and not host.rpartition(".")[2].isdigit()


def _is_ip(text: str, kind: type[ipaddress.IPv4Address | ipaddress.IPv6Address]) -> bool:
    try:
        return str(kind(text)) == text and "%" not in text
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
