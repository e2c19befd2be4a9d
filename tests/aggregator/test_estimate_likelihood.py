"""Properties of maximum likelihood: it finds a maximum, states its gap correctly, and its intervals, where they
exist, have nominal coverage."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from aggregator.estimate.distribution import posterior_mean
from aggregator.estimate.interval import normal
from aggregator.estimate.likelihood import CONVERGED_NATS, PRIOR_REPORTS, em, identified_values, posterior_mode
from aggregator.families.bits import recipe as unary
from aggregator.families.blocks.recipe import in_blocks
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import randomized_response
from protocol.channels import Table
from protocol.exact import NANONATS
from protocol.personal import lip_response

ROWS = np.array([[8, 4, 3, 3, 2], [3, 8, 2, 4, 3], [2, 3, 9, 2, 4]]) / 20
WIDE = Table.rounded([[Fraction(round(20 * cell), 20) for cell in row] for row in ROWS])
CHANNELS = {
    "wide table": WIDE,
    "response": randomized_response(6, NANONATS),
    "hadamard": hadamard(40, NANONATS),
    "blocks": in_blocks([0] * 5 + [1] * 3 + [2], NANONATS, hadamard),
    "lip": lip_response((40, 30, 15, 10, 5), NANONATS),
}


@pytest.fixture(params=CHANNELS.values(), ids=CHANNELS.keys())
def channel(request):
    return request.param


def even(k):
    return np.full(k, 1 / k)


def drawn(rng, decoder, p, n):
    distribution = decoder.forward(p)
    return rng.multinomial(n, distribution / distribution.sum()) / n


def log_likelihood(decoder, share, p):
    seen = share > 0
    return share[seen] @ np.log(decoder.forward(p)[seen])


def test_no_other_distribution_is_more_likely_by_more_than_the_gap(channel, rng):
    """No corner, no random distribution and no long run of plain steps is more likely than the estimate by more than
    the stated gap.

    n = 2,000 of a skewed population, so that the estimate has shares of zero.
    """
    decoder, n = decoder_of(channel), 2000
    p = 1 / np.arange(1, channel.input_count + 1) ** 2
    share = drawn(rng, decoder, p / p.sum(), n)
    fit = em(decoder, share, n, even(channel.input_count))
    assert fit.converged
    assert fit.gap <= CONVERGED_NATS
    assert fit.share.min() >= 0
    assert fit.share.sum() == pytest.approx(1)
    best = n * log_likelihood(decoder, share, fit.share) + fit.gap
    slow = even(channel.input_count)
    for _ in range(3000):
        slow = posterior_mean(decoder, share, slow)
    rivals = [slow, p / p.sum(), *rng.dirichlet(np.ones(channel.input_count), 50)]
    rivals += [0.99 * fit.share + 0.01 * corner for corner in np.eye(channel.input_count)]
    assert all(n * log_likelihood(decoder, share, rival) <= best + 1e-6 for rival in rivals)


def test_the_posterior_mode_is_the_optimum_of_its_objective(rng):
    """Under a Dirichlet prior a general optimiser finds nothing better than the posterior mode, and ends near it."""
    decoder, n, prior = decoder_of(WIDE), 3000, np.array([0.2, 0.5, 0.3])
    share = drawn(rng, decoder, np.array([0.7, 0.1, 0.2]), n)
    fit = posterior_mode(decoder, share, n, prior)

    def objective(free):
        p = np.exp(np.append(free, 0))
        p /= p.sum()
        return -log_likelihood(decoder, share, p) - PRIOR_REPORTS * prior @ np.log(p)

    free = minimize(objective, np.zeros(2), tol=1e-12).x
    best = np.exp(np.append(free, 0))
    np.testing.assert_allclose(fit.share, best / best.sum(), atol=0.02)
    value = -objective(np.log(fit.share[:2] / fit.share[2]))
    assert n * (-objective(free) - value) <= fit.gap <= CONVERGED_NATS


def test_a_search_of_one_step_has_not_converged(rng):
    """A search limited to one step, far from the mode, reports one step and that it has not converged."""
    decoder, start = decoder_of(WIDE), np.array([0.6, 0.2, 0.2])
    share = drawn(rng, decoder, np.array([0.1, 0.1, 0.8]), 10_000)
    fit = posterior_mode(decoder, share, 10_000, start, steps=1)
    assert not fit.converged
    assert fit.steps == 1


def test_longer_steps_converge_faster_than_plain_steps():
    """At k = 1024 and n = 10^5 the search converges within 1,000 steps; the gap after as many plain steps is five times
    as large."""
    channel = hadamard(1024, NANONATS)
    decoder, n, p = decoder_of(channel), 100_000, 1 / np.arange(1, 1025)
    distribution = decoder.forward(p / p.sum())
    share = np.random.default_rng(1).multinomial(n, distribution / distribution.sum()) / n
    fit = em(decoder, share, n, even(1024))
    assert fit.converged
    assert fit.steps <= 1000
    slow = even(1024)
    for _ in range(fit.steps):
        slow = posterior_mean(decoder, share, slow)
    distribution = decoder.forward(slow)
    assert n * (decoder.backward(share / distribution).max() - 1) > 5 * fit.gap


def test_a_share_of_zero_at_the_start_can_grow():
    """A search that starts with a share of 0 for a value can still give that value a positive share."""
    decoder = decoder_of(WIDE)
    share = decoder.forward(np.array([0.3, 0.3, 0.4]))
    fit = em(decoder, share, 10**6, np.array([0.0, 0.5, 0.5]))
    np.testing.assert_allclose(fit.share, [0.3, 0.3, 0.4], atol=0.005)


def test_bits_have_no_maximum_likelihood_search():
    """A maximum-likelihood search for bit vectors, which are counted bit by bit, is a ValueError."""
    with pytest.raises(ValueError, match="bits are counted"):
        em(decoder_of(unary.oue(4, NANONATS)), np.full(4, 0.5), 100, even(4))


# Identified values


def test_an_invertible_channel_identifies_all_values(channel):
    """With weights at the truth the estimate is the least-squares one: unbiased, with at most the decoder's
    variance."""
    decoder, p = decoder_of(channel), 1 / np.arange(1, channel.input_count + 1)
    p /= p.sum()
    distribution = decoder.forward(p)
    found = identified_values(decoder, distribution, p)
    assert found.identified.all()
    np.testing.assert_allclose(found.raw, p, atol=1e-9)
    assert (found.variance <= decoder.variances(distribution) * (1 + 1e-9)).all()


# Values 2 and 3 have the same row, so only values 0 and 1 are identified.
ALIKE = Table.rounded([[Fraction(c, 10) for c in row] for row in ((6, 2, 2), (2, 6, 2), (2, 2, 6), (2, 2, 6))])


def test_values_with_the_same_outputs_are_not_identified():
    """A value has an estimate if and only if its unit vector is in the range of the channel."""
    decoder, p = decoder_of(ALIKE), np.array([0.4, 0.3, 0.2, 0.1])
    found = identified_values(decoder, decoder.forward(p), p)
    assert found.identified.tolist() == [True, True, False, False]
    np.testing.assert_allclose(found.raw[:2], p[:2], atol=1e-9)


def test_intervals_of_identified_values_have_nominal_coverage(rng):
    """The coverage of the 95% intervals of identified values is 93.5 to 96.5% over 2,000 surveys, and the estimate is
    unbiased.

    n = 2,000; coverage is precise to .5%. Weights come from each survey by maximum likelihood, with shares of zero; no
    person has the last value but one. A failure means wrong weights or a wrong variance.
    """
    decoder, p, n = decoder_of(ALIKE), np.array([0.55, 0.02, 0.0, 0.43]), 2000
    found = []
    for _ in range(2000):
        share = drawn(rng, decoder, p, n)
        partial = identified_values(decoder, share, em(decoder, share, n, even(4)).share)
        low, high = normal(partial.raw, np.sqrt(partial.variance / n), 0.05)
        found.append([partial.raw[:2], (low <= p)[:2] & (p <= high)[:2]])
    raw, covered = np.array(found).transpose(1, 0, 2)
    assert (np.abs(raw.mean(axis=0) - p[:2]) <= 4 * raw.std(axis=0) / np.sqrt(2000)).all()
    assert (covered.mean(axis=0) >= 0.935).all()
    assert (covered.mean(axis=0) <= 0.965).all()


def test_a_matrix_too_large_is_refused():
    """A request for a matrix of more than 2^20 cells is a ValueError."""
    decoder = decoder_of(hadamard(2000, NANONATS))
    with pytest.raises(ValueError, match="cells"):
        identified_values(decoder, np.full(2048, 1 / 2048), even(2000))
