"""Triples: the output is a set of three inputs; the error is near the minimum if k is about 3 (e^eps + 1) (SPEC 5.10).

Any two points of a Steiner triple system lie in exactly one of its triples. So the triples that contain the true input
can be more likely than the others by one factor, and every other input is in the same number of them. The error is that
of subset selection with sets of three, on v(v - 1) / 6 outputs in place of all v(v - 1)(v - 2) / 6 sets (Ye, Barg 2018,
with d = 3; Bose 1939).

Bose's system is written so that triples and points are found by arithmetic alone. The v = 3 n points, n odd, lie on
three rings of n places: point ``ring * n + place``. A triple is given by a place b and an orbit, the n triples that
shifts of the places turn into each other. In orbit 0 it has the three points at place b. In orbit ``ring * t + d``,
with d = 1 .. t = (n - 1) / 2, it has the points of this ring that are d places before and after b, and the point at
place b of the next ring. Its number is ``orbit * n + b``. The system stays the same if all places, or all rings,
increase by one. So every point is in equally many triples: cs = 3 t + 1, the number of orbits.

If cs does not divide 2^128, the first triple without the true input gets the remainder of a row. This moves an outside
weight towards the inside weight, so the worst ratio does not grow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from protocol import codec
from protocol.channels.channel import Loss
from protocol.channels.support import SupportChannel, outside_from_wire, shared_out
from protocol.errors import ChannelError

MAX_TRIPLES_INPUTS = 4095
"""Maximum number of inputs, below 2^12; the aggregator keeps one count for each triple."""


def ring_size_for(input_count: int) -> int:
    """Return n, the number of places of a ring: the least odd number with n >= 3 and 3 n >= k."""
    return max(-(-input_count // 3) | 1, 3)


@dataclass(frozen=True)
class Triples(SupportChannel):
    """Triples: Q(y given x) = inside / 2^128 for the triples that contain x, outside / 2^128 for the others.

    The first triple without x has the weight outside + remainder.

    Attributes:
        input_count: k, 2 .. 4095. Input x is point x; the system has up to seven more points.
        outside: the weight of a triple without the true input; positive and below ``inside``.
        output_count: K = n cs, the number of triples.
        ring_size: n, the number of places of a ring.
        largest_distance: t, the largest distance of two places of a ring.
        support: cs, the number of triples that contain an input.
        inside: the weight of a triple with the true input: the largest that the outside weights allow.
        remainder: 2^128 minus the sum of the inside and outside weights of all outputs; below cs and at most inside -
            outside.
    Raises:
        ChannelError: an attribute is invalid, or does not fit the others.
    """

    input_count: int
    outside: int
    output_count: int = field(init=False, repr=False, compare=False)
    ring_size: int = field(init=False, repr=False, compare=False)
    largest_distance: int = field(init=False, repr=False, compare=False)
    support: int = field(init=False, repr=False, compare=False)
    inside: int = field(init=False, repr=False, compare=False)
    remainder: int = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "triples"

    def __post_init__(self) -> None:
        if not 2 <= self.input_count <= MAX_TRIPLES_INPUTS:
            raise ChannelError(f"a triples channel must have 2 to {MAX_TRIPLES_INPUTS} inputs, not {self.input_count}")
        ring_size = ring_size_for(self.input_count)
        largest_distance = ring_size // 2
        support = 3 * largest_distance + 1
        inside, remainder = shared_out(self.outside, support, (ring_size - 1) * support, "triple")
        self._derive(
            output_count=ring_size * support,
            ring_size=ring_size,
            largest_distance=largest_distance,
            support=support,
            inside=inside,
            remainder=remainder,
        )

    def members(self, y: int) -> tuple[int, int, int]:
        """Return the three points of a triple."""
        n = self.ring_size
        orbit, b = divmod(y, n)
        if orbit == 0:
            return b, n + b, 2 * n + b
        ring, d = divmod(orbit - 1, self.largest_distance)
        return ring * n + (b - d - 1) % n, ring * n + (b + d + 1) % n, (ring + 1) % 3 * n + b

    def _nth_with(self, x: int, place: int) -> int:
        """Return the ``place``-th of the cs triples with ``x``.

        They are ordered: the triple of orbit 0, then the triples with x as the point at b, then those with x as one of
        the other two points.
        """
        ring, a = divmod(x, self.ring_size)
        steps_to_b = max(place - self.largest_distance, 0)
        as_third = (ring + 2) % 3 * self.largest_distance + place
        as_one_of_two = ring * self.largest_distance + min(steps_to_b, self.ring_size - steps_to_b)
        orbit = (0, as_third, as_one_of_two)[(place > 0) + (steps_to_b > 0)]
        return orbit * self.ring_size + (a + steps_to_b) % self.ring_size

    def _nth_without(self, x: int, place: int) -> int:
        """Return the ``place``-th of the (n - 1) cs triples without ``x``.

        They are ordered by orbit, and within an orbit by b, without the place of x. For each distance on the ring of x,
        two of these triples contain x. They are replaced by two triples with b at the place of x, which do not contain
        x.
        """
        ring, a = divmod(x, self.ring_size)
        orbit, b = divmod(place, self.ring_size - 1)
        b += b >= a
        paired, d = divmod(orbit - 1, self.largest_distance)  # in orbit 0 ``paired`` is -1 and equals no ring
        x_before = paired == ring and (b - a) % self.ring_size == d + 1
        x_after = paired == ring and (a - b) % self.ring_size == d + 1
        on_next = (ring + 1) % 3 * self.largest_distance + d + 1
        return (orbit, on_next)[x_after] * self.ring_size + (b, a)[x_before or x_after]

    def _first(self, x: int) -> int:
        """Return the first triple without ``x``: triple 0, or triple 1 if x is in triple 0."""
        return int(x % self.ring_size == 0)

    def weight(self, x: int, y: int) -> int:
        if x in self.members(y):
            return self.inside
        return self.outside + (self.remainder if y == self._first(x) else 0)

    def sample(self, x: int, rand: bytes) -> int:
        self._require_draw(x, rand)
        draw = int.from_bytes(rand, "big")
        beyond = self.support * self.inside
        # For constant time, both candidates are computed; the bounds keep the unused one within its range.
        own_triple = self._nth_with(x, draw // self.inside % self.support)
        other = self._nth_without(x, max(draw - beyond - self.remainder, 0) // self.outside)
        return (other, own_triple)[draw < beyond]

    def _distinguishing(self, x: int, other: int) -> int:
        # Two triples with x share no other point, so one of them does not contain x'. Neither triple is in orbit 0,
        # and only triples of orbit 0 have remainders.
        return next(y for y in (self._nth_with(x, 1), self._nth_with(x, 2)) if other not in self.members(y))

    @property
    def prior_steps(self) -> int:
        return self.output_count + 64 * self.input_count

    def loss_against_prior(self, prior: Sequence[int]) -> Loss:
        """Return the worst lift, from the prior mass of the three points of each triple, in K steps.

            2^128 P(y) = outside + (inside - outside) mass[y] + remainder * prior mass of the x with first(x) = y

        Only triples 0 and 1 have remainders; they are computed one by one. Among the other triples, the one of
        least mass has the largest lift, for an input that it contains. The one of largest mass has the smallest lift,
        for an input that it does not contain.
        """
        return self._worst_lift(prior, sorted({0, 1, *self.extremes(prior)}))

    def extremes(self, prior: Sequence[int]) -> tuple[int, int]:
        """Return the triples with the least and the most prior mass, among those without a remainder; 0 if there are
        no such triples.

        A triple without any input, or one that contains all inputs, changes no posterior and is skipped.
        """
        total = sum(prior)
        rarest = most_frequent = 0
        smallest, largest = total, 0
        for y, mass in enumerate(self._masses(prior)):
            if y > 1 and 0 < mass < smallest:
                smallest, rarest = mass, y
            if y > 1 and largest < mass < total:
                largest, most_frequent = mass, y
        return rarest, most_frequent

    def _masses(self, prior: Sequence[int]) -> Iterator[int]:
        """Yield the prior mass of each triple, in order."""
        n = self.ring_size
        points = [*prior, *[0] * (3 * n - self.input_count)]
        rings = [points[start : start + n] for start in (0, n, 2 * n)]
        yield from map(sum, zip(*rings, strict=True))
        for ring, after in zip(rings, [*rings[1:], rings[0]], strict=True):
            around = ring * 2
            for d in range(1, self.largest_distance + 1):
                yield from map(sum, zip(around[n - d : 2 * n - d], around[d : d + n], after, strict=True))

    def encode(self) -> codec.Value:
        return [self.family, self.input_count, self._outside_on_wire()]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Triples:
        _, inputs, outside = codec.fields(value, 3, "a triples channel", ChannelError)
        return cls(
            codec.integer(inputs, "a channel's number of inputs", ChannelError, 2, MAX_TRIPLES_INPUTS),
            outside_from_wire(outside),
        )
