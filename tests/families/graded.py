"""Graded channels (SPEC 5.12) for tests: channels, refused wire forms, and a second decoder written from SPEC alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks import joining
from protocol.channels import GradedProjective
from protocol.notions import Lip
from tests.families import projective
from tests.families.shapes import MOST, NAT, WIDE, DecodedChannel, Shapes, at_edges, of_runs, outside_of


def graded(order: int, dimension: int, budgets: Sequence[int]) -> GradedProjective:
    """Return the channel over the given geometry; inputs of equal budget are a class, and the channel satisfies this
    budget within it."""
    having, lacking = (order ** (dimension - 1) - 1) // (order - 1), order ** (dimension - 1)
    least = [outside_of(budget, having, lacking) for budget in budgets]
    return GradedProjective.over(order, dimension, [weight + (WIDE - weight) % having for weight in least])


def _refused() -> dict[str, Any]:
    weights = [weight.to_bytes(16, "big") for weight in GRADED.outside]
    runs = [0, 1, 1, 2, 0, 1, 2, 1, 0, 1]

    def of(*outside: int) -> list[Any]:
        return ["graded", 2, 3, [weight.to_bytes(16, "big") for weight in outside], [0, 3, 1, 3]]

    first, second, _ = GRADED.outside
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
        "graded of two classes with equal weights": of(first, first),
        "graded with an outside weight of zero": of(first, 0),
        "graded with an outside weight above the inside one": of(first, projective.FLAT),
        "graded with weights that leave a remainder": of(first, second + 1),
        "blocks with a graded channel and a cover": [
            "blocks", (2**100).to_bytes(16, "big"), [0, 2, 1, 6], [GRADED.encode()], [0],
        ],
    }  # fmt: skip


def _lengths(channel: GradedProjective, x: int) -> list[int]:
    number, having = channel.class_of[x], channel.geometry.support
    return [channel.inside[number]] * having + [channel.outside[number]] * (channel.output_count - having)


def second_decoder(q: int, t: int, outside: list[bytes], runs: list[int]) -> DecodedChannel:
    classes = of_runs(runs)
    made = [projective.second_decoder(len(classes), q, t, weight) for weight in outside]
    return DecodedChannel(
        len(classes), made[0].output_count, 128, 16,
        lambda x, y: made[classes[x]].weight(x, y),
        lambda x, rand: made[classes[x]].sample(x, rand),
    )  # fmt: skip


GRADED = graded(2, 3, [NAT, 2 * NAT, 2 * NAT, NAT, 3 * NAT, NAT])

SHAPES = Shapes(
    small={
        "graded, three classes on the plane of seven points": GRADED,
        "graded, two inputs on a line": graded(3, 2, [2 * NAT, NAT // 2]),
        "graded over four elements": graded(4, 3, [NAT] * 3 + [NAT // 4] * 4),
    },
    large={
        "graded, k = 1,000": (
            graded(4, 6, [NAT, *[2 * NAT] * 899, *[3 * NAT] * 100]),
            [(0, 0), (0, 1), (999, 1364), (500, 77), (1, 0)],
        ),
    },
    refused=_refused(),
    more={
        f"graded, q = {q}, t = {t}, k = {len(levels)}": graded(q, t, [number * NAT // 2 for number in levels])
        for q, t, levels in ((2, 2, (1, 3)), (5, 2, (1, 3, 3, 2, 1)), (2, 3, (4, 1, 1, 4, 2)), (3, 3, (1, 2) * 5))
    },
    drawn={"graded": graded(4, 5, [NAT // 2] * 100 + [2 * NAT] * 200)},
    costly={
        "graded minid": (joining._minid(20, 16), graded(2, 20, [NAT + x * 16 // 20 for x in range(20)])),
        "graded lip": (Lip(MOST, joining._prior(60)), graded(2, 6, [NAT + x % 4 for x in range(60)])),
        "graded lip, many": (Lip(MOST, joining._prior(31)), graded(5, 3, [NAT + x for x in range(31)])),
        "graded lip, long lines": (Lip(MOST, joining._prior(4)), graded(101, 2, [NAT + x for x in range(4)])),
        "graded ball": (Lip(MOST, joining._prior(31), 10**8), graded(5, 3, [NAT + x % 3 for x in range(31)])),
        "graded pairwise": (joining._matrix(20), graded(2, 20, [NAT + x % 2 for x in range(20)])),
    },
    rands=at_edges(_lengths),
    second_decoder=second_decoder,
    one_run=True,
)
