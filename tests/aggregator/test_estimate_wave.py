"""Waves: the recipe of the channel, and its decoder (SPEC 5.11)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from aggregator.estimate import query
from aggregator.estimate.estimator import estimate
from aggregator.estimate.tally import Tally
from aggregator.families.decoder import NotInvertible
from aggregator.families.mechanism import PlannedQuestion
from aggregator.families.registry import decoder_of
from aggregator.families.wave.recipe import half_width, wave
from aggregator.planner.choice import AUTO, Unsuited, chosen_channel
from protocol.channels import Wave
from protocol.domain import Buckets, Values
from protocol.exact import NANONATS
from protocol.notions import Ldp, Lip
from tests.aggregator.campaigns import unsigned_campaign
from tests.aggregator.matrix import dense
from tests.families import CHANNELS

WAVES = {name: channel for name, channel in CHANNELS.items() if isinstance(channel, Wave)}
each = pytest.mark.parametrize("channel", WAVES.values(), ids=WAVES)


@each
def test_running_sums_equal_products_with_the_matrix(channel: Wave) -> None:
    """forward, backward and forward_squares equal products with the matrix; the ceiling has its largest cells."""
    decoder, matrix, rng = decoder_of(channel), dense(channel), np.random.default_rng(5)
    for _ in range(5):
        p, w = rng.dirichlet(np.ones(channel.input_count)), rng.normal(size=channel.output_count)
        np.testing.assert_allclose(decoder.forward(p), p @ matrix, rtol=1e-12)
        np.testing.assert_allclose(decoder.forward_squares(p), p @ matrix**2, rtol=1e-12)
        np.testing.assert_allclose(decoder.backward(w), matrix @ w, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(decoder.ceiling, matrix.max(axis=0))


@each
def test_the_mean_of_evenly_spaced_numbers_is_unbiased(channel: Wave) -> None:
    """The expected contribution of a report to the mean is the person's number, for every number."""
    numbers = 7.5 - 2.5 * np.arange(channel.input_count)
    adds = decoder_of(channel).adjoint(numbers)
    np.testing.assert_allclose(dense(channel) @ adds, numbers, rtol=1e-10, atol=1e-10)


def test_single_shares_and_uneven_numbers_are_refused_with_an_alternative() -> None:
    """An unbiased estimate of a single share, or of unevenly spaced numbers, is refused, and the error names an
    alternative."""
    decoder = decoder_of(WAVES["wave"])
    share = np.full(decoder.features, 1 / decoder.features)
    for call in (
        lambda: decoder.invert(share),
        lambda: decoder.variances(share),
        lambda: decoder.binomial_steps(np.ones(decoder.features, dtype=np.int64), decoder.features),
        lambda: decoder.people_per_report,
        lambda: decoder.adjoint(np.arange(decoder.input_count) ** 2.0),
    ):
        with pytest.raises(NotInvertible, match="the shares of ranges"):
            call()
    with pytest.raises(NotInvertible, match="evenly spaced"):
        decoder.adjoint(np.arange(decoder.input_count) ** 2.0)


@pytest.mark.parametrize("level", [NANONATS // 100, NANONATS // 2, NANONATS, 2 * NANONATS, 8 * NANONATS])
def test_the_window_is_as_wide_as_published(level: int) -> None:
    """The half width is at least 1 and that of the published formula, or one of the next few without a common factor
    with k - 1."""
    eps = level / NANONATS
    odds = math.exp(eps)
    for k in (2, 3, 4, 7, 10, 64, 100, 999, 1000, 43_750):
        best = k * (eps * odds - odds + 1) / (2 * odds * (odds - 1 - eps))
        half = half_width(k, level)
        skipped = range(min(half + 1, math.floor(best)), max(half, math.floor(best) + 1))
        assert 1 <= half < k
        assert math.gcd(2 * half + 1, k - 1) == 1
        assert all(b < 1 or b == half or math.gcd(2 * b + 1, k - 1) > 1 for b in skipped)


def test_a_wave_is_nearer_than_a_channel_of_labels() -> None:
    """The default estimate from a wave has at most half the Wasserstein distance of that from the channel of ``auto``.

    10,000 people with numbers of Beta(2, 5) on 64 edges at 1 nat; mean of 8 surveys each, seed fixed. Single shares
    have no raw value, standard error or interval, and a warning gives the reason.
    """
    generator, k, n = np.random.default_rng(5), 64, 10_000
    x = (np.arange(k) + 0.5) / k
    p = x * (1 - x) ** 4 / (x * (1 - x) ** 4).sum()
    question, distances = PlannedQuestion(Buckets.of(range(k)), Ldp(NANONATS)), []
    for name in ("wave", AUTO):
        _, channel = chosen_channel(name, question)
        distribution = np.maximum(decoder_of(channel).forward(p), 0)
        distribution /= distribution.sum()
        campaign = unsigned_campaign(question.domain, channel)
        found = [estimate(campaign, Tally.of(generator.multinomial(n, distribution))) for _ in range(8)]
        distances.append(np.mean([np.abs(np.cumsum(one.share - p)).sum() / (k - 1) for one in found]))
        if name == "wave":
            assert {one.method for one in found} == {"smooth"}
            assert all(np.isnan(one.raw).all() and np.isnan(one.se).all() for one in found)
            assert all("not of single numbers" in " ".join(one.warnings) for one in found)
            assert found[0].as_json()["values"][0]["raw"] is None
    assert distances[0] < 0.5 * distances[1]


def test_the_mean_is_unbiased_and_has_the_stated_error() -> None:
    """The standard errors of 400 surveys of 400 people equal the standard deviation of the means within a fifth (5.6 of
    its errors).

    The mean of the means is the truth within four of its errors; seed fixed. A failure means a biased mean or a wrong
    standard error.
    """
    generator, k, n = np.random.default_rng(7), 20, 400
    numbers = [10 + 5 * x for x in range(k)]
    channel, p = wave(k, NANONATS), generator.dirichlet(np.ones(k))
    distribution, truth = decoder_of(channel).forward(p), float(p @ numbers)
    campaign = unsigned_campaign(Buckets.of(numbers), channel)
    answers = [query.mean(campaign, Tally.of(generator.multinomial(n, distribution))) for _ in range(400)]
    means, errors = np.array([one.raw for one in answers]), np.array([one.se for one in answers])
    assert np.mean(errors) == pytest.approx(means.std(), rel=0.2)
    assert abs(means.mean() - truth) < 4 * means.std() / 20


def test_without_a_goal_a_wave_of_edges_is_chosen_by_its_name_only() -> None:
    """For edges without a goal, ``auto`` takes a channel with an unbiased estimate, and not a wave.

    Labels, and values with a prior, are refused with the reason.
    """
    numbers = PlannedQuestion(Buckets.of(range(30)), Ldp(NANONATS))
    assert isinstance(chosen_channel("wave", numbers)[1], Wave)
    assert not isinstance(chosen_channel(AUTO, numbers)[1], Wave)
    with pytest.raises(Unsuited, match="ordered values"):
        chosen_channel("wave", PlannedQuestion(Values(("a", "b", "c")), Ldp(NANONATS)))
    with pytest.raises(Unsuited, match="a notion without a prior"):
        chosen_channel("wave", PlannedQuestion(Buckets.of(range(3)), Lip(NANONATS, (1, 2, 3))))
