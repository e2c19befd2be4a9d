"""The audit structure of independent bits: only the bits of two inputs distinguish them.

All other bits have the same distribution for both inputs, so only the two bits determine the profile. With a uniform
prior and one input class, all vectors with the same number of ones form one class of columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import comb, lcm
from typing import ClassVar

from protocol.channels.bits.channel import BIT_SCALE, Bits, S
from protocol.channels.structure import OutputClass, PairProfile, Structure, TooLarge

MAX_COLUMN_BITS = 512
"""Columns are computed up to this number of bits; each bit adds 32 bits to the length of a weight."""

MAX_BIT_CLASSES = 64
"""Lifts and posteriors are computed up to this number of input classes; each adds up to 32 bits to an exact sum."""


class BitsStructure(Structure):
    """The audit structure of vectors of independent bits (SPEC 5.6)."""

    channel: Bits
    profile_steps: ClassVar[int] = 4
    profile_scale: ClassVar[int] = 2 * BIT_SCALE

    @property
    def kinds(self) -> Sequence[Sequence[int]]:
        kinds: list[list[int]] = [[] for _ in self.channel.own_weights]
        for x, number in enumerate(self.channel.class_of):
            kinds[number].append(x)
        return kinds

    def _chances(self, x: int) -> tuple[int, int]:
        """Return the probabilities a and b of an input's class, as integers over 2^32."""
        number = self.channel.class_of[x]
        return self.channel.own_weights[number], self.channel.other_weights[number]

    def profile(self, x: int, other: int) -> PairProfile:
        (a, b), (other_a, other_b) = self._chances(x), self._chances(other)

        def chance(of_one: int, bit: int) -> int:
            return of_one if bit else S - of_one

        return [
            (chance(a, bit) * chance(other_b, other_bit), chance(b, bit) * chance(other_a, other_bit), 1)
            for bit, other_bit in product((0, 1), repeat=2)
        ]

    def columns(self, prior: Sequence[int]) -> Iterator[OutputClass]:
        k = self.channel.input_count
        if len(self.channel.own_weights) > 1 or len(set(prior)) > 1:
            yield from super().columns(prior)
            return
        if k > MAX_COLUMN_BITS:
            raise TooLarge(
                f"a bits channel of {k} inputs is too large: columns are computed for at most {MAX_COLUMN_BITS}"
            )
        a, b = self._chances(0)
        for ones in range(k + 1):
            parts = []
            if ones:
                parts.append((a * b ** (ones - 1) * (S - b) ** (k - ones), prior[0] * ones))
            if ones < k:
                parts.append(((S - a) * b**ones * (S - b) ** (k - 1 - ones), prior[0] * (k - ones)))
            if len(parts) == 2 and parts[0][0] == parts[1][0]:
                parts = [(parts[0][0], prior[0] * k)]
            yield OutputClass((1 << ones) - 1, comb(k, ones), tuple(parts))

    @property
    def worst_column_steps(self) -> int:
        return 4 * self.channel.input_count + 24 * len(self.channel.own_weights) ** 2

    def worst_columns(self, prior: Sequence[int]) -> Iterator[OutputClass]:
        # Only these outputs can be the worst, as in Bits.loss_against_prior: a single bit is set, or a single bit is
        # not set, and it is the bit of the rarest input of a class.
        self._require_few_classes()
        set_ratios = [
            Fraction(a, b) if b else None
            for a, b in zip(self.channel.own_weights, self.channel.other_weights, strict=True)
        ]
        unset_ratios = [
            Fraction(S - a, S - b) for a, b in zip(self.channel.own_weights, self.channel.other_weights, strict=True)
        ]
        masses = [0] * len(unset_ratios)
        rarest = [-1] * len(unset_ratios)
        for x, (mass, number) in enumerate(zip(prior, self.channel.class_of, strict=True)):
            masses[number] += mass
            if rarest[number] < 0 or mass < prior[rarest[number]]:
                rarest[number] = x
        for number, x in enumerate(rarest):
            only, others = self.channel.single_bit(x), list(masses)
            others[number] -= prior[x]
            ratio = set_ratios[number]
            if ratio is None:  # b is 0, so only x sets this bit
                yield OutputClass(only, 1, ((1, prior[x]), (0, sum(others))))
                continue
            yield _relative(only, [(ratio, prior[x]), *zip(unset_ratios, others, strict=True)])
            if all(ratio is not None for ratio in set_ratios):
                rest = [(ratio, mass) for ratio, mass in zip(set_ratios, others, strict=True) if ratio is not None]
                yield _relative(self.channel.output_count - 1 - only, [(unset_ratios[number], prior[x]), *rest])

    def fits(self, x: int) -> tuple[int, int, int]:
        return *self._chances(x), S

    def fitting(self, y: int) -> Sequence[int]:
        # A test of each bit of the integer would copy it once for each input.
        return [x for x, bit in enumerate(f"{y:0{self.channel.input_count}b}") if bit == "1"]

    def largest_posterior(self, prior: Sequence[int], inputs: Sequence[int]) -> tuple[int, int, int]:
        self._require_few_classes()
        # The posterior of x is largest if only the bit of x is 1. Then x has the weight P(x) a / b, and every other
        # input x' has the weight P(x') (1 - a') / (1 - b').
        unset_ratios = [
            Fraction(S - a, S - b) for a, b in zip(self.channel.own_weights, self.channel.other_weights, strict=True)
        ]
        masses = [0] * len(unset_ratios)
        for mass, number in zip(prior, self.channel.class_of, strict=True):
            masses[number] += mass
        rest = sum((mass * share for mass, share in zip(masses, unset_ratios, strict=True)), Fraction())
        # Within a class, the posterior grows with the prior, so the input with the largest prior is sufficient.
        most_frequent: dict[int, int] = {}
        for x in inputs:
            number = self.channel.class_of[x]
            if number not in most_frequent or prior[x] > prior[most_frequent[number]]:
                most_frequent[number] = x
        best, most_probable = Fraction(), inputs[0]
        for number, x in most_frequent.items():
            a, b = self._chances(x)
            if not b:
                return 1, 1, x  # b is 0, so only x sets this bit
            mine = prior[x] * Fraction(a, b)
            posterior = mine / (mine + rest - prior[x] * unset_ratios[number])
            if posterior > best:
                best, most_probable = posterior, x
        return best.numerator, best.denominator, most_probable

    def _require_few_classes(self) -> None:
        if len(self.channel.own_weights) > MAX_BIT_CLASSES:
            raise TooLarge(
                f"a bits channel of {len(self.channel.own_weights)} input classes is too large: at most "
                f"{MAX_BIT_CLASSES} are allowed for an exact sum"
            )


def _relative(y: int, parts: Sequence[tuple[Fraction, int]]) -> OutputClass:
    """Return the class of output ``y`` from a column of ratios, scaled to integers."""
    scale = lcm(*(ratio.denominator for ratio, _ in parts))
    masses: dict[int, int] = {}
    for ratio, mass in parts:
        weight = ratio.numerator * (scale // ratio.denominator)
        masses[weight] = masses.get(weight, 0) + mass
    return OutputClass(y, 1, tuple(part for part in masses.items() if part[1]))
