"""Numbers, numbers with their nouns, and lists of names, for texts that people read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

MAX_NAMED = 5
"""Maximum number of names in a list."""


def quantity(number: int, noun: str, plural: str = "") -> str:
    """Return a whole number with its noun: "1 report", "0 reports", "2,000 reports".

    Args:
        plural: the plural of the noun, if it is not the noun with an s.
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def rounded(number: float, digits: int) -> str:
    """Return a number as text with ``digits`` significant digits, without an exponent: "1,200" for 1,234.5 with two."""
    return f"{Decimal(f'{number:.{digits}g}'):,f}"


def upper_bound(number: float, decimals: int) -> str:
    """Return a number that is not negative, rounded up: "2.8" for 2.7459 with one decimal.

    The rounding errors of a float are not rounded up: 0.1 + 0.2 is "0.3".
    """
    scale = 10**decimals
    return f"{math.ceil(round(number * scale, 6)) / scale:,.{decimals}f}"


def names_text(names: Sequence[object]) -> str:
    """Return the first names, and the number of the others: "a, b, c, d, e and 3 more"."""
    more = f" and {len(names) - MAX_NAMED:,} more" if len(names) > MAX_NAMED else ""
    return ", ".join(map(str, names[:MAX_NAMED])) + more
