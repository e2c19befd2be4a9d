"""Laws of the screen: honest reports pass whatever the population, floods of 1% are seen in the cases listed."""

import numpy as np
import pytest

from aggregator.design import mechanisms, support, unary
from aggregator.estimate.decoders import decoder_of
from aggregator.estimate.screen import screen
from protocol.channels import Table
from protocol.exact import NANONATS

CHANNELS = {
    "randomised response": mechanisms.randomized_response(16, NANONATS),
    "hadamard": mechanisms.hadamard(50, NANONATS),
    "blocks": mechanisms.block_hadamard([0] * 9 + [1] * 3 + [2], NANONATS),
    "high-low": mechanisms.high_low_hadamard(12, [0, 5, 6], NANONATS),
    "lip": mechanisms.lip_response((40, 30, 20, 10), NANONATS),
}


def honest(channel, p, n, rng):
    law = decoder_of(channel).forward(p)
    return rng.multinomial(n, law / law.sum())


@pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())
@pytest.mark.parametrize("n", [200, 20_000])
def test_honest_reports_pass(channel, n):
    """Of 1,000 honest batches, uniform, skewed or all of one value, at most 3 raise an alarm.

    Each test's alpha is 1e-4, so .2 alarms are expected and more than 3 come with probability below 1e-4; a failure
    means a test that suspects populations.
    """
    rng = np.random.default_rng(3)
    k = channel.inputs
    populations = [np.full(k, 1 / k), np.eye(k)[0], np.eye(k)[k - 1], *rng.dirichlet(np.full(k, 0.2), 7)]
    alarms = sum(
        bool(screen(decoder_of(channel), honest(channel, p, n, rng), n)) for p in populations for _ in range(100)
    )
    assert alarms <= 3


