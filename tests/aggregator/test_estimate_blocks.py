"""Properties of decoding blocks, and of the recipes for blocks, against matrices from the channel's integer weights."""

import math
from fractions import Fraction

import numpy as np
import pytest

from aggregator.estimate.error import expected_mse
from aggregator.families.blocks.best import best_in_blocks
from aggregator.families.blocks.decoder import ConstantDecoder
from aggregator.families.blocks.recipe import high_low, in_blocks
from aggregator.families.decoder import NotInvertible
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import randomized_response
from protocol import exact
from protocol.channels import Blocks, Hadamard, RandomizedResponse, Table
from protocol.channels.blocks.channel import Constant
from protocol.exact import NANONATS
from protocol.notions import Block, HighLow, certify
from tests.aggregator.matrix import dense, left_inverse, step_probabilities

LEVELS = (NANONATS // 2, NANONATS, 4 * NANONATS)


def table(size, level):
    """Return a table with three more outputs than inputs and arbitrary weights."""
    rows = np.random.default_rng(size).integers(50, 100, (size, size + 3))
    return Table.rounded([[Fraction(int(cell), int(row.sum())) for cell in row] for row in rows])


def uneven_response(size, level):
    return RandomizedResponse(size, tuple(2**59 // (x + 1) for x in range(size)))


MIXED = [0] * 5 + [1] * 2 + [2] + [0] * 2 + [1] * 2 + [3] * 3 + [4]
CHANNELS = {
    "Hadamard": in_blocks(MIXED, NANONATS, hadamard),
    "response": in_blocks(MIXED, NANONATS, randomized_response),
    "uneven response": in_blocks(MIXED, NANONATS, uneven_response),
    "table": in_blocks(MIXED, NANONATS, table),
    "each block of another family": in_blocks(
        [0, 0, 1, 1, 1, 2, 2, 2, 2, 3], NANONATS,
        lambda size, level: {2: hadamard, 3: table, 4: uneven_response}[size](size, level),
    ),
    "equal blocks without open inputs": in_blocks([0, 1, 0, 1, 1, 0], NANONATS, table),
    "hiding in Hadamard": high_low(9, [1, 2, 5], NANONATS, hadamard),
    "hiding in a response": high_low(6, [1, 2, 4], NANONATS, randomized_response),
    "hiding in an uneven response": Blocks(2**120, ((0, 1), (1, 3), (0, 1)), (uneven_response(3, 0),)),
    "hiding in a table": high_low(7, [0, 1, 4], 4 * NANONATS, table),
    "hiding in a table, mostly": Blocks(2**125, ((1, 3), (0, 2)), (table(3, 0),)),
    "hiding behind one input": high_low(4, [2], NANONATS, hadamard),
}  # fmt: skip


@pytest.fixture(params=CHANNELS.values(), ids=CHANNELS.keys())
def channel(request):
    return request.param


def test_there_is_a_step_between_any_two_contributions_of_a_report(channel):
    """Each input has one step fewer than its column of L has different values."""
    decoder = decoder_of(channel)
    steps = decoder.binomial_steps(np.ones(channel.output_count, dtype=np.int64), channel.output_count)
    levels = [len(np.unique(column.round(9))) for column in left_inverse(decoder).T]
    assert steps.step_count.tolist() == [number - 1 for number in levels]


def test_every_step_counts_one_set_of_outputs_inside_the_one_below(channel, rng):
    """Each report reaches a step 0 or 1 times, from the bottom up without a gap, and the counts of several reports add
    up."""
    decoder = decoder_of(channel)
    units = np.eye(channel.output_count, dtype=np.int64)
    singles = [decoder.binomial_steps(unit, 1) for unit in units]
    reached = np.array([single.counts for single in singles])
    assert set(np.unique(reached)) <= {0, 1}
    for x in range(channel.input_count):
        used = np.flatnonzero(singles[0].heights[:, x])
        assert (np.diff(reached[:, used, x], axis=1) >= 0).all()  # the rows are the steps from the top down
    counts = rng.integers(0, 50, channel.output_count)
    steps = decoder.binomial_steps(counts, int(counts.sum()))
    some = steps.heights > 0
    assert np.array_equal(steps.counts[some], np.tensordot(counts, reached, 1)[some])


@pytest.mark.parametrize(
    "inner",
    [hadamard(5, NANONATS), randomized_response(5, NANONATS), uneven_response(4, 0), table(4, 0), Constant()],
    ids=["hadamard", "response", "uneven response", "table", "constant"],
)
def test_inner_decoders_take_shares_that_sum_to_less_than_one(inner, rng):
    """A block with a tenth of the reports has a tenth of the estimate; its variances are share @ L^2 - (share @
    L)^2."""
    decoder = ConstantDecoder() if isinstance(inner, Constant) else decoder_of(inner)
    L, share = left_inverse(decoder), rng.dirichlet(np.ones(inner.output_count)) / 10
    np.testing.assert_allclose(dense(inner) @ L, np.eye(inner.input_count), atol=1e-9)
    np.testing.assert_allclose(decoder.invert(share), share @ L, atol=1e-9)
    np.testing.assert_allclose(decoder.variances(share), share @ L**2 - (share @ L) ** 2, atol=1e-9)
    np.testing.assert_allclose(decoder.forward(np.full(inner.input_count, 0.01)).sum(), inner.input_count / 100)


def test_many_equal_blocks_are_decoded_like_single_blocks(rng):
    """The estimate of twenty blocks with one inner channel is, for each block, the inner estimate from the block's
    shares."""
    channel = in_blocks([x // 5 for x in range(100)], NANONATS, hadamard)
    inner = decoder_of(hadamard(5, NANONATS))
    share = rng.dirichlet(np.ones(channel.output_count))
    expected = np.concatenate([inner.invert(part) for part in share.reshape(20, 8)])
    np.testing.assert_allclose(decoder_of(channel).invert(share), expected, atol=1e-12)


def test_a_block_without_information_is_refused():
    """If an inner channel has no left inverse, the blocks are refused."""
    silent = RandomizedResponse(2, (2**63,))
    channel = Blocks(0, ((1, 2), (2, 2)), (silent, hadamard(2, NANONATS)))
    with pytest.raises(NotInvertible, match="higher level"):
        decoder_of(channel).invert(np.full(channel.output_count, 1 / channel.output_count))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("sensitive", [1, 2, 5])
def test_utility_optimised_response_is_the_published_channel(sensitive, level):
    """The channel has c1 = E / (s + E - 1), c2 = 1 / (s + E - 1) and c3 = (E - 1) / (s + E - 1) (Murakami, Kawamoto
    2019, Def. 3)."""
    E, s = math.exp(exact.nats(level)), sensitive
    channel = high_low(7, range(s), level, randomized_response)
    c2 = 1 / (s + E - 1)
    expected = np.zeros((7, 7))
    expected[:, :s] = c2
    expected[range(s), range(s)] = E * c2
    expected[range(s, 7), range(s, 7)] = (E - 1) * c2
    np.testing.assert_allclose(dense(channel), expected, atol=1e-15)
    certify(channel, HighLow(level, 7, tuple(range(s))))
    # A report for another value has the same weight for x whether that value is sensitive or open, so there is one
    # step.
    steps = decoder_of(channel).binomial_steps(np.ones(7, dtype=np.int64), 7)
    assert (steps.step_count == 1).all()
    truth, other = step_probabilities(steps)
    np.testing.assert_allclose(truth[:s], E * c2)
    np.testing.assert_allclose(other[:s], c2)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("inner", [hadamard, randomized_response])
@pytest.mark.parametrize("sensitive", [(0,), (3, 1), tuple(range(5))])
def test_high_low_channels_are_utility_optimised(sensitive, inner, level):
    """Each output either is possible for one open input only, or satisfies e^eps between all inputs, open inputs
    included.

    Source: Murakami, Kawamoto 2019, Definition 2 (ULDP).
    """
    channel = high_low(6, sensitive, level, inner)
    protected = channel.offsets[0]
    for y in range(channel.output_count):
        column = [channel.weight(x, y) for x in range(6)]
        if y < protected:
            assert exact.satisfies(max(column), min(column), level)
        else:
            (only,) = (x for x in range(6) if column[x])
            assert only not in sensitive


@pytest.mark.parametrize("level", LEVELS)
def test_one_sensitive_value_of_two_is_the_binary_optimum(level):
    """With levels (eps, infinity) the sensitive value always gives one answer, and the other value gives it with e^-eps
    (Acharya et al. 2020, Theorem 2)."""
    E = math.exp(exact.nats(level))
    channel = high_low(2, [0], level, hadamard)
    np.testing.assert_allclose(dense(channel), [[1, 0], [1 / E, 1 - 1 / E]], atol=1e-15)
    certificate = certify(channel, HighLow(level, 2, (0,)))
    assert certificate.audited_level == level
    # Warner's channel, the other optimum for two values, satisfies the level in both directions and has a larger error.
    assert expected_mse(channel) < expected_mse(randomized_response(2, level))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("sensitive", [2, 5, 8])
def test_the_cover_of_high_low_hadamard_is_the_published_one(sensitive, level):
    """An open input is reported as sensitive with probability 2 / (e^eps + 1) (Acharya et al. 2020, eq. 14)."""
    channel = high_low(10, range(sensitive), level, hadamard)
    assert channel.hidden / 2**128 == pytest.approx(2 / (math.exp(exact.nats(level)) + 1), rel=1e-14)
    assert certify(channel, HighLow(level, 10, tuple(range(sensitive)))).audited_level == level


@pytest.mark.parametrize("level", LEVELS)
def test_each_block_gets_its_best_channel(level, rng):
    """No single recipe for all blocks has less expected error than the best channel for each, for five random shares of
    the blocks."""
    blocks = [0] * 2 + [1] * 16 + [2] * 60 + [3]
    builders = [hadamard, randomized_response]
    best = best_in_blocks(blocks, level, builders)
    assert certify(best, Block.over(level, blocks)).audited_level in (level - 1, level)
    for _ in range(5):
        sizes = rng.dirichlet(np.ones(4))
        p = np.repeat(sizes / [2, 16, 60, 1], [2, 16, 60, 1])
        for build in builders:
            assert expected_mse(best, p) <= expected_mse(in_blocks(blocks, level, build), p) * (1 + 1e-9)
    # Randomised response is best for two values. Hadamard response is best for sixty, unless e^eps is about as large.
    families = [inner.family for inner in best.channels]
    assert (families[0], families[2]) == ("response", "response" if level == 4 * NANONATS else "hadamard")


def test_the_error_in_a_block_equals_that_of_a_plain_channel():
    """The error of one report, before the squares of the shares are subtracted, is the same in blocks of 16 as in a
    plain channel of 16.

    At eps = 4 randomised response has 1/10.9 of the error of Hadamard response for 16 values (MATH 5.3).
    """
    blocks, level = [x // 16 for x in range(64)], 4 * NANONATS
    builders = [hadamard, randomized_response]
    alike = (in_blocks(blocks, level, hadamard), best_in_blocks(blocks, level, builders))
    plain = (hadamard(16, level), randomized_response(16, level))
    for channel, inner in zip(alike, plain, strict=True):
        assert expected_mse(channel) + 1 / 64 == pytest.approx(expected_mse(inner) + 1 / 16)
    assert expected_mse(plain[0]) / expected_mse(plain[1]) == pytest.approx(10.9, rel=0.01)


def test_one_block_of_all_values_is_its_plain_channel():
    """A single block that contains all values is stored as its inner channel."""
    assert in_blocks([7, 7, 7], NANONATS, hadamard) == hadamard(3, NANONATS)
    assert isinstance(in_blocks([7, 7, 1], NANONATS, hadamard).channels[0], Hadamard)
