"""Pairs: every law of a channel, against the dense matrix (SPEC 5.10)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.design import support
from protocol import channels, codec, exact, notions
from protocol.channels.pairs import MAX_INPUTS, ONE, Pairs, number_of, pair_of
from protocol.errors import ChannelError, Uncertified

NAT = exact.NANONATS
SEED = 20260101

GRID = {
    f"k = {k}, {level} nanonats": support.pairs(k, level)
    for k, level in [(3, NAT), (3, NAT // 1000), (4, NAT), (4, 4 * NAT), (5, NAT // 10), (6, 2 * NAT), (9, 3 * NAT),
                     (12, 20 * NAT)]
}  # fmt: skip
# Weights that nobody would choose: in the second, the remainder is as large as it may be.
GRID["k = 7, coarse"] = Pairs(7, 10)
GRID["k = 8, nearly flat"] = Pairs(8, ONE // 28 - 1)
grid = pytest.mark.parametrize("channel", GRID.values(), ids=GRID)


def weights(channel: Pairs) -> list[list[int]]:
    """The dense matrix, the slow twin of every structure."""
    return [[channel.weight(x, y) for y in range(channel.outputs)] for x in range(channel.inputs)]


def by_number(size: int) -> list[tuple[int, int]]:
    """All pairs, by their larger input, then by their smaller one."""
    return sorted(combinations(range(size), 2), key=lambda pair: pair[::-1])


def draw_of(number: int) -> bytes:
    return number.to_bytes(16, "big")


def test_the_grid_has_remainders() -> None:
    """What is tested below includes remainders: a large one, and one that makes a pair without the own input as likely
    as those with it."""
    coarse, flat = GRID["k = 7, coarse"], GRID["k = 8, nearly flat"]
    assert coarse.remainder == 4
    assert flat.remainder == 4 == flat.inside - flat.outside


def test_numbers_of_pairs() -> None:
    """Numbers go through all pairs, by their larger input, then by their smaller one, and back, to the last of 2^12."""
    for number, pair in enumerate(by_number(50)):
        assert number_of(*pair) == number
        assert pair_of(number) == pair
    last = comb(MAX_INPUTS, 2) - 1
    assert pair_of(last) == (MAX_INPUTS - 2, MAX_INPUTS - 1)
    assert support.pairs(MAX_INPUTS, NAT).output_bits == last.bit_length() == 23


@grid
def test_rows_sum_to_one(channel: Pairs) -> None:
    """The inside weight where the pair holds the input, the outside weight elsewhere, the remainder in the last pair
    that does not, and rows sum to 2^128."""
    numbers = by_number(channel.inputs)
    assert channel.outputs == len(numbers)
    for x, row in enumerate(weights(channel)):
        assert sum(row) == 1 << channel.scale == ONE
        lacking = [y for y, pair in enumerate(numbers) if x not in pair]
        assert len(lacking) == channel.lacking
        for y, weight in enumerate(row):
            expected = channel.outside + (channel.remainder if y == lacking[-1] else 0)
            assert weight == (expected if y in lacking else channel.inside)


@grid
def test_sample_has_the_weights(channel: Pairs) -> None:
    """The draws of an input fall into intervals of one pair each, first of the pairs that hold the input, then of the
    others, by number, whose lengths are the weights; both ends of every interval are looked at."""
    numbers = by_number(channel.inputs)
    for x in range(channel.inputs):
        start = 0
        for y in sorted(range(channel.outputs), key=lambda y: (x not in numbers[y], y)):
            length = channel.weight(x, y)
            for draw in (start, start + length // 2, start + length - 1):
                assert channel.sample(x, draw_of(draw)) == y
            start += length
        assert start == ONE


def test_a_row_drawn_by_hand() -> None:
    """k = 4, input 1: the numbers of SPEC 5.10, worked on paper."""
    channel = GRID[f"k = 4, {NAT} nanonats"]
    inside = [channel.sample(1, draw_of(place * channel.inside)) for place in range(3)]
    assert inside == [0, 2, 4]  # {0, 1}, {1, 2}, {1, 3}
    beyond = 3 * channel.inside
    outside = [channel.sample(1, draw_of(beyond + place * channel.outside)) for place in range(3)]
    assert outside == [1, 3, 5]  # {0, 2}, {0, 3}, {2, 3}


def brute_loss(matrix: list[list[int]], first: Sequence[int], second: Sequence[int]) -> Fraction:
    return max(
        Fraction(mine, theirs)
        for x in first
        for other in second
        for mine, theirs in zip(matrix[x], matrix[other], strict=True)
    )


@grid
def test_loss_is_brute_force(channel: Pairs) -> None:
    """loss(A, B) is the worst ratio over A x B and all outputs, reached at its witness, for all pairs and for sets."""
    matrix = weights(channel)
    everything = range(channel.inputs)
    cases: list[tuple[Sequence[int], Sequence[int]]] = [([x], [other]) for x in everything for other in everything]
    cases += [(everything, everything), ([0, 0], [0]), ([1], [1, 1, 0])]
    for first, second in cases:
        loss = channel.loss(first, second)
        assert loss.x in first
        assert loss.other in second
        expected = brute_loss(matrix, first, second)
        assert Fraction(loss.numerator, loss.denominator) == expected
        assert Fraction(matrix[loss.x][loss.y], matrix[loss.other][loss.y]) == expected


@grid
def test_loss_against_prior_is_brute_force(channel: Pairs) -> None:
    """loss_against_prior is the worst lift, either way, in exact fractions, reached at its witness."""
    matrix = weights(channel)
    draw = random.Random(SEED)
    k = channel.inputs
    priors = [[1] * k, [1] * (k - 1) + [10**6], [10**6] + [1] * (k - 1), list(range(1, k + 1)), list(range(k, 0, -1))]
    priors += [[1, *[10**6] * (k - 1)], [*[10**6] * (k - 2), 1, 1]]
    priors += [[draw.randint(1, 1000) for _ in range(k)] for _ in range(20)]
    for prior in priors:
        loss = channel.loss_against_prior(prior)
        worst = Fraction(1)
        for column in zip(*matrix, strict=True):
            marginal = Fraction(sum(p * q for p, q in zip(prior, column, strict=True)), sum(prior))
            worst = max(worst, max(column) / marginal, marginal / min(column))
        assert Fraction(loss.numerator, loss.denominator) == worst
        marginal = Fraction(sum(p * row[loss.y] for p, row in zip(prior, matrix, strict=True)), sum(prior))
        lift = matrix[loss.x][loss.y] / marginal
        assert worst in (lift, 1 / lift)


def test_a_prior_of_4096_values_is_compared_at_once() -> None:
    """The comparison does not walk through the 8 million pairs: an LDP channel keeps its level as a LIP one."""
    channel = support.pairs(MAX_INPUTS, NAT)
    loss = channel.loss_against_prior(list(range(1, MAX_INPUTS + 1)))
    assert loss.level is not None
    assert 0 < loss.level < NAT


@given(st.integers(3, MAX_INPUTS), st.integers(exact.MIN_LEVEL, exact.MAX_LEVEL))
@settings(max_examples=100, deadline=None)
def test_declared_level_is_audited_level(size: int, level: int) -> None:
    """The recipe's channel is certified at its declared level and at no thousandth less; a loss names a true pair."""
    channel = support.pairs(size, level)
    certificate = notions.certify(channel, notions.Ldp(level))
    assert level - 1 <= certificate.audited == certificate.ldp <= level
    loss = certificate.witness
    assert channel.weight(loss.x, loss.y) == loss.numerator
    assert channel.weight(loss.other, loss.y) == loss.denominator  # type: ignore[arg-type]
    assert channel.remainder < size - 1
    less = level * 999 // 1000
    if less >= exact.MIN_LEVEL:
        with pytest.raises(Uncertified):
            notions.certify(channel, notions.Ldp(less))


