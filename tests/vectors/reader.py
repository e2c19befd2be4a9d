"""A second reader of channels, from the text of SPEC 5 alone: lists and loops, nothing of ``protocol``.

A vector that the code wrote proves the code and not the text. Where a reader that knows only the text gives
the same weights and draws, a stranger's would too.

Slow, and without checks: what is refused, the negative vectors say.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from math import comb
from typing import Any


@dataclass(frozen=True)
class Law:
    """A channel as SPEC 5 describes one: its sizes, its weights, and the output of an input and random bytes."""

    inputs: int
    outputs: int
    scale: int
    rand_bytes: int
    weight: Callable[[int, int], int]
    sample: Callable[[int, bytes], int]


def big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def first_above(number: int, lengths: Iterable[int]) -> int:
    """The smallest place at which ``number`` is below the sum of the lengths up to there."""
    return next(place for place, end in enumerate(accumulate(lengths)) if number < end)


def table(rows: list[list[int]]) -> Law:
    return Law(
        len(rows), len(rows[0]), 62, 8,
        lambda x, y: rows[x][y],
        lambda x, rand: first_above(big(rand) // 4, rows[x]),
    )  # fmt: skip


def response(k: int, cover: list[int]) -> Law:
    c = cover * k if len(cover) == 1 else cover
    rest = 2**64 - sum(c)
    return Law(
        k, k, 64, 8,
        lambda x, y: c[y] + (rest if x == y else 0),
        lambda x, rand: x if big(rand) >= sum(c) else first_above(big(rand), c),
    )  # fmt: skip


def hadamard(k: int, truth: int) -> Law:
    m = 1
    while m <= k:
        m *= 2
    log = m.bit_length() - 1

    def agree(x: int, y: int) -> bool:
        return bin(x + 1 & y).count("1") % 2 == 0

    def sample(x: int, rand: bytes) -> int:
        y = big(rand[8:]) % m
        return y if agree(x, y) is (big(rand[:8]) < truth) else y ^ (x + 1 & -(x + 1))

    return Law(k, m, 63 + log, 8 + -(-log // 8), lambda x, y: truth if agree(x, y) else 2**64 - truth, sample)


def field(q: int) -> tuple[Callable[[int, int], int], Callable[[int, int], int]]:
    """The sum and the product of two elements."""
    p, reduced = {4: (2, [1, 1]), 8: (2, [1, 1, 0]), 9: (3, [2, 0])}.get(q, (q, [0]))
    e = len(reduced)

    def polynomial(number: int) -> list[int]:
        return [number // p**i % p for i in range(e)]

    def plus(a: int, b: int) -> int:
        return sum((c + d) % p * p**i for i, (c, d) in enumerate(zip(polynomial(a), polynomial(b), strict=True)))

    def times(a: int, b: int) -> int:
        found = [0] * (2 * e - 1)
        for (i, c), (j, d) in product(enumerate(polynomial(a)), enumerate(polynomial(b))):
            found[i + j] += c * d
        for high in range(2 * e - 2, e - 1, -1):
            for i, c in enumerate(reduced):
                found[high - e + i] += c * found[high]
        return sum(c % p * p**i for i, c in enumerate(found[:e]))

    return plus, times


def projective(k: int, q: int, t: int, outside_bytes: bytes) -> Law:
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

    return Law(k, len(points), 128, 16, weight, sample)


def subset(k: int, d: int, outside_bytes: bytes) -> Law:
    outside = big(outside_bytes)
    a, b = comb(k - 1, d - 1), comb(k - 1, d)
    inside, remainder = divmod(2**128 - b * outside, a)

    def word(place: int, length: int, n: int) -> str:
        bits = ""
        for e in reversed(range(length)):
            one = place >= comb(e, n)
            bits += "1" if one else "0"
            place, n = (place - comb(e, n), n - 1) if one else (place, n)
        return bits

    def weight(x: int, y: int) -> int:
        bits = f"{y:0{k}b}"
        if bits.count("1") != d:
            return 0
        without = word(b - 1, k - 1, d)
        largest = bits == without[:x] + "0" + without[x:]
        return inside if bits[x] == "1" else outside + remainder * largest

    def sample(x: int, rand: bytes) -> int:
        u = big(rand)
        own = u < a * inside
        r = word(u // inside, k - 1, d - 1) if own else word(min((u - a * inside) // outside, b - 1), k - 1, d)
        return int(r[:x] + ("1" if own else "0") + r[x:], 2)

    return Law(k, 2**k, 128, 16, weight, sample)


def of_runs(runs: list[int]) -> list[int]:
    return [block for block, length in zip(runs[::2], runs[1::2], strict=True) for _ in range(length)]


def bits(own: list[int], other: list[int], runs: list[int]) -> Law:
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

    return Law(k, 2**k, 32 * k, 4 * k, weight, sample)


def blocks(cover_bytes: bytes, runs: list[int], inner: list[list[Any]], numbers: list[int]) -> Law:
    cover, of = big(cover_bytes), of_runs(runs)
    laws = [read(inner[number]) for number in numbers]
    offsets = [sum(law.outputs for law in laws[:j]) for j in range(len(laws) + 1)]
    place = [of[:x].count(block) for x, block in enumerate(of)]

    def weight(x: int, y: int) -> int:
        if of[x] == 0:
            if y == offsets[-1] + place[x]:
                return 2**128 - cover * laws[0].outputs
            return cover if y < laws[0].outputs else 0
        law, output = laws[of[x] - 1], y - offsets[of[x] - 1]
        return law.weight(place[x], output) << 128 - law.scale if 0 <= output < law.outputs else 0

    def sample(x: int, rand: bytes) -> int:
        u, v = big(rand[:16]), rand[16:]
        if of[x] == 0:
            return u // cover if u < cover * laws[0].outputs else offsets[-1] + place[x]
        law = laws[of[x] - 1]
        return offsets[of[x] - 1] + law.sample(place[x], v[: law.rand_bytes])

    outputs = offsets[-1] + of.count(0)
    return Law(len(of), outputs, 128, 16 + max(law.rand_bytes for law in laws), weight, sample)


def constant() -> Law:
    return Law(1, 1, 0, 0, lambda x, y: 1, lambda x, rand: 0)


def noise(rows: int, columns: int, law: list[int]) -> Law:
    steps = list(product(range(1 - rows, rows), range(1 - columns, columns)))
    short = len(law) == rows * columns
    weights = [law[abs(r) * columns + abs(c)] for r, c in steps] if short else law

    def after(x: int, step: tuple[int, int]) -> int:
        i, j = x // columns + step[0], x % columns + step[1]
        return min(max(i, 0), rows - 1) * columns + min(max(j, 0), columns - 1)

    def weight(x: int, y: int) -> int:
        return sum(s for step, s in zip(steps, weights, strict=True) if after(x, step) == y)

    def sample(x: int, rand: bytes) -> int:
        return after(x, steps[first_above(big(rand) // 4, weights)])

    return Law(rows * columns, rows * columns, 62, 8, weight, sample)


def windows(
    arcs: list[int], cells: int, orders: int, heavy: list[int], singles: list[int], types: list[list[int]]
) -> Law:
    k, circle, one = len(arcs), sum(arcs), 2**64
    single = list(zip(singles[::3], singles[1::3], singles[2::3], strict=True))
    rare = [x for x in range(k) if x not in heavy and x not in singles[::3]]
    begins = []
    for r in range(orders):
        keys = hashlib.shake_128(b"halftruth windows order" + r.to_bytes(4, "big")).digest(8 * len(rare))
        order = sorted(range(len(rare)), key=lambda i, keys=keys: (keys[8 * i : 8 * i + 8], i))  # type: ignore[misc]
        lengths = [arcs[rare[i]] for i in order]
        begins.append({rare[i]: sum(lengths[:place]) for place, i in enumerate(order)})

    def pair(x: int, kind: list[int]) -> tuple[int, int]:
        _, inside, outside, low, *h = kind
        if x in rare:
            return inside, outside
        return (h[heavy.index(x)],) * 2 if x in heavy else (low, low)

    def part(x: int) -> list[int]:
        """What the types, the bonus and each single's ``other`` take of 2^64, in this order."""
        sizes = [kind[0] * pair(x, kind)[0] + (cells - kind[0]) * pair(x, kind)[1] for kind in types]
        bonus = sum(own - other for z, own, other in single if z == x)
        return [*sizes, bonus, *(other for _, _, other in single)]

    def before(x: int, r: int, cell: int) -> int:
        """How many points of x lie before this cell: u with J (2^64 s + u a) < cell * 2^64 A."""
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
    return Law(k, outputs, 128 + orders.bit_length() - 1, 17, weight, sample)


