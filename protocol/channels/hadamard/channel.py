"""Hadamard response: an output reveals one bit about the input (SPEC 5.3).

Input x has row x + 1 of Sylvester's Hadamard matrix of order K, the smallest power of two strictly larger than k. Row 0
is all ones and carries no information, so it is not used. With probability ``truth`` the output is drawn uniformly from
the columns where the row is +1, otherwise from those where it is -1 (Acharya, Sun, Zhang 2019).

For Hadamard response within blocks, or for the sensitive inputs only, ``blocks`` contains this channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from protocol import codec
from protocol.channels.channel import Channel, Loss
from protocol.domain import MAX_VALUES
from protocol.errors import ChannelError

HADAMARD_SCALE = 64
ONE = 1 << HADAMARD_SCALE


@dataclass(frozen=True)
class Hadamard(Channel):
    """Hadamard response: each input has a row of the matrix, and the outputs are its K columns.

    Attributes:
        truth: 2^64 times the probability that the output is one of the K / 2 columns where the input's row is +1; above
            2^63.
        input_count: k, the number of inputs; the row of input x is x + 1.
        output_count: K, the number of columns.
    Raises:
        ChannelError: an attribute is invalid, or does not fit the others.
    """

    truth: int
    input_count: int
    output_count: int = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "hadamard"

    def __post_init__(self) -> None:
        if not 2 <= self.input_count <= MAX_VALUES:
            raise ChannelError(f"a channel must have 2 to {MAX_VALUES} inputs, not {self.input_count}")
        if not ONE // 2 < self.truth < ONE:
            raise ChannelError(
                f"the truth probability of a Hadamard channel must be above 1/2 and below 1, not {self.truth} / 2^64"
            )
        self._derive(output_count=1 << self.input_count.bit_length())

    @property
    def scale(self) -> int:
        # Each of the two 64-bit weights is divided evenly among half of the K columns.
        return HADAMARD_SCALE + self.output_bits - 1

    @property
    def rand_bytes(self) -> int:
        return 8 + (self.output_bits + 7) // 8

    def weight(self, x: int, y: int) -> int:
        agrees = ((x + 1) & y).bit_count() % 2 == 0
        return self.truth if agrees else ONE - self.truth

    def sample(self, x: int, rand: bytes) -> int:
        self._require_draw(x, rand)
        draw = int.from_bytes(rand[:8], "big")
        row = x + 1
        column = int.from_bytes(rand[8:], "big") & (self.output_count - 1)
        # Flipping the column's bit at the lowest set bit of the row changes the sign; a uniform column stays uniform.
        wrong = ((row & column).bit_count() & 1) ^ (draw >= self.truth)
        return column ^ (row & -row) * wrong

    def selected(self, inputs: Sequence[int]) -> Sequence[int]:
        return inputs[:2]

    @property
    def prior_steps(self) -> int:
        return self.input_count * self.output_count

    def loss(self, first: Sequence[int], second: Sequence[int]) -> Loss:
        pair = different(first, second)
        if pair is None:
            return Loss(1, 1, first[0], second[0], 0)
        x, other = pair  # every two rows differ in some column, so all pairs have the same loss
        return Loss(self.truth, ONE - self.truth, x, other, _distinguishing_column(x + 1, other + 1))

    def encode(self) -> codec.Value:
        return [self.family, self.input_count, self.truth]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Hadamard:
        _, inputs, truth = codec.fields(value, 3, "a Hadamard channel", ChannelError)
        return cls(
            codec.integer(truth, "the truth weight", ChannelError),
            codec.integer(inputs, "a channel's number of inputs", ChannelError, 2, MAX_VALUES),
        )


def different(first: Sequence[int], second: Sequence[int]) -> tuple[int, int] | None:
    """Return two different inputs, one of ``first`` and one of ``second``; None if both contain only the same input."""
    x, other = first[0], next((other for other in second if other != first[0]), None)
    if other is not None:
        return x, other
    # ``second`` contains only the first input of ``first``.
    return next(((x, second[0]) for x in first if x != second[0]), None)


def _distinguishing_column(row: int, other: int) -> int:
    """Return a column where ``row`` is +1 and ``other``, a different row and not row 0, is -1."""
    alone = other & ~row
    if alone:
        return alone & -alone
    rest = row & ~other  # not empty: ``other`` is a proper part of ``row``
    return (other & -other) | (rest & -rest)
