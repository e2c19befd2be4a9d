"""The page of a campaign as one file that works without a server.

In a content security policy, browsers accept no numeric address except 127.0.0.1 (CSP 3, 6.7.2.9). So a study with only
a numeric address must serve its page itself.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from aggregator.page.document import document, page_code
from protocol.campaign import SignedCampaign
from protocol.errors import HalftruthError


class NoPage(HalftruthError):
    """The page of the campaign would not work as a file."""


def page_file(signed: SignedCampaign, now: int, *, closing: bytes = b"", download: bool = False) -> str:
    """Return the campaign's page as one HTML document. The document contains its content security policy, which allows
    connections only to the campaign's signed addresses.

    Args:
        now: the current time, UTC seconds.
        closing: the signed closing notice; b"" for none.
        download: whether people save their reports as files; needed if the campaign names no address.
    Raises:
        NoPage: the campaign is over, names an address that a policy cannot contain, names no address although
            ``download`` is False, or names one although ``download`` is True.
        BundleError, OSError: see ``page_code``.
    """
    campaign = signed.campaign
    if now >= campaign.closes:
        raise NoPage(f"{campaign.title!r} is over: devices can no longer answer it; sign a new campaign")
    if not campaign.addresses and not download:
        raise NoPage(
            "the campaign names no address, so a page in a file cannot send reports: serve the page with `halftruth "
            "receive`, or add --download, so that people save their reports as files"
        )
    if campaign.addresses and download:
        raise NoPage(
            f"the campaign names an address, {campaign.addresses[0]}, to which its page sends: leave out --download"
        )
    unnamed = [address for address in campaign.addresses if not _can_be_named(address)]
    if unnamed:
        raise NoPage(
            f"a page in a file cannot send to {unnamed[0]}, because browsers need the name of a host, not its IP "
            "address: serve the page with `halftruth receive`, or sign a new campaign whose [study] address has the "
            "name of the host"
        )
    return document(signed, page_code(), closing=closing, served=False)


def _can_be_named(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return str(ipaddress.ip_address(host)) == "127.0.0.1"
    except ValueError:
        return True
