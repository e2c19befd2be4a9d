"""What every key store of a device's secret and its checkpoint does.

What makes a device one device, its secret, and what makes its past one past, its checkpoint, are kept outside the
database, by the best that the machine has. Every key store says in one line what it does not protect from.

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
    """Keeps one device's secret and checkpoint. An app may bring its own: a name of its own, and these methods.

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
        """The name, and after a blank what else finds it again."""
        return self.name

    @abstractmethod
    def secret(self) -> bytes | None:
        """The secret; None where there is none.

        Raises:
            StoreRestored: there is one, and it cannot be read on this machine any more.
            StoreError, OSError: it cannot be read now.
        """

    @abstractmethod
    def keep_secret(self, secret: bytes) -> None:
        """Keep the secret, whole or not at all.

        Raises:
            StoreError, OSError: it is not kept.
        """

    @abstractmethod
    def checkpoints(self) -> dict[str, Checkpoint | None]:
        """The checkpoint, by each place it is kept in; None where there is none that can be read.

        Raises:
            StoreError, OSError: a place cannot be read now.
        """

    @abstractmethod
    def keep_checkpoint(self, checkpoint: Checkpoint, alone: bool = False) -> None:
        """Keep ``checkpoint`` in every place, on the disk when this returns; a crash leaves it or the one before.

        Args:
            alone: leave no byte of an earlier checkpoint, nor another store's, and make the place where there is none.
        Raises:
            StoreRestored: it would go back, or take another store's place (``require_later``); nothing is kept.
            StoreError, OSError: it may not be in every place.
        """

    @abstractmethod
    def say(self) -> str:
        """One line: where the secret is, what protects it, and what it is not protected from."""


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
