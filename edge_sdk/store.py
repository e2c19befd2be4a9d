"""The store: one folder with a SQLite file, and beside it the device's secret and its mark.

One idea: whatever belongs together is written in one transaction that is on the disk before it is over, or not at
all. Many processes may use a store; one writes at a time, and the others wait.

    folder/store.db          with its -wal and -shm files while in use
    folder/device.secret     32 bytes, from which the keys of all campaigns are derived; or where the keeper keeps it
    folder/device.mark       how far the ledger has come; or where the keeper keeps it
    folder/quarantine-1      what ``adopt`` moved aside, until everything is forgotten

The mark moves on after each commit that touched the ledger, before anybody is told of the commit: so a store may be
ahead of its mark by what a crash cut off, and a store that is behind its mark is an old one. A mark that cannot be
written undoes nothing, since the charge is on the disk and the report belongs to it: the mark is brought up with the
next one, or when the store is opened again, and until then ``doctor`` says so.

What the rows mean: ledger, memo, outbox, device. What a mark and an instance are: mark, instance.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edge_sdk.errors import StoreDamaged, StoreError, StoreRestored
from protocol.errors import HalftruthError

if TYPE_CHECKING:  # loaded with the first store that is opened
    from edge_sdk.budget import Cap
    from edge_sdk.instance import Instance, Machine
    from edge_sdk.keeper import Keeper
    from edge_sdk.mark import Mark, Row

MEMORY = ":memory:"
"""In place of a folder: a store that ends with its process."""

VERSION = 5
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
    periods INTEGER NOT NULL, place INTEGER, choice INTEGER NOT NULL DEFAULT 0, latest INTEGER NOT NULL DEFAULT 0);
CREATE TABLE declared (campaign INTEGER PRIMARY KEY, prior BLOB NOT NULL);
CREATE TABLE transcript (campaign INTEGER, period INTEGER, y BLOB NOT NULL, PRIMARY KEY (campaign, period))
    WITHOUT ROWID;
CREATE TABLE memo (campaign INTEGER, x INTEGER, y BLOB NOT NULL, period INTEGER NOT NULL, slot INTEGER NOT NULL,
    times INTEGER NOT NULL, PRIMARY KEY (campaign, x)) WITHOUT ROWID;
CREATE TABLE reading (campaign INTEGER, period INTEGER, slot INTEGER, x INTEGER NOT NULL, sealed INTEGER NOT NULL,
    PRIMARY KEY (campaign, period, slot)) WITHOUT ROWID;
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
    4: """
ALTER TABLE consent ADD COLUMN latest INTEGER NOT NULL DEFAULT 0;
UPDATE consent SET latest =
    coalesce((SELECT max(time) FROM ledger WHERE ledger.campaign = consent.campaign AND kind = 2), time);
CREATE TABLE reading (campaign INTEGER, period INTEGER, slot INTEGER, x INTEGER NOT NULL, sealed INTEGER NOT NULL,
    PRIMARY KEY (campaign, period, slot)) WITHOUT ROWID;
