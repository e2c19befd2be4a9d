"""What all commands share: the group, exit codes, JSON, files, progress."""

from __future__ import annotations

import contextlib
import errno
import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from aggregator.places import Place, PlaceError, Remote, is_remote, place
from protocol import keys
from protocol.errors import BadData, HalftruthError, NotInDomain, NotYet

FAILED, BAD_DATA, NOT_YET = 1, 65, 75


class Failure(click.ClickException):
    """One line on stderr, and an exit code."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]  # declared on click's class, read from the instance


COMMANDS = {
    "keygen": "author",
    "plan": "plan",
    "campaign": "author",
    "audit": "author",
    "anonymity": "release",
    "import": "desk",
    "enrol": "desk",
    "revoke": "desk",
    "receive": "receive",
    "ingest": "desk",
    "status": "desk",
    "estimate": "estimate",
    "compare": "changes",
    "export": "export",
    "compact": "upkeep",
    "rebuild": "upkeep",
    "simulate": "author",
    "inspect": "tools",
    "doctor": "tools",
    "completion": "completion",
    "demo": "demo",
    "reproduce": "reproduce",
}
"""The file of each command, in the order in which a session needs them."""

EXAMPLES = {
    "keygen": "keygen analyst",
    "plan": "plan --values 43750 --epsilon 1 --reports 1000000",
    "campaign": "campaign education.toml --key analyst.key --out education.campaign",
    "audit": "audit education.campaign --json",
    "anonymity": "anonymity people.csv --known age --known town --sensitive illness",
    "import": "--study lib import education.campaign --trust analyst.pub",
    "enrol": "--study lib enrol devices.pub",
    "revoke": "--study lib revoke stolen.pub --from-period 3",
    "receive": "--study lib receive --listen 127.0.0.1:8700",
    "ingest": "--study lib ingest uploads/ --json",
    "status": "--study lib status",
    "estimate": "--study lib estimate education --by period --plot trend.png",
    "compare": "--study lib compare education education-2027 --plot difference.png",
    "export": "--study lib export education --to tallies.parquet",
    "compact": "--study lib compact",
    "rebuild": "--study lib rebuild --out lib-new",
    "simulate": "simulate education.campaign --truth counts.csv --out batch.htr --keys devices.pub",
    "inspect": "inspect batch.htr",
    "doctor": "doctor",
    "completion": "completion bash",
    "demo": "demo --out session",
    "reproduce": "reproduce lip --quick",
}
"""What is typed after ``halftruth``, for the help of each command."""


class Desk(click.Group):
    """A group that loads a command when it is asked for, and turns what the library refuses into a ``Failure``."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except HalftruthError as error:
            raise Failure(str(error), exit_code_of(error)) from None
        except OSError as error:
            raise Failure(_reason(error), FAILED) from None
        except KeyboardInterrupt:
            raise Failure("stopped; what was committed before stays", FAILED) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            importlib.import_module(f"aggregator.cli.{COMMANDS[cmd_name]}")  # which adds its commands
        command = super().get_command(ctx, cmd_name)
        if command is not None and cmd_name in EXAMPLES:
            command.epilog = f"\b\nExample:\n  halftruth {EXAMPLES[cmd_name]}"
        return command


def exit_code_of(error: HalftruthError) -> int:
    """The exit code that ``error`` ends a command with."""
    if isinstance(error, BadData | NotInDomain):
        return BAD_DATA
    return NOT_YET if isinstance(error, NotYet) else FAILED


def _reason(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    if error.errno == errno.ENOSPC:
        return f"{where}the disk is full; nothing half-written was kept. Make room and run the command again"
    return f"{where}{error.strerror or error}"


class _Place(click.Path):
    """A file or folder as click has it, or a place in a bucket, which is looked for when it is used."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or not is_remote(value):
            return super().convert(value, param, ctx)
        try:
            return place(value)
        except PlaceError as error:
            self.fail(str(error), param, ctx)


class _NewFolder(click.Path):
    """A folder to be made on a disk."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and is_remote(value):
            self.fail(f"{value} is in a bucket: name a folder on this machine, and copy it there", param, ctx)
        return super().convert(value, param, ctx)


study_place = _Place(path_type=Path)
batches = _Place(exists=True, readable=True, path_type=Path)
new_folder = _NewFolder(path_type=Path)


@click.group(cls=Desk, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="halftruth", prog_name="halftruth")
@click.option(
    "--study",
    type=study_place,
    envvar="HALFTRUTH_STUDY",
    help="The study's folder, or s3://BUCKET/FOLDER.",
    metavar="DIR",
)
@click.pass_context
def halftruth(ctx: click.Context, study: Place | None) -> None:
    """Surveys without anybody's answer.

    An author writes a question and signs it as a campaign; devices answer with half-truths; the study verifies their
    reports and turns them into a distribution with honest error bars.

    A first session: keygen, campaign, audit, then --study DIR import, ingest, estimate. `halftruth demo` shows all
    of it on real data.
    """
    ctx.obj = study


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
existing = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)


class _InFolder(click.Path):
    """A file to be written, in a folder that is there."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not path.parent.is_dir():
            self.fail(f"{path.parent} is no folder: make it first", param, ctx)
        return path


writable = _InFolder(dir_okay=False, path_type=Path)


def study_folder(ctx: click.Context) -> Place:
    """The folder, or the prefix in a bucket, that --study names."""
    folder = ctx.obj
    if not isinstance(folder, Path | Remote):
        raise click.UsageError("which study? Name its folder: halftruth --study DIR ...")
    if isinstance(folder, Path) and folder.exists() and not folder.is_dir():
        raise click.UsageError(f"{folder} is a file, not a study's folder: name another")
    return folder


def public_key(path: Path) -> bytes:
    """The public key of a key file."""
    try:
        return keys.public_from_line(path.read_bytes().decode("ascii"))
    except UnicodeDecodeError:
        raise Failure(f"{path} is not a public key file", BAD_DATA) from None


def say(text: str) -> None:
    """A line for the person at the desk, on stdout."""
    click.echo(text)


def warn(text: str) -> None:
    """A line that must not spoil what a script reads, on stderr."""
    click.echo(text, err=True)


def print_json(value: Any) -> None:
    """The machine-readable form, on stdout."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def console() -> Console:
    """Where tables are drawn; wide enough for them when nobody is looking."""
    return Console(width=None if sys.stdout.isatty() else 120, highlight=False)


@contextlib.contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr, off when that is no terminal; yields the function that advances it."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(what, total=total)
        yield lambda amount: bar.advance(task, amount)


def require_new(path: Path) -> None:
    """Refuse to write in place of a file.

    Raises:
        Failure: ``path`` exists.
    """
    if path.exists():
        raise Failure(f"{path} exists; it is not overwritten. Name another file, or move it away", FAILED)


@contextlib.contextmanager
def new_file(path: Path, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """A file that appears whole or not at all, and never in place of another.

    Raises:
        Failure: ``path`` exists.
    """
    require_new(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        opened = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(path)) from None
    try:
        with os.fdopen(opened, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.rename(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
