"""The Android key store: the secret in a file that only a key in this phone's Keystore can decrypt.

The key that wraps the secret cannot leave the phone and is in no backup, so on another phone a restored folder cannot
be decrypted. The key is also replaced with the first change of the ledger or the caps after each opening, so most
folders restored on the same phone cannot be decrypted either.

The key is not replaced with every answer. The Keystore's chip may need a tenth of a second or more for a new key; a
signature and a commit take a hundredth. So a copy restored on the same phone is detected if the key was replaced after
the copy was made. Any other copy on the same phone is detected only if the file system distinguishes a file from
its copy (host_identity).

This module is written for pyjnius and the documented Keystore of Android 6 (API 23) and later. It was tested with a
Keystore in memory that has the same methods, and has not been run on a phone.

file_store stores the checkpoint.
"""

from __future__ import annotations

import os
import struct
from hashlib import sha256
from typing import Any

from edge_sdk.errors import StoreError, StoreRestored
from edge_sdk.rollback.checkpoint import Checkpoint
from edge_sdk.rollback.file_store import FileKeyStore
from edge_sdk.rollback.key_store import WRAPPED_FILE
from edge_sdk.store.files import write_durably

PROVIDER, TRANSFORMATION = "AndroidKeyStore", "AES/GCM/NoPadding"
ENCRYPT, DECRYPT = 1, 2
"""Modes of a Cipher; also the values of KeyProperties.PURPOSE_ENCRYPT and PURPOSE_DECRYPT of a key."""
KEY_BITS, TAG_BITS, VECTOR_BYTES = 256, 128, 12
# The header contains the magic bytes, the key's name, the key's number, and the initialisation vector.
_HEADER = struct.Struct(f">4s8sI{VECTOR_BYTES}s")
_MAGIC = b"htw1"
_ELSEWHERE = "the folder comes from another phone or from a backup"


class AndroidKeyStore(FileKeyStore):
    """A key store that keeps the secret in the folder's ``device.wrapped``, encrypted with a key of the Keystore.

    The file contains the name of the key, and the secret under AES-256-GCM.

    The checkpoint is in ``device.checkpoint``, in the format of a file key store.
    """

    name = "android"

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Use files in ``folder``, which may be part of the phone's backups."""
        super().__init__(folder)
        self.elsewhere = (
            "the Keystore's key, if the store was opened, and its ledger or caps changed, after the copy was made"
        )
        self._path = self.folder / WRAPPED_FILE
        self._secret: bytes | None = None
        self._renewed = False

    def secret(self) -> bytes | None:
        """Return the secret, unwrapped by the Keystore; None before the file is written."""
        if not self._path.exists():
            return None
        stem, number, vector, wrapped = self._parts()
        key = _keystore().getKey(_alias(stem, number), None)
        if key is None:
            raise self._restored(f"the key that opens it is not in this phone's Keystore; {_ELSEWHERE}")
        try:
            self._secret = _cipher(DECRYPT, key, vector)[1](wrapped)
        except _jnius().JavaException:
            raise self._restored(
                f"the key in this phone's Keystore does not open it; it is damaged, or {_ELSEWHERE}"
            ) from None
        return self._secret

    def keep_secret(self, secret: bytes) -> None:
        """Wrap the secret with a new key and write the file."""
        self._wrap(secret)
        self._secret, self._renewed = secret, True

    def keep_checkpoint(self, checkpoint: Checkpoint, erase_earlier: bool = False) -> None:
        """Write the checkpoint; the first call after opening also replaces the key."""
        super().keep_checkpoint(checkpoint, erase_earlier)
        if self._secret is not None and not self._renewed:
            self._wrap(self._secret)
            self._renewed = True

    def describe(self) -> str:
        """Return one line for the owner about the protection of the secret."""
        return (
            f"{self._path}: encrypted with a key that never leaves this phone's Keystore and is in no backup; readable "
            "by this app while it runs"
        )

    def _wrap(self, secret: bytes) -> None:
        """Create a key, write the file, then delete the old keys. So after a crash, the file and its key both exist.

        Raises:
            StoreError: the Keystore refuses.
            OSError: the file cannot be written.
        """
        stem, number = sha256(b"halftruth/1/wrapping-key" + secret).digest()[:8], self._number()
        java, store = _jnius(), _keystore()
        try:
            _make_key(_alias(stem, number + 1))
            vector, seal = _cipher(ENCRYPT, store.getKey(_alias(stem, number + 1), None))
            wrapped = seal(secret)
            write_durably(self._path, _HEADER.pack(_MAGIC, stem, number + 1, vector) + wrapped)
            oldest = number
            while oldest and store.containsAlias(_alias(stem, oldest)):
                oldest -= 1
            # The oldest key is deleted first: if a crash stops this loop, the search above still finds all remaining
            # keys.
            for old in range(oldest + 1, number + 1):
                store.deleteEntry(_alias(stem, old))
        except java.JavaException as error:
            raise StoreError(
                f"this phone's Keystore cannot make a key ({error.classname}): restart the phone, and try again"
            ) from None

    def _number(self) -> int:
        """Return the number of the key in use; 0 before the first key, and if the number is unknown."""
        try:
            return self._parts()[1]
        except (FileNotFoundError, StoreRestored):
            return 0

    def _parts(self) -> tuple[bytes, int, bytes, bytes]:
        """Return the key's name and number, the initialisation vector, and the wrapped secret."""
        data = self._path.read_bytes()
        if len(data) <= _HEADER.size or not data.startswith(_MAGIC):
            raise self._restored("it is damaged")
        _, stem, number, vector = _HEADER.unpack_from(data)
        return stem, number, vector, data[_HEADER.size :]

    def _restored(self, why: str) -> StoreRestored:
        return StoreRestored(
            f"{self._path} cannot be opened, because {why}: adopt the folder, to continue with new keys and the "
            "recorded spending"
        )


