"""The filled slots of a study, kept in memory between commits; on a worker, those of some keys.

Counted rows are never deleted, so each data file is read once. A look at a newer snapshot reads
only the files that came since, whoever wrote them, and the cost of deduplication grows with the rows and not with their
square. What is kept are sorted runs of spans of slots, merged as soon as one is not much longer than the next: 8 bytes
a report, 16 where devices have several slots.

A period with too many rows to keep is queried again by every commit: deduplicate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from aggregator.intake.columns import Integers, Mask
from aggregator.storage.places import Place
from aggregator.storage.tables import Damaged, DataFile, data_files, storage

MOST_ROWS = 2**24
"""Rows of the periods at hand for which slots are kept."""


@dataclass(frozen=True)
class Spans:
    """Slots of devices in a partition, in ascending order of key, then of slot; no two overlap.

    Attributes:
        key: (n,) key ids.
        start, stop: (n,) first slot, and just after the last; None altogether where all are slot 0 alone.
    """

    key: Integers
    start: Integers | None
    stop: Integers | None

    @classmethod
    def of(cls, key: Integers, start: Integers, stop: Integers) -> Spans:
        """Spans in any order, those that touch in it as one."""
        if not len(key) or (not start.any() and (stop == 1).all()):
            return cls(np.sort(key, kind="stable"), None, None)
        begins = np.append(True, (key[1:] != key[:-1]) | (start[1:] != stop[:-1]))
        ends = np.append(begins[1:], True)
        key, start, stop = key[begins], start[begins], stop[ends]
        order = np.lexsort((start, key))
        return cls(key[order], start[order], stop[order])

    def __len__(self) -> int:
        return len(self.key)

    def bounds(self) -> tuple[Integers, Integers]:
        """``start`` and ``stop``."""
        if self.start is None or self.stop is None:
            return np.zeros(len(self), dtype=np.int32), np.ones(len(self), dtype=np.int32)
        return self.start, self.stop

    def disjoint(self) -> bool:
        """Whether no two overlap, as no two of a study do."""
        start, stop = self.bounds()
        return not bool(((self.key[1:] == self.key[:-1]) & (start[1:] < stop[:-1])).any())

    def joined(self, other: Spans) -> Spans:
        """Both."""
        if self.start is None and other.start is None:
            return Spans(np.sort(np.concatenate([self.key, other.key]), kind="stable"), None, None)
        pairs = zip(self.bounds(), other.bounds(), strict=True)
        start, stop = (np.concatenate(pair) for pair in pairs)
        return Spans.of(np.concatenate([self.key, other.key]), start, stop)

    def meet(self, key: Integers, start: Integers, stop: Integers) -> Mask:
        """Return, for each given span, whether it overlaps one of these."""
        if not len(self):
            return np.zeros(len(key), dtype=np.bool_)
        low = np.searchsorted(self.key, key)
        if self.start is None or self.stop is None:
            low[low == len(self)] = 0
            met: Mask = (self.key[low] == key) & (start == 0)
            return met
        after = np.searchsorted(self.key, key, side="right")
        first = low.copy()
        # The last span of the key that begins before ``stop`` ends last.
        while (open_ := low < after).any():
            middle = (low + after) // 2
            before = open_ & (self.start[np.minimum(middle, len(self) - 1)] < stop)
            low = np.where(before, middle + 1, low)
            after = np.where(open_ & ~before, middle, after)
        last = np.maximum(low - 1, 0)
        return (low > first) & (self.stop[last] > start)


@dataclass
class _Partition:
    """What was read of a campaign's period.

    Attributes:
        files: that were read.
        runs: their spans; each run more than twice as long as the next.
        sound: whether no slot was found twice in a run.
    """

    files: set[Place] = field(default_factory=set)
    runs: list[Spans] = field(default_factory=list)
    sound: bool = True

    def add(self, spans: Spans) -> None:
        """Take in what was read."""
        while self.runs and len(self.runs[-1]) <= 2 * len(spans):
            spans = self.runs.pop().joined(spans)
        self.runs.append(spans)
        self.sound = self.sound and spans.disjoint()


@dataclass
class Slots:
    """The filled slots of the periods that an ingest meets.

    Attributes:
        path: of the table of reports.
        most: see ``MOST_ROWS``.
        low, high: the least and the greatest key that is looked for; rows of others are not kept.
    """

    path: Place
    most: int = MOST_ROWS
    low: int = -(2**63)
    high: int = 2**63 - 1
    _partitions: dict[tuple[str, int], _Partition] = field(default_factory=dict)

    def filled(
        self,
        table: DeltaTable,
        campaigns: Sequence[str],
        partition: tuple[Integers, Integers],
        key: Integers,
        start: Integers,
        stop: Integers,
    ) -> Mask | None:
        """Which spans of slots the snapshot has rows in; None where it has too many rows to keep.

        Args:
            campaigns: ids in hex.
            partition: codes of (index into ``campaigns``, period), and for each span the index into them.
        Raises:
            StudyError
        """
        codes, which = partition
        wanted = {(campaigns[code >> 32], code & 0xFFFFFFFF): number for number, code in enumerate(codes.tolist())}
        files: dict[tuple[str, int], list[DataFile]] = {}
        for file in data_files(self.path, table):
            at = str(file.partition["campaign"]), int(file.partition["period"])
            if at in wanted:
                files.setdefault(at, []).append(file)
        number = sum(file.rows for some in files.values() for file in some)
        # Keys are hashes, so ranges of equal width have about equally many.
        if number * (self.high - self.low + 1) >> 64 > self.most:
            self._partitions.clear()
            return None
        if any(at not in wanted for at in self._partitions) and self._held() > self.most:
            self._partitions.clear()
        met = np.zeros(len(key), dtype=np.bool_)
        for at, some in files.items():
            there = self._read(at, some)
            if not there.sound:
                return None
            rows = np.flatnonzero(which == wanted[at])
            rows = rows[np.argsort(key[rows])]  # neighbours are looked up in the same places of memory
            for run in there.runs:
                met[rows] |= run.meet(key[rows], start[rows], stop[rows])
        return met

    def _held(self) -> int:
        return sum(len(run) for one in self._partitions.values() for run in one.runs)

    def _read(self, at: tuple[str, int], files: Sequence[DataFile]) -> _Partition:
        """A partition, which these files are."""
        paths = {file.path for file in files}
        there = self._partitions.get(at)
        if there is None or not there.files <= paths:  # after compaction the same rows are in other files
            there = self._partitions[at] = _Partition()
        for path in sorted(paths - there.files, key=str):
            with storage(self.path):
                try:
                    key, slot = self._rows(path)
                except (FileNotFoundError, pa.ArrowInvalid) as error:
                    raise Damaged(self.path, f"cannot be read ({str(error).partition(chr(10))[0]})") from error
            there.add(Spans.of(key, slot, slot + np.int32(1)))
            there.files.add(path)
        return there

    def _rows(self, path: Place) -> tuple[Integers, Integers]:
        """Keys and slots of a data file's rows; in a file that is sorted by key, other keys' rows are not read."""
        with path.open("rb") as opened, pq.ParquetFile(opened) as file:
            groups = [number for number in range(file.num_row_groups) if self._near(file.metadata.row_group(number))]
            read = file.read_row_groups(groups, columns=["key", "slot"], use_threads=False)
        key, slot = read["key"].to_numpy(), read["slot"].to_numpy().astype(np.int32)
        mine = (self.low <= key) & (key <= self.high)
        return (key, slot) if mine.all() else (key[mine], slot[mine])

    def _near(self, group: pq.RowGroupMetaData) -> bool:
        """Whether a row group may hold a key that is looked for."""
        columns = (group.column(number) for number in range(group.num_columns))
        told = next(column.statistics for column in columns if column.path_in_schema == "key")
        if told is None or not told.has_min_max:
            return True
        return bool(told.min <= self.high and told.max >= self.low)
