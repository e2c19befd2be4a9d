"""What comes out of a command: names and values, or one line that says why not, and an exit code.

One idea: a command gives names and values, which a script gets as they are; here alone it is known which of them are
nats, times or shares, and how a person reads those.

What the commands give: commands, upkeep.
"""

from __future__ import annotations

import time
from typing import TypeAlias

from protocol.errors import HalftruthError

DONE, FAILED, USAGE, BAD_DATA, NOT_YET = 0, 1, 2, 65, 75
"""Exit codes."""

Printed: TypeAlias = dict[str, object]
"""What a command gives, by name."""

NATS = {
    "cost", "level", "worst_case", "spent", "reserved", "remaining", "nats", "declared", "audited", "epsilon",
    "together", "forgotten",
}  # fmt: skip
TIMES = {"opens", "closes", "time"}
SHARES = {"truth", "other", "belief_before", "belief_after"}


class Usage(HalftruthError):
    """Arguments that are well-formed and mean nothing."""


class Undone(HalftruthError):
    """Not everything was done; what was is printed for a script all the same."""

    def __init__(self, text: str, printed: Printed, code: int) -> None:
        super().__init__(text)
        self.printed = printed
        self.code = code


def lines(printed: Printed) -> list[str]:
    """For people: a name and what it is on each line, rows of a list indented."""
    made = []
    for name, value in printed.items():
        if isinstance(value, list):
            made.append(f"{name}: {'none' if not value else ''}".rstrip())
            made += [f"  {_row(item)}" for item in value]
        else:
            made.append(f"{name.replace('_', ' ')}: {_shown(name, value)}")
    return made


def _row(item: object) -> str:
    if not isinstance(item, dict):
        return str(item)
    return "  ".join(f"{name} {_shown(name, value)}" for name, value in item.items())


def moment(seconds: int) -> str:
    """A time in UTC seconds, for people."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def _shown(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in NATS:
        return "no bound" if value is None else f"{value:g} nats"
    if name in TIMES and isinstance(value, int):
        return moment(value)
    if name in SHARES and isinstance(value, float):
        return f"{value:.1%}"
    return str(value)
