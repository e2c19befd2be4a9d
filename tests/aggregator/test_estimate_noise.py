"""Limits of the decoder of noise, and its errors; test_estimate_decoders compares it with dense matrices."""

import numpy as np
import pytest

from aggregator.families.decoder import NotInvertible
from aggregator.families.noise.decoder import NoiseDecoder
from aggregator.families.noise.recipe import discrete_gaussian, discrete_laplace, geo_over, planar
from protocol.channels.noise.channel import Noise
from protocol.domain import Grid
from protocol.exact import NANONATS

CHANNELS = {
    "discrete Laplace": discrete_laplace(9, NANONATS),
    "discrete Gaussian": discrete_gaussian(6, 1.0, 5 * NANONATS),
    "planar": planar(geo_over(Grid(0, 3, 0, 4, 1), 2 * NANONATS)),
    "lopsided": Noise(1, 3, (2**59, 2**60, 2**61, 2**59, 0)),
}


@pytest.fixture(params=CHANNELS.values(), ids=CHANNELS)
def channel(request):
    return request.param


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
