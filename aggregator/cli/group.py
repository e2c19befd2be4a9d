"""The command halftruth, a group that loads the file of a command on demand."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
from collections.abc import Iterator
from typing import Any

import click
from click.shell_completion import CompletionItem

from aggregator.cli.arguments import study_path
from aggregator.cli.commands import COMMANDS
from aggregator.cli.failure import FAILED, Failure, exit_code_of
from aggregator.cli.printing import visible
from aggregator.storage.paths import StoragePath
from protocol.errors import HalftruthError
from protocol.spelling import suggestion


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
        except BrokenPipeError:  # the program that reads the output has ended; click ends this one without a message
            raise
        except OSError as error:
            raise Failure(_reason(error), FAILED) from None
        except KeyboardInterrupt:
            raise Failure(
                "interrupted. Finished commits to a study are kept; run the command again for the rest", FAILED
            ) from None

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


def _reason(error: OSError) -> str:
    prefix = f"{error.filename}: " if error.filename else ""
    if error.errno == errno.ENOSPC:
        return f"{prefix}the disk is full. Make room and run the command again"
    if error.errno == errno.ENAMETOOLONG:
        return f"{prefix}the file name is too long. Choose a shorter name"
    if error.errno is not None and error.strerror == os.strerror(error.errno):  # a text of the system, without a remedy
        return f"{prefix}{error.strerror}. Remove the cause, or name another file, and run the command again"
    return f"{prefix}{error.strerror or error}"


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="halftruth", prog_name="halftruth")
@click.option(
    "--study",
    type=study_path,
    envvar="HALFTRUTH_STUDY",
    help="The study's folder, or s3://BUCKET/FOLDER.",
    metavar="DIR",
)
@click.pass_context
def halftruth(ctx: click.Context, study: StoragePath | None) -> None:
    """Surveys on sensitive questions, with local differential privacy.

    An author writes a question and signs it as a campaign. Devices perturb their answers and send signed reports. The
    study verifies the reports and estimates the distribution of answers, with confidence intervals.

    A first session: keygen, campaign, audit, then --study DIR import, receive, ingest, estimate. `simulate` makes
    reports for a rehearsal. `halftruth demo` runs a session on real answers.
    """
    ctx.obj = study
