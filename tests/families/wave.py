"""Waves (SPEC 5.11) for tests: channels, refused wire forms, and a second decoder written from SPEC alone."""

from __future__ import annotations

from typing import Any

from benchmarks import joining
from protocol.channels import Wave
from protocol.notions import Lip
from tests.families.shapes import MOST, NAT, WIDE, DecodedChannel, Shapes, at_edges, big, outside_of


def wave(size: int, half: int, level: int) -> Wave:
    """Return the channel with the given half width; rows have no remainder if ``outside`` is 2^128 / (k - 1) modulo the
    window."""
    span = 2 * half + 1
    least = outside_of(level, span, size - 1)
    return Wave(size, half, least + (pow(size - 1, -1, span) * WIDE - least) % span)


def _refused() -> dict[str, Any]:
    def of(size: int, half: int, outside: int) -> list[Any]:
        return ["wave", size, half, outside.to_bytes(16, "big")]

    def whole(size: int, half: int, least: int) -> list[Any]:
        """Return the fields with the next outside weight that leaves no remainder."""
        span = 2 * half + 1
        return of(size, half, least + (pow(size - 1, -1, span) * WIDE - least) % span)

    return {
        "wave with a field missing": ["wave", 6, 1],
        "wave with a field too many": [*of(6, 1, WAVE.outside), 0],
        "wave with a weight of 15 bytes": ["wave", 6, 1, bytes(15)],
        "wave with a weight as an integer": ["wave", 6, 1, WAVE.outside >> 64],
        "wave of one input": of(1, 1, WAVE.outside),
        "wave of too many inputs": whole(2**20 + 1, 1, 2**107),
        "wave with a half width of zero": whole(6, 0, WIDE // 30),
        "wave with a half width equal to the number of inputs": whole(6, 6, WIDE // 30),
        "wave with an outside weight of zero": of(6, 1, 0),
        "wave with an outside weight above the inside one": whole(6, 1, WIDE // 8 + 1),
        "wave with a row above 2^128": ["wave", 6, 1, b"\xff" * 16],
        "wave with weights that leave a remainder": of(6, 1, WAVE.outside + 1),
        "wave with 3 outputs in the window and 3 outside": of(4, 1, WIDE // 9),
    }


def second_decoder(k: int, b: int, outside_bytes: bytes) -> DecodedChannel:
    outside = big(outside_bytes)
    inside = (2**128 - (k - 1) * outside) // (2 * b + 1)

    def sample(x: int, rand: bytes) -> int:
        u = big(rand)
        if u < (2 * b + 1) * inside:
            return x + u // inside
        j = (u - (2 * b + 1) * inside) // outside
        return j if j < x else j + 2 * b + 1

    return DecodedChannel(k, k + 2 * b, 128, 16, lambda x, y: inside if x <= y <= x + 2 * b else outside, sample)


WAVE = wave(6, 1, NAT)

SHAPES = Shapes(
    small={
        "wave": WAVE,
        "wave of two inputs": wave(2, 1, 2 * NAT),
        "wave with outputs in the windows of all inputs": wave(4, 2, NAT // 10),
    },
    large={
        "wave, k = 43,750": (
            wave(43_750, 11_201, NAT),
            [(0, 0), (0, 22_403), (43_749, 66_151), (20_000, 42_402), (7, 6)],
        ),
    },
    refused=_refused(),
    more={f"wave, k = {k}, b = {b}": wave(k, b, NAT) for k, b in ((2, 1), (3, 1), (3, 2), (4, 2), (9, 2), (12, 3))},
    drawn={"wave": wave(1000, 251, NAT)},
    costly={
        "wave lip": (Lip(MOST, joining._prior(200)), wave(200, 50, MOST)),
        "wave ball": (Lip(MOST, joining._prior(200), 10**8), wave(200, 50, MOST)),
        "wave pairwise": (joining._matrix(20), wave(20, 4, 2 * NAT)),
    },
    rands=at_edges(lambda channel, _: [channel.inside] * channel.span + [channel.outside] * (channel.input_count - 1)),
    second_decoder=second_decoder,
    one_run=True,
)
