"""The store: one folder with a SQLite file and the device's secret.

One idea: whatever belongs together is written in one transaction that is on the disk before it is over, or not at
all. Many processes may use a store; one writes at a time, and the others wait.

    folder/device.secret     32 bytes, from which the keys of all campaigns are derived; readable by its owner
    folder/store.db          the rest, with its -wal and -shm files while in use

What the rows mean: ledger, memo, outbox, device.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from edge_sdk.errors import StoreError
from protocol.errors import HalftruthError

MEMORY = ":memory:"
"""In place of a folder: a store that ends with its process."""

VERSION = 4
APPLICATION = int.from_bytes(b"htru", "big")
SECRET_BYTES = 32
SECRET_FILE, DATABASE_FILE = "device.secret", "store.db"
WAIT_SECONDS = 10
PAGE_BYTES = 1024
CHECKPOINT_PAGES = 256

# A campaign keeps its number after it is forgotten, and with it what it spent, the slots it used, and the prior that
# was declared in it, which is public and which the study keeps for good.
SCHEMA = """
CREATE TABLE setting (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE cap (kind TEXT, seconds INTEGER, nanonats INTEGER NOT NULL, PRIMARY KEY (kind, seconds)) WITHOUT ROWID;
CREATE TABLE known (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE);
CREATE TABLE used (campaign INTEGER, period INTEGER, slots INTEGER NOT NULL, PRIMARY KEY (campaign, period))
    WITHOUT ROWID;
CREATE TABLE ledger (number INTEGER PRIMARY KEY, time INTEGER NOT NULL, campaign INTEGER NOT NULL,
    kind INTEGER NOT NULL, nanonats INTEGER NOT NULL);
CREATE INDEX committed ON ledger (campaign, kind, nanonats) WHERE kind IN (1, 3);
CREATE TABLE joined (campaign INTEGER PRIMARY KEY, author BLOB NOT NULL, data BLOB NOT NULL);
CREATE TABLE consent (campaign INTEGER PRIMARY KEY, time INTEGER NOT NULL, dither BLOB NOT NULL,
    cost INTEGER NOT NULL, inputs INTEGER NOT NULL, answers INTEGER NOT NULL, period_seconds INTEGER NOT NULL,
    periods INTEGER NOT NULL, place INTEGER, choice INTEGER NOT NULL DEFAULT 0);
CREATE TABLE declared (campaign INTEGER PRIMARY KEY, prior BLOB NOT NULL);
CREATE TABLE transcript (campaign INTEGER, period INTEGER, y BLOB NOT NULL, PRIMARY KEY (campaign, period))
    WITHOUT ROWID;
CREATE TABLE memo (campaign INTEGER, x INTEGER, y BLOB NOT NULL, period INTEGER NOT NULL, slot INTEGER NOT NULL,
    times INTEGER NOT NULL, PRIMARY KEY (campaign, x)) WITHOUT ROWID;
CREATE TABLE outbox (number INTEGER PRIMARY KEY, campaign INTEGER NOT NULL, envelope BLOB NOT NULL);
CREATE TABLE upload (campaign INTEGER PRIMARY KEY, envelopes INTEGER NOT NULL, failures INTEGER NOT NULL,
    not_before INTEGER NOT NULL, refused INTEGER NOT NULL);
"""

# What brings a store of each earlier format to the next one.
MIGRATIONS = {
    1: """
ALTER TABLE consent ADD COLUMN place INTEGER;
ALTER TABLE consent ADD COLUMN choice INTEGER NOT NULL DEFAULT 0;
CREATE TABLE declared (campaign INTEGER PRIMARY KEY, prior BLOB NOT NULL);
""",
    2: """
CREATE TABLE transcript (campaign INTEGER, period INTEGER, y BLOB NOT NULL, PRIMARY KEY (campaign, period))
    WITHOUT ROWID;
""",
    3: """
CREATE TABLE upload (campaign INTEGER PRIMARY KEY, envelopes INTEGER NOT NULL, failures INTEGER NOT NULL,
    not_before INTEGER NOT NULL, refused INTEGER NOT NULL);
""",
}


class Store:
    """An open store. Made by ``open``; ``close`` it."""

    def __init__(self, folder: Path | None, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self.secret = b""
        self._connection = connection
        self._lock = threading.RLock()  # an app may call from several threads

    @classmethod
    def open(cls, place: str | os.PathLike[str], urandom: Callable[[int], bytes]) -> Store:
        """The store in folder ``place``, made if there is none; or one in memory.

        Raises:
            StoreError
        """
        folder = None if place == MEMORY else Path(place)
        with explained(folder):
            if folder is not None:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                # SQLite gives its other files the mode of this one.
                os.close(os.open(folder / DATABASE_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            connection = sqlite3.connect(
                folder / DATABASE_FILE if folder else MEMORY,
                timeout=WAIT_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
        store = cls(folder, connection)
        try:
            with explained(folder):
                store._prepare()
            with store.transaction():
                store._create_schema()
                store.secret = store._read_secret(urandom)
        except BaseException:
            connection.close()
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
            StoreError
        """
        with self._lock, explained(self.folder):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

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

    def compact(self) -> None:
        """Leave no deleted byte in any file of the store.

        Raises:
            StoreError: not possible now; what was deleted stays deleted, but its bytes may be there still.
        """
        try:
            with self._lock, explained(self.folder):
                self._connection.execute("VACUUM")
                [[busy, *_]] = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except StoreError as error:
            raise StoreError(
                f"forgotten, but old bytes may still be in the store's files; forget again: {error}"
            ) from None
        if busy:
            raise StoreError(
                "forgotten, but another process is reading, and old bytes may still be in the store's log: forget again"
            )

    def settings(self) -> dict[str, str | int]:
        """What the database says of itself."""
        names = ("journal_mode", "synchronous", "secure_delete", "user_version", "page_count")
        return {name: self.rows(f"PRAGMA {name}")[0][0] for name in names} | {"sqlite": sqlite3.sqlite_version}

    def _prepare(self) -> None:
        run = self._connection.execute
        [[version]], [[application]] = run("PRAGMA user_version").fetchall(), run("PRAGMA application_id").fetchall()
        [[tables]] = run("SELECT count(*) FROM sqlite_master").fetchall()
        if tables and application != APPLICATION:
            raise StoreError(f"{self.folder} holds a database of another program: name another folder")
        if tables and version != VERSION and version not in MIGRATIONS:
            raise StoreError(
                f"the store is of format {version}, and this release knows formats up to {VERSION}: "
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
                if not _is(error, "SQLITE_BUSY") or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        run("PRAGMA synchronous = FULL")
        run("PRAGMA secure_delete = ON")
        run("PRAGMA temp_store = MEMORY")  # VACUUM leaves no copy beside the store
        run(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")

    def _create_schema(self) -> None:
        [[version]] = self.rows("PRAGMA user_version")
        if version == VERSION:
            return
        scripts = [MIGRATIONS[older] for older in range(version, VERSION)] if version else [SCHEMA]
        for statement in (statement for script in scripts for statement in script.split(";")[:-1]):
            self.execute(statement)
        self.execute(f"PRAGMA application_id = {APPLICATION}")
        self.execute(f"PRAGMA user_version = {VERSION}")

    def _read_secret(self, urandom: Callable[[int], bytes]) -> bytes:
        """The device's secret, made once; the transaction around it keeps a second process from making another."""
        path = self.folder / SECRET_FILE if self.folder else None
        found = path.read_bytes() if path and path.exists() else b""
        known = self.row("SELECT value FROM setting WHERE name = 'secret'")
        if known is None:
            # A secret without its store: the store was lost. The old keys keep the study from counting twice.
            secret = found if len(found) == SECRET_BYTES else urandom(SECRET_BYTES)
            if path and secret != found:
                write_durably(path, secret)
            self.execute("INSERT INTO setting VALUES ('secret', ?)", _fingerprint(secret))
            return secret
        if _fingerprint(found) != known[0]:
            raise StoreError(
                f"{path} is missing or is not the secret this store was made with: put it back, "
                "or delete the folder to begin as a new device"
            )
        return found


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
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextlib.contextmanager
def explained(folder: Path | None) -> Iterator[None]:
    """Turn what SQLite and the file system refuse into what the owner can do about it."""
    try:
        yield
    except HalftruthError:
        raise
    except sqlite3.Error as error:
        raise StoreError(_advice(error, folder)) from None
    except OSError as error:
        raise StoreError(f"the store in {folder} cannot be used: {error.strerror or error}") from None


def _advice(error: sqlite3.Error, folder: Path | None) -> str:
    where = f"the store in {folder}"
    if _is(error, "SQLITE_FULL") or _is(error, "SQLITE_IOERR"):
        return f"{where} cannot be written, and nothing was changed: the disk is full or failing; free some space"
    if _is(error, "SQLITE_BUSY") or _is(error, "SQLITE_LOCKED"):
        return f"{where} is in use by another process; nothing was changed; try again"
    if _is(error, "SQLITE_READONLY") or _is(error, "SQLITE_CANTOPEN") or _is(error, "SQLITE_PERM"):
        return f"{where} cannot be written; check who owns the folder and its files"
    if _is(error, "SQLITE_CORRUPT") or _is(error, "SQLITE_NOTADB"):
        return f"{where} is damaged; restore a copy, or delete the folder to begin as a new device"
    # SQLite's own text may quote what is stored.
    return f"{where} cannot be used: {getattr(error, 'sqlite_errorname', 'a row cannot be read; it may be damaged')}"


def _is(error: sqlite3.Error, name: str) -> bool:
    """Whether ``error`` is SQLite's ``name``, in any of its extended forms."""
    return str(getattr(error, "sqlite_errorname", "")).startswith(name)


def _fingerprint(secret: bytes) -> bytes:
    """Tells one secret from another, and nothing else about it."""
    import hashlib  # OpenSSL takes long to load, and importing the package should not

    return hashlib.sha256(b"halftruth/1/secret-fingerprint" + secret).digest()
