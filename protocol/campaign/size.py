"""The size limit of a signed campaign, checked before the campaign is decoded (SPEC 7)."""

from __future__ import annotations

from protocol import codec, envelope
from protocol.envelope import Kind
from protocol.errors import CampaignError, CodecError
from protocol.notions import Lip
from protocol.notions.classes import MAX_CLASSES, Classes

MAX_CAMPAIGN = 2**16
"""Maximum bytes of a signed campaign; each weight of a lip notion's prior allows ``PRIOR_BYTES`` more."""
PRIOR_BYTES = 32
_NOTION = 5
"""Position of the notion among the fields of a campaign."""


def require_campaign_size(payload: bytes, size: int) -> None:
    """Refuse a campaign with too many bytes.

    Args:
        payload: the payload of the campaign, not yet decoded.
        size: length in bytes of the signed campaign.
    Raises:
        CampaignError: ``size`` is above ``MAX_CAMPAIGN`` plus ``PRIOR_BYTES`` for each claimed weight of a LIP notion's
            prior, or above the largest payload of a campaign.
    """
    if size <= MAX_CAMPAIGN:
        return
    try:
        fields, offset = codec.array_at(payload, 0)
        for _ in range(min(fields, _NOTION)):
            offset = codec.skip(payload, offset)
        weights = _claimed_weights(payload, offset)
    except CodecError:
        weights = 0
    limit = min(MAX_CAMPAIGN + PRIOR_BYTES * weights, envelope.MAX_PAYLOAD[Kind.CAMPAIGN])
    if size > limit:
        raise CampaignError(
            f"this signed campaign must have at most {limit} bytes, not {size}: shorten its texts, or ask about fewer "
            "values"
        )


def _claimed_weights(payload: bytes, offset: int) -> int:
    """Return the number of prior weights that the notion encoded at ``offset`` claims, if it is LIP, or classes of
    which some have LIP; 0 for every other notion."""
    _, offset = codec.array_at(payload, offset)
    name, offset = codec.scalar_at(payload, offset)
    offset = codec.skip(payload, offset)
    if name == Lip.name:
        return codec.array_at(payload, offset)[0]
    if name != Classes.name:
        return 0
    count, offset = codec.array_at(payload, offset)
    total = 0
    for _ in range(min(count, MAX_CLASSES)):
        if codec.scalar_at(payload, codec.array_at(payload, offset)[1])[0] == Lip.name:
            total += _claimed_weights(payload, offset)
        offset = codec.skip(payload, offset)
    return total
