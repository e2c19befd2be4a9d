"""The entries of a draft: tables of TOML read key by key, and the error that names what is wrong in one.

One idea: every key is taken once or refused, numbers stay decimals until they are integers, and whatever is refused
is refused by the name under which its author wrote it.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from protocol import exact
from protocol.errors import BadData


class DraftError(BadData):
    """A draft that does not describe a campaign. The text names the entry."""

    stage = "draft"


class Section:
    """One table of the TOML, whose keys are taken one by one; ``done`` refuses what nobody asked for."""

    def __init__(self, name: str, table: object) -> None:
        if not isinstance(table, dict):
            raise DraftError(f"[{name}] is a table of its own")
        self.name = name
        self._left: dict[str, Any] = dict(table)

    def __contains__(self, key: str) -> bool:
        return key in self._left

    def holds(self, key: str, kind: type) -> bool:
        """Whether ``key`` is there, with a value of type ``kind``."""
        return isinstance(self._left.get(key), kind)

    def _entry(self, key: str) -> str:
        return f"[{self.name}] {key}" if self.name else key

    def take(self, key: str, kind: type | tuple[type, ...], what: str, default: object = None) -> Any:
        """The value of ``key``, of type ``kind``.

        Raises:
            DraftError: missing without a default, or of another type.
        """
        if key not in self._left:
            if default is None:
                raise DraftError(f"{self._entry(key)} is missing: it is {what}")
            return default
        value = self._left.pop(key)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise DraftError(f"{self._entry(key)} is {what}, not {shown(value)}")
        return value

    def list_of(self, key: str, kind: type | tuple[type, ...], what: str) -> list[Any]:
        """The list at ``key``, every element of type ``kind``."""
        values: list[Any] = self.take(key, list, f"a list of {what}")
        for value in values:
            if not isinstance(value, kind) or isinstance(value, bool):
                raise DraftError(f"{self._entry(key)} is a list of {what}; {shown(value)} is none")
        return values

    def done(self) -> None:
        """Refuse the keys that are left."""
        if self._left:
            raise DraftError(f"{self._entry(next(iter(self._left)))} is not an entry halftruth knows")


def count(section: Section, name: str, default: int | None = None) -> int:
    """A whole number of at least 1."""
    value: int = section.take(name, int, "a whole number, at least 1", default)
    if value < 1:
        raise DraftError(f"[{section.name}] {name} is a whole number, at least 1")
    return value


def finite(section: str, name: str, value: object) -> Fraction:
    """The exact number that an entry holds."""
    try:
        return exact.rational(value)  # type: ignore[arg-type]  # refuses what is no number
    except ValueError:
        raise DraftError(f"[{section}] {name} takes finite numbers, not {shown(value)}") from None


def shown(value: object) -> str:
    """A value as an error repeats it, shortened."""
    text = repr(str(value)) if isinstance(value, Decimal | str) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
