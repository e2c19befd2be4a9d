"""The filled slots of a study, kept in memory between commits; on a worker, the slots of the keys in its shards.

Counted rows are never deleted, so for a newer snapshot only the new files are read. So the cost of deduplication grows
linearly with the number of rows. The files of a period are read again only after their compaction, or if their slots
were discarded to save memory. The filled slots are kept as sorted runs of ranges. Two runs are merged if one is at most
twice as long as the next. A report takes 8 bytes, or 16 if devices have several slots.

If the periods of the ingested reports have too many rows to keep, ``deduplicate`` queries the table in every commit
instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from aggregator.intake.columns import Integers, Mask
from aggregator.storage.paths import StoragePath
from aggregator.storage.tables import Damaged, DataFile, data_files, raising_study_errors

MAX_ROWS = 2**24
"""Maximum number of rows, in the periods of the ingested reports, whose slots are kept."""


@dataclass(frozen=True)
class SlotRanges:
    """Ranges of consecutive slots of devices in a partition, sorted by key, then by slot, without overlaps.

    Attributes:
        key: (n,) key ids.
        start, stop: (n,) the first slot, and the slot after the last; None if every range consists of slot 0.
    """

    key: Integers
    start: Integers | None
    stop: Integers | None

    @classmethod
    def of(cls, key: Integers, start: Integers, stop: Integers) -> SlotRanges:
        """Sort ranges; ranges that are adjacent in the given order and touch become one range."""
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
        """Return the first slot of each range, and the slot after its last, (n,) each."""
        if self.start is None or self.stop is None:
            return np.zeros(len(self), dtype=np.int32), np.ones(len(self), dtype=np.int32)
        return self.start, self.stop

    def disjoint(self) -> bool:
        """Return whether no two ranges overlap, which holds in every undamaged study."""
        start, stop = self.bounds()
        return not bool(((self.key[1:] == self.key[:-1]) & (start[1:] < stop[:-1])).any())

    def joined(self, other: SlotRanges) -> SlotRanges:
        """Return the ranges of both together."""
        if self.start is None and other.start is None:
            return SlotRanges(np.sort(np.concatenate([self.key, other.key]), kind="stable"), None, None)
        pairs = zip(self.bounds(), other.bounds(), strict=True)
        start, stop = (np.concatenate(pair) for pair in pairs)
        return SlotRanges.of(np.concatenate([self.key, other.key]), start, stop)

    def meet(self, key: Integers, start: Integers, stop: Integers) -> Mask:
        """Return, for each given range, whether it overlaps a range of this object."""
        if not len(self):
            return np.zeros(len(key), dtype=np.bool_)
        low = np.searchsorted(self.key, key)
        if self.start is None or self.stop is None:
            low[low == len(self)] = 0
            met: Mask = (self.key[low] == key) & (start == 0)
            return met
        after = np.searchsorted(self.key, key, side="right")
        first = low.copy()
        # Of a key's ranges that begin before ``stop``, the last one also ends last, so only that one is compared.
        while (open_ := low < after).any():
            middle = (low + after) // 2
            before = open_ & (self.start[np.minimum(middle, len(self) - 1)] < stop)
            low = np.where(before, middle + 1, low)
            after = np.where(open_ & ~before, middle, after)
        last = np.maximum(low - 1, 0)
        return (low > first) & (self.stop[last] > start)


@dataclass
class _Partition:
    """The filled slots of a period of a campaign.

    Attributes:
        files: the data files that were read.
        runs: the ranges of these files; each run is more than twice as long as the next.
        disjoint: whether no slot occurred twice in a run.
    """

    files: set[StoragePath] = field(default_factory=set)
    runs: list[SlotRanges] = field(default_factory=list)
    disjoint: bool = True

    def add(self, ranges: SlotRanges) -> None:
        while self.runs and len(self.runs[-1]) <= 2 * len(ranges):
            ranges = self.runs.pop().joined(ranges)
        self.runs.append(ranges)
        self.disjoint = self.disjoint and ranges.disjoint()


@dataclass
class Slots:
    """The filled slots of the periods of an ingest's reports.

    Attributes:
        path: the path of the table of reports.
        max_rows: see ``MAX_ROWS``.
        low, high: the least and the greatest key; rows of other keys are not kept.
    """

    path: StoragePath
    max_rows: int = MAX_ROWS
    low: int = -(2**63)
    high: int = 2**63 - 1
    _partitions: dict[tuple[str, int], _Partition] = field(default_factory=dict)

    def filled(
        self,
        table: DeltaTable,
        campaigns: Sequence[str],
        partitions: tuple[Integers, Integers],
        key: Integers,
        start: Integers,
        stop: Integers,
    ) -> Mask | None:
        """Return whether each range has a filled slot in the snapshot; None if the snapshot has too many rows to keep,
        or two rows with the same slot.

        Args:
            campaigns: ids in hex.
            partitions: codes of the pairs (index into ``campaigns``, period), and for each range the index of its code.
        Raises:
            StudyError: the snapshot cannot be read.
        """
        codes, index = partitions
        numbers = {(campaigns[code >> 32], code & 0xFFFFFFFF): number for number, code in enumerate(codes.tolist())}
        files: dict[tuple[str, int], list[DataFile]] = {}
        for file in data_files(self.path, table):
            campaign_period = str(file.partition["campaign"]), int(file.partition["period"])
            if campaign_period in numbers:
                files.setdefault(campaign_period, []).append(file)
        row_count = sum(file.rows for period_files in files.values() for file in period_files)
        # Keys are hashes, so ranges of equal width have about equally many rows.
        if row_count * (self.high - self.low + 1) >> 64 > self.max_rows:
            self._partitions.clear()
            return None
        if not self._partitions.keys() <= numbers.keys() and self._rows_in_memory() > self.max_rows:
            self._partitions.clear()
        met = np.zeros(len(key), dtype=np.bool_)
        for campaign_period, period_files in files.items():
            partition = self._read(campaign_period, period_files)
            if not partition.disjoint:
                return None
            rows = np.flatnonzero(index == numbers[campaign_period])
            rows = rows[np.argsort(key[rows])]  # sorted lookups use the cache better
            for run in partition.runs:
                met[rows] |= run.meet(key[rows], start[rows], stop[rows])
        return met

    def _rows_in_memory(self) -> int:
        return sum(len(run) for partition in self._partitions.values() for run in partition.runs)

    def _read(self, campaign_period: tuple[str, int], files: Sequence[DataFile]) -> _Partition:
        """Return the filled slots of a partition that consists of ``files``."""
        paths = {file.path for file in files}
        partition = self._partitions.get(campaign_period)
        # If files are gone, a compaction has moved their rows to other files.
        if partition is None or not partition.files <= paths:
            partition = self._partitions[campaign_period] = _Partition()
        for path in sorted(paths - partition.files, key=str):
            with raising_study_errors(self.path):
                try:
                    key, slot = self._rows(path)
                except (FileNotFoundError, pa.ArrowInvalid) as error:
                    raise Damaged.of(self.path, f"cannot be read ({str(error).partition(chr(10))[0]})") from error
            partition.add(SlotRanges.of(key, slot, slot + np.int32(1)))
            partition.files.add(path)
        return partition

    def _rows(self, path: StoragePath) -> tuple[Integers, Integers]:
        """Return the keys and slots of a file's rows; row groups without keys from ``low`` to ``high`` are not read."""
        with path.open("rb") as opened, pq.ParquetFile(opened) as file:
            groups = [
                number for number in range(file.num_row_groups) if self._may_hold(file.metadata.row_group(number))
            ]
            read = file.read_row_groups(groups, columns=["key", "slot"], use_threads=False)
        key, slot = read["key"].to_numpy(), read["slot"].to_numpy().astype(np.int32)
        in_range = (self.low <= key) & (key <= self.high)
        return (key, slot) if in_range.all() else (key[in_range], slot[in_range])

    def _may_hold(self, group: pq.RowGroupMetaData) -> bool:
        """Return whether a row group may contain a key from ``low`` to ``high``."""
        columns = (group.column(number) for number in range(group.num_columns))
        statistics = next(column.statistics for column in columns if column.path_in_schema == "key")
        if statistics is None or not statistics.has_min_max:
            return True
        return bool(statistics.min <= self.high and statistics.max >= self.low)
