"""The closing notice: an author's signed message that closes a campaign early (SPEC 7.2).

A closing notice can only shorten a campaign: its time is before the campaign's own closing, and if there are several
notices, the earliest one counts. So an old notice, or a later one, never reopens a campaign.
"""

from __future__ import annotations

from dataclasses import dataclass

from protocol import codec, envelope, keys
from protocol.campaign import CAMPAIGN_ID_BYTES, MAX_TIME, Campaign, SignedCampaign
from protocol.envelope import Kind
from protocol.errors import CampaignError, ClosedEarly, CodecError, EnvelopeError


@dataclass(frozen=True)
class Closing:
    """The content of a closing notice.

    Attributes:
        campaign_id: 16 bytes.
        closes: UTC seconds from which the campaign is closed.
    Raises:
        CampaignError: an attribute is invalid.
    """

    campaign_id: bytes
    closes: int

    def __post_init__(self) -> None:
        if len(self.campaign_id) != CAMPAIGN_ID_BYTES:
            raise CampaignError(f"a campaign id must be {CAMPAIGN_ID_BYTES} bytes, not {len(self.campaign_id)}")
        if not 0 <= self.closes <= MAX_TIME:
            raise CampaignError(
                f"the time of a closing must be from 0 to {MAX_TIME}, in UTC seconds, not {self.closes}"
            )

    def encode(self) -> bytes:
        """Return the payload of the closing notice's envelope."""
        return codec.encode([self.campaign_id, self.closes])

    @classmethod
    def decode(cls, payload: bytes) -> Closing:
        """Return the closing notice of an envelope's payload.

        Raises:
            CodecError: the payload is too long, or not canonical msgpack.
            CampaignError: wrong fields, or an invalid closing notice.
        """
        value = codec.decode(payload, limit=envelope.MAX_PAYLOAD[Kind.CLOSING])
        campaign_id, closes = codec.fields(value, 2, "a closing notice", CampaignError)
        return cls(
            codec.octets(campaign_id, "a campaign id", CampaignError),
            codec.integer(closes, "the time of a closing", CampaignError),
        )

    def require_fit(self, campaign: Campaign) -> None:
        """Refuse a closing notice that does not fit a campaign.

        Raises:
            CampaignError: it would not shorten the campaign.
        """
        if self.closes >= campaign.closes:
            raise CampaignError(
                f"a closing notice must take effect before {campaign.title!r} closes: this one is not needed"
            )


def seal_closing(signed: SignedCampaign, closes: int, key: keys.SigningKey) -> bytes:
    """Return the signed closing notice of a campaign.

    Args:
        signed: the campaign.
        closes: UTC seconds from which the campaign is closed.
        key: the author's key, which signed the campaign.
    Returns:
        One signed envelope.
    Raises:
        CampaignError: the key is not the author's, or ``closes`` is negative or not before the campaign's own closing.
    """
    closing = Closing(signed.id, closes)
    closing.require_fit(signed.campaign)
    if key.public != signed.author:
        raise CampaignError("the campaign was signed with another key: sign the closing notice with the author's key")
    return envelope.seal(Kind.CLOSING, key, closing.encode())


def open_closing(data: bytes, signed: SignedCampaign) -> Closing:
    """Return the content of a closing notice, verified under the key of the campaign's author.

    Raises:
        BadData: a check failed; the class names the check's stage (SPEC 0).
    """
    payload = _sealed(data).open(signed.author)
    closing = Closing.decode(payload)
    if closing.campaign_id != signed.id:
        raise CampaignError(
            f"the closing notice is for another campaign: name the closing notice of {signed.campaign.title!r}"
        )
    closing.require_fit(signed.campaign)
    return closing


def is_closing(data: bytes) -> bool:
    """Return whether ``data`` begins like the envelope of a closing notice; ``open_closing`` checks the rest."""
    return data[:3] == bytes([0x95, envelope.VERSION, Kind.CLOSING])


def unverified_closing(data: bytes) -> Closing:
    """Return the content of a closing notice without verifying its signature, to find its campaign.

    Raises:
        BadData: a check failed; the class names the check's stage (SPEC 0).
    """
    return Closing.decode(_sealed(data).unverified)


def require_open(campaign: Campaign, closes: int, now: int) -> None:
    """Refuse an answer between an early closing and the campaign's own closing.

    ``Campaign.period_at`` refuses all later answers.

    Args:
        closes: UTC seconds of the earliest closing notice; the campaign's own closing if there is no notice.
        now: UTC seconds.
    Raises:
        ClosedEarly: ``now`` lies between the two.
    """
    if closes <= now < campaign.closes:
        raise ClosedEarly(f"the author closed {campaign.title!r} early: it accepts no more answers")


def _sealed(data: bytes) -> envelope.Envelope:
    try:
        sealed = envelope.decode(data)
    except (CodecError, EnvelopeError) as error:
        raise type(error)(f"this is not a closing notice, or it is damaged: name the notice's file ({error})") from None
    if sealed.kind is not Kind.CLOSING:
        kind = sealed.kind.name.lower()
        raise CampaignError(
            f"the file contains an envelope of kind {kind}, not a closing notice: name the notice's file"
        )
    return sealed
