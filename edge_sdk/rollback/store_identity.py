"""Open a store's folder, and refuse an old state, a copy, or another device's store.

A store is identified by its secret, its checkpoint and its host identity. Each of the three is compared with its
recorded value. Files outside the database are written after all checks, so that a refused store stays unchanged. They
are written before the database's commit, so after a crash the database never expects a checkpoint file that was not
written.

The module checkpointing updates the checkpoint, host_identity identifies the machine and the files, and recovery
continues with a refused store.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from edge_sdk.errors import StoreDamaged, StoreError, StoreRestored
from edge_sdk.rollback.checkpoint import Checkpoint
from edge_sdk.rollback.checkpointing import CHECKPOINT, CheckpointWriter, computed_checkpoint, stored_checkpoint
from edge_sdk.rollback.file_store import FileKeyStore
from edge_sdk.rollback.host_identity import HostIdentity
from edge_sdk.rollback.key_store import KeyStore, require_later
from edge_sdk.rollback.known_key_stores import default_key_store, key_store_of
from edge_sdk.store.sqlite import DATABASE_FILE, DEVICE_SECRET_BYTES, Store
from edge_sdk.store.sqlite_errors import ledger_mismatch, wrong_secret


def open_store(folder: Path, urandom: Callable[[int], bytes], key_store: KeyStore | None = None) -> Store:
    """Open the store in a folder, or create it.

    Args:
        key_store: the key store of its secret and its checkpoint. None for the key store that the store was created
            with, or the default key store for a new store.
    Raises:
        StoreRestored: the store is behind its checkpoint, it was moved or copied, or a part of it is missing.
        StoreDamaged, StoreError: as for ``Device.open``.
    """
    store = Store.connect(folder)
    try:
        with store.transaction():
            _identify(store, folder, store.make_tables(), urandom, key_store)
    except BaseException:
        store.close()
        raise
    return store


def _identify(
    store: Store, folder: Path, is_new: bool, urandom: Callable[[int], bytes], named_key_store: KeyStore | None
) -> None:
    """Read or create the secret of a store, and update its checkpoint from now on; part of the caller's transaction.

    Args:
        is_new: whether the store's tables were created just now.
        named_key_store: as ``key_store`` of ``open_store``.
    Raises:
        StoreRestored, StoreDamaged, StoreError: as for ``open_store``.
    """
    key_store = key_store_to_use(store, folder, named_key_store)
    checkpoints, old_secret = key_store.checkpoints(), key_store.secret()
    if is_new:
        _require_new(folder, checkpoints, old_secret)
    elif old_secret is None:
        raise StoreRestored(
            f"the secret of the store in {folder} is missing: put it back; or adopt the store, to continue with new "
            "keys and the spending that it records"
        )
    elif (recorded_id := store.setting("store_id")) is None:
        raise ledger_mismatch(folder)
    elif store_id(old_secret) != recorded_id:
        raise wrong_secret(folder)
    secret = old_secret if old_secret and len(old_secret) == DEVICE_SECRET_BYTES else urandom(DEVICE_SECRET_BYTES)
    checkpoint = checked_checkpoint(store, store_id(secret), is_new)
    host = None
    if is_new:
        _require_current(folder, checkpoint, checkpoints, expected=set())
    else:
        known_places = (
            set(checkpoints) if store.setting("key_store") == key_store.location else set(map(str, key_store.files))
        )
        _require_current(folder, checkpoint, checkpoints, known_places)
        host = _require_same_host(store, folder, secret, key_store)
    if any(previous != checkpoint for previous in checkpoints.values()):
        key_store.keep_checkpoint(checkpoint, erase_earlier=None in checkpoints.values())
    if secret != old_secret:
        key_store.keep_secret(secret)
    settle(store, secret, checkpoint, key_store, host or host_identity_of(folder, secret, key_store))


def settle(store: Store, secret: bytes, checkpoint: Checkpoint, key_store: KeyStore, host: HostIdentity) -> None:
    """Record the store's id, the key store's location, the checkpoint and the host identity if they changed,
    and update the checkpoint from now on."""
    settled: dict[str, bytes | str] = {
        "store_id": checkpoint.store,
        "key_store": key_store.location,
        CHECKPOINT: checkpoint.record,
        "host_identity": bytes(host),
    }
    for name, value in settled.items():
        if store.setting(name) != value:
            store.set(name, value)
    store.secret, store.hooks = secret, CheckpointWriter(store, key_store, host)


def key_store_to_use(store: Store, folder: Path, named_key_store: KeyStore | None) -> KeyStore:
    """Return the key store that the store was created with; for a new store, the named or the default key store.

    A second place for the checkpoint may be added or replaced later.

    Raises:
        StoreError: the named key store is not the one that the store was created with.
    """
    location = store.setting("key_store")
    if location is None:
        return named_key_store or default_key_store(folder)
    if named_key_store is None or named_key_store.location == location:
        return named_key_store or key_store_of(location, folder)
    kind = location.partition(" ")[0]
    if named_key_store.name != kind or kind != FileKeyStore.name:
        raise StoreError(
            f"the store in {folder} was created with the key store {location!r}, not with "
            f"{named_key_store.location!r}: open the store without naming a key store"
        )
    return key_store_of(location, folder) if named_key_store.location == FileKeyStore.name else named_key_store


def host_identity_of(folder: Path, secret: bytes, key_store: KeyStore) -> HostIdentity:
    """Return the store's current host identity."""
    return HostIdentity.of(secret, folder / DATABASE_FILE, key_store.files)


