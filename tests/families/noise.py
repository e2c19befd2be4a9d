"""Noise (SPEC 5.8) for tests: channels, refused wire forms, and a second decoder written from SPEC alone."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from typing import Any

from benchmarks import joining
from protocol.channels import Noise
from protocol.notions import Geo, Ldp
from tests.families.shapes import MOST, SEED, STEPS, DecodedChannel, Shapes, at_edges, big, first_above


def mirrored(rows: int, columns: int, weights: Sequence[int]) -> Noise:
    """Return noise whose mirror images have equal weights. ``weights`` has the weight of every step except (0, 0),
    which gets the remaining weight."""
    images = [(1 + (r > 0)) * (1 + (c > 0)) for r in range(rows) for c in range(columns)][1:]
    rest = STEPS - sum(weight * image for weight, image in zip(weights, images, strict=True))
    return Noise(rows, columns, (rest, *weights))


def random_noise(rows: int, columns: int, seed: int) -> Noise:
    """Return noise with random weights that differ between the mirror images of a step."""
    draw = random.Random(seed)
    weights = [draw.randrange(1, 2**50) for _ in range((2 * rows - 1) * (2 * columns - 1))]
    weights[draw.randrange(len(weights))] += STEPS - sum(weights)
    return Noise(rows, columns, tuple(weights))


def random_mirrored(rows: int, columns: int, seed: int) -> Noise:
    """Return noise with random weights that are equal for the mirror images of a step."""
    draw = random.Random(seed)
    return mirrored(rows, columns, [draw.randrange(1, 2**50) for _ in range(rows * columns - 1)])


def _refused() -> dict[str, Any]:
    rest = STEPS - 2 * 7
    return {
        "noise with a field missing": ["noise", 1, [rest, 7, 0]],
        "noise with a field too many": ["noise", 1, 3, [rest, 7, 0], 0],
        "noise of no rows": ["noise", 0, 3, []],
        "noise of one point": ["noise", 1, 1, [STEPS]],
        "noise of one column": ["noise", 3, 1, [rest, 7, 0]],
        "noise with rows as text": ["noise", "1", 3, [rest, 7, 0]],
        "noise over 4,097 points": ["noise", 1, 4097, [STEPS, *[0] * 4096]],
        "noise with a weight too few": ["noise", 1, 3, [rest, 7]],
        "noise with a weight too many": ["noise", 1, 3, [rest, 7, 0, 0]],
        "noise with weights that sum to one unit too little": ["noise", 1, 3, [rest - 1, 7, 0]],
        "noise with weights that sum to one unit too much": ["noise", 1, 3, [rest + 1, 7, 0]],
        "noise with a sum that leaves out mirror images": ["noise", 1, 3, [STEPS - 7, 7, 0]],
        "noise with a negative weight": ["noise", 1, 3, [STEPS, -1, 1]],
        "noise with weights as bytes": ["noise", 1, 3, bytes(3)],
        "noise of equal mirror images in the long form": ["noise", 1, 3, [0, 7, rest, 7, 0]],
        "noise on a map, of equal mirror images in the long form": [
            "noise",
            2,
            2,
            [1, 2, 1, 3, STEPS - 14, 3, 1, 2, 1],
        ],
    }


def second_decoder(rows: int, columns: int, form: list[int]) -> DecodedChannel:
    steps = list(product(range(1 - rows, rows), range(1 - columns, columns)))
    short = len(form) == rows * columns
    weights = [form[abs(r) * columns + abs(c)] for r, c in steps] if short else form

    def after(x: int, step: tuple[int, int]) -> int:
        i, j = x // columns + step[0], x % columns + step[1]
        return min(max(i, 0), rows - 1) * columns + min(max(j, 0), columns - 1)

    def weight(x: int, y: int) -> int:
        return sum(s for step, s in zip(steps, weights, strict=True) if after(x, step) == y)

    def sample(x: int, rand: bytes) -> int:
        return after(x, steps[first_above(big(rand) // 4, weights)])

    return DecodedChannel(rows * columns, rows * columns, 62, 8, weight, sample)


LINE = mirrored(1, 4, (STEPS // 8, STEPS // 16, STEPS // 64))
MAP = Noise(2, 3, tuple((n * n + 3 * n + 1 if n != 7 else 4096 - 1274) << 50 for n in range(15)))

SHAPES = Shapes(
    small={
        "noise on a line": LINE,
        "noise on a map, unequal mirror images": MAP,
        "noise on a map, equal mirror images": mirrored(3, 2, tuple(STEPS >> shift for shift in (5, 6, 7, 9, 11))),
        "noise that always moves one column": Noise(1, 3, (0, 0, 0, STEPS, 0)),
    },
    large={
        "noise on a map of 256 places": (
            mirrored(16, 16, tuple(STEPS >> 8 + (place // 16 + place % 16) // 2 for place in range(1, 256))),
            [(0, 0), (17, 18), (255, 0), (128, 127)],
        ),
    },
    refused=_refused(),
    more={
        **{
            f"noise on {rows} x {columns}": random_noise(rows, columns, SEED)
            for rows, columns in ((1, 2), (1, 3), (1, 8), (3, 3), (2, 4), (4, 2))
        },
        **{
            f"noise on {rows} x {columns}, equal mirror images": mirrored(
                rows, columns, [STEPS >> 7] * (rows * columns - 1)
            )
            for rows, columns in ((1, 2), (1, 9), (2, 2), (3, 2))
        },
        "noise with steps of weight zero": mirrored(1, 5, (STEPS // 4, 0, STEPS // 16, 0)),
    },
    drawn={"noise": mirrored(20, 25, [STEPS >> 11] * 499)},
    costly={
        "noise ldp": (Ldp(MOST), joining._noise(1, 64)),
        "noise geo": (Geo.between(MOST, 1, [0], range(24)), joining._noise(1, 24)),
        "noise geo on a grid": (Geo.between(MOST, 1, range(6), range(6)), joining._noise(6, 6)),
        "noise geo off its lattice": (Geo.between(MOST, 1, range(4), range(6)), joining._noise(1, 24)),
    },
    rands=at_edges(lambda channel, _: [4 * weight for row in channel._steps for weight in row]),
    second_decoder=second_decoder,
)
