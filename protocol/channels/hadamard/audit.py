"""The audit structure of Hadamard response: prior masses are summed with a Walsh-Hadamard transform.

An input has one weight for the columns where its row is +1, and another for the other columns. So two different rows
divide the columns into four classes of equal size. The mass of the rows that are +1 in a column is half the sum of the
total mass and an entry of a Walsh-Hadamard transform. All columns together take K log K additions of integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar

from protocol.channels.hadamard.channel import ONE, Hadamard
from protocol.channels.structure import OutputClass, PairProfile, Structure


class HadamardStructure(Structure):
    """The audit structure of Hadamard response (SPEC 5.3)."""

    channel: Hadamard
    profile_steps: ClassVar[int] = 4

    @property
    def _weights(self) -> tuple[int, int]:
        """The weight of a column where the input's row is +1, and of a column where it is -1."""
        return self.channel.truth, ONE - self.channel.truth

    @property
    def kinds(self) -> Sequence[Sequence[int]]:
        return [range(self.channel.input_count)]

    def row(self, x: int) -> Iterable[tuple[int, int]]:
        return [(weight, self.channel.output_count // 2) for weight in self._weights]

    def profile(self, x: int, other: int) -> PairProfile:
        quarter = self.channel.output_count // 4
        return [(mine, theirs, quarter) for mine in self._weights for theirs in self._weights]

    def _agreeing(self, prior: Sequence[int]) -> list[int]:
        """Return, for each column, the prior mass of the inputs whose row is +1 there."""
        self.require_steps(self.channel.output_count * self.channel.output_bits, "its Hadamard transform")
        total = sum(prior)
        rows = [0, *prior] + [0] * (self.channel.output_count - len(prior) - 1)
        return [(total + signed) // 2 for signed in walsh(rows)]

    @property
    def worst_column_steps(self) -> int:
        return 32 * self.channel.output_count

    def columns(self, prior: Sequence[int]) -> Iterator[OutputClass]:
        high, low = self._weights
        total = sum(prior)
        for y, mass in enumerate(self._agreeing(prior)):
            yield OutputClass(y, 1, tuple(part for part in ((high, mass), (low, total - mass)) if part[1]))

    def marginals(self, prior: Sequence[int]) -> Sequence[int]:
        high, low = self._weights
        base = low * sum(prior)
        return [base + (high - low) * mass for mass in self._agreeing(prior)]

    def row_sums(self, marginals: Sequence[int], term: Callable[[int, int], int]) -> Iterable[int]:
        self.require_steps(self.channel.output_count * self.channel.output_bits, "its Hadamard transform")
        high, low = self._weights
        agreed = [term(high, marginal) for marginal in marginals]
        other = [term(low, marginal) for marginal in marginals]
        # The result sums ``agreed`` over the columns where the row is +1, and ``other`` over the remaining columns.
        # This is half of the sum of both, plus half of the transform of their difference.
        both = sum(agreed) + sum(other)
        signed = walsh([mine - theirs for mine, theirs in zip(agreed, other, strict=True)])
        return [(both + signed[x + 1]) // 2 for x in range(self.channel.input_count)]

    def largest_posterior(self, prior: Sequence[int], inputs: Sequence[int]) -> tuple[int, int, int]:
        high, low = self._weights
        marginals = self.marginals(prior)
        rising = sorted(range(len(marginals)), key=marginals.__getitem__)
        best = (0, 1, inputs[0])
        # The inputs with the largest prior come first, because their posteriors are usually the largest and end the
        # search early.
        for x in sorted(inputs, key=prior.__getitem__, reverse=True):
            for y in rising:
                if prior[x] * high * best[1] <= best[0] * marginals[y]:
                    break
                agrees = ((x + 1) & y).bit_count() % 2 == 0
                joint = prior[x] * (high if agrees else low)
                if joint * best[1] > best[0] * marginals[y]:
                    best = (joint, marginals[y], x)
                if agrees:
                    break
        return best


def walsh(values: Sequence[int]) -> list[int]:
    """Return the Walsh-Hadamard transform of 2^n integers, exactly, in Sylvester's order."""
    transform = list(values)
    step = 1
    while step < len(transform):
        for start in range(0, len(transform), 2 * step):
            for y in range(start, start + step):
                low, high = transform[y], transform[y + step]
                transform[y], transform[y + step] = low + high, low - high
        step *= 2
    return transform
