"""Compaction: rewrites tables into fewer files, and deletes unused files.

Many small commits leave many small files, and lost races and killed processes leave files without a commit.
A partition is rewritten as everything is written, by compare-and-swap on the table's version; so ingest and estimate
go on meanwhile, and a crash leaves the old files or the new. A file that no snapshot names is deleted after the
retention time: until then, readers of an older snapshot may need a replaced file, and a writer may be about to commit a
new one.

How a table that lost files is made anew: rebuild.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aggregator.storage.places import Place, below, touch
from aggregator.storage.tables import (
    REPORTS,
    SCHEMAS,
    DataFile,
    StudyError,
    bring_all,
    checkpoint,
    data_files,
    pause,
    require_whole,
    rewrite,
    snapshot,
    storage,
)

if TYPE_CHECKING:
    from aggregator.study import Study

__all__ = ["Compacted", "Size", "clock_of", "compact"]

HOUR = 3600
RETENTION = 168 * HOUR
"""Seconds; as long as the table format's own default."""
SHORTEST = 24 * HOUR
"""A process needs its files for minutes; but a computer may be put to sleep in the middle of an ingest."""
FILE_BYTES = 100 * 2**20
_ATTEMPTS = 8
"""Commits of others that a partition's rewriting loses to before it is left for the next time."""

# What the engine writes: data, and whatever is half-written, which it marks by a number after a hash.
_DATA = re.compile(r"part-.*\.parquet(#\d+)?")
_HALF_WRITTEN = re.compile(r".*#\d+")


@dataclass(frozen=True)
class Size:
    """Files and the bytes in them."""

    files: int
    bytes: int

    @classmethod
    def of(cls, sizes: Iterable[int]) -> Size:
        """The summary of files with these sizes in bytes."""
        listed = list(sizes)
        return cls(len(listed), sum(listed))

    def as_json(self) -> dict[str, int]:
        """The machine-readable form."""
        return {"files": self.files, "bytes": self.bytes}


@dataclass(frozen=True)
class Compacted:
    """The result of compacting one table.

    Attributes:
        before, after: what is read, before and after.
        removed: what nobody read any more, and is gone.
        kept: what nobody reads from now on, and is removed once it is old enough.
        left: partitions that others kept committing to; nothing changed in them.
    """

    table: str
    before: Size
    after: Size
    removed: Size
    kept: Size
    left: int

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form."""
        return {
            "before": self.before.as_json(),
            "after": self.after.as_json(),
            "removed": self.removed.as_json(),
            "kept": self.kept.as_json(),
            "left": self.left,
        }


def clock_of(study: Study) -> float:
    """UTC seconds, by the clock that dates the study's files.

    The files may be on a file server, and this computer's clock may be weeks ahead; then a file that an ingest is about
    to commit would look old.

    Raises:
        StudyError
    """
    with storage(study.path / REPORTS):
        probe = study.path / f".clock-{secrets.token_hex(8)}"
        probe.write_bytes(b"")
        try:
            return probe.stat().st_mtime
        finally:
            probe.unlink()


def compact(
    study: Study,
    *,
    now: float,
    retention: int = RETENTION,
    alone: bool = False,
    file_bytes: int = FILE_BYTES,
    progress: Callable[[int], None] | None = None,
) -> list[Compacted]:
    """Rewrite small files into large ones, and delete unused files; tallies do not change.

    Args:
        now: UTC seconds, by the clock that dates the files (``clock_of``).
        retention: seconds for which unread files are kept.
        alone: no other process has the study open, so that none needs them.
        file_bytes: what a file should hold.
        progress: told 1 after each table.
    Raises:
        StudyError: the retention is short and others may be at work; or the study is damaged, or cannot be written.
    """
    if retention < SHORTEST and not alone:
        raise StudyError(
            f"unread files are kept {SHORTEST // HOUR} hours at least, because an ingest or an estimate at work may "
            "need them; when none is at work, say so with --alone"
        )
    done = []
    for name in SCHEMAS:
        done.append(_compact(study.path / name, now - retention, file_bytes))
        if progress is not None:
            progress(1)
    return done


def _compact(path: Place, before: float, file_bytes: int) -> Compacted:
    found = data_files(path, require_whole(path))
    left = sum(not _rewritten(path, partition, file_bytes) for partition in _partitions(found).values())
    with storage(path):
        table = snapshot(path)
        if not (path / "_delta_log" / f"{table.version():020}.checkpoint.parquet").exists():
            checkpoint(path, table)
        table.cleanup_metadata()  # commits before the checkpoint that are older than the format's 30 days
        removed, kept = _sweep(path, before)
    after = data_files(path, snapshot(path))
    return Compacted(
        path.name, Size.of(one.size for one in found), Size.of(one.size for one in after), removed, kept, left
    )


def _partitions(files: Iterable[DataFile]) -> dict[tuple[str | int, ...], Mapping[str, str | int]]:
    return {tuple(file.partition.values()): file.partition for file in files}


def _rewritten(path: Place, partition: Mapping[str, str | int], file_bytes: int) -> bool:
    """Whether a partition is in as few files as it should be, rewritten or not."""
    for attempt in range(1, _ATTEMPTS + 1):
        table = snapshot(path)
        files = [file for file in data_files(path, table) if file.partition == partition]
        needed = -(-sum(file.size for file in files) // file_bytes)
        # Twice as many at least, so that a row is not rewritten each time that one file is added to large ones.
        if len(files) < 2 * max(needed, 1):
            return True
        with storage(path):
            for file in files:
                touch(file.path)  # gets a new time, so that readers have the whole retention time
        if rewrite(path, table, partition, file_bytes):
            return True
        pause(attempt)
    return False


def _sweep(path: Place, before: float) -> tuple[Size, Size]:
    """Remove unread files that have not changed since ``before``.

    Returns:
        What was removed, and what is unread and stays.
    Raises:
        StudyError
        OSError
    """
    log = path / "_delta_log"
    # Files are listed first: a file written later may be in no snapshot yet.
    there = [file.place for file in below(path) if _is_engines(file.place, log)]
    live = {file.path for file in data_files(path, require_whole(path))}
    removed, kept = [], []
    synced = False
    for file in there:
        if file in live:
            continue
        with suppress(FileNotFoundError):  # another process deleted it
            found = file.stat()
            if found.st_mtime >= before:
                kept.append(found.st_size)
                continue
            if not synced:
                # A power failure must not take both what is read and what it came from.
                bring_all(path)
                synced = True
            file.unlink()
            removed.append(found.st_size)
    return Size.of(removed), Size.of(kept)


def _is_engines(file: Place, log: Place) -> bool:
    pattern = _HALF_WRITTEN if file.parent == log else _DATA
    return pattern.fullmatch(file.name) is not None
