"""``python -m edge_sdk``: the device's command line, for cron jobs and daemons.

The output is for a person or, with ``--json``, for a script. An error is printed as one line on stderr and never
repeats a value.

cli/joining, cli/commands and cli/upkeep implement the commands, and cli/output formats their results.

Exit codes: 0 done, 1 refused or failed, 2 usage, 65 bad data, 75 not yet.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, TypeAlias

from edge_sdk.cli import commands, joining, upkeep
from edge_sdk.cli.exit_codes import BAD_DATA, DONE, FAILED, NOT_YET, USAGE
from edge_sdk.cli.output import Incomplete, Printed, Usage, lines
from edge_sdk.device import Device
from protocol.errors import BadData, HalftruthError, NotInDomain, NotYet
from protocol.spelling import suggestion

STORELESS = upkeep.run, commands.audit
"""Commands without --store: a configuration names the store, and a campaign's file needs none."""


COMMANDS = {
    "join", "trust", "terms", "close", "consent", "answer", "outbox", "follow", "address", "ledger", "preview",
    "exposure", "audit", "forget", "enrolment", "budget", "adopt", "clock", "doctor", "run",
}  # fmt: skip
"""The names of all commands."""


WITH_VALUES = "answer", "preview", "exposure"
"""The commands that may have a person's answer as an argument."""

_NO_VALUE = re.compile(r"the following arguments are required: .*|argument \S+: (must be|expected) .*")
"""The errors of the parser that repeat no argument."""

_HIDDEN = (
    "an argument that begins with a dash is not an option of this command; it is not repeated, because it may be an "
    "answer. Put -- before an answer that begins with a dash"
)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors never repeat a person's answer."""

    def error(self, message: str) -> NoReturn:
        if self.prog.endswith(WITH_VALUES):
            if not _NO_VALUE.fullmatch(message):
                message = _HIDDEN
            elif message.endswith(" VALUE"):
                message = f"{message}; put -- before an answer that begins with a dash"
        self.refuse(message)

    def refuse(self, message: str) -> NoReturn:
        """Print the usage and an error whose text repeats no answer, and exit."""
        super().error(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code.

    Raises:
        SystemExit: the arguments are invalid, or help was requested.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    command = _command_in(given)
    parser = _parser(command)
    if command is not None and command not in COMMANDS:
        expected = suggestion(command, COMMANDS) or f": expected one of {', '.join(sorted(COMMANDS))}"
        parser.error(f"unknown command {command[:40]!r}{expected}")
    options, unknown = parser.parse_known_args(given)
    if unknown:
        options.parser.refuse(_unknown(unknown, options.parser, parser))
    if options.store is None and options.run not in STORELESS:
        parser.error("--store is missing: name the device's folder before the command, as in --store DIR ledger")
    run: Callable[[argparse.Namespace], Printed] = options.run
    try:
        if (options.key_store or options.checkpoint) and run is not upkeep.adopt:
            # Opening the store records both options in it, so later commands need not repeat them.
            Device.open(upkeep.store(options), key_store=upkeep.key_store(options)).close()
        printed = run(options)
    except Usage as error:
        return _fail(str(error), USAGE)
    except Incomplete as error:
        if options.json:
            _print(_json(error.printed))
        return _fail(str(error), error.code)
    except NotYet as error:
        return _fail(str(error), NOT_YET)
    except (BadData, NotInDomain) as error:
        return _fail(str(error), BAD_DATA)
    except HalftruthError as error:
        return _fail(str(error), FAILED)
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), FAILED)
    except KeyboardInterrupt:
        return _fail("interrupted: changes that were not yet on the disk are lost", FAILED)
    return _print(_json(printed) if options.json else "\n".join(lines(printed)))


