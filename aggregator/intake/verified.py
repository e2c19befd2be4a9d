"""A store of the digests of verified signatures, so that they are not verified again.

Whether a signature verifies depends only on the bytes of the envelope and of the key. So the digest of the bytes of a
block, stored after all its signatures have verified, remains valid after any enrolment, revocation or import. A stored
digest replaces only libsodium's verification; all other checks are made each time. Results are the same without the
study's file ``verified``, which may be deleted at any time. Workers of a cluster read it and return new digests to the
one process that writes.

``signatures`` computes the digests.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from aggregator.storage.paths import StoragePath, files_below
from aggregator.storage.remote import Remote

NAME = "verified"
"""The file in a study: a line of 64 hex digits for each digest. In a bucket, a prefix of such objects."""
OBJECT_BYTES = 2**16
"""Size in bytes at which a process begins another object, because nothing can be appended to an object: each change
writes it again."""


@dataclass
class VerifiedDigests:
    """Digests of blocks of envelopes in which all signatures verified.

    Attributes:
        path: the path of the file, which need not exist.
    """

    path: StoragePath
    _known: set[bytes] = field(default_factory=set)
    _object: Remote | None = None
    _written: bytes = b""

    @classmethod
    def of(cls, study_path: StoragePath, size: int = -1) -> VerifiedDigests:
        """Return the stored digests of a study; an empty set if they cannot be read, because they only save time.

        Args:
            size: bytes to read from the beginning of the file; -1 to read all. In a bucket everything is read.
        """
        path = study_path / NAME
        known: set[bytes] = set()
        for line in _read(path, size).split(b"\n"):
            with suppress(ValueError):  # a crash can leave a partial line
                known.add(bytes.fromhex(line.decode("ascii", "replace")))
        return cls(path, known)

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._known

    def collector(self) -> DigestCollector:
        """Return a collector with the same digests, for a process that does not write the file."""
        return DigestCollector(self.path, self._known)

    def add(self, digests: Sequence[bytes]) -> None:
        """Store digests; a failed write is ignored, because it only costs time later."""
        new = [digest for digest in dict.fromkeys(digests) if digest not in self._known]
        self._known.update(new)
        if not new:
            return
        # The first newline ends a partial line, if a crash has left one.
        lines = b"".join(b"\n" + digest.hex().encode() for digest in new) + b"\n"
        with suppress(OSError):
            if isinstance(self.path, Remote):
                self._put(self.path, lines)
                return
            # All lines are written in one call at the end of the file, so that lines of several processes do not mix.
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
class DigestCollector(VerifiedDigests):
    """The stored digests, and new digests for another process to store.

    Attributes:
        collected: the new digests.
    """

    collected: list[bytes] = field(default_factory=list)

    def add(self, digests: Sequence[bytes]) -> None:
        self.collected += [digest for digest in digests if digest not in self]


def verified_bytes(study_path: StoragePath) -> int:
    """Return the size of a study's stored digests in bytes."""
    path = study_path / NAME
    with suppress(OSError):
        return sum(file.size for file in files_below(path)) if isinstance(path, Remote) else path.stat().st_size
    return 0


def _read(path: StoragePath, size: int) -> bytes:
    with suppress(OSError):
        if isinstance(path, Remote):
            return b"\n".join(file.path.read_bytes() for file in files_below(path))
        with path.open("rb") as file:
            return file.read(size)
    return b""
