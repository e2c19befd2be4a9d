"""New files: the type of arguments that name one, and writing it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import click

from aggregator.cli.failure import FAILED, Failure
from aggregator.whole_file import whole_file


class NewFile(click.Path):
    """The type of arguments that name a new file in an existing folder; an existing file is refused."""

    def __init__(self, *endings: str) -> None:
        """Make the type; a file's name must have one of the endings, if any are given."""
        super().__init__(dir_okay=False, path_type=Path)
        self.endings = endings

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if self.endings and path.suffix.lower() not in self.endings:
            any_of = "one of " * (len(self.endings) > 1)
            self.fail(f"the name must end in {any_of}{', '.join(self.endings)}, not {path.name}", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"the folder {path.parent} does not exist: create it first", param, ctx)
        require_new(path)
        return path


writable = NewFile()


def require_new(path: Path) -> None:
    """Refuse to overwrite a file.

    Raises:
        Failure: ``path`` exists.
    """
    if path.exists():
        raise Failure(f"{path} exists; it is not overwritten. Name another file, or move it away", FAILED)


@contextlib.contextmanager
def new_file(path: Path, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """Context manager: write a new file atomically; it appears complete or not at all.

    Raises:
        Failure: ``path`` exists.
        OSError: the file cannot be written.
    """
    require_new(path)
    with whole_file(path, mode) as file:
        yield file
