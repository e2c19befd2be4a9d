"""Verified outputs divided into shards by key, so that each shard is deduplicated independently.

A slot belongs to one key, and a key's id is a hash; so the key ids, cut into ranges of equal width, share the
work evenly, and reports that contend for a slot are in the same shard, in the order in which they were read. Shards are
ranges, not remainders: a file written for one shard has a narrow range of keys, so the statistics of the file show that
other shards need not read it.

Which slots are free: deduplicate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aggregator.intake.columns import Integers, Words
from aggregator.intake.deduplicate import Candidates

Packed: TypeAlias = NDArray[np.signedinteger[Any]]
"""Integers in as few bytes as the largest of them takes."""

_NUMBERS = ("report", "campaign", "period", "key", "slot", "view", "output")
_WIDTHS = (np.int8, np.int16, np.int32)


@dataclass(frozen=True)
class ShardPart:
    """The part of the candidates that belongs to one shard, packed for sending and without names.

    Attributes:
        reports: number of reports.
        numbers: the columns of an ``Candidates``, those named in ``_NUMBERS``, in that order.
        word: words or nulls; None altogether where no row has one.
    """

    reports: int
    numbers: tuple[Packed, ...]
    word: pa.Array | None

    def __sizeof__(self) -> int:
        """Bytes that travel; also how a cluster knows when its memory is full."""
        return sum(column.nbytes for column in self.numbers) + (0 if self.word is None else int(self.word.nbytes))


def shard_of(keys: Integers, shards: int) -> Integers:
    """The shard, 0 .. ``shards`` - 1, of each key; ``shards`` is a power of two."""
    width = 64 - (shards.bit_length() - 1)
    if width == 64:
        return np.zeros(len(keys), dtype=np.int64)
    return (keys >> np.int64(width)) + np.int64(shards // 2)


def bounds(shard: int, shards: int) -> tuple[int, int]:
    """The least and the greatest key of a shard."""
    width = 2**64 // shards
    return shard * width - 2**63, (shard + 1) * width - 2**63 - 1


def condition(shard: int, shards: int) -> str:
    """The condition on the keys of a shard for the query engine; empty if the shard has all keys."""
    low, high = bounds(shard, shards)
    return " AND ".join([f"key >= {low}"] * (shard > 0) + [f"key <= {high}"] * (shard < shards - 1))


def split(offers: Sequence[Candidates], shards: int) -> list[ShardPart]:
    """Divide candidates of the same campaigns by shard."""
    parts = [[_chosen(offer, where) for where in _places(offer, shards)] for offer in offers]
    return [_joined([part[shard] for part in parts]) for shard in range(shards)]


def joined(campaigns: tuple[str, ...], parcels: Sequence[ShardPart]) -> Candidates:
    """Join the parts of one shard, in the order in which the reports were read."""
    whole = _joined(parcels)
    report, campaign, period, key, slot, view, output = (column.astype(np.int64) for column in whole.numbers)
    word: Words | None = None
    if whole.word is not None:
        word = np.empty(len(report), dtype=np.object_)
        word[:] = whole.word.to_pylist()
    return Candidates(campaigns, whole.reports, report, campaign, period, key, slot, view, output, word)


def _places(offer: Candidates, shards: int) -> list[Integers]:
    """The rows of each shard, ascending."""
    shard = shard_of(offer.key, shards)
    order = np.argsort(shard, kind="stable")
    return np.split(order, np.searchsorted(shard[order], np.arange(1, shards)))


def _chosen(offer: Candidates, rows: Integers) -> ShardPart:
    """Some rows of an offer, with their reports numbered anew."""
    starts = np.diff(offer.report[rows], prepend=-1) != 0
    reports = int(starts.sum())
    columns = [np.cumsum(starts) - 1, *(getattr(offer, name)[rows] for name in _NUMBERS[1:])]
    word = None if offer.word is None else pa.array(offer.word[rows], pa.binary())
    return ShardPart(reports, tuple(map(_packed, columns)), word)


def _joined(parcels: Sequence[ShardPart]) -> ShardPart:
    """Parcels of a shard one after the other."""
    before = np.cumsum([0, *(parcel.reports for parcel in parcels)]).tolist()
    empty = [np.zeros(0, dtype=np.int8)]
    columns = [
        [parcel.numbers[0].astype(np.int64) + start for parcel, start in zip(parcels, before, strict=False)],
        *([parcel.numbers[place] for parcel in parcels] for place in range(1, len(_NUMBERS))),
    ]
    word = None
    if any(parcel.word is not None for parcel in parcels):
        said = [pa.nulls(len(one.numbers[0]), pa.binary()) if one.word is None else one.word for one in parcels]
        word = pa.concat_arrays(said)
    return ShardPart(before[-1], tuple(_packed(np.concatenate(empty + column)) for column in columns), word)


def _packed(column: Packed) -> Packed:
    """The same numbers in the narrowest type that holds them."""
    low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    for width in _WIDTHS:
        if np.iinfo(width).min <= low and high <= np.iinfo(width).max:
            return column.astype(width)
    return column
