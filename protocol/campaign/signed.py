"""Signed campaigns: seal one as an author, open and verify one as a device or a study (SPEC 7)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from protocol import envelope, keys, views
from protocol.campaign.campaign import Campaign
from protocol.campaign.size import require_campaign_size
from protocol.campaign.wire import decode_campaign, encode_campaign
from protocol.envelope import Kind
from protocol.errors import BadData, CampaignError, CodecError, EnvelopeError

CAMPAIGN_ID_BYTES = 16


@dataclass(frozen=True)
class SignedCampaign:
    """A campaign whose signature was verified, with the bytes that carry it.

    Attributes:
        campaign: the campaign.
        id: the first 16 bytes of SHA-256 of ``data``.
        author: the public key that verified the signature.
        data: the signed envelope.
    """

    campaign: Campaign
    id: bytes
    author: bytes
    data: bytes

    def view_of(self, public: bytes) -> int:
        """Return the index of a device's view.

        Args:
            public: the device's public key in this campaign, 32 bytes.
        Returns:
            0 .. number of views - 1.
        """
        return views.view_of(self.id, public, self.campaign.view_ends)


def seal_campaign(campaign: Campaign, key: keys.SigningKey) -> bytes:
    """Return the signed campaign file.

    Args:
        campaign: the campaign.
        key: the author's secret key.
    Returns:
        The bytes that devices join and a study imports.
    Raises:
        CampaignError: the campaign is too long.
    """
    payload = encode_campaign(campaign)
    require_campaign_size(payload, len(payload))
    data = envelope.seal(Kind.CAMPAIGN, key, payload)
    require_campaign_size(payload, len(data))
    return data


def campaign_id(data: bytes) -> bytes:
    """Return the id of the signed campaign ``data``."""
    return hashlib.sha256(data).digest()[:CAMPAIGN_ID_BYTES]


def open_campaign(data: bytes, trusted: Iterable[bytes]) -> SignedCampaign:
    """Verify, then parse, then audit a signed campaign.

    Args:
        data: a signed campaign file.
        trusted: public keys of authors; the campaign must be signed by one of them.
    Returns:
        The campaign with its id, its author and its signed bytes.
    Raises:
        BadData: a check failed; the class names the check's stage (SPEC 0).
    """
    sealed = _sealed(data)
    author = next((public for public in trusted if keys.key_id(public) == sealed.key_id), None)
    if author is None:
        raise CampaignError(
            f"no trusted author has the key {keys.fingerprint_beginning(sealed.key_id)}..., with which the campaign "
            "claims to be signed: compare these characters with the author's fingerprint, then trust the author's "
            "public key (--trust), or refuse the campaign"
        )
    payload = sealed.open(author)
    require_campaign_size(payload, len(data))
    return SignedCampaign(decode_campaign(payload), campaign_id(data), author, data)


def unverified_campaign(data: bytes) -> Campaign:
    """Return the campaign in a file, audited but with its signature unverified: for auditors, never for answering.

    Args:
        data: a signed campaign file.
    Returns:
        The campaign, audited.
    Raises:
        BadData: a check failed; the class names the check's stage (SPEC 0).
    """
    payload = _sealed(data).unverified
    require_campaign_size(payload, len(data))
    return decode_campaign(payload)


def require_campaign(data: bytes) -> None:
    """Refuse a file that does not begin with a campaign. All other faults are left to the parser.

    Raises:
        BadData: ``data`` does not begin with an envelope.
        CampaignError: ``data`` begins with an envelope of another kind.
    """
    try:
        first, _ = envelope.decode_first(data, 0)
    except (CodecError, EnvelopeError) as error:
        raise _not_a_campaign(error) from None
    if first.kind is not Kind.CAMPAIGN:
        raise _of_another_kind(first.kind)


def _sealed(data: bytes) -> envelope.Envelope:
    try:
        sealed = envelope.decode(data)
    except (CodecError, EnvelopeError) as error:
        raise _not_a_campaign(error) from None
    if sealed.kind is not Kind.CAMPAIGN:
        raise _of_another_kind(sealed.kind)
    return sealed


def _not_a_campaign(error: BadData) -> BadData:
    return type(error)(
        "this is not a campaign file, or it is damaged: name the file NAME.campaign that the organisation published "
        f"({error})"
    )


def _of_another_kind(kind: Kind) -> CampaignError:
    return CampaignError(
        f"the file contains an envelope of kind {kind.name.lower()}, not a campaign: name the campaign's file"
    )
