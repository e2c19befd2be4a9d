"""Numbers, numbers with their nouns, and lists of names, for texts that people read."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

MOST_NAMED = 5
"""Maximum number of names in a list."""


def quantity(number: int, noun: str, plural: str = "") -> str:
    """Return a whole number with its noun: "1 report", "0 reports", "2,000 reports".

    Args:
        plural: the plural of the noun, if it is not the noun with an s.
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def rounded(number: float, digits: int) -> str:
    """Return a number with this many significant digits, without an exponent: "1,200" for 1,234.5 with two digits."""
    return f"{Decimal(f'{number:.{digits}g}'):,f}"


def named(names: Sequence[object]) -> str:
    """Return the first names, and the number of the other ones: "a, b, c, d, e and 3 more"."""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(map(str, names[:MOST_NAMED])) + more
