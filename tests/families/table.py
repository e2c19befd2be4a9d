"""Tables (SPEC 5.1) for tests: channels, refused wire forms, and a second decoder written from SPEC alone."""

from __future__ import annotations

import random
from fractions import Fraction

from benchmarks import joining
from protocol.channels import Table
from protocol.notions import Ldp, Lip, MutualInformation
from tests.families.shapes import MOST, SEED, STEPS, DecodedChannel, Shapes, at_edges, big, first_above


def random_table(input_count: int, output_count: int, seed: int, *, zeros: bool = True) -> Table:
    """Return a table with rows of random weights; two of three columns may have zeros."""
    draw = random.Random(seed)
    weights = [
        [draw.randrange(0 if zeros and y % 3 else 1, 50) for y in range(output_count)] for _ in range(input_count)
    ]
    return Table.rounded([[Fraction(weight, sum(row)) for weight in row] for row in weights])


def second_decoder(rows: list[list[int]]) -> DecodedChannel:
    return DecodedChannel(
        len(rows), len(rows[0]), 62, 8,
        lambda x, y: rows[x][y],
        lambda x, rand: first_above(big(rand) // 4, rows[x]),
    )  # fmt: skip


TABLE = Table.rounded([
    [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6), Fraction(0)],
    [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2), Fraction(0)],
    [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3), Fraction(0)],
])  # fmt: skip


SHAPES = Shapes(
    small={"table": TABLE},
    refused={
        "table of one row": ["table", [[STEPS, 0]]],
        "table of one column": ["table", [[STEPS], [STEPS]]],
        "table of no rows": ["table", []],
        "table with a row that sums to one unit too little": ["table", [[STEPS, 0], [0, STEPS - 1]]],
        "table with a row that sums to one unit too much": ["table", [[STEPS, 0], [1, STEPS]]],
        "table with a negative weight": ["table", [[STEPS, 0], [-1, STEPS + 1]]],
        "table with rows of unequal lengths": ["table", [[STEPS, 0], [0, 0, STEPS]]],
        "table with a weight as text": ["table", [[STEPS, 0], ["0", STEPS]]],
        "table with a field too many": ["table", [[STEPS, 0], [0, STEPS]], 0],
    },
    more={
        "random table": random_table(5, 7, SEED),
        "table of two inputs": random_table(2, 2, SEED),
    },
    drawn={"table": random_table(20, 400, SEED)},
    costly={
        "table pairwise": (joining._matrix(16), joining._table(16, 20)),
        "table ldp": (Ldp(MOST), joining._table(20, 40)),
        "table mutual information": (MutualInformation(MOST, joining._prior(12)), joining._table(12, 12)),
        "table ball, two inputs": (Lip(MOST, joining._prior(2), 10**8), joining._table(2, 100)),
        "table ball": (Lip(MOST, joining._prior(30), 10**8), joining._table(30, 30)),
    },
    rands=at_edges(lambda channel, x: [4 * weight for weight in channel.rows[x]]),
    second_decoder=second_decoder,
)
