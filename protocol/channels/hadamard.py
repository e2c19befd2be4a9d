"""Hadamard response: plain, in blocks, and with a sensitive set (SPEC 5.3).

One idea covers three papers' channels. The inputs of a block own the rows 1 .. k_j of Sylvester's Hadamard
matrix of order K_j, the smallest power of two strictly larger than k_j: row 0 is all ones and would tell nothing.
An input answers with a column where its row is +1 with probability ``truth``, else with one where it is -1;
always within its own block's K_j outputs. An open input belongs to no block: it has an output of its own, and with
probability ``cover`` hides among the outputs of the one block instead.

    plain Hadamard response          one block of all inputs                    (Acharya, Sun, Zhang 2019)
    block-structured                 the blocks; a block of one is open          (Acharya et al. 2020, eq. 19)
    high-low                         the sensitive inputs are the one block, the others open with
                                     cover = 2 (1 - truth)                       (Acharya et al. 2020, eq. 13-14)

Without a cover, an input alone in its block has nothing to hide among and must be open: its paper draws it from two
outputs, which adds noise and no privacy.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import ClassVar

from protocol import codec, runs
from protocol.channels.channel import Channel, Loss
from protocol.domain import MAX_VALUES
from protocol.errors import ChannelError
from protocol.runs import Runs, require_runs, runs_of

HADAMARD_SCALE = 64
ONE = 1 << HADAMARD_SCALE
OPEN = 0
"""The block number of inputs that belong to no block."""


@dataclass(frozen=True)
class Hadamard(Channel):
    """Hadamard response over blocks.

    Attributes:
        truth: 2^64 times the probability to answer where the own row is +1; above 2^63.
        cover: 2^64 times the probability that an open input hides in block 1; even, so that every weight is whole.
        runs: (block, length) pairs in input order; block 0 is open, the others are numbered from 1 in order of
            first appearance; neighbouring runs differ in their block.
        sizes: number of inputs of each block; entry 0 counts the open ones.
        orders: K_j of each block; entry 0 is 0.
        offsets: first output of each block; entry 0: of the open inputs, after all blocks.
        block_of, place_of: block of each input, and its position there; its row is place + 1.
    """

    truth: int
    cover: int
    runs: Runs
    inputs: int = field(init=False, repr=False, compare=False)
    outputs: int = field(init=False, repr=False, compare=False)
    sizes: tuple[int, ...] = field(init=False, repr=False, compare=False)
    orders: tuple[int, ...] = field(init=False, repr=False, compare=False)
    offsets: tuple[int, ...] = field(init=False, repr=False, compare=False)
    block_of: Sequence[int] = field(init=False, repr=False, compare=False)
    place_of: Sequence[int] = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "hadamard"

    def __post_init__(self) -> None:
        require_runs(self.runs, OPEN + 1, ChannelError)
        if all(block == OPEN for block, _ in self.runs):
            raise ChannelError("a Hadamard channel has at least one block")
        inputs = sum(length for _, length in self.runs)
        if not 2 <= inputs <= MAX_VALUES:
            raise ChannelError(f"a channel has 2 to {MAX_VALUES} inputs, not {inputs}")
        if not ONE // 2 < self.truth < ONE:
            raise ChannelError("a Hadamard channel tells the truth with probability above 1/2 and below 1")
        sizes = [0] * (1 + max(block for block, _ in self.runs))
        # Position of each input in its block, in order.
        block_of, place_of = array("L"), array("L")
        for block, length in self.runs:
            block_of.extend(array("L", [block]) * length)
            place_of.extend(range(sizes[block], sizes[block] + length))
            sizes[block] += length
        if not self.cover and any(size == 1 for size in sizes[1:]):
            raise ChannelError("a value alone in its block has nothing to hide among: it is open")
        if self.cover and len(sizes) != 2:
            raise ChannelError("open inputs can hide only where there is exactly one block")
        if self.cover and not sizes[OPEN]:
            raise ChannelError("a cover without open inputs")
        if not 0 <= self.cover < ONE or self.cover % 2:
            raise ChannelError("a cover probability lies below 1 and is an even number of 2^64ths")
        orders = (0, *(1 << size.bit_length() for size in sizes[1:]))
        ends = tuple(accumulate(orders))
        derived = {
            "inputs": inputs,
            "outputs": ends[-1] + sizes[OPEN],
            "sizes": tuple(sizes),
            "orders": orders,
            "offsets": (ends[-1], *ends[:-1]),
            "block_of": block_of,
            "place_of": place_of,
        }
        for name, number in derived.items():
            object.__setattr__(self, name, number)  # frozen for everybody else

    @classmethod
    def over(cls, truth: int, cover: int, blocks: Sequence[int]) -> Hadamard:
        """The channel for a block number per input, 0 for open; blocks are renumbered by first appearance."""
        return cls(truth, cover, runs_of(blocks, known=OPEN + 1))

    @property
    def scale(self) -> int:
        return HADAMARD_SCALE + max(self.orders).bit_length() - 2

    @property
    def rand_bytes(self) -> int:
        return 8 + (max(self.orders).bit_length() + 6) // 8

    def weight(self, x: int, y: int) -> int:
        widest = max(self.orders)  # 2^scale = 2^64 * widest / 2
        block = self.block_of[x]
        if block == OPEN:
            if y == self.offsets[OPEN] + self.place_of[x]:
                return (ONE - self.cover) * (widest // 2)
            return self.cover * (widest // 2) // self.orders[1] if y < self.offsets[OPEN] else 0
        column = y - self.offsets[block]
        if not 0 <= column < self.orders[block]:
            return 0
        supported = ((self.place_of[x] + 1) & column).bit_count() % 2 == 0
        return (self.truth if supported else ONE - self.truth) * (widest // self.orders[block])

    def sample(self, x: int, rand: bytes) -> int:
        self._require_draw(x, rand)
        draw = int.from_bytes(rand[:8], "big")
        uniform = int.from_bytes(rand[8:], "big")
        # Open inputs and those of a block go the same way to the end, and one of two outputs is chosen there.
        is_open = self.block_of[x] == OPEN
        block = self.block_of[x] or 1
        row = self.place_of[x] + 1
        column = uniform & (self.orders[block] - 1)
        # Flipping the lowest bit of the row moves a uniform column to a uniform one of the other sign.
        wrong = ((row & column).bit_count() & 1) ^ (draw >= self.truth)
        told = self.offsets[block] + (column ^ (row & -row) * wrong)
        own_or_hidden = (self.offsets[OPEN] + row - 1, column)[draw < self.cover]
        return (told, own_or_hidden)[is_open]

    def loss(self, first: Sequence[int], second: Sequence[int]) -> Loss:
        worst = Loss(1, 1, first[0], second[0], 0)
        # Two of a block: where ``second`` holds the first of them alone, the other one makes the pair.
        for x in _of_each_block(self.block_of, first, 2):
            for other in _of_each_block(self.block_of, second, 1, besides=x):
                candidate = self._pair_loss(x, other)
                if candidate.worse_than(worst):
                    worst = candidate
                if worst.denominator == 0:
                    return worst
        return worst

    def _pair_loss(self, x: int, other: int) -> Loss:
        """The worst ratio of two different inputs; it depends on their blocks alone."""
        block, other_block = self.block_of[x], self.block_of[other]
        if block == OPEN:  # its own output, which nobody else emits
            y = self.offsets[OPEN] + self.place_of[x]
            return Loss(1, 0, x, other, y)
        if block == other_block:
            y = _telling_column(self.place_of[x] + 1, self.place_of[other] + 1)
            return Loss(self.truth, ONE - self.truth, x, other, self.offsets[block] + y)
        if other_block == OPEN and self.cover:  # truth * 2 / K against cover / K; column 0 supports every row
            return Loss(2 * self.truth, self.cover, x, other, self.offsets[block])
        return Loss(1, 0, x, other, self.offsets[block])

    def encode(self) -> codec.Value:
        return [self.family, self.truth, self.cover, runs.encode(self.runs)]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Hadamard:
        _, truth, cover, blocks = codec.fields(value, 4, "a Hadamard channel", ChannelError)
        return cls(
            codec.integer(truth, "the truth weight", ChannelError),
            codec.integer(cover, "the cover weight", ChannelError),
            runs.decode(blocks, ChannelError),
        )


def _of_each_block(block_of: Sequence[int], inputs: Sequence[int], most: int, besides: int = -1) -> Iterator[int]:
    """The first ``most`` different ``inputs`` of each block they touch, ``besides`` left out."""
    seen: dict[int, set[int]] = {}
    for x in inputs:
        found = seen.setdefault(block_of[x], set())
        if x != besides and len(found) < most and x not in found:
            found.add(x)
            yield x


def _telling_column(row: int, other: int) -> int:
    """A column where ``row`` is +1 and ``other``, a different row and not row 0, is -1."""
    alone = other & ~row
    if alone:
        return alone & -alone
    rest = row & ~other  # not empty: ``other`` is a proper part of ``row``
    return (other & -other) | (rest & -rest)
