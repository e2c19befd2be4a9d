"""Verified outputs divided into shards by key, so that each shard is deduplicated independently.

A slot belongs to one key, and a key id is a hash. Therefore ranges of key ids of equal width have about equal numbers
of reports, and reports that contend for a slot are in the same shard, in the order in which they were read. Shards are
ranges, not remainders: a file written for one shard has a narrow range of keys, so its statistics show that other
shards need not read it.

``deduplicate`` finds the free slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aggregator.intake.columns import ByteStrings, Integers
from aggregator.intake.deduplicate import Candidates

Narrow: TypeAlias = NDArray[np.signedinteger[Any]]
"""Integers of the narrowest type that holds them."""

_COLUMNS = ("report", "campaign", "period", "key", "slot", "view", "output")
_WIDTHS = (np.int8, np.int16, np.int32)


@dataclass(frozen=True)
class ShardPart:
    """The part of the candidates that belongs to one shard, in a compact form for sending and without the campaigns'
    ids.

    Attributes:
        reports: number of reports.
        columns: the columns of ``Candidates`` named in ``_COLUMNS``, in that order.
        word: words or nulls; None if no row has a word.
    """

    reports: int
    columns: tuple[Narrow, ...]
    word: pa.Array | None

    def __sizeof__(self) -> int:
        """Return the number of bytes to send; Dask uses it to measure memory."""
        return sum(column.nbytes for column in self.columns) + (0 if self.word is None else int(self.word.nbytes))


def shard_of(keys: Integers, shards: int) -> Integers:
    """Return the shard of each key, 0 .. ``shards`` - 1; ``shards`` is a power of two."""
    width = 64 - (shards.bit_length() - 1)
    if width == 64:
        return np.zeros(len(keys), dtype=np.int64)
    return (keys >> np.int64(width)) + np.int64(shards // 2)


def bounds(shard: int, shards: int) -> tuple[int, int]:
    """Return the least and the greatest key of a shard."""
    width = 2**64 // shards
    return shard * width - 2**63, (shard + 1) * width - 2**63 - 1


def shard_condition(shard: int, shards: int) -> str:
    """Return the SQL condition on the keys of a shard; empty if the shard has all keys."""
    low, high = bounds(shard, shards)
    return " AND ".join([f"key >= {low}"] * (shard > 0) + [f"key <= {high}"] * (shard < shards - 1))


def split(candidates: Sequence[Candidates], shards: int) -> list[ShardPart]:
    """Divide candidates of the same campaigns by shard."""
    parts = [[_chosen(batch, rows) for rows in _rows_by_shard(batch, shards)] for batch in candidates]
    return [_joined([part[shard] for part in parts]) for shard in range(shards)]


def joined(campaigns: tuple[str, ...], parts: Sequence[ShardPart]) -> Candidates:
    """Join the parts of one shard, in the order in which the reports were read."""
    joined_part = _joined(parts)
    report, campaign, period, key, slot, view, output = (column.astype(np.int64) for column in joined_part.columns)
    word: ByteStrings | None = None
    if joined_part.word is not None:
        word = np.empty(len(report), dtype=np.object_)
        word[:] = joined_part.word.to_pylist()
    return Candidates(campaigns, joined_part.reports, report, campaign, period, key, slot, view, output, word)


def _rows_by_shard(candidates: Candidates, shards: int) -> list[Integers]:
    """Return the indices of the rows of each shard, ascending."""
    shard = shard_of(candidates.key, shards)
    order = np.argsort(shard, kind="stable")
    return np.split(order, np.searchsorted(shard[order], np.arange(1, shards)))


def _chosen(candidates: Candidates, rows: Integers) -> ShardPart:
    """Return the chosen rows as a part; their reports are numbered from 0."""
    starts = np.diff(candidates.report[rows], prepend=-1) != 0
    reports = int(starts.sum())
    columns = [np.cumsum(starts) - 1, *(getattr(candidates, name)[rows] for name in _COLUMNS[1:])]
    word = None if candidates.word is None else pa.array(candidates.word[rows], pa.binary())
    return ShardPart(reports, tuple(map(_narrowed, columns)), word)


def _joined(parts: Sequence[ShardPart]) -> ShardPart:
    """Concatenate parts of a shard."""
    offsets = np.cumsum([0, *(part.reports for part in parts)]).tolist()
    empty = [np.zeros(0, dtype=np.int8)]
    columns = [
        [part.columns[0].astype(np.int64) + start for part, start in zip(parts, offsets, strict=False)],
        *([part.columns[place] for part in parts] for place in range(1, len(_COLUMNS))),
    ]
    word = None
    if any(part.word is not None for part in parts):
        words = [pa.nulls(len(part.columns[0]), pa.binary()) if part.word is None else part.word for part in parts]
        word = pa.concat_arrays(words)
    return ShardPart(offsets[-1], tuple(_narrowed(np.concatenate(empty + column)) for column in columns), word)


def _narrowed(column: Narrow) -> Narrow:
    """Return a column in the narrowest type that holds its numbers."""
    low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    for width in _WIDTHS:
        if np.iinfo(width).min <= low and high <= np.iinfo(width).max:
            return column.astype(width)
    return column
