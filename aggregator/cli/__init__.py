"""The command ``halftruth``: a thin skin over the library.

One idea: a command parses words, calls one library function, and prints what it returned, for a person or as JSON.
What can go wrong ends in one line on stderr and an exit code: 0 done, 1 failed, 2 usage, 65 bad data, 75 not yet.

The commands: ``author`` (keygen, campaign, audit, simulate), ``desk`` (import, enrol, revoke, ingest, status,
estimate), ``tools`` (inspect, doctor), ``demo``.
"""

from __future__ import annotations

from aggregator.cli.shell import halftruth

__all__ = ["halftruth", "main"]


def main() -> None:
    """Run the command line."""
    from aggregator.cli import author, demo, desk, tools  # noqa: F401  # importing them adds their commands

    halftruth(prog_name="halftruth")
