"""A vector of independent bits, one for each input (SPEC 5.6).

The bit of the true input x is 1 with probability a_x, and the bit of every other input x' with probability b_x' < a_x'.
All bits are independent. So the probabilities of a vector for two inputs differ only by the factors of these two bits,

    max over y of Q(y|x) / Q(y|x') = [a_x / b_x] [(1 - b_x') / (1 - a_x')]     (Gu et al. 2020, eq. 5)

and the maximum is reached by the vector in which only x's bit is 1. The published mechanisms differ only in a and b:

    RAPPOR (basic)     a + b = 1                        (Erlingsson, Pihur, Korolova 2014)
    OUE                a = 1/2                          (Wang, Blocki, Li, Jha 2017)
    IDUE               a and b by input class           (Gu et al. 2020, sec. V)
    utility-optimised  b = 0 for non-sensitive inputs   (Murakami, Kawamoto 2019)

Rounding a down or b up lowers every ratio, so the channel never exceeds its level.
aggregator.families.bits chooses a and b.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from protocol import codec, runs
from protocol.channels.channel import Channel, Loss, best_two
from protocol.errors import ChannelError
from protocol.runs import Runs, blocks_of, require_runs, runs_of

BIT_SCALE = 32
S = 1 << BIT_SCALE
MAX_BITS = 2**16
"""Maximum number of inputs of a bits channel; each input adds one bit to a report."""


@dataclass(frozen=True)
class Bits(Channel):
    """Independent bits; a bit is 1 with a larger probability if its input is the true one.

    Attributes:
        own_weights: for each input class, 2^32 times a: the probability that the bit of the true input is 1.
        other_weights: for each input class, 2^32 times b: the probability that an input's bit is 1 if another input
            is the true one; 0 <= b < a <= 1.
        runs: (input class, length) pairs in input order; input classes are numbered from 0 in order of first
            appearance, and no two have the same a and b.
        class_of: the input class of each input.
    Raises:
        ChannelError: an attribute is invalid, or does not fit the others.
    """

    own_weights: tuple[int, ...]
    other_weights: tuple[int, ...]
    runs: Runs
    input_count: int = field(init=False, repr=False, compare=False)
    output_count: int = field(init=False, repr=False, compare=False)
    class_of: Sequence[int] = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "bits"
    unary: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_runs(self.runs, 0, ChannelError)
        input_count = sum(length for _, length in self.runs)
        if not 2 <= input_count <= MAX_BITS:
            raise ChannelError(f"a bits channel must have 2 to {MAX_BITS} inputs, not {input_count}")
        classes = 1 + max(number for number, _ in self.runs)
        if len(self.own_weights) != classes or len(self.other_weights) != classes:
            raise ChannelError(
                "each input class of a bits channel must have one probability a and one b: "
                f"{classes} of each, not {len(self.own_weights)} and {len(self.other_weights)}"
            )
        for a, b in zip(self.own_weights, self.other_weights, strict=True):
            if not 0 <= b < a <= S:
                raise ChannelError(
                    f"the probabilities of an input class must satisfy 0 <= b < a <= 2^32, not b = {b} and a = {a}"
                )
        if len(set(zip(self.own_weights, self.other_weights, strict=True))) != classes:
            raise ChannelError("two input classes have equal probabilities: write them as one")
        self._derive(input_count=input_count, output_count=1 << input_count, class_of=blocks_of(self.runs))

    @classmethod
    def over(cls, chances: Iterable[tuple[int, int]]) -> Bits:
        """Return the channel for a pair (a, b) per input, both times 2^32."""
        numbers: dict[tuple[int, int], int] = {}
        classes = [numbers.setdefault(pair, len(numbers)) for pair in chances]
        return cls(tuple(a for a, _ in numbers), tuple(b for _, b in numbers), runs_of(classes))

    @property
    def scale(self) -> int:
        return BIT_SCALE * self.input_count

    @property
    def rand_bytes(self) -> int:
        return 4 * self.input_count

    @property
    def output_bits(self) -> int:
        return self.input_count

    def weight(self, x: int, y: int) -> int:
        if not 0 <= y < self.output_count:
            return 0
        ones, set_bits = [0] * len(self.own_weights), f"{y:0{self.input_count}b}"
        zeros = list(ones)
        for place, number in enumerate(self.class_of):
            if place != x:
                if set_bits[place] == "1":
                    ones[number] += 1
                else:
                    zeros[number] += 1
        mine = self.class_of[x]
        total = self.own_weights[mine] if set_bits[x] == "1" else S - self.own_weights[mine]
        for number, b in enumerate(self.other_weights):
            total *= b ** ones[number] * (S - b) ** zeros[number]
        return total

    @cached_property
    def _thresholds(self) -> tuple[int, ...]:
        return tuple(self.other_weights[number] for number in self.class_of)

    def sample(self, x: int, rand: bytes) -> int:
        self._require_draw(x, rand)
        draws = struct.unpack(f">{self.input_count}I", rand)
        # For constant time, every bit is first drawn as if its input were not the true one; then the bit of the true
        # input is replaced.
        hidden = "".join("01"[u < b] for u, b in zip(draws, self._thresholds, strict=True))
        place = self.input_count - 1 - x
        word = int(hidden, 2)
        bit = int(draws[x] < self.own_weights[self.class_of[x]])
        return word ^ (((word >> place & 1) ^ bit) << place)

    @cached_property
    def _ranks(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The rank of each class by a / b, and by (1 - b) / (1 - a); the largest ratio has rank 0."""
        pairs = list(zip(self.own_weights, self.other_weights, strict=True))
        # The inverse ratios b / a and (1 - a) / (1 - b) are ranked instead, because they never divide by zero.
        return _places([Fraction(b, a) for a, b in pairs]), _places([Fraction(S - a, S - b) for a, b in pairs])

    def selected(self, inputs: Sequence[int]) -> Sequence[int]:
        by_one, by_zero = self._ranks
        firsts = best_two(inputs, lambda x: by_one[self.class_of[x]])
        seconds = best_two(inputs, lambda x: by_zero[self.class_of[x]])
        return sorted({*firsts, *seconds})

    @property
    def prior_steps(self) -> int:
        # Exact sums grow by 32 bits with each class, so their cost is quadratic in the number of classes.
        return 4 * self.input_count + 6 * len(self.own_weights) ** 2

    def loss(self, first: Sequence[int], second: Sequence[int]) -> Loss:
        by_one, by_zero = self._ranks
        # Two candidates are kept for each side, because the best of both sides may be the same input.
        firsts = best_two(first, lambda x: by_one[self.class_of[x]])
        seconds = best_two(second, lambda x: by_zero[self.class_of[x]])
        worst = Loss(1, 1, first[0], second[0], 0)
        for x in firsts:
            for other in seconds:
                if x != other:
                    mine, theirs = self.class_of[x], self.class_of[other]
                    candidate = Loss(
                        self.own_weights[mine] * (S - self.other_weights[theirs]),
                        self.other_weights[mine] * (S - self.own_weights[theirs]),
                        x, other, self.single_bit(x),
                    )  # fmt: skip
                    if candidate.worse_than(worst):
                        worst = candidate
        return worst

    def single_bit(self, x: int) -> int:
        """Return the output in which only bit ``x`` is set."""
        return 1 << (self.input_count - 1 - x)

    def loss_against_prior(self, prior: Sequence[int]) -> Loss:
        # Q(y|x) / P(y) = r_x / sum over x' of P_x' r_x', where r is a / b for a set bit and (1 - a) / (1 - b) for an
        # unset bit. It is largest if only the bit of x is set, and smallest if only the bit of x is not set. Within a
        # class, both extremes are worst for the input with the smallest prior.
        if 0 in self.other_weights:
            x = self.class_of.index(self.other_weights.index(0))
            return Loss(1, 0, 1 if x == 0 else 0, None, self.single_bit(x))
        if S in self.own_weights:
            x = self.class_of.index(self.own_weights.index(S))
            return Loss(1, 0, x, None, self.single_bit(1 if x == 0 else 0))
        masses, rarest = [0] * len(self.own_weights), [-1] * len(self.own_weights)
        for x, p in enumerate(prior):
            number = self.class_of[x]
            masses[number] += p
            if rarest[number] < 0 or p < prior[rarest[number]]:
                rarest[number] = x
        set_ratios = [Fraction(a, b) for a, b in zip(self.own_weights, self.other_weights, strict=True)]
        unset_ratios = [Fraction(S - a, S - b) for a, b in zip(self.own_weights, self.other_weights, strict=True)]
        all_set, set_over = _weighted_sum(masses, set_ratios)
        none_set, unset_over = _weighted_sum(masses, unset_ratios)
        total = sum(prior)
        worst = Loss(1, 1, 0, None, 0)
        for number, x in enumerate(rarest):
            up, down = set_ratios[number], unset_ratios[number]
            gap = prior[x] * (up - down)
            # If only the bit of x is set, the ratio is r / (none_set + P_x (r - r')). If only the bit of x is not set,
            # the inverse ratio is (all_set - P_x (r - r')) / r'.
            alone = none_set * gap.denominator + gap.numerator * unset_over
            rest = all_set * gap.denominator - gap.numerator * set_over
            for candidate in (
                Loss(
                    up.numerator * total * unset_over * gap.denominator,
                    up.denominator * alone,
                    x, None, self.single_bit(x),
                ),
                Loss(
                    rest * down.denominator,
                    total * set_over * gap.denominator * down.numerator,
                    x, None, self.output_count - 1 - self.single_bit(x),
                ),
            ):  # fmt: skip
                if candidate.worse_than(worst):
                    worst = candidate
        return worst

    def encode(self) -> codec.Value:
        return [self.family, list(self.own_weights), list(self.other_weights), runs.encode(self.runs)]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Bits:
        _, own_weights, other_weights, blocks = codec.fields(value, 4, "a bits channel", ChannelError)
        return cls(
            codec.integers(own_weights, "the weight of a bit", ChannelError, 0, S),
            codec.integers(other_weights, "the weight of a bit", ChannelError, 0, S),
            runs.decode(blocks, ChannelError),
        )


def _places(keys: Sequence[Fraction]) -> tuple[int, ...]:
    """Return the rank of each key, in increasing order."""
    places = [0] * len(keys)
    for place, number in enumerate(sorted(range(len(keys)), key=keys.__getitem__)):
        places[number] = place
    return tuple(places)


def _weighted_sum(masses: Sequence[int], ratios: Sequence[Fraction]) -> tuple[int, int]:
    """Return the sum of masses times ratios as (numerator, denominator), added in pairs of similar length."""
    parts = [(mass * ratio.numerator, ratio.denominator) for mass, ratio in zip(masses, ratios, strict=True)]
    while len(parts) > 1:
        odd = parts[len(parts) // 2 * 2 :]
        parts = [
            (n * other_d + other_n * d, d * other_d)
            for (n, d), (other_n, other_d) in zip(parts[::2], parts[1::2], strict=False)
        ] + odd
    return parts[0]
