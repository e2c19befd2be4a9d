"""Subset selection: the output is a set of d inputs, with d at least 2 (SPEC 5.5).

An output is a vector of k bits with exactly d ones, which represents a set of inputs. Every set that contains the true
input is more likely than the other sets by the same factor. If all values are equally frequent, no LDP channel of the
same level has a smaller error than subset selection with the best d (Ye, Barg 2018; Wang et al. 2016), but an output
takes k bits. The best d is near k / (e^eps + 1). Subset selection with d = 1 is randomised response, which has a
family of its own.

Sets are numbered by the combinatorial number system, in the order of their vectors as integers. Sometimes no two
integer weights fill a row of 2^128 exactly; then the last set without the true input gets the remainder. This moves an
outside weight towards the inside weight, so the worst ratio does not grow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import ClassVar

from protocol import codec
from protocol.channels.channel import Loss
from protocol.channels.support import SupportChannel, outside_from_wire, shared_out
from protocol.errors import ChannelError

MAX_SUBSET_INPUTS = 62
"""Maximum number of inputs: an output fits in 64 bits."""


@dataclass(frozen=True)
class SubsetSelection(SupportChannel):
    """Subset selection: Q(y given x) is inside / 2^128 for the vectors of d ones with bit x set, else outside / 2^128.

    The last vector of d ones without bit x has the weight outside + remainder.

    Attributes:
        input_count: k, at most 62. Bit x of an output is counted from the most significant.
        ones: d, the number of inputs in a set; above 1 and below k.
        outside: the weight of a set without the true input; positive and below ``inside``.
        inside: the weight of a set with the true input: the largest that the outside weights allow.
        remainder: 2^128 minus the sum of the inside and outside weights of all outputs; below ``support`` and at most
            inside - outside, and 0 if ``complement`` is 1.
        support, complement: the number of sets with and without a given input.
    Raises:
        ChannelError: an attribute is invalid, or does not fit the others.
    """

    input_count: int
    # Without ``field()``, the dataclass would take the base class's None as the default.
    ones: int = field()
    outside: int
    output_count: int = field(init=False, repr=False, compare=False)
    inside: int = field(init=False, repr=False, compare=False)
    remainder: int = field(init=False, repr=False, compare=False)
    support: int = field(init=False, repr=False, compare=False)
    complement: int = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "subset"
    unary: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 3 <= self.input_count <= MAX_SUBSET_INPUTS:
            raise ChannelError(f"subset selection must have 3 to {MAX_SUBSET_INPUTS} inputs, not {self.input_count}")
        if not 1 < self.ones < self.input_count:
            raise ChannelError(
                f"an output must be a set of 2 to {self.input_count - 1} of the {self.input_count} inputs, not of "
                f"{self.ones}"
            )
        support, complement = comb(self.input_count - 1, self.ones - 1), comb(self.input_count - 1, self.ones)
        inside, remainder = shared_out(self.outside, support, complement, "set")
        if complement == 1 and remainder:
            raise ChannelError(
                f"the weights leave a remainder of {remainder}, and only one set lacks the true input: choose weights "
                "without a remainder"
            )
        self._derive(
            output_count=1 << self.input_count,
            inside=inside,
            remainder=remainder,
            support=support,
            complement=complement,
        )

    def weight(self, x: int, y: int) -> int:
        if not self.emits(y):
            return 0
        if y & self._bit(x):
            return self.inside
        return self.outside + (self.remainder if y == self._last(x) else 0)

    def _bit(self, x: int) -> int:
        return 1 << (self.input_count - 1 - x)

    def _vector(self, members: Iterable[int]) -> int:
        return sum(self._bit(x) for x in members)

    def _last(self, x: int) -> int:
        """Return the largest bit vector without ``x``: the set of the first d other inputs."""
        return self._vector([other for other in range(self.ones + 1) if other != x][: self.ones])

    def _nth(self, place: int, ones: int) -> int:
        """Return the ``place``-th vector of k - 1 bits with ``ones`` ones, in increasing order (combinatorial number
        system)."""
        word = 0
        for position in reversed(range(self.input_count - 1)):
            vectors_below = comb(position, ones)
            is_set = place >= vectors_below
            place -= vectors_below * is_set
            ones -= is_set
            word |= is_set << position
        return word

    def _with_bit(self, word: int, x: int, bit: int) -> int:
        """Return a bit vector of the other inputs with the bit of ``x`` inserted."""
        position = self.input_count - 1 - x
        return (word >> position) << (position + 1) | bit << position | word & ((1 << position) - 1)

    def sample(self, x: int, rand: bytes) -> int:
        self._require_draw(x, rand)
        draw = int.from_bytes(rand, "big")
        beyond = self.support * self.inside
        # For constant time, both candidates are computed; the bounds keep the unused one within its range.
        place = min(max(draw - beyond, 0) // self.outside, self.complement - 1)
        own_set = self._with_bit(self._nth(draw // self.inside % self.support, self.ones - 1), x, 1)
        other = self._with_bit(self._nth(place, self.ones), x, 0)
        return (other, own_set)[draw < beyond]

    def _distinguishing(self, x: int, other: int) -> int:
        # The set contains x and not x'. It is not the last set without x', which may have a remainder: sets of late
        # inputs come first in the order of sets. For d = k - 1 there is only one set without x', and the remainder
        # is 0.
        rest = [member for member in reversed(range(self.input_count)) if member not in (x, other)]
        return self._vector([x, *rest[: self.ones - 1]])

    @property
    def prior_steps(self) -> int:
        return 16 * self.input_count**2

    def loss_against_prior(self, prior: Sequence[int]) -> Loss:
        """Return the worst lift, without visiting all sets.

            2^128 P(y) = outside + (inside - outside) mass[y] + remainder * prior mass of the x whose last set is y

        The sets with a remainder lie within the first d + 1 inputs and are computed one by one. Among the other sets,
        the one of least mass has the largest lift, for an input that it contains. The one of largest mass has the
        smallest lift, for an input that it does not contain.
        """
        first = range(self.ones + 1)
        sets = [tuple(x for x in first if x != left_out) for left_out in first]
        rarest_first = sorted(range(self.input_count), key=prior.__getitem__)
        for ranked in (rarest_first, rarest_first[::-1]):
            beyond = next((x for x in ranked if x not in first), None)
            # The sets within the first d + 1 inputs are listed above; every other set contains a later input.
            if beyond is not None:
                sets.append((beyond, *[x for x in ranked if x != beyond][: self.ones - 1]))
        return self._worst_lift(prior, map(self._vector, sets))

    def encode(self) -> codec.Value:
        return [self.family, self.input_count, self.ones, self._outside_on_wire()]

    @classmethod
    def from_wire(cls, value: codec.Value) -> SubsetSelection:
        _, inputs, ones, outside = codec.fields(value, 4, "a subset channel", ChannelError)
        return cls(
            codec.integer(inputs, "a channel's number of inputs", ChannelError, 3, MAX_SUBSET_INPUTS),
            codec.integer(ones, "the size of a set", ChannelError, 2, MAX_SUBSET_INPUTS),
            outside_from_wire(outside),
        )
