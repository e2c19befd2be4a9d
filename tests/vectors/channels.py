"""The vectors of channels, and a small channel of every family and shape for whoever tests them (SPEC 5).

A channel is a matrix and a function of random bytes, so a case lists the one, and draws on both sides of
every threshold of the other. The large ones have some of both.

Weights come from closed forms and levels in integers, as an author's would; which mechanism is best is no matter here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from math import comb
from typing import Any

from protocol import codec, exact
from protocol.channels import (
    Bits,
    Blocks,
    Channel,
    GradedProjective,
    Hadamard,
    Noise,
    ProjectiveGeometry,
    RandomizedResponse,
    SubsetSelection,
    Table,
    Triples,
    Wave,
    Windows,
)
from protocol.channels.bits.channel import S
from protocol.channels.blocks.channel import OPEN, Constant
from protocol.channels.response.channel import RESPONSE_SCALE
from protocol.channels.windows.arrangement import Single, Type
from tests.vectors.case import Case, number, wire

ONE = 1 << 64
WIDE = 1 << 128
STEPS = 1 << 62
NAT = exact.NANONATS
EXP_ONE = 1 << exact.EXP_BITS

# 1. Recipes


def truth_of(level: int) -> int:
    """floor(2^64 e / (1 + e)) with e bounded from below: the Hadamard truth weight at ``level``."""
    odds = exact.exp_lower(level)
    return (odds << 64) // (odds + EXP_ONE)


def cover_of(level: int, size: int) -> int:
    """ceil(2^64 / (e + k - 1)): the cover weight of k-ary randomised response at ``level``."""
    odds = exact.exp_lower(level)
    return -(-(EXP_ONE << RESPONSE_SCALE) // (odds + (size - 1) * EXP_ONE))


def in_blocks(level: int, blocks: list[int]) -> Blocks:
    """Hadamard response in each block; 0 is open."""
    return Blocks.over(0, blocks, lambda size: Hadamard(truth_of(level), size))


def high_low(level: int, marks: list[int]) -> Blocks:
    """The high-low channel: ``marks`` 1 for sensitive. The cover is ceil(largest weight / e)."""
    inner = Hadamard(truth_of(level), sum(marks))
    largest = inner.truth << 128 - inner.scale
    return Blocks.over(-(-(largest << exact.EXP_BITS) // exact.exp_lower(level)), marks, lambda _: inner)


def outside_of(level: int, having: int, lacking: int) -> int:
    """ceil(2^128 / (having * e + lacking)): what an output without the own input weighs at ``level``."""
    return -(-(WIDE << exact.EXP_BITS) // (exact.exp_lower(level) * having + EXP_ONE * lacking))


def projective(size: int, order: int, dimension: int, level: int) -> ProjectiveGeometry:
    """The channel over a field and dimension of choice; a row is whole where outside is 2^128 modulo cs."""
    having, lacking = (order ** (dimension - 1) - 1) // (order - 1), order ** (dimension - 1)
    least = outside_of(level, having, lacking)
    return ProjectiveGeometry(size, order, dimension, least + (WIDE - least) % having)


def graded(order: int, dimension: int, levels: Sequence[int]) -> GradedProjective:
    """The channel whose inputs keep each a level of their own among those of their class, over a geometry of choice."""
    having, lacking = (order ** (dimension - 1) - 1) // (order - 1), order ** (dimension - 1)
    least = [outside_of(level, having, lacking) for level in levels]
    return GradedProjective.over(order, dimension, [weight + (WIDE - weight) % having for weight in least])


def subset(size: int, ones: int, level: int) -> SubsetSelection:
    """The channel with sets of a size of choice; of one set without the own input there is no remainder."""
    having, lacking = comb(size - 1, ones - 1), comb(size - 1, ones)
    least = outside_of(level, having, lacking)
    return SubsetSelection(size, ones, least + ((WIDE - least) % having if lacking == 1 else 0))


def triples(size: int, level: int) -> Triples:
    """The channel on the system for ``size`` points."""
    shape = Triples(size, 1)
    return Triples(size, outside_of(level, shape.support, shape.outputs - shape.support))


def wave(size: int, half: int, level: int) -> Wave:
    """The channel with a half width of choice; a row is whole where outside is 2^128 / (k - 1) modulo the window."""
    span = 2 * half + 1
    least = outside_of(level, span, size - 1)
    return Wave(size, half, least + (pow(size - 1, -1, span) * WIDE - least) % span)


def mirrored(rows: int, columns: int, weights: Sequence[int]) -> Noise:
    """Noise that is alike in all directions, from the weights of all steps but (0, 0), which has what they leave."""
    images = [(1 + (r > 0)) * (1 + (c > 0)) for r in range(rows) for c in range(columns)][1:]
    rest = STEPS - sum(weight * image for weight, image in zip(weights, images, strict=True))
    return Noise(rows, columns, (rest, *weights))


# 2. Small channels

TABLE = Table.nearest([
    [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6), Fraction(0)],
    [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2), Fraction(0)],
    [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3), Fraction(0)],
])  # fmt: skip
RESPONSE = RandomizedResponse(4, (cover_of(NAT, 4),))
UNEQUAL = RandomizedResponse(3, (ONE // 8, ONE // 16, ONE // 32 + 1))
PLAIN = Hadamard(truth_of(NAT), 5)
POWER_OF_TWO = Hadamard(truth_of(2 * NAT), 4)
BLOCKS = in_blocks(NAT, [1, 1, 2, 0, 2, 2, 1, 2, 0])
SENSITIVE = high_low(NAT, [0, 1, 1, 0, 1])
MANGAT = Blocks(-(-(WIDE << exact.EXP_BITS) // exact.exp_lower(NAT)), ((0, 1), (1, 1), (0, 1)), (Constant(),))
FANO = projective(7, 2, 3, NAT)
LINE_OF_SIX = projective(4, 5, 2, 2 * NAT)
SETS = subset(5, 2, NAT)
TWO_CLASSES = Bits((S // 2, 2 * S // 3), (S // 5, S // 20), ((0, 1), (1, 2), (0, 1)))
LINE = mirrored(1, 4, (STEPS // 8, STEPS // 16, STEPS // 64))
MAP = Noise(2, 3, tuple((n * n + 3 * n + 1 if n != 7 else 4096 - 1274) << 50 for n in range(15)))
NINE = triples(9, NAT)
WAVE = wave(6, 1, NAT)
GRADED = graded(2, 3, [NAT, 2 * NAT, 2 * NAT, NAT, 3 * NAT, NAT])
WINDOWS = Windows(
    (3, 0, 5, 0, 2, 40), 3, 2, (1,), (Single(3, ONE // 8, ONE // 64),),
    (
        Type(1, ONE // 20, ONE // 50, ONE // 33, (ONE // 40,)),
        Type(2, ONE // 12, ONE // 31, ONE // 27, (ONE // 29,)),
        Type(3, ONE // 70, ONE // 70, ONE // 60, (ONE // 55,)),
    ),
)  # fmt: skip
CHANNELS: dict[str, Channel] = {
    "table": TABLE,
    "response of equal weights": RESPONSE,
    "response of unequal weights": UNEQUAL,
    "response that always tells": RandomizedResponse(2, (0,)),
    "response that never tells": RandomizedResponse(2, (ONE // 2,)),
    "Hadamard, plain": PLAIN,
    "Hadamard, k a power of two": POWER_OF_TWO,
    "projective, the plane of seven points": FANO,
    "projective of two coordinates, more outputs than inputs": LINE_OF_SIX,
    "projective over three elements": projective(11, 3, 3, NAT // 10),
    "projective, a line over four elements": projective(5, 4, 2, NAT),
    "projective over four elements": projective(7, 4, 3, NAT),
    "projective, a line over eight elements": projective(4, 8, 2, 2 * NAT),
    "projective, a line over nine elements": projective(10, 9, 2, 2 * NAT),
    "subset, two of five": SETS,
    "subset, all but one": subset(4, 3, 2 * NAT),
    "subset with a large remainder": SubsetSelection(5, 3, 11),
    "bits of one class": Bits((3 * S // 4,), (S // 4 + 1,), ((0, 2),)),
    "bits of two classes": TWO_CLASSES,
    "bits never wrong, or never hidden": Bits((S, S // 2), (S // 8, 0), ((0, 2), (1, 1))),
    "blocks of unequal sizes, and open inputs": BLOCKS,
    "blocks of a family each": Blocks(0, ((1, 3), (2, 2), (3, 4), (2, 2)), (TABLE, POWER_OF_TWO, RESPONSE)),
    "blocks that share an inner channel": Blocks(0, ((1, 4), (2, 3), (3, 4)), (LINE_OF_SIX, UNEQUAL, LINE_OF_SIX)),
    "blocks of a wave and a response": Blocks(0, ((1, 6), (2, 4)), (WAVE, RESPONSE)),
    "blocks, with a sensitive set": SENSITIVE,
    "blocks, with one sensitive input": MANGAT,
    "blocks, with a sensitive set and response inside": Blocks(cover_of(NAT, 4) << 64, ((1, 4), (0, 2)), (RESPONSE,)),
    "blocks, with a sensitive set and a projective channel inside": Blocks(
        LINE_OF_SIX.outside, ((0, 1), (1, 4)), (LINE_OF_SIX,)
    ),
    "noise on a line": LINE,
    "noise on a map, directions unlike": MAP,
    "noise on a map, directions alike": mirrored(3, 2, tuple(STEPS >> shift for shift in (5, 6, 7, 9, 11))),
    "noise that always goes on": Noise(1, 3, (0, 0, 0, STEPS, 0)),
    "triples, nine points": NINE,
    "triples, more points than inputs, and a large remainder": Triples(10, 7),
    "windows, inputs of every kind": WINDOWS,
    "windows of singles": Windows(
        (0, 0, 0), 1, 1, (), tuple(Single(x, ONE // 2 + x, ONE // 5) for x in range(3)), ()
    ),
    "windows of equal arcs, and no rest": Windows(
        (7, 7, 7, 7), 4, 1, (), (), (Type(2, 3 * ONE // 8, ONE // 8, 0, ()),)
    ),
    "windows, more arcs than cells": Windows(
        (1, 100, 3, 50, 9), 2, 4, (), (), (Type(1, ONE // 3, ONE // 6, 0, ()), Type(0, ONE // 9, ONE // 9, 0, ()))
    ),
    "wave": WAVE,
    "wave of two inputs": wave(2, 1, 2 * NAT),
    "wave, outputs that are near all inputs": wave(4, 2, NAT // 10),
    "graded, three classes on the plane of seven points": GRADED,
    "graded, two inputs on a line": graded(3, 2, [2 * NAT, NAT // 2]),
    "graded over four elements": graded(4, 3, [NAT] * 3 + [NAT // 4] * 4),
}  # fmt: skip

_FREQUENT = (Single(2, ONE // 50, ONE // 200), Single(150, ONE // 60, ONE // 180))
LARGE: dict[str, tuple[Channel, list[tuple[int, int]]]] = {
    "Hadamard, k = 43,750": (Hadamard(truth_of(NAT), 43_750), [(0, 0), (43_749, 65_535), (43_749, 1)]),
    "response, k = 43,750": (
        RandomizedResponse(43_750, (cover_of(8 * NAT, 43_750),)), [(0, 0), (0, 1), (43_749, 43_749)],
    ),
    "projective, k = 43,750": (projective(43_750, 37, 4, 4 * NAT), [(0, 0), (0, 1), (43_749, 52_059), (43_749, 5)]),
    "projective over four elements, k = 1,000": (projective(1000, 4, 6, NAT), [(0, 0), (0, 1), (999, 1364), (500, 77)]),
    "projective over eight elements, k = 500": (projective(500, 8, 4, 2 * NAT), [(0, 0), (9, 80), (499, 584), (77, 5)]),
    "projective over nine elements, k = 91": (projective(91, 9, 3, 2 * NAT), [(0, 0), (90, 90), (45, 17), (12, 88)]),
    "subset, k = 62": (subset(62, 17, NAT), [(0, 2**62 - 2**45), (61, 2**17 - 1), (0, 2**61 - 2**44), (3, 2**18 - 1)]),
    "triples, k = 4,095": (triples(4095, 5 * NAT), [(0, 0), (0, 1), (4094, 1364), (2000, 1365 * 2047 - 1)]),
    "bits, k = 100": (
        Bits((S // 2, S // 3), (S // 4, S // 9), ((0, 60), (1, 30), (0, 10))), [(0, 1 << 99), (99, 0)],
    ),
    "noise on a map of 256 places": (
        mirrored(16, 16, tuple(STEPS >> 8 + (place // 16 + place % 16) // 2 for place in range(1, 256))),
        [(0, 0), (17, 18), (255, 0), (128, 127)],
    ),
    "windows, k = 300": (
        Windows(
            tuple(0 if x in (0, 1, 2, 150) else 1 + 7919 * x % 101 for x in range(300)), 64, 4, (0, 1), _FREQUENT,
            (
                Type(20, ONE // 100, ONE // 300, ONE // 250, (ONE // 110, ONE // 280)),
                Type(7, ONE // 500, ONE // 900, ONE // 800, (ONE // 880, ONE // 510)),
            ),
        ),
        [(0, 3), (2, 0), (3, 2), (150, 1), (299, 514), (5, 258), (77, 300)],
    ),
    "wave, k = 43,750": (wave(43_750, 11_201, NAT), [(0, 0), (0, 22_403), (43_749, 66_151), (20_000, 42_402), (7, 6)]),
    "graded, k = 1,000": (
        graded(4, 6, [NAT, *[2 * NAT] * 899, *[3 * NAT] * 100]), [(0, 0), (0, 1), (999, 1364), (500, 77), (1, 0)],
    ),
}  # fmt: skip


# 3. Cases


def channel_cases() -> Iterator[Case]:
    for name, channel in CHANNELS.items():
        yield {
            **_described(name, channel),
            "weights": [[str(channel.weight(x, y)) for y in range(channel.outputs)] for x in range(channel.inputs)],
            "draws": _draws(channel, ((x, rand) for x in _some_inputs(channel, 7) for rand in _rands(channel, x))),
        }
    for name, (channel, cells) in LARGE.items():
        rands = [bytes(channel.rand_bytes), bytes([255] * channel.rand_bytes), bytes(range(channel.rand_bytes % 256))]
        rands[2] = (rands[2] * 256)[: channel.rand_bytes]
        yield {
            **_described(name, channel),
            "some_weights": [{"input": x, "output": number(y), "weight": str(channel.weight(x, y))} for x, y in cells],
            "draws": _draws(channel, ((x, rand) for x in _some_inputs(channel, 0) for rand in rands)),
        }
    for name, value in _refused().items():
        yield {"name": name, "wire": wire(value), "stage": "channel"}


def _described(name: str, channel: Channel) -> Case:
    return {
        "name": name,
        "wire": codec.encode(channel.encode()).hex(),
        "inputs": channel.inputs,
        "outputs": number(channel.outputs),
        "output_bits": channel.output_bits,
        "features": channel.features,
        "scale": channel.scale,
        "rand_bytes": channel.rand_bytes,
    }


def _draws(channel: Channel, draws: Iterable[tuple[int, bytes]]) -> list[Case]:
    return [{"input": x, "rand": rand.hex(), "output": number(channel.sample(x, rand))} for x, rand in draws]


def _some_inputs(channel: Channel, most: int) -> Sequence[int]:
    """All inputs, or where there are more than ``most`` three of them."""
    return range(channel.inputs) if channel.inputs <= most else (0, channel.inputs // 2, channel.inputs - 1)


# 4. What is no channel


def _refused() -> dict[str, Any]:
    return {
        **_refused_plain(),
        **_refused_blocks(),
        **_refused_designs(),
        **_refused_bits(),
        **_refused_noise(),
        **_refused_windows(),
        **_refused_triples(),
        **_refused_wave(),
        **_refused_graded(),
    }


def _refused_plain() -> dict[str, Any]:
    whole = STEPS
    truth = ONE // 4 * 3
    return {
        "no array": 1,
        "empty": [],
        "unknown family": ["gaussian", 1],
        "family as bytes": [b"table", [[whole, 0], [0, whole]]],
        "table of one row": ["table", [[whole, 0]]],
        "table of one column": ["table", [[whole], [whole]]],
        "table of no rows": ["table", []],
        "table row a unit short": ["table", [[whole, 0], [0, whole - 1]]],
        "table row a unit over": ["table", [[whole, 0], [1, whole]]],
        "table row with a negative weight": ["table", [[whole, 0], [-1, whole + 1]]],
        "table rows of unequal lengths": ["table", [[whole, 0], [0, 0, whole]]],
        "table weight as text": ["table", [[whole, 0], ["0", whole]]],
        "table with a field too many": ["table", [[whole, 0], [0, whole]], 0],
        "response of one input": ["response", 1, [1]],
        "response of too many inputs": ["response", 2**20 + 1, [1]],
        "response with two weights for three": ["response", 3, [1, 2]],
        "response with equal weights written out": ["response", 3, [7, 7, 7]],
        "response with a cover above one": ["response", 2, [2**63 + 1]],
        "response with unequal covers above one": ["response", 2, [2**63, 2**63 + 1]],
        "response with no weight": ["response", 2, []],
        "response with a negative weight": ["response", 2, [-1]],
        "Hadamard of one half": ["hadamard", 4, ONE // 2],
        "Hadamard that never tells the truth": ["hadamard", 4, 0],
        "Hadamard of one input": ["hadamard", 1, truth],
        "Hadamard of too many inputs": ["hadamard", 2**20 + 1, truth],
        "Hadamard with a field too many": ["hadamard", 4, truth, 0],
    }


def _refused_blocks() -> dict[str, Any]:
    truth = ONE // 4 * 3
    four = ["hadamard", 4, truth]
    five = ["hadamard", 5, truth]
    never, often = bytes(16), (2**120).to_bytes(16, "big")
    # The plane over 4,093 elements has nearly 2^24 points, 4,094 of them on a line.
    vast = ["projective", 2, 4093, 3, (2**128 % 4094).to_bytes(16, "big")]
    return {
        "blocks without runs": ["blocks", never, [], [], []],
        "blocks with half a run": ["blocks", never, [0, 1, 1, 4, 2], [four], [0]],
        "blocks with only open inputs": ["blocks", never, [0, 4], [], []],
        "blocks whose first block is 2": ["blocks", never, [0, 1, 2, 4], [four], [0]],
        "blocks out of order": ["blocks", never, [1, 4, 3, 4, 2, 4], [four], [0, 0, 0]],
        "blocks with a run of none": ["blocks", never, [1, 4, 2, 0, 0, 1], [four], [0]],
        "blocks with a run in two parts": ["blocks", never, [1, 2, 1, 2, 0, 1], [four], [0]],
        "blocks with a block of one and no cover": ["blocks", never, [1, 4, 2, 1], [four, ["constant"]], [0, 1]],
        "blocks of too many inputs": ["blocks", never, [0, 2**20, 1, 4], [four], [0]],
        "blocks that are one block of all inputs": ["blocks", never, [1, 4], [four], [0]],
        "blocks with a cover but nobody open": ["blocks", often, [1, 4], [four], [0]],
        "blocks with a cover and two blocks": ["blocks", often, [0, 2, 1, 4, 2, 4], [four], [0, 0]],
        "blocks whose open inputs always hide": ["blocks", (2**125).to_bytes(16, "big"), [0, 2, 1, 4], [four], [0]],
        "blocks with a cover of 15 bytes": ["blocks", often[1:], [0, 2, 1, 4], [four], [0]],
        "blocks with a cover as an integer": ["blocks", 0, [0, 2, 1, 4], [four], [0]],
        "blocks with a channel too few": ["blocks", never, [0, 2, 1, 4, 2, 4], [four], [0]],
        "blocks with a channel too many": ["blocks", never, [0, 2, 1, 4], [four], [0, 0]],
        "blocks with a channel of other inputs": ["blocks", never, [0, 2, 1, 3], [four], [0]],
        "blocks in blocks": ["blocks", never, [0, 2, 1, 6], [["blocks", never, [0, 2, 1, 4], [four], [0]]], [0]],
        "blocks of bits": ["blocks", never, [0, 2, 1, 2], [["bits", [S // 2], [1], [0, 2]]], [0]],
        "blocks of subset selection": ["blocks", never, [0, 2, 1, 5], [SETS.encode()], [0]],
        "blocks of noise": ["blocks", never, [0, 2, 1, 4], [LINE.encode()], [0]],
        "blocks of windows": ["blocks", never, [0, 2, 1, 6], [WINDOWS.encode()], [0]],
        "blocks of an unknown family": ["blocks", never, [0, 2, 1, 4], [["gaussian", 4]], [0]],
        "blocks with an inner channel that is none": ["blocks", never, [0, 2, 1, 4], [["hadamard", 4, 0]], [0]],
        "blocks with an inner channel of no fields": ["blocks", never, [0, 2, 1, 4], [[]], [0]],
        "blocks without channels": ["blocks", never, [0, 2, 1, 4], 0, [0]],
        "blocks with a field too many": ["blocks", never, [0, 2, 1, 4], [four], [0], 0],
        "blocks of too many outputs": ["blocks", never, [1, 2, 2, 2], [vast], [0, 0]],
        "constant with a field": ["blocks", often, [0, 1, 1, 1], [["constant", 1]], [0]],
        "constant of two inputs": ["blocks", often, [0, 1, 1, 2], [["constant"]], [0]],
        "blocks with an inner channel written twice": ["blocks", never, [0, 2, 1, 4, 2, 4], [four, four], [0, 1]],
        "blocks with inner channels out of order": ["blocks", never, [1, 4, 2, 5], [five, four], [1, 0]],
        "blocks with an inner channel of no block": ["blocks", never, [0, 2, 1, 4], [four, five], [0]],
        "blocks with a number of no inner channel": ["blocks", never, [0, 2, 1, 4, 2, 4], [four], [0, 1]],
        "constant alone": ["constant"],
    }


def _refused_designs() -> dict[str, Any]:
    """Projective and subset channels that are none."""
    seven = ["projective", 7, 2, 3]

    def plane(outside: int) -> list[Any]:
        return [*seven, outside.to_bytes(16, "big")]

    weight = FANO.outside.to_bytes(16, "big")
    flat = WIDE // 7 + 1  # the first weight not below the inside one that makes a row whole
    flat += (WIDE - flat) % 3

    def sets(size: int, ones: int, outside: int) -> list[Any]:
        return ["subset", size, ones, outside.to_bytes(16, "big")]

    return {
        "projective with a field missing": seven,
        "projective with a field too many": [*seven, weight, 0],
        "projective with a weight of 15 bytes": [*seven, weight[1:]],
        "projective with a weight as an integer": [*seven, 5],
        "projective of one input": ["projective", 1, 2, 3, weight],
        "projective of more inputs than points": ["projective", 8, 2, 3, weight],
        "projective over six elements": ["projective", 7, 6, 3, (WIDE % 7).to_bytes(16, "big")],
        "projective over sixteen elements": ["projective", 7, 16, 3, (WIDE % 17).to_bytes(16, "big")],
        "projective over one element": ["projective", 3, 1, 3, weight],
        "projective over 2^20 + 7 elements": ["projective", 7, 2**20 + 7, 2, weight],
        "projective of one coordinate": ["projective", 2, 3, 1, weight],
        "projective of 25 coordinates": ["projective", 7, 2, 25, (WIDE % (2**24 - 1)).to_bytes(16, "big")],
        "projective of more than 2^24 points": [
            "projective",
            7,
            257,
            4,
            (WIDE % (1 + 257 + 257**2)).to_bytes(16, "big"),
        ],
        "projective with an outside weight of none": plane(0),
        "projective with a row of 2^128 and a remainder": plane(FANO.outside + 1),
        "projective with an outside weight above the inside one": plane(flat),
        "projective with a row above 2^128": [*seven, b"\xff" * 16],
        "subset with a field missing": ["subset", 5, 2],
        "subset with a field too many": [*sets(5, 2, SETS.outside), 0],
        "subset with a weight of 17 bytes": ["subset", 5, 2, bytes(17)],
        "subset with a weight as text": ["subset", 5, 2, "0" * 16],
        "subset of two inputs": sets(2, 1, 1),
        "subset of 63 inputs": sets(63, 2, WIDE // 4000),
        "subset of sets of one": sets(5, 1, WIDE // 10),
        "subset of the set of all": sets(5, 5, 1),
        "subset with an outside weight of none": sets(5, 2, 0),
        "subset with an outside weight above the inside one": sets(5, 2, WIDE // 10 + 1),
        "subset with a row above 2^128": ["subset", 5, 2, b"\xff" * 16],
        "subset with a remainder above inside less outside": sets(7, 4, WIDE // 35 - 1),
        "subset with a remainder where one set is without the own input": sets(4, 3, subset(4, 3, NAT).outside + 1),
    }


def _refused_bits() -> dict[str, Any]:
    half = S // 2
    return {
        "bits with a field missing": ["bits", [half], [1]],
        "bits with a field too many": ["bits", [half], [1], [0, 2], 0],
        "bits with a probability as bytes": ["bits", [b"half"], [1], [0, 2]],
        "bits of one input": ["bits", [half], [1], [0, 1]],
        "bits of too many inputs": ["bits", [half], [1], [0, 2**16 + 1]],
        "bits without runs": ["bits", [], [], []],
        "bits with half a run": ["bits", [half, S], [1, 2], [0, 2, 1]],
        "bits whose other bits are as often one": ["bits", [half], [half], [0, 2]],
        "bits whose other bits are more often one": ["bits", [half], [half + 1], [0, 2]],
        "bits with a probability above one": ["bits", [S + 1], [1], [0, 2]],
        "bits with a negative probability": ["bits", [half], [-1], [0, 2]],
        "bits of two classes alike": ["bits", [half, half], [1, 1], [0, 2, 1, 2]],
        "bits of two classes with one other probability": ["bits", [half, S], [1], [0, 2, 1, 2]],
        "bits of two classes, one of nobody": ["bits", [half, S], [1, 2], [0, 2]],
        "bits of two classes with one own probability": ["bits", [half], [1, 2], [0, 2, 1, 2]],
        "bits with classes out of order": ["bits", [half, S], [1, 2], [1, 2, 0, 2]],
        "bits with a run in two parts": ["bits", [half], [1], [0, 1, 0, 1]],
        "bits with a run of none": ["bits", [half, S], [1, 2], [0, 1, 1, 0, 0, 1]],
    }


def _refused_noise() -> dict[str, Any]:
    rest = STEPS - 2 * 7
    return {
        "noise with a field missing": ["noise", 1, [rest, 7, 0]],
        "noise with a field too many": ["noise", 1, 3, [rest, 7, 0], 0],
        "noise of no rows": ["noise", 0, 3, []],
        "noise of one column": ["noise", 3, 1, [rest, 7, 0]],
        "noise of rows as text": ["noise", "1", 3, [rest, 7, 0]],
        "noise over 4,097 points": ["noise", 1, 4097, [STEPS, *[0] * 4096]],
        "noise with a weight too few": ["noise", 1, 3, [rest, 7]],
        "noise with a weight too many": ["noise", 1, 3, [rest, 7, 0, 0]],
        "noise a unit short": ["noise", 1, 3, [rest - 1, 7, 0]],
        "noise a unit over": ["noise", 1, 3, [rest + 1, 7, 0]],
        "noise whose mirror images were not counted": ["noise", 1, 3, [STEPS - 7, 7, 0]],
        "noise with a negative weight": ["noise", 1, 3, [STEPS, -1, 1]],
        "noise with weights as bytes": ["noise", 1, 3, bytes(3)],
        "noise alike in all directions, written out": ["noise", 1, 3, [0, 7, rest, 7, 0]],
        "noise on a map alike in all directions, written out": ["noise", 2, 2, [1, 2, 1, 3, STEPS - 14, 3, 1, 2, 1]],
    }


def _refused_triples() -> dict[str, Any]:
    def of(size: int, outside: int) -> list[Any]:
        return ["triples", size, outside.to_bytes(16, "big")]

    return {
        "triples with a field missing": ["triples", 9],
        "triples with a field too many": [*of(9, NINE.outside), 0],
        "triples with a weight of 15 bytes": ["triples", 9, bytes(15)],
        "triples with a weight as an integer": ["triples", 9, NINE.outside >> 64],
        "triples of one input": of(1, NINE.outside),
        "triples of 4,096 inputs": of(4096, 1),
        "triples with an outside weight of none": of(9, 0),
        "triples with an outside weight above the inside one": of(9, WIDE // 12 + 1),
        "triples with a row above 2^128": ["triples", 9, b"\xff" * 16],
        # 35 triples, of which 7 hold an input: inside is outside + 1, and 4 are left.
        "triples with a remainder above inside less outside": of(15, WIDE // 35),
    }


def _refused_wave() -> dict[str, Any]:
    def of(size: int, half: int, outside: int) -> list[Any]:
        return ["wave", size, half, outside.to_bytes(16, "big")]

    def whole(size: int, half: int, least: int) -> list[Any]:
        """With the next outside weight that leaves no remainder."""
        span = 2 * half + 1
        return of(size, half, least + (pow(size - 1, -1, span) * WIDE - least) % span)

    return {
        "wave with a field missing": ["wave", 6, 1],
        "wave with a field too many": [*of(6, 1, WAVE.outside), 0],
        "wave with a weight of 15 bytes": ["wave", 6, 1, bytes(15)],
        "wave with a weight as an integer": ["wave", 6, 1, WAVE.outside >> 64],
        "wave of one input": of(1, 1, WAVE.outside),
        "wave of too many inputs": whole(2**20 + 1, 1, 2**107),
        "wave of no half width": whole(6, 0, WIDE // 30),
        "wave of a half width of all inputs": whole(6, 6, WIDE // 30),
        "wave with an outside weight of none": of(6, 1, 0),
        "wave with an outside weight above the inside one": whole(6, 1, WIDE // 8 + 1),
        "wave with a row above 2^128": ["wave", 6, 1, b"\xff" * 16],
        "wave with a row of 2^128 and a remainder": of(6, 1, WAVE.outside + 1),
        "wave whose window has a factor of the others": of(4, 1, WIDE // 9),
    }


def _refused_graded() -> dict[str, Any]:
    weights = [weight.to_bytes(16, "big") for weight in GRADED.outside]
    runs = [0, 1, 1, 2, 0, 1, 2, 1, 0, 1]

    def of(*outside: int) -> list[Any]:
        return ["graded", 2, 3, [weight.to_bytes(16, "big") for weight in outside], [0, 3, 1, 3]]

    first, second, _ = GRADED.outside
    flat = WIDE // 7 + 1  # the first weight not below the inside one that makes a row whole
    flat += (WIDE - flat) % 3
    return {
        "graded with a field missing": ["graded", 2, 3, weights],
        "graded with a field too many": ["graded", 2, 3, weights, runs, 0],
        "graded with weights as bytes": ["graded", 2, 3, b"".join(weights), runs],
        "graded with a weight of 15 bytes": ["graded", 2, 3, [weights[0][1:], *weights[1:]], runs],
        "graded with a weight too few": ["graded", 2, 3, weights[:2], runs],
        "graded with a weight too many": ["graded", 2, 3, weights, [0, 3, 1, 3]],
        "graded of one class": ["graded", 2, 3, weights[:1], [0, 6]],
        "graded of no inputs": ["graded", 2, 3, [], []],
        "graded of 65 classes": [
            "graded", 2, 7, [(WIDE // 200 + (WIDE - WIDE // 200) % 63 + 63 * c).to_bytes(16, "big") for c in range(65)],
            [number for c in range(65) for number in (c, 1)],
        ],
        "graded with classes out of order": ["graded", 2, 3, weights[:2], [1, 3, 0, 3]],
        "graded with a run in two parts": ["graded", 2, 3, weights[:2], [0, 2, 0, 1, 1, 3]],
        "graded with half a run": ["graded", 2, 3, weights[:2], [0, 3, 1]],
        "graded of more inputs than points": ["graded", 2, 3, weights[:2], [0, 3, 1, 5]],
        "graded over six elements": ["graded", 6, 3, weights[:2], [0, 3, 1, 3]],
        "graded of one coordinate": ["graded", 7, 1, weights[:2], [0, 1, 1, 1]],
        "graded of two classes alike": of(first, first),
        "graded with an outside weight of none": of(first, 0),
        "graded with an outside weight above the inside one": of(first, flat),
        "graded with a row of 2^128 and a remainder": of(first, second + 1),
        "blocks of graded channels": ["blocks", bytes(16), [0, 2, 1, 6], [GRADED.encode()], [0]],
    }  # fmt: skip


def _refused_windows() -> dict[str, Any]:
    """Each is this channel of two arcs, a heavy input and a single, but for what its name says."""
    unit = ONE // 100
    good: dict[str, Any] = {
        "arcs": [3, 0, 5, 0], "cells": 3, "orders": 2, "heavies": [1], "singles": [3, 4 * unit, unit],
        "types": [[1, 9 * unit, 5 * unit, 2 * unit, 7 * unit]],
    }  # fmt: skip

    def but(**changes: Any) -> list[Any]:
        return ["windows", *{**good, **changes}.values()]

    def typed(*numbers: int) -> list[Any]:
        return but(types=[list(numbers)])

    return {
        "windows with a field missing": but()[:-1],
        "windows with a field too many": [*but(), 0],
        "windows of one input": but(arcs=[3], heavies=[], singles=[], types=[[1, 9, 5, 2]]),
        "windows of a circle above 2^53": but(arcs=[2**53 - 4, 0, 5, 0]),
        "windows with a negative arc": but(arcs=[-3, 0, 5, 0]),
        "windows with an arc as text": but(arcs=["3", 0, 5, 0]),
        "windows of no cells": but(cells=0),
        "windows of no orders": but(orders=0),
        "windows of three orders": but(orders=3),
        "windows of 512 orders": but(orders=512),
        "windows of too many outputs": but(cells=2**23),
        "windows with heavy inputs out of order": but(
            arcs=[0, 0, 5, 0], heavies=[1, 0], types=[[1, 9 * unit, 5 * unit, 2 * unit, 7 * unit, 7 * unit]]
        ),
        "windows with a heavy input twice": but(
            heavies=[1, 1], types=[[1, 9 * unit, 5 * unit, 2 * unit, 7 * unit, 7 * unit]]
        ),
        "windows with a single twice": but(singles=[3, 4, 1, 3, 4, 1]),
        "windows with singles out of order": but(arcs=[3, 0, 0, 0], singles=[3, 4, 1, 2, 4, 1]),
        "windows with a heavy input that is a single": but(heavies=[1], singles=[1, 4, 1], arcs=[3, 0, 5, 6]),
        "windows with a heavy input that has an arc": but(arcs=[3, 4, 5, 0]),
        "windows with a single that has an arc": but(arcs=[3, 0, 5, 4]),
        "windows with an input without an arc that is neither": but(arcs=[0, 0, 5, 0]),
        "windows with a single outside the domain": but(arcs=[3, 0, 5, 1], singles=[4, 4, 1]),
        "windows without types, and not all singles": but(types=[], cells=1, orders=1),
        "windows with types, and all singles": ["windows", [0, 0], 1, 1, [], [0, 4, 1, 1, 4, 1], [[0, 5, 5, 5]]],
        "windows without an arc, and not all singles": but(
            arcs=[0, 0, 0], heavies=[0, 1, 2], singles=[], types=[[1, 9, 5, 2, 7, 7, 7]]
        ),
        "windows of singles in two cells": ["windows", [0, 0], 2, 1, [], [0, 4, 1, 1, 4, 1], []],
        "windows of singles in two orders": ["windows", [0, 0], 1, 2, [], [0, 4, 1, 1, 4, 1], []],
        "windows with a single of two numbers": but(singles=[3, 4 * unit]),
        "windows with a single whose output others have more often": but(singles=[3, unit, 4 * unit]),
        "windows with a type of three numbers": but(arcs=[3, 2, 5, 0], heavies=[], types=[[1, 9 * unit, 5 * unit]]),
        "windows with a type as an integer": but(types=[1]),
        "windows with types as an integer": but(types=1),
        "windows with a type without its heavy input": typed(1, 9 * unit, 5 * unit, 2 * unit),
        "windows with a type of a heavy input too many": typed(1, 9 * unit, 5 * unit, 2 * unit, 7 * unit, 7 * unit),
        "windows that span more than all cells": typed(4, 5 * unit, 5 * unit, 2 * unit, 7 * unit),
        "windows likelier outside than inside": typed(1, 5 * unit, 9 * unit, 2 * unit, 7 * unit),
        "windows of no cells with an inside": typed(0, 9 * unit, 5 * unit, 2 * unit, 7 * unit),
        "windows of all cells with an outside": typed(3, 9 * unit, 5 * unit, 2 * unit, 7 * unit),
        "windows with a negative weight": typed(1, 9 * unit, -1, 2 * unit, 7 * unit),
        "windows of a rare input above one": typed(1, 60 * unit, 20 * unit, 2 * unit, 7 * unit),
        "windows of a heavy input above one": typed(1, 9 * unit, 5 * unit, 2 * unit, 34 * unit),
        "windows of a single above one": typed(1, 9 * unit, 5 * unit, 33 * unit, 7 * unit),
    }


# 5. Random bytes on both sides of every threshold


def _rands(channel: Channel, x: int) -> list[bytes]:
    """Draws at the ends of the random integer and on both sides of every threshold of ``channel`` at ``x``."""
    if isinstance(channel, Hadamard):
        width = channel.rand_bytes - 8
        tails = [bytes(width), bytes([0xA5] * width), bytes([0xFF] * width)]
        heads = (0, channel.truth - 1, channel.truth, ONE - 1)
        return [head.to_bytes(8, "big") + tail for head in heads for tail in tails]
    if isinstance(channel, Constant):
        return [b""]
    if isinstance(channel, Blocks):
        block = channel.block_of[x]
        edges = {0, channel.cover - 1, channel.cover, channel.hidden - 1, channel.hidden, WIDE - 1}
        heads = [edge.to_bytes(16, "big") for edge in sorted(edges) if edge >= 0]
        if block == OPEN:
            return [head + bytes([0xA5] * (channel.rand_bytes - 16)) for head in heads]
        tails = _rands(channel.channels[block - 1], channel.place_of[x])
        return [heads[-1] + tail + bytes(channel.rand_bytes - 16 - len(tail)) for tail in tails]
    if isinstance(channel, Bits):
        return _words(channel, x)
    if isinstance(channel, Windows):
        return _points(channel, x)
    width = channel.rand_bytes
    return [edge.to_bytes(width, "big") for edge in _edges(_intervals(channel, x), 1 << 8 * width)]


def _edges(lengths: Iterable[int], stop: int) -> list[int]:
    """The last number of every interval from 0 on, the first of the next, and both ends of 0 .. stop - 1."""
    ends = accumulate(lengths)
    return sorted({0, stop - 1} | {edge for end in ends for edge in (end - 1, end) if 0 <= edge < stop})


def _intervals(channel: Channel, x: int) -> list[int]:
    """How many values of the random integer, from 0 on, lead to each output or step in the order of SPEC 5."""
    if isinstance(channel, RandomizedResponse):
        return [channel.cover_of(y) for y in range(channel.outputs)]
    if isinstance(channel, ProjectiveGeometry):
        return [channel.inside] * channel.support + [channel.outside] * (channel.outputs - channel.support)
    if isinstance(channel, GradedProjective):
        number, having = channel.class_of[x], channel.geometry.support
        return [channel.inside[number]] * having + [channel.outside[number]] * (channel.outputs - having)
    if isinstance(channel, SubsetSelection):
        return [channel.inside] * channel.having + [channel.outside] * channel.lacking
    if isinstance(channel, Triples):
        others = channel.outputs - channel.support
        return (
            [channel.inside] * channel.support
            + [channel.outside + channel.remainder]
            + [channel.outside] * (others - 1)
        )
    if isinstance(channel, Wave):
        return [channel.inside] * channel.span + [channel.outside] * (channel.inputs - 1)
    if isinstance(channel, Noise):
        return [4 * weight for row in channel._steps for weight in row]
    return [4 * channel.weight(x, y) for y in range(channel.outputs)]


def _words(channel: Bits, x: int) -> list[bytes]:
    """Each word of four bytes at both sides of its threshold, the others being what they are elsewhere."""
    others = [0x9E3779B9 * (place + 1) % S for place in range(channel.inputs)]
    rands = [bytes(channel.rand_bytes), bytes([255] * channel.rand_bytes)]
    for place, number_of in enumerate(channel.class_of):
        threshold = (channel.own if place == x else channel.other)[number_of]
        for word in (threshold - 1, threshold):
            if 0 <= word < S:
                words = [*others[:place], word, *others[place + 1 :]]
                rands.append(b"".join(each.to_bytes(4, "big") for each in words))
    return rands


def _points(channel: Windows, x: int) -> list[bytes]:
    """The first number at both sides of every window and single; the second at both sides of every cell it lies in."""
    rare = channel.arcs[x] > 0
    lengths = []
    for each in channel.types:
        kind = channel._kind_of(x)
        inside, outside = each.by_kind[kind]
        lengths += [inside] * each.span + [outside] * (channel.cells - each.span)
    lengths += [channel.bonus_of.get(x, 0), *(single.other for single in channel.singles)]
    middle = (ONE // 3).to_bytes(8, "big")
    rands = [edge.to_bytes(8, "big") + middle + bytes([0xA5]) for edge in _edges(lengths, ONE)]
    for order in range(channel.orders if channel.types else 1):
        borders = [channel.circle.points_before(order, x, cell) for cell in range(1, channel.cells)] if rare else []
        points = {0, ONE - 1} | {point for border in borders for point in (border - 1, border) if 0 <= point < ONE}
        # Bits of the last byte above the order's are not looked at.
        rands += [
            bytes(8) + point.to_bytes(8, "big") + bytes([256 - channel.orders + order]) for point in sorted(points)
        ]
    return rands
