"""The points of a projective geometry, their numbers and their orthogonality (SPEC 5.4).

A point of PG(t-1, q) is a class of vectors with t coordinates that differ by a factor. The points orthogonal to a point
x are the set S_x = {y : <x, y> = 0}. All these sets have the same size, and the intersections of any two of them have
the same size: a symmetric design.

    K  = (q^t - 1) / (q - 1)          points
    cs = (q^(t-1) - 1) / (q - 1)      points of S_x
    ci = (q^(t-2) - 1) / (q - 1)      points of S_x and S_x', x' another point

In the canonical vector of a point, the first coordinate that is not 0 is 1. The point's number is computed from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import add

from protocol.channels.projective.field import FiniteField, field_of
from protocol.errors import ChannelError

MAX_POINTS = 2**24
"""Maximum number of points; the aggregator keeps one count for each point."""

MAX_DIMENSION = 24
"""Maximum dimension; above it even the field of two elements has more than ``MAX_POINTS`` points."""


@dataclass(frozen=True)
class ProjectiveGeometry:
    """The projective geometry of ``dimension`` coordinates over the field of ``order`` elements.

    Attributes:
        order: q, a prime below 2^20, or 4, 8 or 9.
        dimension: t, at least 2.
        arithmetic: the field, which adds and multiplies coordinates.
        point_count: K, at most 2^24.
        support: cs, the number of points orthogonal to a point.
        shared: ci, the number of points orthogonal to two different points.
        powers: the powers of q: 1, q, ..., q^t.
        firsts: entry f, for f = 0 .. t, counts the points with fewer than f coordinates after their leading 1. It is
            also the number of the first point with f such coordinates. The last two entries are cs and K.
    Raises:
        ChannelError: an attribute is invalid, or does not fit the others.
    """

    order: int
    dimension: int
    arithmetic: FiniteField = field(init=False, repr=False, compare=False)
    point_count: int = field(init=False, repr=False, compare=False)
    support: int = field(init=False, repr=False, compare=False)
    shared: int = field(init=False, repr=False, compare=False)
    powers: tuple[int, ...] = field(init=False, repr=False, compare=False)
    firsts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        arithmetic = field_of(self.order)
        if not 2 <= self.dimension <= MAX_DIMENSION:
            raise ChannelError(f"a projective channel must have 2 to {MAX_DIMENSION} coordinates, not {self.dimension}")
        powers = tuple(self.order**f for f in range(self.dimension + 1))
        firsts = (0, *accumulate(powers[:-1]))
        shared, support, points = firsts[-3:]
        if points > MAX_POINTS:
            raise ChannelError(f"a projective channel must have at most {MAX_POINTS} points, not {points}")
        derived = {"arithmetic": arithmetic, "point_count": points, "support": support, "shared": shared}
        for name, value in {**derived, "powers": powers, "firsts": firsts}.items():
            object.__setattr__(self, name, value)  # the dataclass is frozen

    def coordinates(self, point: int) -> tuple[int, ...]:
        """Return the canonical vector of a point: t coordinates below q; the first nonzero one is 1."""
        return self._canonical(point, self.dimension)

    def _canonical(self, point: int, length: int) -> tuple[int, ...]:
        """Return the ``point``-th canonical vector of ``length`` coordinates."""
        free = sum(point >= first for first in self.firsts[1:length])
        return self._digits(self.powers[free] + point - self.firsts[free], length)

    def _digits(self, number: int, length: int) -> tuple[int, ...]:
        """Return the last ``length`` digits of ``number`` in base q, the most significant first."""
        return tuple(number // self.powers[place] % self.order for place in reversed(range(length)))

    def point(self, vector: Sequence[int]) -> int:
        """Return the number of the point with the coordinates ``vector``: t field elements, not all 0."""
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
        """Return whether <x, y> = 0."""
        return self.arithmetic.dot(self.coordinates(x), self.coordinates(y)) == 0

    def sample(self, x: int, draw: int, inside: int, outside: int) -> int:
        """Return the output for a random draw: each point takes as many draws as its weight, first the points of S_x,
        then the others.

        Args:
            x: the input.
            draw: a random integer, below cs * inside + (K - cs) * outside.
            inside, outside: the weights, positive.
        """
        beyond = self.support * inside
        coordinates = self.coordinates(x)
        pivot = coordinates.index(1)
        # For constant time, both candidates are computed; the unused one is reduced to its range.
        near = self._canonical(draw // inside % self.support, self.dimension - 1)
        far = self._digits((draw - beyond) // outside, self.dimension - 1)
        orthogonal = self._completed(coordinates, pivot, near, 0)
        other = self._completed(coordinates, pivot, far, 1)
        return (other, orthogonal)[draw < beyond]

    def _completed(self, coordinates: Sequence[int], pivot: int, others: tuple[int, ...], product: int) -> int:
        """Return the point of the vector v with <coordinates, v> = ``product`` whose coordinates, without the one at
        ``pivot``, are ``others``.

        ``coordinates`` is 1 at ``pivot``, so exactly one value of v at ``pivot`` gives the product.
        """
        rest = (*coordinates[:pivot], *coordinates[pivot + 1 :])
        solved = self.arithmetic.minus(product, self.arithmetic.dot(rest, others))
        return self.point((*others[:pivot], solved, *others[pivot:]))

    def supported(self, x: int) -> Iterator[int]:
        """Yield the points of S_x in the order of their draws."""
        coordinates = self.coordinates(x)
        pivot = coordinates.index(1)
        for place in range(self.support):
            yield self._completed(coordinates, pivot, self._canonical(place, self.dimension - 1), 0)

    def distinguishing(self, x: int, other: int) -> int:
        """Return a point orthogonal to ``x`` and not to ``other``; it exists, because S_x and S_other share only ci of
        their cs points.

        e_c - x_c e_pivot is orthogonal to x for every c. If all of these were orthogonal to ``other``, ``other`` would
        be a multiple of x.
        """
        coordinates, other_coordinates = self.coordinates(x), self.coordinates(other)
        pivot = coordinates.index(1)
        times, minus = self.arithmetic.times, self.arithmetic.minus
        c = next(
            c
            for c in range(self.dimension)
            if minus(other_coordinates[c], times(coordinates[c], other_coordinates[pivot]))
        )
        vector = [0] * self.dimension
        vector[pivot], vector[c] = (
            minus(0, coordinates[c]),
            1,
        )  # at the pivot this difference is 0, so c is another coordinate
        return self.point(vector)

    def orthogonal_inputs(self, y: int, input_count: int) -> list[int]:
        """Return the points below ``input_count`` orthogonal to point ``y``, increasing; about two sums a point.

        Points with the same first coordinates share the sum of their products.
        """
        coordinates, points = self.coordinates(y), []
        for free, used in self._used(input_count):
            products = [coordinates[self.dimension - 1 - free]]
            for later, coordinate in zip(reversed(range(free)), coordinates[self.dimension - free :], strict=True):
                multiples = [self.arithmetic.times(coordinate, digit) for digit in range(self.order)]
                products = self.arithmetic.sums(products, multiples, -(-used // self.powers[later]))
            points += [self.firsts[free] + place for place, product in enumerate(products) if not product]
        return points

    def minima(self, inputs: Sequence[int], numbers: Sequence[int]) -> dict[int, int]:
        """Return, for each input, the smallest of ``numbers`` (one for each point) over the points orthogonal to the
        input.

        Points are visited in increasing order of ``numbers``. Each is orthogonal to about 1 / q of all points, so after
        a small multiple of q points few inputs are left without a minimum.
        """
        left, minima = {x: self.coordinates(x) for x in inputs}, {}
        for y in sorted(range(self.point_count), key=numbers.__getitem__):
            if not left:
                break
            vector = self.coordinates(y)
            for x in [x for x, coordinates in left.items() if not self.arithmetic.dot(coordinates, vector)]:
                minima[x] = numbers[y]
                del left[x]
        return minima

    def mass_steps(self, input_count: int) -> int:
        """Return the number of audit steps of ``masses`` for this number of inputs (SPEC 6.11)."""
        entries = sum(used * self.firsts[free] for free, used in self._used(input_count))
        return 3 * entries // 4 + 4 * self.point_count * len(list(self._used(input_count)))

    def _used(self, input_count: int) -> Iterator[tuple[int, int]]:
        """Yield (f, number of inputs with f coordinates after the first nonzero one)."""
        for free in range(self.dimension):
            used = min(self.powers[free], input_count - self.firsts[free])
            if used <= 0:
                break
            yield free, used

    def masses(self, prior: Sequence[int]) -> list[int]:
        """Return, for each point, the prior mass of the inputs orthogonal to it: K integers, exact.

        For an input with f coordinates ``rest`` after its leading 1, the product with a point depends only on the last
        f + 1 coordinates (d, low) of the point: it is d + <rest, low>. So one table over (d, low) serves all points.
        The entries of all nonzero multiples of (d, low) are equal, so only one of them is computed.

        Args:
            prior: the weight of each input, an integer; the inputs are the points from 0 on.
        """
        masses = [0] * self.point_count
        for free, used in self._used(len(prior)):
            first = self.firsts[free]
            table = self._mass_table(free, prior[first : first + used])
            size = self.powers[free + 1]
            # The masses of points with at most ``free`` coordinates after the leading 1 are entries of the table. For
            # points with more coordinates, the table repeats.
            for length in range(self.dimension):
                start, count = self.firsts[length], self.powers[length]
                if length <= free:
                    part = table[count : 2 * count]
                    masses[start : start + count] = map(add, masses[start : start + count], part)
                else:
                    for offset in range(start, start + count, size):
                        masses[offset : offset + size] = map(add, masses[offset : offset + size], table)
        return masses

    def _mass_table(self, free: int, prior: Sequence[int]) -> list[int]:
        """Return, for each (d, low) by its number, the mass of the inputs (1, rest) with d + <rest, low> = 0."""
        q, size, times = self.order, self.powers[free], self.arithmetic.times
        # If all coordinates of a point are used, its first one is 0 or 1, so no other d is needed.
        width = q if free < self.dimension - 1 else 2
        table = [0] * (width * size)
        # At (0, 0) the condition holds for every input, and at (d, 0) for none.
        table[0] = sum(prior)
        # The number of different prefixes of the inputs, for each length from 1 to ``free``.
        prefix_counts = [-(-len(prior) // self.powers[free - digits]) for digits in range(1, free + 1)]
        for place in range(self.firsts[free]):
            low = self._canonical(place, free)
            products = [0]
            for coordinate, prefix_count in zip(low, prefix_counts, strict=True):
                step = [times(coordinate, digit) for digit in range(min(q, prefix_count))]
                products = self.arithmetic.sums(products, step, prefix_count)
            sums = [0] * q
            for product, mass in zip(products, prior, strict=True):
                sums[product] += mass
            # All nonzero multiples of (d, low) are orthogonal to the same inputs.
            for factor in range(1, q):
                number = 0
                for coordinate in low:
                    number = number * q + times(factor, coordinate)
                share = self.arithmetic.inverse(self.arithmetic.minus(0, factor))
                for d in range(width):
                    table[d * size + number] = sums[times(share, d)]
        return table
