"""Places: local files and folders, and objects and prefixes in the buckets of an object store.

The address of an object in a bucket is s3://BUCKET/KEY. ``Remote`` has the few methods of pathlib that a study and its
inputs use, so the same code works for disks and buckets. A bucket has no folders, no append and no sync, and an object
is written atomically. A study needs conditional writes (the second of two writers of one name fails), so this property
is tested before a study is created in a bucket.

The server's address and the credentials are read from environment variables with Amazon's names, like those of the
storage engine: see docs/SCALE.md.
"""

from __future__ import annotations

import errno
import io
import os
import re
import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import quote, unquote, urlparse

from protocol.errors import HalftruthError

if TYPE_CHECKING:
    from obstore.store import S3Store

Item = TypeVar("Item")
Result = TypeVar("Result")

SCHEME = "s3://"
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_LOADING = threading.Lock()
AT_ONCE = 32
"""Maximum number of requests at the same time."""

_COLOUR = re.compile(r"\x1b\[\d*m")
_STATUS = re.compile(r"status code\W+(\d{3} [A-Z]\w*(?: [A-Z]\w*)*)")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_METADATA_SERVER = "169.254.169.254"
"""The address that is asked for credentials if the environment has none."""


class PlaceError(HalftruthError):
    """The address of a place is malformed, the client for its object store is not installed, or the store has no
    conditional writes."""


class ObjectStoreError(OSError):
    """A request to an object store failed; the text has the reason."""


@dataclass(frozen=True)
class Stat:
    """Metadata of an object with the names of ``os.stat``: size in bytes, and time of the last change in UTC
    seconds."""

    st_size: int
    st_mtime: float


@dataclass(frozen=True)
class Remote:
    """An object in a bucket, or a prefix (all objects whose keys begin with its key and a slash).

    Attributes:
        key: the key without a slash at either end; empty for the whole bucket.
        listed: the object's metadata from a listing; None if it was not listed.
    """

    bucket: str
    key: str = ""
    listed: Stat | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{SCHEME}{self.bucket}/{self.key}".rstrip("/")

    def __truediv__(self, name: str) -> Remote:
        return Remote(self.bucket, f"{self.key}/{name}".strip("/"))

    @property
    def parts(self) -> tuple[str, ...]:
        """The bucket and the parts of the key."""
        return (self.bucket, *filter(None, self.key.split("/")))

    @property
    def name(self) -> str:
        """The last part of the key."""
        return self.parts[-1]

    @property
    def parent(self) -> Remote:
        """The parent prefix; the parent of a bucket is the bucket."""
        return Remote(self.bucket, self.key.rpartition("/")[0])

    def with_name(self, name: str) -> Remote:
        """Return the place whose last part is replaced by another name."""
        return self.parent / name

    def resolve(self) -> Remote:
        """Return the place itself, because a bucket has no links."""
        return self

    def stat(self) -> Stat:
        """Return the metadata of the object.

        Raises:
            OSError
        """
        with _client(self) as store:
            return _stat(store.head(self.key))

    def is_file(self) -> bool:
        """Return whether the object exists.

        Raises:
            OSError: the request failed.
        """
        with suppress(FileNotFoundError):
            if self.key and self.listed is None:
                self.stat()
            return bool(self.key)
        return False

    def is_dir(self) -> bool:
        """Return whether the prefix has objects.

        Raises:
            OSError: the request failed.
        """
        return next(below(self), None) is not None

    def exists(self) -> bool:
        """Return whether the object exists, or the prefix has objects.

        Raises:
            OSError: the request failed.
        """
        return self.is_file() or self.is_dir()

    def open(self, mode: str = "rb", buffering: int = -1) -> io.RawIOBase:
        """Open the object for reading in any order; each read is a request.

        Raises:
            OSError
        """
        if mode != "rb":
            raise ValueError(f"an object must be opened with mode 'rb', not {mode!r}")
        return _RemoteFile(self, size_of(self))

    def read_bytes(self) -> bytes:
        """Return the bytes of the object.

        Raises:
            OSError
        """
        with _client(self) as store:
            return bytes(store.get(self.key).bytes())

    def write_bytes(self, data: bytes, *, new: bool = False) -> None:
        """Write the object atomically.

        Args:
            new: whether to fail if the object exists.
        Raises:
            FileExistsError
            OSError
        """
        with _client(self) as store:
            store.put(self.key, data, mode="create" if new else "overwrite")

    def touch(self) -> None:
        """Write the object again unchanged, which updates its time.

        Raises:
            OSError
        """
        self.write_bytes(self.read_bytes())

    def unlink(self) -> None:
        """Delete the object.

        Raises:
            OSError
        """
        with _client(self) as store:
            store.delete(self.key)

    def require_conditional_writes(self) -> None:
        """Check that the store refuses to create an object that exists.

        Raises:
            PlaceError: the store overwrites the object.
            OSError
        """
        probe = self / f".probe-{secrets.token_hex(8)}"
        probe.write_bytes(b"", new=True)
        try:
            probe.write_bytes(b"", new=True)
        except FileExistsError:
            return
        finally:
            probe.unlink()
        raise PlaceError(
            f"the object store of {self} overwrites existing objects despite If-None-Match: two writers would lose "
            "each other's reports. Use an object store with conditional writes, or a folder"
        )


Place: TypeAlias = Path | Remote


@dataclass(frozen=True)
class File:
    """A file or object found while listing.

    Attributes:
        size: the size in bytes.
        changed: the time of the last change, UTC seconds, by the clock of the storage.
    """

    place: Place
    size: int
    changed: float


def is_remote(text: str) -> bool:
    """Return whether a name has the form of a remote place, such as s3://BUCKET."""
    return _ELSEWHERE.match(text) is not None


