"""The interface of key stores, which keep a device's secret and its checkpoint.

The secret identifies the device, and the checkpoint identifies the latest state of its ledger. Both are kept outside
the database, by the best protection that the machine offers. Every key store says in one line what it does not protect
from.

The key stores: file_store, keyring_store, android_store; which one a store has: known_key_stores. When a secret is
made: store_identity. When a checkpoint moves on: checkpointing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from edge_sdk.errors import StoreRestored
from edge_sdk.rollback.checkpoint import Checkpoint

SECRET_FILE, CHECKPOINT_FILE, WRAPPED_FILE = "device.secret", "device.checkpoint", "device.wrapped"
"""What key stores put into the store's folder."""


class KeyStore(ABC):
    """Keeps one device's secret and checkpoint. An app may provide its own class with its own name and these methods.

    Attributes:
        name: the kind of key store.
        address: how the store remembers which key store it was made with; begins with the name.
        files: of the store's folder, those that this key store made and that keep their inode.
        elsewhere: what is kept outside the folder and notices that the folder was restored; empty where nothing is.
    """

    name: ClassVar[str]
    files: tuple[Path, ...] = ()
    elsewhere: str = ""

    @property
    def address(self) -> str:
        """Return the key store's name and, after a blank, its location."""
        return self.name

    @abstractmethod
    def secret(self) -> bytes | None:
        """Return the secret; None if there is none.

        Raises:
            StoreRestored: there is one, and it cannot be read on this machine any more.
            StoreError, OSError: it cannot be read now.
        """

    @abstractmethod
    def keep_secret(self, secret: bytes) -> None:
        """Store the secret, completely or not at all.

        Raises:
            StoreError, OSError: it is not kept.
        """

    @abstractmethod
    def checkpoints(self) -> dict[str, Checkpoint | None]:
        """Return the checkpoint of each place that keeps one; None if it is missing or unreadable.

        Raises:
            StoreError, OSError: a place cannot be read now.
        """

    @abstractmethod
    def keep_checkpoint(self, checkpoint: Checkpoint, alone: bool = False) -> None:
        """Store ``checkpoint`` durably in every place; after a crash, each place has the new or the previous one.

        Args:
            alone: leave no byte of an earlier checkpoint or of another store's, and create missing places.
        Raises:
            StoreRestored: it would go back, or take another store's place (``require_later``); nothing is kept.
            StoreError, OSError: it may not be in every place.
        """

    @abstractmethod
    def say(self) -> str:
        """Return one line: where the secret is, what protects it, and what it is not protected from."""


def require_later(checkpoint: Checkpoint, kept: Checkpoint | None, where: str, alone: bool = False) -> None:
    """Return if ``checkpoint`` may take the place of ``kept``, which is in ``where``.

    Raises:
        StoreRestored
    """
    if kept is None:
        return
    if kept.store == checkpoint.store and not checkpoint.follows(kept):
        raise StoreRestored(
            f"this store is an older state of itself than the checkpoint in {where}: put the latest back; or adopt it, "
            "and what was reserved counts as spent"
        )
    if kept.store != checkpoint.store and kept.sequence and not alone:
        raise StoreRestored(
            f"{where} has the checkpoint of another store: name another place for this one's; or, if it was this one's "
            "before, adopt the store"
        )
