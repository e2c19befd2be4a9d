"""The link of a campaign: the study's address, and the fingerprint of the author's key.

What a link is: protocol.link. How it is printed: poster.
"""

from __future__ import annotations

from protocol import keys
from protocol.address import require_address
from protocol.campaign import SignedCampaign
from protocol.errors import HalftruthError
from protocol.link import Link


class NoInvitation(HalftruthError):
    """A campaign without a valid invitation link, or an unusable address."""


def invite(signed: SignedCampaign, now: int, address: str | None = None, closes: int | None = None) -> Link:
    """Return the link that invites people to a campaign.

    Args:
        signed: the campaign, verified.
        now: UTC seconds.
        address: of the study. None takes the first that the campaign names; a campaign that names some leads to these
            and to no other.
        closes: since when the author closed it before its time, UTC seconds; None where they did not.
    Raises:
        NoInvitation: the campaign is over, names no address and ``address`` is None, or names others.
        CampaignError: ``address`` is one that no device sends to.
    """
    terms = signed.terms
    if now >= (terms.closes if closes is None else closes):
        raise NoInvitation(f"{terms.title!r} is over: nobody can answer it any more")
    if address is not None:
        address = address.rstrip("/")
        require_address(address)
        if terms.addresses and address not in terms.addresses:
            raise NoInvitation(f"the campaign's author signed where reports go: {' or '.join(terms.addresses)}")
    elif not terms.addresses:
        raise NoInvitation("the campaign names no address of its study: name it with --address https://HOST")
    return Link(address or terms.addresses[0], signed.id, keys.fingerprint(signed.author))
