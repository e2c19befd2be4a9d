"""What a draft asks: its domain.

The domain's own constructor judges it; here the entries are only read, and numbers brought to its units.
"""

from __future__ import annotations

from decimal import Decimal

from aggregator.author.toml_section import DraftError, Section, finite
from protocol.domain import MICRODEGREES, Buckets, Domain, Grid, Items, Values


def domain_of(section: Section) -> Domain:
    """The domain of ``[domain]``."""
    kind = section.choice("kind", ("values", "grid", "buckets", "items"))
    if kind == "values":
        return Values(tuple(section.list_of("values", str, "texts, one for each value")))
    if kind == "grid":
        return Grid(*(_microdegrees(section, name) for name in ("south", "north", "west", "east", "step")))
    if kind == "buckets":
        return Buckets.of(section.list_of("edges", (int, Decimal), "increasing numbers"))
    padding = section.take("padding", int, 'the number of items a set is padded to, or "auto"')
    return Items(padding, _items(section))


def _items(section: Section) -> tuple[str, ...] | int:
    """The items' names, or how many there are: a catalogue of tens of thousands goes by number."""
    if section.holds("values", int):
        count: int = section.take("values", int, "how many items there are")
        return count
    return tuple(section.list_of("values", str, "texts, one for each item, or how many items there are"))


def _microdegrees(section: Section, name: str) -> int:
    degrees = section.take(name, (int, Decimal), "a number of degrees")
    scaled = finite(section.name, name, degrees) * MICRODEGREES
    if scaled.denominator != 1:
        raise DraftError(f"[domain] {name} has at most six decimal places")
    return scaled.numerator
