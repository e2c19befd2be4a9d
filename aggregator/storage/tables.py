"""The study's tables, and the only way to write to them.

A commit is a compare-and-swap on the table's version. Rows are computed from a snapshot and appended only if no other
process committed in between; otherwise they are computed again from a newer snapshot. Therefore each report is added as
a whole and at most once with any number of writers, and a crash leaves a whole commit or none. Readers see append-only
tables; compaction moves the same rows to fewer files.

The storage engine does not sync commits to the disk. So this module syncs the data files, the log entry and their
folders before it reports a commit. A power failure before that may leave a damaged commit; ``exists`` detects it, and
rebuild repairs it from the archived batches.

``intake`` and ``study`` define the meaning of the rows.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import (
    ColumnProperties,
    CommitProperties,
    DeltaTable,
    PostCommitHookProperties,
    QueryBuilder,
    WriterProperties,
    write_deltalake,
)
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from aggregator.storage import remote
from aggregator.storage.paths import StoragePath, files_below, of_uri, sync, uri_of
from aggregator.storage.remote import Remote
from protocol.errors import HalftruthError

CAMPAIGNS, KEYS, REPORTS, REFUSALS = "campaigns", "keys", "reports", "refusals"


def _schema(**fields: pa.DataType | pa.Field) -> pa.Schema:
    """Return a schema with a column for each argument. A column given as a type must not be null; a column given as a
    field may be."""
    return pa.schema(
        kind if isinstance(kind, pa.Field) else pa.field(name, kind, nullable=False) for name, kind in fields.items()
    )


SCHEMAS = {
    # A campaign's id always has 32 hex digits, and a key id is its 8 bytes as a signed big-endian integer. ``data`` is
    # the campaign's envelope; a later row of the same campaign has a notice that closes it early.
    CAMPAIGNS: _schema(campaign=pa.string(), name=pa.string(), author=pa.binary(), data=pa.binary()),
    # A declared prior is encoded as in its enrolment, and is null if the campaign asks for none. A row that revokes a
    # key has the first refused period, where null means the first period of the campaign.
    KEYS: _schema(
        campaign=pa.string(),
        key=pa.int64(),
        public=pa.binary(),
        revoked=pa.bool_(),
        prior=pa.field("prior", pa.binary()),
        since=pa.field("since", pa.int32()),
    ),
    # ``view`` is the index of the device's view, which follows from the key; it is 0 in a plain campaign. An output is
    # a number or, for unary channels, a word: its bits from the most significant one, zero-padded to bytes.
    REPORTS: _schema(
        campaign=pa.string(),
        period=pa.int32(),
        key=pa.int64(),
        slot=pa.int32(),
        view=pa.int16(),
        output=pa.field("output", pa.int64()),
        word=pa.field("word", pa.binary()),
    ),
    REFUSALS: _schema(campaign=pa.string(), reason=pa.string(), count=pa.int64(), at=pa.int64()),
}
PARTITIONS = {KEYS: ["campaign"], REPORTS: ["campaign", "period"]}

# The engine must not retry, because it would append the same rows without computing them again.
_SWAP = CommitProperties(max_commit_retries=0)
# Checkpoints are written separately, because a failed checkpoint must not look like a failed commit.
_NO_HOOK = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
# Whole row groups are held in memory when read. Keys are hashes and outputs are nearly noise, so dictionaries would
# cost more than they save. The lightest compression is enough for repeated values, such as the key of several answers.
_LAYOUT = WriterProperties(
    max_row_group_size=2**16,
    compression="ZSTD",
    compression_level=1,
    default_column_properties=ColumnProperties(dictionary_enabled=False),
)
# A reader reads every commit since the last checkpoint, and from an object store each commit takes two requests.
_CHECKPOINT_EVERY, _CHECKPOINT_REMOTE_EVERY = 50, 10
_LATER_COMMIT = re.compile(r"\d*[1-9]\d*\.json")
_BEYOND_END = "416"
"""HTTP status of an object store for a range beyond the end of an object; the file was truncated."""
_MAX_FAILURES = 8
"""Number of consecutive failed commits, without a commit by others, after which the failure is not a conflict."""


class StudyError(HalftruthError):
    """The study does not exist, cannot be read or written, or does not allow the request. The text names the reason."""


class Damaged(StudyError):
    """A table is missing or has lost data."""

    @classmethod
    def of(cls, path: StoragePath, fault: str) -> Damaged:
        """Return the error about the table at ``path``, with the fault and its remedy."""
        return cls(
            f"the study {path.parent} is damaged: its table {path.name} {fault}. Repair it with "
            f"`halftruth --study {path.parent} rebuild --out NEW`, which writes a new study and keeps this one"
        )


class Newer(StudyError):
    """The table was written by a newer version of halftruth."""

    @classmethod
    def of(cls, path: StoragePath, fault: str) -> Newer:
        """Return the error about the table at ``path``, with the fault and its remedy."""
        return cls(
            f"the study {path.parent} was written by a newer version of halftruth: its table {path.name} {fault}. "
            "Update halftruth, and run the command again"
        )


@contextmanager
def raising_study_errors(table: StoragePath | DeltaTable) -> Iterator[None]:
    """Context manager: raise errors of the storage engine and the system as ``StudyError``.

    Raises:
        StudyError: the body has raised such an error.
    """
    path = of_uri(table.table_uri) if isinstance(table, DeltaTable) else table
    try:
        yield
    except TableNotFoundError:
        raise Damaged.of(path, "is missing") from None
    except Exception as error:
        if type(error) is not Exception and not isinstance(error, DeltaError | OSError):
            raise
        of_store = remote.reason_of(error)
        if of_store is not None and _BEYOND_END not in of_store:
            raise StudyError(
                f"the study {path.parent} cannot be read or written: {of_store}. Remove the cause, and run "
                "the command again: no report is counted twice"
            ) from error
        reason = str(error).partition("\n")[0].partition(": Error performing")[0].rstrip(".")
        if ("Unsupported" in reason and "version" in reason) or "Cannot cast schema" in reason:
            raise Newer.of(path, f"cannot be read ({reason})") from error
        # The engine raises a bare Exception for an unreadable file, except when writing.
        unread = type(error) is Exception or reason.startswith("Kernel error") or "Parquet error" in reason
        if unread and ("(os error" not in reason or "(os error 2)" in reason):
            raise Damaged.of(path, f"cannot be read ({reason})") from error
        raise StudyError(
            f"the study {path.parent} cannot be read or written: {reason}. Remove the cause, such as a full "
            "disk or missing permissions, and run the command again: no report is counted twice"
        ) from error


def create(path: StoragePath) -> None:
    """Create an empty table if it does not exist.

    Raises:
        Damaged: the folder has files of an earlier table, whose rows would be lost.
        StudyError: the table cannot be created.
    """
    with raising_study_errors(path):
        if exists(path):
            return
        try:
            schema, partition = SCHEMAS[path.name], PARTITIONS.get(path.name, [])
            DeltaTable.create(uri_of(path), schema, mode="ignore", partition_by=partition)
            _sync_commit(path, 0)
        except DeltaError:
            if not exists(path):  # another process created it at the same moment
                raise


def exists(path: StoragePath) -> bool:
    """Return whether a table exists.

    Raises:
        Damaged: the log of the table is missing or unreadable, but the study has data; or as in ``require_whole``.
        Newer, StudyError: as in ``require_whole``.
    """
    with raising_study_errors(path):
        if not _is_table(path):
            if not any(_was_written_to(path.with_name(name)) for name in SCHEMAS):
                return False
            # The first check may have preceded the creation of the table by another process. A new study gets its first
            # row after all its tables are created, so now this table must exist.
            if not _is_table(path):
                raise Damaged.of(path, "has no readable log" if _was_written_to(path) else "is missing")
        require_whole(path)
        return True


def _is_table(path: StoragePath) -> bool:
    return (path / "_delta_log").is_dir() and DeltaTable.is_deltatable(uri_of(path))


def _was_written_to(path: StoragePath) -> bool:
    names = ((file.path.parent.name, file.path.name) for file in files_below(path))
    return any(name.endswith(".parquet") or (in_ == "_delta_log" and _LATER_COMMIT.match(name)) for in_, name in names)


@dataclass(frozen=True)
class DataFile:
    """A data file of a snapshot.

    Attributes:
        size: the size in bytes.
        rows: number of rows.
        partition: values of the columns by which the table is partitioned.
    """

    path: StoragePath
    size: int
    rows: int
    partition: Mapping[str, str | int]


def data_files(path: StoragePath, table: DeltaTable) -> list[DataFile]:
    """Return the data files of a snapshot of the table at ``path``.

    Raises:
        StudyError: the snapshot cannot be read.
    """
    with raising_study_errors(path):
        return [
            DataFile(path / action["path"], action["size_bytes"], action["num_records"], action.get("partition") or {})
            for action in pa.table(table.get_add_actions()).to_pylist()
        ]


def require_whole(path: StoragePath) -> DeltaTable:
    """Return the current snapshot of a table; raise an error unless all its files have the size with which they were
    written.

    Raises:
        Newer: the table has unknown columns, which may change the meaning of its rows.
        Damaged: the table or one of its files is missing, or a file has another size.
        StudyError: the table cannot be read.
    """
    with raising_study_errors(path):
        table = DeltaTable(uri_of(path))
        unknown = {field.name for field in table.schema().fields} - set(SCHEMAS[path.name].names)
        if unknown:
            raise Newer.of(path, f"has unknown columns: {', '.join(sorted(unknown))}")
        sizes = {file.path: file.size for file in files_below(path)}
        # The engine reads a commit truncated to zero bytes as an empty commit.
        commits = (file for file in sizes if file.parent == path / "_delta_log" and file.name.endswith(".json"))
        if not all(sizes[file] for file in commits):
            raise Damaged.of(path, "has an empty commit in its log")
        for file in data_files(path, table):
            if sizes.get(file.path) != file.size:
                name = str(file.path).removeprefix(f"{path}/")
                raise Damaged.of(path, f"has lost {name}, or a part of it")
        return table


def snapshot(path: StoragePath, version: int | None = None) -> DeltaTable:
    """Return the current snapshot of a table, or the snapshot of a version.

    Raises:
        StudyError: the table cannot be read.
    """
    with raising_study_errors(path):
        return DeltaTable(uri_of(path), version=version)


class Slice(DeltaTable):
    """A snapshot restricted to the rows that meet a condition, for ``query`` and ``stream``."""

    def __init__(self, path: StoragePath, version: int, condition: str) -> None:
        """Open the snapshot of a version, restricted to the rows that meet a condition.

        Args:
            condition: an SQL condition; empty for all rows.
        """
        super().__init__(uri_of(path), version=version)
        self.condition = condition


def _execute(table: DeltaTable, sql: str) -> Any:
    """Run a query; return the reader of its record batches."""
    if not isinstance(table, Slice) or not table.condition:
        return QueryBuilder().register("rows", table).execute(sql)
    rows = f"WITH rows AS (SELECT * FROM everything WHERE {table.condition})"  # noqa: S608  # this program wrote the condition
    more = sql.strip().removeprefix("WITH")
    sql = f"{rows} {more}" if more == sql.strip() else f"{rows}, {more}"
    return QueryBuilder().register("everything", table).execute(sql)


def query(table: DeltaTable, sql: str) -> pa.Table:
    """Return the result of a query, in which the table is called ``rows``.

    Raises:
        StudyError: the table cannot be read.
    """
    with raising_study_errors(table):
        return pa.table(_execute(table, sql).read_all())


def stream(table: DeltaTable, sql: str) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of a query's result; see ``query``.

    Raises:
        StudyError: the table cannot be read.
    """
    with raising_study_errors(table):
        for batch in _execute(table, sql):
            yield pa.record_batch(batch)


