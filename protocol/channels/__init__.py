"""The channels: conditional laws Q(y given x) with integer probabilities (SPEC 5).

``channel`` holds what all families share, ``structure`` what audits ask of a channel; each folder is one family, and
``registry`` the list of them.
"""

from __future__ import annotations

from protocol.channels.bits.channel import Bits
from protocol.channels.blocks.channel import Blocks
from protocol.channels.channel import Channel, Loss
from protocol.channels.graded.channel import GradedProjective
from protocol.channels.hadamard.channel import Hadamard
from protocol.channels.noise.channel import Noise
from protocol.channels.projective.channel import ProjectiveGeometry
from protocol.channels.registry import FAMILIES, decode, structure_of
from protocol.channels.response.channel import RandomizedResponse
from protocol.channels.sets.subset import SubsetSelection
from protocol.channels.sets.triples import Triples
from protocol.channels.table.channel import Table
from protocol.channels.wave.channel import Wave
from protocol.channels.windows.channel import Windows

__all__ = [
    "FAMILIES", "Bits", "Blocks", "Channel", "GradedProjective", "Hadamard", "Loss", "Noise", "ProjectiveGeometry",
    "RandomizedResponse", "SubsetSelection", "Table", "Triples", "Wave", "Windows", "decode", "structure_of",
]  # fmt: skip
