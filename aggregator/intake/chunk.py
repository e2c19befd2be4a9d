"""A chunk: envelopes that are verified together, and committed at once or, if they have many outputs, in parts.

The bytes of many small files, and of parts of large files, are joined, because every commit has a cost that does not
depend on its number of reports. Envelopes are offsets into the joined bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from aggregator.intake.columns import Bytes, Integers, id_integers, key_column, octets
from aggregator.intake.framing import KEY_AT, Frames
from aggregator.intake.signatures import EnvelopeOffsets
from protocol.envelope import Kind
from protocol.keys import KEY_ID_BYTES


@dataclass(frozen=True)
class Chunk:
    """Whole envelopes, in the order in which they were read.

    Attributes:
        data: the bytes that contain them; other bytes may lie between them.
        frames: (4, n): for each envelope the offsets of its first byte, its payload and its end, and its kind.
        malformed_items: number of runs of bytes that are not an envelope (SPEC 3.3).
    """

    data: bytes
    frames: Integers
    malformed_items: int

    @cached_property
    def octets(self) -> Bytes:
        """``data`` as an array."""
        return np.frombuffer(self.data, dtype=np.uint8)

    def of(self, kind: Kind) -> EnvelopeOffsets:
        begin, payload, end = self.frames[:3, self.frames[3] == kind]
        return EnvelopeOffsets(kind, self.data, begin, payload, end)

    def key_ids(self, sealed: EnvelopeOffsets) -> Bytes:
        """Return the key ids that envelopes name, (n, 8) bytes."""
        return octets(self.octets, sealed.begin + KEY_AT, KEY_ID_BYTES)

    def keys(self, sealed: EnvelopeOffsets) -> Integers:
        """Return the key ids that envelopes name, (n,) integers."""
        return key_column(self.key_ids(sealed))


@dataclass
class ChunkBuilder:
    """A chunk being built."""

    parts: list[bytes] = field(default_factory=list)
    frames: list[Integers] = field(default_factory=list)
    size: int = 0
    envelopes: int = 0
    malformed_items: int = 0

    def add(self, data: bytes, frames: Frames) -> None:
        """Add bytes and the envelopes found in them."""
        columns = frames.columns
        if self.size:
            columns = columns + np.array([[self.size]] * 3 + [[0]])
        self.parts.append(data)
        self.frames.append(columns)
        self.size += len(data)
        self.envelopes += frames.columns.shape[1]
        self.malformed_items += frames.malformed_items

    def chunk(self) -> Chunk:
        """Return the chunk of all bytes that were added."""
        frames = np.concatenate(self.frames, axis=1) if self.frames else np.zeros((4, 0), dtype=np.int64)
        data = self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)
        return Chunk(data, frames, self.malformed_items)


def by_campaign(campaign: Integers, campaigns: Sequence[str]) -> Integers:
    """Return for each row the index of its campaign in ``campaigns``, or -1.

    Args:
        campaign: (n, 2) ids, in the form of ``columns.Reports.campaign``.
        campaigns: ids in hex.
    """
    index = np.full(len(campaign), -1, dtype=np.int64)
    for number, campaign_id in enumerate(campaigns):
        index[(campaign == id_integers(bytes.fromhex(campaign_id))).all(axis=1)] = number
    return index