def append(path: StoragePath, rows_for: Callable[[DeltaTable], pa.Table]) -> None:
    """Append the rows that ``rows_for`` computes from a snapshot; if another process commits first, compute them
    again from a newer snapshot.

    Args:
        rows_for: computes the rows from a snapshot. If it returns no rows, nothing is committed.
    Raises:
        StudyError: the rows cannot be written; or they are committed, but cannot be synced to the disk.
    """
    failures, base_version = 0, -1
    with raising_study_errors(path):
        while True:
            table = DeltaTable(uri_of(path))
            if table.version() != base_version:
                failures, base_version = 0, table.version()
            rows = rows_for(table)
            if not rows.num_rows:
                return
            try:
                write_deltalake(
                    table,
                    rows,
                    mode="append",
                    writer_properties=_LAYOUT,
                    commit_properties=_SWAP,
                    post_commithook_properties=_NO_HOOK,
                )
            except CommitFailedError:
                failures += 1
                if failures > _MAX_FAILURES:
                    raise
                pause(failures)
                continue
            break
        # The commit is a compare-and-swap, so its version follows the one that was read.
        version = base_version + 1
        _sync_commit(path, version)
    if version % (_CHECKPOINT_REMOTE_EVERY if isinstance(path, Remote) else _CHECKPOINT_EVERY) == 0:
        with suppress(DeltaError, OSError):  # a checkpoint only saves time for readers
            write_table_checkpoint(path, table)


