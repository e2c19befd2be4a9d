"""The checkpoint: the ledger's number of changes, hash and sums, in a small record outside the database.

An old copy of a database is a valid database, so nothing inside it shows that it is old. Therefore a record outside the
database, which only advances, is compared with it whenever the store is opened.

    sequence     number of changes so far: rows added, campaigns whose rows were replaced, changes of the caps, and
                 adoptions; it never decreases
    head         head[i] = SHA-256(head[i-1] || row[i]) over the current rows, beginning with 32 zero bytes
    committed, spent, caps      the sums and the caps, which must survive the loss of the database

The module key_store stores a checkpoint, and checkpointing updates it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import chain
from typing import TypeAlias

from edge_sdk.budget.ledger import EntryKind
from edge_sdk.budget.policy import LIFETIME, PER_CAMPAIGN, WINDOW, Cap

CheckpointRow: TypeAlias = tuple[int, int, int, int]
"""One row of the ledger: time, the store's number of the campaign, kind, nanonats."""

MAGIC = b"htm1"
STORE_BYTES = 32
HEAD_BYTES = 32
CHECKSUM_BYTES = 16
MAX_CAPS = 32
MAX_CHECKPOINT_BYTES = 1024
"""Maximum length of a checkpoint."""

_HEADER = struct.Struct(f">{len(MAGIC)}s{STORE_BYTES}sQ{HEAD_BYTES}sQQB")
_CAP = struct.Struct(">BQQ")
_ROW = struct.Struct(">qqBq")
# A cap's kind is encoded as its index here.
_CAPS = (LIFETIME, PER_CAMPAIGN, WINDOW)
# The sign with which a row of each kind counts in the two sums, committed and spent.
_SIGNS: dict[int, tuple[int, int]] = {
    EntryKind.RESERVE: (1, 0),
    EntryKind.CHARGE: (0, 1),
    EntryKind.RELEASE: (-1, 0),
    EntryKind.CARRY: (0, 1),
}


@dataclass(frozen=True)
class Checkpoint:
    """The number of changes, the hash and the sums of one store's ledger, and its caps; amounts are in nanonats.

    Attributes:
        store: the store's id, a hash of its secret, 32 bytes; it distinguishes the checkpoints of two stores.
        sequence: number of changes so far.
        head: last hash of the chain over the ledger's rows, 32 bytes.
        committed: nanonats spent or reserved.
        spent: nanonats spent.
        caps: the owner's caps, in order; at most 32.
    Raises:
        ValueError: a field is out of range.
    """

    store: bytes
    sequence: int
    head: bytes
    committed: int
    spent: int
    caps: tuple[Cap, ...] = ()

    def __post_init__(self) -> None:
        if len(self.caps) > MAX_CAPS:
            raise ValueError(
                f"a device keeps at most {MAX_CAPS} caps, not {len(self.caps)}: give a window of a length that "
                "already has a cap"
            )
        if len(self.store) != STORE_BYTES or len(self.head) != HEAD_BYTES:
            raise ValueError(
                f"a store's id and the head of its ledger must be 32 bytes each, not {len(self.store)} and "
                f"{len(self.head)}"
            )
        if not (0 <= self.sequence < 2**63 and 0 <= self.committed < 2**63 and 0 <= self.spent < 2**63):
            raise ValueError(
                "the sequence and the sums of a checkpoint must be in 0 .. 2^63 - 1, "
                f"not {self.sequence}, {self.committed} and {self.spent}"
            )

    @classmethod
    def of(cls, store: bytes, sequence: int, rows: Iterable[CheckpointRow], caps: Iterable[Cap] = ()) -> Checkpoint:
        """Return the checkpoint computed from all rows of a ledger.

        Raises:
            ValueError: a row cannot belong to a ledger.
        """
        return cls(store, sequence, *_chained(bytes(HEAD_BYTES), 0, 0, rows), tuple(caps))

    def after(self, row: CheckpointRow) -> Checkpoint:
        """Return the checkpoint after ``row`` is added."""
        counted = _chained(self.head, self.committed, self.spent, [row])
        return Checkpoint(self.store, self.sequence + 1, *counted, self.caps)

    def follows(self, earlier: Checkpoint) -> bool:
        """Return whether a store with this checkpoint may have had the checkpoint ``earlier`` before."""
        return earlier.sequence < self.sequence or earlier == self

    @cached_property
    def record(self) -> bytes:
        """The encoded checkpoint: a header, the caps, and 16 bytes of SHA-256 over both."""
        record = _HEADER.pack(MAGIC, self.store, self.sequence, self.head, self.committed, self.spent, len(self.caps))
        for cap in self.caps:
            record += _CAP.pack(_CAPS.index(cap.kind), cap.seconds, cap.nanonats)
        return record + _checksum(record)

    @classmethod
    def decode(cls, data: bytes) -> Checkpoint | None:
        """Return the checkpoint whose record is at the start of ``data``; None if it is incomplete or damaged."""
        if len(data) < _HEADER.size or not data.startswith(MAGIC):
            return None
        _, store, sequence, head, committed, spent, count = _HEADER.unpack_from(data)
        end = _HEADER.size + count * _CAP.size
        if data[end : end + CHECKSUM_BYTES] != _checksum(data[:end]):
            return None
        try:
            caps = tuple(Cap(_CAPS[kind], *cap) for kind, *cap in _CAP.iter_unpack(data[_HEADER.size : end]))
            return cls(store, sequence, head, committed, spent, caps)
        except (IndexError, ValueError):
            return None


def lowest_caps(caps: Iterable[Iterable[Cap]]) -> tuple[Cap, ...]:
    """Return the lowest cap of each kind and, for windows, of each length, in order."""
    lowest_nanonats: dict[tuple[str, int], int] = {}
    for cap in chain.from_iterable(caps):
        key = (cap.kind, cap.seconds)
        lowest_nanonats[key] = min(cap.nanonats, lowest_nanonats.get(key, cap.nanonats))
    return tuple(Cap(*key, nanonats) for key, nanonats in sorted(lowest_nanonats.items()))


def _chained(head: bytes, committed: int, spent: int, rows: Iterable[CheckpointRow]) -> tuple[bytes, int, int]:
    """Return (head, committed, spent) after ``rows``."""
    try:
        for row in rows:
            head = sha256(head + _ROW.pack(*row)).digest()
            reserved, paid = _SIGNS[row[2]]
            committed += reserved * row[3]
            spent += paid * row[3]
    except (struct.error, TypeError, KeyError) as error:
        raise ValueError("a ledger row must have a time, a campaign's number, a kind and an amount") from error
    return head, committed, spent


def _checksum(record: bytes) -> bytes:
    return sha256(b"halftruth/1/checkpoint" + record).digest()[:CHECKSUM_BYTES]
