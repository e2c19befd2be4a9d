"""Objects in the buckets of an object store.

``Remote`` has the few methods of pathlib that a study and its inputs use, so the same code works for disks and buckets.
A bucket has no folders, no append and no sync, and an object is written atomically. A study needs conditional writes
(the second of two writers of one name fails), so this property is tested before a study is created in a bucket.

The server's address and the credentials are read from environment variables with Amazon's names, like those of the
storage engine: see docs/SCALE.md.

``paths`` has the functions for both: files on a disk, and objects.
"""

from __future__ import annotations

import errno
import io
import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from aggregator.extras import install_command
from protocol.errors import HalftruthError

if TYPE_CHECKING:
    from obstore.store import S3Store

SCHEME = "s3://"
_LOADING = threading.Lock()

_COLOUR = re.compile(r"\x1b\[\d*m")
_STATUS = re.compile(r"status code\W+(\d{3} [A-Z]\w*(?: [A-Z]\w*)*)")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_METADATA_SERVER = "169.254.169.254"
"""The address that is asked for credentials if the environment has none."""


class StoragePathError(HalftruthError):
    """A path is malformed, the client for its object store is not installed, or the store has no conditional writes."""


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

    Every method that sends a request raises ``OSError`` if it fails, and ``StoragePathError`` if the client of object
    stores is not installed.
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
        """Return the path whose last part is replaced by another name."""
        return self.parent / name

    def resolve(self) -> Remote:
        """Return the path itself, because a bucket has no links."""
        return self

    def stat(self) -> Stat:
        """Return the metadata of the object."""
        with _client(self) as store:
            return _stat(store.head(self.key))

    def size(self) -> int:
        """Return the size in bytes; for a listed object, the size in the listing."""
        return (self.listed or self.stat()).st_size

    def is_file(self) -> bool:
        """Return whether the object exists."""
        with suppress(FileNotFoundError):
            if self.key and self.listed is None:
                self.stat()
            return bool(self.key)
        return False

    def is_dir(self) -> bool:
        """Return whether the prefix has objects."""
        return next(self.listing(), None) is not None

    def exists(self) -> bool:
        """Return whether the object exists, or the prefix has objects."""
        return self.is_file() or self.is_dir()

    def listing(self) -> Iterator[tuple[Remote, Stat]]:
        """Yield all objects under the prefix, each with its metadata."""
        with _client(self) as store:
            for chunk in store.list(self.key or None):
                for metadata in chunk:
                    if metadata["path"] != self.key:  # some tools create this object to mark a folder
                        stat = _stat(metadata)
                        yield Remote(self.bucket, metadata["path"], stat), stat

    def open(self, mode: str = "rb", buffering: int = -1) -> io.RawIOBase:
        """Open the object for reading in any order; each read is a request.

        Raises:
            ValueError: the mode is not "rb".
        """
        if mode != "rb":
            raise ValueError(f"an object must be opened with mode 'rb', not {mode!r}")
        return _RemoteFile(self, self.size())

    def read_bytes(self) -> bytes:
        """Return the bytes of the object."""
        with _client(self) as store:
            return bytes(store.get(self.key).bytes())

    def write_bytes(self, data: bytes, *, new: bool = False) -> None:
        """Write the object atomically.

        Args:
            new: whether to fail if the object exists.
        Raises:
            FileExistsError: ``new`` is set, and the object exists.
        """
        with _client(self) as store:
            store.put(self.key, data, mode="create" if new else "overwrite")

    def touch(self) -> None:
        """Write the object again unchanged, which updates its time."""
        self.write_bytes(self.read_bytes())

    def unlink(self) -> None:
        """Delete the object."""
        with _client(self) as store:
            store.delete(self.key)

    def require_conditional_writes(self) -> None:
        """Check that the store refuses to create an object that exists.

        Raises:
            StoragePathError: the store overwrites the object.
        """
        probe = self / f".probe-{secrets.token_hex(8)}"
        probe.write_bytes(b"", new=True)
        try:
            probe.write_bytes(b"", new=True)
        except FileExistsError:
            return
        finally:
            probe.unlink()
        raise StoragePathError(
            f"the object store of {self} overwrites existing objects despite If-None-Match: two writers would lose "
            "each other's reports. Use an object store with conditional writes, or a folder"
        )


def reason_of(error: BaseException) -> str | None:
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
        self.remote, self.size, self.offset = remote, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.offset

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.offset = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.offset, io.SEEK_END: self.size}[whence])
        return self.offset

    def readinto(self, buffer: Any) -> int:
        length = min(len(buffer), self.size - self.offset)
        if length <= 0:
            return 0
        with _client(self.remote) as store:
            buffer[:length] = memoryview(store.get_range(self.remote.key, start=self.offset, length=length))
        self.offset += length
        return length

    def readall(self) -> bytes:
        return self.read(max(0, self.size - self.offset)) or b""


@contextmanager
def _client(remote: Remote) -> Iterator[S3Store]:
    """Context manager: the client of a bucket; its errors are raised as ``OSError``.

    Raises:
        StoragePathError: the client's package is not installed.
        OSError: a request failed.
    """
    try:
        with _LOADING:
            store = _store(remote.bucket)
    except ModuleNotFoundError:
        raise StoragePathError(
            f"{remote} is on an object store, and its client is not installed: {install_command('aggregator,s3')}"
        ) from None
    from obstore import exceptions

    try:
        yield store
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "no such object", str(remote)) from None
    except exceptions.AlreadyExistsError:
        raise FileExistsError(errno.EEXIST, "the object already exists", str(remote)) from None
    except exceptions.BaseError as error:
        raise ObjectStoreError(errno.EIO, reason_of(error) or str(error).partition("\n")[0], str(remote)) from None


@lru_cache
def _store(bucket: str) -> S3Store:
    from obstore.store import S3Store  # only in one thread, because its modules import each other

    return S3Store(bucket)


def _stat(metadata: Any) -> Stat:
    return Stat(metadata["size"], metadata["last_modified"].timestamp())
