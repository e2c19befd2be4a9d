"""Format the result of a command as names and values for people.

Scripts get the names and values unchanged. For people, this module formats nats, times and probabilities.

The modules commands, joining, sending and upkeep return the results; exit_codes lists the exit codes.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

from edge_sdk.timestamps import moment
from protocol import exact
from protocol.errors import HalftruthError

Printed: TypeAlias = dict[str, object]
"""The result of a command: values by name."""

NATS = {
    "cost", "level", "worst_case", "spent", "reserved", "remaining", "nats", "declared", "audited", "epsilon",
    "together", "changing", "forgotten",
}  # fmt: skip
TIMES = {"opens", "closes", "closed_early", "time", "next_attempt", "latest_recorded_time"}
LABELS = {"leaves": "reports go to"}
"""Names of values for people, where the name for scripts is not clear."""
ROUNDED_UP = {"fits_true", "probability_before", "probability_after", "before", "most_after"}
"""Probabilities that are rounded up, so that no disclosure is understated."""
DELTAS = {"ldp", "lip"}
"""Bounds on delta at a level, rounded up for the same reason."""
ROUNDED_DOWN = {"fits_other", "least_after"}
"""Probabilities that are rounded down, for the same reason: a report that also fits other answers protects the
person."""


class Usage(HalftruthError):
    """Arguments that the parser accepts but the command refuses."""


class Incomplete(HalftruthError):
    """The command was not completed; with ``--json`` the completed part is printed."""

    def __init__(self, text: str, printed: Printed, code: int) -> None:
        super().__init__(text)
        self.printed = printed
        self.code = code


def lines(printed: Printed) -> list[str]:
    """Return the lines for people: a name and its value on each line, rows of a list indented."""
    printed_lines = []
    for name, value in printed.items():
        label = LABELS.get(name, name.replace("_", " "))
        if isinstance(value, list):
            printed_lines.append(f"{label}: {'none' if not value else ''}".rstrip())
            printed_lines += [f"  {_row(item)}" for item in value]
        else:
            printed_lines.append(f"{label}: {_shown(name, value)}")
    return printed_lines


def _row(item: object) -> str:
    if not isinstance(item, dict):
        return str(item)
    return "  ".join(f"{name} {_shown(name, value)}" for name, value in item.items())


def _shown(name: str, value: object) -> str:
    if isinstance(value, dict):
        return _row(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in NATS and isinstance(value, int | float | None):
        # A float represents every level to its last nanonat, so a bound is not rounded down.
        return "no bound" if value is None else exact.in_nats(round(value * exact.NANONATS))
    if name == "closed_early" and value is None:
        return "no"
    if name in TIMES and isinstance(value, int):
        return moment(value)
    if name in ROUNDED_UP and isinstance(value, Fraction | float):
        return f"{exact.decimal_text(Fraction(math.ceil(1000 * Fraction(value)), 10))}%"
    if name in DELTAS and isinstance(value, float):
        return exact.decimal_text(exact.rounded_up(Fraction(value), 3))
    if name in ROUNDED_DOWN and isinstance(value, Fraction):
        return f"{exact.decimal_text(Fraction(math.floor(1000 * value), 10))}%"
    return str(value)
