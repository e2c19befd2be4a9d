"""Fingerprints of counted outputs: one lookup decides whether an output is in the study.

A fingerprint is 64 bits of (period, key, slot, output) under a secret of the process. Counted rows are never taken
away, so each data file is read once, whoever wrote it; what is kept are sorted runs, merged as soon as one is not much
longer than the next: 8 bytes an output. Two outputs have the same fingerprint with probability 2^-64.

Who may ask: receipts. When files are looked for: view.
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
from aggregator.storage.places import Place
from aggregator.storage.tables import DataFile, data_files, storage

Prints = NDArray[np.uint64]

_ROWS = 2**16
"""Rows of a file that are in memory at once."""


def fingerprints(secret: int, period: int | Integers, key: Integers, slot: Integers, said: Bytes) -> Prints:
    """Fingerprints of outputs.

    Args:
        secret: 64 bits.
        said: (n, w) what each says: a number as 8 bytes, a word as the bytes it is counted as.
    Returns:
        (n,)
    """
    words = np.zeros((len(said), -(-said.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : said.shape[1]] = said
    found = np.full(len(key), secret, dtype=np.uint64)
    for column in (period, key, slot, *words.view("<u8").T):
        found = _mixed(found ^ np.asarray(column).astype(np.uint64))
    return found


def _mixed(x: Prints) -> Prints:
    """A permutation of 64 bits (splitmix64; Steele, Lea and Flood 2014)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Prints = x ^ (x >> np.uint64(31))
    return mixed


@dataclass(frozen=True)
class Counted:
    """The fingerprints of a campaign's counted outputs, as of one version of the table.

    Attributes:
        secret: see ``fingerprints``.
        files: data files that were read.
        runs: sorted; each more than twice as long as the next.
    """

    secret: int = field(repr=False)
    files: frozenset[Place] = frozenset()
    runs: tuple[Prints, ...] = ()

    def holds(self, prints: Prints) -> Mask:
        """Which of some fingerprints are those of counted outputs."""
        found = np.zeros(len(prints), dtype=np.bool_)
        for run in self.runs:
            at = np.searchsorted(run, prints)
            at[at == len(run)] = 0
            found |= run[at] == prints
        return found

    def following(self, path: Place, table: DeltaTable, campaign: str) -> Counted:
        """The same of a newer snapshot of the table of reports at ``path``; only files that came since are read.

        Args:
            campaign: id in hex.
        Raises:
            StudyError
        """
        files = [file for file in data_files(path, table) if file.partition["campaign"] == campaign]
        there = frozenset(file.path for file in files)
        kept = self if self.files <= there else Counted(self.secret)  # compacted: the same rows are in other files
        runs = list(kept.runs)
        with storage(path):
            for file in files:
                if file.path not in kept.files:
                    new = self._read(file)
                    while runs and len(runs[-1]) <= 2 * len(new):
                        new = np.sort(np.concatenate([runs.pop(), new]), kind="stable")
                    runs.append(new)
        return Counted(self.secret, there, tuple(runs))

    def _read(self, file: DataFile) -> Prints:
        """The sorted fingerprints of a file's rows."""
        found: list[Prints] = [np.zeros(0, dtype=np.uint64)]
        period = int(file.partition["period"])
        with file.path.open("rb") as opened, pq.ParquetFile(opened) as parquet:
            for batch in parquet.iter_batches(_ROWS, columns=["key", "slot", "output", "word"], use_threads=False):
                for rows in _alike(batch):
                    key, slot = (rows[name].to_numpy() for name in ("key", "slot"))
                    found.append(fingerprints(self.secret, period, key, slot, _said(rows)))
        return np.sort(np.concatenate(found))


def _alike(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows in parts: all numbers, or all words of one length. Views of a campaign may differ in that."""
    word = rows["word"].cast(pa.binary())  # the type it is read with cannot be filtered
    rows = rows.set_column(rows.schema.get_field_index("word"), "word", word)
    length = pc.binary_length(word).fill_null(0).to_numpy()
    for one in np.unique(length):
        yield rows.filter(pa.array(length == one))


def _said(rows: pa.RecordBatch) -> Bytes:
    """(n, w) what rows of the ``reports`` table say, where they are alike."""
    if rows["word"].null_count == len(rows):
        return numbers(rows["output"].to_numpy())
    length = len(rows["word"][0].as_py())
    word = rows["word"].cast(pa.binary(length))
    octets = np.frombuffer(word.buffers()[1], dtype=np.uint8).reshape(-1, length)
    return octets[word.offset : word.offset + len(word)]


def numbers(output: Integers) -> Bytes:
    """(n, 8) outputs that are numbers, as ``fingerprints`` takes them."""
    return np.ascontiguousarray(output, dtype="<i8").view(np.uint8).reshape(-1, 8)
