"""Projective geometry response: near the least error at every level, in little more than log2 k bits (SPEC 5.4).

The inputs are points of the projective space PG(t-1, q), and so are the outputs. An input x is a little
likelier to answer with one of the points orthogonal to it, S_x = {y : <x, y> = 0}, than with any other. All S_x are of
one size and any two of them meet in one number of points, so no pair of inputs is told apart worse than another
(Feldman, Nelson, Nguyen, Talwar 2022). The field's order q, a prime, is about 1 over the part of all outputs that an
input prefers; the best part is 1 / (e^eps + 1).

    K  = (q^t - 1) / (q - 1)          points
    cs = (q^(t-1) - 1) / (q - 1)      points of S_x
    ci = (q^(t-2) - 1) / (q - 1)      points of S_x and S_x', x' another input

A point is a vector up to a factor; its canonical one has 1 as the first coordinate that is not 0, and numbers follow
from it by arithmetic. The paper draws by rejection. Here the two weights are chosen so that a row sums to exactly
2^128, and one draw names a point: K - cs = q^(t-1) is 1 modulo cs, so some weight within cs of any other will do.

Where K exceeds k, the points from k on are outputs that are no input's own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import add
from typing import ClassVar

from protocol import codec
from protocol.channels.channel import PAIR_STEPS, Loss
from protocol.channels.support import ONE, SupportChannel, outside_from_wire
from protocol.domain import MAX_VALUES
from protocol.errors import ChannelError

MAX_ORDER = 2**20
MAX_POINTS = 2**24
"""Whoever counts reports holds a number for each point."""

MAX_DIMENSION = 24
"""Above it even the field of two elements has too many points."""


@dataclass(frozen=True)
class ProjectiveGeometry(SupportChannel):
    """Q(y given x) = inside / 2^128 where <x, y> = 0, outside / 2^128 elsewhere.

    Attributes:
        inputs: k.
        order: q, a prime below 2^20.
        dimension: t, from 2.
        outside: the weight of one output that is not orthogonal to the input; positive, below ``inside``, and equal to
            2^128 modulo cs.
        outputs: K; at least k, at most 2^24.
        support: cs.
        shared: ci.
        inside: the weight of one output that is orthogonal to the input.
        powers: 1, q, ..., q^t.
        firsts: how many points have fewer than f coordinates after their first that is not 0, for f = 0 .. t: the
            number of the first point that has f. cs and K are the last two.
    """

    inputs: int
    order: int
    dimension: int
    outside: int
    outputs: int = field(init=False, repr=False, compare=False)
    support: int = field(init=False, repr=False, compare=False)
    shared: int = field(init=False, repr=False, compare=False)
    inside: int = field(init=False, repr=False, compare=False)
    powers: tuple[int, ...] = field(init=False, repr=False, compare=False)
    firsts: tuple[int, ...] = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "projective"

    def __post_init__(self) -> None:
        if not 2 <= self.inputs <= MAX_VALUES:
            raise ChannelError(f"a channel has 2 to {MAX_VALUES} inputs, not {self.inputs}")
        if not (self.order < MAX_ORDER and is_prime(self.order)):
            raise ChannelError(f"the order of a projective channel's field is a prime below {MAX_ORDER}")
        if not 2 <= self.dimension <= MAX_DIMENSION:
            raise ChannelError(f"a projective channel has 2 to {MAX_DIMENSION} coordinates, not {self.dimension}")
        powers = tuple(self.order**f for f in range(self.dimension + 1))
        firsts = (0, *accumulate(powers[:-1]))
        shared, support, points = firsts[-3:]
        if not self.inputs <= points <= MAX_POINTS:
            raise ChannelError(f"{self.inputs} inputs need as many points and at most {MAX_POINTS}, not {points}")
        inside, rest = divmod(ONE - (points - support) * self.outside, support)
        if rest or not 0 < self.outside < inside:
            raise ChannelError(
                "the outside weight of a projective channel is positive, below the inside weight, and makes a row sum "
                "to exactly 2^128"
            )
        self._derive(outputs=points, support=support, shared=shared, inside=inside, powers=powers, firsts=firsts)

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

    def _point(self, vector: Sequence[int]) -> int:
        """The number of the point that ``vector``, t coordinates below q and not all 0, belongs to."""
        lead = 0
        for coordinate in reversed(vector):
            lead = coordinate or lead
        factor = pow(lead, -1, self.order)
        number = 0
        for coordinate in vector:
            number = number * self.order + coordinate * factor % self.order
        free = sum(number >= power for power in self.powers[1:-1])
        return number - self.powers[free] + self.firsts[free]

    def _completed(self, own: Sequence[int], pivot: int, others: tuple[int, ...], product: int) -> int:
        """The point of the vector that is ``others`` around the coordinate ``pivot``, and has ``product`` with ``own``.

        ``own`` is 1 at ``pivot``, so there is exactly one.
        """
        rest = (*own[:pivot], *own[pivot + 1 :])
        solved = (product - sum(mine * other for mine, other in zip(rest, others, strict=True))) % self.order
        return self._point((*others[:pivot], solved, *others[pivot:]))

    def weight(self, x: int, y: int) -> int:
        return self.inside if self._orthogonal(x, y) else self.outside

    def _orthogonal(self, x: int, y: int) -> bool:
        product = sum(mine * other for mine, other in zip(self.coordinates(x), self.coordinates(y), strict=True))
        return product % self.order == 0

    def sample(self, x: int, rand: bytes) -> int:
        self._require_draw(x, rand)
        draw = int.from_bytes(rand, "big")
        beyond = self.support * self.inside
        own = self.coordinates(x)
        pivot = own.index(1)
        # Both points are made whichever it will be; the remainders only keep the one that is not taken in its range.
        near = self._canonical(draw // self.inside % self.support, self.dimension - 1)
        far = self._digits((draw - beyond) // self.outside, self.dimension - 1)
        orthogonal = self._completed(own, pivot, near, 0)
        other = self._completed(own, pivot, far, 1)
        return (other, orthogonal)[draw < beyond]

    def _supported(self, x: int) -> Iterator[int]:
        """The points of S_x, in the order of the draws that name them."""
        own = self.coordinates(x)
        pivot = own.index(1)
        for place in range(self.support):
            yield self._completed(own, pivot, self._canonical(place, self.dimension - 1), 0)

    def preferred(self, x: int) -> int:
        """An output that input ``x`` prefers."""
        return next(self._supported(x))

    def _telling(self, x: int, other: int) -> int:
        """A point orthogonal to ``x`` and not to ``other``: S_x and S_x', of one size, share ci < cs points.

        e_c - x_c e_pivot is orthogonal to x for every c. Were all of them to ``other`` too, it would be a multiple.
        """
        own, against = self.coordinates(x), self.coordinates(other)
        pivot = own.index(1)
        c = next(c for c in range(self.dimension) if (against[c] - own[c] * against[pivot]) % self.order)
        vector = [0] * self.dimension
        vector[pivot], vector[c] = -own[c] % self.order, 1  # c is not the pivot, where the difference is 0
        return self._point(vector)

    @property
    def prior_steps(self) -> int:
        told = sum(used * self.firsts[free] for free, used in self._used())
        return 3 * told // 4 + 4 * self.outputs * len(list(self._used()))

    def pair_steps(self, first: Sequence[int], second: Sequence[int]) -> int:
        return 2 * PAIR_STEPS  # up to 24 coordinates are worked out for the witness

    def _used(self) -> Iterator[tuple[int, int]]:
        """(f, how many inputs have f coordinates after their first that is not 0)."""
        for free in range(self.dimension):
            used = min(self.powers[free], self.inputs - self.firsts[free])
            if used <= 0:
                break
            yield free, used

    def masses(self, law: Sequence[int]) -> list[int]:
        """For each output the mass of the inputs orthogonal to it.

        An input with f coordinates after its leading 1 looks at no more than the last f + 1 of an output: the product
        is d + <rest, low>, with d the coordinate at its 1. So a table over (d, low) serves all outputs, and as outputs
        are points, low need be looked at up to a factor only.

        Args:
            law: ``inputs`` integers.
        """
        found = [0] * self.outputs
        for free, used in self._used():
            first = self.firsts[free]
            table = self._told(free, law[first : first + used])
            size = self.powers[free + 1]
            # Outputs with as many coordinates after their first, or fewer, are numbers of the table; longer ones
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
        q, size = self.order, self.powers[free]
        table = [0] * self.powers[free + 1]
        table[0] = sum(law)  # low = 0 and d = 0; with d alone, no input
        # How many beginnings of f digits, of one digit more each time, the inputs have.
        begun = [-(-len(law) // self.powers[free - digits]) for digits in range(1, free + 1)]
        for place in range(self.firsts[free]):
            low = self._canonical(place, free)
            products = [0]
            for coordinate, most in zip(low, begun, strict=True):
                step = [coordinate * digit % q for digit in range(min(q, most))]
                products = [(product + more) % q for product in products for more in step][:most]
            sums = [0] * q
            for product, mass in zip(products, law, strict=True):
                sums[product] += mass
            # (d, low) times any factor that is not 0 is told by the same inputs.
            for factor in range(1, q):
                number = 0
                for coordinate in low:
                    number = number * q + factor * coordinate % q
                for product, mass in enumerate(sums):
                    table[-factor * product % q * size + number] = mass
        return table

    def loss_against_prior(self, prior: Sequence[int]) -> Loss:
        """The worst lift, from the prior mass of the inputs orthogonal to each output.

            2^128 P(y) = outside + (inside - outside) mass[y],   mass[y] = sum of P(x) over x with <x, y> = 0

        So the rarest output lifts its inputs most, and the likeliest lowers the others most.
        """
        mass = self.masses(prior)
        total = sum(prior)
        # Weights are positive: an output of no mass is preferred by nobody, one of all mass by everybody.
        rarest = min((y for y in range(self.outputs) if mass[y]), key=mass.__getitem__)
        likeliest = max((y for y in range(self.outputs) if mass[y] < total), key=mass.__getitem__)
        gap = self.inside - self.outside
        told = next(x for x in range(self.inputs) if self._orthogonal(x, rarest))
        denied = next(x for x in range(self.inputs) if not self._orthogonal(x, likeliest))
        up = Loss(self.inside * total, self.outside * total + gap * mass[rarest], told, None, rarest)
        down = Loss(self.outside * total + gap * mass[likeliest], self.outside * total, denied, None, likeliest)
        return down if down.worse_than(up) else up

    def encode(self) -> codec.Value:
        return [self.family, self.inputs, self.order, self.dimension, self._outside_on_wire()]

    @classmethod
    def from_wire(cls, value: codec.Value) -> ProjectiveGeometry:
        _, inputs, order, dimension, outside = codec.fields(value, 5, "a projective channel", ChannelError)
        return cls(
            codec.integer(inputs, "a channel's number of inputs", ChannelError, 2, MAX_VALUES),
            codec.integer(order, "the order of a field", ChannelError, 2, MAX_ORDER),
            codec.integer(dimension, "the number of coordinates", ChannelError, 2, MAX_DIMENSION),
            outside_from_wire(outside),
        )


def is_prime(number: int) -> bool:
    """Whether ``number`` has no divisor besides 1 and itself, by trying them: for numbers of 20 bits or so."""
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))