def _alias(stem: bytes, number: int) -> str:
    return f"halftruth-{stem.hex()}-{number}"


def _jnius() -> Any:
    """Return pyjnius, which a Kivy app has on Android.

    Raises:
        StoreError: pyjnius is not installed.
    """
    try:
        import jnius  # type: ignore[import-not-found]
    except ImportError:
        raise StoreError("the Keystore exists only on Android, through pyjnius: name another key store") from None
    return jnius


def _keystore() -> Any:
    store = _jnius().autoclass("java.security.KeyStore").getInstance(PROVIDER)
    store.load(None)
    return store


def _make_key(alias: str) -> None:
    java = _jnius()
    builder = java.autoclass("android.security.keystore.KeyGenParameterSpec$Builder")(alias, ENCRYPT | DECRYPT)
    builder.setBlockModes("GCM")
    builder.setEncryptionPaddings("NoPadding")
    builder.setKeySize(KEY_BITS)
    generator = java.autoclass("javax.crypto.KeyGenerator").getInstance("AES", PROVIDER)
    generator.init(_parameters(builder.build()))
    generator.generateKey()


def _cipher(mode: int, key: Any, vector: bytes | None = None) -> tuple[bytes, Any]:
    """Return (initialisation vector, function that applies the cipher).

    To encrypt, give no vector: the Keystore chooses one.
    """
    java = _jnius()
    cipher = java.autoclass("javax.crypto.Cipher").getInstance(TRANSFORMATION)
    key = java.cast("java.security.Key", key)
    if vector is None:
        cipher.init(mode, key)
        vector = _bytes(cipher.getIV())
    else:
        cipher.init(mode, key, _parameters(java.autoclass("javax.crypto.spec.GCMParameterSpec")(TAG_BITS, vector)))
    return vector, lambda data: _bytes(cipher.doFinal(data))


def _parameters(spec: Any) -> Any:
    """Return ``spec`` cast to the declared parameter type: pyjnius chooses among overloads by exact types."""
    return _jnius().cast("java.security.spec.AlgorithmParameterSpec", spec)


def _bytes(array: Any) -> bytes:
    """Return the bytes of a Java byte[], which is a list of signed numbers or pyjnius's own array."""
    return bytes(number & 0xFF for number in array[:])
