"""Subset selection: every property of a channel, against the dense matrix (SPEC 5.5)."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.families.sets.recipe import subset_selection
from protocol import exact
from protocol.channels.sets.subset import SubsetSelection
from protocol.channels.support import ONE
from tests.families.subset import subset
from tests.protocol.test_channels import OneRunProperties, assert_made_for, draw_of

NAT = exact.NANONATS
SEED = 20260101


SIZES = [(3, 2), (4, 2), (4, 3), (5, 2), (5, 3), (5, 4), (6, 3), (7, 2), (7, 5), (7, 6), (8, 4), (9, 3)]
GRID = {
    f"k = {k}, d = {d}": subset(k, d, level)
    for (k, d), level in zip(SIZES, [NAT, NAT // 10, 3 * NAT] * len(SIZES), strict=False)
}
# No author would choose these weights: a tiny outside weight, and weights that are almost equal.
GRID["k = 6, d = 3, a tiny outside weight"] = SubsetSelection(6, 3, 11)
GRID["k = 7, d = 4, almost equal weights"] = SubsetSelection(7, 4, ONE // 35 - 40)


@pytest.mark.parametrize("channel", GRID.values(), ids=GRID)
class TestSubset(OneRunProperties):
    """The properties of every channel, over this grid."""


def test_a_row_equals_the_one_computed_by_hand() -> None:
    """For k = 4, d = 2 and input 1, the enumerations equal those of SPEC 5.5, computed by hand."""
    channel = GRID["k = 4, d = 2"]
    inside = [channel.sample(1, draw_of(place * channel.inside)) for place in range(3)]
    assert inside == [0b0101, 0b0110, 0b1100]
    beyond = 3 * channel.inside
    outside = [channel.sample(1, draw_of(beyond + place * channel.outside)) for place in range(3)]
    assert outside == [0b0011, 0b1001, 0b1010]


def test_a_prior_of_62_values_is_compared_at_once() -> None:
    """A prior of 62 values is compared without enumerating the 2^62 words: the LIP level is below the LDP level."""
    channel = subset_selection(62, NAT)
    loss = channel.loss_against_prior(list(range(1, 63)))
    assert loss.level is not None
    assert 0 < loss.level < NAT
    assert channel.weight(loss.x, loss.y) > 0


@given(st.integers(3, 62), st.integers(exact.MIN_LEVEL, exact.MAX_LEVEL))
@settings(max_examples=100)
def test_declared_level_is_audited_level(size: int, level: int) -> None:
    """The recipe's channel is certified at its declared level and not at 0.1% less; a loss names a pair that reaches
    it."""
    channel = subset_selection(size, level)
    assert_made_for(channel, level)
    assert channel.remainder < channel.support


@pytest.mark.parametrize(("size", "level"), [(62, NAT), (40, NAT // 10), (16, 2 * NAT)])
def test_large_channels_set_each_bit_with_its_probability(size: int, level: int) -> None:
    """In n = 3,000 draws every set has d inputs, contains the true input with probability p* and each other input with
    q*, at alpha = 10^-6 for each bit; a failure would mean another distribution."""
    channel = subset_selection(size, level)
    x, n, source = size // 3, 3000, random.Random(SEED)
    drawn = [channel.sample(x, source.randbytes(16)) for _ in range(n)]
    assert all(channel.emits(y) for y in drawn)
    votes = Counter(i for y in drawn for i in range(size) if y >> (size - 1 - i) & 1)
    mine = channel.support * channel.inside / ONE
    others = (channel.ones - mine) / (size - 1)
    for i in range(size):
        p = mine if i == x else others
        assert abs(votes[i] - n * p) < 5 * (n * p * (1 - p)) ** 0.5