def checked_checkpoint(store: Store, identifier: bytes, is_new: bool) -> Checkpoint:
    """Return the database's checkpoint, after checking it against the ledger rows; for a new store, the first one.

    Args:
        identifier: the store's id.
        is_new: whether its tables were created just now.
    Raises:
        StoreDamaged: the checkpoint is missing, or differs from the one computed from the rows.
    """
    if is_new:
        return computed_checkpoint(store, identifier, 0)
    checkpoint = stored_checkpoint(store)
    if computed_checkpoint(store, identifier, checkpoint.sequence) != checkpoint:
        raise ledger_mismatch(store.folder)
    return checkpoint


def store_id(secret: bytes) -> bytes:
    """Return the hash of a secret, which identifies the store and does not reveal the secret."""
    return sha256(b"halftruth/1/secret-fingerprint" + secret).digest()


def _require_new(folder: Path, checkpoints: dict[str, Checkpoint | None], secret: bytes | None) -> None:
    """Refuse a folder whose database was lost, as a key store shows.

    Raises:
        StoreRestored: a checkpoint in the key store counts at least one change of the ledger.
        StoreDamaged: the key store has only the secret.
    """
    if any(checkpoint and checkpoint.sequence for checkpoint in checkpoints.values()):
        place = next(place for place, checkpoint in checkpoints.items() if checkpoint)
        raise StoreRestored(
            f"there is no database in {folder}, but {place} has its checkpoint: put the database back; or adopt the "
            "folder, to continue with the spending that the checkpoint records"
        )
    if secret is not None and not any(checkpoints.values()):
        raise StoreDamaged(
            f"{folder} has a device's secret, but no database and no checkpoint: put them back; otherwise the "
            "amount spent is unknown, so delete the folder and begin as a new device"
        )


def _require_current(
    folder: Path, checkpoint: Checkpoint, checkpoints: dict[str, Checkpoint | None], expected: set[str]
) -> None:
    """Refuse a store that the key store's checkpoints do not show to be current.

    Args:
        expected: the places that must have a checkpoint of the store.
    Raises:
        StoreRestored: a checkpoint is missing or later than ``checkpoint``, or belongs to another store.
    """
    for place, previous in checkpoints.items():
        require_later(checkpoint, previous, place)
        if previous is None and place in expected:
            raise StoreRestored(
                f"{place} has no checkpoint of the store in {folder}: put the latest one back; or adopt the store, and "
                "the amount reserved counts as spent"
            )


def _require_same_host(store: Store, folder: Path, secret: bytes, key_store: KeyStore) -> HostIdentity:
    """Return the store's host identity.

    Raises:
        StoreRestored: the store was restored, copied, or moved to another machine.
    """
    now, record = host_identity_of(folder, secret, key_store), store.setting("host_identity")
    if record is None or HostIdentity.decode(record).moved_to(now):
        raise StoreRestored(
            f"the store in {folder} was restored, or copied from another machine or another folder: continue with "
            "the original store; adopt this one only if the original is gone"
        )
    return now
