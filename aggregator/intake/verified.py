"""What was verified before, so that nobody verifies it again.

One idea: whether signatures verify is a function of bytes: of envelopes and of the keys they are looked at under. So
the digest of such bytes, written down once all of them have verified, stays true whatever is enrolled, revoked,
imported or lost since; it stands for nothing but libsodium's answer. All other checks are made each time, and every
verdict is what it would be without this file, which may be removed at any time. Workers of a cluster read it, and note
what they find for the one process that writes.

Which bytes go into a digest: signatures. Whether a report was counted before: deduplicate.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

NAME = "verified"
"""The file in a study: a line of 64 hex digits for each digest."""


@dataclass
class Verified:
    """Digests of bytes whose signatures all verified.

    Attributes:
        path: of the file, which need not be there.
    """

    path: Path
    _known: set[bytes] = field(default_factory=set)

    @classmethod
    def of(cls, study: Path, size: int = -1) -> Verified:
        """What is written down in a study; nothing where it cannot be read, for it only saves time.

        Args:
            size: of so many bytes at the beginning of the file; of all if not given.
        """
        path = study / NAME
        known: set[bytes] = set()
        with suppress(OSError), path.open("rb") as file:
            for line in file.read(size).split(b"\n"):
                with suppress(ValueError):  # a line that a crash cut off
                    known.add(bytes.fromhex(line.decode("ascii", "replace")))
        return cls(path, known)

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._known

    def noting(self) -> Noting:
        """The same, for a process that writes nothing."""
        return Noting(self.path, self._known)

    def add(self, digests: Sequence[bytes]) -> None:
        """Write digests down; nothing is lost but time where that fails."""
        new = [digest for digest in dict.fromkeys(digests) if digest not in self._known]
        self._known.update(new)
        if not new:
            return
        # One write at the end of the file: what several processes write does not mix. The first byte ends a line that
        # a crash cut off.
        with suppress(OSError):
            opened = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                os.write(opened, b"".join(b"\n" + digest.hex().encode() for digest in new) + b"\n")
            finally:
                os.close(opened)


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


def size_of(study: Path) -> int:
    """Bytes written down in a study."""
    with suppress(OSError):
        return (study / NAME).stat().st_size
    return 0
