"""The channels: conditional laws Q(y given x) with integer probabilities (SPEC 5).

``channel`` holds what all families share; each other file is one family. ``decode`` is the only place that
knows them all.
"""

from __future__ import annotations

from protocol import codec
from protocol.channels.bits import Bits
from protocol.channels.blocks import Blocks
from protocol.channels.channel import Channel, Loss
from protocol.channels.hadamard import Hadamard
from protocol.channels.noise import Noise
from protocol.channels.projective import ProjectiveGeometry
from protocol.channels.response import RandomizedResponse
from protocol.channels.subset import SubsetSelection
from protocol.channels.table import Table
from protocol.channels.triples import Triples
from protocol.channels.windows import Windows
from protocol.errors import ChannelError

__all__ = [
    "Bits", "Blocks", "Channel", "Hadamard", "Loss", "Noise", "ProjectiveGeometry",
    "RandomizedResponse", "SubsetSelection", "Table", "Triples", "Windows", "decode",
]  # fmt: skip

_KINDS = (
    Table, RandomizedResponse, Hadamard, ProjectiveGeometry, SubsetSelection, Bits, Blocks, Noise, Windows, Triples,
)  # fmt: skip
FAMILIES: dict[str, type[Channel]] = {kind.family: kind for kind in _KINDS}


def decode(value: codec.Value) -> Channel:
    """The channel of a wire form (SPEC 5).

    Raises:
        ChannelError: unknown family, wrong fields, or numbers that are not a channel.
    """
    if not isinstance(value, list) or not value:
        raise ChannelError("a channel is an array that begins with its family")
    family = FAMILIES.get(codec.text(value[0], "a channel's family", ChannelError))
    if family is None:
        raise ChannelError(f"a channel's family is one of {', '.join(FAMILIES)}")
    return family.from_wire(value)
