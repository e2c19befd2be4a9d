"""The page of a campaign as one file that works without a server.

A browser lets no policy name an address by number, but for 127.0.0.1 (CSP 3, 6.7.2.9); so a study that has only a
number for an address serves its page itself.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from aggregator.page.document import document, page_code
from protocol.campaign import SignedCampaign
from protocol.errors import HalftruthError


class NoPage(HalftruthError):
    """The campaign's page cannot be a file."""


def page_file(signed: SignedCampaign, now: int, *, closing: bytes = b"", download: bool = False) -> str:
    """The document, which carries its policy itself and talks to the campaign's signed addresses only.

    Args:
        now: UTC seconds.
        closing: the signed notice that closes the campaign early; b"" where there is none.
        download: whether people are to keep their reports as files, as they must where the campaign names no address.
    Raises:
        NoPage: the campaign is over, or names no address, or only one that a policy cannot name.
        BundleError: the script of all pages cannot be linked.
    """
    terms = signed.terms
    if now >= terms.closes:
        raise NoPage(f"{terms.title!r} is over: nobody can answer it any more")
    if not terms.addresses and not download:
        raise NoPage(
            "the campaign names no address, so a page that is a file cannot send: serve the page with receive, or make "
            "it with --download, and people keep their report as a file"
        )
    if terms.addresses and download:
        raise NoPage(f"the campaign names an address, {terms.addresses[0]}: its page sends there, without --download")
    unnamed = [address for address in terms.addresses if not _can_be_named(address)]
    if unnamed:
        raise NoPage(f"a page that is a file cannot talk to {unnamed[0]}: browsers allow a host's name, not its number")
    return document(signed, page_code(), closing=closing, served=False)


def _can_be_named(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return str(ipaddress.ip_address(host)) == "127.0.0.1"
    except ValueError:
        return True
