"""Which files are read, and their bytes in bounded pieces.

One idea: a missing path is the caller's mistake and stops everything before anything is read; a file that turns out
to be unreadable or empty is named, and the rest goes on.

What the bytes mean: framing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from protocol.errors import HalftruthError

UNFINISHED = ".part"
"""Ending of the names of files still being written; such files are passed over in folders."""

_READ_BYTES = 2**20


class IntakeError(HalftruthError):
    """Nothing can be read as it was asked for."""


def batch_files(paths: Iterable[str | Path]) -> list[Path]:
    """The files to read: files as given, folders as all regular files below them, in order of their path.

    In folders, names that begin with a dot or end in ``.part`` are passed over.

    Raises:
        IntakeError: a path that is not there, or a pipe or device: files are read twice.
    """
    given = [Path(path) for path in paths]
    missing = [str(path) for path in given if not path.is_file() and not path.is_dir()]
    if missing:
        raise IntakeError(f"no such file or folder: {', '.join(missing)}; nothing was read")
    files: list[Path] = []
    for path in given:
        files.extend(_below(path) if path.is_dir() else [path])
    return files


def _below(folder: Path) -> list[Path]:
    found: list[Path] = []
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found.extend(Path(here, name) for name in names if not name.startswith(".") and not name.endswith(UNFINISHED))
    return sorted(path for path in found if path.is_file())


def pieces(path: Path, size: int) -> Iterator[bytes]:
    """The bytes of a file, ``size`` at a time.

    Raises:
        OSError
    """
    with path.open("rb", buffering=0) as file:
        while piece := file.read(size):
            yield piece


def part(path: Path, begin: int, size: int) -> tuple[bytes, bool, OSError | None]:
    """``size`` bytes of a file from ``begin`` on; whether it ends before that; and what stopped reading."""
    read: list[bytes] = []
    try:
        with path.open("rb", buffering=0) as file:
            file.seek(begin)
            while size and (piece := file.read(min(size, _READ_BYTES))):
                read.append(piece)
                size -= len(piece)
    except OSError as error:
        return b"".join(read), True, error
    return b"".join(read), size > 0, None


def size_of(paths: Iterable[str | Path]) -> int:
    """Bytes in the files to read, as far as that can be known.

    Raises:
        IntakeError: a path that is not there.
    """
    size = 0
    for path in batch_files(paths):
        with suppress(OSError):
            size += path.stat().st_size
    return size
