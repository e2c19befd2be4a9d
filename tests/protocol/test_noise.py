"""Noise on a lattice: every law against steps that are stopped one by one (SPEC 5.8)."""

from __future__ import annotations

from fractions import Fraction

import pytest

from protocol.channels.noise.channel import Noise
from tests.families.noise import random_mirrored, random_noise
from tests.protocol.test_channels import ChannelLaws

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
grid = pytest.mark.parametrize("channel", GRID.values(), ids=GRID)


@grid
class TestNoise(ChannelLaws):
    """The laws of every channel, over this grid."""


def steps_of(channel: Noise) -> dict[tuple[int, int], int]:
    """The weight of each step, from the law alone."""
    rows, columns = channel.rows, channel.columns
    steps = [(r, c) for r in range(1 - rows, rows) for c in range(1 - columns, columns)]
    if len(channel.law) == rows * columns:
        return {(r, c): channel.law[abs(r) * columns + abs(c)] for r, c in steps}
    return dict(zip(steps, channel.law, strict=True))


def stopped(channel: Noise) -> list[list[int]]:
    """The dense matrix: every step from every point, stopped at the border."""
    rows, columns = channel.rows, channel.columns
    matrix = [[0] * channel.outputs for _ in range(channel.inputs)]
    for x, row in enumerate(matrix):
        for (down, across), weight in steps_of(channel).items():
            to = min(max(x // columns + down, 0), rows - 1), min(max(x % columns + across, 0), columns - 1)
            row[to[0] * columns + to[1]] += weight
    return matrix


@grid
def test_weights_are_steps_stopped_at_the_border(channel: Noise) -> None:
    """weight and column are those of every step taken from every point and stopped; rows sum to one."""
    matrix = stopped(channel)
    assert all(sum(row) == 1 << channel.scale for row in matrix)
    for y in range(channel.outputs):
        assert channel.column(y) == [row[y] for row in matrix]
        assert [channel.weight(x, y) for x in range(channel.inputs)] == [row[y] for row in matrix]


@pytest.mark.parametrize("name", [name for name in GRID if " x " in name])
def test_loss_by_shift_is_brute_force(name: str) -> None:
    """For every shift, the worst ratio over all pairs that lie so, and a witness that does; mirror images are alike."""
    channel = GRID[name]
    matrix, columns = stopped(channel), channel.columns
    found = {(down, across): loss for down, across, loss in channel.losses_by_shift()}
    for x in range(channel.inputs):
        for other in range(channel.inputs):
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


@grid
def test_sample_has_the_weights(channel: Noise) -> None:
    """Draws fall into intervals in the order of the steps, so the lengths, added by where a step ends, are the weights;
    both sides of every threshold are drawn."""
    for x in range(channel.inputs):
        law, start = [0] * channel.outputs, 0
        for weight in steps_of(channel).values():
            if weight:
                ends = {channel.sample(x, (4 * u).to_bytes(8, "big")) for u in (start, start + weight - 1)}
                ends |= {channel.sample(x, (4 * (start + weight) - 1).to_bytes(8, "big"))}
                assert len(ends) == 1
                law[ends.pop()] += weight
                start += weight
        assert law == [channel.weight(x, y) for y in range(channel.outputs)]