def triples(k: int, outside_bytes: bytes) -> Law:
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

    return Law(k, m, 128, 16, weight, sample)


def wave(k: int, b: int, outside_bytes: bytes) -> Law:
    outside = big(outside_bytes)
    inside = (2**128 - (k - 1) * outside) // (2 * b + 1)

    def sample(x: int, rand: bytes) -> int:
        u = big(rand)
        if u < (2 * b + 1) * inside:
            return x + u // inside
        j = (u - (2 * b + 1) * inside) // outside
        return j if j < x else j + 2 * b + 1

    return Law(k, k + 2 * b, 128, 16, lambda x, y: inside if x <= y <= x + 2 * b else outside, sample)


def graded(q: int, t: int, outside: list[bytes], runs: list[int]) -> Law:
    classes = of_runs(runs)
    laws = [projective(len(classes), q, t, weight) for weight in outside]
    return Law(
        len(classes), laws[0].outputs, 128, 16,
        lambda x, y: laws[classes[x]].weight(x, y),
        lambda x, rand: laws[classes[x]].sample(x, rand),
    )  # fmt: skip


FAMILIES: dict[str, Callable[..., Law]] = {
    "table": table,
    "response": response,
    "hadamard": hadamard,
    "projective": projective,
    "subset": subset,
    "bits": bits,
    "blocks": blocks,
    "constant": constant,
    "noise": noise,
    "windows": windows,
    "triples": triples,
    "wave": wave,
    "graded": graded,
}


def read(wire: list[Any]) -> Law:
    """The law of a wire form, which is a channel's."""
    family, *fields = wire
    return FAMILIES[family](*fields)
