"""Adoption: going on with a store that was restored, copied or damaged.

Whatever is not known counts against the person's budget and not against the person. All that was reserved, by the
database or by its mark, whichever says more, counts as spent; everything joined is forgotten; and a store from which
nothing can be told is not adopted. So adopting never lowers what was spent, however often it is done or killed.

When a store is refused: store_identity. What a mark is: checkpoint.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from edge_sdk.budget.ledger import EntryKind
from edge_sdk.errors import StoreDamaged, StoreError, StoreRestored
from edge_sdk.rollback.checkpoint import HEAD_BYTES, Checkpoint, lowest
from edge_sdk.rollback.checkpointing import counted
from edge_sdk.rollback.host_identity import Machine
from edge_sdk.rollback.key_store import KeyStore
from edge_sdk.rollback.known_key_stores import keeper_of, usual_keeper
from edge_sdk.rollback.store_identity import checked, fingerprint, instance_of, keeper_given, settle
from edge_sdk.store.files import sync
from edge_sdk.store.sqlite import DATABASE_FILE, NOBODYS, QUARANTINE, SECRET_BYTES, Store
from edge_sdk.store.sqlite_errors import explained, not_the_secret, not_written

STAYS = ("setting", "cap", "known", "used", "closing", "declared", "ledger")
"""The tables of which something outlasts everything that was joined."""


def adopt(
    place: str | os.PathLike[str],
    urandom: Callable[[int], bytes],
    now: int,
    keeper: KeyStore | None = None,
    machine: Machine | None = None,
) -> None:
    """Make a restored, copied or damaged store one that opens.

    A crash leaves a store that opens, or one that is to be adopted again and loses nothing by it.

    Args:
        now: the time of what is written in the ledger.
        keeper, machine: as of ``open_store``.
    Raises:
        StoreError: what was spent is not known, or the store cannot be used for another reason.
    """
    folder = Path(place)
    try:
        _adopt(folder, urandom, now, keeper, machine)
    except StoreDamaged:
        with explained(folder):
            _set_aside(folder, keeper)
        _adopt(folder, urandom, now, keeper, machine)


def _adopt(
    folder: Path, urandom: Callable[[int], bytes], now: int, given: KeyStore | None, machine: Machine | None
) -> None:
    """Adopt a store whose database is whole, or is not there."""
    store = Store.connect(folder)
    try:
        with store.transaction():
            made = store.make_tables()
            keeper = keeper_given(store, folder, given)
            found = _secret_left(keeper, folder, store.setting("secret"))
            secret = found or urandom(SECRET_BYTES)
            mark = replace(_take_over(store, made, keeper, found, now), store=fingerprint(secret))
            # A crash after the mark leaves a store behind it, and one after the commit a store without its secret:
            # both are to be adopted again.
            keeper.keep_mark(mark, alone=True)
            settle(store, secret, mark, keeper, instance_of(folder, secret, keeper, machine))
        if found is None:
            with explained(folder):
                keeper.keep_secret(secret)
        store.vacuum()
    finally:
        store.close()


def _take_over(store: Store, made: bool, keeper: KeyStore, secret: bytes | None, now: int) -> Checkpoint:
    """Empty all but what outlasts a campaign, and count as spent what was reserved here or by the mark.

    Raises:
        StoreError: neither a database nor a mark says how much that is. StoreDamaged: the database does not.
    """
    known: bytes | None = store.setting("secret") or (None if secret is None else fingerprint(secret))
    marks = [mark for mark in keeper.marks().values() if mark and known in (None, mark.store)]
    here = 0
    if not made:
        if known is None:
            raise not_written(store.folder)
        store.require_whole("integrity_check")
        marks.append(checked(store, known, made))
        here = marks[-1].committed
    elif not marks:
        raise _not_known(store.folder)
    [[latest]] = store.rows("SELECT coalesce(max(time), ?) FROM ledger", now)
    time = max(now, latest)
    totals = store.rows(
        "SELECT campaign, sum(CASE kind WHEN 1 THEN nanonats WHEN 3 THEN -nanonats ELSE 0 END) - "
        "sum(CASE kind WHEN 4 THEN nanonats ELSE 0 END) FROM ledger GROUP BY campaign"
    )
    add = "INSERT INTO ledger VALUES (NULL, ?, ?, ?, ?)"
    store.execute("DELETE FROM ledger WHERE kind = ?", EntryKind.CHARGE)
    for campaign, uncarried in totals:
        if uncarried:
            store.execute(add, time, campaign, EntryKind.CARRY, uncarried)
    lost = max(mark.committed for mark in marks) - here
    if lost:
        store.execute("INSERT OR IGNORE INTO known VALUES (?, zeroblob(32))", NOBODYS)
        store.execute(add, time, NOBODYS, EntryKind.RESERVE, lost)
        store.execute(add, time, NOBODYS, EntryKind.CARRY, lost)
    for cap in lowest(mark.caps for mark in marks):
        store.execute(
            "INSERT INTO cap VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET nanonats = excluded.nanonats",
            cap.kind,
            cap.seconds,
            cap.nanonats,
        )
    for (table,) in store.rows("SELECT name FROM sqlite_master WHERE type = 'table'"):
        if table not in STAYS:
            store.execute(f"DELETE FROM {table}")  # noqa: S608  # a name of our own schema
    return counted(store, marks[0].store, max(mark.sequence for mark in marks) + 1)


def _secret_left(keeper: KeyStore, folder: Path, written: bytes | None) -> bytes | None:
    """The secret, where it is not lost with the machine that could read it.

    Raises:
        StoreError: it is another store's.
    """
    try:
        found = keeper.secret()
    except StoreRestored:
        return None
    if found is None or len(found) != SECRET_BYTES:
        return None
    if written not in (None, fingerprint(found)):
        raise not_the_secret(folder)
    return found


def _set_aside(folder: Path, given: KeyStore | None) -> None:
    """Move a damaged database away, once the mark says all that can be read in it.

    Raises:
        StoreError: what was spent cannot be read anywhere; nothing was moved.
    """
    read, address = _salvaged(folder)
    keeper = given or (keeper_of(address, folder) if address else usual_keeper(folder))
    secret = _secret_left(keeper, folder, None)
    known = None if secret is None else fingerprint(secret)
    marks = [mark for mark in (read, *keeper.marks().values()) if mark and known in (None, mark.store)]
    if not marks:
        raise _not_known(folder)
    committed = max(mark.committed for mark in marks)
    sequence = max(mark.sequence for mark in marks) + 1
    caps = lowest(mark.caps for mark in marks)
    keeper.keep_mark(Checkpoint(marks[0].store, sequence, bytes(HEAD_BYTES), committed, committed, caps), alone=True)
    number = next(number for number in itertools.count(1) if not (folder / f"{QUARANTINE}{number}").exists())
    aside = folder / f"{QUARANTINE}{number}"
    aside.mkdir(mode=0o700)
    for name in (f"{DATABASE_FILE}-wal", f"{DATABASE_FILE}-shm", DATABASE_FILE):
        if (folder / name).exists():
            (folder / name).rename(aside / name)
    sync(folder)


def _salvaged(folder: Path) -> tuple[Checkpoint | None, str | None]:
    """The mark, and the keeper's address, as far as a damaged database can be read."""
    mark = address = None
    connection = sqlite3.connect(folder / DATABASE_FILE)
    with contextlib.closing(connection), contextlib.suppress(sqlite3.Error, ValueError, TypeError):
        settings = dict(connection.execute("SELECT name, value FROM setting"))
        address = settings.get("keeper")
        if "mark" in settings:
            mark = Checkpoint.decode(settings["mark"])
    return mark, address


def _not_known(folder: Path | None) -> StoreError:
    return StoreError(
        f"neither the database in {folder} nor its mark can be read, so what was spent is not known, and the folder "
        "cannot be adopted: put one of them back; or delete the folder, and begin as a new device"
    )