""",
}


class Store:
    """An open store. Made by ``open``; ``close`` it."""

    def __init__(self, folder: Path | None, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self.secret = b""
        self._keeper: Keeper | None = None
        self._instance: Instance | None = None
        self._moved: Mark | None = None  # where the ledger of this transaction is
        self._trouble = ""
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
        store = cls._connect(None if place == MEMORY else Path(place))
        try:
            with store.transaction():
                store._identify(store._create_schema(), urandom, keeper, machine)
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
                self._moved = None
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            if self._moved is not None:
                self._moved = None  # another process may have gone on by now
                self._move_mark()

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

    def follow(self, row: Row) -> None:
        """Count a row added to the ledger; part of the caller's transaction."""
        if self._keeper is not None:
            self._write_mark(self._mark().after(row))

    def refollow(self) -> None:
        """Count that rows of the ledger were deleted, if any were; part of the caller's transaction."""
        if self._keeper is not None:
            before = self._mark()
            now = self._count(before.store, before.sequence + 1)
            if now.head != before.head:
                self._write_mark(now)

    def follow_caps(self) -> None:
        """Count that caps changed, if any did; part of the caller's transaction.

        Raises:
            ValueError: more caps than a device keeps.
        """
        if self._keeper is not None:
            before, caps = self._mark(), self._caps()
            if caps != before.caps:
                self._write_mark(replace(before, sequence=before.sequence + 1, caps=caps))

    def compact(self) -> None:
        """Leave no deleted byte in any file of the store, nor anything that was moved aside.

        Raises:
            StoreError: not possible now; what was deleted stays deleted, but its bytes may be there still.
        """
        try:
            self._vacuum()
            with self._lock, explained(self.folder):
                if self.folder is not None:
                    import shutil

                    for aside in self.folder.glob(f"{QUARANTINE}*"):
                        shutil.rmtree(aside)
                    self._move_mark(alone=True)
        except StoreRestored:
            raise
        except StoreError as error:
            raise _not_cleared(str(error)) from None
        if self._trouble:
            raise _not_cleared(self._trouble)

    def settings(self) -> dict[str, str | int]:
        """What the database says of itself."""
        names = ("journal_mode", "synchronous", "secure_delete", "user_version", "page_count")
        return {name: self.rows(f"PRAGMA {name}")[0][0] for name in names} | {"sqlite": sqlite3.sqlite_version}

    def watch(self) -> dict[str, str]:
        """What keeps an older state or a copy of this store from being taken for it, and what cannot be known.

        Raises:
            StoreDamaged: the database does not hold what was written into it.
        """
        if self.folder is None or self._keeper is None or self._instance is None:
            return {}
        self._require_whole("integrity_check")
        found = {"keeper": self._keeper.name, "device secret": self._keeper.say(), "integrity": "checked, and whole"}
        places = self._keeper.marks()
        found["mark"] = " and ".join(places) + (f"; behind, because {self._trouble}" if self._trouble else "")
        found["machine"] = (
            "known: a store copied to another one is refused"
            if self._instance.knows_machine
            else "cannot be known here: a store copied to another one is refused only if its files tell"
        )
        found["copies of the files"] = (
            "known: a folder copied, or restored as new files, is refused"
            if self._instance.knows_copy
            else "cannot be known in this file system: a folder and its mark copied together cannot be noticed"
        )
        found["rollback"] = "a database older than its mark, or without it, is refused; " + (
            f"a folder restored as a whole too, by {self._keeper.elsewhere}"
            if self._keeper.elsewhere
            else "a folder restored byte by byte into the same files cannot be noticed: keep a second mark elsewhere "
            "(--mark), or leave the folder out of backups"
        )
        found["image"] = "a whole disk or system restored from an image cannot be noticed"
        if aside := sorted(path.name for path in self.folder.glob(f"{QUARANTINE}*")):
            found["quarantine"] = f"{', '.join(aside)}: a damaged database, with answers in it; forgetting deletes it"
        return found

    # Opening

    @classmethod
    def _connect(cls, folder: Path | None) -> Store:
        with explained(folder):
            if folder is not None:
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

    def _create_schema(self) -> int:
        """Bring the tables to this format; returns the one they had, 0 where there were none."""
        [[version]] = self.rows("PRAGMA user_version")
        [[pages]] = self.rows("PRAGMA page_count")
        if version and pages <= QUICK_PAGES:
            self._require_whole("quick_check(1)")
        if version == VERSION:
            return VERSION
        scripts = [MIGRATIONS[older] for older in range(version, VERSION)] if version else [SCHEMA]
        for statement in (statement for script in scripts for statement in script.split(";")[:-1]):
            self.execute(statement)
        self.execute(f"PRAGMA application_id = {APPLICATION}")
        self.execute(f"PRAGMA user_version = {VERSION}")
        return int(version)

    def _identify(
        self, before: int, urandom: Callable[[int], bytes], keeper: Keeper | None, machine: Machine | None
    ) -> None:
        """Read the secret, and compare the store with its mark and its place; ``before`` is the format it had.

        All that is written outside the database is written last, so that a store that is refused is as it was; and
        before the database's commit, so that no store expects a mark that a crash kept from being written.
        """
        if self.folder is None:
            self.secret = urandom(SECRET_BYTES)
            return
        keeper = self._keeper_given(self.folder, keeper)
        marks, found = keeper.marks(), keeper.secret()
        if not before:
            self._require_new(marks, found)
        elif found is None:
            raise StoreRestored(
                f"the secret of the store in {self.folder} is missing: put it back; or adopt the store, to go on with "
                "new keys and what it says was spent"
            )
        elif (known := self._setting("secret")) is None:
            raise not_written(self.folder)
        elif fingerprint(found) != known:
            raise not_the_secret(self.folder)
        secret = found if found and len(found) == SECRET_BYTES else urandom(SECRET_BYTES)
        mark = self._checked(fingerprint(secret), before)
        here = None
        if before < VERSION:
            self._require_marked(mark, marks, expected=set())
        else:
            known_places = set(marks) if self._setting("keeper") == keeper.address else set(map(str, keeper.files))
            self._require_marked(mark, marks, known_places)
            here = self._require_here(secret, keeper, machine)
        if any(kept != mark for kept in marks.values()):
            keeper.keep_mark(mark, alone=None in marks.values())
        if secret != found:
            keeper.keep_secret(secret)
        self._settle(secret, mark, keeper, here or self._instance_of(secret, keeper, machine))

    def _require_new(self, marks: dict[str, Mark | None], secret: bytes | None) -> None:
        """A folder without a database must not be what is left of a store that counted something.

        Raises:
            StoreRestored: its mark is there. StoreDamaged: only its secret is.
        """
        if any(mark and mark.sequence for mark in marks.values()):
            where = next(where for where, mark in marks.items() if mark)
            raise StoreRestored(
                f"there is no database in {self.folder}, and {where} says that there was: put it back; or adopt the "
                "folder, to go on with what was spent"
            )
        if secret is not None and not any(marks.values()):
            raise StoreDamaged(
                f"{self.folder} has a device's secret, and neither its database nor its mark: put them back; what was "
                "spent is not known, so nothing else is left but to delete the folder and begin as a new device"
            )

    def _require_marked(self, mark: Mark, marks: dict[str, Mark | None], expected: set[str]) -> None:
        """A store that is at ``mark`` must not be an older state of itself, nor another's.

        Args:
            expected: the places that had its mark before.
        Raises:
            StoreRestored
        """
        from edge_sdk.keeper import require_later

        for where, kept in marks.items():
            require_later(mark, kept, where)
            if kept is None and where in expected:
                raise StoreRestored(
                    f"{where} has no mark of the store in {self.folder}: put the latest one back; or adopt the store, "
                    "and what was reserved counts as spent"
                )

    def _require_here(self, secret: bytes, keeper: Keeper, machine: Machine | None) -> Instance:
        """Where the store lives, which must be where it lived.

        Raises:
            StoreRestored
        """
        from edge_sdk.instance import Instance

        now, written = self._instance_of(secret, keeper, machine), self._setting("instance")
        if written is None or Instance.decode(written).moved_to(now):
            raise StoreRestored(
                f"the store in {self.folder} was copied, from another machine or from another folder, or restored: go "
                "on with the one it was copied from; or adopt this one, if that one is gone"
            )
        return now

    def _instance_of(self, secret: bytes, keeper: Keeper, machine: Machine | None) -> Instance:
        from edge_sdk import instance

        assert self.folder is not None  # noqa: S101  # a store in memory has no place
        database = self.folder / DATABASE_FILE
        return instance.Instance.of(secret, database, keeper.files, machine or instance.this_machine)

    def _settle(self, secret: bytes, mark: Mark, keeper: Keeper, instance: Instance) -> None:
        """Write down whose store this is, where it is and how far it is, where that changed."""
        settled: dict[str, bytes | str] = {
            "secret": mark.store,
            "keeper": keeper.address,
            "mark": mark.encode(),
            "instance": bytes(instance),
        }
        for name, value in settled.items():
            if self._setting(name) != value:
                self._set(name, value)
        self.secret, self._keeper, self._instance = secret, keeper, instance

    def _keeper_given(self, folder: Path, given: Keeper | None) -> Keeper:
        """The keeper the store was made with; a new store's is the given one, or the usual one.

        A second place for the mark may be named later.

        Raises:
            StoreError: the given one is another.
        """
        from edge_sdk.keeper import FileKeeper, keeper_of, usual_keeper

        address = self._setting("keeper")
        if address is None and self._setting("secret") is not None:
            address = FileKeeper.name  # of a format before there were others
        if address is None:
            return given or usual_keeper(folder)
        if given is None or given.address == address:
            return given or keeper_of(address, folder)
        kind = address.partition(" ")[0]
        if given.name != kind or kind != FileKeeper.name:
            raise StoreError(
                f"the secret of the store in {folder} is kept by {address!r}, not by {given.address!r}: name no keeper"
            )
        return keeper_of(address, folder) if given.address == FileKeeper.name else given

    # How far the ledger has come

    def _mark(self) -> Mark:
        """The one written with the ledger's latest row.

        Raises:
            StoreDamaged
        """
        if self._moved is not None:
            return self._moved
        from edge_sdk.mark import Mark

        written = self._setting("mark")
        mark = Mark.decode(written) if isinstance(written, bytes) else None
        if mark is None:
            raise not_written(self.folder)
        return mark

    def _write_mark(self, mark: Mark) -> None:
        self._set("mark", mark.encode())
        self._moved = mark

    def _count(self, store: bytes, sequence: int) -> Mark:
        """The mark of the rows that there are.

        Raises:
            StoreDamaged: no ledger has such rows.
        """
        from edge_sdk.mark import Mark

        rows = self.rows("SELECT time, campaign, kind, nanonats FROM ledger ORDER BY number")
        try:
            return Mark.of(store, sequence, rows, self._caps())
        except ValueError:
            raise not_written(self.folder) from None

    def _caps(self) -> tuple[Cap, ...]:
        from edge_sdk.budget import Cap

        return tuple(Cap(*row) for row in self.rows("SELECT kind, seconds, nanonats FROM cap ORDER BY kind, seconds"))

    def _checked(self, store: bytes, before: int) -> Mark:
        """The mark written with the ledger, which its rows must lead to; of an older format, what they lead to.

        Raises:
            StoreDamaged
        """
        if before < VERSION:
            [[counted]] = self.rows("SELECT (SELECT count(*) FROM ledger) + (SELECT count(*) FROM cap)")
            return self._count(store, counted)
        written = self._mark()
        if self._count(store, written.sequence) != written:
            raise not_written(self.folder)
        return written

    def _move_mark(self, alone: bool = False) -> None:
        """Bring the keeper's mark up to what is committed, under the lock that whoever commits needs, so that an
        older mark never takes the place of a newer one.

        Raises:
            StoreRestored: the mark is further, so this is not the store that it belongs to any more.
        """
        assert self._keeper is not None  # noqa: S101  # a store in memory counts nothing
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._keeper.keep_mark(self._mark(), alone)
            finally:
                self._connection.execute("ROLLBACK")
        except StoreRestored:
            raise
        except sqlite3.Error as error:
            self._trouble = _advice(error, self.folder)
        except (OSError, StoreError) as error:
            self._trouble = f"it cannot be written: {getattr(error, 'strerror', None) or error}"
        else:
            self._trouble = ""

    def _require_whole(self, check: str) -> None:
        """Raises: StoreDamaged: the database's pages do not fit together."""
        if self.rows(f"PRAGMA {check}") != [("ok",)]:
            raise StoreDamaged(_damaged(self.folder))

    def _vacuum(self) -> None:
        with self._lock, explained(self.folder):
            self._connection.execute("VACUUM")
            [[busy, *_]] = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if busy:
            raise StoreError("another process is reading, and old bytes may still be in the store's log")

    def _setting(self, name: str) -> Any:
        row = self.row("SELECT value FROM setting WHERE name = ?", name)
        return None if row is None else row[0]

    def _set(self, name: str, value: bytes | str) -> None:
        self.execute("INSERT INTO setting VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", name, value)


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


