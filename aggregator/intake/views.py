"""Find the view of each report, and unpack its outputs by that view's channel.

A device does not send its view. The registered public key determines the view (SPEC 7.3), so the view is derived here
for every report, and stored beside the report's outputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggregator.intake import columns
from aggregator.intake.columns import Bytes, ByteStrings, Integers, Mask
from protocol.campaign import Campaign, SignedCampaign
from protocol.channels import Channel
from protocol.views.view import channel_places


def assigned_views(signed: SignedCampaign, public: Bytes) -> Integers:
    """Return the view of each public key's device, as (n,) indices into the campaign's views, for (n, 32) public
    keys."""
    if len(signed.campaign.views) == 1:
        return np.zeros(len(public), dtype=np.int64)
    return np.array([signed.view_of(key.tobytes()) for key in public], dtype=np.int64)


@dataclass(frozen=True)
class ViewChannels:
    """The distinct channels of a campaign's views.

    Attributes:
        of_view: (J,) index into ``channels`` of each view's channel.
        width: bits of one output on the wire, the same for every view.
    """

    channels: tuple[Channel, ...]
    of_view: Integers
    width: int

    @classmethod
    def of(cls, campaign: Campaign) -> ViewChannels:
        """Return the distinct channels of a campaign."""
        channel_index = channel_places(campaign.views)
        different = {place: view.channel for place, view in zip(channel_index, campaign.views, strict=True)}
        return cls(tuple(different.values()), np.array(channel_index, dtype=np.int64), campaign.output_bits)


@dataclass(frozen=True)
class Unpacked:
    """The outputs of reports that have the same channel and the same number of outputs.

    Attributes:
        outputs: (n, count) outputs; zeros for a unary channel.
        words: (n, count) outputs of a unary channel, zero-padded to bytes; None for other channels.
        good: (n,) whether all outputs of each report are packed correctly and are outputs of the channel.
    """

    outputs: Integers
    words: ByteStrings | None
    good: Mask


def unpack(data: Bytes, packed: Integers, length: Integers, count: int, channel: Channel, width: int) -> Unpacked:
    """Unpack the outputs of reports of one channel.

    Args:
        packed, length: (n,) offset of each report's packed outputs, and their length in bytes.
        count: the number of outputs in each report.
        width: bits of one output on the wire, at least the bits of the channel's outputs.
    """
    if channel.unary:
        words, good = columns.unpacked_words(data, packed, length, count, channel.output_bits, channel.ones, width)
        return Unpacked(np.zeros(words.shape, dtype=np.int64), words, good)
    unpacked, good = columns.unpacked_outputs(data, packed, length, count, width, channel.output_count)
    return Unpacked(unpacked, None, good)
