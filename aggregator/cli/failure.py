"""The error of a command, and the exit codes."""

from __future__ import annotations

import click

from protocol.errors import BadData, HalftruthError, NotYet

FAILED, BAD_DATA, NOT_YET = 1, 65, 75


class Failure(click.ClickException):
    """An error that is printed on stderr, with an exit code."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]  # click declares it on the class, and reads it from the instance


def exit_code_of(error: HalftruthError) -> int:
    """Return the exit code for an error: 75 for a ``NotYet``; 65 for bad data, and for another error that is also a
    ValueError, because an option or the requested estimate does not fit the campaign; otherwise 1."""
    if isinstance(error, NotYet):
        return NOT_YET
    return BAD_DATA if isinstance(error, BadData | ValueError) else FAILED
