"""List the files to read, and read them in buffers of bounded size.

A missing path raises an error before anything is read. A file that cannot be read, or is empty, only causes a warning;
the other files are read.

``framing`` finds the envelopes in the bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import repeat

from aggregator.storage.paths import StoragePath, files_below, prefetched, size_of, storage_path
from aggregator.storage.remote import Remote
from protocol.errors import HalftruthError

UNFINISHED = ".part"
"""Ending of the names of files still being written; such files in folders are skipped."""

_READ_BYTES = 2**20
_EARLY_BYTES = 2**16


class IntakeError(HalftruthError):
    """A given path does not exist, or is a pipe or a device."""


def batch_files(paths: Iterable[str | StoragePath]) -> list[StoragePath]:
    """Return the files to read, in the given order; a folder stands for all regular files below it, sorted by path.

    Objects and prefixes in buckets (s3://BUCKET/FOLDER) are listed in the same way. In folders, names that begin with a
    dot or end in ``.part`` are skipped.

    Raises:
        IntakeError: a path does not exist, or is a pipe or a device, which cannot be read twice.
        StoragePathError: a malformed address of an object or prefix.
        OSError: a bucket does not answer.
    """
    files: list[StoragePath] = []
    missing: list[str] = []
    for path in [storage_path(path) for path in paths]:
        if path.is_file():
            files.append(path)
        elif path.is_dir():
            batches = (file.path for file in files_below(path) if _is_batch(path, file.path))
            files += sorted(batches, key=lambda batch: batch.parts)
        else:
            missing.append(str(path))
    if missing:
        raise IntakeError(
            f"no such file or folder (pipes and devices cannot be ingested): {', '.join(missing)}. Check the path; "
            "nothing was read"
        )
    return files


def _is_batch(folder: StoragePath, file: StoragePath) -> bool:
    hidden = any(part.startswith(".") for part in file.parts[len(folder.parts) :])
    return not hidden and not file.name.endswith(UNFINISHED)


def buffers(path: StoragePath, size: int) -> Iterator[bytes]:
    """Yield the bytes of a file in buffers of ``size`` bytes.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb", buffering=0) as file:
        while buffer := file.read(size):
            yield buffer


def contents(paths: Sequence[StoragePath], size: int) -> Iterator[tuple[StoragePath, Iterator[bytes]]]:
    """Yield each file with its bytes in buffers of ``size`` bytes; small objects are requested in advance.

    Raises:
        OSError: a file cannot be read; raised while its buffers are iterated over.
    """
    remote = any(isinstance(path, Remote) for path in paths)
    early = prefetched(_small_content, paths) if remote else repeat(None)
    for path, content in zip(paths, early, strict=False):
        yield path, buffers(path, size) if content is None else _as_buffers(content)


def _small_content(path: StoragePath) -> bytes | OSError | None:
    """Return the content of a small object, or the error that reading it raised; None for other files and objects."""
    if not isinstance(path, Remote) or path.listed is None or path.listed.st_size > _EARLY_BYTES:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        return error


def _as_buffers(content: bytes | OSError) -> Iterator[bytes]:
    if isinstance(content, OSError):
        raise content
    if content:
        yield content


def may_hold(path: StoragePath, mark: bytes, size: int) -> bool:
    """Return whether a file contains ``mark``; True for unreadable and remote files. The file is read in buffers of
    ``size`` bytes."""
    if isinstance(path, Remote):
        return True
    # A mark may begin in one buffer and end in the next, so the end of each buffer is kept.
    rest, over = b"", len(mark) - 1
    try:
        for buffer in buffers(path, size):
            if mark in buffer or mark in rest + buffer[:over]:
                return True
            rest = (rest + buffer[-over:])[-over:]
    except OSError:
        return True
    return False


def read_part(path: StoragePath, begin: int, size: int) -> tuple[bytes, bool, OSError | None]:
    """Read up to ``size`` bytes of a file from ``begin`` on.

    Returns:
        The bytes, whether they are fewer because the file ended or an error occurred, and the error or None.
    """
    read: list[bytes] = []
    try:
        with path.open("rb", buffering=0) as file:
            file.seek(begin)
            while size and (buffer := file.read(min(size, _READ_BYTES))):
                read.append(buffer)
                size -= len(buffer)
    except OSError as error:
        return b"".join(read), True, error
    return b"".join(read), size > 0, None


def unread_text(reason: str, *, nothing: bool) -> str:
    """Return the end of a warning about a file: the reason, and whether any part of it was read."""
    return f"could not be read{'' if nothing else ' to its end'}: {reason}"


def total_bytes(paths: Iterable[str | StoragePath]) -> int:
    """Return the total size in bytes of the files to read; files of unknown size are left out.

    Raises:
        IntakeError, StoragePathError, OSError: see ``batch_files``.
    """
    size = 0
    for path in batch_files(paths):
        with suppress(OSError):
            size += size_of(path)
    return size
