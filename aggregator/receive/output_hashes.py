"""Hashes of counted outputs: one lookup decides whether an output is in the study.

The hash of an output has 64 bits; it is computed from (period, key, slot, output) and a secret of the process. Counted
rows are never deleted, so for a newer snapshot only the new files are read; after a compaction, all files are read
again. The hashes are kept as sorted runs. Two runs are merged if one is at most twice as long as the next. Two
different outputs have the same hash with probability 2^-64.

``acknowledgements`` answers queries of counted reports, and ``snapshot`` reads new files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable
from numpy.typing import NDArray

from aggregator.intake.columns import Bytes, Integers, Mask
from aggregator.storage.paths import StoragePath
from aggregator.storage.tables import DataFile, data_files, raising_study_errors

Hashes = NDArray[np.uint64]

_ROWS = 2**16
"""Maximum number of rows of a file in memory."""


def output_hashes(secret: int, period: int | Integers, key: Integers, slot: Integers, output: Bytes) -> Hashes:
    """Return the hashes of outputs.

    Args:
        secret: 64 bits.
        period, key, slot: (n,) as in the ``reports`` table.
        output: (n, w) bytes: the 8 bytes of each output that is a number, or the bytes of each word.
    Returns:
        (n,) hashes.
    """
    words = np.zeros((len(output), -(-output.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : output.shape[1]] = output
    hashes = np.full(len(key), secret, dtype=np.uint64)
    for column in (period, key, slot, *words.view("<u8").T):
        hashes = _mixed(hashes ^ np.asarray(column).astype(np.uint64))
    return hashes


def _mixed(x: Hashes) -> Hashes:
    """Permute 64-bit integers (splitmix64; Steele, Lea and Flood 2014)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@dataclass(frozen=True)
class CountedHashes:
    """The hashes of a campaign's counted outputs in one snapshot.

    Attributes:
        secret: see ``output_hashes``.
        files: the data files that were read.
        runs: sorted hashes; each run is more than twice as long as the next.
    """

    secret: int = field(repr=False)
    files: frozenset[StoragePath] = frozenset()
    runs: tuple[Hashes, ...] = ()

    def holds(self, hashes: Hashes) -> Mask:
        """Return, for each hash, whether it belongs to a counted output."""
        counted = np.zeros(len(hashes), dtype=np.bool_)
        for run in self.runs:
            positions = np.searchsorted(run, hashes)
            positions[positions == len(run)] = 0
            counted |= run[positions] == hashes
        return counted

    def updated(self, path: StoragePath, table: DeltaTable, campaign: str) -> CountedHashes:
        """Return the hashes in a newer snapshot; only its new files are read, or all if earlier files are gone.

        Args:
            path: the path of the table of reports.
            campaign: the campaign's id, in hex.
        Raises:
            StudyError: the table cannot be read.
        """
        files = [file for file in data_files(path, table) if file.partition["campaign"] == campaign]
        paths = frozenset(file.path for file in files)
        # If files are gone, a compaction has moved their rows to other files.
        base = self if self.files <= paths else CountedHashes(self.secret)
        runs = list(base.runs)
        with raising_study_errors(path):
            for file in files:
                if file.path not in base.files:
                    new = self._read(file)
                    while runs and len(runs[-1]) <= 2 * len(new):
                        new = np.sort(np.concatenate([runs.pop(), new]), kind="stable")
                    runs.append(new)
        return CountedHashes(self.secret, paths, tuple(runs))

    def _read(self, file: DataFile) -> Hashes:
        """Return the sorted hashes of a file's rows."""
        hashes: list[Hashes] = [np.zeros(0, dtype=np.uint64)]
        period = int(file.partition["period"])
        with file.path.open("rb") as opened, pq.ParquetFile(opened) as parquet:
            for batch in parquet.iter_batches(_ROWS, columns=["key", "slot", "output", "word"], use_threads=False):
                for rows in _alike(batch):
                    key, slot = (rows[name].to_numpy() for name in ("key", "slot"))
                    hashes.append(output_hashes(self.secret, period, key, slot, _output(rows)))
        return np.sort(np.concatenate(hashes))


def _alike(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield the rows divided by the form of their outputs, numbers or words of one length; views may have different
    forms."""
    word = rows["word"].cast(pa.binary())  # the original type, string views, cannot be filtered
    rows = rows.set_column(rows.schema.get_field_index("word"), "word", word)
    length = pc.binary_length(word).fill_null(0).to_numpy()
    for size in np.unique(length):
        yield rows.filter(pa.array(length == size))


def _output(rows: pa.RecordBatch) -> Bytes:
    """Return the (n, w) bytes of the outputs of rows whose outputs have the same form."""
    if rows["word"].null_count == len(rows):
        return number_bytes(rows["output"].to_numpy())
    length = len(rows["word"][0].as_py())
    word = rows["word"].cast(pa.binary(length))
    octets = np.frombuffer(word.buffers()[1], dtype=np.uint8).reshape(-1, length)
    return octets[word.offset : word.offset + len(word)]


def number_bytes(output: Integers) -> Bytes:
    """Return numbers as (n, 8) bytes, for ``output_hashes``."""
    return np.ascontiguousarray(output, dtype="<i8").view(np.uint8).reshape(-1, 8)