def _unknown(words: Sequence[str], parser: argparse.ArgumentParser, of_all: argparse.ArgumentParser) -> str:
    """Return the text of the error for arguments that a command does not have.

    It repeats only options; for a command that may have a person's answer as an argument, only known options.

    Args:
        words: the unknown arguments.
        parser: the parser of the command.
        of_all: the parser of the options before the command.
    """
    option = next((word.partition("=")[0] for word in words if word.startswith("-")), None)
    if option is None:
        return f"too many arguments, {len(words)} more than expected: put quotes around an argument with blanks"
    before = re.findall(r"--[a-z-]+", of_all.format_usage())
    if option in before:
        return f"{option} must stand before the command"
    meant = suggestion(option, {*re.findall(r"--[a-z-]+", parser.format_usage()), *before})
    if parser.prog.endswith(WITH_VALUES):
        return f"{_HIDDEN}{meant}"
    return f"unknown option {option[:40]!r}{meant or ': put -- before an argument that begins with a dash'}"


def _json(printed: Printed) -> str:
    import json

    return json.dumps(printed, default=float)


def _print(text: str) -> int:
    try:
        print(text, flush=True)
    except OSError as error:
        # Python flushes stdout again at exit, and this flush must not fail too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # The program that reads the output has ended.
        if isinstance(error, BrokenPipeError):
            return DONE
        return _fail(f"the command is done, but its result cannot be printed: {error.strerror}", FAILED)
    return DONE


def _fail(text: str, code: int) -> int:
    print(f"edge_sdk: {text}", file=sys.stderr)
    return code


class _SkippedParser:
    """The parser of a command that is not run. It ignores arguments, because creating the arguments of all commands
    takes longer than an answer."""

    def add_argument(self, *names: str, **how: object) -> None:
        """Ignore an argument."""

    def add_mutually_exclusive_group(self) -> _SkippedParser:
        """Return this parser as the group, since it ignores the group's arguments too."""
        return self


_Command: TypeAlias = argparse.ArgumentParser | _SkippedParser


def _command_in(arguments: Sequence[str]) -> str | None:
    """Return the name of the command in ``arguments``; None if only the full parser can find it."""
    words = iter(arguments)
    for word in words:
        if word in ("--store", "--key-store", "--checkpoint"):
            next(words, None)
        elif not word.startswith("-"):
            return word
        elif word != "--json":
            return None
    return None


