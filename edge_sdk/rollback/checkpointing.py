"""Update a store's checkpoint, in the database and in the key store, whenever the ledger changes.

Each transaction that changes a ledger row or a cap also writes the checkpoint in the database. The key store's
checkpoint is written after the commit, before the call returns. So after a crash the store may be ahead of the key
store's checkpoint; a store behind the checkpoint is an old copy. If the checkpoint cannot be written, nothing is
undone, since the charge and its report are already on the disk. The checkpoint is then updated with the next change, or
when the store is opened again; until then ``doctor`` reports the failure.

The module checkpoint defines the format, key_store stores checkpoints, and store_identity compares them when a store is
opened. store/hooks defines the hooks that the store calls.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING

from edge_sdk.budget.policy import Cap
from edge_sdk.errors import StoreError, StoreRestored
from edge_sdk.rollback.checkpoint import Checkpoint, CheckpointRow
from edge_sdk.rollback.host_identity import HostIdentity
from edge_sdk.rollback.key_store import KeyStore
from edge_sdk.store.sqlite_errors import error_advice, ledger_mismatch

if TYPE_CHECKING:
    from edge_sdk.store.sqlite import Store

CHECKPOINT = "checkpoint"
"""The name of the setting in which the store keeps its checkpoint."""


class CheckpointWriter:
    """The hooks of one open store that update its checkpoint whenever a ledger row or a cap changes.

    Attributes:
        trouble: the reason why the key store's checkpoint is behind the store; empty if it is not behind.
    """

    def __init__(self, store: Store, key_store: KeyStore, host: HostIdentity) -> None:
        self.trouble = ""
        self._store = store
        self._key_store = key_store
        self._host = host
        self._new_rows: list[CheckpointRow] = []
        self._rewritten_campaigns: set[int] = set()
        self._changed_caps: set[str] = set()
        self._changed: Checkpoint | None = None
        store.on_change("ledger", "INSERT", "NEW.time, NEW.campaign, NEW.kind, NEW.nanonats", self._add)
        store.on_change("cap", "INSERT", "NEW.kind", self._changed_caps.add)
        for event in ("UPDATE", "DELETE"):
            store.on_change("ledger", event, "OLD.campaign", self._rewritten_campaigns.add)
            store.on_change("cap", event, "OLD.kind", self._changed_caps.add)

    def _add(self, *row: int) -> None:
        time, number, kind, nanonats = row
        self._new_rows.append((time, number, kind, nanonats))

    def before_commit(self) -> None:
        """Write the checkpoint with the transaction's changes of ledger and caps, as part of the transaction.

        Raises:
            StoreDamaged: the rows do not form a valid ledger, or the checkpoint is missing.
            ValueError: there would be more caps than a device can store.
        """
        if not (self._new_rows or self._rewritten_campaigns or self._changed_caps):
            return
        cache = self._store.cache
        before = checkpoint = cache.get(CheckpointWriter) or stored_checkpoint(self._store)
        for row in self._new_rows:
            checkpoint = checkpoint.after(row)
        if self._rewritten_campaigns:
            checkpoint = replace(
                computed_checkpoint(
                    self._store, checkpoint.store, checkpoint.sequence + len(self._rewritten_campaigns)
                ),
                caps=checkpoint.caps,
            )
        if self._changed_caps and (caps := _caps(self._store)) != checkpoint.caps:
            checkpoint = replace(checkpoint, sequence=checkpoint.sequence + 1, caps=caps)
        if checkpoint != before:
            self._changed = checkpoint
            self._store.set(CHECKPOINT, checkpoint.record)
            cache[CheckpointWriter] = checkpoint

    def after_rollback(self) -> None:
        """Discard the changes of the transaction."""
        self._new_rows.clear()
        self._rewritten_campaigns.clear()
        self._changed_caps.clear()
        self._changed = None

    def after_commit(self) -> None:
        """Update the key store's checkpoint if the transaction changed the checkpoint in the store.

        Raises:
            StoreRestored: as for ``write``.
        """
        changed = self._changed
        self.after_rollback()
        if changed is not None:
            self.write(changed)

    def after_compaction(self) -> None:
        """Erase all earlier checkpoints.

        Raises:
            StoreRestored: as for ``write``.
            StoreError: an earlier checkpoint may still exist.
        """
        self.write(erase_earlier=True)
        if self.trouble:
            raise StoreError(self.trouble)

    def write(self, latest: Checkpoint | None = None, erase_earlier: bool = False) -> None:
        """Write the committed checkpoint to the key store, under the write lock, so that an older checkpoint never
        replaces a newer one. If it cannot be written, ``trouble`` says why.

        Args:
            latest: as for ``stored_checkpoint``.
            erase_earlier: erase all earlier checkpoints.
        Raises:
            StoreRestored: the key store's checkpoint is ahead, so the open store is an old copy.
        """
        try:
            self._store.while_locked(
                lambda: self._key_store.keep_checkpoint(stored_checkpoint(self._store, latest), erase_earlier)
            )
        except StoreRestored:
            raise
        except sqlite3.Error as error:
            self.trouble = error_advice(error, self._store.folder)
        except (OSError, StoreError) as error:
            self.trouble = f"the key store's checkpoint cannot be written: {getattr(error, 'strerror', None) or error}"
        else:
            self.trouble = ""

    def describe(self) -> dict[str, str]:
        """Return facts about the detection of old states and copies of this store, and about its limits, by name.

        Raises:
            StoreError, OSError: the key store cannot be read now.
        """
        key_store, host = self._key_store, self._host
        places = " and ".join(key_store.checkpoints())
        return {
            "key store": key_store.name,
            "device secret": key_store.describe(),
            "checkpoint": places + (f"; behind, because {self.trouble}" if self.trouble else ""),
            "machine": "identified: a store copied to another machine is refused"
            if host.identifies_machine
            else "not identified: a store copied to another machine is refused only if copies of its files are "
            "detected",
            "copies of the files": "detected: a folder copied, or restored as new files, is refused"
            if host.detects_copies
            else "not detected in this file system: a folder copied together with its checkpoint is accepted",
            "rollback": "a database older than its checkpoint, or without its checkpoint, is refused; "
            + (
                f"a folder restored as a whole is refused because of {key_store.elsewhere}"
                if key_store.elsewhere
                else "a folder restored byte by byte into the same files cannot be detected: keep a second checkpoint "
                "elsewhere (--checkpoint), or leave the folder out of backups"
            ),
            "image": "a whole disk or system restored from an image cannot be detected",
        }


def stored_checkpoint(store: Store, latest: Checkpoint | None = None) -> Checkpoint:
    """Return the checkpoint in the store.

    Args:
        latest: the checkpoint that this process committed last; it is not decoded again if the store still has it.
    Raises:
        StoreDamaged: it is missing or unreadable.
    """
    record = store.setting(CHECKPOINT)
    if latest is not None and record == latest.record:
        return latest
    checkpoint = Checkpoint.decode(record) if isinstance(record, bytes) else None
    if checkpoint is None:
        raise ledger_mismatch(store.folder)
    return checkpoint


def computed_checkpoint(store: Store, store_id: bytes, sequence: int) -> Checkpoint:
    """Return the checkpoint computed from the current ledger rows.

    Raises:
        StoreDamaged: the rows do not form a valid ledger.
    """
    rows = store.rows("SELECT time, campaign, kind, nanonats FROM ledger ORDER BY number")
    try:
        return Checkpoint.of(store_id, sequence, rows, _caps(store))
    except ValueError:
        raise ledger_mismatch(store.folder) from None


def _caps(store: Store) -> tuple[Cap, ...]:
    return tuple(Cap(*row) for row in store.rows("SELECT kind, seconds, nanonats FROM cap ORDER BY kind, seconds"))
