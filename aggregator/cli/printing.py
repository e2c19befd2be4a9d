"""Output of the commands: text, warnings, JSON, tables and progress bars."""

from __future__ import annotations

import contextlib
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console

Item = TypeVar("Item")

PARTS = 1 << 16
"""Number of fragments of a text (JSON tokens or CSV lines) that are printed in one call."""


def visible(text: str) -> str:
    """Return the text with its control and format characters escaped, except line feeds.

    File names and texts from files may contain these characters, and a terminal would interpret or hide them.
    """
    hidden = {ord(character): json.dumps(character)[1:-1] for character in set(text) if not character.isprintable()}
    for shown in "\n\u00a0\u202f":
        hidden.pop(ord(shown), None)
    return text.translate(hidden) if hidden else text


def say(text: str) -> None:
    """Print a line on stdout."""
    click.echo(visible(text))


def note(text: str) -> None:
    """Print a line on stderr, so that stdout stays machine-readable."""
    click.echo(visible(text), err=True)


def warn(*warnings: str, subject: str = "") -> None:
    """Print each warning on a line of stderr.

    Args:
        subject: the name of the period, class or campaign that the warnings are about; "" for no name.
    """
    for text in warnings:
        note(f"Warning: {subject}: {text}" if subject else f"Warning: {text}")


def say_parts(parts: Iterator[str]) -> None:
    """Print text on stdout while it is made, because a distribution of a million values has hundreds of megabytes."""
    while part := "".join(itertools.islice(parts, PARTS)):
        click.echo(visible(part), nl=False)


def print_json(value: Any) -> None:
    say_parts(json.JSONEncoder(indent=2, ensure_ascii=False, allow_nan=False).iterencode(value))
    click.echo()


def console() -> Console:
    """Return the console for tables; it is 120 columns wide if stdout is no terminal."""
    from rich.console import Console  # slow to import, and the help does not need it

    return Console(width=None if sys.stdout.isatty() else 120, highlight=False)


@contextlib.contextmanager
def progress(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Context manager: show a progress bar on stderr if it is a terminal; yield the function that advances the bar."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(label, total=total)
        yield lambda amount: bar.advance(task, amount)


@contextlib.contextmanager
def tracked(label: str, items: Iterable[Item], total: int) -> Iterator[Iterator[Item]]:
    """Context manager: show a progress bar that advances with each item; yield the items."""
    with progress(label, total) as advance:

        def advancing() -> Iterator[Item]:
            for item in items:
                yield item
                advance(1)

        yield advancing()