def _parser(command_name: str | None) -> argparse.ArgumentParser:
    """Return the parser of one command, or of all commands if ``command_name`` is unknown."""
    parser = _Parser(
        prog="python -m edge_sdk",
        description="Answer the questions of signed campaigns: answers are perturbed before they are sent, and their "
        "privacy cost is counted.",
        epilog="An ID is a campaign's id in hex, or the beginning of it. Exit codes: 0 done, 1 refused or failed, "
        "2 usage, 65 bad data, 75 not yet.",
    )
    parser.add_argument(
        "--store",
        metavar="DIR",
        help="the device's own folder, created if missing; not needed for the commands 'run' and 'audit FILE'",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for scripts")
    parser.add_argument(
        "--key-store",
        choices=["file", "keyring", "android"],
        help="where a new store keeps its secret: in files of DIR, the desktop's keyring, or the phone's Keystore",
    )
    parser.add_argument(
        "--checkpoint",
        metavar="FILE",
        type=Path,
        help="where a file key store keeps a second checkpoint, outside DIR and its backups, "
        "so that a restored copy of DIR is detected",
    )
    words = parser.add_subparsers(required=True, metavar="COMMAND", prog=parser.prog)
    parents = [_json_anywhere()]

    def command(name: str, run: Callable[[argparse.Namespace], Printed], text: str) -> _Command:
        if command_name in COMMANDS and command_name != name:
            return _SkippedParser()
        made = words.add_parser(name, help=text, description=text, parents=parents)
        made.set_defaults(run=run, parser=made)
        return made

    def campaign(made: _Command) -> _Command:
        made.add_argument("id", metavar="ID", help="the campaign's id, or the beginning of it")
        return made

    join = command("join", joining.join, "verify and audit a signed campaign, and show its terms")
    join.add_argument("campaign", metavar="FILE|LINK", help="a signed campaign, or a link to one, in quotes")
    join.add_argument("--yes", action="store_true", help="follow a link without confirmation")
    join.add_argument("--address", metavar="URL", help="address of the study; used if the signed campaign names none")
    join.add_argument(
        "--trust",
        metavar="PUB",
        type=Path,
        action="append",
        default=[],
        help="file of an author's public key, trusted for this command only",
    )
    trusted = command(
        "trust",
        joining.trust,
        "show the trusted authors, or add or remove one; only their campaigns may be joined without a link",
    )
    trusted.add_argument(
        "verb",
        metavar="{add,remove}",
        choices=["add", "remove"],
        nargs="?",
        help="add or remove an author [default: show all authors]",
    )
    trusted.add_argument(
        "key",
        metavar="FILE|ID|FINGERPRINT",
        nargs="?",
        help="add: the file of a public key, or the id of a joined campaign, to trust its author; remove: the "
        "beginning of a fingerprint",
    )
    trusted.add_argument("--name", help="name of the author, for display only")
    shown = campaign(command("terms", joining.terms, "show the terms of a joined campaign"))
    for made in (join, shown):
        made.add_argument(
            "--language", metavar="TAG", help="language of the texts, such as de or pt-BR, if the campaign has it"
        )
    closed = command("close", joining.close, "close a campaign early, by its author's signed notice")
    closed.add_argument("file", metavar="FILE", type=Path, help="the signed notice, from the study")
    consent = campaign(command("consent", commands.consent, "agree to a campaign: reserve its worst-case cost"))
    named = consent.add_mutually_exclusive_group()
    named.add_argument(
        "--class", dest="as_class", metavar="NAME", help="the class of people you belong to; the choice is public"
    )
    named.add_argument(
        "--choose-class",
        type=_nats,
        metavar="NATS",
        help="let the device choose your class at random, most likely the class nearest to your earlier answers; the "
        "choice costs NATS",
    )
    named.add_argument(
        "--choose-prior",
        type=_nats,
        metavar="NATS",
        help="let the device choose the prior to declare at random from a public list, most likely the prior nearest "
        "to your earlier answers; the choice costs NATS",
    )
    consent.add_argument(
        "--prior",
        type=Path,
        metavar="CSV",
        help="a CSV file with a row value,count for each value. Without --choose-class and --choose-prior: your prior, "
        "if the campaign asks for one; it becomes public and stays public, and preview --prior shows its effect and "
        "cost. With one of them: the counts of your earlier answers, by which the device chooses; these are not sent",
    )
    consent.add_argument(
        "--level",
        type=_nats,
        metavar="NATS",
        help="with --prior: also declare a personal level below the campaign's, in nats (see docs/GLOSSARY.md)",
    )
    answer = campaign(
        command(
            "answer",
            commands.answer,
            "randomise one answer by the campaign's channel, charge its cost, put the signed report into the outbox",
        )
    )
    answer.add_argument(
        "value",
        metavar="VALUE",
        nargs="+",
        help="the answer, or name=answer for each question of a form; - reads the answer from standard input",
    )
    answer.add_argument(
        "--slot",
        type=_whole,
        metavar="N",
        help="slot of the answer in its period, from 0. The same slot with the same value gives the same report again; "
        "without a slot, every call fills the next one",
    )
    answer.add_argument(
        "--collect", action="store_true", help="draw and charge now, and sign later with: outbox bundle"
    )
    outbox = command("outbox", commands.outbox, "show, export, send or bundle the waiting envelopes and readings")
    outbox.add_argument(
        "verb",
        metavar="{export,send,bundle}",
        choices=["export", "send", "bundle"],
        nargs="?",
        help="export: write one campaign's envelopes to a new file; send: upload the envelopes that are due, each "
        "campaign to its own study; bundle: sign the collected readings",
    )
    outbox.add_argument(
        "to",
        metavar="FILE|URL|ID",
        nargs="?",
        help="export: the new file; send: send only to this address [default: each campaign's own]; bundle: "
        "bundle only this campaign [default: all]",
    )
    outbox.add_argument("--campaign", metavar="ID", help="export or send this campaign only")
    campaign(
        command(
            "follow",
            joining.follow,
            "join and agree to the study's next campaign, if it asks the same question and costs no more",
        )
    )
    addressed = campaign(
        command(
            "address",
            joining.address,
            "show the address for a campaign's reports, or set it if the campaign names none",
        )
    )
    addressed.add_argument("url", metavar="URL", nargs="?", help="the study's address for reports: https://HOST")
    command("ledger", commands.ledger, "show the amounts reserved, spent and remaining, and all entries")
    preview = campaign(
        command(
            "preview",
            commands.preview,
            "show the size, cost and possible disclosure of an answer, without drawing or charging",
        )
    )
    preview.add_argument(
        "value",
        metavar="VALUE",
        nargs="*",
        default=[],
        help="an answer to preview; - reads the answer from standard input",
    )
    preview.add_argument(
        "--prior",
        type=Path,
        metavar="CSV",
        help="a file with value,count for each value: show the promise and the cost of declaring it as your prior",
    )
    preview.add_argument(
        "--level", type=_nats, metavar="NATS", help="with --prior: a personal level in nats (see docs/GLOSSARY.md)"
    )
    exposed = campaign(
        command(
            "exposure",
            commands.exposure,
            "show an upper bound on what all reports about the same values reveal together",
        )
    )
    exposed.add_argument(
        "value",
        metavar="VALUE",
        nargs="*",
        default=[],
        help="one value; - reads the value from standard input [default: the value with the highest bound]",
    )
    audited = command("audit", commands.audit, "compute the levels of a campaign under every notion, from its integers")
    audited.add_argument("campaign", metavar="ID|FILE", help="the id of a joined campaign, or any campaign file")
    forget = command(
        "forget",
        commands.forget,
        "delete a campaign, or all: answers, waiting envelopes and consent; spending stays counted",
    )
    forget.add_argument("id", metavar="ID", nargs="?", help="the campaign's id, or the beginning of it [default: all]")
    enrolment = campaign(
        command("enrolment", commands.enrolment, "write the file that enrols this device for a campaign")
    )
    enrolment.add_argument("file", metavar="FILE", type=Path, help="the new file; give it to the organisation")
    budget = command(
        "budget",
        upkeep.budget,
        "show the caps, or lower them; the first lifetime cap replaces the default of 8 nats (units of the privacy "
        "level; see docs/GLOSSARY.md)",
    )
    budget.add_argument("--lifetime", type=_nats, metavar="NATS", help="cap for all answers of this device")
    budget.add_argument("--per-campaign", type=_nats, metavar="NATS", help="cap for one campaign")
    budget.add_argument("--window", nargs=2, metavar=("SECONDS", "NATS"), help="cap for any interval of SECONDS")
    command(
        "adopt",
        upkeep.adopt,
        "continue with a store that was restored, copied or damaged; all joined campaigns are forgotten",
    )
    clocked = command("clock", upkeep.clock, "show the latest time recorded in each campaign")
    clocked.add_argument(
        "--set",
        action="store_true",
        help="accept the current time as correct, if the clock was ahead and was corrected; spending is not refunded",
    )
    command("doctor", upkeep.doctor, "show where the secret is stored, and the guarantees and limits of this store")
    unit = command("run", upkeep.run, "answer automatically, as configured, until the campaign is over; for IoT units")
    unit.add_argument("configuration", metavar="CONFIG", type=Path, help="a TOML file; edge_sdk/units has examples")
    unit.add_argument(
        "--check", action="store_true", help="show the unit's terms and plan, test its source, and join nothing"
    )
    return parser


def _nats(text: str) -> float:
    """Return a level; the error does not repeat it, because a personal level is the person's own."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must be a number of nats, such as 0.5") from None


def _whole(text: str) -> int:
    """Return a whole number; the error does not repeat it, because it may be an answer."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must be a whole number") from None


def _json_anywhere() -> _Parser:
    """Return a parser that accepts ``--json`` after the command as well as before it."""
    parent = _Parser(add_help=False)
    parent.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON, for scripts")
    return parent


if __name__ == "__main__":
    sys.exit(main())
