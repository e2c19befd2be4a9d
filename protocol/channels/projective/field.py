"""The finite fields of the coordinates: fields of prime order, and the fields of order 4, 8 and 9 (SPEC 5.4).

An element is a number 0 .. q - 1. If q is prime, elements are added and multiplied modulo q. An element of a field of
order 4, 8 or 9 is a polynomial over the prime field. Its coefficients are the digits of its number in base 2 or 3; the
last digit is the constant. Sums and products are taken modulo the prime and reduced by an irreducible polynomial,

    4: x^2 = x + 1        8: x^3 = x + 1        9: x^2 = 2

so tables of at most 81 entries contain all sums and products.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

from protocol.errors import ChannelError

MAX_ORDER = 2**20

_REDUCED = {4: (2, (1, 1)), 8: (2, (1, 1, 0)), 9: (3, (2, 0))}
"""For each order that is not prime: the prime, and the coefficients that replace the highest power, constant first."""


class FiniteField:
    """A finite field. This class computes in fields of prime order, ``_Extension`` in the others."""

    def __init__(self, order: int) -> None:
        self.order = order

    def times(self, element: int, other: int) -> int:
        """Return the product of two elements."""
        return element * other % self.order

    def minus(self, element: int, other: int) -> int:
        """Return the difference of two elements."""
        return (element - other) % self.order

    def inverse(self, element: int) -> int:
        """Return the multiplicative inverse of an element that is not 0."""
        return pow(element, -1, self.order)

    def dot(self, vector: Sequence[int], other: Sequence[int]) -> int:
        """Return the sum of the products of two vectors of equal length."""
        return sum(mine * theirs for mine, theirs in zip(vector, other, strict=True)) % self.order

    def sums(self, first: Sequence[int], second: Sequence[int], count: int) -> list[int]:
        """Return the first ``count`` sums of an element of ``first`` and an element of ``second``; ``second`` varies
        fastest."""
        return [(element + other) % self.order for element in first for other in second][:count]


class _Extension(FiniteField):
    """A finite field of order 4, 8 or 9, computed with tables of sums and products."""

    def __init__(self, order: int) -> None:
        super().__init__(order)
        prime, reduced = _REDUCED[order]
        vectors = [_digits(number, prime, len(reduced)) for number in range(order)]
        self._sums = [[_number(_added(vector, other, prime), prime) for other in vectors] for vector in vectors]
        self._products = [
            [_number(_product(vector, other, prime, reduced), prime) for other in vectors] for vector in vectors
        ]
        self._negatives = [row.index(0) for row in self._sums]
        self._inverses = [0, *(row.index(1) for row in self._products[1:])]

    def times(self, element: int, other: int) -> int:
        return self._products[element][other]

    def minus(self, element: int, other: int) -> int:
        return self._sums[element][self._negatives[other]]

    def inverse(self, element: int) -> int:
        return self._inverses[element]

    def dot(self, vector: Sequence[int], other: Sequence[int]) -> int:
        total = 0
        for mine, theirs in zip(vector, other, strict=True):
            total = self._sums[total][self._products[mine][theirs]]
        return total

    def sums(self, first: Sequence[int], second: Sequence[int], count: int) -> list[int]:
        return [row[other] for row in map(self._sums.__getitem__, first) for other in second][:count]


@lru_cache(maxsize=64)
def field_of(order: int) -> FiniteField:
    """Return the field of ``order`` elements.

    Raises:
        ChannelError: the order is neither a prime below 2^20 nor 4, 8 or 9.
    """
    if order in _REDUCED:
        return _Extension(order)
    if not (order < MAX_ORDER and is_prime(order)):
        raise ChannelError(
            f"the order of a projective channel's field must be a prime below {MAX_ORDER}, or 4, 8 or 9; not {order}"
        )
    return FiniteField(order)


def orders(minimum: int = 2) -> Iterator[int]:
    """Yield the orders that ``field_of`` accepts from ``minimum`` on, increasing."""
    return (order for order in range(minimum, MAX_ORDER) if order in _REDUCED or is_prime(order))


def is_prime(number: int) -> bool:
    """Return whether ``number`` is prime, by trial division; meant for numbers of about 20 bits."""
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def _digits(number: int, base: int, length: int) -> tuple[int, ...]:
    """Return the last ``length`` digits of a number, the least significant first."""
    return tuple(number // base**place % base for place in range(length))


def _number(digits: Sequence[int], base: int) -> int:
    """Return the number with these digits, the inverse of ``_digits``."""
    return sum(digit * base**place for place, digit in enumerate(digits))


def _added(polynomial: Sequence[int], other: Sequence[int], prime: int) -> list[int]:
    """Return the sum of two polynomials, constant first."""
    return [(mine + theirs) % prime for mine, theirs in zip(polynomial, other, strict=True)]


def _product(polynomial: Sequence[int], other: Sequence[int], prime: int, reduced: Sequence[int]) -> list[int]:
    """Return the product of two elements as polynomials, by Horner's rule over the coefficients of ``polynomial``."""
    total = [0] * len(reduced)
    for coefficient in reversed(polynomial):
        above, total = total[-1], [0, *islice(total, len(reduced) - 1)]
        total = [
            (digit + above * power + coefficient * theirs) % prime
            for digit, power, theirs in zip(total, reduced, other, strict=True)
        ]
    return total
