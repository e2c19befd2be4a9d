"""Properties of bit vectors, against brute force (SPEC 5.6)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import codec
from protocol.channels.bits.channel import Bits, S
from tests.protocol.test_channels import ChannelProperties, check_loss, check_prior_loss, weights

SEED = 20260101
HALF = S // 2

GRID: dict[str, Bits] = {
    "two inputs": Bits((HALF,), (S // 4,), ((0, 2),)),
    "one class": Bits((3 * S // 4,), (S // 4 + 1,), ((0, 5),)),
    "classes interleaved": Bits((HALF, S // 3, S - 1), (S // 4, 1, S - 2), ((0, 1), (1, 2), (0, 1), (2, 1))),
    "b = 0 in one class": Bits((HALF, S // 3), (S // 4, 0), ((0, 2), (1, 2))),
    "a = 1 and b = 0": Bits((S,), (0,), ((0, 3),)),
    "a = 1 in one class": Bits((HALF, S), (S // 4, S // 8), ((0, 2), (1, 1))),
    "a = 1 in one class, b = 0 in another": Bits((S, HALF, HALF + 1), (7, 0, 9), ((0, 1), (1, 1), (2, 2))),
}


@pytest.mark.parametrize("channel", GRID.values(), ids=GRID)
class TestBits(ChannelProperties):
    """The properties of every channel, over this grid."""


chances = st.tuples(st.integers(0, S), st.integers(0, S)).filter(lambda pair: pair[0] != pair[1])
bits = st.lists(chances, min_size=2, max_size=5).map(lambda pairs: Bits.over((max(p), min(p)) for p in pairs))


@given(bits, st.data())
@settings(max_examples=60)
def test_losses_of_random_bits_equal_brute_force(channel: Bits, data: st.DataObject) -> None:
    """Losses equal brute force for random probabilities, including 0 and 1, in any order of the inputs."""
    matrix = weights(channel)
    sides = st.lists(st.integers(0, channel.input_count - 1), min_size=1, max_size=6)
    check_loss(channel, matrix, data.draw(sides), data.draw(sides))


@given(bits, st.data())
@settings(max_examples=60)
def test_losses_of_random_bits_against_a_prior_equal_brute_force(channel: Bits, data: st.DataObject) -> None:
    """Losses against a prior equal brute force for random probabilities and priors."""
    k = channel.input_count
    check_prior_loss(channel, weights(channel), data.draw(st.lists(st.integers(1, 10**6), min_size=k, max_size=k)))


def test_forty_thousand_bits_are_sampled_and_audited() -> None:
    """A channel of 41,280 bits is sampled and audited at full size, and its wire form has fewer than 50 bytes.

    n: one draw; alpha = 5 * 10^-8, because 400 bits are 5.4 standard deviations of their number. A failure would mean
    other probabilities of the bits.
    """
    channel = Bits.over([(HALF, S // 9)] * 20_000 + [(HALF, S // 5)] * 21_280)
    y = channel.sample(7, random.Random(SEED).randbytes(channel.rand_bytes))
    assert abs(y.bit_count() - 20_000 / 9 - 21_280 / 5) < 400
    loss = channel.loss(range(channel.input_count), range(channel.input_count))
    assert (loss.numerator, loss.denominator) == (HALF * (S - S // 9), (S // 9) * HALF)
    assert channel.loss_against_prior(range(1, channel.input_count + 1)).level
    assert len(codec.encode(channel.encode())) < 50
