"""Noise on a lattice: every law against steps that are stopped one by one (SPEC 5.8)."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from protocol.channels.noise.channel import MAX_POINTS, Noise
from protocol.errors import ChannelError
from tests.protocol.test_channels import ChannelLaws

SEED = 20260101
ONE = 1 << 62
SHAPES = [(1, 2), (1, 3), (1, 7), (2, 2), (3, 2), (2, 4), (4, 3)]


def random_noise(rows: int, columns: int, mirrored: bool, least: int = 1) -> Noise:
    """A law of random weights, of which the step of zero makes a law."""
    draw = random.Random(SEED + rows * 100 + columns)
    if mirrored:
        law = [draw.randrange(least, 2**50) for _ in range(rows * columns)]
        images = [(1 + (r > 0)) * (1 + (c > 0)) for r in range(rows) for c in range(columns)]
        law[0] += ONE - sum(weight * image for weight, image in zip(law, images, strict=True))
    else:
        law = [draw.randrange(least, 2**50) for _ in range((2 * rows - 1) * (2 * columns - 1))]
        law[len(law) // 2] += ONE - sum(law)
    return Noise(rows, columns, tuple(law))


GRID = {
    **{
        f"{rows} x {columns}{', mirrored' * mirrored}": random_noise(rows, columns, mirrored)
        for rows, columns in SHAPES
        for mirrored in (False, True)
    },
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


def test_a_law_has_one_form() -> None:
    """A law that is alike in all directions is refused in its long form, on a line and on a grid."""
    with pytest.raises(ChannelError, match="distinct"):
        Noise(1, 3, (1, 2, ONE - 6, 2, 1))
    with pytest.raises(ChannelError, match="distinct"):
        Noise(2, 2, (1, 2, 1, 3, ONE - 14, 3, 1, 2, 1))


@pytest.mark.parametrize(
    ("rows", "columns", "law"),
    [
        (1, 1, (ONE,)),
        (2, 1, (ONE, 0)),
        (0, 2, ()),
        (1, MAX_POINTS + 1, (ONE,) + (0,) * MAX_POINTS),
        (1, 3, (ONE, 0)),
        (1, 3, (ONE - 1, 0, 0)),
        (1, 3, (ONE + 2, -1, 0)),
        (1, 2, (0, ONE)),
    ],
)
def test_what_is_no_law_is_refused(rows: int, columns: int, law: tuple[int, ...]) -> None:
    """One point, a column, too many points, another number of weights, or weights that are no law: stage channel."""
    with pytest.raises(ChannelError):
        Noise(rows, columns, law)
