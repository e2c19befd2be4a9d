"""What every keeper of a device's secret and its mark does.

What makes a device one device, its secret, and what makes its past one past, its mark, are kept outside the database,
by the best that the machine has. Every keeper says in one line what it does not protect from.

The keepers: file_store, keyring_store, android_store; which one a store has: known_key_stores. When a secret is made:
store_identity. When a mark moves on: checkpointing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from edge_sdk.errors import StoreRestored
from edge_sdk.rollback.checkpoint import Checkpoint

SECRET_FILE, MARK_FILE, WRAPPED_FILE = "device.secret", "device.mark", "device.wrapped"
"""What keepers put into the store's folder."""


class KeyStore(ABC):
    """Keeps one device's secret and mark. An app may bring its own: a name of its own, and these methods.

    Attributes:
        name: the kind of keeper.
        address: how the store remembers which keeper it was made with; begins with the name.
        files: of the store's folder, those that this keeper made and that keep their inode.
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
    def marks(self) -> dict[str, Checkpoint | None]:
        """The mark, by each place it is kept in; None where there is none that can be read.

        Raises:
            StoreError, OSError: a place cannot be read now.
        """

    @abstractmethod
    def keep_mark(self, mark: Checkpoint, alone: bool = False) -> None:
        """Keep ``mark`` in every place, on the disk when this returns; a crash leaves it or the one before.

        Args:
            alone: leave no byte of an earlier mark, nor another store's, and make the place where there is none.
        Raises:
            StoreRestored: it would go back, or take another store's place (``require_later``); nothing is kept.
            StoreError, OSError: it may not be in every place.
        """

    @abstractmethod
    def say(self) -> str:
        """One line: where the secret is, what protects it, and what it is not protected from."""


def require_later(mark: Checkpoint, kept: Checkpoint | None, where: str, alone: bool = False) -> None:
    """Return if ``mark`` may take the place of ``kept``, which is in ``where``.

    Raises:
        StoreRestored
    """
    if kept is None:
        return
    if kept.store == mark.store and not mark.follows(kept):
        raise StoreRestored(
            f"this store is an older state of itself than the mark in {where}: put the latest one back; or adopt it, "
            "and what was reserved counts as spent"
        )
    if kept.store != mark.store and kept.sequence and not alone:
        raise StoreRestored(
            f"{where} has the mark of another store: name another place for this one's; or, if it was this one's "
            "before, adopt the store"
        )
