"""Coefficients of classes for a sum over people, from a TOML file that the analyst writes.

    [town]
    weight = 2          # a person of the class counts twice
    offset = 0.5        # is added for each person of the class; 0 where not given
    people = 61000      # how many they are; as many as have reported where not given

It names every class of the campaign, with a weight each; nothing of it is signed, and no device reads it.

What is made of it: estimate.coefficients.
"""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path

from aggregator.author.toml_section import DraftError, Section, finite, shown, suggestion
from aggregator.estimate.coefficients import Coefficients
from protocol.campaign import Campaign
from protocol.errors import BadData

MOST_BYTES = 1 << 20
"""Of a file."""

MOST = 10**15
"""Weights and offsets lie between - and + this."""


class CoefficientsError(BadData):
    """An invalid file of coefficients. The text names the entry."""

    stage = "coefficients"


def read_coefficients(path: Path, terms: Campaign) -> tuple[Coefficients, ...]:
    """Return the coefficients of a file, one for each class in the campaign's order.

    Raises:
        CoefficientsError: what is wrong, and where.
    """
    if not terms.classes:
        raise CoefficientsError(
            f"{terms.title!r} has no [classes], and what one person counts is said by class; weights of values are "
            "those of --weights"
        )
    try:
        if path.stat().st_size > MOST_BYTES:
            raise CoefficientsError(f"{path.name} is longer than {MOST_BYTES:,} bytes: it is no file of coefficients")
        told = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CoefficientsError(f"{path.name} is not TOML: {error}") from None
    except RecursionError:
        raise CoefficientsError(f"{path.name} is not TOML that can be read: it is nested too deeply") from None
    for name in told:
        if name not in terms.classes:
            raise CoefficientsError(
                f"{path.name}: there is no class {shown(name)}"
                f"{suggestion(name, terms.classes) or '; known here: ' + ', '.join(terms.classes)}"
            )
    if missing := [name for name in terms.classes if name not in told]:
        raise CoefficientsError(f"{path.name} says nothing of class {shown(missing[0])}: give it a weight, 0 if none")
    try:
        return tuple(_of_class(Section(name, told[name])) for name in terms.classes)
    except DraftError as error:
        raise CoefficientsError(f"{path.name}: {error}") from None


def _of_class(section: Section) -> Coefficients:
    numbers = {}
    for key, default in (("weight", None), ("offset", Decimal(0))):
        found = finite(section.name, key, section.take(key, (int, Decimal), "a number", default))
        if abs(found) > MOST:
            raise DraftError(f"[{section.name}] {key} lies between -10^15 and 10^15")
        numbers[key] = float(found)
    given = "people" in section
    people = section.take("people", int, "a whole number of people", 0)
    if not 0 <= people <= MOST:
        raise DraftError(f"[{section.name}] people is a number of people, 0 to 10^15")
    section.done()
    return Coefficients(numbers["weight"], numbers["offset"], people if given else None)
