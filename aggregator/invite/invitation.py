"""The link of a campaign: the study's address, and the fingerprint of the author's key.

``protocol.link`` defines links, and ``poster`` draws them.
"""

from __future__ import annotations

from protocol import keys
from protocol.address import require_address
from protocol.campaign import SignedCampaign
from protocol.errors import CampaignError, HalftruthError
from protocol.link import Link


class NoInvitation(HalftruthError):
    """No invitation link can be made: the campaign is over, or has no address."""


def invite(signed: SignedCampaign, now: int, address: str | None = None, closes: int | None = None) -> Link:
    """Return the link that invites people to a campaign.

    Args:
        signed: the campaign, verified.
        now: the current time, UTC seconds.
        address: the study's address; None for the first address that the campaign names. If the campaign names
            addresses, ``address`` must be one of them.
        closes: time of an early closing, UTC seconds; None if the campaign is not closed early.
    Raises:
        NoInvitation: the campaign is over, or has no address and ``address`` is None.
        CampaignError: ``address`` is not an address of the campaign, or devices cannot send to it.
    """
    campaign = signed.campaign
    if now >= (campaign.closes if closes is None else closes):
        raise NoInvitation(f"{campaign.title!r} is over: devices can no longer answer it; sign a new campaign")
    if address is not None:
        address = address.rstrip("/")
        require_address(address)
        if campaign.addresses and address not in campaign.addresses:
            raise CampaignError(
                f"{address} is not an address of the signed campaign: expected {' or '.join(campaign.addresses)}"
            )
    elif not campaign.addresses:
        raise NoInvitation("the campaign names no address of its study: give the address with --address https://HOST")
    return Link(address or campaign.addresses[0], signed.id, keys.fingerprint(signed.author))
