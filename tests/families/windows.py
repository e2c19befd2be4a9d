"""Windows (SPEC 5.9) for tests: channels, refused wire forms, and a second decoder written from SPEC alone."""

from __future__ import annotations

import hashlib
import random
from typing import Any

from benchmarks import joining
from protocol.channels import Windows
from protocol.channels.windows.arrangement import Single, WindowType
from protocol.notions import Ldp, Lip
from tests.families.shapes import MOST, ONE, SEED, DecodedChannel, Shapes, big, edges, first_above


def random_windows(
    input_count: int, heavies: int, singles: int, cells: int, orders: int, types: int, seed: int
) -> Windows:
    """Return windows with arcs of very different lengths, spans from 0 to all cells, and weights of which some are
    0."""
    draw = random.Random(seed)
    named = draw.sample(range(input_count), heavies + singles)
    arcs = [0 if x in named else draw.choice([1, 2, 7, 40, 1000]) for x in range(input_count)]
    most = ONE // (cells * types * 2)
    made = []
    for number in range(types):
        span = draw.choice([0, 1, cells - 1, cells, draw.randrange(cells + 1)])
        outside = draw.choice([0, draw.randrange(most)]) if number else draw.randrange(most)
        inside = outside if span in (0, cells) else draw.randrange(outside, most)
        made.append(
            WindowType(
                span, inside, outside, draw.randrange(1, most), tuple(draw.randrange(1, most) for _ in range(heavies))
            )
        )
    limit = ONE // (4 * max(singles, 1))
    alone = []
    for x in sorted(named[heavies:]):
        other = draw.randrange(1, limit)
        alone.append(Single(x, draw.randrange(other, limit), other))
    return Windows(tuple(arcs), cells, orders, tuple(sorted(named[:heavies])), tuple(alone), tuple(made))


def _refused() -> dict[str, Any]:
    """Return refused wire forms: each is a channel of two arcs, a heavy input and a single, with the one difference
    that its name states."""
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
        "windows with an input without an arc that is neither heavy nor single": but(arcs=[0, 0, 5, 0]),
        "windows with a single outside the domain": but(arcs=[3, 0, 5, 1], singles=[4, 4, 1]),
        "windows without types and with other inputs than singles": but(types=[], cells=1, orders=1),
        "windows with types and only singles": ["windows", [0, 0], 1, 1, [], [0, 4, 1, 1, 4, 1], [[0, 5, 5, 5]]],
        "windows without an arc and with other inputs than singles": but(
            arcs=[0, 0, 0], heavies=[0, 1, 2], singles=[], types=[[1, 9, 5, 2, 7, 7, 7]]
        ),
        "windows with only singles and two cells": ["windows", [0, 0], 2, 1, [], [0, 4, 1, 1, 4, 1], []],
        "windows with only singles and two orders": ["windows", [0, 0], 1, 2, [], [0, 4, 1, 1, 4, 1], []],
        "windows with a single of two numbers": but(singles=[3, 4 * unit]),
        "windows with a single whose other weight is above its own": but(singles=[3, unit, 4 * unit]),
        "windows with a type of three numbers": but(arcs=[3, 2, 5, 0], heavies=[], types=[[1, 9 * unit, 5 * unit]]),
        "windows with a type as an integer": but(types=[1]),
        "windows with types as an integer": but(types=1),
        "windows with a type without a weight for the heavy input": typed(1, 9 * unit, 5 * unit, 2 * unit),
        "windows with a type with a weight too many for heavy inputs": typed(
            1, 9 * unit, 5 * unit, 2 * unit, 7 * unit, 7 * unit
        ),
        "windows that span more than all cells": typed(4, 5 * unit, 5 * unit, 2 * unit, 7 * unit),
        "windows with a larger weight outside than inside": typed(1, 5 * unit, 9 * unit, 2 * unit, 7 * unit),
        "windows that span no cell, with inside above outside": typed(0, 9 * unit, 5 * unit, 2 * unit, 7 * unit),
        "windows that span all cells, with inside above outside": typed(3, 9 * unit, 5 * unit, 2 * unit, 7 * unit),
        "windows with arcs as an integer": but(arcs=5),
        "windows with a single of a negative weight": but(singles=[3, 4 * unit, -1]),
        "windows with a single's own weight that leaves nothing for the types": but(singles=[3, ONE - 1, unit]),
        "windows with a negative low weight": typed(1, 9 * unit, 5 * unit, -1, 7 * unit),
        "windows with a negative weight of a heavy input": typed(1, 9 * unit, 5 * unit, 2 * unit, -1),
        "windows with a negative outside weight": typed(1, 9 * unit, -1, 2 * unit, 7 * unit),
        "windows whose weights for a rare input sum to more than one": typed(
            1, 60 * unit, 20 * unit, 2 * unit, 7 * unit
        ),
        "windows whose weights for a heavy input sum to more than one": typed(
            1, 9 * unit, 5 * unit, 2 * unit, 34 * unit
        ),
        "windows whose weights for a single sum to more than one": typed(1, 9 * unit, 5 * unit, 33 * unit, 7 * unit),
    }


