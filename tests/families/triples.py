"""Triples (SPEC 5.10) for tests: channels, refused wire forms, and a second decoder written from SPEC alone."""

from __future__ import annotations

from typing import Any

from benchmarks import joining
from protocol.channels import Triples
from protocol.notions import Lip
from tests.families.shapes import MOST, NAT, WIDE, DecodedChannel, Shapes, at_edges, big, outside_of


def triples(size: int, level: int) -> Triples:
    """Return the channel over the triple system for ``size`` inputs at ``level``."""
    shape = Triples(size, 1)
    return Triples(size, outside_of(level, shape.support, shape.output_count - shape.support))


def _refused() -> dict[str, Any]:
    def of(size: int, outside: int) -> list[Any]:
        return ["triples", size, outside.to_bytes(16, "big")]

    return {
        "triples with a field missing": ["triples", 9],
        "triples with a field too many": [*of(9, NINE.outside), 0],
        "triples with a weight of 15 bytes": ["triples", 9, bytes(15)],
        "triples with a weight as an integer": ["triples", 9, NINE.outside >> 64],
        "triples of one input": of(1, NINE.outside),
        "triples of 4,096 inputs": of(4096, 1),
        "triples with an outside weight of zero": of(9, 0),
        "triples with an outside weight above the inside one": of(9, WIDE // 12 + 1),
        "triples with a row above 2^128": ["triples", 9, b"\xff" * 16],
        # There are 35 triples, and 7 of them contain an input. So inside is outside + 1, and the remainder is 4.
        "triples with a remainder above inside - outside": of(15, WIDE // 35),
    }


def _lengths(channel: Triples, x: int) -> list[int]:
    others = channel.output_count - channel.support
    return [channel.inside] * channel.support + [channel.outside + channel.remainder] + [channel.outside] * (others - 1)


def second_decoder(k: int, outside_bytes: bytes) -> DecodedChannel:
    outside = big(outside_bytes)
    n = next(n for n in range(3, 2**12, 2) if 3 * n >= k)
    t = (n - 1) // 2
    cs = 3 * t + 1
    m = n * cs
    inside, remainder = divmod(2**128 - (m - cs) * outside, cs)

    def block(ring: int, d: int) -> int:
        return ring % 3 * t + d

    def triple(y: int) -> list[tuple[int, int]]:
        c, b = divmod(y, n)
        if c == 0:
            return [(0, b), (1, b), (2, b)]
        r, d = next((r, c - r * t) for r in range(3) if 1 <= c - r * t <= t)
        return [(r, (b - d) % n), (r, (b + d) % n), ((r + 1) % 3, b)]

    def weight(x: int, y: int) -> int:
        if divmod(x, n) in triple(y):
            return inside
        return outside + (remainder if y == (1 if x % n == 0 else 0) else 0)

    def sample(x: int, rand: bytes) -> int:
        u, (j, a) = big(rand), divmod(x, n)
        if u < cs * inside:
            i = u // inside
            e = i - t
            if i == 0:
                return a
            return block(j - 1, i) * n + a if i <= t else block(j, min(e, n - e)) * n + (a + e) % n
        c, b = divmod(max(u - cs * inside - remainder, 0) // outside, n - 1)
        b += b >= a
        d = c - j * t
        if 1 <= d <= t and b == (a + d) % n:
            return c * n + a
        if 1 <= d <= t and b == (a - d) % n:
            return block(j + 1, d) * n + a
        return c * n + b

    return DecodedChannel(k, m, 128, 16, weight, sample)


NINE = triples(9, NAT)

SHAPES = Shapes(
    small={
        "triples, nine points": NINE,
        "triples, more points than inputs, and a large remainder": Triples(10, 7),
    },
    large={"triples, k = 4,095": (triples(4095, 5 * NAT), [(0, 0), (0, 1), (4094, 1364), (2000, 1365 * 2047 - 1)])},
    refused=_refused(),
    more={f"triples, k = {k}": triples(k, NAT) for k in (2, 3, 8, 9, 10, 16)},
    drawn={"triples": triples(100, NAT)},
    costly={
        "triples lip": (Lip(MOST, joining._prior(60)), joining._triples(60)),
        "triples ball": (Lip(MOST, joining._prior(60), 10**8), joining._triples(60)),
    },
    rands=at_edges(_lengths),
    second_decoder=second_decoder,
    one_run=True,
)
