"""Numbers with their nouns, for texts that people read."""

from __future__ import annotations


def quantity(number: int, noun: str, plural: str = "") -> str:
    """Return a whole number with its noun: "1 report", "0 reports", "2,000 reports".

    Args:
        plural: the plural of the noun, if it is not the noun with an s.
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