def _points(channel: Windows, x: int) -> list[bytes]:
    """Return draws with the first number on both sides of every window and single, and the second on both sides of
    every cell border inside."""
    rare = channel.arcs[x] > 0
    lengths = []
    for each in channel.types:
        kind = channel._kind_of(x)
        inside, outside = each.by_kind[kind]
        lengths += [inside] * each.span + [outside] * (channel.cells - each.span)
    lengths += [channel.bonus_of.get(x, 0), *(single.other_weight for single in channel.singles)]
    middle = (ONE // 3).to_bytes(8, "big")
    rands = [edge.to_bytes(8, "big") + middle + bytes([0xA5]) for edge in edges(lengths, ONE)]
    for order in range(channel.orders if channel.types else 1):
        borders = [channel.circle.points_before(order, x, cell) for cell in range(1, channel.cells)] if rare else []
        points = {0, ONE - 1} | {point for border in borders for point in (border - 1, border) if 0 <= point < ONE}
        # The bits of the last byte above those of the order must be ignored, so they are set here.
        rands += [
            bytes(8) + point.to_bytes(8, "big") + bytes([256 - channel.orders + order]) for point in sorted(points)
        ]
    return rands


def second_decoder(
    arcs: list[int], cells: int, orders: int, heavy: list[int], singles: list[int], types: list[list[int]]
) -> DecodedChannel:
    k, circle, one = len(arcs), sum(arcs), 2**64
    single = list(zip(singles[::3], singles[1::3], singles[2::3], strict=True))
    rare = [x for x in range(k) if x not in heavy and x not in singles[::3]]
    begins = []
    for r in range(orders):
        keys = hashlib.shake_128(b"halftruth windows order" + r.to_bytes(4, "big")).digest(8 * len(rare))
        order = sorted(range(len(rare)), key=lambda i, keys=keys: (keys[8 * i : 8 * i + 8], i))  # type: ignore[misc]  # a lambda has no types
        lengths = [arcs[rare[i]] for i in order]
        begins.append({rare[i]: sum(lengths[:place]) for place, i in enumerate(order)})

    def pair(x: int, kind: list[int]) -> tuple[int, int]:
        _, inside, outside, low, *h = kind
        if x in rare:
            return inside, outside
        return (h[heavy.index(x)],) * 2 if x in heavy else (low, low)

    def part(x: int) -> list[int]:
        """Return the shares of the types, the bonus and each single's ``other`` in 2^64, in this order."""
        sizes = [kind[0] * pair(x, kind)[0] + (cells - kind[0]) * pair(x, kind)[1] for kind in types]
        bonus = sum(own - other for z, own, other in single if z == x)
        return [*sizes, bonus, *(other for _, _, other in single)]

    def before(x: int, r: int, cell: int) -> int:
        """Return the number of points u of x before a cell: those with J (2^64 s + u a) < cell * 2^64 A."""
        return min(max(-((cells * one * begins[r][x] - cell * one * circle) // (cells * arcs[x])), 0), one)

    def weight(x: int, y: int) -> int:
        if y < len(single):
            z, own, other = single[y]
            return one * orders * (own if x == z else other)
        if y == len(single):
            return one * orders * (one - sum(part(x)))
        t, rj = divmod(y - len(single) - 1, orders * cells)
        r, j = divmod(rj, cells)
        inside, outside = pair(x, types[t])
        covered = [(j + ahead) % cells for ahead in range(types[t][0])] if x in rare else []
        points = sum(before(x, r, cell + 1) - before(x, r, cell) for cell in covered)
        return one * outside + (inside - outside) * points

    def sample(x: int, rand: bytes) -> int:
        d, u, r = big(rand[:8]), big(rand[8:16]), rand[16] % orders
        i = cells * (one * begins[r][x] + u * arcs[x]) // (one * circle) if x in rare else 0
        sizes = part(x)
        if d >= sum(sizes):
            return len(single)
        place = first_above(d, sizes)
        if place == len(types):
            return singles[::3].index(x)
        if place > len(types):
            return place - len(types) - 1
        (inside, outside), o, c = pair(x, types[place]), d - sum(sizes[:place]), types[place][0]
        j = i - o // inside if o < c * inside else i + 1 + (o - c * inside) // outside
        return len(single) + 1 + (place * orders + r) * cells + j % cells

    outputs = len(single) + 1 + len(types) * orders * cells
    return DecodedChannel(k, outputs, 128 + orders.bit_length() - 1, 17, weight, sample)


WINDOWS = Windows(
    (3, 0, 5, 0, 2, 40), 3, 2, (1,), (Single(3, ONE // 8, ONE // 64),),
    (
        WindowType(1, ONE // 20, ONE // 50, ONE // 33, (ONE // 40,)),
        WindowType(2, ONE // 12, ONE // 31, ONE // 27, (ONE // 29,)),
        WindowType(3, ONE // 70, ONE // 70, ONE // 60, (ONE // 55,)),
    ),
)  # fmt: skip
_FREQUENT = (Single(2, ONE // 50, ONE // 200), Single(150, ONE // 60, ONE // 180))

SHAPES = Shapes(
    small={
        "windows, inputs of every kind": WINDOWS,
        "windows with only singles": Windows(
            (0, 0, 0), 1, 1, (), tuple(Single(x, ONE // 2 + x, ONE // 5) for x in range(3)), ()
        ),
        "windows of equal arcs, rest = 0": Windows(
            (7, 7, 7, 7), 4, 1, (), (), (WindowType(2, 3 * ONE // 8, ONE // 8, 0, ()),)
        ),
        "windows, more arcs than cells": Windows(
            (1, 100, 3, 50, 9),
            2,
            4,
            (),
            (),
            (WindowType(1, ONE // 3, ONE // 6, 0, ()), WindowType(0, ONE // 9, ONE // 9, 0, ())),
        ),
    },
    large={
        "windows, k = 300": (
            Windows(
                tuple(0 if x in (0, 1, 2, 150) else 1 + 7919 * x % 101 for x in range(300)),
                64,
                4,
                (0, 1),
                _FREQUENT,
                (
                    WindowType(20, ONE // 100, ONE // 300, ONE // 250, (ONE // 110, ONE // 280)),
                    WindowType(7, ONE // 500, ONE // 900, ONE // 800, (ONE // 880, ONE // 510)),
                ),
            ),
            [(0, 3), (2, 0), (3, 2), (150, 1), (299, 514), (5, 258), (77, 300)],
        ),
    },
    refused=_refused(),
    more={
        f"windows of {k} inputs, {heavies} heavy, {singles} single": random_windows(k, heavies, singles, *shape, SEED)
        for k, heavies, singles, *shape in (
            (2, 1, 0, 1, 1, 1),
            (2, 0, 0, 5, 1, 2),
            (3, 0, 0, 3, 2, 2),
            (8, 1, 1, 4, 2, 3),
            (9, 3, 4, 7, 1, 2),
        )
    },
    drawn={"windows": random_windows(205, 3, 2, 50, 4, 3, SEED)},
    costly={
        "windows, many arcs": (Lip(MOST, joining._prior(400)), joining._windows(400, 16, 4, 2)),
        "windows, many cells": (Lip(MOST, joining._prior(9)), joining._windows(9, 200, 4, 2)),
        "windows, many types": (Lip(MOST, joining._prior(30)), joining._windows(30, 100, 2, 20)),
        "windows, wide windows": (Ldp(MOST), joining._windows(2, 13, 8, 8)),
        "windows, pairs of arcs": (joining._matrix(4), joining._windows(4, 6, 8, 2)),
        "windows ball": (Lip(MOST, joining._prior(60), 10**8), joining._windows(60, 32, 4, 2)),
    },
    rands=_points,
    second_decoder=second_decoder,
)
