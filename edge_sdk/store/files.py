"""Write files: durably in place of an earlier file, or as a new file."""

from __future__ import annotations

import os
from pathlib import Path

from edge_sdk.errors import StoreError


def write_durably(path: Path, data: bytes) -> None:
    """Write a file atomically, readable by its owner only.

    Raises:
        OSError: the file cannot be written.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    sync(path.parent)


def write_new(path: Path, data: bytes) -> None:
    """Write a new file.

    Raises:
        StoreError: the file exists or cannot be written.
    """
    try:
        with path.open("xb") as file:
            file.write(data)
    except FileExistsError:
        raise StoreError(f"{path} exists and is not overwritten: name another file") from None
    except OSError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror or error}: name a file in a folder that you can write to"
        ) from None


def sync(folder: Path) -> None:
    """Make renamed files of a folder durable, by flushing the folder's entries to the disk."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
