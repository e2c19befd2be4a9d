"""Functions that all commands share: the group, exit codes, JSON, files, progress."""

from __future__ import annotations

import contextlib
import errno
import importlib
import itertools
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from aggregator.cli.commands import COMMANDS
from aggregator.storage.places import Place, is_remote, place
from aggregator.storage.remote import PlaceError, Remote
from aggregator.whole_file import whole_file
from protocol import keys
from protocol.errors import BadData, HalftruthError, NotInDomain, NotYet, SignatureRefused
from protocol.spelling import suggestion

if TYPE_CHECKING:
    from rich.console import Console

Item = TypeVar("Item")

FAILED, BAD_DATA, NOT_YET = 1, 65, 75
JSON_PIECES = 1 << 16
"""Number of pieces of JSON, such as a key or a number, that are printed together."""


class Failure(click.ClickException):
    """An error that is printed on stderr, with an exit code."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]  # click declares it on the class, and reads it from the instance


def visible(text: str) -> str:
    """Return the text with its control and format characters escaped, because a terminal would interpret or hide them.

    File names and texts from files may contain them.
    """
    hidden = {ord(character): json.dumps(character)[1:-1] for character in set(text) if not character.isprintable()}
    for shown in "\n\u00a0\u202f":
        hidden.pop(ord(shown), None)
    return text.translate(hidden) if hidden else text


@contextlib.contextmanager
def _visible_refusals() -> Iterator[None]:
    """Context manager: make the message of a refused command line ``visible``, because it may quote file names and
    arguments."""
    try:
        yield
    except click.ClickException as error:
        error.message = visible(error.message)  # type: ignore[misc]  # click declares it final, but reads it only when it prints the error
        raise


class CommandGroup(click.Group):
    """A group that loads each command on demand, and turns errors of the library into a ``Failure``."""

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        with _visible_refusals():
            return super().make_context(*args, **more)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if any("\0" in word for word in args):
            raise click.UsageError(
                "an argument has the character U+0000, which no file name can contain: leave it out", ctx
            )
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with _visible_refusals():
            return self._invoke(ctx)

    def _invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except HalftruthError as error:
            raise Failure(str(error), exit_code_of(error)) from None
        except OSError as error:
            raise Failure(_reason(error), FAILED) from None
        except KeyboardInterrupt:
            raise Failure("interrupted; everything committed before is kept", FAILED) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse an unknown command, and suggest the nearest command of the table; click itself suggests only loaded
        commands."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            hint = suggestion(name, COMMANDS) or "; halftruth --help lists the commands"
            raise click.UsageError(f"no such command {name[:40]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is not None:
            importlib.import_module(f"aggregator.cli.{entry.file}")  # the import adds the commands of the file
        command = super().get_command(ctx, cmd_name)
        if command is not None and entry is not None:
            command.epilog = f"\b\nExample:\n  halftruth {entry.example}"
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table, because click's own method loads every command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the group's options and the commands of the table, because click's own method loads every
        command."""
        named = [
            CompletionItem(name, help=entry.summary) for name, entry in COMMANDS.items() if name.startswith(incomplete)
        ]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]


def exit_code_of(error: HalftruthError) -> int:
    """Return the exit code for an error."""
    if isinstance(error, BadData | NotInDomain):
        return BAD_DATA
    return NOT_YET if isinstance(error, NotYet) else FAILED


def _reason(error: OSError) -> str:
    prefix = f"{error.filename}: " if error.filename else ""
    if error.errno == errno.ENOSPC:
        return f"{prefix}the disk is full. Make room and run the command again"
    return f"{prefix}{error.strerror or error}"


class _PathOrBucket(click.Path):
    """A file, a folder or a place in a bucket; a place in a bucket is checked when it is used."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or not is_remote(value):
            return super().convert(value, param, ctx)
        try:
            return place(value)
        except PlaceError as error:
            self.fail(str(error), param, ctx)


class _NewFolder(click.Path):
    """The type of arguments for a new folder on a disk."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and is_remote(value):
            self.fail(
                f"{value} is in a bucket: name a folder on this machine, and copy that folder to the bucket",
                param,
                ctx,
            )
        require_utf8(str(value))
        return super().convert(value, param, ctx)


