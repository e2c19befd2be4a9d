"""Deduplication: finds the reports whose slots are still free.

Each slot of a device in a period is filled at most once. A report is accepted as a whole if no slot of it is filled in
a snapshot of the study or by an earlier candidate; otherwise it is refused. An accepted report is committed against the
same snapshot, so it counts exactly once. The slots of a report are consecutive, so whole reports are looked
up, not their outputs.

``slots`` keeps the filled slots in memory between commits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from aggregator.intake.columns import ByteStrings, Integers, Mask
from aggregator.intake.slots import Slots
from aggregator.storage.tables import REPORTS, SCHEMAS, raising_study_errors
from protocol.campaign import MAX_ANSWERS_PER_PERIOD

_FILTER_BITS = 22
"""Number of low bits of a key that select one of 2^22 flags. Keys are hashes, so the flags exclude most other keys."""


@dataclass(frozen=True)
class Candidates:
    """Verified outputs, one row for each, in ascending order of ``report``.

    Attributes:
        campaigns: ids, in hex.
        report: index of the report that contains the output, 0 .. reports - 1.
        campaign: index into ``campaigns``.
        period, key, slot, view, output, word: as in the ``reports`` table. ``word`` is None if no row has a word; in a
            row with a word, ``output`` has no meaning.
    """

    campaigns: tuple[str, ...]
    reports: int
    report: Integers
    campaign: Integers
    period: Integers
    key: Integers
    slot: Integers
    view: Integers
    output: Integers
    word: ByteStrings | None

    def rows(self, free: Mask) -> pa.Table:
        """Return the rows of the ``reports`` table for the reports that are ``free``."""
        chosen = slice(None) if free.all() else np.flatnonzero(free[self.report])
        columns = [
            self._names(self.campaign[chosen]),
            pa.array(self.period[chosen].astype(np.int32)),
            pa.array(self.key[chosen]),
            pa.array(self.slot[chosen].astype(np.int32)),
            pa.array(self.view[chosen].astype(np.int16)),
            *self._outputs(self.output[chosen], None if self.word is None else self.word[chosen]),
        ]
        return pa.table(columns, schema=SCHEMAS[REPORTS])

    def _names(self, campaign: Integers) -> pa.Array:
        """Return the column ``campaign`` of the given rows."""
        if len(campaign) and (campaign == campaign[0]).all():
            return pa.repeat(self.campaigns[int(campaign[0])], len(campaign))
        return pa.array(self.campaigns, pa.string()).take(pa.array(campaign))

    @staticmethod
    def _outputs(output: Integers, words: ByteStrings | None) -> tuple[pa.Array, pa.Array]:
        """Return the columns ``output`` and ``word`` of the given rows; in each row one of the two is null."""
        if words is None:
            return pa.array(output), pa.nulls(len(output), pa.binary())
        word = pa.array(words, pa.binary())
        return pa.array(output, mask=word.is_valid().to_numpy(zero_copy_only=False)), word

    @cached_property
    def _first(self) -> Integers:
        """The index of the first row of each report."""
        return np.flatnonzero(np.diff(self.report, prepend=-1))

    @cached_property
    def _partitions(self) -> tuple[Integers, Integers]:
        """Codes of the pairs (campaign, period), ascending, and for each report the index of its code."""
        codes, index = np.unique((self.campaign << 32 | self.period)[self._first], return_inverse=True)
        return codes, index

    @cached_property
    def _keys(self) -> tuple[Integers, Integers]:
        """Key ids, ascending, and for each report the index of its key id."""
        keys, index = np.unique(self.key[self._first], return_inverse=True)
        return keys, index

    def _slot_codes(self, partition: Integers, key: Integers, slot: Integers) -> Integers:
        """Encode each slot as one integer, from the index of its partition, the index of its key and its number."""
        return (key * len(self._partitions[0]) + partition) * MAX_ANSWERS_PER_PERIOD + slot

    def slot_codes(self, rows: Integers) -> Integers:
        """Return one integer for each row, equal for rows that fill the same slot."""
        report = self.report[rows]
        return self._slot_codes(self._partitions[1][report], self._keys[1][report], self.slot[rows])

    def free(self, table: DeltaTable, key_condition: str = "", slots: Slots | None = None) -> Mask:
        """Return, for each report, whether none of its slots is filled in the snapshot or by an earlier free report of
        these candidates.

        Args:
            key_condition: an SQL condition that all rows of the candidates' keys meet; other rows are not read.
            slots: the filled slots of earlier snapshots; None to query the snapshot.
        Raises:
            StudyError: the snapshot cannot be read.
        """
        free = ~self._replayed(table, key_condition, slots)
        device = self._keys[1] * len(self._partitions[0]) + self._partitions[1]
        _, index, times = np.unique(device, return_inverse=True, return_counts=True)
        # Two reports can fill the same slot only if a device sent several reports for one period.
        rows = np.flatnonzero((free & (times[index] > 1))[self.report])
        _, index, times = np.unique(self.slot_codes(rows), return_inverse=True, return_counts=True)
        contested = times[index] > 1
        self._first_come(free, self.report[rows[contested]].tolist(), index[contested].tolist())
        return free

    def _replayed(self, table: DeltaTable, key_condition: str, slots: Slots | None) -> Mask:
        """Return, for each report, whether it fills a slot that is already filled in the snapshot."""
        if slots is not None:
            start = self.slot[self._first]
            stop = start + np.bincount(self.report, minlength=self.reports)
            known = slots.filled(table, self.campaigns, self._partitions, self.key[self._first], start, stop)
            if known is not None:
                return known
        replayed = np.zeros(self.reports, dtype=np.bool_)
        codes, index = np.unique(self.slot_codes(np.arange(len(self.report))), return_inverse=True)
        replayed[self.report[self._filled(table, codes, key_condition)[index]]] = True
        return replayed

    @staticmethod
    def _first_come(free: Mask, reports: list[int], codes: list[int]) -> None:
        """Clear ``free`` for each report with a contested slot that an earlier report has filled."""
        filled: set[int] = set()
        start = 0
        while start < len(reports):
            stop = start
            while stop < len(reports) and reports[stop] == reports[start]:
                stop += 1
            report_slots = codes[start:stop]
            if filled.isdisjoint(report_slots):
                filled.update(report_slots)
            else:
                free[reports[start]] = False
            start = stop

    def _filled(self, table: DeltaTable, codes: Integers, key_condition: str) -> Mask:
        """Return, for each slot code (in ascending order), whether the snapshot has a row for it."""
        filled = np.zeros(len(codes), dtype=np.bool_)
        partitions, _ = self._partitions
        keys, _ = self._keys
        flags = np.zeros(1 << _FILTER_BITS, dtype=np.bool_)
        low = (1 << _FILTER_BITS) - 1
        flags[keys & low] = True
        with raising_study_errors(table):
            existing = {(part["campaign"], int(part["period"])) for part in table.partitions()}
            for number, campaign in enumerate(self.campaigns):
                periods = [code & 0xFFFFFFFF for code in partitions[partitions >> 32 == number].tolist()]
                periods = [period for period in periods if (campaign, period) in existing]
                if not periods:
                    continue
                listed = ", ".join(map(str, periods))
                condition = f"campaign = '{campaign}' AND period IN ({listed})"
                condition += f" AND {key_condition}" if key_condition else ""
                batches = table.scan(columns=["period", "key", "slot"], predicate=condition)
                for batch in batches:
                    period, key, slot = (column.to_numpy() for column in pa.record_batch(batch).columns)
                    likely_rows = np.flatnonzero(flags[key & low])
                    index = np.searchsorted(keys, key[likely_rows])
                    index[index == len(keys)] = 0
                    same = keys[index] == key[likely_rows]
                    likely_rows, index = likely_rows[same], index[same]
                    partition = np.searchsorted(partitions, number << 32 | period[likely_rows].astype(np.int64))
                    code = self._slot_codes(partition, index, slot[likely_rows].astype(np.int64))
                    index = np.searchsorted(codes, code)
                    index[index == len(codes)] = 0
                    filled[index[codes[index] == code]] = True
        return filled
