"""Domains for questions about a number: edges at any distance, evenly spaced numbers, days (SPEC 4).

The inputs of all three are numbers in increasing order, so they share the base class ``Line``. Means and distances of
numbers need this class; quantiles and ranges need only an order, and ``OrderedValues`` has one too.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from protocol import codec, exact
from protocol.domain import calendar
from protocol.domain.domain import DITHER_BYTES, Answer, Domain, Number, decimal_of, number_of, require_size
from protocol.errors import DomainError, NotInDomain

MAX_PLACES = 18
MAX_SCALED = 2**62
MAX_UNIT = 20
"""Maximum number of characters of a unit."""


class Line(Domain):
    """A domain whose inputs are numbers in increasing order.

    Attributes:
        scaled: the number of each input times 10^decimal_places, as increasing integers.
        decimal_places: the smallest number p of decimal places for which every input's number times 10^p is an integer.
    """

    ordered: ClassVar[bool] = True
    scaled: Sequence[int]
    decimal_places: int

    @property
    def size(self) -> int:
        return len(self.scaled)

    @property
    def rounds_randomly(self) -> bool:
        """True if a number between two inputs is rounded to one of them at random, without changing its expectation."""
        return True

    @property
    def evenly_spaced(self) -> bool:
        """True if all neighbouring inputs are equally far apart."""
        return len({high - low for low, high in zip(self.scaled, self.scaled[1:], strict=False)}) == 1

    @cached_property
    def points(self) -> tuple[Fraction, ...]:
        """The k numbers of the inputs, increasing."""
        return tuple(Fraction(number, 10**self.decimal_places) for number in self.scaled)

    @property
    def range_text(self) -> str:
        """The numbers of the first and the last input as text, with the unit if any: "17 to 90 years"."""
        return f"{self.label(0)} to {self.label(self.size - 1)}"

    @property
    def clamps(self) -> bool:
        """True if a number outside the range is moved to the nearer end; otherwise it is refused."""
        return False

    def number(self, answer: Answer) -> Fraction:
        """Return the number of ``answer``, before it is rounded to an input.

        Raises:
            NotInDomain: the answer is not a single number, or is outside the range of the inputs.
        """
        number = number_of(answer)
        if not self.scaled[0] <= number * 10**self.decimal_places <= self.scaled[-1]:
            raise NotInDomain(f"the number lies outside the campaign's range, {self.range_text}")
        return number

    def lower_input(self, answer: Answer) -> tuple[int, Fraction]:
        """Return the last input at or below a number, and the number's position between it and the next input.

        Returns:
            (x, part): x in 0 .. size - 2; part in 0 .. 1, the fraction of the gap. The number of the last input has
            x = size - 2 and part 1.
        Raises:
            NotInDomain: not a number, or outside the range.
        """
        scaled = self.number(answer) * 10**self.decimal_places
        lower = min(bisect_right(self.scaled, scaled), self.size - 1) - 1
        low, high = self.scaled[lower], self.scaled[lower + 1]
        return lower, (scaled - low) / (high - low)

    def index(self, answer: Answer, dither: bytes) -> int:
        if len(dither) != DITHER_BYTES:
            raise ValueError(f"the dither must be {DITHER_BYTES} bytes, not {len(dither)}")
        lower, part = self.lower_input(answer)
        if self.rounds_randomly:
            return lower + (int.from_bytes(dither, "big") < part * (1 << 8 * DITHER_BYTES))
        return lower + (2 * part >= 1)

    def label(self, x: int) -> str:
        return decimal_of(Fraction(self.scaled[x], 10**self.decimal_places))

    def parse(self, text: str) -> Answer:
        return number_of(text)

    @classmethod
    @abstractmethod
    def from_wire(cls, value: codec.Value) -> Line:
        """Return the domain of a wire form (SPEC 4)."""


@dataclass(frozen=True)
class Buckets(Line):
    """The numbers between the first and the last edge; the inputs are the edges themselves.

    A number between two edges is rounded up or down at random, with the probabilities that keep its expectation. So
    means and sums over many devices are unbiased, unlike means computed from the midpoints of fixed buckets. The random
    threshold is drawn once with each consent, so an unchanged number gives an unchanged input.

    Source: Ding, Kulkarni, Yekhanin 2017 (alpha-point rounding).

    Raises:
        DomainError: an attribute is invalid, or does not fit the others.
    """

    scaled: tuple[int, ...]
    decimal_places: int
    kind: ClassVar[str] = "buckets"

    def __post_init__(self) -> None:
        require_size(len(self.scaled))
        codec.require_increasing(self.scaled, "bucket edges", DomainError)
        _require_places(self.decimal_places, self.scaled, "bucket edges")
        _require_small(self.scaled, self.decimal_places, "a bucket edge")

    @classmethod
    def of(cls, edges: Sequence[Number]) -> Buckets:
        """Return buckets with edges as a person writes them, such as ``[0, 2.5, 10]``.

        Raises:
            DomainError: an edge is not a number, or the buckets are invalid.
        """
        return cls(*_scaled(edges, "bucket edges"))

    def encode(self) -> codec.Value:
        return [self.kind, self.decimal_places, list(self.scaled)]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Buckets:
        _, places, edges = codec.fields(value, 3, "a buckets domain", DomainError)
        return cls(
            codec.integers(edges, "a bucket edge", DomainError, -MAX_SCALED, MAX_SCALED),
            codec.integer(places, "decimal places", DomainError, 0, MAX_PLACES),
        )


@dataclass(frozen=True)
class NumberRange(Line):
    """The numbers low, low + step, ..., high.

    Attributes:
        low, high, step: the numbers times 10^decimal_places, as integers.
        decimal_places: the smallest number p of decimal places for which all three numbers times 10^p are integers.
        rounds_randomly: True if a number between two steps is rounded at random, so that means are unbiased; else it is
            rounded to the nearest step, upwards if two are equally near.
        clamps: True if a number outside the range is moved to the nearer end; else it is refused.
        unit: the unit of the numbers, such as "years"; "" for none.
    Raises:
        DomainError: an attribute is invalid, or does not fit the others.
    """

    low: int
    high: int
    step: int
    decimal_places: int
    rounds_randomly: bool = False
    clamps: bool = False
    unit: str = ""
    scaled: Sequence[int] = field(init=False, repr=False, compare=False)
    kind: ClassVar[str] = "number"
    evenly_spaced: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _require_places(self.decimal_places, (self.low, self.high, self.step), "a number's low, high and step")
        _require_steps(self.low, self.high, self.step, self.decimal_places)
        object.__setattr__(self, "scaled", range(self.low, self.high + 1, self.step))
        if len(self.unit) > MAX_UNIT or not codec.readable(self.unit) or self.unit != self.unit.strip():
            raise DomainError(
                f"a unit must be at most {MAX_UNIT} readable characters without blanks at its ends, not "
                f"{self.unit[:40]!r}"
            )

    @classmethod
    def of(
        cls,
        low: Number,
        high: Number,
        step: Number = 1,
        *,
        rounds_randomly: bool = False,
        clamps: bool = False,
        unit: str = "",
    ) -> NumberRange:
        """Return a range of numbers as a person writes them: ``of(17, 90, unit="years")``.

        Raises:
            DomainError: an argument is not a number, or the range is invalid.
        """
        (scaled_low, scaled_high, scaled_step), places = _scaled((low, high, step), "a number's low, high and step")
        return cls(scaled_low, scaled_high, scaled_step, places, rounds_randomly, clamps, unit)

    @property
    def named(self) -> tuple[str, ...]:
        return (self.unit,) if self.unit else ()

    def renamed(self, names: Sequence[str]) -> NumberRange:
        return replace(self, unit=names[0]) if names else self

    @property
    def range_text(self) -> str:
        return f"{super().range_text} {self.unit}".strip()

    def number(self, answer: Answer) -> Fraction:
        if not self.clamps:
            return super().number(answer)
        low, high = (Fraction(end, 10**self.decimal_places) for end in (self.low, self.high))
        return min(max(number_of(answer), low), high)

    def encode(self) -> codec.Value:
        return [
            self.kind,
            self.decimal_places,
            self.low,
            self.high,
            self.step,
            int(self.rounds_randomly),
            int(self.clamps),
            self.unit,
        ]

    @classmethod
    def from_wire(cls, value: codec.Value) -> NumberRange:
        _, places, *numbers, random, clamp, unit = codec.fields(value, 8, "a number domain", DomainError)
        low, high, step = codec.integers(numbers, "a number's end or step", DomainError, -MAX_SCALED, MAX_SCALED)
        return cls(
            low,
            high,
            step,
            codec.integer(places, "decimal places", DomainError, 0, MAX_PLACES),
            bool(codec.integer(random, "rounding", DomainError, 0, 1)),
            bool(codec.integer(clamp, "clamp", DomainError, 0, 1)),
            codec.text(unit, "a unit", DomainError),
        )


@dataclass(frozen=True)
class Dates(Line):
    """Every ``step``-th day from the first to the last; a day between two of them is rounded to the earlier one.

    Attributes:
        low, high: the first and the last day, in days since 1970-01-01.
        step: distance of two inputs in days.
        clamps: True if a day outside the range is moved to the nearer end; else it is refused.
    Raises:
        DomainError: an attribute is invalid, or does not fit the others.
    """

    low: int
    high: int
    step: int = 1
    clamps: bool = False
    scaled: Sequence[int] = field(init=False, repr=False, compare=False)
    decimal_places: int = field(default=0, init=False, repr=False, compare=False)
    kind: ClassVar[str] = "date"
    rounds_randomly: ClassVar[bool] = False
    evenly_spaced: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for day in (self.low, self.high):
            if not calendar.FIRST <= day <= calendar.LAST:
                raise DomainError(f"a day must be in the years 1 to 9999, and {day} days from 1970-01-01 is not")
        if self.low >= self.high:
            first, last = calendar.text_of(self.low), calendar.text_of(self.high)
            raise DomainError(f"the first day must be before the last, and {first} is not before {last}")
        _require_steps(self.low, self.high, self.step, 0)
        object.__setattr__(self, "scaled", range(self.low, self.high + 1, self.step))

    @classmethod
    def of(cls, first: str, last: str, step: int = 1, *, clamps: bool = False) -> Dates:
        """Return the days from ``first`` to ``last``: ``of("2026-01-01", "2026-12-31")``.

        Raises:
            DomainError: a day is not a date, or the range is invalid.
        """
        try:
            low, high = calendar.day_of(first), calendar.day_of(last)
        except ValueError as error:
            raise DomainError(f"the first or the last day: {error}") from None
        return cls(low, high, step, clamps)

    def number(self, answer: Answer) -> Fraction:
        day = Fraction(_day(answer))
        if not self.clamps and not self.low <= day <= self.high:
            raise NotInDomain(f"the day lies outside the campaign's range, {self.range_text}")
        return min(max(day, Fraction(self.low)), Fraction(self.high))

    def index(self, answer: Answer, dither: bytes) -> int:
        return math.floor((self.number(answer) - self.low) / self.step)

    def label(self, x: int) -> str:
        return calendar.text_of(self.scaled[x])

    def parse(self, text: str) -> Answer:
        return calendar.text_of(_day(text))

    def encode(self) -> codec.Value:
        return [self.kind, self.low, self.high, self.step, int(self.clamps)]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Dates:
        _, *numbers = codec.fields(value, 5, "a date domain", DomainError)
        low, high, step, clamp = codec.integers(numbers, "a date's end, step or clamp", DomainError, -(2**31), 2**31)
        return cls(low, high, step, bool(codec.integer(clamp, "clamp", DomainError, 0, 1)))


def _day(answer: Answer) -> int:
    """Return the day given by ``answer``, in days since 1970-01-01."""
    try:
        return calendar.day_of(answer.strip() if isinstance(answer, str) else "")
    except ValueError:
        raise NotInDomain("the answer must be a day of the calendar, written as YYYY-MM-DD") from None


def _require_steps(low: int, high: int, step: int, places: int) -> None:
    if low >= high:
        first, last = (decimal_of(Fraction(end, 10**places)) for end in (low, high))
        raise DomainError(f"the lowest number of the range, {first}, must be below the highest, {last}")
    if step <= 0:
        raise DomainError(f"the step must be above zero, not {decimal_of(Fraction(step, 10**places))}")
    if (high - low) % step:
        raise DomainError(
            f"the step must divide the range without remainder, and {decimal_of(Fraction(step, 10**places))} does not"
        )
    _require_small((low, high, step), places, "an end of the range, or its step,")
    require_size((high - low) // step + 1)


def _require_small(scaled: Sequence[int], places: int, subject: str) -> None:
    for number in scaled:
        if abs(number) >= MAX_SCALED:
            raise DomainError(
                f"{subject} must be below 2^62 / 10^{places} in absolute value, not "
                f"{decimal_of(Fraction(number, 10**places))}: choose smaller numbers, or fewer decimal places"
            )


def _require_places(places: int, scaled: Sequence[int], subject: str) -> None:
    if not 0 <= places <= MAX_PLACES or (places and all(number % 10 == 0 for number in scaled)):
        raise DomainError(
            f"{subject} must have the fewest decimal places that write them exactly, at most {MAX_PLACES}, not {places}"
        )


def _scaled(numbers: Sequence[Number], subject: str) -> tuple[tuple[int, ...], int]:
    """Return the numbers times 10^decimal_places, as integers, with the smallest such number of places."""
    fractions = []
    for number in numbers:
        try:
            fractions.append(exact.rational(number))
        except ValueError as error:
            raise DomainError(f"{subject} must be numbers, not {str(number)[:40]!r}: {error}") from None
    for places in range(MAX_PLACES + 1):
        scaled = [number * 10**places for number in fractions]
        if all(number.denominator == 1 for number in scaled):
            return tuple(number.numerator for number in scaled), places
    longest = max(zip(fractions, numbers, strict=True), key=lambda pair: pair[0].denominator)[1]
    raise DomainError(f"{subject} must have at most {MAX_PLACES} decimal places: round {str(longest)[:40]!r}")
