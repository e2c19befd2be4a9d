"""The recipe of windows: its gain, its level, and its costs for a device."""

import time

import numpy as np
import pytest

from aggregator.estimate.error import expected_mse, lip_mse, lip_mse_bound
from aggregator.families.decoder import NotInvertible
from aggregator.families.windows.decoder import MAX_INVERSE_CELLS, MAX_UNBIASED_INPUTS, WindowsDecoder
from aggregator.families.windows.recipe import windows
from protocol.channels.windows.channel import Windows
from protocol.errors import NotionError, Uncertified
from protocol.exact import NANONATS
from protocol.notions import Lip, certify


def counted(weights):
    weights = np.asarray(weights, dtype=float)
    return [max(1, round(2**40 * weight)) for weight in weights / weights.sum()]


def zipf(size, power):
    return counted(np.arange(1, size + 1) ** -float(power))


def share_of_gain(channel, prior, level):
    """Return the channel's gain over a guess from the prior, as a fraction of the coordinate bound's (MATH 2.2)."""
    distribution = np.array(prior) / sum(prior)
    decoder = WindowsDecoder(channel)
    error = 1 - (decoder.forward_squares(distribution**2) / decoder.forward(distribution)).sum()
    guess = 1 - (distribution**2).sum()
    return (guess - error) / (guess - lip_mse_bound(level, prior))


ZIPF = {
    f"zipf {power}, k = {k}, eps = {eps}": (zipf(k, power), eps, 0.975)
    for k, power, eps in [(20, 1, 0.1), (20, 1, 2), (20, 1.5, 5), (100, 1, 5), (100, 1.5, 7),
                          (1000, 1, 2), (1000, 1, 7), (1000, 1.5, 10)]
}  # fmt: skip
SHORT = ("zipf 1.5, k = 20, eps = 5", "zipf 1.5, k = 1000, eps = 10")
"""The Zipf priors of the short test, one of few values and one of many."""
SHARES = {
    **{name: one if name in SHORT else pytest.param(*one, marks=pytest.mark.long) for name, one in ZIPF.items()},
    "zipf 1, k = 20, all singles": (zipf(20, 1), 7, 0.9999),
    "random, k = 1000": (counted(np.random.default_rng(1).dirichlet(np.ones(1000))), 1, 0.99),
    "uniform, k = 100": ([7] * 100, 1, 0.99),
    "three values": ([5, 3, 1], 0.5, 0.9),
    "two values": ([5, 3], 1, 0.999),
}  # fmt: skip


@pytest.mark.parametrize(("prior", "eps", "share"), SHARES.values(), ids=SHARES)
def test_the_design_is_near_the_bound_and_satisfies_its_level(prior, eps, share):
    """The gain is at least the stated fraction of the bound's gain, and not above it; the LIP level is satisfied, and
    0.1% less is not.

    The LDP level is at most twice the LIP level.
    """
    level = round(eps * NANONATS)
    channel = windows(prior, level)
    assert share <= share_of_gain(channel, prior, level) <= 1 + 1e-9
    certificate = certify(channel, Lip(level, tuple(prior)))
    assert certificate.audited_level <= level
    assert certificate.ldp_level <= 2 * level
    with pytest.raises(Uncertified):
        certify(channel, Lip(round(level * 0.999), tuple(prior)))
    assert Windows.from_wire(channel.encode()) == channel


def test_designs_for_the_lowest_and_highest_level_are_certified():
    for eps in (0.001, 20):
        prior, level = zipf(14, 1), round(eps * NANONATS)
        certify(windows(prior, level), Lip(level, tuple(prior)))


def test_a_design_is_the_same_at_every_call():
    assert windows(zipf(14, 1), NANONATS) == windows(zipf(14, 1), NANONATS)


