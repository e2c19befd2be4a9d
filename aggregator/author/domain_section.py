"""Read the domain of a draft.

The constructor of the domain validates it. This module reads the entries and converts numbers to the domain's units.
"""

from __future__ import annotations

import datetime
from decimal import Decimal

from aggregator.author.toml_section import DraftError, Section, finite_number, whole_number
from protocol.domain import MICRODEGREES, Buckets, Dates, Domain, Grid, Items, NumberRange, OrderedValues, Values
from protocol.errors import DomainError

KINDS = ("values", "grid", "number", "date", "buckets", "items")
_HINTS = {"form": "; a form has a table [[question]] for each question, and no [domain] (docs/FORMS.md)"}

GRID_ENTRIES = {
    "south": "the latitude of the map's southern edge, in degrees",
    "north": "the latitude of the map's northern edge, in degrees",
    "west": "the longitude of the map's western edge, in degrees",
    "east": "the longitude of the map's eastern edge, in degrees",
    "step": "the height and width of a cell, in degrees",
}
"""The entries of a grid, each with its meaning for error messages."""


def domain_of(section: Section) -> Domain:
    """Return the domain of ``[domain]``, or of a question of a form.

    Raises:
        DraftError: an entry is missing or invalid.
    """
    try:
        return _domain_of(section)
    except DomainError as error:
        raise DraftError(f"[{section.name}] {error}") from None


def _domain_of(section: Section) -> Domain:
    kind = section.choice("kind", KINDS, hints=_HINTS)
    if kind == "values":
        labels = tuple(section.list_of("values", str, "texts, one for each value"))
        return OrderedValues(labels) if section.flag("ordered", "the values go from least to most") else Values(labels)
    if kind == "grid":
        return Grid(*(_microdegrees(section, name, expected) for name, expected in GRID_ENTRIES.items()))
    if kind == "buckets":
        return Buckets.of(section.list_of("edges", (int, Decimal), "increasing numbers"))
    if kind == "number":
        return _numbers(section)
    if kind == "date":
        step = whole_number(section, "step", 1)
        return Dates.of(_day(section, "first"), _day(section, "last"), step, clamps=_clamps(section))
    padding = section.take("padding", int, 'the number of items a set is padded to, or "auto"')
    return Items(padding, _items(section))


def _numbers(section: Section) -> NumberRange:
    """Return the range of numbers low, low + step, ..., high."""
    number = (int, Decimal)
    low, high = (section.take(name, number, f"the {name}est number of the range") for name in ("low", "high"))
    step = section.take("step", number, "the distance between two neighbouring numbers", default=1)
    unit = section.take("unit", str, "the unit of the numbers, such as years", default="")
    random = section.choice("rounding", ("nearest", "random"), default="nearest") == "random"
    return NumberRange.of(low, high, step, rounds_randomly=random, clamps=_clamps(section), unit=unit)


def _day(section: Section, name: str) -> str:
    day: datetime.date = section.take(name, datetime.date, f"the {name} day, such as 2026-12-01 without quotes")
    if isinstance(day, datetime.datetime):
        raise DraftError(f"{section.entry(name)} has a time: give the day alone, such as 2026-12-01")
    return day.isoformat()


def _clamps(section: Section) -> bool:
    return section.flag("clamp", "an answer outside the range counts as the nearest one inside")


def _items(section: Section) -> tuple[str, ...] | int:
    """Return the names of the items, or their number if the draft gives no names, as for tens of thousands of items."""
    if section.holds("values", int):
        count: int = section.take("values", int, "the number of items")
        return count
    return tuple(section.list_of("values", str, "texts, one for each item, or the number of items"))


def _microdegrees(section: Section, name: str, expected: str) -> int:
    degrees = section.take(name, (int, Decimal), expected)
    scaled = finite_number(section, name, degrees) * MICRODEGREES
    if scaled.denominator != 1:
        raise DraftError(f"{section.entry(name)} may have at most six decimal places, and {degrees} has more")
    return scaled.numerator
