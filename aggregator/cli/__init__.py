"""The command ``halftruth``: a thin layer over the library.

A command parses its arguments, calls the library, and prints the result, for a person or as JSON. It refuses wrong
usage with click's ``UsageError``, and other input with ``Failure`` or an error of the library; so do the functions that
commands share. An error is printed on stderr. The exit code is 0 if the command is done, 1 if it failed, 2 for wrong
usage, 65 for bad data, and 75 if the command should be tried later. If an option or the requested estimate
does not fit the campaign, the code is 2 or 65.

``group`` loads the file of a command on demand. ``arguments``, ``options``, ``printing`` and others have the parts that
commands share.
"""

from __future__ import annotations

import os
import sys

from aggregator.extras import install_command

__all__ = ["main"]


def main() -> None:
    """Run the command line. If only the device part is installed, print the command that installs the rest."""
    try:
        from aggregator.cli.group import halftruth
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        command = install_command("aggregator")
        sys.exit(f"halftruth: the part for analysts (aggregator) is not installed: {command}")
    _require_streams()
    halftruth(prog_name="halftruth")


def _require_streams() -> None:
    """Replace a closed stdout or stderr, and let a terminal that is not UTF-8 show ? for a character it lacks."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
        else:
            stream.reconfigure(errors="replace")
