"""Projective channels (SPEC 5.4) for tests: channels, refused forms, and a second decoder written from SPEC alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import Any

from benchmarks import joining
from protocol.channels import ProjectiveResponse
from protocol.notions import Geo, Lip
from tests.families.shapes import MOST, NAT, WIDE, DecodedChannel, Shapes, at_edges, big, outside_of


def projective(size: int, order: int, dimension: int, level: int) -> ProjectiveResponse:
    """Return the channel over the given field and dimension; rows have no remainder if ``outside`` is 2^128 modulo
    cs."""
    having, lacking = (order ** (dimension - 1) - 1) // (order - 1), order ** (dimension - 1)
    least = outside_of(level, having, lacking)
    return ProjectiveResponse(size, order, dimension, least + (WIDE - least) % having)


def field(q: int) -> tuple[Callable[[int, int], int], Callable[[int, int], int]]:
    """Return the functions that add and multiply two elements of the field of ``q`` elements; both cache their
    results."""
    p, reduced = {4: (2, [1, 1]), 8: (2, [1, 1, 0]), 9: (3, [2, 0])}.get(q, (q, [0]))
    e = len(reduced)

    def polynomial(number: int) -> list[int]:
        return [number // p**i % p for i in range(e)]

    @cache
    def plus(a: int, b: int) -> int:
        return sum((c + d) % p * p**i for i, (c, d) in enumerate(zip(polynomial(a), polynomial(b), strict=True)))

    @cache
    def times(a: int, b: int) -> int:
        found = [0] * (2 * e - 1)
        for (i, c), (j, d) in product(enumerate(polynomial(a)), enumerate(polynomial(b))):
            found[i + j] += c * d
        for high in range(2 * e - 2, e - 1, -1):
            for i, c in enumerate(reduced):
                found[high - e + i] += c * found[high]
        return sum(c % p * p**i for i, c in enumerate(found[:e]))

    return plus, times


def second_decoder(k: int, q: int, t: int, outside_bytes: bytes) -> DecodedChannel:
    plus, product_of = field(q)

    def digits(number: int, length: int) -> tuple[int, ...]:
        return tuple(number // q**place % q for place in reversed(range(length)))

    def canonical(length: int) -> list[tuple[int, ...]]:
        return [(0,) * (length - 1 - f) + (1, *digits(v, f)) for f in range(length) for v in range(q**f)]

    points, lines = canonical(t), canonical(t - 1)
    numbers = {point: number for number, point in enumerate(points)}
    outside = big(outside_bytes)
    cs = sum(q**f for f in range(t - 1))
    inside = (2**128 - (len(points) - cs) * outside) // cs

    def times(x: Sequence[int], y: Sequence[int]) -> int:
        total = 0
        for a, b in zip(x, y, strict=True):
            total = plus(total, product_of(a, b))
        return total

    def sample(x: int, rand: bytes) -> int:
        own, u = points[x], big(rand)
        p = next(place for place, c in enumerate(own) if c)
        near = u < cs * inside
        others = lines[u // inside] if near else digits((u - cs * inside) // outside, t - 1)
        wanted = 0 if near else 1
        y = next(y for c in range(q) if times(own, y := (*others[:p], c, *others[p:])) == wanted)
        lead = next(c for c in y if c)
        factor = next(f for f in range(q) if product_of(f, lead) == 1)
        return numbers[tuple(product_of(factor, c) for c in y)]

    def weight(x: int, y: int) -> int:
        return outside if times(points[x], points[y]) else inside

    return DecodedChannel(k, len(points), 128, 16, weight, sample)


FANO = projective(7, 2, 3, NAT)
LINE_OF_SIX = projective(4, 5, 2, 2 * NAT)
_SEVEN = ["projective", 7, 2, 3]
_WEIGHT = FANO.outside.to_bytes(16, "big")
# This is the smallest outside weight that is not below the inside weight if the row sums to one.
FLAT = WIDE // 7 + 1
FLAT += (WIDE - FLAT) % 3


def _lengths(channel: ProjectiveResponse, _: int) -> list[int]:
    return [channel.inside] * channel.support + [channel.outside] * (channel.output_count - channel.support)


def _plane(outside: int) -> list[Any]:
    return [*_SEVEN, outside.to_bytes(16, "big")]


SHAPES = Shapes(
    small={
        "projective, the plane of seven points": FANO,
        "projective of two coordinates, more outputs than inputs": LINE_OF_SIX,
        "projective over three elements": projective(11, 3, 3, NAT // 10),
        "projective, a line over four elements": projective(5, 4, 2, NAT),
        "projective over four elements": projective(7, 4, 3, NAT),
        "projective, a line over eight elements": projective(4, 8, 2, 2 * NAT),
        "projective, a line over nine elements": projective(10, 9, 2, 2 * NAT),
    },
    large={
        "projective, k = 43,750": (projective(43_750, 37, 4, 4 * NAT), [(0, 0), (0, 1), (43_749, 52_059), (43_749, 5)]),
        "projective over four elements, k = 1,000": (
            projective(1000, 4, 6, NAT),
            [(0, 0), (0, 1), (999, 1364), (500, 77)],
        ),
        "projective over eight elements, k = 500": (
            projective(500, 8, 4, 2 * NAT),
            [(0, 0), (9, 80), (499, 584), (77, 5)],
        ),
        "projective over nine elements, k = 91": (
            projective(91, 9, 3, 2 * NAT),
            [(0, 0), (90, 90), (45, 17), (12, 88)],
        ),
    },
    refused={
        "projective with a field missing": _SEVEN,
        "projective with a field too many": [*_SEVEN, _WEIGHT, 0],
        "projective with a weight of 15 bytes": [*_SEVEN, _WEIGHT[1:]],
        "projective with a weight as an integer": [*_SEVEN, 5],
        "projective of one input": ["projective", 1, 2, 3, _WEIGHT],
        "projective of more inputs than points": ["projective", 8, 2, 3, _WEIGHT],
        "projective over six elements": ["projective", 7, 6, 3, (WIDE % 7).to_bytes(16, "big")],
        "projective over sixteen elements": ["projective", 7, 16, 3, (WIDE % 17).to_bytes(16, "big")],
        "projective over one element": ["projective", 3, 1, 3, _WEIGHT],
        "projective over no elements": ["projective", 3, 0, 3, _WEIGHT],
        "projective over 2^20 + 7 elements": ["projective", 7, 2**20 + 7, 2, _WEIGHT],
        "projective of one coordinate": ["projective", 2, 3, 1, _WEIGHT],
        "projective of 25 coordinates": ["projective", 7, 2, 25, (WIDE % (2**24 - 1)).to_bytes(16, "big")],
        "projective of more than 2^24 points": [
            "projective",
            7,
            257,
            4,
            (WIDE % (1 + 257 + 257**2)).to_bytes(16, "big"),
        ],
        "projective with an outside weight of zero": _plane(0),
        "projective with weights that leave a remainder": _plane(FANO.outside + 1),
        "projective with an outside weight above the inside one": _plane(FLAT),
        "projective with a row above 2^128": [*_SEVEN, b"\xff" * 16],
    },
    more={
        f"projective, q = {q}, t = {t}, k = {k}": projective(k, q, t, NAT)
        for q, t, k in ((2, 2, 2), (2, 2, 3), (2, 3, 5), (3, 3, 8), (3, 3, 9), (7, 2, 7), (2, 4, 15))
    },
    drawn={
        "projective": projective(500, 3, 7, NAT),
        "projective over four elements": projective(300, 4, 5, 2 * NAT),
        "projective of two coordinates": projective(500, 499, 2, 5 * NAT),
    },
    costly={
        "projective lip, two": (Lip(MOST, joining._prior(127)), joining.projective(127, 2, 7)),
        "projective lip, many": (Lip(MOST, joining._prior(31)), joining.projective(31, 5, 3)),
        "projective lip, long lines": (Lip(MOST, joining._prior(3)), joining.projective(3, 101, 2)),
        "projective ball": (Lip(MOST, joining._prior(31), 10**8), joining.projective(31, 5, 3)),
        "projective geo": (Geo.between(MOST, 1, [0], range(3)), joining.projective(3, 2, 8)),
        "projective pairwise": (joining._matrix(20), joining.projective(20, 2, 20)),
    },
    rands=at_edges(_lengths),
    second_decoder=second_decoder,
    one_run=True,
)
