"""Bits (SPEC 5.6) for tests: channels, refused wire forms, and a second decoder written from SPEC alone."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from benchmarks import joining
from protocol.channels import Bits
from protocol.channels.bits.channel import S
from protocol.notions import Lip
from tests.families.shapes import MOST, SEED, DecodedChannel, Shapes, big, of_runs


def random_bits(classes: Sequence[int], seed: int) -> Bits:
    """Return a channel of bits with random probabilities for each class; ``classes`` has the class of each input."""
    draw = random.Random(seed)
    pairs = {number: sorted(draw.sample(range(1, S), 2), reverse=True) for number in sorted(set(classes))}
    return Bits.over((pairs[number][0], pairs[number][1]) for number in classes)


def _refused() -> dict[str, Any]:
    half = S // 2
    return {
        "bits with a field missing": ["bits", [half], [1]],
        "bits with a field too many": ["bits", [half], [1], [0, 2], 0],
        "bits with a probability as bytes": ["bits", [b"half"], [1], [0, 2]],
        "bits of one input": ["bits", [half], [1], [0, 1]],
        "bits of too many inputs": ["bits", [half], [1], [0, 2**16 + 1]],
        "bits without runs": ["bits", [], [], []],
        "bits with half a run": ["bits", [half, S], [1, 2], [0, 2, 1]],
        "bits with b equal to a": ["bits", [half], [half], [0, 2]],
        "bits with b above a": ["bits", [half], [half + 1], [0, 2]],
        "bits with a probability above one": ["bits", [S + 1], [1], [0, 2]],
        "bits with a negative probability": ["bits", [half], [-1], [0, 2]],
        "bits of two classes with equal a and equal b": ["bits", [half, half], [1, 1], [0, 2, 1, 2]],
        "bits of two classes with one b": ["bits", [half, S], [1], [0, 2, 1, 2]],
        "bits of two classes, one without inputs": ["bits", [half, S], [1, 2], [0, 2]],
        "bits of two classes with one a": ["bits", [half], [1, 2], [0, 2, 1, 2]],
        "bits with classes out of order": ["bits", [half, S], [1, 2], [1, 2, 0, 2]],
        "bits with a run in two parts": ["bits", [half], [1], [0, 1, 0, 1]],
        "bits with an empty run": ["bits", [half, S], [1, 2], [0, 1, 1, 0, 0, 1]],
    }


def _words(channel: Bits, x: int) -> list[bytes]:
    """Return byte strings for draws of ``x``: in each, one word of four bytes is the threshold or the number before it;
    two more strings have all bits 0 and all bits 1."""
    others = [0x9E3779B9 * (place + 1) % S for place in range(channel.input_count)]
    rands = [bytes(channel.rand_bytes), bytes([255] * channel.rand_bytes)]
    for place, number_of in enumerate(channel.class_of):
        threshold = (channel.own_weights if place == x else channel.other_weights)[number_of]
        for word in (threshold - 1, threshold):
            if 0 <= word < S:
                words = [*others[:place], word, *others[place + 1 :]]
                rands.append(b"".join(each.to_bytes(4, "big") for each in words))
    return rands


def second_decoder(own: list[int], other: list[int], runs: list[int]) -> DecodedChannel:
    classes = of_runs(runs)
    k = len(classes)

    def ones(x: int) -> list[int]:
        return [own[c] if z == x else other[c] for z, c in enumerate(classes)]

    def weight(x: int, y: int) -> int:
        total = 1
        for bit, f in zip(f"{y:0{k}b}", ones(x), strict=True):
            total *= f if bit == "1" else 2**32 - f
        return total

    def sample(x: int, rand: bytes) -> int:
        words = [big(rand[4 * z : 4 * z + 4]) for z in range(k)]
        return int("".join("1" if u < f else "0" for u, f in zip(words, ones(x), strict=True)), 2)

    return DecodedChannel(k, 2**k, 32 * k, 4 * k, weight, sample)


TWO_CLASSES = Bits((S // 2, 2 * S // 3), (S // 5, S // 20), ((0, 1), (1, 2), (0, 1)))

SHAPES = Shapes(
    small={
        "bits of one class": Bits((3 * S // 4,), (S // 4 + 1,), ((0, 2),)),
        "bits of two classes": TWO_CLASSES,
        "bits with a = 1 in one class and b = 0 in another": Bits((S, S // 2), (S // 8, 0), ((0, 2), (1, 1))),
    },
    large={
        "bits, k = 100": (
            Bits((S // 2, S // 3), (S // 4, S // 9), ((0, 60), (1, 30), (0, 10))),
            [(0, 1 << 99), (99, 0)],
        ),
    },
    refused=_refused(),
    more={
        **{f"bits, k = {k}": random_bits([x % 3 for x in range(k)], SEED + k) for k in (2, 3, 4, 5, 6)},
        "bits of one class, k = 4": Bits((S // 2,), (S // 3,), ((0, 4),)),
    },
    drawn={"bits": random_bits([0, 0, 1, 1, 1, 2, 0, 1], SEED)},
    costly={
        "bits minid": (joining._minid(256, 16), joining._bits(256, 16)),
        "bits lip": (Lip(MOST, joining._prior(60)), joining._bits(60, 60)),
        "bits ball": (Lip(MOST, joining._prior(40), 10**8), joining._bits(40, 40)),
    },
    rands=_words,
    second_decoder=second_decoder,
)
