"""The keyring key store: the secret and the checkpoint in the desktop's keyring, encrypted with the person's login.

The keyring is not in the store's folder, so its checkpoint is ahead of a folder that is restored from a backup. This
key store needs the ``keyring`` package.

The module known_key_stores chooses the default key store.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from edge_sdk.errors import StoreError
from edge_sdk.rollback.checkpoint import Checkpoint
from edge_sdk.rollback.key_store import KeyStore, require_later

# The package is an optional dependency.
if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "halftruth"
MIN_PRIORITY = 1
"""Minimum priority that the keyring package recommends; the fail, null and plain-text backends are below it."""


class KeyringKeyStore(KeyStore):
    """A key store in two entries of the service "halftruth" in the person's keyring: NAME for the secret, and
    NAME.checkpoint.

    The entries outlast a deleted folder; ``keyring del halftruth NAME`` removes an entry.
    """

    name = "keyring"

    def __init__(self, entry: str) -> None:
        """Use the entry ``entry``. The name must not be empty, and must be unique among the login's stores, for example
        the path of the store's folder."""
        if not entry:
            raise ValueError("the keyring entry has no name: give one, for example the path of the store's folder")
        self.entry = entry
        self.elsewhere = f"the checkpoint in the keyring's entry {self._checkpoint}"

    @property
    def location(self) -> str:
        """The key store's name and the entry's name."""
        return f"{self.name} {self.entry}"

    def secret(self) -> bytes | None:
        """Return the bytes of the keyring entry; None if it is missing or damaged."""
        return self._read(self.entry)

    def keep_secret(self, secret: bytes) -> None:
        """Write the keyring entry."""
        self._write(self.entry, secret)

    def checkpoints(self) -> dict[str, Checkpoint | None]:
        """Return the checkpoint in the second entry, by the entry's name; None if it is missing or damaged."""
        record = self._read(self._checkpoint)
        return {f"the keyring's entry {self._checkpoint}": None if record is None else Checkpoint.decode(record)}

    def keep_checkpoint(self, checkpoint: Checkpoint, erase_earlier: bool = False) -> None:
        """Write the second entry. A keyring gives no access to earlier values, so ``erase_earlier`` erases nothing
        here."""
        for place, previous in self.checkpoints().items():
            require_later(checkpoint, previous, place, erase_earlier)
        self._write(self._checkpoint, checkpoint.record)

    def describe(self) -> str:
        """Return one line with the keyring in use and the limits of its protection."""
        return (
            f"the entry {self.entry} of the keyring ({_backend().name}): encrypted under the person's login, and "
            "readable by every program of an unlocked session"
        )

    @property
    def _checkpoint(self) -> str:
        return f"{self.entry}.checkpoint"

    def _read(self, entry: str) -> bytes | None:
        """Return the bytes of an entry; None if the entry is missing or is not base64.

        Raises:
            StoreError: the keyring cannot be used.
        """
        backend = _backend()
        import keyring.errors

        try:
            text = backend.get_password(SERVICE, entry)
            return None if text is None else base64.b64decode(text, validate=True)
        except binascii.Error:
            return None
        except keyring.errors.KeyringError as error:
            raise _unusable(error) from None

    def _write(self, entry: str, data: bytes) -> None:
        backend = _backend()
        import keyring.errors

        try:
            backend.set_password(SERVICE, entry, base64.b64encode(data).decode())
        except keyring.errors.KeyringError as error:
            raise _unusable(error) from None


def _backend() -> KeyringBackend:
    """Return the keyring in use.

    Raises:
        StoreError: the package is not installed, or the keyring does not encrypt.
    """
    try:
        import keyring
    except ImportError:
        raise StoreError("the keyring package is not installed: pip install keyring") from None
    backend = keyring.get_keyring()
    # A chain of keyrings writes to its first member, so that member is checked.
    chained = getattr(backend, "backends", None)
    first = chained[0] if chained else backend
    if first.priority < MIN_PRIORITY:
        raise StoreError(
            f"this machine has no keyring that protects a secret (the keyring package offers {first.name}): log in to "
            "a desktop that has one, or make the store with files (--key-store file)"
        )
    return backend


def _unusable(error: Exception) -> StoreError:
    return StoreError(f"the keyring cannot be used ({type(error).__name__}): unlock it, and try again")
