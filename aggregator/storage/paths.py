"""Storage paths: local files and folders, and objects and prefixes in the buckets of an object store.

The address of an object in a bucket is s3://BUCKET/KEY. ``remote`` has objects; the functions of this module take both
kinds of paths.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar
from urllib.parse import quote, unquote, urlparse

from aggregator.storage.remote import SCHEME, Remote, StoragePathError

Item = TypeVar("Item")
Result = TypeVar("Result")

_URI_START = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
AT_ONCE = 32
"""Maximum number of requests at the same time."""

StoragePath: TypeAlias = Path | Remote


@dataclass(frozen=True)
class File:
    """A file or object found while listing.

    Attributes:
        size: the size in bytes.
    """

    path: StoragePath
    size: int


def is_remote(text: str) -> bool:
    """Return whether a name has the form of a remote path, such as s3://BUCKET."""
    return _URI_START.match(text) is not None


def storage_path(text: str | StoragePath) -> StoragePath:
    """Return the path that a file name or an address names.

    Raises:
        StoragePathError: a malformed address, or one that does not begin with s3://.
    """
    if not isinstance(text, str):
        return text
    if not is_remote(text):
        return Path(text)
    bucket, _, key = text[len(SCHEME) :].partition("/")
    key = key.removesuffix("/")
    parts = key.split("/") if key else []
    if not text.lower().startswith(SCHEME) or not bucket or any(part in ("", ".", "..") for part in parts):
        raise StoragePathError(
            f"{text!r} is not a valid path: give a folder, or {SCHEME}BUCKET/FOLDER in an object store"
        )
    return Remote(bucket, key)


def uri_of(path: StoragePath) -> str:
    """Return the storage engine's URI of a path."""
    return f"{SCHEME}{path.bucket}/{quote(path.key)}" if isinstance(path, Remote) else str(path)


def of_uri(uri: str) -> StoragePath:
    """Return the path of a URI of the storage engine."""
    parts = urlparse(uri)
    if uri.startswith(SCHEME):
        return Remote(parts.netloc, unquote(parts.path).strip("/"))
    return Path(unquote(parts.path))


def files_below(folder: StoragePath) -> Iterator[File]:
    """Yield all files below a folder, or all objects under a prefix.

    Raises:
        OSError: a bucket cannot be listed.
    """
    if isinstance(folder, Remote):
        for remote, stat in folder.listing():
            yield File(remote, stat.st_size)
        return
    for path, _, names in os.walk(folder):
        for file in (Path(path, name) for name in names):
            with suppress(FileNotFoundError):  # the file was deleted after it was listed
                if file.is_file():
                    yield File(file, file.stat().st_size)


def size_of(file: StoragePath) -> int:
    """Return the size of a file or object in bytes; for a listed object, the size in the listing.

    Raises:
        OSError: the size cannot be read.
    """
    return file.size() if isinstance(file, Remote) else file.stat().st_size


def touch(file: StoragePath) -> None:
    """Set the time of a file or object to now.

    Raises:
        OSError: the time cannot be set.
    """
    if isinstance(file, Remote):
        file.touch()
    else:
        os.utime(file)


def prefetched(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield the result of ``function`` for each item, in order; several items are requested at the same time.

    Each request to an object store has a high latency, and the store serves many requests in parallel.
    """
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > AT_ONCE:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def sync(paths: Iterable[StoragePath]) -> None:
    """Sync files, folders and their directory entries to the disk, if the system supports it.

    Objects in buckets need no sync.

    Raises:
        OSError: a path cannot be synced.
    """
    listed = {path for path in paths if isinstance(path, Path)}
    for path in listed | {path.parent for path in listed}:
        with suppress(FileNotFoundError):
            sync_path(path)


def sync_path(path: Path) -> None:
    """Sync the content of a file, or the names in a folder, to the disk, if the system supports it.

    Raises:
        OSError: the path does not exist, or cannot be synced.
    """
    if os.name != "posix":
        return
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