study_place = _PathOrBucket(path_type=Path)
batches = _PathOrBucket(exists=True, readable=True, path_type=Path)
new_folder = _NewFolder(path_type=Path)


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
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
    """Surveys on sensitive questions, with local differential privacy.

    An author writes a question and signs it as a campaign. Devices perturb their answers and send signed reports. The
    study verifies the reports and estimates the distribution of answers, with confidence intervals.

    A first session: keygen, campaign, audit, then --study DIR import, receive, ingest, estimate. `simulate` makes
    reports for a rehearsal. `halftruth demo` runs a session on real answers.
    """
    ctx.obj = study


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
existing = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)


def _take_study(ctx: click.Context, _: click.Parameter, study: Place | None) -> None:
    """Replace the study that is named before the command by the one that is named after it."""
    if study is not None:
        ctx.obj = study


def in_study(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option --study to a command; it may also be given before the command's name."""
    return _with_study(command, "The study's folder, or s3://BUCKET/FOLDER")


def in_study_on_disk(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option --study to a command that refuses a study in a bucket."""
    return _with_study(command, "The study's folder, on a disk")


def _with_study(command: Callable[..., Any], described: str) -> Callable[..., Any]:
    named = click.option(
        "--study",
        type=study_place,
        expose_value=False,
        is_eager=True,
        callback=_take_study,
        help=f"{described}; may also be given before the command.",
        metavar="DIR",
    )
    return named(click.pass_context(command))


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


def study_folder(ctx: click.Context) -> Place:
    """Return the folder, or the prefix in a bucket, that --study names."""
    folder = ctx.obj
    if not isinstance(folder, Path | Remote):
        raise click.UsageError("no study is named: give its folder with --study DIR, or set HALFTRUTH_STUDY")
    if isinstance(folder, Path) and folder.exists() and not folder.is_dir():
        raise click.UsageError(f"--study {folder} is a file: name a folder")
    require_utf8(str(folder))
    return folder


def require_utf8(folder: str) -> None:
    """Refuse a folder whose name the storage engine cannot represent."""
    try:
        folder.encode()
    except UnicodeEncodeError:
        raise click.UsageError(f"the name of the study's folder {folder!r} is not UTF-8: rename the folder") from None


def public_key(path: Path) -> bytes:
    """Return the public key in a key file."""
    return author_key(path).public


def author_key(path: Path) -> keys.AuthorKey:
    """Return the public key in a key file, with the author's name."""
    try:
        return keys.AuthorKey.from_line(path.read_bytes().decode("utf-8"))
    except (UnicodeDecodeError, BadData):
        raise Failure(f"{path} is not a public key file: name the author's NAME.pub", BAD_DATA) from None


def secret_key(path: Path) -> keys.SigningKey:
    """Return the secret key in a key file."""
    try:
        return keys.SigningKey.from_line(path.read_bytes().decode("ascii"))
    except (UnicodeDecodeError, BadData):
        raise Failure(f"{path} is not a secret key file: name the author's NAME.key", BAD_DATA) from None


@contextlib.contextmanager
def verifying(path: Path) -> Iterator[None]:
    """Context manager: name the file if its signature does not verify, and say what to do."""
    try:
        yield
    except SignatureRefused as error:
        raise Failure(f"{path}: {error}; ask its author for the file again", BAD_DATA) from None


def campaign_file(path: Path) -> bytes:
    """Return the bytes of a signed campaign's file; only the kind of its envelope is checked."""
    from aggregator.inspection import require_envelope  # imported here because keygen and status do not need it
    from protocol.campaign import require_campaign

    data = path.read_bytes()
    try:
        require_envelope(data, "a signed campaign")
        require_campaign(data)
    except BadData as error:
        raise Failure(f"{path}: {error}", BAD_DATA) from None
    return data


def say(text: str) -> None:
    """Print a line on stdout."""
    click.echo(visible(text))


def note(text: str) -> None:
    """Print a line on stderr, so that stdout stays machine-readable."""
    click.echo(visible(text), err=True)


def warn(*warnings: str, subject: str = "") -> None:
    """Print a warning on each line of stderr.

    Args:
        subject: the name of the period, class or campaign that the warnings are about; "" for no name.
    """
    for text in warnings:
        note(f"Warning: {subject}: {text}" if subject else f"Warning: {text}")


def print_json(value: Any) -> None:
    """Print JSON on stdout.

    The text is made and printed in pieces, because a distribution of a million values has hundreds of megabytes.
    """
    pieces = json.JSONEncoder(indent=2, ensure_ascii=False, allow_nan=False).iterencode(value)
    while piece := "".join(itertools.islice(pieces, JSON_PIECES)):
        click.echo(visible(piece), nl=False)
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
