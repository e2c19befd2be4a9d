"""The base class of domains, and domains of labels and places: a list of values, a grid of map cells (SPEC 4).

A domain maps a value from an app or sensor (a label, a position, a number) to an input index. It compares numbers as
rationals, so a border belongs to the same cell on every machine. The channel then randomises the input.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, TypeAlias

from protocol import codec, exact
from protocol.errors import DomainError, NotInDomain
from protocol.spelling import repeated

Number: TypeAlias = int | float | str | Decimal | Fraction
SingleAnswer: TypeAlias = str | Number | tuple[Number, ...]
"""An answer to a single question: a label, a number, a day as text, or (latitude, longitude)."""
Answer: TypeAlias = SingleAnswer | list[str] | frozenset[str] | Mapping[str, SingleAnswer | None]
"""An answer from an app: one answer to a single question, a set of labels, or a mapping from the names of a form's
questions to their answers."""

MAX_VALUES = 2**20
MAX_LABEL = 200
DITHER_BYTES = 8
MICRODEGREES = 10**6


class Domain(ABC):
    """A finite set of inputs with labels."""

    kind: ClassVar[str]
    ordered: ClassVar[bool] = False
    """True if the order of the inputs has a meaning, so that a share of "at most this answer" makes sense."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of inputs k, at least 2."""

    @abstractmethod
    def index(self, answer: Answer, dither: bytes) -> int:
        """Return the input for ``answer``.

        Args:
            answer: a value of the domain's kind, such as a label, a number or a position.
            dither: ``DITHER_BYTES`` random bytes, drawn once with each consent, so that the same answer is always the
                same input. Only ``Buckets``, ``NumberRange``, ``Items`` and ``Form`` use them.
        Raises:
            NotInDomain: the domain has no such answer.
            ValueError: the dither that the domain uses does not have ``DITHER_BYTES`` bytes.
        """

    @property
    def named(self) -> tuple[str, ...]:
        """The names that the author chose, in order: labels, or a unit; () if none. A translation replaces these names,
        and the texts of a form's questions."""
        return ()

    def renamed(self, names: Sequence[str]) -> Domain:
        """Return the same domain with other names.

        Args:
            names: one for each entry of ``named``, in its order.
        Raises:
            DomainError: the domain does not allow one of the names.
        """
        return self

    @abstractmethod
    def label(self, x: int) -> str:
        """Return the label of input ``x``; ``parse`` turns it into an answer whose input is ``x``.

        In ``Items``, the input of an item's answer may also be a dummy.
        """

    @abstractmethod
    def parse(self, text: str) -> Answer:
        """Return the answer written in ``text``, from a command line or a file.

        Raises:
            NotInDomain: ``text`` is not of this domain's form.
        """

    @abstractmethod
    def encode(self) -> codec.Value:
        """Return the wire form of the domain (SPEC 4); ``from_wire`` of its class is the inverse."""


@dataclass(frozen=True)
class Values(Domain):
    """A list of labels, in the order the author gave them.

    Raises:
        DomainError: the attribute is invalid.
    """

    labels: tuple[str, ...]
    kind: ClassVar[str] = "values"

    def __post_init__(self) -> None:
        require_size(len(self.labels))
        for label in self.labels:
            require_label(label, "a value", DomainError)
        if len(self._index) != len(self.labels):
            raise DomainError(f"value {(repeated(self.labels) or '')[:40]!r} is listed more than once: list it once")

    @cached_property
    def _index(self) -> dict[str, int]:
        return {label: x for x, label in enumerate(self.labels)}

    @property
    def size(self) -> int:
        return len(self.labels)

    @property
    def named(self) -> tuple[str, ...]:
        return self.labels

    def renamed(self, names: Sequence[str]) -> Values:
        return replace(self, labels=tuple(names))

    def index(self, answer: Answer, dither: bytes) -> int:
        x = self._index.get(answer) if isinstance(answer, str) else None
        if x is None:
            raise NotInDomain(f"the answer is not one of the campaign's {self.size} values: choose one of them")
        return x

    def label(self, x: int) -> str:
        return self.labels[x]

    def parse(self, text: str) -> Answer:
        return text

    def encode(self) -> codec.Value:
        return [self.kind, list(self.labels)]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Values:
        _, labels = codec.fields(value, 2, f"a domain of {cls.kind}", DomainError)
        listed = codec.array(labels, "the values", DomainError)
        return cls(tuple(codec.text(label, "a value", DomainError) for label in listed))


class OrderedValues(Values):
    """Labels in a meaningful order, from least to most: never, seldom, often."""

    kind: ClassVar[str] = "ordered"
    ordered: ClassVar[bool] = True


