"""Read the TOML files that an analyst writes (drafts, known margins, coefficients), key by key.

Every key is taken once; unknown keys are refused. Numbers stay decimals until they become integers. An error names
the entry as its author wrote it.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

from protocol import exact
from protocol.errors import BadData
from protocol.spelling import folded, nearest_name, suggestion


class DraftError(BadData):
    """A draft, or another TOML file of the analyst, has an invalid entry. The text names the entry."""

    stage = "draft"


SUM_TOLERANCE = Fraction(1, 1000)
"""Maximum difference from 1 of the sum of shares that their author rounded."""

MAX_FILE_BYTES = 1 << 26
"""Maximum size of a TOML or JSON file in bytes."""

MAX_NUMBER = 10**300
"""Numbers of a draft must be smaller in size, so that a float can represent them."""


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; numbers with a point are ``Decimal``.

    Raises:
        DraftError: the file is too long, not UTF-8, not TOML, nested too deeply, or has a number with thousands of
            digits. The text names the file.
        OSError: the file cannot be read.
    """
    if (size := path.stat().st_size) > MAX_FILE_BYTES:
        raise DraftError(f"{path.name} must be at most {MAX_FILE_BYTES:,} bytes, and has {size:,}: shorten it")
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8"), parse_float=Decimal)
    except UnicodeDecodeError:
        raise DraftError(f"{path.name} is not UTF-8 text: name a TOML file, or save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise DraftError(f"{path.name} is not TOML: {error}. Correct it, or name a TOML file") from None
    except ValueError:
        raise DraftError(f"{path.name} has a number with thousands of digits: write fewer digits") from None
    except RecursionError:
        raise DraftError(f"{path.name} has lists or tables nested hundreds deep: nest fewer") from None


class Section:
    """One table of the TOML, whose keys are taken one by one; ``refuse_unknown`` refuses unknown keys."""

    def __init__(self, name: str, table: object, elsewhere: Mapping[str, str] = MappingProxyType({})) -> None:
        """Begin to read a table.

        Args:
            elsewhere: the name of the table in which the author wrote an entry, for each entry of another table.
        Raises:
            DraftError: the value is not a table.
        """
        if not isinstance(table, dict):
            raise DraftError(f"[{name}] must be a table, not {toml_text(table)}: write its entries under [{name}]")
        self.name = name
        self._elsewhere = elsewhere
        self._left: dict[str, Any] = dict(table)
        self._known: set[str] = set()

    def __contains__(self, key: str) -> bool:
        self._known.add(key)
        return key in self._left

    def holds(self, key: str, kind: type) -> bool:
        self._known.add(key)
        return isinstance(self._left.get(key), kind)

    def entry(self, key: str) -> str:
        """Return the name of an entry for errors, such as [privacy] epsilon."""
        name = self._elsewhere.get(key, self.name)
        return f"[{name}] {key}" if name else key

    def take(self, key: str, kind: type | tuple[type, ...], expected: str, default: object = None) -> Any:
        """Return the value of ``key``, of type ``kind``.

        Args:
            expected: the expected value, for errors.
            default: the value if the key is missing; None if the key is required.
        Raises:
            DraftError: the key is missing without a default, or its value has another type or contains U+0000.
        """
        self._known.add(key)
        if key not in self._left:
            if default is None:
                # If a key is misspelled, report it as unknown, which is clearer than a report that this key is missing.
                near = nearest_name(key, self._left)
                if near is not None:
                    raise DraftError(f"{self._unknown(near)}; did you mean {toml_text(key)}?")
                raise DraftError(f"{self.entry(key)} is missing: it is {expected}")
            return default
        value = self._left.pop(key)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise DraftError(f"{self.entry(key)} must be {expected}, not {toml_text(value)}")
        if isinstance(value, str) and "\0" in value:  # no file name can contain it
            raise DraftError(f"{self.entry(key)} contains the character U+0000: leave it out")
        return value

    def number(self, key: str, expected: str, default: Decimal | Fraction | None = None) -> Fraction:
        """Return the value of ``key``, a finite number, exactly; see ``take``.

        Raises:
            DraftError: as in ``take`` or ``finite_number``.
        """
        return finite_number(self, key, self.take(key, (int, Decimal), expected, default))

    def file(self, key: str, expected: str, folder: Path) -> Path:
        """Return the path of the file that ``key`` names, relative to the folder of the draft; see ``take``.

        Raises:
            DraftError: also if there is no such file.
        """
        return file_of(folder, self.take(key, str, expected), self.entry(key))

    def flag(self, key: str, meaning: str) -> bool:
        """Return whether ``key`` is true; false if it is missing.

        Raises:
            DraftError: the value is neither true nor false.
        """
        self._known.add(key)
        value = self._left.pop(key, False)
        if not isinstance(value, bool):
            raise DraftError(f"{self.entry(key)} must be true if {meaning}, and false if not; it is {toml_text(value)}")
        return value

    def list_of(self, key: str, kind: type | tuple[type, ...], expected: str) -> list[Any]:
        """Return the list at ``key``, with elements of type ``kind``.

        Raises:
            DraftError: the key is missing, or its value is not such a list.
        """
        values: list[Any] = self.take(key, list, f"a list of {expected}")
        for value in values:
            if not isinstance(value, kind) or isinstance(value, bool):
                raise DraftError(f"{self.entry(key)} must be a list of {expected}; it contains {toml_text(value)}")
        return values

    def choice(
        self,
        key: str,
        names: Sequence[str],
        default: str | None = None,
        hints: Mapping[str, str] = MappingProxyType({}),
    ) -> str:
        """Return the value of ``key``, one of ``names``; case does not matter.

        Args:
            hints: for some names that are not in ``names``, the text at the end of the error.
        Raises:
            DraftError: the key is missing without a default, or its value is not one of ``names``.
        """
        written: str = self.take(key, str, f"one of {', '.join(names)}", default)
        name = folded(written)
        if name not in names:
            hint = hints.get(name) or suggestion(written, names)
            raise DraftError(f"{self.entry(key)} must be one of {', '.join(names)}, not {toml_text(written)}{hint}")
        return name

    def refuse_unknown(self, others: Iterable[str] = ()) -> None:
        """Refuse unknown keys; the error names the first unknown key, and a similar known key or all known keys.

        Args:
            others: known keys of the table that another section has taken.
        Raises:
            DraftError: the table has an unknown key.
        """
        if self._left:
            first, keys = next(iter(self._left)), self._known.union(others)
            if not keys:
                raise DraftError(f"this draft does not use [{self.name}]: leave the section out")
            known = f"; expected one of: {', '.join(sorted(keys))}"
            raise DraftError(self._unknown(first) + (suggestion(first, keys) or known))

    def _unknown(self, key: str) -> str:
        name = self._elsewhere.get(key, self.name)
        return f"{f'[{name}]' if name else 'the file'} has an unknown entry {toml_text(key)}"


def file_of(folder: Path, name: str, entry: str) -> Path:
    """Return the path of the file that an entry names, relative to the folder of the draft.

    Raises:
        DraftError: there is no such file.
    """
    file = folder / name
    if not file.is_file():
        raise DraftError(f"{entry}: there is no file {file.name}: give its path from the folder of the draft")
    return file


def whole_number(section: Section, name: str, default: int | None = None) -> int:
    """Return the value of the entry ``name``, a whole number of at least 1.

    Raises:
        DraftError: the value is not a whole number of at least 1.
    """
    value: int = section.take(name, int, "a whole number of at least 1", default)
    if value < 1:
        raise DraftError(f"{section.entry(name)} must be a whole number of at least 1, not {value}")
    return value


def finite_number(section: Section, key: str, value: object) -> Fraction:
    """Return the value of an entry, or of a part of it, as an exact rational number.

    Raises:
        DraftError: the value is not a finite number below ``MAX_NUMBER`` in size.
    """
    with suppress(ValueError):
        number = exact.rational(value)  # type: ignore[arg-type]  # ``rational`` refuses other types
        if abs(number) < MAX_NUMBER:
            return number
    raise DraftError(
        f"{section.entry(key)}: a finite number between -10^300 and 10^300 is expected, in at most 400 characters "
        f"and with an exponent of at most three digits, not {toml_text(value)}"
    )


def normalised(shares: Sequence[Fraction], entry: str, otherwise: str = "") -> list[Fraction]:
    """Return the shares divided by their sum, which may differ from 1 by ``SUM_TOLERANCE``.

    Args:
        entry: the name of the entry, for the error.
        otherwise: text at the end of the error.
    Raises:
        DraftError: the sum is further than ``SUM_TOLERANCE`` from 1.
    """
    total = sum(shares, Fraction())
    if abs(total - 1) > SUM_TOLERANCE:
        raise DraftError(f"{entry} must sum to 1, but sum to {float(total)!r}{otherwise}")
    return [share / total for share in shares]


def toml_text(value: object) -> str:
    """Return a value for an error message, as TOML writes it, and shortened."""
    text = _as_toml(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _as_toml(value: object, depth: int = 3) -> str:
    """Return a value as TOML writes it, with strings as in Python.

    Args:
        depth: the number of nested lists and tables that are written; deeper ones become "...".
    """
    if isinstance(value, Decimal | datetime.date | datetime.time):
        return str(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | dict) and not depth:
        return "..."
    if isinstance(value, list):
        return f"[{', '.join(_as_toml(part, depth - 1) for part in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {_as_toml(part, depth - 1)}' for key, part in value.items())}}}"
    return repr(value)