def _sync_commit(path: StoragePath, version: int) -> None:
    """Sync a commit to the disk.

    Raises:
        OSError: a file cannot be synced.
    """
    if isinstance(path, Remote):  # an object store writes durably
        return
    entry = path / "_delta_log" / f"{version:020}.json"
    actions = map(json.loads, entry.read_bytes().splitlines())
    _sync(path, [entry, *(path / unquote(action["add"]["path"]) for action in actions if "add" in action)])


def _sync(path: StoragePath, files: Iterable[StoragePath]) -> None:
    """Sync files of a table to the disk, and their folders up to the table's folder.

    Raises:
        OSError: a file cannot be synced.
    """
    listed = [file for file in files if isinstance(file, Path)]
    folders = {folder for file in listed for folder in file.parents if folder == path or path in folder.parents}
    sync([*listed, *folders])


def sync_table(path: StoragePath) -> None:
    """Sync a table to the disk, including commits of other processes. Files that are already synced take little time.

    Raises:
        StudyError: a file cannot be synced.
    """
    if isinstance(path, Remote):
        return
    with raising_study_errors(path):
        _sync(path, [file.path for file in files_below(path)])


def write_table_checkpoint(path: StoragePath, table: DeltaTable) -> None:
    """Write Delta's checkpoint of a snapshot and sync it to the disk; a reader then starts there and does not read each
    earlier commit.

    Raises:
        DeltaError, OSError: the checkpoint cannot be written.
    """
    table.create_checkpoint()
    log = path / "_delta_log"
    _sync(path, [log / f"{table.version():020}.checkpoint.parquet", log / "_last_checkpoint"])


