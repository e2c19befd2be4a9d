"""Find names for the text of an error: the known name that a misspelt one probably means, or a repeated name."""

from __future__ import annotations

from collections.abc import Iterable

ALIKE = 0.75
"""An unknown name is taken for a misspelling of a known one from this difflib ratio on."""


def nearest_name(name: str, names: Iterable[str]) -> str | None:
    """Return the most similar of ``names``; None if no name is similar. Case and outer blanks do not count."""
    import difflib  # imported here because a command without an error does not need it

    known = {folded(known_name): known_name for known_name in sorted(names)}
    near = difflib.get_close_matches(folded(name), known, 1, ALIKE)
    return known[near[0]] if near else None


def suggestion(name: str, names: Iterable[str]) -> str:
    """Return "; did you mean ...?" with the most similar of ``names``; empty if no name is similar."""
    near = nearest_name(name, names)
    return "" if near is None else f"; did you mean {near!r}?"


def repeated(names: Iterable[str]) -> str | None:
    """Return the first name that is equal to an earlier one; None if all are different."""
    earlier: set[str] = set()
    for name in names:
        if name in earlier:
            return name
        earlier.add(name)
    return None


def folded(name: str) -> str:
    """Return a name in lower case, without outer blanks."""
    return name.strip().lower()