_DAMAGES = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR")
"""SQLITE_ERROR is for a table or a column that is not there, and all of ours are."""


@contextlib.contextmanager
def explained(folder: Path | None) -> Iterator[None]:
    """Turn what SQLite and the file system refuse into what the owner can do about it."""
    try:
        yield
    except HalftruthError:
        raise
    except UnicodeDecodeError:  # SQLite quotes what it cannot read
        raise StoreDamaged(_damaged(folder)) from None
    except sqlite3.Error as error:
        if any(_is(error, name) for name in _DAMAGES):
            raise StoreDamaged(f"{_damaged(folder)} ({error.sqlite_errorname})") from None
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
    # SQLite's own text may quote what is stored.
    return f"{where} cannot be used: {getattr(error, 'sqlite_errorname', 'a row cannot be read; it may be damaged')}"


def _is(error: sqlite3.Error, name: str) -> bool:
    """Whether ``error`` is SQLite's ``name``, in any of its extended forms."""
    return str(getattr(error, "sqlite_errorname", "")).startswith(name)


def _damaged(folder: Path | None) -> str:
    return (
        f"the store in {folder} is damaged, and nothing is answered from it: adopt it, to go on with the same keys "
        "and what its mark says was spent"
    )


def not_written(folder: Path | None) -> StoreDamaged:
    return StoreDamaged(f"{_damaged(folder)} (its ledger is not the one that was written)")


def not_the_secret(folder: Path | None) -> StoreError:
    return StoreError(
        f"the secret of the store in {folder} is not the one it was made with: put that one back, or delete the "
        "folder to begin as a new device"
    )


def _not_cleared(why: str) -> StoreError:
    return StoreError(f"forgotten, but old bytes may still be in the store's files; forget again: {why}")


def fingerprint(secret: bytes) -> bytes:
    """Tells one secret from another, and nothing else about it."""
    import hashlib  # OpenSSL takes long to load, and importing the package should not

    return hashlib.sha256(b"halftruth/1/secret-fingerprint" + secret).digest()
