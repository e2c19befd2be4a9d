"""Compaction of tables into fewer files, and deletion of unused files.

Many small commits leave many small files; lost races and killed processes leave files without a commit. A partition is
rewritten by compare-and-swap on the table's version, like every other write. Therefore ingest and estimate can run at
the same time, and a crash leaves either the old files or the new files. A file that is not in the current snapshot is
deleted after the retention time. Until then, readers of an older snapshot may need it, or a writer may be about to
commit it.

``aggregator.rebuild`` repairs a table that lost files.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aggregator.storage.paths import StoragePath, files_below, touch
from aggregator.storage.tables import (
    REPORTS,
    SCHEMAS,
    StudyError,
    data_files,
    pause,
    raising_study_errors,
    require_whole,
    rewrite,
    snapshot,
    sync_table,
    write_table_checkpoint,
)

if TYPE_CHECKING:
    from aggregator.study import Study

HOUR = 3600
RETENTION = 168 * HOUR
"""Retention time in seconds: the table format's default."""
MIN_RETENTION = 24 * HOUR
"""Minimum retention time in seconds if other processes may use the study. An ingest takes minutes, but a computer may
sleep during it."""
FILE_BYTES = 100 * 2**20
"""Size in bytes of a full file."""
_ATTEMPTS = 8
"""Number of attempts to rewrite a partition; after that, it is left for the next compaction."""

# Names of files that the storage engine writes: data files, and partial files, which end in # and a number.
_DATA = re.compile(r"part-.*\.parquet(#\d+)?")
_HALF_WRITTEN = re.compile(r".*#\d+")


@dataclass(frozen=True)
class FileTotals:
    """A number of files, and their total size in bytes."""

    files: int
    bytes: int

    @classmethod
    def of(cls, sizes: Iterable[int]) -> FileTotals:
        """Return the number and total size of files with these sizes in bytes."""
        listed = list(sizes)
        return cls(len(listed), sum(listed))

    def as_json(self) -> dict[str, int]:
        return {"files": self.files, "bytes": self.bytes}


@dataclass(frozen=True)
class Compaction:
    """The result of compacting one table.

    Attributes:
        before, after: the files of the current snapshot, before and after the compaction.
        removed: unused files that were deleted.
        retained: unused files that are not old enough to be deleted.
        unchanged: number of partitions left unchanged because other processes committed to the table at every attempt.
    """

    table: str
    before: FileTotals
    after: FileTotals
    removed: FileTotals
    retained: FileTotals
    unchanged: int

    def as_json(self) -> dict[str, Any]:
        return {
            "before": self.before.as_json(),
            "after": self.after.as_json(),
            "removed": self.removed.as_json(),
            "retained": self.retained.as_json(),
            "unchanged": self.unchanged,
        }


def clock_of(study: Study) -> float:
    """Return the time in UTC seconds by the clock that dates the study's files.

    The files may be on a file server, and this computer's clock may be wrong. If this clock were weeks ahead, a file
    that an ingest is about to commit would look old.

    Raises:
        StudyError: the study cannot be written.
    """
    with raising_study_errors(study.path / REPORTS):
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
) -> list[Compaction]:
    """Rewrite small files into large ones, and delete unused files; tallies do not change.

    Args:
        now: the current time, UTC seconds, by the clock that dates the files (``clock_of``).
        retention: seconds for which unused files are kept.
        alone: whether no other process has the study open, so that none needs the unused files.
        file_bytes: target size of a rewritten file in bytes.
        progress: called with 1 after each table.
    Raises:
        StudyError: the retention time is too short and other processes may have the study open; or the study is damaged
            or cannot be written.
    """
    if retention < MIN_RETENTION and not alone:
        raise StudyError(
            f"the retention time must be at least {MIN_RETENTION // HOUR} hours, not {retention / HOUR:g}, "
            "because a running ingest or estimate may need files that the current tables do not use; if no other "
            "command uses the study, add --alone"
        )
    compactions = []
    for name in SCHEMAS:
        compactions.append(_compact(study.path / name, now - retention, file_bytes))
        if progress is not None:
            progress(1)
    return compactions


def _compact(path: StoragePath, cutoff: float, file_bytes: int) -> Compaction:
    files = data_files(path, require_whole(path))
    partitions = {tuple(file.partition.values()): file.partition for file in files}
    unchanged = sum(not _rewritten(path, partition, file_bytes) for partition in partitions.values())
    with raising_study_errors(path):
        table = snapshot(path)
        if not (path / "_delta_log" / f"{table.version():020}.checkpoint.parquet").exists():
            write_table_checkpoint(path, table)
        # This deletes commits that are before the checkpoint and older than the format's 30 days.
        table.cleanup_metadata()
        removed, retained = _sweep(path, cutoff)
    after = data_files(path, snapshot(path))
    return Compaction(
        path.name,
        FileTotals.of(file.size for file in files),
        FileTotals.of(file.size for file in after),
        removed,
        retained,
        unchanged,
    )


def _rewritten(path: StoragePath, partition: Mapping[str, str | int], file_bytes: int) -> bool:
    """Rewrite a partition if it has too many files; return False if other processes committed to the table
    during every attempt."""
    for attempt in range(1, _ATTEMPTS + 1):
        table = snapshot(path)
        files = [file for file in data_files(path, table) if file.partition == partition]
        minimum_files = -(-sum(file.size for file in files) // file_bytes)
        # Files are merged only if this at least halves their number, so that large files are not rewritten each time
        # that a small file is added.
        if len(files) < 2 * max(minimum_files, 1):
            return True
        with raising_study_errors(path):
            for file in files:
                # The new date keeps the replaced files for the whole retention time, because readers may need them.
                touch(file.path)
        if rewrite(path, table, partition, file_bytes):
            return True
        pause(attempt)
    return False


def _sweep(path: StoragePath, cutoff: float) -> tuple[FileTotals, FileTotals]:
    """Delete unused files that have not changed since ``cutoff``.

    Returns:
        The size of the deleted files, and the size of the unused files that were kept.
    Raises:
        StudyError, OSError: the study is damaged, or a file cannot be deleted.
    """
    log = path / "_delta_log"
    # Files are listed first: a file written later may be in no snapshot yet.
    files = [file.path for file in files_below(path) if _written_by_storage(file.path, log)]
    live = {file.path for file in data_files(path, require_whole(path))}
    removed, retained = [], []
    synced = False
    for file in files:
        if file in live:
            continue
        with suppress(FileNotFoundError):  # another process deleted it
            status = file.stat()
            if status.st_mtime >= cutoff:
                retained.append(status.st_size)
                continue
            if not synced:
                # A power failure must not destroy both the new files and the files they were made from.
                sync_table(path)
                synced = True
            file.unlink()
            removed.append(status.st_size)
    return FileTotals.of(removed), FileTotals.of(retained)


def _written_by_storage(file: StoragePath, log: StoragePath) -> bool:
    pattern = _HALF_WRITTEN if file.parent == log else _DATA
    return pattern.fullmatch(file.name) is not None
