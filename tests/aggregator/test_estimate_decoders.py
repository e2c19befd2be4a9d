"""Properties of the decoders: each fast form, against matrices from the channel's integer weights."""

from fractions import Fraction

import numpy as np
import pytest

from aggregator.families.blocks.recipe import high_low, in_blocks
from aggregator.families.decoder import NotInvertible
from aggregator.families.hadamard.decoder import walsh
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.registry import DECODERS, decoder_of
from aggregator.families.response.recipe import randomized_response
from protocol.channels import FAMILIES, Hadamard, RandomizedResponse, Table
from protocol.exact import NANONATS
from protocol.personal import lip_response
from tests.aggregator.matrix import dense, features_of, left_inverse, step_probabilities
from tests.aggregator.test_estimate_blocks import CHANNELS as BLOCKS
from tests.aggregator.test_estimate_noise import CHANNELS as NOISE
from tests.aggregator.test_estimate_support import CHANNELS as SUPPORT


def random_table(inputs, outputs, seed):
    rows = np.random.default_rng(seed).integers(1, 100, (inputs, outputs))
    return Table.rounded([[Fraction(int(cell), int(row.sum())) for cell in row] for row in rows])


def as_table(channel):
    """Return a table with the same output distributions as a channel."""
    return Table.rounded(
        [
            [Fraction(channel.weight(x, y), 1 << channel.scale) for y in range(channel.output_count)]
            for x in range(channel.input_count)
        ]
    )


