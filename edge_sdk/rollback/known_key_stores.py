"""Find the key store of a store, by the location in the database or by the files in its folder.

The module key_store defines the interface.
"""

from __future__ import annotations

import os
from pathlib import Path

from edge_sdk.errors import StoreError
from edge_sdk.rollback.file_store import FileKeyStore
from edge_sdk.rollback.key_store import SECRET_FILE, WRAPPED_FILE, KeyStore


def key_store_of(location: str, folder: Path) -> KeyStore:
    """Return the key store with this location, for a store in ``folder``.

    Raises:
        StoreError: this package has no such key store.
    """
    name, _, place = location.partition(" ")
    if name == "file":
        return FileKeyStore(folder, place or None)
    if name == "keyring":
        from edge_sdk.rollback.keyring_store import KeyringKeyStore

        return KeyringKeyStore(place)
    if name == "android":
        from edge_sdk.rollback.android_store import AndroidKeyStore

        return AndroidKeyStore(folder)
    raise StoreError(
        f"the store in {folder} was created with the key store {name!r}, which this package does not have: pass that "
        "key store when you open the store"
    )


def default_key_store(folder: Path) -> KeyStore:
    """Return the key store whose files are in the folder; for a new store, the Keystore on Android and files elsewhere.

    A keyring is used only if it is named. It is locked until somebody logs in, and a cron job has no keyring. The place
    of a secret must not depend on whether the ``keyring`` package is installed.
    """
    new = not (folder / SECRET_FILE).exists()
    wrapped = (folder / WRAPPED_FILE).exists() or (new and "ANDROID_ARGUMENT" in os.environ)
    return key_store_of("android" if wrapped else "file", folder)
