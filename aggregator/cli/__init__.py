"""The command ``halftruth``: a thin skin over the library.

One idea: a command parses words, calls one library function, and prints what it returned, for a person or as JSON.
What can go wrong ends in one line on stderr and an exit code: 0 done, 1 failed, 2 usage, 65 bad data, 75 not yet.

``shell`` holds what all commands share, and knows in which file each command is.
"""

from __future__ import annotations

from aggregator.cli.shell import halftruth

__all__ = ["halftruth", "main"]


def main() -> None:
    """Run the command line."""
    halftruth(prog_name="halftruth")
