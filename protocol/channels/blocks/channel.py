"""Blocks: one channel for each block of inputs, and open inputs that may give outputs of block 1 (SPEC 5.7).

This family serves the notions block, high-low and classes. An input of block j is perturbed by the inner channel of
block j. Without a cover, no other input gives outputs of block j, so a report reveals the block and protects the input
within it. An open input belongs to no block. It gives each output of block 1 with probability ``cover``, and otherwise
an output that no other input gives. So with a cover an output of block 1 does not prove that the input is in block 1.

    blocks       no cover; a block with one input is open              (Acharya et al. 2020, sec. 6, Hadamard inside)
    high-low     the sensitive inputs are the only block; the cover is the inner channel's largest weight / e^eps
                 Hadamard response inside                              (Acharya et al. 2020, eq. 13-14)
                 randomised response inside                            (utility-optimised RR, Murakami, Kawamoto 2019)
                 one sensitive input, which always gives one output    (Mangat 1994; Acharya et al. 2020, Theorem 2)

The other families' modules describe the inner channels.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import ClassVar

from protocol import codec, runs
from protocol.channels.channel import PAIR_STEPS, Channel, Loss
from protocol.channels.graded.channel import GradedProjective
from protocol.channels.hadamard.channel import Hadamard, different
from protocol.channels.projective.channel import ProjectiveResponse
from protocol.channels.response.channel import RandomizedResponse
from protocol.channels.table.channel import Table
from protocol.channels.wave.channel import Wave
from protocol.domain import MAX_VALUES
from protocol.errors import ChannelError
from protocol.runs import Runs, require_runs, runs_of

BLOCKS_SCALE = 128
ONE = 1 << BLOCKS_SCALE
COVER_BYTES = 16
MAX_OUTPUTS = 2**24
"""Maximum number of outputs; the aggregator keeps one count for each output."""

OPEN = 0
"""The block number of inputs that belong to no block."""


@dataclass(frozen=True)
class Constant(Channel):
    """The channel of a block with one input: it always gives its one output. It occurs only inside ``Blocks``."""

    input_count: int = field(init=False, repr=False, default=1)
    output_count: int = field(init=False, repr=False, default=1)
    family: ClassVar[str] = "constant"
    scale: ClassVar[int] = 0
    rand_bytes: ClassVar[int] = 0
    prior_steps: ClassVar[int] = 1

    def weight(self, x: int, y: int) -> int:
        return 1

    def sample(self, x: int, rand: bytes) -> int:
        self._require_draw(x, rand)
        return 0

    def loss(self, first: Sequence[int], second: Sequence[int]) -> Loss:
        return Loss(1, 1, 0, 0, 0)

    def encode(self) -> codec.Value:
        return [self.family]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Constant:
        codec.fields(value, 1, "a constant channel", ChannelError)
        return cls()


INNER: dict[str, type[Channel]] = {
    family.family: family
    for family in (Constant, Table, RandomizedResponse, Hadamard, ProjectiveResponse, Wave, GradedProjective)
}
"""The families of channels that are allowed inside a block."""


@dataclass(frozen=True)
class Blocks(Channel):
    """An inner channel for each block; the outputs of block 1 come first, then those of block 2 and so on, then one for
    each open input.

    Attributes:
        cover: 2^128 times the probability with which an open input gives each output of block 1.
        runs: (block, length) pairs in input order; block 0 contains the open inputs, and the other blocks are numbered
            from 1 in order of first appearance. Neighbouring runs belong to different blocks.
        channels: the inner channel of each block, block 1 first.
        offsets: the first output of each block; entry 0 is the first output of the open inputs, after all blocks.
        inputs_by_block: the inputs of each block, in order; entry 0 contains the open inputs.
        block_of, place_of: the block of each input, and its position in the block, which is its input of the inner
            channel.
        hidden: 2^128 times the probability that an open input gives any output of block 1.
    Raises:
        ChannelError: an attribute is invalid, or does not fit the others.
    """

    cover: int
    runs: Runs
    channels: tuple[Channel, ...]
    input_count: int = field(init=False, repr=False, compare=False)
    output_count: int = field(init=False, repr=False, compare=False)
    offsets: tuple[int, ...] = field(init=False, repr=False, compare=False)
    inputs_by_block: tuple[Sequence[int], ...] = field(init=False, repr=False, compare=False)
    block_of: Sequence[int] = field(init=False, repr=False, compare=False)
    place_of: Sequence[int] = field(init=False, repr=False, compare=False)
    hidden: int = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "blocks"
    scale: ClassVar[int] = BLOCKS_SCALE
    prior_steps: ClassVar[int] = PAIR_STEPS

    def __post_init__(self) -> None:
        require_runs(self.runs, OPEN + 1, ChannelError)
        if all(block == OPEN for block, _ in self.runs):
            raise ChannelError("a channel of blocks must have at least one block, but all its inputs are open")
        input_count = sum(length for _, length in self.runs)
        if not 2 <= input_count <= MAX_VALUES:
            raise ChannelError(f"a channel must have 2 to {MAX_VALUES} inputs, not {input_count}")
        members = [array("L") for _ in range(1 + max(block for block, _ in self.runs))]
        block_of, place_of = array("L"), array("L")
        for block, length in self.runs:
            place_of.extend(range(len(members[block]), len(members[block]) + length))
            members[block].extend(range(len(block_of), len(block_of) + length))
            block_of.extend(array("L", [block]) * length)
        if len(members) == 2 and not members[OPEN]:
            raise ChannelError("the only block has all inputs: write its inner channel alone")
        if len(self.channels) != len(members) - 1:
            raise ChannelError(
                f"each block must have one inner channel: {len(members) - 1} in all, not {len(self.channels)}"
            )
        for block, inner in enumerate(self.channels, 1):
            if not isinstance(inner, tuple(INNER.values())):
                raise ChannelError(f"a block's inner channel must be one of {', '.join(INNER)}, not {inner.family}")
            if inner.input_count != len(members[block]):
                raise ChannelError(
                    f"block {block} must have as many inputs as its channel: {inner.input_count}, "
                    f"not {len(members[block])}"
                )
            if inner.input_count == 1 and not self.cover:
                raise ChannelError(
                    f"block {block} has one input, and no other input gives its outputs: leave the input open"
                )
        if self.cover and isinstance(self.channels[0], GradedProjective):
            raise ChannelError("open inputs give outputs of block 1, so its channel must not be graded: choose another")
        if self.cover and len(members) != 2:
            raise ChannelError(
                f"open inputs give outputs of block 1, so the channel must have exactly 1 block, not {len(members) - 1}"
            )
        hidden = self.cover * self.channels[0].output_count
        if not 0 <= hidden < ONE:
            raise ChannelError(
                "the probability that an open input gives an output of block 1 must be at least 0 and below 1, not "
                f"{hidden} / 2^128"
            )
        ends = tuple(accumulate(inner.output_count for inner in self.channels))
        if ends[-1] + len(members[OPEN]) > MAX_OUTPUTS:
            raise ChannelError(
                f"a channel of blocks must have at most {MAX_OUTPUTS} outputs, not {ends[-1] + len(members[OPEN])}"
            )
        self._derive(input_count=input_count, output_count=ends[-1] + len(members[OPEN]), hidden=hidden)
        self._derive(offsets=(ends[-1], 0, *ends[:-1]), inputs_by_block=tuple(members))
        self._derive(block_of=block_of, place_of=place_of)

    @classmethod
    def over(cls, cover: int, blocks: Sequence[int], build: Callable[[int], Channel]) -> Blocks:
        """Return the channel for a block number per input, 0 for open inputs; blocks are renumbered by first
        appearance.

        Args:
            cover: 2^128 times the probability with which an open input gives each output of block 1.
            blocks: the block number of each input.
            build: makes the inner channel for a number of inputs.
        """
        block_runs = runs_of(blocks, known=OPEN + 1)
        sizes = [0] * (1 + max((block for block, _ in block_runs), default=OPEN))
        for block, length in block_runs:
            sizes[block] += length
        return cls(cover, block_runs, tuple(build(size) for size in sizes[1:]))

    @property
    def rand_bytes(self) -> int:
        return COVER_BYTES + max(inner.rand_bytes for inner in self.channels)

    def weight(self, x: int, y: int) -> int:
        block, place = self.block_of[x], self.place_of[x]
        if block == OPEN:
            if y == self.offsets[OPEN] + place:
                return ONE - self.hidden
            return self.cover if y < self.offsets[OPEN] else 0
        inner = self.channels[block - 1]
        output = y - self.offsets[block]
        return _weight(inner, place, output) if 0 <= output < inner.output_count else 0

    def sample(self, x: int, rand: bytes) -> int:
        self._require_draw(x, rand)
        draw = int.from_bytes(rand[:COVER_BYTES], "big")
        # Both outputs are computed and one is chosen at the end, so the time does not show whether the input is open.
        is_open = self.block_of[x] == OPEN
        block = self.block_of[x] or 1
        inner = self.channels[block - 1]
        place = (self.place_of[x], 0)[is_open]
        within = self.offsets[block] + inner.sample(place, rand[COVER_BYTES : COVER_BYTES + inner.rand_bytes])
        hiding = draw // max(self.cover, 1)
        own_or_hidden = (self.offsets[OPEN] + self.place_of[x], hiding)[draw < self.hidden]
        return (within, own_or_hidden)[is_open]

    def selected(self, inputs: Sequence[int]) -> Sequence[int]:
        selection: list[int] = []
        for block, members in self._by_block(inputs).items():
            if block == OPEN:
                selection += members[:2]
            else:
                places = self.channels[block - 1].selected(array("L", map(self.place_of.__getitem__, members)))
                selection += [self.inputs_by_block[block][place] for place in places]
        return sorted(selection)

    def pair_steps(self, first: Sequence[int], second: Sequence[int]) -> int:
        steps = PAIR_STEPS + 2 * (len(first) + len(second))
        # Inputs of different blocks have an infinite ratio if there is no cover, so the search stops at the first pair.
        block = self.block_of[first[0]] or (1 if self.cover else OPEN)
        if block == OPEN or (not self.cover and self.block_of[second[0]] != block):
            return steps
        mine, theirs = ([self.place_of[x] for x in inputs if self.block_of[x] == block] for inputs in (first, second))
        return steps + 2 * self.channels[block - 1].pair_steps(mine, theirs)

    def loss_against_prior(self, prior: Sequence[int]) -> Loss:
        """Return an infinite loss: the output of an open input rules out all other inputs. Without open inputs, an
        output of block 1 rules out the inputs of block 2."""
        if self.inputs_by_block[OPEN]:
            open_input = self.inputs_by_block[OPEN][0]
            return Loss(1, 0, 1 if open_input == 0 else 0, None, self.offsets[OPEN])
        return Loss(1, 0, self.inputs_by_block[2][0], None, _largest_cell(self.channels[0], [0])[1])

    def loss(self, first: Sequence[int], second: Sequence[int]) -> Loss:
        worst = Loss(1, 1, first[0], second[0], 0)
        others = self._by_block(second)
        for block, inputs in self._by_block(first).items():
            for other_block, other_inputs in others.items():
                candidate = self._block_loss(block, inputs, other_block, other_inputs)
                if candidate is not None and candidate.worse_than(worst):
                    worst = candidate
                if worst.denominator == 0:
                    return worst
        return worst

    def _by_block(self, inputs: Sequence[int]) -> dict[int, Sequence[int]]:
        by_block: dict[int, array[int]] = {}
        for x in inputs:
            block = self.block_of[x]
            if block not in by_block:
                by_block[block] = array("L")
            by_block[block].append(x)
        return dict(by_block)

    def _block_loss(self, block: int, first: Sequence[int], other_block: int, second: Sequence[int]) -> Loss | None:
        """Return the worst ratio between the inputs ``first`` of ``block`` and ``second`` of ``other_block``; None if
        both contain only the same open input."""
        if block == OPEN:  # only one input gives the output of an open input
            pair = different(first, second)
            return pair and Loss(1, 0, *pair, self.offsets[OPEN] + self.place_of[pair[0]])
        inner, offset = self.channels[block - 1], self.offsets[block]
        places = [self.place_of[x] for x in first]
        if block == other_block:
            inner_loss = inner.loss(places, [self.place_of[x] for x in second])
            x, other = self.inputs_by_block[block][inner_loss.x], self.inputs_by_block[block][inner_loss.other or 0]
            return Loss(inner_loss.numerator, inner_loss.denominator, x, other, offset + inner_loss.y)
        # An open input gives these outputs with the cover weight, and an input of another block never gives them. A
        # channel with several blocks has the cover weight 0, so the cover weight is right in both cases.
        place, y = _largest_cell(inner, places)
        return Loss(_weight(inner, place, y), self.cover, self.inputs_by_block[block][place], second[0], offset + y)

    def encode(self) -> codec.Value:
        # Thousands of blocks may share a few channels, so each channel is written once, where it first occurs.
        places = {inner: place for place, inner in enumerate(dict.fromkeys(self.channels))}
        return [
            self.family,
            self.cover.to_bytes(COVER_BYTES, "big"),
            runs.encode(self.runs),
            [inner.encode() for inner in places],
            [places[inner] for inner in self.channels],
        ]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Blocks:
        _, cover, blocks, channels, places = codec.fields(value, 5, "a channel of blocks", ChannelError)
        different_ones = tuple(map(_inner, codec.array(channels, "the inner channels", ChannelError)))
        channel_numbers = codec.integers(
            places, "the number of an inner channel", ChannelError, 0, len(different_ones) - 1
        )
        codec.require_first_use(channel_numbers, len(different_ones), "inner channel", ChannelError)
        if len(set(different_ones)) < len(different_ones):
            raise ChannelError("an inner channel is listed twice: list it once for all its blocks")
        return cls(
            int.from_bytes(codec.octets(cover, "the cover weight", ChannelError, COVER_BYTES), "big"),
            runs.decode(blocks, ChannelError),
            tuple(different_ones[place] for place in channel_numbers),
        )


def largest_weight(inner: Channel) -> int:
    """Return 2^128 times the largest probability with which any input of ``inner`` gives any output."""
    return _weight(inner, *_largest_cell(inner, range(inner.input_count)))


def _weight(inner: Channel, x: int, y: int) -> int:
    return inner.weight(x, y) << BLOCKS_SCALE - inner.scale


def _largest_cell(inner: Channel, inputs: Sequence[int]) -> tuple[int, int]:
    """Return the (input, output) pair with the largest weight among ``inputs``."""
    if isinstance(inner, Hadamard):
        return inputs[0], 0  # column 0 is +1 in every row
    if isinstance(inner, ProjectiveResponse):
        return inputs[0], inner.preferred(inputs[0])
    if isinstance(inner, GradedProjective):
        # The class with the smallest outside weight has the largest inside weight.
        x = min(inputs, key=lambda x: inner.outside[inner.class_of[x]])
        return x, next(inner.geometry.supported(x))
    if isinstance(inner, Wave):
        return inputs[0], inputs[0]  # the first output of its window
    if isinstance(inner, RandomizedResponse):
        y = 0 if len(inner.cover) == 1 else max(range(inner.output_count), key=inner.cover_of)
        x = max(inputs, key=inner.cover_of)
        return max(((x, x), (x, y)), key=lambda cell: inner.weight(*cell))
    return max(((x, y) for x in inputs for y in range(inner.output_count)), key=lambda cell: inner.weight(*cell))


def _inner(value: codec.Value) -> Channel:
    name = codec.tag(value, "an inner channel", "family", ChannelError)
    family = INNER.get(name)
    if family is None:
        raise ChannelError(f"an inner channel's family must be one of {', '.join(INNER)}, not {name[:40]!r}")
    return family.from_wire(value)
