"""Properties of the decoder of bit vectors, against an enumeration of all words; and the closed forms of the plain
mechanisms."""

import math

import numpy as np
import pytest

from aggregator.families.bits import recipe as unary
from aggregator.families.bits.decoder import BitsDecoder
from aggregator.families.response.decoder import ResponseDecoder
from aggregator.families.response.recipe import randomized_response
from protocol.channels.bits.channel import Bits, S
from protocol.exact import NANONATS
from tests.aggregator.matrix import dense, step_probabilities

HALF = S // 2

CHANNELS = {
    "RAPPOR": unary.rappor(4, NANONATS),
    "OUE": unary.oue(5, 2 * NANONATS),
    "OUE, two values": unary.oue(2, NANONATS),
    "three classes": Bits.over([(HALF, S // 4), (S - 5, S // 3), (HALF, S // 4), (S // 5, 1)]),
    "values that are not sensitive": unary.utility_rappor(4, [1, 3], NANONATS),
    "without noise": Bits((S,), (0,), ((0, 3),)),
}


@pytest.fixture(params=CHANNELS.values(), ids=CHANNELS.keys())
def channel(request):
    return request.param


def words(channel):
    """Return the bits of every word, (2^k, k), and the probability of each word for each input, (k, 2^k)."""
    bits = [[int(bit) for bit in f"{y:0{channel.input_count}b}"] for y in range(channel.output_count)]
    return np.array(bits, dtype=float), dense(channel)


def test_forward_and_backward_multiply_with_the_response(channel, rng):
    """forward(p) = p R and backward(w) = R w, where R[x] is the mean of the bits over all words of x."""
    bits, distribution = words(channel)
    response, decoder = distribution @ bits, BitsDecoder(channel)
    p, w = rng.normal(size=channel.input_count), rng.normal(size=channel.input_count)
    np.testing.assert_allclose(decoder.forward(p), p @ response, atol=1e-12)
    np.testing.assert_allclose(decoder.backward(w), response @ w, atol=1e-12)
    assert not decoder.one_hot
    with pytest.raises(ValueError, match="several bits"):
        decoder.forward_squares(p)


def test_the_estimate_is_unbiased(channel, rng):
    """A report's contribution to v . raw, with the intercept, has the mean v . p under every p."""
    bits, distribution = words(channel)
    decoder = BitsDecoder(channel)
    p, v = rng.dirichlet(np.ones(channel.input_count)), rng.normal(size=channel.input_count)
    adds = bits @ decoder.adjoint(v) + decoder.intercept(v)
    assert p @ distribution @ adds == pytest.approx(p @ v)
    np.testing.assert_allclose(decoder.invert(p @ distribution @ bits), p, atol=1e-9)
    share = rng.uniform(size=channel.input_count)
    assert decoder.query(v, share) == pytest.approx(v @ decoder.invert(share))


def test_variances_are_those_of_all_words(channel, rng):
    """variances and variance are the variances of one report's contribution, computed over all words."""
    bits, distribution = words(channel)
    decoder = BitsDecoder(channel)
    p, v = rng.dirichlet(np.ones(channel.input_count)), rng.normal(size=channel.input_count)
    of_words, share = p @ distribution, p @ distribution @ bits
    adds = np.array([decoder.invert(word) for word in bits])
    each = of_words @ adds**2 - (of_words @ adds) ** 2
    np.testing.assert_allclose(decoder.variances(share), each, atol=1e-9)
    query = of_words @ (adds @ v) ** 2 - (of_words @ adds @ v) ** 2
    assert decoder.variance(v, share) == pytest.approx(query)
    for x in range(channel.input_count):
        assert decoder.variance(np.eye(channel.input_count)[x], share) == pytest.approx(each[x], abs=1e-9)


def test_the_binomial_steps_give_the_raw_estimate(channel, rng):
    """base + heights * counts / n is the raw estimate; a and b are the probabilities inside and outside the support."""
    decoder, n = BitsDecoder(channel), 1000
    counts = rng.integers(0, n, channel.input_count)
    steps = decoder.binomial_steps(counts, n)
    np.testing.assert_allclose(
        steps.base + (steps.heights * steps.counts).sum(axis=0) / n, decoder.invert(counts / n), atol=1e-12
    )
    number = np.array(channel.class_of)
    truth, other = step_probabilities(steps)
    np.testing.assert_allclose(truth, np.array(channel.own_weights)[number] / S, atol=1e-12)
    np.testing.assert_allclose(other, np.array(channel.other_weights)[number] / S, atol=1e-12)
    assert (steps.step_count == 1).all()


def test_ceiling_and_weight_equal_those_of_all_words(channel):
    """The ceiling is the largest mean of each bit; the weight is the largest amount that a bit adds to its value."""
    bits, distribution = words(channel)
    decoder = BitsDecoder(channel)
    np.testing.assert_allclose(decoder.ceiling, (distribution @ bits).max(axis=0), atol=1e-12)
    adds = np.array([decoder.invert(word) for word in bits])
    assert decoder.people_per_report == pytest.approx(np.abs(adds).max())


@pytest.mark.parametrize("eps", [0.5, 1, 2])
@pytest.mark.parametrize("k", [5, 40])
def test_grr_rappor_and_oue_have_their_closed_forms(k, eps, rng):
    """With p and q of Gu et al. 2020, sec. III-C, the estimate is (c / n - q) / (p - q).

    For fixed people its variance is q (1-q) / (p-q)^2 + f (1-p-q) / (p-q): OUE's is 4 e^eps / (e^eps - 1)^2 + f,
    RAPPOR's e^(eps/2) / (e^(eps/2) - 1)^2. For people drawn at random f (1 - f) is added.
    """
    level, E = int(eps * NANONATS), math.exp(eps)
    root = math.sqrt(E)
    grr = ResponseDecoder(randomized_response(k, level))
    cases = [
        (grr, E / (E + k - 1), 1 / (E + k - 1)),
        (BitsDecoder(unary.rappor(k, level)), root / (root + 1), 1 / (root + 1)),
        (BitsDecoder(unary.oue(k, level)), 0.5, 1 / (E + 1)),
    ]
    f = rng.dirichlet(np.ones(k))
    for decoder, p, q in cases:
        share = f * p + (1 - f) * q
        np.testing.assert_allclose(decoder.forward(f), share, rtol=1e-6)
        np.testing.assert_allclose(decoder.invert(share), (share - q) / (p - q), rtol=1e-5, atol=1e-7)
        fixed = q * (1 - q) / (p - q) ** 2 + f * (1 - p - q) / (p - q)
        np.testing.assert_allclose(decoder.variances(share), fixed + f * (1 - f), rtol=1e-5)
    rappor, oue = ((q * (1 - q)) / (p - q) ** 2 for _, p, q in cases[1:])
    assert rappor == pytest.approx(root / (root - 1) ** 2)
    assert oue == pytest.approx(4 * E / (E - 1) ** 2)


def test_forty_thousand_bits_are_decoded_at_once(rng):
    """For k = 40,000 the expected shares are decoded, and a query has a variance; a k x k array would need 12.8 GB."""
    channel = unary.oue(40_000, NANONATS)
    decoder = BitsDecoder(channel)
    p = rng.dirichlet(np.ones(channel.input_count))
    share = decoder.forward(p)
    np.testing.assert_allclose(decoder.invert(share), p, atol=1e-9)
    assert decoder.variance(np.ones(channel.input_count), share) > 0
