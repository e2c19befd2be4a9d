"""Properties of the residual test and of the robust distribution: a small share of forged reports is detected and
changes it little; honest counts pass."""

import re

import numpy as np
import pytest

from aggregator.estimate.distribution import project, projected_shares
from aggregator.estimate.estimator import estimate
from aggregator.estimate.forgeries import find_forgeries
from aggregator.estimate.robust import robust_shares
from aggregator.estimate.tally import Tally
from aggregator.families.bits import recipe as unary
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import randomized_response
from aggregator.families.sets.recipe import triples
from aggregator.families.support import outside_weight
from protocol.campaign import Campaign
from protocol.channels.projective.channel import ProjectiveResponse
from protocol.domain import Values
from protocol.exact import NANONATS
from protocol.notions import HighLow, Ldp
from protocol.views import plain_views
from tests.aggregator.test_estimate_forgeries import CHANNELS, honest

N = 100_000
TRIPLES = triples(40, NANONATS)
GEOMETRY = ProjectiveResponse(200, 7, 4, outside_weight(57, 343, 2 * NANONATS))


def attacked(channel, forged, rng):
    """Return the decoder, counts of honest people and of a maximal-gain attack on ten values, and the people's
    shares."""
    decoder, p = decoder_of(channel), 1 / np.arange(1, channel.input_count + 1)
    chosen = np.zeros(channel.input_count)
    chosen[rng.choice(channel.input_count, 10, replace=False)] = 1
    counts = honest(channel, p / p.sum(), N - forged, rng)
    counts[int(np.argmax(decoder.adjoint(chosen)))] += forged
    return decoder, counts, p / p.sum()


@pytest.mark.parametrize(("channel", "forged", "detected"), [(TRIPLES, 200, 20), (GEOMETRY, 500, 10)])
def test_the_residual_test_detects_attacks_that_ceilings_seldom_detect(channel, forged, detected):
    """The residual test detects at least ``detected`` of 20 attacks by 2 (triples) or 5 of 1,000 reports; the ceiling
    at most 5 of them."""
    rng = np.random.default_rng(21)
    findings = []
    for _ in range(20):
        decoder, counts, _ = attacked(channel, forged, rng)
        findings += find_forgeries(decoder, counts, N)
    assert sum("given the counts of the other outputs" in finding for finding in findings) >= detected
    assert sum("but honest devices" in finding for finding in findings) <= 5


@pytest.mark.parametrize("n", [200, 20_000])
def test_honest_reports_of_many_outputs_raise_no_alarm(n):
    """No honest survey raises an alarm: 100 surveys of channels with many outputs, for uniform, skewed and single-value
    populations.

    The three tests of a survey have alpha 1e-4 each, so an alarm has probability 3e-2 at most; the seed is fixed. If
    the residual test rejected one honest survey in 25, this function would fail with probability 98%.
    """
    rng = np.random.default_rng(22)
    for channel in (TRIPLES, GEOMETRY):
        decoder, k = decoder_of(channel), channel.input_count
        for p in (np.full(k, 1 / k), np.eye(k)[0], *rng.dirichlet(np.full(k, 0.2), 8)):
            for _ in range(5):
                assert not find_forgeries(decoder, honest(channel, p, n, rng), n)


@pytest.mark.parametrize("channel", [TRIPLES, GEOMETRY], ids=["triples", "projective"])
def test_an_attack_by_one_percent_moves_the_robust_shares_little(channel):
    """An attack by 1% of the reports increases the distance of the robust shares from the truth by less than 15%,
    and that of the projection by more than 100%."""
    rng = np.random.default_rng(23)
    far = {"honest": [], "projected": [], "robust": []}
    for _ in range(4):
        decoder, counts, p = attacked(channel, N // 100, rng)
        far["honest"].append(np.abs(project(decoder.invert(honest(channel, p, N, rng) / N)) - p).sum())
        far["projected"].append(np.abs(project(decoder.invert(counts / N)) - p).sum())
        far["robust"].append(np.abs(robust_shares(decoder, counts / N, N) - p).sum())
    mean = {name: np.mean(distances) for name, distances in far.items()}
    assert mean["projected"] > 2 * mean["honest"]
    assert mean["robust"] < 1.15 * mean["honest"]


@pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())
def test_the_robust_shares_of_honest_reports_are_the_projected_ones(channel):
    """Without forged reports the robust shares differ from the projection by less than a twentieth of its distance from
    the truth."""
    rng, decoder = np.random.default_rng(24), decoder_of(channel)
    p = 1 / np.arange(1, channel.input_count + 1)
    apart = off = 0.0
    for _ in range(5):
        share = honest(channel, p / p.sum(), N, rng) / N
        projected = projected_shares(decoder, decoder.invert(share), N, None)
        apart += np.abs(robust_shares(decoder, share, N) - projected).sum()
        off += np.abs(projected - p / p.sum()).sum()
    assert apart < off / 20


