"""Properties of the windows decoder: running sums, against matrices from the channel's integer weights."""

import numpy as np
import pytest

from aggregator.families.decoder import NotInvertible
from aggregator.families.windows import decoder as windows_decoder
from aggregator.families.windows.decoder import WindowsDecoder
from protocol.channels.windows.arrangement import WindowType
from protocol.channels.windows.channel import ONE, Windows
from tests.aggregator.matrix import dense, left_inverse
from tests.families.windows import random_windows
from tests.protocol.test_windows import GRID, SEED

grid = pytest.mark.parametrize("channel", GRID.values(), ids=GRID)

INVERTIBLE = {
    "several orders": random_windows(12, 3, 2, 7, 4, 4, SEED + 5),
    "many orders": random_windows(30, 0, 0, 8, 16, 2, SEED + 4),
    "singles": GRID["all singles"],
}
invertible = pytest.mark.parametrize("channel", INVERTIBLE.values(), ids=INVERTIBLE)


@grid
def test_passes_equal_matrix_products(channel, rng):
    """forward(p) = p Q, forward_squares(p) = p Q^2 and backward(w) = Q w; no output is more probable than its
    ceiling."""
    Q, decoder = dense(channel), WindowsDecoder(channel)
    for _ in range(5):
        p, w = rng.dirichlet(np.full(channel.input_count, 0.3)), rng.normal(size=channel.output_count)
        np.testing.assert_allclose(decoder.forward(p), p @ Q, rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(decoder.forward_squares(p), p @ Q**2, rtol=1e-7, atol=1e-15)
        np.testing.assert_allclose(decoder.backward(w), Q @ w, rtol=1e-9, atol=1e-12)
    assert (decoder.ceiling >= Q.max(axis=0) * (1 - 1e-12)).all()


@grid
def test_many_passes_at_once_equal_separate_passes(channel, rng):
    """A pass of several distributions at once, or of several weights for each output, equals the separate passes."""
    decoder = WindowsDecoder(channel)
    distributions, numbers = (
        rng.dirichlet(np.ones(channel.input_count), size=3),
        rng.normal(size=(3, channel.output_count)),
    )
    np.testing.assert_allclose(
        decoder.forward(distributions), [decoder.forward(p) for p in distributions], rtol=1e-12, atol=1e-18
    )
    np.testing.assert_allclose(
        decoder.backward(numbers), [decoder.backward(w) for w in numbers], rtol=1e-12, atol=1e-15
    )


@pytest.mark.parametrize("held", [1, 2**20])
@invertible
def test_the_decoder_is_the_least_squares_left_inverse(channel, held, monkeypatch, rng):
    """Q L = 1, all forms multiply with one L, and L is Aitken's for the reference prior.

    This holds whether the columns of L are computed one by one or all at once.
    """
    monkeypatch.setattr(windows_decoder, "_HELD_CELLS", held)
    Q = dense(channel)
    reference = rng.dirichlet(np.ones(channel.input_count))
    decoder = WindowsDecoder(channel, reference.tolist())
    marginal = reference @ Q
    weighed = np.divide(Q, marginal, out=np.zeros_like(Q), where=marginal > 0)
    L = weighed.T @ np.linalg.inv(weighed @ Q.T)
    share, v = rng.dirichlet(np.ones(channel.output_count)), rng.normal(size=channel.input_count)
    scale = np.abs(L).max()
    np.testing.assert_allclose(Q @ left_inverse(decoder), np.eye(channel.input_count), atol=1e-7 * scale)
    np.testing.assert_allclose(decoder.invert(share), share @ L, atol=1e-6 * scale)
    np.testing.assert_allclose(decoder.adjoint(v), L @ v, atol=1e-6 * scale)
    np.testing.assert_allclose(
        decoder.variances(share), share @ L**2 - (share @ L) ** 2, rtol=1e-5, atol=1e-6 * scale**2
    )
    assert decoder.people_per_report == pytest.approx(scale, rel=1e-5)


@invertible
def test_the_binomial_steps_give_the_raw_estimate(channel, rng):
    """base + sum of heights * counts / n is the raw estimate; every step counts one set of outputs."""
    counts = rng.multinomial(5000, rng.dirichlet(np.ones(channel.output_count)))
    decoder = WindowsDecoder(channel)
    steps = decoder.binomial_steps(counts, 5000)
    raw = steps.base + (steps.heights * steps.counts / 5000).sum(axis=0)
    np.testing.assert_allclose(raw, decoder.invert(counts / 5000), atol=1e-9 * decoder.people_per_report)
    assert (steps.heights >= 0).all()
    assert 0 <= steps.counts.min() <= steps.counts.max() <= 5000
    singles = np.array([decoder.binomial_steps(one, 1).counts for one in np.eye(channel.output_count, dtype=np.int64)])
    assert set(np.unique(singles)) <= {0, 1}
    assert np.array_equal(steps.counts, np.tensordot(counts, singles, 1))


def test_one_order_confuses_neighbours_and_several_do_not(rng):
    """With a single order of windows two neighbours within a cell have the same outputs; with several orders they do
    not."""
    narrow = WindowType(2, ONE // 8, ONE // 40, 0, ())
    with pytest.raises(NotInvertible, match="different shares"):
        WindowsDecoder(Windows((1,) * 12, 5, 1, (), (), (narrow,))).invert(np.full(6, 1 / 6))
    several = WindowsDecoder(Windows((1,) * 12, 5, 8, (), (), (narrow,)))
    p = rng.dirichlet(np.ones(12))
    np.testing.assert_allclose(several.invert(several.forward(p)), p, atol=1e-9)


def test_a_large_domain_is_not_inverted_and_the_error_names_other_methods(rng):
    """A channel of 50,000 inputs is not inverted, with an error that names other methods; its passes need no matrix."""
    channel = Windows(
        tuple(range(1, 50_001)), 1000, 2, (), (), (WindowType(300, ONE // 1200, ONE // 1200 - ONE // 4000, 0, ()),)
    )
    decoder = WindowsDecoder(channel)
    p = rng.dirichlet(np.ones(50_000))
    assert decoder.forward(p).sum() == pytest.approx(1)
    np.testing.assert_allclose(decoder.backward(np.ones(channel.output_count)), 1)
    with pytest.raises(NotInvertible, match="'map'"):
        decoder.invert(np.zeros(channel.output_count))
