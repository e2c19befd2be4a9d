"""Stores digests of verified signatures, so that they are not verified again.

Whether a signature verifies depends only on the bytes of the envelope and of the key. So the digest of such bytes,
stored after all of them have verified, remains valid after any enrolment, revocation or import. It replaces only
libsodium's verification; all other checks are made each time. Results are the same without this file, which may be
deleted at any time. Workers of a cluster read it and return new digests to the one process that writes.

Which bytes go into a digest: signatures. Whether a report was counted before: deduplicate.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from aggregator.storage.places import Place, Remote, below

NAME = "verified"
"""The file in a study: a line of 64 hex digits for each digest. In a bucket, a prefix of such objects."""
OBJECT_BYTES = 2**16
"""Nothing can be appended to an object: a process writes its own one anew until it has so many bytes, then another."""


@dataclass
class Verified:
    """Digests of bytes whose signatures all verified.

    Attributes:
        path: of the file, which need not be there.
    """

    path: Place
    _known: set[bytes] = field(default_factory=set)
    _object: Remote | None = None
    _written: bytes = b""

    @classmethod
    def of(cls, study: Place, size: int = -1) -> Verified:
        """Return the stored digests of a study; none if they cannot be read, since they only save time.

        Args:
            size: of so many bytes at the beginning of the file; of all if not given, and of all in a bucket.
        """
        path = study / NAME
        known: set[bytes] = set()
        for line in _read(path, size).split(b"\n"):
            with suppress(ValueError):  # a line that a crash cut off
                known.add(bytes.fromhex(line.decode("ascii", "replace")))
        return cls(path, known)

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._known

    def noting(self) -> Noting:
        """The same, for a process that writes nothing."""
        return Noting(self.path, self._known)

    def add(self, digests: Sequence[bytes]) -> None:
        """Store digests; a failure costs only time."""
        new = [digest for digest in dict.fromkeys(digests) if digest not in self._known]
        self._known.update(new)
        if not new:
            return
        # The first byte ends a line that a crash cut off.
        lines = b"".join(b"\n" + digest.hex().encode() for digest in new) + b"\n"
        with suppress(OSError):
            if isinstance(self.path, Remote):
                self._put(self.path, lines)
                return
            # One write at the end of the file: what several processes write does not mix.
            opened = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                os.write(opened, lines)
            finally:
                os.close(opened)

    def _put(self, path: Remote, lines: bytes) -> None:
        if self._object is None or len(self._written) >= OBJECT_BYTES:
            self._object, self._written = path / secrets.token_hex(8), b""
        self._written += lines
        self._object.write_bytes(self._written)


@dataclass
class Noting(Verified):
    """What was verified before, and what is now, for another process to write down.

    Attributes:
        noted: digests that were added.
    """

    noted: list[bytes] = field(default_factory=list)

    def add(self, digests: Sequence[bytes]) -> None:
        """Note digests."""
        self.noted += [digest for digest in digests if digest not in self]


def size_of(study: Place) -> int:
    """Bytes written down in a study."""
    path = study / NAME
    with suppress(OSError):
        return sum(file.size for file in below(path)) if isinstance(path, Remote) else path.stat().st_size
    return 0


def _read(path: Place, size: int) -> bytes:
    with suppress(OSError):
        if isinstance(path, Remote):
            return b"\n".join(file.place.read_bytes() for file in below(path))
        with path.open("rb") as file:
            return file.read(size)
    return b""
