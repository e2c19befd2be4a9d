"""Blocks (SPEC 5.7) for tests: channels, refused wire forms, and a second decoder written from SPEC alone."""

from __future__ import annotations

from typing import Any

from protocol import exact
from protocol.channels import Blocks, Hadamard
from protocol.channels.bits.channel import S
from protocol.channels.blocks.channel import OPEN, Constant
from protocol.notions import Block
from tests.families import graded, hadamard, projective, response, table, wave
from tests.families.hadamard import POWER_OF_TWO, truth_of
from tests.families.noise import LINE
from tests.families.projective import LINE_OF_SIX
from tests.families.response import RESPONSE, UNEQUAL, cover_of
from tests.families.shapes import MOST, NAT, ONE, WIDE, DecodedChannel, Shapes, big, of_runs
from tests.families.subset import SETS
from tests.families.table import TABLE
from tests.families.wave import WAVE
from tests.families.windows import WINDOWS


def in_blocks(level: int, blocks: list[int]) -> Blocks:
    """Return a channel with Hadamard response in each block; block 0 marks open inputs."""
    return Blocks.over(0, blocks, lambda size: Hadamard(truth_of(level), size))


def high_low(level: int, marks: list[int]) -> Blocks:
    """Return the high-low channel; a mark of 1 means sensitive. The cover is ceil(largest weight / e^level)."""
    inner = Hadamard(truth_of(level), sum(marks))
    largest = inner.truth << 128 - inner.scale
    return Blocks.over(-(-(largest << exact.EXP_BITS) // exact.exp_lower(level)), marks, lambda _: inner)


def _refused() -> dict[str, Any]:
    truth = ONE // 4 * 3
    four = ["hadamard", 4, truth]
    five = ["hadamard", 5, truth]
    never, often = bytes(16), (2**120).to_bytes(16, "big")
    # The plane over the field of 4,093 elements has nearly 2^24 points, and each of its lines has 4,094.
    vast = ["projective", 2, 4093, 3, (2**128 % 4094).to_bytes(16, "big")]
    return {
        "blocks without runs": ["blocks", never, [], [], []],
        "blocks with half a run": ["blocks", never, [0, 1, 1, 4, 2], [four], [0]],
        "blocks with only open inputs": ["blocks", never, [0, 4], [], []],
        "blocks whose first block is 2": ["blocks", never, [0, 1, 2, 4], [four], [0]],
        "blocks out of order": ["blocks", never, [1, 4, 3, 4, 2, 4], [four], [0, 0, 0]],
        "blocks with an empty run": ["blocks", never, [1, 4, 2, 0, 0, 1], [four], [0]],
        "blocks with a run in two parts": ["blocks", never, [1, 2, 1, 2, 0, 1], [four], [0]],
        "blocks with a block of one input and no cover": ["blocks", never, [1, 4, 2, 1], [four, ["constant"]], [0, 1]],
        "blocks of too many inputs": ["blocks", never, [0, 2**20, 1, 4], [four], [0]],
        "blocks with one block of all inputs": ["blocks", never, [1, 4], [four], [0]],
        "blocks with a cover and no open input": ["blocks", often, [1, 4], [four], [0]],
        "blocks with a cover and two blocks": ["blocks", often, [0, 2, 1, 4, 2, 4], [four], [0, 0]],
        "blocks whose open inputs never give their own output": [
            "blocks",
            (2**125).to_bytes(16, "big"),
            [0, 2, 1, 4],
            [four],
            [0],
        ],
        "blocks with a cover of 15 bytes": ["blocks", often[1:], [0, 2, 1, 4], [four], [0]],
        "blocks with a cover as an integer": ["blocks", 0, [0, 2, 1, 4], [four], [0]],
        "blocks with a channel too few": ["blocks", never, [0, 2, 1, 4, 2, 4], [four], [0]],
        "blocks with a channel too many": ["blocks", never, [0, 2, 1, 4], [four], [0, 0]],
        "blocks with a channel for another number of inputs": ["blocks", never, [0, 2, 1, 3], [four], [0]],
        "blocks in blocks": ["blocks", never, [0, 2, 1, 6], [["blocks", never, [0, 2, 1, 4], [four], [0]]], [0]],
        "blocks of bits": ["blocks", never, [0, 2, 1, 2], [["bits", [S // 2], [1], [0, 2]]], [0]],
        "blocks of subset selection": ["blocks", never, [0, 2, 1, 5], [SETS.encode()], [0]],
        "blocks of noise": ["blocks", never, [0, 2, 1, 4], [LINE.encode()], [0]],
        "blocks of windows": ["blocks", never, [0, 2, 1, 6], [WINDOWS.encode()], [0]],
        "blocks of an unknown family": ["blocks", never, [0, 2, 1, 4], [["gaussian", 4]], [0]],
        "blocks with an inner channel that is refused": ["blocks", never, [0, 2, 1, 4], [["hadamard", 4, 0]], [0]],
        "blocks with an inner channel of no fields": ["blocks", never, [0, 2, 1, 4], [[]], [0]],
        "blocks without channels": ["blocks", never, [0, 2, 1, 4], 0, [0]],
        "blocks with a field too many": ["blocks", never, [0, 2, 1, 4], [four], [0], 0],
        "blocks of too many outputs": ["blocks", never, [1, 2, 2, 2], [vast], [0, 0]],
        "constant with a field": ["blocks", often, [0, 1, 1, 1], [["constant", 1]], [0]],
        "constant of two inputs": ["blocks", often, [0, 1, 1, 2], [["constant"]], [0]],
        "blocks with an inner channel written twice": ["blocks", never, [0, 2, 1, 4, 2, 4], [four, four], [0, 1]],
        "blocks with inner channels out of order": ["blocks", never, [1, 4, 2, 5], [five, four], [1, 0]],
        "blocks with an inner channel that no block has": ["blocks", never, [0, 2, 1, 4], [four, five], [0]],
        "blocks with the number of a missing inner channel": ["blocks", never, [0, 2, 1, 4, 2, 4], [four], [0, 1]],
        "constant alone": ["constant"],
    }


def _rands(channel: Blocks, x: int) -> list[bytes]:
    """Return byte strings for draws of ``x``.

    For an open input, the number in the first 16 bytes is 0, the maximum, and each threshold and the number before it.
    For another input it is the maximum, and the byte strings of its inner channel follow.
    """
    block = channel.block_of[x]
    edges = {0, channel.cover - 1, channel.cover, channel.hidden - 1, channel.hidden, WIDE - 1}
    heads = [edge.to_bytes(16, "big") for edge in sorted(edges) if edge >= 0]
    if block == OPEN:
        return [head + bytes([0xA5] * (channel.rand_bytes - 16)) for head in heads]
    inner = channel.channels[block - 1]
    tails = INNER[inner.family].rands(inner, channel.place_of[x])
    return [heads[-1] + tail + bytes(channel.rand_bytes - 16 - len(tail)) for tail in tails]


def second_decoder(cover_bytes: bytes, runs: list[int], inner: list[list[Any]], numbers: list[int]) -> DecodedChannel:
    cover, of = big(cover_bytes), of_runs(runs)
    made = [INNER[inner[number][0]].second_decoder(*inner[number][1:]) for number in numbers]
    offsets = [sum(one.output_count for one in made[:j]) for j in range(len(made) + 1)]
    place = [of[:x].count(block) for x, block in enumerate(of)]

    def weight(x: int, y: int) -> int:
        if of[x] == 0:
            if y == offsets[-1] + place[x]:
                return 2**128 - cover * made[0].output_count
            return cover if y < made[0].output_count else 0
        own, output = made[of[x] - 1], y - offsets[of[x] - 1]
        return own.weight(place[x], output) << 128 - own.scale if 0 <= output < own.output_count else 0

    def sample(x: int, rand: bytes) -> int:
        u, v = big(rand[:16]), rand[16:]
        if of[x] == 0:
            return u // cover if u < cover * made[0].output_count else offsets[-1] + place[x]
        own = made[of[x] - 1]
        return offsets[of[x] - 1] + own.sample(place[x], v[: own.rand_bytes])

    outputs = offsets[-1] + of.count(0)
    return DecodedChannel(len(of), outputs, 128, 16 + max(one.rand_bytes for one in made), weight, sample)


INNER = {
    "table": table.SHAPES,
    "response": response.SHAPES,
    "hadamard": hadamard.SHAPES,
    "projective": projective.SHAPES,
    "wave": wave.SHAPES,
    "graded": graded.SHAPES,
    "constant": Shapes(lambda *_: [b""], lambda: DecodedChannel(1, 1, 0, 0, lambda x, y: 1, lambda x, rand: 0)),
}
"""The families of inner channels, and the constant channel of one input and one output."""


BLOCKS = in_blocks(NAT, [1, 1, 2, 0, 2, 2, 1, 2, 0])
SENSITIVE = high_low(NAT, [0, 1, 1, 0, 1])
MANGAT = Blocks(-(-(WIDE << exact.EXP_BITS) // exact.exp_lower(NAT)), ((0, 1), (1, 1), (0, 1)), (Constant(),))

SHAPES = Shapes(
    small={
        "blocks of unequal sizes, and open inputs": BLOCKS,
        "blocks of different families": Blocks(0, ((1, 3), (2, 2), (3, 4), (2, 2)), (TABLE, POWER_OF_TWO, RESPONSE)),
        "blocks that share an inner channel": Blocks(0, ((1, 4), (2, 3), (3, 4)), (LINE_OF_SIX, UNEQUAL, LINE_OF_SIX)),
        "blocks of a graded channel and a wave": Blocks(0, ((1, 6), (2, 6)), (graded.GRADED, WAVE)),
        "blocks of a wave and a response": Blocks(0, ((1, 6), (2, 4)), (WAVE, RESPONSE)),
        "blocks, with a sensitive set": SENSITIVE,
        "blocks, with one sensitive input": MANGAT,
        "blocks, with a sensitive set and response inside": Blocks(
            cover_of(NAT, 4) << 64, ((1, 4), (0, 2)), (RESPONSE,)
        ),
        "blocks, with a sensitive set and a projective channel inside": Blocks(
            LINE_OF_SIX.outside, ((0, 1), (1, 4)), (LINE_OF_SIX,)
        ),
    },
    refused=_refused(),
    more={
        "blocks, open inputs between them": in_blocks(NAT // 10, [0, 1, 1, 0, 2, 2, 2, 0]),
        "blocks, interleaved": in_blocks(3 * NAT, [1, 2, 1, 2, 1, 2, 2]),
        "high-low, all but one sensitive": high_low(NAT, [1, 1, 1, 0, 1]),
        "high-low, two sensitive": high_low(2 * NAT, [0, 1, 0, 0, 1]),
        "high-low, no cover": in_blocks(NAT, [0, 1, 1]),
    },
    drawn={
        "blocks": in_blocks(NAT, [1] * 300 + [2] * 500 + [0] * 10),
        "high-low": high_low(NAT, [1] * 700 + [0] * 300),
    },
    costly={
        "blocks block": (
            Block(MOST, tuple((number, 2) for number in range(40))),
            Blocks(0, tuple((number + 1, 2) for number in range(40)), (Hadamard(2**63 + 2**62, 2),) * 40),
        ),
    },
    rands=_rands,
    second_decoder=second_decoder,
)