@dataclass(frozen=True)
class Grid(Domain):
    """The square cells of a box of latitude and longitude; input = row * columns + column, from the south-west corner.

    All fields are integer microdegrees. The box is closed: its northern and eastern borders belong to the last row and
    column.

    Raises:
        DomainError: an attribute is invalid, or does not fit the others.
    """

    south: int
    north: int
    west: int
    east: int
    step: int
    kind: ClassVar[str] = "grid"

    def __post_init__(self) -> None:
        for axis, low, high, limit in (
            ("latitudes", self.south, self.north, 90),
            ("longitudes", self.west, self.east, 180),
        ):
            if not -limit * MICRODEGREES <= low < high <= limit * MICRODEGREES:
                raise DomainError(
                    f"the {axis} of a grid must increase within -{limit} .. {limit} degrees, not go from "
                    f"{_degrees(low)} to {_degrees(high)}"
                )
        if self.step <= 0:
            raise DomainError(f"the step of a grid must be above 0 degrees, not {_degrees(self.step)}")
        if (self.north - self.south) % self.step or (self.east - self.west) % self.step:
            raise DomainError(
                f"the step of a grid must divide its height and its width without remainder, and "
                f"{_degrees(self.step)}° does not"
            )
        require_size(self.size)

    @property
    def rows(self) -> int:
        """Number of cells from south to north."""
        return (self.north - self.south) // self.step

    @property
    def columns(self) -> int:
        """Number of cells from west to east."""
        return (self.east - self.west) // self.step

    @property
    def size(self) -> int:
        return self.rows * self.columns

    def index(self, answer: Answer, dither: bytes) -> int:
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise NotInDomain("the answer must be a pair (latitude, longitude) in degrees")
        latitude, longitude = answer
        row = self._steps(latitude, self.south, self.north)
        column = self._steps(longitude, self.west, self.east)
        return row * self.columns + column

    def _steps(self, degrees: Number, low: int, high: int) -> int:
        """Return the number of whole steps from ``low`` to a position; the position ``high`` belongs to the last
        step."""
        numerator, denominator = number_of(degrees).as_integer_ratio()
        numerator *= MICRODEGREES
        if not low * denominator <= numerator <= high * denominator:
            raise NotInDomain(
                f"the position lies outside the campaign's map, from latitude {_degrees(self.south)} to "
                f"{_degrees(self.north)} and from longitude {_degrees(self.west)} to {_degrees(self.east)}"
            )
        return min((numerator - low * denominator) // (self.step * denominator), (high - low) // self.step - 1)

    def label(self, x: int) -> str:
        row, column = divmod(x, self.columns)
        latitude = Fraction(2 * self.south + (2 * row + 1) * self.step, 2 * MICRODEGREES)
        longitude = Fraction(2 * self.west + (2 * column + 1) * self.step, 2 * MICRODEGREES)
        return f"{decimal_of(latitude)},{decimal_of(longitude)}"

    def parse(self, text: str) -> Answer:
        parts = text.split(",")
        if len(parts) != 2:
            raise NotInDomain('the answer must be two numbers "latitude,longitude" in degrees')
        return number_of(parts[0]), number_of(parts[1])

    def encode(self) -> codec.Value:
        return [self.kind, self.south, self.north, self.west, self.east, self.step]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Grid:
        numbers = codec.fields(value, 6, "a grid domain", DomainError)[1:]
        return cls(*codec.integers(numbers, "a grid's microdegrees", DomainError, -(2**31), 2**31))


def require_size(size: int) -> None:
    """Refuse a number of inputs that no domain may have.

    Raises:
        DomainError: less than 2, or above ``MAX_VALUES``.
    """
    if size < 2:
        raise DomainError(f"a domain must have at least two values, not {size}: one value leaves nothing to ask")
    if size > MAX_VALUES:
        raise DomainError(f"a domain must have at most {MAX_VALUES} values, not {size}")


def require_label(label: str, subject: str, error: type[Exception]) -> None:
    """Refuse a label, or the name of a class or district, that cannot be shown.

    Args:
        subject: the word for the label in the text of the error.
        error: the class to raise.
    Raises:
        error: the label is empty or too long, has a blank at an end, or is not readable on one line.
    """
    if not 1 <= len(label) <= MAX_LABEL or label != label.strip() or not codec.readable(label):
        raise error(
            f"{subject} must be 1 to {MAX_LABEL} readable characters without blanks at its ends, not {label[:40]!r}"
        )


def number_of(value: Answer) -> Fraction:
    """Return the exact number of a numeric answer.

    Raises:
        NotInDomain: the answer is not a single number that ``exact.rational`` reads.
    """
    if isinstance(value, tuple | list | frozenset | Mapping):
        raise NotInDomain("one number is expected, not several values")
    try:
        return exact.rational(value)
    except ValueError:
        raise NotInDomain("the answer must be a finite decimal number, such as 12.5") from None


def _degrees(micro: int) -> str:
    return decimal_of(Fraction(micro, MICRODEGREES))


def decimal_of(number: Fraction) -> str:
    """Return a decimal fraction written out exactly, without trailing zeros."""
    places = 0
    while (number * 10**places).denominator != 1:
        places += 1
    scaled = (number * 10**places).numerator
    if not places:
        return str(scaled)
    digits = str(abs(scaled)).rjust(places + 1, "0")
    return f"{'-' if scaled < 0 else ''}{digits[:-places]}.{digits[-places:]}"
