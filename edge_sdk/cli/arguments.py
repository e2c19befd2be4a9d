"""Parse the arguments of a command without repeating a person's answer in an error.

The module also keeps the start short: the parsers of commands that are not run ignore their arguments.

The module parser lists the commands and their arguments.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import NoReturn, TypeAlias

from protocol.spelling import suggestion

WITH_VALUES = "answer", "preview", "exposure"
"""The commands that may have a person's answer as an argument."""

_NO_VALUE = re.compile(r"the following arguments are required: .*|argument \S+: (must be|expected) .*")
"""The errors of the parser that repeat no argument."""

_HIDDEN = "an option is unknown or has a wrong value; it is not repeated, because it may be an answer"
_ADVICE = "Put -- before an answer that begins with a dash"


class Parser(argparse.ArgumentParser):
    """A parser whose errors never repeat a person's answer."""

    def error(self, message: str) -> NoReturn:
        if self.prog.endswith(WITH_VALUES):
            if not _NO_VALUE.fullmatch(message):
                message = f"{_HIDDEN}. {_ADVICE}"
            elif message.endswith(" VALUE"):
                message = f"{message}. {_ADVICE}"
        self.refuse(message)

    def refuse(self, message: str) -> NoReturn:
        """Print the usage and an error whose text repeats no answer, and exit."""
        super().error(message)


class SkippedParser:
    """The parser of a command that is not run. It ignores arguments, because creating the arguments of all commands
    takes longer than an answer."""

    def add_argument(self, *names: str, **how: object) -> None:
        """Ignore an argument."""

    def add_mutually_exclusive_group(self) -> SkippedParser:
        """Return this parser as the group, since it ignores the group's arguments too."""
        return self


CommandParser: TypeAlias = argparse.ArgumentParser | SkippedParser


def command_in(arguments: Sequence[str]) -> str | None:
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


def unknown_arguments(words: Sequence[str], parser: argparse.ArgumentParser, of_all: argparse.ArgumentParser) -> str:
    """Return the text of the error for arguments that a command does not have.

    It repeats only options; for a command that may have a person's answer as an argument, only known options.
    """
    option = next((word.partition("=")[0] for word in words if word.startswith("-")), None)
    if option is None:
        more = f"too many arguments, {len(words)} more than expected"
        return f"{more}: put the command's options last, and quotes around an argument with blanks"
    before = re.findall(r"--[a-z-]+", of_all.format_usage())
    if option in before:
        return f"{option} must stand before the command"
    hint = suggestion(option, {*re.findall(r"--[a-z-]+", parser.format_usage()), *before})
    if parser.prog.endswith(WITH_VALUES):
        return f"{_HIDDEN}{hint or '.'} {_ADVICE}"
    return f"unknown option {option[:40]!r}{hint or ': see --help; if it is an argument, put -- before it'}"


def json_anywhere() -> Parser:
    """Return a parser that accepts ``--json`` after the command as well as before it."""
    parent = Parser(add_help=False)
    parent.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON, for scripts")
    return parent


def nats_from(text: str) -> float:
    """Return a number of nats.

    Raises:
        ArgumentTypeError: not a number; the text is not repeated, because it may be an answer.
    """
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must be a number of nats (see docs/GLOSSARY.md), such as 0.5") from None


def whole_number(text: str) -> int:
    """Return a whole number.

    Raises:
        ArgumentTypeError: not a whole number; the text is not repeated, because it may be an answer.
    """
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must be a whole number") from None
