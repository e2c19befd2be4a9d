"""Pairs: answer with two inputs, the best there is where k is about two and a half e^eps (SPEC 5.10).

One idea: subset selection with sets of two, where a set is told by its number instead of k bits. A pair that holds the
own input is likelier than one that does not, by one and the same factor; there are k (k - 1) / 2 pairs, so an output
takes about 2 log2 k - 1 bits, and reports are counted by pair (Ye, Barg 2018, with d = 2).

The pair i < j has the number j (j - 1) / 2 + i: pairs are counted by their larger input, then by their smaller one. As
in subset selection, no two whole weights need fill a row of 2^128 exactly, and the remainder goes to the last pair
without the own input. There it brings an outside weight nearer to the inside one, and the worst ratio is shown by
other pairs as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import comb, isqrt
from typing import ClassVar

from protocol import codec
from protocol.channels.channel import Channel, Loss
from protocol.errors import ChannelError

PAIRS_SCALE = 128
ONE = 1 << PAIRS_SCALE
WEIGHT_BYTES = 16
MAX_INPUTS = 2**12
"""Whoever counts reports holds a number for each pair."""


@dataclass(frozen=True)
class Pairs(Channel):
    """Q(y given x) = inside / 2^128 for the pairs that hold x, outside / 2^128 for the others.

    The last of the others has outside + remainder.

    Attributes:
        inputs: k, 3 .. 4096.
        outside: the weight of a pair without the own input; positive and below ``inside``.
        outputs: the number of pairs.
        inside: the weight of a pair with the own input, as large as the others leave.
        remainder: what is then left: below k - 1 and at most inside - outside, and of three inputs, where only one pair
            is without the own one, 0.
        lacking: how many pairs are without an input; k - 1 have it.
    """

    inputs: int
    outside: int
    outputs: int = field(init=False, repr=False, compare=False)
    inside: int = field(init=False, repr=False, compare=False)
    remainder: int = field(init=False, repr=False, compare=False)
    lacking: int = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "pairs"

    def __post_init__(self) -> None:
        if not 3 <= self.inputs <= MAX_INPUTS:
            raise ChannelError(f"a pairs channel has 3 to {MAX_INPUTS} inputs, not {self.inputs}")
        lacking = comb(self.inputs - 1, 2)
        inside, remainder = divmod(ONE - lacking * self.outside, self.inputs - 1)
        if not 0 < self.outside < inside:
            raise ChannelError("the outside weight of a pairs channel is positive and below the inside weight")
        if remainder > inside - self.outside:
            raise ChannelError("the remainder would make a pair without the own input likelier than one with it")
        if lacking == 1 and remainder:
            raise ChannelError("where only one pair lacks the own input, its weight must leave no remainder")
        derived = {"outputs": comb(self.inputs, 2), "inside": inside, "remainder": remainder, "lacking": lacking}
        for name, number in derived.items():
            object.__setattr__(self, name, number)  # frozen for everybody else

    @property
    def scale(self) -> int:
        return PAIRS_SCALE

    @property
    def rand_bytes(self) -> int:
        return PAIRS_SCALE // 8

    def weight(self, x: int, y: int) -> int:
        if x in pair_of(y):
            return self.inside
        return self.outside + (self.remainder if y == self._last(x) else 0)

    def _last(self, x: int) -> int:
        """The pair of the largest number without ``x``: the last two of the other inputs."""
        larger = self.inputs - 1 - (x == self.inputs - 1)
        smaller = larger - 1 - (x == larger - 1)
        return number_of(smaller, larger)

    def sample(self, x: int, rand: bytes) -> int:
        self._require_draw(x, rand)
        draw = int.from_bytes(rand, "big")
        beyond = (self.inputs - 1) * self.inside
        # Both pairs are made whichever it will be; the bounds keep the one that is not taken in its range.
        partner = draw // self.inside % (self.inputs - 1)
        partner += partner >= x  # counted without x
        own = number_of(min(partner, x), max(partner, x))
        smaller, larger = pair_of(min(max(draw - beyond, 0) // self.outside, self.lacking - 1))
        other = number_of(smaller + (smaller >= x), larger + (larger >= x))
        return (other, own)[draw < beyond]

    def loss(self, first: Sequence[int], second: Sequence[int]) -> Loss:
        pair = next(((x, other) for x in first for other in second if x != other), None)
        if pair is None:
            return Loss(1, 1, first[0], second[0], 0)
        # No weight exceeds ``inside``. The pair of x and the least input besides the two shows the ratio: it holds the
        # least of the inputs besides x', and from k = 4 the last pair without x' does not. Where k = 3 it is that
        # pair, and there is no remainder.
        x, other = pair
        least = next(member for member in range(3) if member not in pair)
        return Loss(self.inside, self.outside, x, other, number_of(min(x, least), max(x, least)))

    def loss_against_prior(self, prior: Sequence[int]) -> Loss:
        """The worst lift, without a walk through all pairs.

            2^128 P(i, j) = outside + (inside - outside) (P(i) + P(j)) + remainder * P(the x whose last pair this is)

        Last pairs are of the last three inputs, and looked at one by one. Of the others, the one of least mass has the
        largest lift of an input that it holds, the one of most mass the least lift of one that it does not.
        """
        last = range(self.inputs - 3, self.inputs)
        outputs = {number_of(smaller, larger) for larger in last for smaller in last if smaller < larger}
        rarest_first = sorted(range(self.inputs), key=prior.__getitem__)
        for ranked in (rarest_first, rarest_first[::-1]):
            before = next((x for x in ranked if x not in last), None)
            if before is not None:  # every other pair holds an input before the last three
                partner = next(x for x in ranked if x != before)
                outputs.add(number_of(min(before, partner), max(before, partner)))
        total = sum(prior)
        worst = Loss(1, 1, 0, None, 0)
        for y in sorted(outputs):
            column = [self.weight(x, y) for x in range(self.inputs)]
            marginal = sum(p * q for p, q in zip(prior, column, strict=True))
            largest, smallest = max(column), min(column)
            for candidate in (
                Loss(largest * total, marginal, column.index(largest), None, y),
                Loss(marginal, smallest * total, column.index(smallest), None, y),
            ):
                if candidate.worse_than(worst):
                    worst = candidate
        return worst

    def encode(self) -> codec.Value:
        return [self.family, self.inputs, self.outside.to_bytes(WEIGHT_BYTES, "big")]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Pairs:
        _, inputs, outside = codec.fields(value, 3, "a pairs channel", ChannelError)
        return cls(
            codec.integer(inputs, "a channel's number of inputs", ChannelError, 3, MAX_INPUTS),
            int.from_bytes(codec.octets(outside, "the outside weight", ChannelError, WEIGHT_BYTES), "big"),
        )


def number_of(smaller: int, larger: int) -> int:
    """The number of a pair."""
    return larger * (larger - 1) // 2 + smaller


def pair_of(number: int) -> tuple[int, int]:
    """The pair of a number, the smaller input first: j is the largest with j (j - 1) / 2 <= number."""
    larger = (1 + isqrt(8 * number + 1)) // 2
    return number - larger * (larger - 1) // 2, larger
