"""Laws of the screen: honest reports pass whatever the population, floods of 1% are seen in the cases listed."""

import numpy as np
import pytest

from aggregator.design import mechanisms
from aggregator.estimate.decoders import decoder_of
from aggregator.estimate.screen import screen
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
    alarms = sum(bool(screen(decoder_of(channel), honest(channel, p, n, rng))) for p in populations for _ in range(100))
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
        assert screen(decoder, counts)


def test_reports_that_speak_for_many_values_unbalance_the_shares():
    """1% of the reports that each add over 100 people show in the sum of the shares."""
    channel, rng = mechanisms.hadamard(200, NANONATS), np.random.default_rng(6)
    decoder = decoder_of(channel)
    counts = honest(channel, np.full(200, 1 / 200), 99_000, rng)
    counts[np.argsort(-decoder.adjoint(np.ones(200)))[:2]] += 500
    assert any("sum to" in finding for finding in screen(decoder, counts))


def test_a_repeated_output_is_seen_though_the_shares_stay_balanced():
    """1% of the reports with one output that adds nothing to the sum of the shares are seen by their number alone."""
    channel, rng = mechanisms.hadamard(200, NANONATS), np.random.default_rng(8)
    decoder = decoder_of(channel)
    counts = honest(channel, np.full(200, 1 / 200), 99_000, rng)
    neutral = int(np.argmin(np.abs(decoder.adjoint(np.ones(200)) - 1)))
    counts[neutral] += 1000
    (finding,) = screen(decoder, counts)
    assert f"output {neutral} came" in finding


def test_forgeries_that_look_like_people_are_not_seen():
    """Reports drawn as honest devices with one value would draw them pass: only their influence can be told."""
    channel, rng = mechanisms.hadamard(50, NANONATS), np.random.default_rng(7)
    p = np.full(50, 1 / 50)
    counts = honest(channel, p, 99_000, rng) + honest(channel, np.eye(50)[7], 1000, rng)
    assert not screen(decoder_of(channel), counts)
