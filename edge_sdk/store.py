"""The store: one folder with a SQLite file, and beside it the device's secret and its mark.

One idea: whatever belongs together is written in one transaction that is on the disk before it is over, or not at
all. Many processes may use a store; one writes at a time, and the others wait.

    folder/store.db          with its -wal and -shm files while in use
    folder/device.secret     32 bytes, from which the keys of all campaigns are derived; or where the keeper keeps it
    folder/device.mark       how far the ledger has come; or where the keeper keeps it
    folder/quarantine-1      what ``adopt`` moved aside, until everything is forgotten

Its tables: schema. What the rows mean: records. Whether it is the store that it was: identity, watch.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edge_sdk import schema
from edge_sdk.errors import StoreError, StoreRestored
from edge_sdk.explain import damaged, explained, is_code, not_cleared

if TYPE_CHECKING:  # loaded with the first store that is opened
    from edge_sdk.instance import Machine
    from edge_sdk.keeper import Keeper
    from edge_sdk.watch import Watch

MEMORY = ":memory:"
"""In place of a folder: a store that ends with its process."""

APPLICATION = int.from_bytes(b"htru", "big")
SECRET_BYTES = 32
SECRET_FILE, DATABASE_FILE = "device.secret", "store.db"
WAIT_SECONDS = 10
PAGE_BYTES = 1024
CHECKPOINT_PAGES = 256
QUICK_PAGES = 512
"""A database of more pages is checked by doctor, and not whenever it is opened."""
NOBODYS = 0
"""The store's number for what was spent, nobody knows in which campaign: see ``adopt``."""
QUARANTINE = "quarantine-"


