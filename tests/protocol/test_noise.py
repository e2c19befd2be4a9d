"""Noise on a lattice: every property of a channel, and losses by shift, against brute force (SPEC 5.8)."""

from __future__ import annotations

from fractions import Fraction

import pytest

from protocol.channels.noise.channel import Noise
from tests.families.noise import random_mirrored, random_noise
from tests.protocol.test_channels import OneNumberProperties, weights

SEED = 20260101
ONE = 1 << 62
SHAPES = [(1, 2), (1, 3), (1, 7), (2, 2), (3, 2), (2, 4), (4, 3)]


GRID = {
    **{f"{rows} x {columns}": random_noise(rows, columns, SEED + rows) for rows, columns in SHAPES},
    **{f"{rows} x {columns}, mirrored": random_mirrored(rows, columns, SEED + rows) for rows, columns in SHAPES},
    "some steps impossible": Noise(1, 4, (ONE // 2, ONE // 4, 0, 0)),
    "always one to the right": Noise(1, 3, (0, 0, 0, ONE, 0)),
    "no step at all": Noise(2, 2, (ONE, 0, 0, 0)),
}


@pytest.mark.parametrize("channel", GRID.values(), ids=GRID)
class TestNoise(OneNumberProperties):
    """The properties of every channel, over this grid."""


@pytest.mark.parametrize("name", [name for name in GRID if " x " in name])
def test_loss_by_shift_equals_brute_force(name: str) -> None:
    """For every shift, the loss is the worst ratio over all pairs with this shift, its witness has the shift, and
    mirrored shifts have equal losses."""
    channel = GRID[name]
    matrix, columns = weights(channel), channel.columns
    found = {(down, across): loss for down, across, loss in channel.losses_by_shift()}
    for x in range(channel.input_count):
        for other in range(channel.input_count):
            down, across = other // columns - x // columns, other % columns - x % columns
            if x == other:
                continue
            loss = found[(abs(down), abs(across)) if channel.mirrored else (down, across)]
            assert max(map(Fraction, matrix[x], matrix[other])) <= Fraction(loss.numerator, loss.denominator)
    for (down, across), loss in found.items():
        x, other = loss.x, loss.other
        assert other is not None
        assert (other // columns - x // columns, other % columns - x % columns) == (down, across)
        assert (matrix[x][loss.y], matrix[other][loss.y]) == (loss.numerator, loss.denominator)