def test_a_robust_estimate_of_bits_is_refused():
    """A robust estimate of a channel of bits is a ValueError."""
    with pytest.raises(ValueError, match="bits are counted one by one"):
        robust_shares(decoder_of(unary.oue(5, NANONATS)), np.full(5, 0.3), 100)


def test_an_alarm_names_robust_values_and_keeps_all_reports():
    """Under attack a warning names the values whose robust estimate differs; n and raw still include all reports."""
    rng = np.random.default_rng(25)
    decoder, counts, _ = attacked(TRIPLES, N // 100, rng)
    labels = tuple(f"v{x}" for x in range(40))
    campaign = Campaign(
        "Title", "Which?", "", "Library", Values(labels), Ldp(NANONATS), "triples", plain_views(TRIPLES), 0, 10, 10,
        1, 1, "open"
    )  # fmt: skip
    found = estimate(campaign, Tally(counts, N, {}, 1))
    assert found.reports == N
    assert np.array_equal(found.raw, decoder.invert(counts / N))
    (beside,) = (warning for warning in found.warnings if warning.startswith("a robust estimate"))
    assert "counts every report" in beside
    assert sum(f"{label}: " in beside for label in labels) == 3
    quiet = estimate(campaign, Tally(honest(TRIPLES, np.full(40, 1 / 40), N, rng), N, {}, 1))
    assert not quiet.warnings


def test_an_alarm_compares_estimates_of_method_projection():
    """The shares of all reports that a warning names are those of method projection, also for a channel whose unbiased
    shares have different variances."""
    channel = CHANNELS["high-low"]
    decoder, counts, _ = attacked(channel, N // 50, np.random.default_rng(26))
    labels = tuple(f"v{x}" for x in range(channel.input_count))
    campaign = Campaign(
        "Title", "Which?", "", "Library", Values(labels), HighLow(NANONATS, 12, (0, 5, 6)), "high-low",
        plain_views(channel), 0, 10, 10, 1, 1, "open",
    )  # fmt: skip
    found = estimate(campaign, Tally(counts, N, {}, 1), method="projection")
    (beside,) = (warning for warning in found.warnings if warning.startswith("a robust estimate"))
    variances = decoder.variances(decoder.forward(np.full(len(labels), 1 / len(labels))))
    assert variances.max() > 2 * variances.min()
    stated = re.findall(r"v(\d+): [\d.]+%, not ([\d.]+)%", beside)
    assert stated
    assert all(f"{100 * found.share[int(x)]:.2f}" == share for x, share in stated)


def test_an_alarm_warns_if_the_robust_estimate_is_nearly_the_same():
    """With as many outputs as values a robust estimate is nearly the usual one, and the warning says so."""
    channel = randomized_response(4, NANONATS)
    labels = ("a", "b", "c", "d")
    campaign = Campaign(
        "Title", "Which?", "", "Library", Values(labels), Ldp(NANONATS), "randomized-response", plain_views(channel),
        0, 10, 10, 1, 1, "open",
    )  # fmt: skip
    found = estimate(campaign, Tally(np.array([9_000, 300, 400, 300]), 10_000, {}, 1))
    assert any("look forged" in warning for warning in found.warnings)
    assert any("a robust estimate" in warning and "nearly the same" in warning for warning in found.warnings)
