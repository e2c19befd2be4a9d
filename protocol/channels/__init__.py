"""Channels, the conditional distributions Q(y given x) with integer weights (SPEC 5), and the list of their families.

``channel`` defines the base class of all families, and ``structure`` the base class of their audits. Each folder is one
family (``sets`` has two, and ``blocks`` also has ``constant``): its channel, which authors write and devices sample,
and, except for ``table``, its structure, with which an audit avoids visiting every cell. ``FAMILIES`` lists all
families of whole channels; docs/CONTRIBUTING.md names all files that a new family adds or changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from protocol import codec
from protocol.channels.bits.audit import BitsStructure
from protocol.channels.bits.channel import Bits
from protocol.channels.blocks.audit import BlocksStructure
from protocol.channels.blocks.channel import Blocks
from protocol.channels.channel import Channel, Loss
from protocol.channels.graded.audit import GradedStructure
from protocol.channels.graded.channel import GradedProjective
from protocol.channels.hadamard.audit import HadamardStructure
from protocol.channels.hadamard.channel import Hadamard
from protocol.channels.noise.audit import NoiseStructure
from protocol.channels.noise.channel import Noise
from protocol.channels.projective.audit import ProjectiveStructure
from protocol.channels.projective.channel import ProjectiveResponse
from protocol.channels.response.audit import ResponseStructure
from protocol.channels.response.channel import RandomizedResponse
from protocol.channels.sets.audit import SubsetStructure, TriplesStructure
from protocol.channels.sets.subset import SubsetSelection
from protocol.channels.sets.triples import Triples
from protocol.channels.structure import MAX_ENUMERATED, Structure
from protocol.channels.table.channel import Table
from protocol.channels.wave.audit import WaveStructure
from protocol.channels.wave.channel import Wave
from protocol.channels.windows.audit import WindowsStructure
from protocol.channels.windows.channel import Windows
from protocol.errors import ChannelError

__all__ = [
    "FAMILIES", "Bits", "Blocks", "Channel", "GradedProjective", "Hadamard", "Loss", "Noise", "ProjectiveResponse",
    "RandomizedResponse", "SubsetSelection", "Table", "Triples", "Wave", "Windows", "decode", "structure_of",
]  # fmt: skip


@dataclass(frozen=True)
class Family:
    """A family of channels.

    Attributes:
        channel_type: the class of its channels; ``channel_type.family`` is the name on the wire.
        make_structure: makes the audit structure of a channel, given the maximum number of steps.
    """

    channel_type: type[Channel]
    make_structure: Callable[[Any, int], Structure]


def structure_of(channel: Channel, max_steps: int = MAX_ENUMERATED) -> Structure:
    """Return the audit structure of a channel, made by its family.

    Args:
        max_steps: maximum number of steps; an audit that needs more raises ``TooLarge``.
    """
    family = FAMILIES.get(channel.family)
    return Structure(channel, max_steps) if family is None else family.make_structure(channel, max_steps)


def _structure_of_blocks(channel: Blocks, max_steps: int) -> Structure:
    return BlocksStructure(channel, max_steps, structure_of)


FAMILIES: dict[str, Family] = {
    family.channel_type.family: family
    for family in (
        Family(Table, Structure),
        Family(RandomizedResponse, ResponseStructure),
        Family(Hadamard, HadamardStructure),
        Family(ProjectiveResponse, ProjectiveStructure),
        Family(SubsetSelection, SubsetStructure),
        Family(Bits, BitsStructure),
        Family(Blocks, _structure_of_blocks),
        Family(Noise, NoiseStructure),
        Family(Windows, WindowsStructure),
        Family(Triples, TriplesStructure),
        Family(Wave, WaveStructure),
        Family(GradedProjective, GradedStructure),
    )
}
"""The families of whole channels, by their names on the wire. The family ``constant`` is missing, because it occurs
only inside blocks."""


def decode(value: codec.Value) -> Channel:
    """Return the channel of a wire form (SPEC 5).

    Raises:
        ChannelError: unknown family, wrong fields, or an invalid channel.
    """
    name = codec.tag(value, "a channel", "family", ChannelError)
    family = FAMILIES.get(name)
    if family is None:
        raise ChannelError(f"a channel's family must be one of {', '.join(FAMILIES)}, not {name[:40]!r}")
    return family.channel_type.from_wire(value)
