"""Which reports fill slots that are still free.

One idea: a slot of a device in a period is filled once. Against a snapshot of the study and in the order of the batch,
a report comes in whole if all its slots are free, and not at all otherwise; committed against that same snapshot, it
counts exactly once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from aggregator.intake.columns import Integers, Mask, Words
from aggregator.intake.tables import REPORTS, SCHEMAS, storage
from protocol.campaign import MAX_ANSWERS_PER_PERIOD

_FILTER_BITS = 22
"""The study's rows are first looked up in a table of 2^22 flags, by the low bits of their key, which are a hash's."""


@dataclass(frozen=True)
class Offer:
    """Verified outputs, one row each, in ascending order of ``report``.

    Attributes:
        campaigns: ids, in hex.
        report: number of the report the output came in, 0 .. reports - 1.
        campaign: index into ``campaigns``.
        period, key, slot, output, word: as in the ``reports`` table. Words are bytes or None, and None altogether where
            no row has one; where a row has one, its output means nothing.
    """

    campaigns: tuple[str, ...]
    reports: int
    report: Integers
    campaign: Integers
    period: Integers
    key: Integers
    slot: Integers
    output: Integers
    word: Words | None

    def rows(self, free: Mask) -> pa.Table:
        """Rows of the ``reports`` table, of the reports that are ``free``."""
        chosen = np.flatnonzero(free[self.report])
        columns = [
            pa.array(self.campaigns, pa.string()).take(pa.array(self.campaign[chosen])),
            pa.array(self.period[chosen].astype(np.int32)),
            pa.array(self.key[chosen]),
            pa.array(self.slot[chosen].astype(np.int32)),
            *self._said(chosen),
        ]
        return pa.table(columns, schema=SCHEMAS[REPORTS])

    def _said(self, chosen: Integers) -> tuple[pa.Array, pa.Array]:
        """Columns ``output`` and ``word`` of some rows: one of the two is null."""
        if self.word is None:
            return pa.array(self.output[chosen]), pa.nulls(len(chosen), pa.binary())
        word = pa.array(self.word[chosen], pa.binary())
        return pa.array(self.output[chosen], mask=word.is_valid().to_numpy(zero_copy_only=False)), word

    @cached_property
    def _partitions(self) -> tuple[Integers, Integers]:
        """Codes of (campaign, period), ascending, and for each row the index into them."""
        codes, which = np.unique(self.campaign << 32 | self.period, return_inverse=True)
        return codes, which

    @cached_property
    def _keys(self) -> tuple[Integers, Integers]:
        """Keys, ascending, and for each row the index into them."""
        keys, which = np.unique(self.key, return_inverse=True)
        return keys, which

    def _places(self, partition: Integers, key: Integers, slot: Integers) -> Integers:
        """One integer for a slot of a key in a partition; given indices of the latter two."""
        return (key * len(self._partitions[0]) + partition) * MAX_ANSWERS_PER_PERIOD + slot

    @cached_property
    def places(self) -> Integers:
        """The place that each row would fill: rows fill the same slot where these are equal."""
        return self._places(self._partitions[1], self._keys[1], self.slot)

    def free(self, table: DeltaTable, only: str = "") -> Mask:
        """Which reports fill only slots that no report of the snapshot, and no earlier one of the offer, fills.

        Args:
            only: a condition, in the query engine's words, that rows of the offer's keys fulfil; others are not read.
        Raises:
            StudyError
        """
        places, which = np.unique(self.places, return_inverse=True)
        free = np.ones(self.reports, dtype=np.bool_)
        free[self.report[self._filled(table, places, only)[which]]] = False
        left = np.flatnonzero(free[self.report])
        counts = np.bincount(which[left], minlength=len(places))
        contested = left[counts[which[left]] > 1]
        self._first_come(free, self.report[contested].tolist(), which[contested].tolist())
        return free

    @staticmethod
    def _first_come(free: Mask, reports: list[int], places: list[int]) -> None:
        """Clear ``free`` where an earlier report filled one of a report's contested places."""
        filled: set[int] = set()
        start = 0
        while start < len(reports):
            stop = start
            while stop < len(reports) and reports[stop] == reports[start]:
                stop += 1
            wanted = places[start:stop]
            if filled.isdisjoint(wanted):
                filled.update(wanted)
            else:
                free[reports[start]] = False
            start = stop

    def _filled(self, table: DeltaTable, places: Integers, only: str) -> Mask:
        """Which places the snapshot has rows for."""
        filled = np.zeros(len(places), dtype=np.bool_)
        partitions, _ = self._partitions
        keys, _ = self._keys
        flags = np.zeros(1 << _FILTER_BITS, dtype=np.bool_)
        low = (1 << _FILTER_BITS) - 1
        flags[keys & low] = True
        with storage(table):
            there = {(part["campaign"], int(part["period"])) for part in table.partitions()}
            for number, campaign in enumerate(self.campaigns):
                periods = [code & 0xFFFFFFFF for code in partitions[partitions >> 32 == number].tolist()]
                periods = [period for period in periods if (campaign, period) in there]
                if not periods:
                    continue
                listed = ", ".join(map(str, periods))
                condition = f"campaign = '{campaign}' AND period IN ({listed})"
                condition += f" AND {only}" if only else ""
                batches = table.scan(columns=["period", "key", "slot"], predicate=condition)
                for batch in batches:
                    period, key, slot = (column.to_numpy() for column in pa.record_batch(batch).columns)
                    near = np.flatnonzero(flags[key & low])
                    at = np.searchsorted(keys, key[near])
                    at[at == len(keys)] = 0
                    same = keys[at] == key[near]
                    near, at = near[same], at[same]
                    partition = np.searchsorted(partitions, number << 32 | period[near].astype(np.int64))
                    place = self._places(partition, at, slot[near].astype(np.int64))
                    at = np.searchsorted(places, place)
                    at[at == len(places)] = 0
                    filled[at[places[at] == place]] = True
        return filled