def place(named: str | Place) -> Place:
    """Return the place that a path or address names.

    Raises:
        PlaceError: a malformed address, or one that does not begin with s3://.
    """
    if not isinstance(named, str):
        return named
    if not is_remote(named):
        return Path(named)
    bucket, _, key = named[len(SCHEME) :].partition("/")
    key = key.removesuffix("/")
    parts = key.split("/") if key else []
    if not named.lower().startswith(SCHEME) or not bucket or any(part in ("", ".", "..") for part in parts):
        raise PlaceError(f"{named!r} is not a valid place: give a folder, or {SCHEME}BUCKET/FOLDER in an object store")
    return Remote(bucket, key)


def uri_of(place: Place) -> str:
    """Return the storage engine's URI of a place."""
    return f"{SCHEME}{place.bucket}/{quote(place.key)}" if isinstance(place, Remote) else str(place)


def of_uri(uri: str) -> Place:
    """Return the place of a URI of the storage engine."""
    found = urlparse(uri)
    if uri.startswith(SCHEME):
        return Remote(found.netloc, unquote(found.path).strip("/"))
    return Path(unquote(found.path))


def below(folder: Place) -> Iterator[File]:
    """Yield all files below a folder, or all objects under a prefix.

    Raises:
        OSError: a bucket cannot be listed.
    """
    if isinstance(folder, Remote):
        with _client(folder) as store:
            for chunk in store.list(folder.key or None):
                for one in chunk:
                    if one["path"] != folder.key:  # some tools create this object to mark a folder
                        stat = _stat(one)
                        yield File(Remote(folder.bucket, one["path"], stat), stat.st_size, stat.st_mtime)
        return
    for here, _, names in os.walk(folder):
        for file in (Path(here, name) for name in names):
            with suppress(FileNotFoundError):  # the file was deleted after it was listed
                if file.is_file():
                    found = file.stat()
                    yield File(file, found.st_size, found.st_mtime)


def size_of(file: Place) -> int:
    """Return the size of a file or object in bytes; for a listed object, the size in the listing.

    Raises:
        OSError
    """
    if isinstance(file, Remote) and file.listed is not None:
        return file.listed.st_size
    return file.stat().st_size


def touch(file: Place) -> None:
    """Set the time of a file or object to now.

    Raises:
        OSError
    """
    if isinstance(file, Remote):
        file.touch()
    else:
        os.utime(file)


def ahead(function: Callable[[Item], Result], each: Iterable[Item]) -> Iterator[Result]:
    """Yield the result of ``function`` for each item, in order; several items are requested at the same time.

    Each request to an object store has a high latency, and the store serves many requests in parallel.
    """
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for one in each:
            waiting.append(pool.submit(function, one))
            if len(waiting) > AT_ONCE:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def sync(paths: Iterable[Place]) -> None:
    """Sync files, folders and their directory entries to the disk, if the system supports it.

    Objects in buckets need no sync.
    """
    if os.name != "posix":
        return
    listed = {path for path in paths if isinstance(path, Path)}
    for path in listed | {path.parent for path in listed}:
        with suppress(FileNotFoundError):
            opened = os.open(path, os.O_RDONLY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)


def answer_of(error: BaseException) -> str | None:
    """Return the reason of an error that an object store, or a missing setting for it, caused; None for other
    errors."""
    if isinstance(error, ObjectStoreError):
        return error.strerror
    text = _COLOUR.sub("", str(error))
    if "Generic S3 error" not in text:
        return None
    if _METADATA_SERVER in text:
        return "no credentials for the object store; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    status, code = _STATUS.search(text), _CODE.search(text)
    if status is None:
        if "URL scheme is not allowed" in text or "BadScheme" in text:
            return "the object store's address begins with http://; set AWS_ALLOW_HTTP=true to allow this"
        return "the object store does not answer; if it is not Amazon's, set AWS_ENDPOINT_URL to its address"
    return f"the object store answers {status[1]}" + (f" ({code[1]})" if code else "")


class _RemoteFile(io.RawIOBase):
    """An object of a known size, read like a file."""

    def __init__(self, remote: Remote, size: int) -> None:
        super().__init__()
        self.remote, self.size, self.at = remote, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.at = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence])
        return self.at

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), self.size - self.at)
        if wanted <= 0:
            return 0
        with _client(self.remote) as store:
            buffer[:wanted] = memoryview(store.get_range(self.remote.key, start=self.at, length=wanted))
        self.at += wanted
        return wanted

    def readall(self) -> bytes:
        return self.read(max(0, self.size - self.at)) or b""


@contextmanager
def _client(remote: Remote) -> Iterator[S3Store]:
    """Context manager: the client of a bucket; its errors are raised as ``OSError``.

    Raises:
        PlaceError: the client's package is not installed.
        OSError
    """
    try:
        with _LOADING:
            store = _store(remote.bucket)
    except ModuleNotFoundError:
        raise PlaceError(
            f"{remote} is on an object store: install its client with `pip install 'halftruth[aggregator,s3]'`"
        ) from None
    from obstore import exceptions

    try:
        yield store
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "no such object", str(remote)) from None
    except exceptions.AlreadyExistsError:
        raise FileExistsError(errno.EEXIST, "the object already exists", str(remote)) from None
    except exceptions.BaseError as error:
        raise ObjectStoreError(errno.EIO, answer_of(error) or str(error).partition("\n")[0], str(remote)) from None


@lru_cache
def _store(bucket: str) -> S3Store:
    from obstore.store import S3Store  # only in one thread, because its modules import each other

    return S3Store(bucket)


def _stat(metadata: Any) -> Stat:
    return Stat(metadata["size"], metadata["last_modified"].timestamp())