def test_an_output_has_few_bits_and_orders_fit_the_arcs():
    """An output has at most log2(k) + 4 bits, plus the bits of its order. The number of orders times the number of
    borders between cells is at least the number of arcs."""
    channel = windows(zipf(1000, 1), NANONATS)
    assert channel.output_bits <= 14 + np.log2(channel.orders)
    assert channel.orders * (channel.cells - 1) >= sum(1 for arc in channel.arcs if arc)


def test_a_prior_with_a_weight_of_zero_is_refused():
    with pytest.raises(NotionError):
        windows([1, 0, 2], NANONATS)


ESTIMABLE = {
    "zipf 1, k = 60": pytest.param(zipf(60, 1), 1, marks=pytest.mark.long),
    "zipf 1.5, k = 60, low": pytest.param(zipf(60, 1.5), 0.5, marks=pytest.mark.long),
    "two heights, k = 60": ([10] * 6 + [1] * 54, 1),
    "uniform, k = 60": ([7] * 60, 0.5),
    "sparse, k = 60": pytest.param(
        counted(np.random.default_rng(60_002).dirichlet(np.full(60, 0.3)) + 1e-7), 2, marks=pytest.mark.long
    ),
    "one value and four rare ones": (counted([0.9, 0.06, 0.02, 0.01, 0.01]), 1),
    "ten values": (zipf(10, 2), 0.5),
    "three values": (zipf(3, 2), 1),
}


@pytest.mark.parametrize(("prior", "eps"), ESTIMABLE.values(), ids=ESTIMABLE)
def test_every_value_has_an_unbiased_estimate(prior, eps):
    """The distribution of the outputs determines that of the inputs: the decoder inverts it for any shares.

    The short cases are priors with equal weights and priors of a few values, for which the best table alone has no
    inverse.
    """
    channel = windows(prior, round(eps * NANONATS))
    decoder = WindowsDecoder(channel, np.array(prior) / sum(prior))
    p = np.random.default_rng(1).dirichlet(np.ones(len(prior)))
    np.testing.assert_allclose(decoder.invert(decoder.forward(p)), p, atol=1e-6)


def test_a_channel_of_too_many_cells_has_no_unbiased_estimate():
    """For 1,500 values at 3 nats every design near the least error has too many outputs to invert."""
    channel = windows(zipf(1500, 1), 3 * NANONATS)
    assert channel.input_count <= MAX_UNBIASED_INPUTS
    assert channel.input_count * channel.output_count > MAX_INVERSE_CELLS
    with pytest.raises(NotInvertible, match="not computed for windows of this size"):
        expected_mse(channel)


@pytest.mark.long
def test_a_thousand_values_have_unbiased_estimates():
    """Under a Zipf prior of 1,000 values each value has an unbiased estimate, at 1.001 times the bound or less."""
    prior = zipf(1000, 1)
    channel, distribution = windows(prior, NANONATS), np.array(prior) / sum(prior)
    assert lip_mse(channel, prior) <= 1.001 * lip_mse_bound(NANONATS, prior)
    decoder = WindowsDecoder(channel, distribution)
    p = np.random.default_rng(1).dirichlet(np.ones(1000))
    np.testing.assert_allclose(decoder.invert(decoder.forward(p)), p, atol=1e-6)


@pytest.mark.long
def test_a_hundred_thousand_values_are_designed_certified_and_sampled():
    """For k = 100,000 a channel has 0.99 of the bound's gain, and is certified within 10 s of processor time.

    A device samples an output within a millisecond on average.
    """
    prior = zipf(100_000, 1)
    channel = windows(prior, NANONATS)
    assert share_of_gain(channel, prior, NANONATS) > 0.99
    began = time.process_time()
    certify(channel, Lip(NANONATS, tuple(prior)))
    assert time.process_time() - began < 10
    for order in range(channel.orders):
        channel.sample(5, bytes([0] * 16 + [order]))
    began = time.process_time()
    for x in range(100):
        channel.sample(x, bytes([x] * 17))
    assert time.process_time() - began < 0.1
