"""Adoption: continue with a store that was restored, copied or damaged.

The amount spent or reserved counts as spent; if the database and the checkpoint differ, the larger amount counts. All
joined campaigns are forgotten. A store with neither a readable database nor a checkpoint is not adopted. So adoption
never lowers the amount spent, even if it is interrupted or repeated.

The module store_identity refuses a store, and checkpoint defines checkpoints.
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
from edge_sdk.rollback.checkpoint import HEAD_BYTES, Checkpoint, lowest_caps
from edge_sdk.rollback.checkpointing import computed_checkpoint
from edge_sdk.rollback.key_store import KeyStore
from edge_sdk.rollback.known_key_stores import default_key_store, key_store_of
from edge_sdk.rollback.store_identity import checked_checkpoint, host_identity_of, key_store_to_use, settle, store_id
from edge_sdk.store.files import sync
from edge_sdk.store.sqlite import DATABASE_FILE, DEVICE_SECRET_BYTES, QUARANTINE, UNATTRIBUTED, Store
from edge_sdk.store.sqlite_errors import ledger_mismatch, raising_store_errors, wrong_secret

STAYS = ("setting", "cap", "trusted", "known", "used", "closing", "declared", "ledger")
"""The tables whose rows are kept when the joined campaigns are forgotten."""


def adopt(
    folder: str | os.PathLike[str], urandom: Callable[[int], bytes], now: int, key_store: KeyStore | None = None
) -> None:
    """Make a restored, copied or damaged store usable again.

    After a crash during the adoption, the store can be opened, or adopted again without loss.

    Args:
        now: the time of new ledger rows.
        key_store: as for ``open_store``.
    Raises:
        StoreError: the amount spent is unknown, or the store cannot be used for another reason.
    """
    path = Path(folder)
    try:
        _adopt(path, urandom, now, key_store)
    except StoreDamaged:
        with raising_store_errors(path):
            _quarantine(path, key_store)
        _adopt(path, urandom, now, key_store)


def _adopt(folder: Path, urandom: Callable[[int], bytes], now: int, named_key_store: KeyStore | None) -> None:
    """Adopt a store whose database is intact or missing."""
    store = Store.connect(folder)
    try:
        with store.transaction():
            is_new = store.make_tables()
            key_store = key_store_to_use(store, folder, named_key_store)
            old_secret = _secret_left(key_store, folder, store.setting("store_id"))
            secret = old_secret or urandom(DEVICE_SECRET_BYTES)
            checkpoint = replace(_take_over(store, is_new, key_store, old_secret, now), store=store_id(secret))
            # A crash after this write leaves a store that is behind its checkpoint, and a crash after the commit leaves
            # a store without its secret. Both stores can be adopted again.
            key_store.keep_checkpoint(checkpoint, erase_earlier=True)
            settle(store, secret, checkpoint, key_store, host_identity_of(folder, secret, key_store))
        if old_secret is None:
            with raising_store_errors(folder):
                key_store.keep_secret(secret)
        store.vacuum()
    finally:
        store.close()


def _take_over(store: Store, is_new: bool, key_store: KeyStore, secret: bytes | None, now: int) -> Checkpoint:
    """Delete all campaign data, and count as spent the larger of the amounts committed in the database and in the
    checkpoint.

    Raises:
        StoreError: neither a database nor a checkpoint contains the amount committed.
        StoreDamaged: the database is damaged.
    """
    recorded_id: bytes | None = store.setting("store_id") or (None if secret is None else store_id(secret))
    checkpoints = [
        checkpoint
        for checkpoint in key_store.checkpoints().values()
        if checkpoint and recorded_id in (None, checkpoint.store)
    ]
    committed_in_database = 0
    if not is_new:
        if recorded_id is None:
            raise ledger_mismatch(store.folder)
        store.require_whole("integrity_check")
        checkpoints.append(checked_checkpoint(store, recorded_id, is_new))
        committed_in_database = checkpoints[-1].committed
    elif not checkpoints:
        raise _spending_unknown(store.folder)
    [[latest]] = store.rows("SELECT coalesce(max(time), ?) FROM ledger", now)
    time = max(now, latest)
    totals = store.rows(
        "SELECT campaign, sum(CASE kind WHEN 1 THEN nanonats WHEN 3 THEN -nanonats ELSE 0 END) - "
        "sum(CASE kind WHEN 4 THEN nanonats ELSE 0 END) FROM ledger GROUP BY campaign"
    )
    add = "INSERT INTO ledger VALUES (NULL, ?, ?, ?, ?)"
    store.execute("DELETE FROM ledger WHERE kind = ?", EntryKind.CHARGE)
    for number, uncarried in totals:
        if uncarried:
            store.execute(add, time, number, EntryKind.CARRY, uncarried)
    lost = max(checkpoint.committed for checkpoint in checkpoints) - committed_in_database
    if lost:
        store.execute("INSERT OR IGNORE INTO known VALUES (?, zeroblob(32))", UNATTRIBUTED)
        store.execute(add, time, UNATTRIBUTED, EntryKind.RESERVE, lost)
        store.execute(add, time, UNATTRIBUTED, EntryKind.CARRY, lost)
    for cap in lowest_caps(checkpoint.caps for checkpoint in checkpoints):
        store.execute(
            "INSERT INTO cap VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET nanonats = excluded.nanonats",
            cap.kind,
            cap.seconds,
            cap.nanonats,
        )
    for (table,) in store.rows("SELECT name FROM sqlite_master WHERE type = 'table'"):
        if table not in STAYS:
            store.execute(f"DELETE FROM {table}")  # noqa: S608  # the table is one of the schema
    return computed_checkpoint(store, checkpoints[0].store, max(checkpoint.sequence for checkpoint in checkpoints) + 1)


def _secret_left(key_store: KeyStore, folder: Path, recorded_id: bytes | None) -> bytes | None:
    """Return the secret; None if it is missing, damaged, or this machine can no longer read it.

    Args:
        recorded_id: the store's id; None if it is unknown.
    Raises:
        StoreError: the secret belongs to another store.
    """
    try:
        secret = key_store.secret()
    except StoreRestored:
        return None
    if secret is None or len(secret) != DEVICE_SECRET_BYTES:
        return None
    if recorded_id not in (None, store_id(secret)):
        raise wrong_secret(folder)
    return secret


def _quarantine(folder: Path, named_key_store: KeyStore | None) -> None:
    """Write the largest committed amount of all readable checkpoints into the key store's checkpoint, as spent, then
    move the damaged database away.

    The checkpoint in the database is one of them if it can be read.

    Raises:
        StoreError: the amount spent cannot be read anywhere; nothing was moved.
    """
    salvaged, location = _salvaged(folder)
    key_store = named_key_store or (key_store_of(location, folder) if location else default_key_store(folder))
    secret = _secret_left(key_store, folder, None)
    expected_id = None if secret is None else store_id(secret)
    checkpoints = [
        checkpoint
        for checkpoint in (salvaged, *key_store.checkpoints().values())
        if checkpoint and expected_id in (None, checkpoint.store)
    ]
    if not checkpoints:
        raise _spending_unknown(folder)
    committed = max(checkpoint.committed for checkpoint in checkpoints)
    sequence = max(checkpoint.sequence for checkpoint in checkpoints) + 1
    caps = lowest_caps(checkpoint.caps for checkpoint in checkpoints)
    key_store.keep_checkpoint(
        Checkpoint(checkpoints[0].store, sequence, bytes(HEAD_BYTES), committed, committed, caps), erase_earlier=True
    )
    number = next(number for number in itertools.count(1) if not (folder / f"{QUARANTINE}{number}").exists())
    quarantine = folder / f"{QUARANTINE}{number}"
    quarantine.mkdir(mode=0o700)
    for name in (f"{DATABASE_FILE}-wal", f"{DATABASE_FILE}-shm", DATABASE_FILE):
        if (folder / name).exists():
            (folder / name).rename(quarantine / name)
    sync(folder)


def _salvaged(folder: Path) -> tuple[Checkpoint | None, str | None]:
    """Return the checkpoint and the key store's location from a damaged database; None for each that cannot be read."""
    checkpoint = location = None
    connection = sqlite3.connect(folder / DATABASE_FILE)
    with contextlib.closing(connection), contextlib.suppress(sqlite3.Error, ValueError, TypeError):
        settings = dict(connection.execute("SELECT name, value FROM setting"))
        location = settings.get("key_store")
        if "checkpoint" in settings:
            checkpoint = Checkpoint.decode(settings["checkpoint"])
    return checkpoint, location


def _spending_unknown(folder: Path | None) -> StoreError:
    return StoreError(
        f"neither the database in {folder} nor its checkpoint can be read, so the amount spent is unknown, and the "
        "folder cannot be adopted: put one of them back; or delete the folder, and begin as a new device"
    )