@pytest.mark.parametrize(("k", "n", "targets"), [(50, 100_000, 5), (1000, 100_000, 10), (1000, 100_000, 1000)])
def test_a_maximal_gain_attack_of_one_percent_is_seen(k, n, targets):
    """1% of the reports, all with the output that supports the most of 5, 10 or all targets, raise an alarm every time.

    100 attacked batches of a skewed population each.
    """
    channel, rng = mechanisms.hadamard(k, NANONATS), np.random.default_rng(5)
    decoder = decoder_of(channel)
    p = 1 / np.arange(1, k + 1)
    chosen = np.zeros(k)
    chosen[rng.choice(k, targets, replace=False)] = 1
    best = int(np.argmax(decoder.adjoint(chosen)))
    for _ in range(100):
        counts = honest(channel, p / p.sum(), n - n // 100, rng)
        counts[best] += n // 100
        assert screen(decoder, counts, n)


def test_reports_that_speak_for_many_values_unbalance_the_shares():
    """1% of the reports that each add over 100 people show in the sum of the shares."""
    channel, rng = mechanisms.hadamard(200, NANONATS), np.random.default_rng(6)
    decoder = decoder_of(channel)
    counts = honest(channel, np.full(200, 1 / 200), 99_000, rng)
    counts[np.argsort(-decoder.adjoint(np.ones(200)))[:2]] += 500
    assert any("sum to" in finding for finding in screen(decoder, counts, 100_000))


def test_a_repeated_output_is_seen_though_the_shares_stay_balanced():
    """1% of the reports with one output that adds nothing to the sum of the shares are seen by their number alone."""
    channel, rng = mechanisms.hadamard(200, NANONATS), np.random.default_rng(8)
    decoder = decoder_of(channel)
    counts = honest(channel, np.full(200, 1 / 200), 99_000, rng)
    neutral = int(np.argmin(np.abs(decoder.adjoint(np.ones(200)) - 1)))
    counts[neutral] += 1000
    (finding,) = screen(decoder, counts, 100_000)
    assert f"output {neutral} came" in finding


def test_forgeries_that_look_like_people_are_not_seen():
    """Reports drawn as honest devices with one value would draw them pass: only their influence can be told."""
    channel, rng = mechanisms.hadamard(50, NANONATS), np.random.default_rng(7)
    p = np.full(50, 1 / 50)
    counts = honest(channel, p, 99_000, rng) + honest(channel, np.eye(50)[7], 1000, rng)
    assert not screen(decoder_of(channel), counts, 100_000)


# ---- channels of bits

BITS = {"oue": unary.oue(30, NANONATS), "rappor": unary.rappor(30, NANONATS), "eps = 4": unary.oue(30, 4 * NANONATS)}


def honest_bits(decoder, p, n, batches, rng):
    """(batches, k) exact counts of independent bits: a binomial for each bit and each input's people."""
    people = rng.multinomial(n, p, batches)
    chances = np.array([decoder.forward(unit) for unit in np.eye(decoder.inputs)])
    return rng.binomial(people[:, :, None], chances).sum(axis=1)


@pytest.mark.parametrize("channel", BITS.values(), ids=BITS.keys())
@pytest.mark.parametrize("n", [200, 20_000])
def test_honest_bits_pass(channel, n):
    """Of 5,000 honest batches of bits, uniform, skewed or all of one value, at most 5 raise an alarm.

    Two tests of alpha 1e-4 each: 1 alarm is expected at most, more than 5 come with probability 6e-4.
    """
    rng, k, decoder = np.random.default_rng(13), channel.inputs, decoder_of(channel)
    populations = [np.full(k, 1 / k), np.eye(k)[0], np.eye(k)[k - 1], *rng.dirichlet(np.full(k, 0.2), 7)]
    alarms = sum(
        bool(screen(decoder, counts, n)) for p in populations for counts in honest_bits(decoder, p, n, 500, rng)
    )
    assert alarms <= 5


def test_honest_subsets_pass():
    """Of 1,000 honest batches of subsets, at most 3 raise an alarm; counts follow the law of all 126 subsets."""
    channel, rng, n = support.subset_selection(9, NANONATS), np.random.default_rng(14), 2000
    words = [y for y in range(1 << 9) if channel.emits(y)]
    bits = np.array([[y >> (8 - x) & 1 for x in range(9)] for y in words])
    law = np.array([[channel.weight(x, y) / (1 << channel.scale) for y in words] for x in (0, 8)])
    decoder = decoder_of(channel)
    batches = np.concatenate([rng.multinomial(n, row / row.sum(), 500) @ bits for row in law])
    assert sum(bool(screen(decoder, counts, n)) for counts in batches) <= 3


@pytest.mark.parametrize("targets", [1, 15, 30])
def test_words_that_set_only_the_targets_are_seen(targets):
    """1% of the reports with the bits of 1, 15 or all 30 targets set, and no others, raise an alarm every time.

    100 attacked batches of 100,000 reports, OUE at eps = 1, whose honest words have 8 ones: an attack on 5 to 12
    targets is too near to these to be told.
    """
    decoder, rng, n = decoder_of(BITS["oue"]), np.random.default_rng(15), 100_000
    p = 1 / np.arange(1, 31)
    forged = np.where(np.arange(30) < targets, n // 100, 0)
    for counts in honest_bits(decoder, p / p.sum(), n - n // 100, 100, rng):
        assert screen(decoder, counts + forged, n)


def test_words_forged_with_the_usual_number_of_ones_are_not_seen():
    """Bits of other values set as often as an honest device would keep the sum: only the influence tells of these."""
    decoder, rng, n = decoder_of(BITS["oue"]), np.random.default_rng(16), 100_000
    noise = rng.binomial(1000, decoder.forward(np.eye(30)[0]))
    noise[0] = 1000
    counts = honest_bits(decoder, np.full(30, 1 / 30), n - 1000, 1, rng)[0] + noise
    assert not screen(decoder, counts, n)


def test_a_channel_without_an_inverse_is_screened_by_its_ceilings():
    """Where shares have no unbiased estimate, an output that comes too often is seen all the same."""
    quarter = 2**60
    decoder = decoder_of(Table(((3 * quarter, quarter), (quarter, 3 * quarter), (quarter, 3 * quarter))))
    assert not screen(decoder, np.array([700, 300]), 1000)
    (finding,) = screen(decoder, np.array([100, 900]), 1000)
    assert "output 1 came 900 times where honest devices send it 750 times" in finding