def pause(failures: int) -> None:
    """Sleep, longer after more consecutive failures, so that other processes can commit."""
    time.sleep(random.uniform(0, 0.02 * 2**failures))  # noqa: S311  # the waiting time is not secret


def rewrite(path: StoragePath, table: DeltaTable, partition: Mapping[str, str | int], file_bytes: int) -> bool:
    """Write the rows of a partition to files of about ``file_bytes`` bytes, unless another process has committed since
    the snapshot ``table``.

    The engine's own compaction is not used: it reads the log again before it commits, so two concurrent compactions
    duplicate every row (deltalake 1.6.6).

    Args:
        partition: see ``DataFile``.
    Returns:
        Whether the files were written; False if another process committed first, and then nothing has changed.
    Raises:
        StudyError: the rows cannot be read or written; or they are committed, but cannot be synced to the disk.
    """
    # Ids are hex digits and periods are integers, so no outside text gets into the query.
    condition = " AND ".join(f"{name} = {value!r}" for name, value in partition.items())
    columns = ", ".join(f'"{name}"' for name in SCHEMAS[path.name].names)
    sql = f"SELECT {columns} FROM rows" + f" WHERE {condition}" * bool(condition)  # noqa: S608
    version = table.version()
    with raising_study_errors(path):
        try:
            write_deltalake(
                table,
                QueryBuilder().register("rows", table).execute(sql),
                mode="overwrite",
                predicate=condition or None,
                target_file_size=file_bytes,
                writer_properties=_LAYOUT,
                commit_properties=_SWAP,
                post_commithook_properties=_NO_HOOK,
            )
        except CommitFailedError:
            return False
        _sync_commit(path, version + 1)
    return True


def append_rows(path: StoragePath, rows: pa.Table) -> None:
    """Append rows, without a condition on the table's version.

    Raises:
        StudyError: see ``append``.
    """
    append(path, lambda _: rows)
