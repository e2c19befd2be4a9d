"""The store: one folder with a SQLite database, which is changed only in transactions.

A transaction is on the disk when it ends. Several processes may use a store; while one writes, the others wait.

    folder/store.db          with its -wal and -shm files while in use
    folder/device.secret     32 bytes, from which the keys of all campaigns are derived (unless the key store keeps it
                             elsewhere)
    folder/device.checkpoint the checkpoint of the ledger (unless the key store keeps it elsewhere)
    folder/quarantine-1      a damaged database that ``adopt`` moved there, until a campaign is forgotten

The module schema defines the tables, records lists the owners of the rows, and hooks defines the callbacks on changes.
rollback/store_identity opens a folder and checks that it is the same store.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Hashable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from edge_sdk.errors import StoreClosed, StoreError, StoreRestored
from edge_sdk.store import schema
from edge_sdk.store.sqlite_errors import (
    REFUSALS,
    damage_error,
    has_error_code,
    not_erased,
    raising_store_errors,
    store_error,
)

if TYPE_CHECKING:
    from edge_sdk.store.hooks import Hooks

MEMORY = ":memory:"
"""Given in place of a folder for a store in memory, which is deleted when its process ends."""

APPLICATION = int.from_bytes(b"htru", "big")
DEVICE_SECRET_BYTES = 32
DATABASE_FILE = "store.db"
WAIT_SECONDS = 10
SYNCHRONOUS_FULL = 2
PAGE_BYTES = 1024
WAL_CHECKPOINT_PAGES = 256
QUICK_PAGES = 512
"""A database with more pages is not checked whenever it is opened, but only by ``doctor`` and ``adopt``."""
UNATTRIBUTED = 0
"""Pseudo-campaign for spending that cannot be attributed to a campaign: see ``adopt``."""
QUARANTINE = "quarantine-"


class _Transaction:
    """The context manager of ``Store.transaction``.

    It is a class, because a context manager from a generator takes as long as two SQL statements.
    """

    __slots__ = ("_answering", "_store")

    def __init__(self, store: Store, answering: bool) -> None:
        self._store = store
        self._answering = answering

    def __enter__(self) -> None:
        self._store._lock.acquire()
        try:
            self._store._begin(self._answering)
        except BaseException:
            self._store._lock.release()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._store._commit()
            else:
                self._store._undo(error)
        finally:
            self._store._lock.release()


class Store:
    """An open store, which must be closed. ``in_memory`` or ``rollback.store_identity.open_store`` makes it.

    Queries and transactions raise ``StoreError`` if the database fails, and ``StoreClosed`` after ``close``.

    Attributes:
        folder: the store's folder; None in memory.
        secret: the device's secret, 32 bytes.
        hooks: callbacks on changes of rows; None for a store in memory.
        cache: values that are read once for several answers, by the class or the campaign to which they belong. It is
            valid only within a ``transaction``.
    """

    def __init__(self, folder: Path | None, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self.secret = b""
        self.hooks: Hooks | None = None
        self.cache: dict[Hashable, Any] = {}
        self._connection = connection
        self._cached_data_version = 0
        self._closed = False
        # An app may call from several threads.
        self._lock = threading.RLock()

    @classmethod
    def in_memory(cls, urandom: Callable[[int], bytes]) -> Store:
        """Return a store in memory, for this process only."""
        store = cls.connect(None)
        with store.transaction():
            store.make_tables()
            store.secret = urandom(DEVICE_SECRET_BYTES)
        return store

    def close(self) -> None:
        """Close the store; no transaction may be open."""
        with self._lock:
            self._closed = True
            self._connection.close()

    def transaction(self, *, answering: bool = False) -> _Transaction:
        """Context manager: commit all statements at its end, or undo all of them if an exception is raised.

        Args:
            answering: True if the transaction writes only the rows of one answer. Such a transaction keeps the values
                that the previous one put into ``cache``. The cache is emptied before and after any other
                transaction of this store, after an undone one, and after a commit by another process.
        Raises:
            StoreRestored: this store is an old copy; the transaction is on the disk nevertheless.
            StoreError: all statements are undone.
        """
        return _Transaction(self, answering)

    def _begin(self, answering: bool) -> None:
        """Begin a transaction, under the lock of the threads."""
        self._require_open()
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._refresh_cache(answering)
        except BaseException as error:
            self._undo(error)
            raise

    def _commit(self) -> None:
        """Commit the transaction with the rows of the hooks, or undo it if that fails."""
        try:
            if self.hooks is not None:
                self.hooks.before_commit()
            self._connection.execute("COMMIT")
        except BaseException as error:
            self._undo(error)
            raise
        if self.hooks is not None:
            try:
                self.hooks.after_commit()
            except REFUSALS as error:
                raise store_error(error, self.folder) from None

    def _undo(self, error: BaseException) -> None:
        """Undo the transaction after an error; explain an error of SQLite or the file system.

        Raises:
            StoreError: ``error`` is such an error, or the transaction could not be undone.
        """
        try:
            self._cached_data_version = 0
            if self.hooks is not None:
                self.hooks.after_rollback()
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except REFUSALS as failed:
            raise store_error(failed, self.folder) from None
        if isinstance(error, REFUSALS):
            raise store_error(error, self.folder, undone=True) from None

    def _refresh_cache(self, answering: bool) -> None:
        # SQLite changes this number, which is never 0, whenever another connection commits.
        [version] = self._connection.execute("PRAGMA data_version").fetchone() if answering else [0]
        if version != self._cached_data_version or not answering:
            self.cache.clear()
        self._cached_data_version = version

    def on_change(self, table: str, event: str, columns: str, call: Callable[..., None]) -> None:
        """Call ``call`` with each row that any statement of this connection changes from now on.

        Args:
            event: INSERT, UPDATE or DELETE.
            columns: the arguments of the call, such as "NEW.time, NEW.kind".
            call: must execute no statement and raise no exception, because it is called within a statement.
        """
        name = f"{table}_{event}"
        self._connection.create_function(name, columns.count(",") + 1, call)
        self.execute(f"CREATE TEMP TRIGGER {name} AFTER {event} ON main.{table} BEGIN SELECT {name}({columns}); END")

    def execute(self, sql: str, *parameters: object) -> None:
        """Execute one statement of the caller's transaction."""
        self._connection.execute(sql, parameters)

    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        with self._lock:
            self._require_open()
            try:
                return self._connection.execute(sql, parameters).fetchall()
            except REFUSALS as error:
                raise store_error(error, self.folder) from None

    def row(self, sql: str, *parameters: object) -> tuple[Any, ...] | None:
        """Return the first row of a query; None if it has no rows."""
        rows = self.rows(sql, *parameters)
        return rows[0] if rows else None

    def setting(self, name: str) -> Any:
        """Return the setting ``name``; None if it was never set."""
        row = self.row("SELECT value FROM setting WHERE name = ?", name)
        return None if row is None else row[0]

    def set(self, name: str, value: bytes | str) -> None:
        """Write the setting ``name``; part of the caller's transaction."""
        self.execute("INSERT INTO setting VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", name, value)

    def stored_random(self, name: str, count: int, urandom: Callable[[int], bytes]) -> bytes:
        """Return the ``count`` random bytes ``name``, which are drawn at the first call and stored permanently."""
        if self.setting(name) is None:
            with self.transaction():
                self.execute("INSERT OR IGNORE INTO setting VALUES (?, ?)", name, urandom(count))
        return bytes(self.setting(name))

    def while_locked(self, work: Callable[[], None]) -> None:
        """Call ``work`` under the write lock of the database, without writing to it.

        Raises:
            sqlite3.Error: the lock cannot be acquired.
        """
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            work()
        finally:
            self._connection.execute("ROLLBACK")

    def compact(self) -> None:
        """Erase deleted bytes from all files of the store, and delete quarantined files.

        Raises:
            StoreRestored: this store is an old copy.
            StoreError: the bytes cannot be erased now; the rows stay deleted, but their bytes may still exist.
        """
        try:
            self.vacuum()
            with self._lock, raising_store_errors(self.folder):
                if quarantined := self._quarantined():
                    import shutil

                    for folder in quarantined:
                        shutil.rmtree(folder)
                if self.hooks is not None:
                    self.hooks.after_compaction()
        except StoreRestored:
            raise
        except StoreError as error:
            raise not_erased(str(error)) from None

    def vacuum(self) -> None:
        """Erase the bytes of deleted rows from the database.

        Raises:
            StoreError: the bytes cannot be erased now.
        """
        with self._lock, raising_store_errors(self.folder):
            self._require_open()
            self._connection.execute("VACUUM")
            [[busy, *_]] = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if busy:
            raise StoreError(
                "another process is reading the store, so old bytes may still be in its log: end that process"
            )

    def doctor(self) -> dict[str, str | int]:
        """Return facts about the database, and how old states and copies of it are detected.

        Raises:
            StoreDamaged: the database is damaged.
            StoreError: the database or the key store cannot be read.
        """
        names = ("journal_mode", "synchronous", "secure_delete", "user_version", "page_count")
        journal_mode, synchronous, secure_delete, version, page_count = (
            self.rows(f"PRAGMA {name}")[0][0] for name in names
        )
        facts: dict[str, str | int] = {
            "journal_mode": journal_mode,
            "commits": "flushed to the disk" if synchronous == SYNCHRONOUS_FULL else "may be lost in a power failure",
            "deleted bytes": "overwritten" if secure_delete == 1 else "not overwritten",
            "store format": version,
            "page_count": page_count,
            "sqlite": sqlite3.sqlite_version,
        }
        if self.hooks is not None:
            self.require_whole("integrity_check")
            with raising_store_errors(self.folder):
                facts |= {"integrity": "checked, no damage found"} | self.hooks.describe()
        if folders := sorted(path.name for path in self._quarantined()):
            facts["quarantine"] = f"{', '.join(folders)}: a damaged database, with answers in it; forgetting deletes it"
        return facts

    # Opening

    @classmethod
    def connect(cls, folder: Path | None) -> Store:
        """Open or create the database; tables and identity are not checked yet.

        Raises:
            StoreError: the folder or the database cannot be used.
        """
        with raising_store_errors(folder):
            if folder is not None:
                if folder.exists() and not folder.is_dir():
                    raise StoreError(f"{folder} is a file: name a folder for the store")
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                # SQLite gives its other files the mode of this one. An existing database is never opened as a file:
                # closing it would release the locks of this process's other connections.
                with contextlib.suppress(FileExistsError):
                    os.close(os.open(folder / DATABASE_FILE, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            connection = sqlite3.connect(
                folder / DATABASE_FILE if folder else MEMORY,
                timeout=WAIT_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            store = cls(folder, connection)
            try:
                store._prepare()
            except BaseException:
                connection.close()
                raise
        return store

    def _prepare(self) -> None:
        run = self._connection.execute
        # Count the tables before reading user_version and application_id: another process may commit all three in
        # between.
        [[tables]] = run("SELECT count(*) FROM sqlite_master").fetchall()
        [[version]], [[application]] = run("PRAGMA user_version").fetchall(), run("PRAGMA application_id").fetchall()
        if tables and application != APPLICATION:
            raise StoreError(f"{self.folder} contains a database of another program: name another folder")
        if tables and version != schema.VERSION:
            raise StoreError(
                f"the store in {self.folder} has format {version}, but this release reads format {schema.VERSION} "
                "only: use the release that wrote it"
            )
        if not tables:
            run(f"PRAGMA page_size = {PAGE_BYTES}")
        # Two processes may create the same store at once, and SQLite does not wait for this lock by itself.
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                run("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:
                if not has_error_code(error, "SQLITE_BUSY") or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        run(f"PRAGMA synchronous = {SYNCHRONOUS_FULL}")
        run("PRAGMA secure_delete = ON")
        # VACUUM must write no temporary copy to the disk.
        run("PRAGMA temp_store = MEMORY")
        run(f"PRAGMA wal_autocheckpoint = {WAL_CHECKPOINT_PAGES}")

    def make_tables(self) -> bool:
        """Create missing tables; return whether they were created now.

        Raises:
            StoreDamaged: the pages of a small database are not consistent.
        """
        [[version]] = self.rows("PRAGMA user_version")
        [[pages]] = self.rows("PRAGMA page_count")
        if version and pages <= QUICK_PAGES:
            self.require_whole("quick_check(1)")
        if not version:
            for statement in schema.SCHEMA.split(";")[:-1]:
                self.execute(statement)
            self.execute(f"PRAGMA application_id = {APPLICATION}")
            self.execute(f"PRAGMA user_version = {schema.VERSION}")
        return not version

    def require_whole(self, check: str) -> None:
        """Refuse a damaged database.

        Args:
            check: a pragma of SQLite: "quick_check(1)" or "integrity_check".
        Raises:
            StoreDamaged: the pages are not consistent.
        """
        if self.rows(f"PRAGMA {check}") != [("ok",)]:
            raise damage_error(self.folder)

    def _require_open(self) -> None:
        if self._closed:
            raise StoreClosed("this device was closed: open it again with Device.open")

    def _quarantined(self) -> list[Path]:
        return [] if self.folder is None else list(self.folder.glob(f"{QUARANTINE}*"))