@pytest.mark.parametrize(("size", "level"), [(MAX_INPUTS, 4 * NAT), (131, 4 * NAT), (18, 2 * NAT)])
def test_large_channels_name_the_own_input_as_often_as_they_should(size: int, level: int) -> None:
    """n = 5,000 draws: the pair holds the own input with probability p* and a given other with q*, at alpha = 10^-6
    each; a failure would mean another law."""
    channel = support.pairs(size, level)
    x, n, source = size // 3, 5000, random.Random(SEED)
    drawn = [channel.sample(x, source.randbytes(16)) for _ in range(n)]
    assert all(channel.emits(y) for y in drawn)
    votes = Counter(member for y in drawn for member in pair_of(y))
    mine = (size - 1) * channel.inside / ONE
    for i, p in ((x, mine), (0, (2 - mine) / (size - 1)), (size - 1, (2 - mine) / (size - 1))):
        assert abs(votes[i] - n * p) < 5 * (n * p * (1 - p)) ** 0.5 + 5


@grid
def test_a_draw_is_whole(channel: Pairs) -> None:
    """Another number of random bytes, or an input that is none, is refused."""
    rand = bytes(16)
    for x, given_rand in ((0, rand[:-1]), (0, rand + b"\0"), (-1, rand), (channel.inputs, rand)):
        with pytest.raises(ValueError, match=r"random bytes|input"):
            channel.sample(x, given_rand)


@grid
def test_wire_round_trip(channel: Pairs) -> None:
    """A channel decodes to itself, with the same derived numbers."""
    again = channels.decode(codec.decode(codec.encode(channel.encode()), limit=100))
    assert isinstance(again, Pairs)
    assert again == channel
    assert weights(again) == weights(channel)


OUTSIDE = support.pairs(5, NAT).outside.to_bytes(16, "big")


@pytest.mark.parametrize(
    "value",
    [
        ["pairs", 5],
        ["pairs", 5, OUTSIDE, 0],
        ["pairs", 5, OUTSIDE[1:]],
        ["pairs", 5, 7],
        ["pairs", 2, OUTSIDE],
        ["pairs", MAX_INPUTS + 1, (1).to_bytes(16, "big")],
        ["pairs", 5, bytes(16)],
        ["pairs", 5, b"\xff" * 16],
        ["pairs", 5, (ONE // 10 + 1).to_bytes(16, "big")],
        ["pairs", 10, (ONE // 45).to_bytes(16, "big")],  # inside - outside is less than the remainder
        ["pairs", 3, (support.pairs(3, NAT).outside + 1).to_bytes(16, "big")],  # the only outside pair, and a remainder
    ],
)
def test_what_is_no_channel_is_refused(value: codec.Value) -> None:
    """Missing and further fields, too few and too many inputs, weights without order, a remainder without a place."""
    with pytest.raises(ChannelError):
        Pairs.from_wire(value)
