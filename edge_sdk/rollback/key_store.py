"""The interface of key stores, which keep a device's secret and its checkpoint.

The secret identifies the device, and the checkpoint identifies the latest state of its ledger. Both are kept outside
the database, with the best protection that the machine offers. Every key store describes its limits in one line.

The key stores are file_store, keyring_store and android_store; known_key_stores chooses one. store_identity creates the
secret, and checkpointing updates the checkpoint.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from edge_sdk.errors import StoreRestored
from edge_sdk.rollback.checkpoint import Checkpoint

SECRET_FILE, CHECKPOINT_FILE, WRAPPED_FILE = "device.secret", "device.checkpoint", "device.wrapped"
"""Files of key stores in the store's folder."""


class KeyStore(ABC):
    """A place for one device's secret and checkpoint. An app may provide a class of its own, with another name and
    these methods.

    Attributes:
        name: the kind of key store.
        location: text by which the store records its key store; begins with the name.
        files: files in the store's folder that this key store created and that keep their inode.
        elsewhere: a description of the record outside the folder that detects a restored folder; "" if there is none.
    """

    name: ClassVar[str]
    files: tuple[Path, ...] = ()
    elsewhere: str = ""

    @property
    def location(self) -> str:
        """The key store's name and, after a blank, its location."""
        return self.name

    @abstractmethod
    def secret(self) -> bytes | None:
        """Return the secret, 32 bytes; None before it is created.

        Raises:
            StoreRestored: the secret exists, but this machine can no longer read it.
            StoreError, OSError: the secret cannot be read now.
        """

    @abstractmethod
    def keep_secret(self, secret: bytes) -> None:
        """Store the secret, completely or not at all.

        Raises:
            StoreError, OSError: the secret is not stored.
        """

    @abstractmethod
    def checkpoints(self) -> dict[str, Checkpoint | None]:
        """Return the checkpoint of each place, by the place's name; None if it is missing or unreadable.

        Raises:
            StoreError, OSError: a place cannot be read now.
        """

    @abstractmethod
    def keep_checkpoint(self, checkpoint: Checkpoint, erase_earlier: bool = False) -> None:
        """Store ``checkpoint`` durably in every place; after a crash, each place has the new or the previous one.

        Args:
            erase_earlier: erase all earlier checkpoints and those of another store, and create missing places.
        Raises:
            StoreRestored: a place has a later checkpoint, or a checkpoint of another store (``require_later``), and
                keeps it.
            StoreError, OSError: a place may have failed to store it.
        """

    @abstractmethod
    def describe(self) -> str:
        """Return one line for the owner: the place of the secret, its protection, and the limits of the protection."""


def require_later(checkpoint: Checkpoint, previous: Checkpoint | None, place: str, erase_earlier: bool = False) -> None:
    """Refuse to replace the checkpoint ``previous`` of the place ``place`` by a ``checkpoint`` that does not follow it.

    Args:
        erase_earlier: accept that ``previous`` is the checkpoint of another store.
    Raises:
        StoreRestored: ``previous`` is later, diverged, or another store's.
    """
    if previous is None:
        return
    if previous.store == checkpoint.store and not checkpoint.follows(previous):
        raise StoreRestored(
            f"this store is older than its checkpoint in {place}, or has diverged from it: put the latest state back; "
            "or adopt the store, and the amount reserved counts as spent"
        )
    if previous.store != checkpoint.store and previous.sequence and not erase_earlier:
        raise StoreRestored(
            f"{place} has the checkpoint of another store: name another place for the checkpoint of this store; or, if "
            f"{place} had the checkpoint of this store before, adopt this store"
        )
