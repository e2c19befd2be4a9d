"""Format the result of a command as names and values for people.

Scripts get the names and values unchanged. For people, this module formats nats, times and probabilities.

The modules commands, joining, sending and upkeep return the results; exit_codes lists the exit codes.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

from edge_sdk.timestamps import utc_text
from protocol import exact
from protocol.errors import HalftruthError

Printed: TypeAlias = dict[str, object]
"""The result of a command: values by name."""

NATS = {
    "cost", "level", "worst_case", "spent", "reserved", "remaining", "nats", "declared", "audited", "epsilon",
    "together", "changing", "forgotten_nats", "levels", "questions", "caps",
}  # fmt: skip
TIMES = {"opens", "closes", "closed_early", "time", "next_attempt", "latest_recorded_time"}
GLOSSARY = "docs/GLOSSARY.md explains nats and the other terms."
"""The last line for people, if a line has an amount in nats."""
LABELS = {
    "changing": "bound if answers may change",
    "declares_prior": "consent needs a declared prior",
    "fits_other": "reports that fit the answer although another answer is true, at least",
    "fits_true": "reports that fit the answer if the answer is true",
    "forgotten": "forgotten campaigns",
    "forgotten_nats": "spent in forgotten campaigns, at most",
    "has_code": "code that waits to be redeemed",
    "largest_after": "largest probability of an answer after one report, at most",
    "largest_before": "largest probability of an answer, to an observer with this prior",
    "leaves": "reports go to",
    "likelihood_factor": "largest ratio of the reports' probabilities under two answers, if the answer never changes",
    "missing": "levels not computed",
    "nats": "amount",
    "next_attempt": "next attempt not before",
    "probability_after": "probability of the answer after one report, at most",
    "probability_before": "probability of the answer, to an observer who knows only your earlier answers",
    "shown": "translated",
    "times_lowered": "campaigns whose recorded time was lowered",
    "together": "bound if the answer never changes",
}
"""Names of values for people, where the name for scripts is not clear."""
ROUNDED_UP = {
    "fits_true", "probability_before", "probability_after", "largest_before", "largest_after", "before", "most_after",
}  # fmt: skip
"""Probabilities that are rounded up, so that no disclosure is understated."""
DELTAS = {"ldp", "lip"}
"""Bounds on delta at a level, rounded up so that no disclosure is understated."""
ROUNDED_DOWN = {"fits_other", "least_after"}
"""Probabilities that are rounded down, because a lower one means more disclosure."""


class Usage(HalftruthError):
    """Arguments that the parser accepts but the command refuses."""


class Incomplete(HalftruthError):
    """The command was not completed; with ``--json`` the completed part is printed."""

    def __init__(self, text: str, printed: Printed, code: int) -> None:
        super().__init__(text)
        self.printed = printed
        self.code = code


def lines_for_people(printed: Printed) -> list[str]:
    """Return the lines for people: a name and its value on each line, rows of a list or of a mapping indented.

    If a line has an amount in nats, the last line names the glossary.
    """
    printed_lines = []
    for name, value in printed.items():
        label = _label(name)
        if isinstance(value, list | dict):
            printed_lines.append(f"{label}: {'none' if not value else ''}".rstrip())
            rows = map(_row, value) if isinstance(value, list) else _rows(name, value)
            printed_lines += [f"  {row}" for row in rows]
        else:
            printed_lines.append(f"{label}: {_shown(name, value)}")
    return [*printed_lines, GLOSSARY] if any(_has_nats(*item) for item in printed.items()) else printed_lines


def readable_terms(terms: Printed) -> Printed:
    """Return terms for people: without the promise in numbers, and without lists of labels that repeat or say nothing.

    ``values`` is empty for a form, which lists the labels by question, and for more values than are listed. The line
    ``answers`` describes both cases.
    """
    hidden = {"promise_numbers"} | {name for name in ("values", "shown") if not terms.get(name)}
    # A class has its name in place of values.
    if terms.get("shown") in (terms.get("values"), terms.get("name")):
        hidden.add("shown")
    readable = {name: value for name, value in terms.items() if name not in hidden}
    for name in ("questions", "classes"):
        rows = terms.get(name)
        if isinstance(rows, list):
            readable[name] = [readable_terms(row) for row in rows]
    return readable


def _label(name: str) -> str:
    # Other names, such as those of files, are printed unchanged.
    return LABELS.get(name, name.replace("_", " ") if name.isidentifier() else name)


def _rows(name: str, mapping: dict[str, object]) -> list[str]:
    """Return the rows of a mapping, whose keys are labels already and whose values are all of the kind ``name``."""
    return [f"{label}: {_shown(name, value)}" for label, value in mapping.items()]


def _has_nats(name: str, value: object) -> bool:
    """Return whether the value, a row of the list or a value of the mapping is an amount in nats."""
    if isinstance(value, list):
        return any(_has_nats(*item) for row in value if isinstance(row, dict) for item in row.items())
    if isinstance(value, dict):
        return any(_has_nats(name, entry) for entry in value.values())
    return name in NATS and isinstance(value, int | float | str)  # doctor returns texts


def _row(item: object) -> str:
    if not isinstance(item, dict):
        return str(item)
    return "  ".join(f"{_label(name)} {_shown(name, value)}" for name, value in item.items())


def _shown(name: str, value: object) -> str:
    if value == "":
        return "none"
    if isinstance(value, tuple):
        return "; ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "likelihood_factor" and isinstance(value, float | None):
        return "no bound" if value is None else exact.decimal_text(Fraction(str(value)))
    if name in NATS and isinstance(value, int | float | None):
        # A float represents every level to its last nanonat, so a bound is not rounded down.
        return "no bound" if value is None else exact.in_nats(round(value * exact.NANONATS))
    if name == "closed_early" and value is None:
        return "no"
    if name in TIMES and isinstance(value, int):
        return utc_text(value)
    if name in ROUNDED_UP and isinstance(value, Fraction | float):
        return f"{exact.decimal_text(Fraction(math.ceil(1000 * Fraction(value)), 10))}%"
    if name in DELTAS and isinstance(value, float):
        return exact.decimal_text(exact.rounded_up(Fraction(value), 3))
    if name in ROUNDED_DOWN and isinstance(value, Fraction):
        return f"{exact.decimal_text(Fraction(math.floor(1000 * value), 10))}%"
    if value is None and (name in DELTAS or name == "mutual_information_bits"):
        return "not computed"
    return str(value)
