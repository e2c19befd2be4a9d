"""The study's tables, and the one way anything is written to them.

One idea: a commit is a compare-and-swap on the table's version. Rows are computed from a snapshot and appended only if
no other commit came between; otherwise they are computed again from a newer snapshot. So "only what is not there yet"
stays true under any number of writers, whole reports go in or stay out, and a crash leaves a commit or nothing.
All tables are append-only.

What the rows mean: registry, enrolments, ingest and the study.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlparse

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

from protocol.errors import HalftruthError

CAMPAIGNS, KEYS, REPORTS, REJECTS = "campaigns", "keys", "reports", "rejects"


def _schema(**fields: pa.DataType | pa.Field) -> pa.Schema:
    """Columns that are never null, but for those given as fields."""
    return pa.schema(
        kind if isinstance(kind, pa.Field) else pa.field(name, kind, nullable=False) for name, kind in fields.items()
    )


SCHEMAS = {
    # A campaign's id is 32 hex digits throughout; a key id is its 8 bytes as a signed big-endian integer.
    CAMPAIGNS: _schema(campaign=pa.string(), name=pa.string(), author=pa.binary(), data=pa.binary()),
    # A declared prior is written as in its enrolment, one codec array; null where the campaign asks for none.
    KEYS: _schema(
        campaign=pa.string(),
        key=pa.int64(),
        public=pa.binary(),
        revoked=pa.bool_(),
        prior=pa.field("prior", pa.binary()),
    ),
    # An output is a number, or of unary channels a word: its bits from the most significant, zero-padded to bytes.
    REPORTS: _schema(
        campaign=pa.string(),
        period=pa.int32(),
        key=pa.int64(),
        slot=pa.int32(),
        output=pa.field("output", pa.int64()),
        word=pa.field("word", pa.binary()),
    ),
    REJECTS: _schema(campaign=pa.string(), reason=pa.string(), count=pa.int64(), at=pa.int64()),
}
PARTITIONS = {KEYS: ["campaign"], REPORTS: ["campaign", "period"]}

# No retries inside the engine: it would retry an append without computing its rows again.
_SWAP = CommitProperties(max_commit_retries=0)
# Checkpoints are made apart, because a failure to make one must not look like a failed commit.
_NO_HOOK = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
# Keys are hashes: a dictionary of them is as long as they are; and whole row groups are held in memory when read.
_PLAIN = ColumnProperties(dictionary_enabled=False)
_LAYOUT = WriterProperties(max_row_group_size=2**16, column_properties={"key": _PLAIN, "public": _PLAIN})
_CHECKPOINT_EVERY = 50
_PATIENCE = 8
"""Failed commits in a row, with nobody else committing, until the failure is not a conflict."""


class StudyError(HalftruthError):
    """The study cannot do what was asked: it is not there, does not know a name, or cannot be written."""


@contextmanager
def storage(table: Path | DeltaTable) -> Iterator[None]:
    """Turn the storage engine's and the system's errors into the study's.

    Raises:
        StudyError
    """
    path = table if isinstance(table, Path) else Path(urlparse(table.table_uri).path)
    try:
        yield
    except TableNotFoundError:
        raise StudyError(f"{path.name} is missing from the study {path.parent}: restore the directory") from None
    except (DeltaError, OSError) as error:
        raise StudyError(
            f"the study {path.parent} cannot be read or written: {error}. Nothing of this step was counted; "
            "free space or correct the permissions, and run it again"
        ) from error


def create(path: Path) -> None:
    """Make an empty table where there is none.

    Raises:
        StudyError
    """
    with storage(path):
        try:
            DeltaTable.create(str(path), SCHEMAS[path.name], mode="ignore", partition_by=PARTITIONS.get(path.name, []))
        except DeltaError:
            if not exists(path):  # somebody else made it at the same moment
                raise


def exists(path: Path) -> bool:
    """Whether there is a table."""
    return (path / "_delta_log").is_dir() and DeltaTable.is_deltatable(str(path))


def snapshot(path: Path) -> DeltaTable:
    """The table as it is now.

    Raises:
        StudyError
    """
    with storage(path):
        return DeltaTable(str(path))


def query(table: DeltaTable, sql: str) -> pa.Table:
    """The result of a query, in which the table goes by the name ``rows``.

    Raises:
        StudyError
    """
    with storage(table):
        return pa.table(QueryBuilder().register("rows", table).execute(sql).read_all())


def stream(table: DeltaTable, sql: str) -> Iterator[pa.RecordBatch]:
    """The result of a query as ``query`` gives it, a batch at a time.

    Raises:
        StudyError
    """
    with storage(table):
        for batch in QueryBuilder().register("rows", table).execute(sql):
            yield pa.record_batch(batch)


def append(path: Path, rows_for: Callable[[DeltaTable], pa.Table]) -> None:
    """Append the rows that ``rows_for`` computes from a snapshot, if the table is still that snapshot.

    Args:
        rows_for: called again, with a newer snapshot, for as long as others commit first. No rows, no commit.
    Raises:
        StudyError: the rows cannot be written; then none are.
    """
    failures, seen = 0, -1
    with storage(path):
        while True:
            table = DeltaTable(str(path))
            if table.version() != seen:
                failures, seen = 0, table.version()
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
                if failures > _PATIENCE:
                    raise
                time.sleep(random.uniform(0, 0.02 * 2**failures))  # noqa: S311  # who waits longer is no secret
                continue
            break
    if table.version() % _CHECKPOINT_EVERY == 0:
        with suppress(DeltaError, OSError):  # it only saves the next reader time
            table.create_checkpoint()


def add(path: Path, rows: pa.Table) -> None:
    """Append rows whatever else is in the table.

    Raises:
        StudyError
    """
    append(path, lambda _: rows)
