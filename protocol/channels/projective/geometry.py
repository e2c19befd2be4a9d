"""The points of a projective geometry, their numbers, and which of them are orthogonal (SPEC 5.4).

The points of PG(t-1, q) are vectors of t coordinates up to a factor. The points orthogonal to a point x are a set
S_x = {y : <x, y> = 0}. All these sets are of one size, and any two of them meet in one number of points: a symmetric
design.

    K  = (q^t - 1) / (q - 1)          points
    cs = (q^(t-1) - 1) / (q - 1)      points of S_x
    ci = (q^(t-2) - 1) / (q - 1)      points of S_x and S_x', x' another point

The canonical vector of a point has 1 as the first coordinate that is not 0, and numbers follow from it by arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import add

from protocol.channels.projective.field import FiniteField, field_of
from protocol.errors import ChannelError

MAX_POINTS = 2**24
"""Whoever counts reports holds a number for each point."""

MAX_DIMENSION = 24
"""Above it even the field of two elements has too many points."""


@dataclass(frozen=True)
class Geometry:
    """The projective geometry of ``dimension`` coordinates over the field of ``order`` elements.

    Attributes:
        order: q, a prime below 2^20, or 4, 8 or 9.
        dimension: t, from 2.
        arithmetic: sums and products of coordinates.
        points: K, at most 2^24.
        support: cs.
        shared: ci.
        powers: 1, q, ..., q^t.
        firsts: how many points have fewer than f coordinates after their first that is not 0, for f = 0 .. t: the
            number of the first point that has f. cs and K are the last two.
    """

    order: int
    dimension: int
    arithmetic: FiniteField = field(init=False, repr=False, compare=False)
    points: int = field(init=False, repr=False, compare=False)
    support: int = field(init=False, repr=False, compare=False)
    shared: int = field(init=False, repr=False, compare=False)
    powers: tuple[int, ...] = field(init=False, repr=False, compare=False)
    firsts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        found = field_of(self.order)
        if not 2 <= self.dimension <= MAX_DIMENSION:
            raise ChannelError(f"a projective channel has 2 to {MAX_DIMENSION} coordinates, not {self.dimension}")
        powers = tuple(self.order**f for f in range(self.dimension + 1))
        firsts = (0, *accumulate(powers[:-1]))
        shared, support, points = firsts[-3:]
        if points > MAX_POINTS:
            raise ChannelError(f"a projective channel has at most {MAX_POINTS} points, not {points}")
        derived = {"arithmetic": found, "points": points, "support": support, "shared": shared}
        for name, value in {**derived, "powers": powers, "firsts": firsts}.items():
            object.__setattr__(self, name, value)  # frozen for everybody else

    def coordinates(self, point: int) -> tuple[int, ...]:
        """The canonical vector of a point: t coordinates below q, the first that is not 0 being 1."""
        return self._canonical(point, self.dimension)

    def _canonical(self, point: int, length: int) -> tuple[int, ...]:
        """The ``point``-th canonical vector of ``length`` coordinates."""
        free = sum(point >= first for first in self.firsts[1:length])
        return self._digits(self.powers[free] + point - self.firsts[free], length)

    def _digits(self, number: int, length: int) -> tuple[int, ...]:
        """The last ``length`` digits of ``number`` in base q, the most significant first."""
        return tuple(number // self.powers[place] % self.order for place in reversed(range(length)))

    def point(self, vector: Sequence[int]) -> int:
        """The number of the point that ``vector``, t elements of the field and not all 0, belongs to."""
        lead = 0
        for coordinate in reversed(vector):
            lead = coordinate or lead
        factor = self.arithmetic.inverse(lead)
        number = 0
        for coordinate in vector:
            number = number * self.order + self.arithmetic.times(coordinate, factor)
        free = sum(number >= power for power in self.powers[1:-1])
        return number - self.powers[free] + self.firsts[free]

    def orthogonal(self, x: int, y: int) -> bool:
        """Whether <x, y> = 0."""
        return self.arithmetic.dot(self.coordinates(x), self.coordinates(y)) == 0

    def drawn(self, x: int, draw: int, inside: int, outside: int) -> int:
        """The point at the place ``draw`` where each point of S_x, and then each other point, takes its weight.

        Args:
            draw: below cs * inside + (K - cs) * outside.
            inside, outside: the weights, positive.
        """
        beyond = self.support * inside
        own = self.coordinates(x)
        pivot = own.index(1)
        # Both points are made whichever it will be; the remainders only keep the one that is not taken in its range.
        near = self._canonical(draw // inside % self.support, self.dimension - 1)
        far = self._digits((draw - beyond) // outside, self.dimension - 1)
        orthogonal = self._completed(own, pivot, near, 0)
        other = self._completed(own, pivot, far, 1)
        return (other, orthogonal)[draw < beyond]

    def _completed(self, own: Sequence[int], pivot: int, others: tuple[int, ...], product: int) -> int:
        """The point of the vector that is ``others`` around the coordinate ``pivot``, and has ``product`` with ``own``.

        ``own`` is 1 at ``pivot``, so there is exactly one.
        """
        rest = (*own[:pivot], *own[pivot + 1 :])
        solved = self.arithmetic.minus(product, self.arithmetic.dot(rest, others))
        return self.point((*others[:pivot], solved, *others[pivot:]))

    def supported(self, x: int) -> Iterator[int]:
        """The points of S_x, in the order of the draws that name them."""
        own = self.coordinates(x)
        pivot = own.index(1)
        for place in range(self.support):
            yield self._completed(own, pivot, self._canonical(place, self.dimension - 1), 0)

    def telling(self, x: int, other: int) -> int:
        """A point orthogonal to ``x`` and not to ``other``: S_x and S_x', of one size, share ci < cs points.

        e_c - x_c e_pivot is orthogonal to x for every c. Were all of them to ``other`` too, it would be a multiple.
        """
        own, against = self.coordinates(x), self.coordinates(other)
        pivot = own.index(1)
        times, minus = self.arithmetic.times, self.arithmetic.minus
        c = next(c for c in range(self.dimension) if minus(against[c], times(own[c], against[pivot])))
        vector = [0] * self.dimension
        vector[pivot], vector[c] = minus(0, own[c]), 1  # c is not the pivot, where the difference is 0
        return self.point(vector)

    def least(self, inputs: Sequence[int], numbers: Sequence[int]) -> dict[int, int]:
        """For each of these inputs the least of ``numbers``, one for each point, over the points orthogonal to it.

        A point is orthogonal to cs of K, so few of the points of least numbers leave few inputs to be looked at.
        """
        left, found = {x: self.coordinates(x) for x in inputs}, {}
        for y in sorted(range(self.points), key=numbers.__getitem__):
            if not left:
                break
            vector = self.coordinates(y)
            for x in [x for x, own in left.items() if not self.arithmetic.dot(own, vector)]:
                found[x] = numbers[y]
                del left[x]
        return found

    def mass_steps(self, inputs: int) -> int:
        """Steps of ``masses``, of so many inputs (SPEC 6.11)."""
        told = sum(used * self.firsts[free] for free, used in self._used(inputs))
        return 3 * told // 4 + 4 * self.points * len(list(self._used(inputs)))

    def _used(self, inputs: int) -> Iterator[tuple[int, int]]:
        """(f, how many inputs have f coordinates after their first that is not 0)."""
        for free in range(self.dimension):
            used = min(self.powers[free], inputs - self.firsts[free])
            if used <= 0:
                break
            yield free, used

    def masses(self, law: Sequence[int]) -> list[int]:
        """For each point the mass of the inputs orthogonal to it.

        An input with f coordinates after its leading 1 looks at no more than the last f + 1 of a point: the product
        is d + <rest, low>, with d the coordinate at its 1. So a table over (d, low) serves all points, and as points
        are vectors up to a factor, low need be looked at up to a factor only.

        Args:
            law: an integer for each input, the points from 0 on.
        """
        found = [0] * self.points
        for free, used in self._used(len(law)):
            first = self.firsts[free]
            table = self._told(free, law[first : first + used])
            size = self.powers[free + 1]
            # Points with as many coordinates after their first, or fewer, are numbers of the table; longer ones
            # repeat it.
            for length in range(self.dimension):
                start, count = self.firsts[length], self.powers[length]
                if length <= free:
                    part = table[count : 2 * count]
                    found[start : start + count] = map(add, found[start : start + count], part)
                else:
                    for at in range(start, start + count, size):
                        found[at : at + size] = map(add, found[at : at + size], table)
        return found

    def _told(self, free: int, law: Sequence[int]) -> list[int]:
        """[number of (d, low)]: the mass of the inputs (1, rest) of ``law`` with d + <rest, low> = 0."""
        q, size, times = self.order, self.powers[free], self.arithmetic.times
        table = [0] * self.powers[free + 1]
        table[0] = sum(law)  # low = 0 and d = 0; with d alone, no input
        # How many beginnings of f digits, of one digit more each time, the inputs have.
        begun = [-(-len(law) // self.powers[free - digits]) for digits in range(1, free + 1)]
        for place in range(self.firsts[free]):
            low = self._canonical(place, free)
            products = [0]
            for coordinate, most in zip(low, begun, strict=True):
                step = [times(coordinate, digit) for digit in range(min(q, most))]
                products = self.arithmetic.sums(products, step, most)
            sums = [0] * q
            for product, mass in zip(products, law, strict=True):
                sums[product] += mass
            # (d, low) times any factor that is not 0 is told by the same inputs.
            for factor in range(1, q):
                number = 0
                for coordinate in low:
                    number = number * q + times(factor, coordinate)
                against = self.arithmetic.minus(0, factor)
                for product, mass in enumerate(sums):
                    table[times(against, product) * size + number] = mass
        return table
