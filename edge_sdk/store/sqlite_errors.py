"""Turn errors of SQLite and the file system into messages with advice for the owner.

Every error of SQLite or the file system becomes a ``StoreError`` here; the error's code decides whether the store is
damaged. SQLite's own text is never repeated, because it may quote stored data.

The module errors defines the error classes.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from edge_sdk.errors import StoreDamaged, StoreError

_DAMAGES = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR")
"""Error codes of a damaged database. SQLITE_ERROR means that a table or column of the schema is missing."""


REFUSALS = (sqlite3.Error, OSError, UnicodeDecodeError)
"""The exceptions that SQLite and the file system raise."""


@contextlib.contextmanager
def raising_store_errors(folder: Path | None) -> Iterator[None]:
    """Context manager: raise errors of SQLite and the file system as ``StoreError`` with advice for the owner.

    Raises:
        StoreDamaged, StoreError: as ``store_error`` returns them.
    """
    try:
        yield
    except REFUSALS as error:
        raise store_error(error, folder) from None


def store_error(
    error: sqlite3.Error | OSError | UnicodeDecodeError, folder: Path | None, undone: bool = False
) -> StoreError:
    """Return the ``StoreError`` for an error of SQLite or the file system on the store in ``folder``.

    Args:
        undone: as for ``error_advice``.
    """
    # The text of a UnicodeDecodeError may quote stored data.
    if isinstance(error, UnicodeDecodeError):
        return damage_error(folder)
    if isinstance(error, sqlite3.Error):
        if any(has_error_code(error, name) for name in _DAMAGES):
            return damage_error(folder, error.sqlite_errorname)
        return StoreError(error_advice(error, folder, undone))
    prefix = f"{error.filename}: " if error.filename and str(error.filename) != str(folder) else ""
    return StoreError(
        f"the store in {folder} cannot be used: {prefix}{error.strerror or error}: check the path, who owns the folder "
        "and its files, and whether the disk is mounted and has free space"
    )


def error_advice(error: sqlite3.Error, folder: Path | None, undone: bool = False) -> str:
    """Return advice for an error that does not mean damage.

    Args:
        undone: whether the error undid a whole transaction, so that nothing was changed.
    """
    subject, effect = f"the store in {folder}", ", and this step changed nothing" if undone else ""
    if has_error_code(error, "SQLITE_FULL") or has_error_code(error, "SQLITE_IOERR"):
        return f"{subject} cannot be written{effect}: the disk is full or failing; free some space"
    if has_error_code(error, "SQLITE_BUSY") or has_error_code(error, "SQLITE_LOCKED"):
        return f"{subject} is in use by another process{effect}: try again"
    if (
        has_error_code(error, "SQLITE_READONLY")
        or has_error_code(error, "SQLITE_CANTOPEN")
        or has_error_code(error, "SQLITE_PERM")
    ):
        return f"{subject} cannot be written; check who owns the folder and its files"
    why = getattr(error, "sqlite_errorname", "a row cannot be read")
    return f"{subject} cannot be used ({why}): run doctor, which checks whether the database is damaged"


def has_error_code(error: sqlite3.Error, name: str) -> bool:
    """Return whether ``error`` has SQLite's error code ``name``, or one of its extended codes."""
    return str(getattr(error, "sqlite_errorname", "")).startswith(name)


def damage_error(folder: Path | None, how: str = "") -> StoreDamaged:
    """Return the error for a database whose pages or rows are damaged."""
    return StoreDamaged(
        f"the store in {folder} is damaged and cannot be used: adopt it, to continue with the same keys and the "
        "spending that its checkpoint records" + (f" ({how})" if how else "")
    )


def ledger_mismatch(folder: Path | None) -> StoreDamaged:
    """Return the error for a ledger that does not match its checkpoint."""
    return damage_error(folder, "its ledger does not match its checkpoint")


def wrong_secret(folder: Path | None) -> StoreError:
    """Return the error for a store whose key store has another secret."""
    return StoreError(
        f"the key store's secret is not that of the store in {folder}: put the original secret back, or delete the "
        "folder to begin as a new device"
    )


def not_erased(why: str) -> StoreError:
    """Return the error for deleted data whose bytes are not erased yet."""
    return StoreError(
        f"the campaign is forgotten, but its old bytes may still be in the store's files ({why}); "
        "remove the cause: they are erased the next time a campaign is forgotten"
    )
