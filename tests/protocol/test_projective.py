"""Projective response: every property of a channel, against the dense matrix (SPEC 5.4)."""

from __future__ import annotations

import random
from itertools import takewhile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.families.projective.recipe import projective
from protocol import codec, exact
from protocol.channels.projective.channel import ProjectiveResponse
from protocol.channels.projective.field import field_of, is_prime, orders
from protocol.channels.projective.geometry import MAX_POINTS
from protocol.errors import ChannelError
from tests.families.projective import projective as geometry
from tests.protocol.test_channels import OneRunProperties, assert_made_for, draw_of, weights

NAT = exact.NANONATS
SEED = 20260101


# Each shape has the order of the field, the dimension, and the number of points that are inputs: all, all but one, two,
# or some others.
SHAPES = [
    (2, 2, 2), (2, 2, 3), (3, 2, 4), (7, 2, 7), (31, 2, 32),
    (2, 3, 4), (2, 3, 7), (2, 4, 8), (2, 4, 15), (2, 5, 17),
    (3, 3, 2), (3, 3, 8), (3, 3, 13), (3, 4, 14), (5, 3, 30), (5, 3, 31), (7, 3, 33),
    (4, 2, 5), (4, 3, 21), (4, 4, 23), (8, 2, 9), (8, 3, 40), (9, 2, 7), (9, 3, 14),
]  # fmt: skip
LEVELS = [NAT, 10 * NAT, NAT // 10, 2 * NAT]
GRID = {
    f"q = {q}, t = {t}, k = {k}": geometry(k, q, t, level)
    for (q, t, k), level in zip(SHAPES, LEVELS * len(SHAPES), strict=False)
}
grid = pytest.mark.parametrize("channel", GRID.values(), ids=GRID)


@grid
class TestProjective(OneRunProperties):
    """The properties of every channel, over this grid."""


@grid
def test_a_channel_takes_few_bytes(channel: ProjectiveResponse) -> None:
    """The wire form of every channel has fewer than 40 bytes."""
    assert len(codec.encode(channel.encode())) < 40


@grid
def test_points_are_numbered_once(channel: ProjectiveResponse) -> None:
    """The points are all canonical vectors in order, and every multiple of a canonical vector has its number."""
    vectors = [channel.geometry.coordinates(point) for point in range(channel.output_count)]
    assert len(set(vectors)) == channel.output_count == (channel.order**channel.dimension - 1) // (channel.order - 1)
    assert all(next(c for c in vector if c) == 1 and max(vector) < channel.order for vector in vectors)
    assert vectors == sorted(vectors)
    draw = random.Random(SEED)
    for point, vector in enumerate(vectors):
        factor = draw.randrange(1, channel.order)
        times = channel.geometry.arithmetic.times
        assert channel.geometry.point([times(c, factor) for c in vector]) == point


@grid
def test_supports_are_a_design(channel: ProjectiveResponse) -> None:
    """All sets S_x have cs points, and those of any two different inputs share ci points."""
    supports = [{y for y, weight in enumerate(row) if weight == channel.inside} for row in weights(channel)]
    for x, mine in enumerate(supports):
        assert len(mine) == channel.support
        assert all(len(mine & other) == channel.shared for other in supports[:x])


@grid
def test_supported_points_are_in_the_order_of_their_draws(channel: ProjectiveResponse) -> None:
    """The comparison with a prior uses the same enumeration of points as draws."""
    x = channel.input_count - 1
    drawn = [channel.sample(x, draw_of(place * channel.inside)) for place in range(channel.support)]
    assert list(channel.geometry.supported(x)) == drawn


def test_a_row_equals_the_one_computed_by_hand() -> None:
    """For q = 3, t = 3 and input 5, the point (1, 0, 1), the enumerations equal those of SPEC 5.4, computed by hand."""
    channel = geometry(13, 3, 3, NAT)
    assert [channel.geometry.coordinates(point) for point in (0, 1, 3, 4, 5, 12)] == [
        (0, 0, 1), (0, 1, 0), (0, 1, 2), (1, 0, 0), (1, 0, 1), (1, 2, 2)
    ]  # fmt: skip
    # The outputs near input 5 have y_0 = -y_2 and (y_1, y_2) = (0, 1), (1, 0), (1, 1), (1, 2), so y = (2, 0, 1) ~ (1,
    # 0, 2), (0, 1, 0), (2, 1, 1) ~ (1, 2, 2) and (1, 1, 2).
    near = [channel.sample(5, draw_of(place * channel.inside)) for place in range(4)]
    assert [channel.geometry.coordinates(y) for y in near] == [(1, 0, 2), (0, 1, 0), (1, 2, 2), (1, 1, 2)]
    # The other outputs have y_0 = 1 - y_2, and (y_1, y_2) counts up in base 3.
    beyond = 4 * channel.inside
    far = [channel.sample(5, draw_of(beyond + place * channel.outside)) for place in (0, 1, 2, 5, 8)]
    assert [channel.geometry.coordinates(y) for y in far] == [(1, 0, 0), (0, 0, 1), (1, 0, 1), (1, 2, 1), (1, 1, 1)]


@grid
def test_masses_are_those_of_the_preferred_outputs(channel: ProjectiveResponse) -> None:
    """The mass of an output is the sum over the inputs that prefer it, found by checking each input."""
    draw = random.Random(SEED)
    masses = [draw.randrange(100) for _ in range(channel.input_count)]
    expected = [0] * channel.output_count
    for x, mass in enumerate(masses):
        for y in channel.geometry.supported(x):
            expected[y] += mass
    assert channel.geometry.masses(masses) == expected


@given(st.integers(2, 2**20), st.integers(exact.MIN_LEVEL, exact.MAX_LEVEL))
@settings(max_examples=40)
def test_declared_level_is_audited_level(size: int, level: int) -> None:
    """The recipe's channel is certified at its declared level and not at 0.1% less; a loss names a pair that reaches
    it."""
    assert_made_for(projective(size, level), level)


@grid
def test_the_outside_weight_is_the_least(channel: ProjectiveResponse) -> None:
    """The next smaller outside weight for which rows sum to 2^scale no longer satisfies the level, in exact
    integers."""
    level = channel.loss([0], [1]).level
    assert level is not None
    fewer = channel.outside - channel.support
    finer = ProjectiveResponse(channel.input_count, channel.order, channel.dimension, fewer)
    assert finer.inside == channel.inside + channel.output_count - channel.support
    assert exact.satisfies(channel.inside, channel.outside, level)
    assert not exact.satisfies(finer.inside, finer.outside, level)


@pytest.mark.parametrize("order", [2, 3, 5, 4, 8, 9])
def test_the_arithmetic_is_that_of_a_field(order: int) -> None:
    """Sums and products are commutative, associative and distributive, 0 and 1 are neutral, and every element except 0
    has an inverse; all elements are tested. The prime field is that of the numbers below the prime."""
    field, elements = field_of(order), range(order)
    times = field.times

    def plus(one: int, other: int) -> int:
        return field.sums([one], [other], 1)[0]

    for a in elements:
        assert plus(a, 0) == a == times(a, 1)
        assert sorted(plus(a, b) for b in elements) == list(elements)
        assert not a or times(a, field.inverse(a)) == 1
        for b in elements:
            assert plus(a, b) == plus(b, a)
            assert times(a, b) == times(b, a)
            assert plus(field.minus(a, b), b) == a
            for c in elements:
                assert plus(a, plus(b, c)) == plus(plus(a, b), c)
                assert times(a, times(b, c)) == times(times(a, b), c)
                assert times(a, plus(b, c)) == plus(times(a, b), times(a, c)) == field.dot([a, a], [b, c])
    prime = next(p for p in (2, 3, 5) if order % p == 0)
    assert all(times(a, b) == a * b % prime for a in range(prime) for b in range(prime))
    assert field.sums(elements, elements, 2 * order) == [plus(a, b) for a in elements for b in elements][: 2 * order]


def test_the_orders_are_the_primes_and_4_8_and_9() -> None:
    """The accepted orders of fields are the primes, and 4, 8 and 9."""
    found = [*takewhile(lambda order: order < 1_000, orders())]
    assert found == [number for number in range(1_000) if is_prime(number) or number in (4, 8, 9)]
    assert next(orders(9)) == 9


def test_is_prime_agrees_with_trial_division() -> None:
    """is_prime agrees with trial division below 2^12."""
    primes = [number for number in range(2, 2**12) if all(number % d for d in range(2, number))]
    assert [number for number in range(2**12) if is_prime(number)] == primes


def test_a_space_of_too_many_points_is_refused() -> None:
    """A space with 2^24 - 1 points is accepted; one with more than 2^24 is refused."""
    assert geometry(2, 2, 24, NAT).output_count == MAX_POINTS - 1
    with pytest.raises(ChannelError):
        geometry(2, 3, 16, NAT)
