"""Triples: every property of a channel, against the dense matrix and Bose's construction as published (SPEC 5.10)."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.families.sets.recipe import triples
from protocol import exact
from protocol.channels.sets.triples import MAX_TRIPLES_INPUTS, Triples, ring_size_for
from protocol.channels.support import ONE
from tests.protocol.test_channels import OneRunProperties, assert_made_for, draw_of

NAT = exact.NANONATS
SEED = 20260101

GRID = {
    f"k = {k}, {level} nanonats": triples(k, level)
    for k, level in [(2, NAT), (3, NAT), (4, NAT // 1000), (9, 2 * NAT), (10, NAT), (15, NAT // 10), (20, 20 * NAT),
                     (27, 3 * NAT)]
}  # fmt: skip
# No author would choose these weights; the second channel has nearly the same weight inside as outside.
GRID["k = 13, a tiny outside weight"] = Triples(13, 10)
GRID["k = 25, almost equal weights"] = Triples(25, ONE // 117 - 1)


@pytest.mark.parametrize("channel", GRID.values(), ids=GRID)
class TestTriples(OneRunProperties):
    """The properties of every channel, over this grid."""


def printed(channel: Triples) -> list[set[int]]:
    """Return Bose's triples: those of one place, and a, b of each ring with their mean (a + b) / 2 in the next ring,
    modulo n. The order is that of SPEC 5.10: by ring, then by half the distance, then by the mean."""
    n = channel.ring_size
    half = (n + 1) // 2
    of_one_place = [{place, n + place, 2 * n + place} for place in range(n)]
    others = []
    for ring in range(3):
        for a, b in combinations(range(n), 2):
            mean = (a + b) * half % n
            distance = (a - b) * half % n
            member_of_next = (ring + 1) % 3 * n + mean
            key = (ring, min(distance, n - distance), mean)
            others.append((key, {ring * n + a, ring * n + b, member_of_next}))
    return of_one_place + [triple for _, triple in sorted(others, key=lambda other: other[0])]


def test_the_grid_has_remainders() -> None:
    """The tested channels include an ordinary remainder, no remainder, and one that makes a triple without the true
    input almost as likely as the triples with it."""
    tiny, equal = GRID["k = 13, a tiny outside weight"], GRID["k = 25, almost equal weights"]
    assert tiny.remainder == 4
    assert (equal.remainder, equal.inside - equal.outside) == (9, 10)
    assert GRID[f"k = 9, {2 * NAT} nanonats"].remainder == 0


@pytest.mark.parametrize("size", [2, 9, 10, 15, 16, 22, 33, 63])
def test_any_two_points_are_in_one_triple(size: int) -> None:
    """Triple number i is Bose's; each triple has three points, and any two points, inputs or not, are in exactly one
    triple."""
    channel = triples(size, NAT)
    v = 3 * channel.ring_size
    assert v == next(v for v in range(max(size, 9), 100) if v % 6 == 3)
    assert channel.output_count == v * (v - 1) // 6
    assert channel.support == (v - 1) // 2
    found = [channel.members(y) for y in range(channel.output_count)]
    assert [set(triple) for triple in found] == printed(channel)
    met = Counter(frozenset(two) for triple in found for two in combinations(triple, 2))
    assert met == Counter(frozenset(two) for two in combinations(range(v), 2))


def test_the_largest_triple_system_uses_all_its_points() -> None:
    """4095 inputs use all points of their system, and outputs have 22 bits."""
    channel = triples(MAX_TRIPLES_INPUTS, NAT)
    assert 3 * channel.ring_size == MAX_TRIPLES_INPUTS
    assert channel.output_count == 2_794_155
    assert channel.output_bits == 22
    assert ring_size_for(MAX_TRIPLES_INPUTS + 1) == channel.ring_size + 2


def test_a_row_equals_the_one_computed_by_hand() -> None:
    """For k = 9 (n = 3, t = 1, cs = 4) and input 4, at place 1 of ring 1, the numbers equal those of SPEC 5.10,
    computed by hand."""
    channel = GRID[f"k = 9, {2 * NAT} nanonats"]
    inside = [channel.sample(4, draw_of(place * channel.inside)) for place in range(4)]
    assert inside == [1, 4, 8, 6]
    assert [set(channel.members(y)) for y in inside] == [{1, 4, 7}, {0, 2, 4}, {4, 3, 8}, {5, 4, 6}]
    beyond = 4 * channel.inside + channel.remainder
    outside = [channel.sample(4, draw_of(beyond + place * channel.outside)) for place in range(8)]
    # These are the orbits 0 to 3 at b = 0 and b = 2. The triples (2, 0) and (2, 2) contain the input, so (3, 1) and (2,
    # 1) replace them.
    assert outside == [0, 2, 3, 5, 10, 7, 9, 11]
    assert channel.sample(4, draw_of(4 * channel.inside)) == 0


@pytest.mark.slow
def test_a_prior_of_4095_values_is_compared() -> None:
    """For a channel of 2.8 million triples and a prior of 4,095 values, the LIP level is below the LDP level."""
    channel = triples(MAX_TRIPLES_INPUTS, NAT)
    loss = channel.loss_against_prior(list(range(1, MAX_TRIPLES_INPUTS + 1)))
    assert loss.level is not None
    assert 0 < loss.level < NAT


@given(st.integers(2, MAX_TRIPLES_INPUTS), st.integers(exact.MIN_LEVEL, exact.MAX_LEVEL))
@settings(max_examples=100)
def test_declared_level_is_audited_level(size: int, level: int) -> None:
    """The recipe's channel is certified at its declared level and not at 0.1% less; a loss names a pair that reaches
    it."""
    channel = triples(size, level)
    assert_made_for(channel, level)
    assert channel.remainder < channel.support


@pytest.mark.parametrize(("size", "level"), [(MAX_TRIPLES_INPUTS, 4 * NAT), (131, 4 * NAT), (22, 2 * NAT)])
def test_large_channels_name_the_true_input_with_the_right_probability(size: int, level: int) -> None:
    """In n = 5,000 draws, the triple contains the true input with probability p* and a given other input with q*, at
    alpha = 10^-6 each; a failure would mean another distribution."""
    channel = triples(size, level)
    x, n, source = size // 3, 5000, random.Random(SEED)
    drawn = [channel.sample(x, source.randbytes(16)) for _ in range(n)]
    assert all(channel.emits(y) for y in drawn)
    votes = Counter(member for y in drawn for member in channel.members(y))
    mine = channel.support * channel.inside / ONE
    theirs = (channel.inside + (channel.support - 1) * channel.outside) / ONE
    for i, p in ((x, mine), (0, theirs), (size - 1, theirs)):
        assert abs(votes[i] - n * p) < 5 * (n * p * (1 - p)) ** 0.5 + 5
