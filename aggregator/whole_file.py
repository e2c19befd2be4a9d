"""Write a file completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def whole_file(path: Path, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """Context manager: write a temporary file beside ``path``, which gets the name ``path`` once it is on the disk.

    Raises:
        OSError: the file cannot be written; no part of it is left.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        opened = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except OSError as error:
        remedy = "Name a file in a folder that you may write to"
        if error.errno == errno.ENAMETOOLONG:
            remedy = "Choose a shorter name"
        fault = f"cannot be written: {error.strerror}. {remedy}"
        raise OSError(error.errno, fault, str(path)) from None
    try:
        with os.fdopen(opened, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