PLAIN = {f"hadamard k={k} eps={eps}": hadamard(k, int(eps * NANONATS)) for k in (2, 3, 5, 16) for eps in (0.5, 1, 4)}
MIXED = {
    "one block and open inputs": in_blocks([0, 0, 0, 1, 2, 0], NANONATS, hadamard),
    "blocks of unequal sizes": in_blocks([0] * 7 + [1] * 2 + [2] * 3 + [1] * 2, NANONATS, hadamard),
    "interleaved blocks of one order, and open inputs": in_blocks([0, 1, 2, 0, 1, 0, 3, 1], 2 * NANONATS, hadamard),
    "high-low": high_low(9, [1, 2, 5], NANONATS, hadamard),
    "high-low, one open": high_low(5, [0, 1, 2, 4], NANONATS // 2, hadamard),
    "high-low, one sensitive": high_low(4, [2], NANONATS, hadamard),
}
RESPONSE = {
    **{f"response k={k}": randomized_response(k, NANONATS) for k in (2, 3, 5, 16)},
    "response with an uneven cover": RandomizedResponse(4, (2**61, 2**60, 2**59 + 1, 0)),
    "lip response": lip_response((50, 30, 15, 5), NANONATS),
}
TABLES = {
    "square table": random_table(4, 4, 1),
    "wide table": random_table(5, 9, 2),
    "binary table": random_table(2, 2, 3),
    "table with an output of weight 0": Table(((2**62 - 1, 1, 0), (1, 2**62 - 1, 0))),
}
BLOCKS_BY_NAME = {f"blocks: {name}": channel for name, channel in BLOCKS.items()}
CHANNELS = PLAIN | MIXED | RESPONSE | TABLES | BLOCKS_BY_NAME | NOISE | SUPPORT


@pytest.fixture(params=CHANNELS.values(), ids=CHANNELS.keys())
def channel(request):
    return request.param


def test_every_channel_family_has_a_decoder():
    """Every family of the protocol has a decoder, so the reports of every signed campaign can be decoded."""
    assert set(DECODERS) == set(FAMILIES)


@pytest.mark.parametrize("order", [1, 2, 4, 32])
def test_the_fast_transform_is_sylvesters_matrix(order, rng):
    """walsh(v) = H v with H[r, c] = (-1)^popcount(r & c), exactly on integers, also for several vectors at once."""
    matrix = np.array([[(-1) ** (r & c).bit_count() for c in range(order)] for r in range(order)])
    vectors = rng.integers(-1000, 1000, (3, order))
    assert np.array_equal(walsh(vectors), vectors @ matrix)
    assert walsh(vectors).dtype == vectors.dtype


def test_the_transform_refuses_other_orders():
    """A length that is not a power of two is a ValueError."""
    with pytest.raises(ValueError, match="power of two"):
        walsh(np.zeros(6))


def test_forward_and_backward_multiply_with_the_response(channel, rng):
    """forward(p) = p R and backward(w) = R w, where R[x] is the mean of the features of a report of x; for outputs
    counted whole, R = Q and forward_squares(p) = p Q^2.

    forward_squares is refused if a report has several features, because squared output probabilities do not exist.
    """
    R, decoder = dense(channel) @ features_of(channel), decoder_of(channel)
    assert (decoder.input_count, decoder.features) == R.shape == (channel.input_count, channel.features)
    p, w = rng.normal(size=decoder.input_count), rng.normal(size=decoder.features)
    np.testing.assert_allclose(decoder.forward(p), p @ R, atol=1e-12)
    np.testing.assert_allclose(decoder.backward(w), R @ w, atol=1e-12)
    if decoder.one_hot:
        np.testing.assert_allclose(decoder.forward_squares(p), p @ R**2, atol=1e-12)
    else:
        with pytest.raises(ValueError, match="d bits set"):
            decoder.forward_squares(p)


def contributions(channel):
    """Return what a report of each output adds to the estimate, (m, k)."""
    decoder = decoder_of(channel)
    fixed = np.array([decoder.intercept(unit) for unit in np.eye(channel.input_count)])
    return features_of(channel) @ left_inverse(decoder) + fixed


def test_the_decoder_is_unbiased(channel):
    """The expected contribution of a report of an input is 1 for this input and 0 for all others."""
    np.testing.assert_allclose(dense(channel) @ contributions(channel), np.eye(channel.input_count), atol=1e-9)


def test_all_forms_multiply_with_one_left_inverse(channel, rng):
    """invert, adjoint, query and people_per_report agree on what a report contributes; variances, and for outputs
    counted whole ``variance``, are those of this contribution."""
    decoder, added = decoder_of(channel), contributions(channel)
    possible = np.array([channel.emits(y) for y in range(channel.output_count)])
    words = rng.dirichlet(np.ones(channel.output_count)) * possible
    words /= words.sum()
    share, mean = words @ features_of(channel), words @ added
    v = rng.normal(size=channel.input_count)
    np.testing.assert_allclose(decoder.invert(share), mean, atol=1e-9)
    np.testing.assert_allclose(decoder.adjoint(v), left_inverse(decoder) @ v, atol=1e-9)
    np.testing.assert_allclose(decoder.variances(share), words @ (added - mean) ** 2, rtol=1e-9, atol=1e-9)
    assert decoder.query(v, share) == pytest.approx(mean @ v, abs=1e-9)
    assert decoder.people_per_report == pytest.approx(np.abs(added[possible]).max(), rel=1e-9)
    if decoder.one_hot:
        assert decoder.variance(v, share) == pytest.approx(words @ (added @ v - mean @ v) ** 2, rel=1e-9)


def test_no_feature_is_more_probable_than_its_ceiling(channel):
    """The ceiling of each feature is its largest probability, or more if other inputs could make it more probable."""
    largest, ceiling = (dense(channel) @ features_of(channel)).max(axis=0), decoder_of(channel).ceiling
    assert (ceiling >= largest - 1e-12).all()
    assert np.isclose(ceiling, largest).any()
    if channel.family in ("response", "table", "noise"):
        np.testing.assert_allclose(ceiling, largest)


def test_the_binomial_steps_give_the_raw_estimate(channel, rng):
    """base + sum of heights * counts / n is the raw estimate, and every count is between 0 and n."""
    counts = rng.multinomial(5000, dense(channel).mean(axis=0)) @ features_of(channel)
    decoder = decoder_of(channel)
    steps = decoder.binomial_steps(counts, 5000)
    raw = steps.base + (steps.heights * steps.counts / steps.reports).sum(axis=0)
    np.testing.assert_allclose(raw, decoder.invert(counts / 5000), atol=1e-8)
    assert steps.counts.min() >= 0
    assert steps.counts.max() <= steps.reports == 5000
    assert (steps.heights >= 0).all()


def reached(channel):
    """Return the steps that a report of each output reaches, (m, s, k), and the steps; zeros for impossible outputs."""
    decoder, features = decoder_of(channel), features_of(channel)
    steps = [channel.emits(y) and decoder.binomial_steps(report, 1) for y, report in enumerate(features)]
    some = next(filter(None, steps))
    return np.array([one.counts if one else np.zeros_like(some.counts) for one in steps]), some


def test_every_step_counts_one_set_of_outputs(channel, rng):
    """Each report reaches a step 0 or 1 times, and the counts of several reports add up."""
    singles, _ = reached(channel)
    assert set(np.unique(singles)) <= {0, 1}
    reports = rng.multinomial(1000, dense(channel).mean(axis=0))
    steps = decoder_of(channel).binomial_steps(reports @ features_of(channel), 1000)
    assert np.array_equal(steps.counts, np.tensordot(reports, singles, 1))


@pytest.mark.parametrize("name", [*PLAIN, *RESPONSE, "binary table", *SUPPORT])
def test_support_channels_have_one_step_with_the_stated_probabilities(name):
    """p* and q* are the probabilities that a report of the input and a report of another input reach S_x, summed from
    the weights."""
    channel = CHANNELS[name]
    singles, steps = reached(channel)
    assert (steps.step_count == 1).all()
    inside = dense(channel) @ singles[:, -1]  # [x', x]: the probability that an output of x' is in S_x
    truth, other = step_probabilities(steps)
    np.testing.assert_allclose(np.diag(inside), truth, atol=1e-9)
    for x in range(channel.input_count):
        np.testing.assert_allclose(np.delete(inside[:, x], x), other[x], atol=1e-9)


def test_supports_have_the_known_probabilities():
    """(p*, q*) is (truth, 1/2) for plain Hadamard, (c + t, c) for a response, (1 - cover, 0) for an open input."""
    plain = hadamard(5, NANONATS)
    steps = decoder_of(plain).binomial_steps(np.ones(plain.output_count, dtype=np.int64), plain.output_count)
    truth, other = step_probabilities(steps)
    np.testing.assert_allclose(truth, plain.truth / 2**64)
    np.testing.assert_allclose(other, 0.5)
    uneven = RandomizedResponse(4, (2**61, 2**60, 2**59 + 1, 0))
    steps = decoder_of(uneven).binomial_steps(np.ones(4, dtype=np.int64), 4)
    truth, other = step_probabilities(steps)
    np.testing.assert_allclose(truth, [(cover + uneven.truth) / 2**64 for cover in uneven.cover])
    np.testing.assert_allclose(other, [cover / 2**64 for cover in uneven.cover], atol=1e-12)
    mixed = high_low(5, [0, 3], NANONATS, hadamard)
    steps = decoder_of(mixed).binomial_steps(np.ones(mixed.output_count, dtype=np.int64), mixed.output_count)
    assert steps.step_count.tolist() == [2, 1, 1, 2, 1]
    truth, other = step_probabilities(steps)
    np.testing.assert_allclose(truth[[1, 2, 4]], 1 - mixed.hidden / 2**128)
    np.testing.assert_allclose(other[[1, 2, 4]], 0)


def test_the_published_formulas_give_the_estimate_of_the_decoder(rng):
    """Acharya et al. 2020, eq. 15-16 and 19, evaluated as printed, give the decoder's estimate."""
    for channel in (high_low(9, [1, 2, 5], NANONATS, hadamard), MIXED["blocks of unequal sizes"]):
        counts = rng.multinomial(1000, rng.dirichlet(np.ones(channel.output_count)))
        share = counts / counts.sum()
        pi, tau = channel.channels[0].truth / 2**64, channel.hidden / 2**128
        raw = decoder_of(channel).invert(share)
        for x in range(channel.input_count):
            block = channel.block_of[x]
            if block == 0:
                assert raw[x] == pytest.approx(share[channel.offsets[0] + channel.place_of[x]] / (1 - tau))
                continue
            columns = range(channel.channels[block - 1].output_count)
            in_block = share[channel.offsets[block] :][: len(columns)]
            supporting = [((channel.place_of[x] + 1) & column).bit_count() % 2 == 0 for column in columns]
            t_x, t_block = in_block[supporting].sum(), in_block.sum()
            if channel.cover:
                p_A = (t_block - tau) / (1 - tau)
                printed = (t_x - p_A / 2 - (1 - p_A) * tau / 2) / (pi - 0.5)
            else:
                printed = (t_x - t_block / 2) / (pi - 0.5)
            assert raw[x] == pytest.approx(printed, abs=1e-12)


@pytest.mark.parametrize("name", [*RESPONSE, "square table"])
def test_a_square_channel_has_one_inverse(name, rng):
    """A channel with as many outputs as inputs has the same left inverse as its table, for any reference prior."""
    channel = CHANNELS[name]
    table = as_table(channel)
    share = rng.dirichlet(np.ones(channel.output_count))
    for reference in (None, rng.dirichlet(np.ones(channel.input_count)).tolist()):
        np.testing.assert_allclose(
            decoder_of(table, reference).invert(share), decoder_of(channel).invert(share), atol=1e-9
        )


def test_the_table_decoder_has_the_least_error_at_its_reference(rng):
    """No other left inverse of a table has less error at the reference prior; the shares of the estimate sum to one."""
    channel = TABLES["wide table"]
    Q, reference = dense(channel), rng.dirichlet(np.ones(channel.input_count))
    decoder = decoder_of(channel, reference.tolist())
    L = left_inverse(decoder)
    distribution = reference @ Q
    null = np.linalg.svd(Q)[2][channel.input_count :].T  # the columns span the null space: Q null = 0
    for _ in range(20):
        other = L + null @ rng.normal(size=(null.shape[1], channel.input_count)) / 10
        assert (distribution @ other**2).sum() > (distribution @ L**2).sum()
    np.testing.assert_allclose(L.sum(axis=1), 1)


def test_a_channel_that_confuses_inputs_is_refused():
    """A table of rank below k, and a response independent of the input, cannot be inverted; such a table still has a
    forward product."""
    half = 2**61
    confused = Table(((half, half), (half, half), (2**62, 0)))
    with pytest.raises(NotInvertible, match="different shares"):
        decoder_of(confused).invert(np.array([0.5, 0.5]))
    with pytest.raises(NotInvertible, match="higher level"):
        decoder_of(RandomizedResponse(2, (2**63,))).invert(np.array([0.5, 0.5]))
    assert decoder_of(confused).forward(np.full(3, 1 / 3)).sum() == pytest.approx(1)


@pytest.mark.parametrize(("size", "people"), [(16, 9.7), (64, 37.7), (256, 149)])
def test_a_report_of_randomised_response_has_the_influence_of_many_people(size, people):
    """At eps = 1 the influence of one report is that of 9.7, 37.7 and 149 people at k = 16, 64 and 256."""
    assert decoder_of(randomized_response(size, NANONATS)).people_per_report == pytest.approx(people, rel=0.005)


def test_hadamard_reports_have_the_same_influence_at_every_size():
    """At eps = 1 the influence of a Hadamard report is that of (e + 1) / (e - 1) = 2.16 people at every k."""
    for size in (2, 300):
        assert decoder_of(hadamard(size, NANONATS)).people_per_report == pytest.approx((np.e + 1) / (np.e - 1))


def test_a_channel_without_a_decoder_is_a_value_error():
    """A channel of a family without a decoder is a ValueError; a subclass of a channel has its decoder."""

    class Strange(Hadamard):
        pass

    with pytest.raises(ValueError, match="no decoder"):
        decoder_of(object.__new__(type("Odd", (), {"family": "odd"})))
    assert decoder_of(Strange(2**63 + 1, 2)).input_count == 2
