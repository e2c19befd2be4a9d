"""The base class of channels: weights, sampling, worst ratios, wire form.

``weight``, ``sample`` and ``loss`` read the same integers: ``sample`` compares random bits with them, and ``loss``
takes their ratios. So the audited and the sampled probabilities are equal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from protocol import codec, exact

PAIR_STEPS = 64
"""Audit steps of one worst ratio in a family with a closed form."""


@dataclass(frozen=True)
class Loss:
    """The worst ratio of two probabilities, as integers, with the inputs and the output that reach it.

    Attributes:
        numerator, denominator: the ratio; a denominator of 0 is an infinite loss.
        x: the input that makes the output likely; in a comparison with the prior, the only input, which may also make
            the output unlikely.
        other: the input that makes the output unlikely; None if the comparison is with the prior.
        y: the output.
    """

    numerator: int
    denominator: int
    x: int
    other: int | None
    y: int

    @property
    def level(self) -> int | None:
        """The smallest level that this ratio provably satisfies, in nanonats, rounded up; None if it is infinite."""
        return exact.level_of(self.numerator, self.denominator)

    def worse_than(self, other: Loss) -> bool:
        """Return whether this ratio is strictly larger than ``other``."""
        return self.numerator * other.denominator > other.numerator * self.denominator


class Channel(ABC):
    """A conditional distribution Q(y given x) for ``input_count`` inputs and ``output_count`` outputs, in integers over
    2^``scale``.

    A channel is immutable, and its constructor ensures that every row sums to exactly 2^scale.

    Attributes:
        family: the name of the family on the wire.
        unary: True if an output is a bit vector whose bits are counted one by one: bit x, from the most significant,
            belongs to input x. Such a channel has 2^input_count outputs.
        ones: the number of set bits in every output of a unary channel; None if it varies.
        input_count, output_count: the numbers of inputs and outputs, k and m.
    """

    family: ClassVar[str]
    unary: ClassVar[bool] = False
    ones: int | None = None
    input_count: int
    output_count: int

    @property
    def output_bits(self) -> int:
        """Bits of one output on the wire, ceil(log2 output_count)."""
        return (self.output_count - 1).bit_length()

    def emits(self, y: int) -> bool:
        """Return whether the channel has an output ``y``; its probability may be zero for every input."""
        return 0 <= y < self.output_count and self.ones in (None, y.bit_count())

    @property
    def features(self) -> int:
        """Number of counters that a count of outputs needs: one for each output, or for each bit of a unary channel."""
        return self.output_bits if self.unary else self.output_count

    def spelled(self, y: int) -> int | str:
        """Return output ``y`` for display: its number, or the bit vector of a unary channel as hexadecimal text.

        A vector may have tens of thousands of bits, and Python refuses to convert integers of more than 4,300 decimal
        digits.
        """
        return f"{y:0{-(-self.output_bits // 4)}x}" if self.unary else y

    @property
    @abstractmethod
    def scale(self) -> int:
        """The binary logarithm of the common denominator of all weights."""

    @property
    @abstractmethod
    def rand_bytes(self) -> int:
        """Number of random bytes of one ``sample``, the same for every input."""

    @abstractmethod
    def weight(self, x: int, y: int) -> int:
        """Return the integer weight 2^scale * Q(y given x)."""

    def column(self, y: int) -> list[int]:
        """Return ``weight(x, y)`` for every input x."""
        return [self.weight(x, y) for x in range(self.input_count)]

    @abstractmethod
    def sample(self, x: int, rand: bytes) -> int:
        """Return output y with probability exactly ``weight(x, y)`` / 2^scale over uniform ``rand``.

        Args:
            rand: exactly ``rand_bytes`` bytes from the operating system, drawn before x is used.
        Raises:
            ValueError: x is outside 0 .. input_count - 1, or the number of bytes is wrong.
        """

    @abstractmethod
    def loss(self, first: Sequence[int], second: Sequence[int]) -> Loss:
        """Return the largest Q(y given x) / Q(y given x') over all y, x in ``first`` and x' in ``second``.

        The two sequences may overlap; for x = x' the ratio is 1.
        """

    def selected(self, inputs: Sequence[int]) -> Sequence[int]:
        """Return the inputs that an audit selects from ``inputs``, in their order: with them, ``loss`` gives the same
        ratio as with all (SPEC 6.11)."""
        return inputs

    def pair_steps(self, first: Sequence[int], second: Sequence[int]) -> int:
        """Return the number of audit steps of ``loss`` for two sets of inputs returned by ``selected`` (SPEC 6.11)."""
        return PAIR_STEPS

    @property
    @abstractmethod
    def prior_steps(self) -> int:
        """Number of audit steps of ``loss_against_prior`` (SPEC 6.11)."""

    @property
    def numbers_held(self) -> int:
        """Number of integers that ``loss`` and ``loss_against_prior`` store, without those of the channel itself."""
        return 0

    def loss_against_prior(self, prior: Sequence[int]) -> Loss:
        """Return the worst of Q(y given x) / P(y) and P(y) / Q(y given x), for the prior ``prior`` / sum(prior).

        Args:
            prior: ``input_count`` positive integers.
        """
        return self._worst_lift(prior, range(self.output_count))

    def _worst_lift(self, prior: Sequence[int], outputs: Iterable[int]) -> Loss:
        """Return the worst lift over these outputs and all inputs; the lift of x at y is Q(y given x) / P(y)."""
        total = sum(prior)
        worst = Loss(1, 1, 0, None, 0)
        for y in outputs:
            column = self.column(y)
            marginal = sum(p * q for p, q in zip(prior, column, strict=True))
            if marginal == 0:
                continue  # no input gives y, so y never occurs
            largest, smallest = max(column), min(column)
            for candidate in (
                Loss(largest * total, marginal, column.index(largest), None, y),
                Loss(marginal, smallest * total, column.index(smallest), None, y),
            ):
                if candidate.worse_than(worst):
                    worst = candidate
        return worst

    @abstractmethod
    def encode(self) -> codec.Value:
        """Return the wire form of the channel (SPEC 5)."""

    @classmethod
    @abstractmethod
    def from_wire(cls, value: codec.Value) -> Channel:
        """Return the channel of a wire form.

        Raises:
            ChannelError: wrong fields, or an invalid channel.
        """

    def _derive(self, **values: object) -> None:
        """Set the attributes that are computed from the others."""
        for name, value in values.items():
            object.__setattr__(self, name, value)  # the dataclass is frozen

    def _require_draw(self, x: int, rand: bytes) -> None:
        if not 0 <= x < self.input_count:
            raise ValueError(f"the input is not in 0 .. {self.input_count - 1}")
        if len(rand) != self.rand_bytes:
            raise ValueError(f"a draw must get {self.rand_bytes} random bytes, not {len(rand)}")


def best_two(inputs: Sequence[int], rank: Callable[[int], int]) -> list[int]:
    """Return the two different inputs with the lowest values of ``rank``; one input if there is only one."""
    best = min(inputs, key=rank)
    rest = [x for x in inputs if x != best]
    return [best, min(rest, key=rank)] if rest else [best]
