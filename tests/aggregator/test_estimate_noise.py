"""Properties of the decoder of noise, against dense matrices, and its limits."""

import numpy as np
import pytest

from aggregator.families.decoder import NotInvertible
from aggregator.families.noise.decoder import NoiseDecoder
from aggregator.families.noise.recipe import discrete_gaussian, discrete_laplace, geo_over, planar
from protocol.channels.noise.channel import Noise
from protocol.domain import Grid
from protocol.exact import NANONATS
from tests.aggregator.matrix import dense

CHANNELS = {
    "discrete Laplace": discrete_laplace(9, NANONATS),
    "discrete Gaussian": discrete_gaussian(6, 1.0, 5 * NANONATS),
    "planar": planar(geo_over(Grid(0, 3, 0, 4, 1), 2 * NANONATS)),
    "lopsided": Noise(1, 3, (2**59, 2**60, 2**61, 2**59, 0)),
}


@pytest.fixture(params=CHANNELS.values(), ids=CHANNELS)
def channel(request):
    return request.param


def test_the_decoder_multiplies_with_the_channel_and_its_inverse(channel, rng):
    """forward, forward_squares, backward, invert, adjoint, variances and ceiling equal those of the dense matrices."""
    decoder, distribution = NoiseDecoder(channel), dense(channel)
    inverse = np.linalg.inv(distribution)
    p, w = rng.dirichlet(np.ones(channel.input_count)), rng.normal(size=channel.input_count)
    share = p @ distribution
    np.testing.assert_allclose(decoder.forward(p), share, rtol=1e-12)
    np.testing.assert_allclose(decoder.forward_squares(p), p @ distribution**2, rtol=1e-12)
    np.testing.assert_allclose(decoder.backward(w), distribution @ w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(decoder.invert(share), p, atol=1e-9)
    np.testing.assert_allclose(decoder.adjoint(w), inverse @ w, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(decoder.variances(share), share @ inverse**2 - p**2, rtol=1e-9)
    np.testing.assert_allclose(decoder.ceiling, distribution.max(axis=0))
    assert decoder.people_per_report == pytest.approx(np.abs(inverse).max())
    assert (decoder.input_count, decoder.features) == (channel.input_count, channel.output_count)


def test_the_binomial_steps_add_up_to_the_estimate(channel, rng):
    """base + sum of heights * counts / n is the raw estimate."""
    decoder = NoiseDecoder(channel)
    counts = rng.integers(1, 1000, channel.output_count)
    n = int(counts.sum())
    steps = decoder.binomial_steps(counts, n)
    raw = steps.base + (steps.heights * steps.counts).sum(axis=0) / n
    np.testing.assert_allclose(raw, decoder.invert(counts / n), atol=1e-9)


def test_noise_too_smooth_to_invert_is_refused():
    """A noise distribution too smooth to invert is refused with this reason; its forward pass works."""
    decoder = NoiseDecoder(discrete_gaussian(60, 8.0, 20 * NANONATS))
    with pytest.raises(NotInvertible, match="too smooth"):
        decoder.invert(np.full(60, 1 / 60))
    assert decoder.forward(np.full(60, 1 / 60)).sum() == pytest.approx(1)
    even = NoiseDecoder(Noise(1, 2, (0, 2**61)))  # every output is as likely from both points
    with pytest.raises(NotInvertible, match="too smooth"):
        even.adjoint(np.ones(2))


def test_a_large_lattice_is_not_inverted(monkeypatch):
    """A lattice too large to invert is refused with the largest number of points; its forward pass works."""
    monkeypatch.setattr("aggregator.families.noise.decoder.MAX_INVERTED", 8)
    decoder = NoiseDecoder(discrete_laplace(9, NANONATS))
    with pytest.raises(NotInvertible, match=r"at most 8\. Use method 'em'"):
        decoder.adjoint(np.zeros(9))
    assert decoder.forward(np.full(9, 1 / 9)).sum() == pytest.approx(1)


def test_estimates_are_unbiased_within_their_errors(channel, rng):
    """With n = 2 * 10^5 reports every raw estimate is within 5 standard errors of the truth.

    One of the 30 comparisons of all channels fails by chance with a probability of 2 * 10^-5. A failure means a biased
    estimate or a standard error that is too small.
    """
    decoder = NoiseDecoder(channel)
    p = np.arange(1, channel.input_count + 1) / sum(range(1, channel.input_count + 1))
    n = 2 * 10**5
    share = rng.multinomial(n, decoder.forward(p)) / n
    se = np.sqrt(decoder.variances(share) / n)
    assert (np.abs(decoder.invert(share) - p) < 5 * se).all()
