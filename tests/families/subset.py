"""Subset selection (SPEC 5.5) for tests: channels, refused wire forms, and a second decoder written from SPEC alone."""

from __future__ import annotations

from math import comb
from typing import Any

from benchmarks import joining
from protocol.channels import SubsetSelection
from protocol.notions import Lip
from tests.families.shapes import MOST, NAT, WIDE, DecodedChannel, Shapes, at_edges, big, outside_of


def subset(size: int, ones: int, level: int) -> SubsetSelection:
    """Return the channel whose outputs are sets of ``ones`` inputs.

    If only one set lacks the true input, the outside weight is raised until there is no remainder.
    """
    having, lacking = comb(size - 1, ones - 1), comb(size - 1, ones)
    least = outside_of(level, having, lacking)
    return SubsetSelection(size, ones, least + ((WIDE - least) % having if lacking == 1 else 0))


def second_decoder(k: int, d: int, outside_bytes: bytes) -> DecodedChannel:
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

    return DecodedChannel(k, 2**k, 128, 16, weight, sample)


SETS = subset(5, 2, NAT)


def _sets(size: int, ones: int, outside: int) -> list[Any]:
    return ["subset", size, ones, outside.to_bytes(16, "big")]


SHAPES = Shapes(
    small={
        "subset, two of five": SETS,
        "subset, all but one": subset(4, 3, 2 * NAT),
        "subset with a large remainder": SubsetSelection(5, 3, 11),
    },
    large={
        "subset, k = 62": (
            subset(62, 17, NAT),
            [(0, 2**62 - 2**45), (61, 2**17 - 1), (0, 2**61 - 2**44), (3, 2**18 - 1)],
        ),
    },
    refused={
        "subset with a field missing": ["subset", 5, 2],
        "subset with a field too many": [*_sets(5, 2, SETS.outside), 0],
        "subset with a weight of 17 bytes": ["subset", 5, 2, bytes(17)],
        "subset with a weight as text": ["subset", 5, 2, "0" * 16],
        "subset with a weight as an integer": ["subset", 5, 2, 7],
        "subset of two inputs": _sets(2, 1, 1),
        "subset of 63 inputs": _sets(63, 2, WIDE // 4000),
        "subset with sets of one input": _sets(5, 1, WIDE // 10),
        "subset with the set of all inputs": _sets(5, 5, 1),
        "subset with an outside weight of zero": _sets(5, 2, 0),
        "subset with an outside weight above the inside one": _sets(5, 2, WIDE // 10 + 1),
        "subset with a row above 2^128": ["subset", 5, 2, b"\xff" * 16],
        "subset with a remainder above inside - outside": _sets(7, 4, WIDE // 35 - 1),
        "subset with a remainder if only one set lacks the true input": _sets(4, 3, subset(4, 3, NAT).outside + 1),
    },
    more={f"subset, k = {k}, d = {d}": subset(k, d, NAT) for k, d in ((3, 2), (4, 2), (5, 4), (6, 3))},
    drawn={"subset": subset(11, 4, NAT)},
    costly={
        "subset pairwise": (joining._matrix(20), joining._subset(20, 9)),
        "subset lip": (Lip(MOST, joining._prior(20)), joining._subset(20, 9)),
    },
    rands=at_edges(lambda channel, _: [channel.inside] * channel.support + [channel.outside] * channel.complement),
    second_decoder=second_decoder,
    one_run=True,
)