class Store:
    """An open store. Made by ``open``; ``close`` it.

    Attributes:
        folder: where it is; None in memory.
        secret: the device's, 32 bytes.
        watch: what counts every row of the ledger, and every cap; None in memory, where nothing outlasts the process.
    """

    def __init__(self, folder: Path | None, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self.secret = b""
        self.watch: Watch | None = None
        self._connection = connection
        self._lock = threading.RLock()  # an app may call from several threads

    @classmethod
    def open(
        cls,
        place: str | os.PathLike[str],
        urandom: Callable[[int], bytes],
        keeper: Keeper | None = None,
        machine: Machine | None = None,
    ) -> Store:
        """The store in folder ``place``, made if there is none; or one in memory.

        Args:
            keeper: of its secret and its mark; None takes the one that the store was made with, and for a new store
                the usual one.
            machine: what tells this machine from another; None asks the system.
        Raises:
            StoreRestored: its mark went on without it, or it is not where it was made.
            StoreDamaged, StoreError
        """
        store = cls.connect(None if place == MEMORY else Path(place))
        try:
            with store.transaction():
                before = store.bring_up()
                if store.folder is None:
                    store.secret = urandom(SECRET_BYTES)
                else:
                    from edge_sdk.identity import identify

                    identify(store, store.folder, before, urandom, keeper, machine)
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Close it. Nothing is pending: a transaction is over, or never was."""
        with self._lock:
            self._connection.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is executed inside, on the disk when this ends; or nothing, if anything is raised.

        Raises:
            StoreRestored: it is on the disk, in a store that another copy went on without.
            StoreError
        """
        with self._lock, explained(self.folder):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self.watch is not None:
                    self.watch.undone()
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            if self.watch is not None:
                self.watch.committed()

    def execute(self, sql: str, *parameters: object) -> None:
        """Run one statement of the caller's transaction."""
        self._connection.execute(sql, parameters)

    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        with self._lock, explained(self.folder):
            return self._connection.execute(sql, parameters).fetchall()

    def row(self, sql: str, *parameters: object) -> tuple[Any, ...] | None:
        """The first row of a query, if there is one."""
        return next(iter(self.rows(sql, *parameters)), None)

    def setting(self, name: str) -> Any:
        """What was set under a name; None where nothing was."""
        row = self.row("SELECT value FROM setting WHERE name = ?", name)
        return None if row is None else row[0]

    def set(self, name: str, value: bytes | str) -> None:
        """Set it; part of the caller's transaction."""
        self.execute("INSERT INTO setting VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", name, value)

    def drawn(self, name: str, count: int, urandom: Callable[[int], bytes]) -> bytes:
        """``count`` random bytes under a name, drawn once in the life of the store."""
        if self.setting(name) is None:
            with self.transaction():
                self.execute("INSERT OR IGNORE INTO setting VALUES (?, ?)", name, urandom(count))
        return bytes(self.setting(name))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock that whoever writes needs, and write nothing.

        Raises:
            sqlite3.Error
        """
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            self._connection.execute("ROLLBACK")

    def compact(self) -> None:
        """Leave no deleted byte in any file of the store, nor anything that was moved aside.

        Raises:
            StoreError: not possible now; what was deleted stays deleted, but its bytes may be there still.
        """
        try:
            self.vacuum()
            with self._lock, explained(self.folder):
                if moved_aside := self._moved_aside():
                    import shutil

                    for folder in moved_aside:
                        shutil.rmtree(folder)
                if self.watch is not None:
                    self.watch.move(alone=True)
        except StoreRestored:
            raise
        except StoreError as error:
            raise not_cleared(str(error)) from None
        if self.watch is not None and self.watch.trouble:
            raise not_cleared(self.watch.trouble)

    def vacuum(self) -> None:
        """Leave no deleted byte in the database.

        Raises:
            StoreError
        """
        with self._lock, explained(self.folder):
            self._connection.execute("VACUUM")
            [[busy, *_]] = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if busy:
            raise StoreError("another process is reading, and old bytes may still be in the store's log")

    def doctor(self) -> dict[str, str | int]:
        """What the database says of itself, and what keeps an older state or a copy of it from being taken for it.

        Raises:
            StoreDamaged: the database does not hold what was written into it.
        """
        names = ("journal_mode", "synchronous", "secure_delete", "user_version", "page_count")
        found: dict[str, str | int] = {name: self.rows(f"PRAGMA {name}")[0][0] for name in names}
        found["sqlite"] = sqlite3.sqlite_version
        if self.watch is not None:
            self.require_whole("integrity_check")
            found |= {"integrity": "checked, and whole"} | self.watch.say()
        if aside := sorted(path.name for path in self._moved_aside()):
            found["quarantine"] = f"{', '.join(aside)}: a damaged database, with answers in it; forgetting deletes it"
        return found

    # Opening

    @classmethod
    def connect(cls, folder: Path | None) -> Store:
        """The database, made if there is none; neither its tables nor its identity are looked at yet.

        Raises:
            StoreError
        """
        with explained(folder):
            if folder is not None:
                if folder.exists() and not folder.is_dir():
                    raise StoreError(f"{folder} is a file: a store is a folder of its own, so name one")
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                # SQLite gives its other files the mode of this one. A database that is there is never opened by hand:
                # closing it would give up the locks of this process's other connections to it.
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
        [[version]], [[application]] = run("PRAGMA user_version").fetchall(), run("PRAGMA application_id").fetchall()
        [[tables]] = run("SELECT count(*) FROM sqlite_master").fetchall()
        if tables and application != APPLICATION:
            raise StoreError(f"{self.folder} holds a database of another program: name another folder")
        if tables and version != schema.VERSION and version not in schema.MIGRATIONS:
            raise StoreError(
                f"the store is of format {version}, and this release knows formats up to {schema.VERSION}: "
                "use the release that wrote it"
            )
        if not tables:
            run(f"PRAGMA page_size = {PAGE_BYTES}")
        # Two processes that make one store at once: SQLite does not wait for this one lock by itself.
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                run("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:
                if not is_code(error, "SQLITE_BUSY") or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        run("PRAGMA synchronous = FULL")
        run("PRAGMA secure_delete = ON")
        run("PRAGMA temp_store = MEMORY")  # VACUUM leaves no copy beside the store
        run(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")

    def bring_up(self) -> int:
        """Bring the tables to this format; returns the one they had, 0 where there were none.

        Raises:
            StoreDamaged
        """
        [[version]] = self.rows("PRAGMA user_version")
        [[pages]] = self.rows("PRAGMA page_count")
        if version and pages <= QUICK_PAGES:
            self.require_whole("quick_check(1)")
        if version != schema.VERSION:
            for statement in schema.statements(version):
                self.execute(statement)
            self.execute(f"PRAGMA application_id = {APPLICATION}")
            self.execute(f"PRAGMA user_version = {schema.VERSION}")
        return int(version)

    def require_whole(self, check: str) -> None:
        """Return if the database's pages fit together.

        Args:
            check: one of SQLite's, "quick_check(1)" or "integrity_check".
        Raises:
            StoreDamaged
        """
        if self.rows(f"PRAGMA {check}") != [("ok",)]:
            raise damaged(self.folder)

    def _moved_aside(self) -> list[Path]:
        return [] if self.folder is None else list(self.folder.glob(f"{QUARANTINE}*"))


def write_durably(path: Path, data: bytes) -> None:
    """Write a file that is there whole or not at all, readable by its owner only.

    Raises:
        OSError
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    sync(path.parent)


def sync(folder: Path) -> None:
    """Make what was renamed in a folder last."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
