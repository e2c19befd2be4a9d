"""Quantiles, ranges and the distribution function: the tests that define their intervals, and the intervals'
coverage."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aggregator.estimate.merged import MergedReports
from aggregator.estimate.ordered import DECILES, ordered_statistics
from aggregator.estimate.ordered_result import NotOrdered, OrderedStatistics
from aggregator.estimate.profile import CONVERGED_NATS, SHORT_TAIL_RATIO, Profile
from aggregator.estimate.range_statistics import INTERVAL_BLOCKS
from aggregator.estimate.tally import Tally, ViewsTally
from aggregator.families.bits.recipe import oue
from aggregator.families.blocks.recipe import high_low, in_blocks
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import randomized_response
from aggregator.families.wave.recipe import wave
from protocol.campaign import Campaign
from protocol.domain import Dates, Domain, NumberRange, OrderedValues, Values
from protocol.errors import NotInDomain
from protocol.exact import NANONATS
from protocol.notions import HighLow
from protocol.views import Coarse, Identity, View, plain_views
from tests.aggregator.campaigns import unsigned_campaign
from tests.aggregator.test_estimate_smoothed import shapes

Z = 1.6448536269514722
"""The normal quantile of 90% intervals."""


def reports(p: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Return counts, (m,), of the outputs of n people with numbers drawn from ``p``, at 1 nat."""
    distribution = decoder_of(wave(len(p), NANONATS)).forward(p)
    return np.random.default_rng(seed).multinomial(n, distribution / distribution.sum())


def slowly(on: MergedReports, chosen: np.ndarray, t: float) -> float:
    """Return the largest log-likelihood if the chosen blocks have the share ``t``, by plain expectation
    maximisation."""
    p = np.where(chosen, t / chosen.sum(), (1 - t) / (~chosen).sum())
    for _ in range(5_000):
        p = p * (on.channel @ (on.counts / (p @ on.channel)))
        p = np.where(chosen, p * t / p[chosen].sum(), p * (1 - t) / p[~chosen].sum())
    return float(on.counts @ np.log(p @ on.channel))


def test_the_statistic_equals_that_of_slow_maximisation() -> None:
    """The signed root equals that of the difference of two log-likelihoods, each maximised by 5,000 steps of
    expectation maximisation.

    It rises with the share, and is 0 at the most likely share. At the ends of an interval it is -z and z. A design
    effect of 4 halves it.
    """
    on = MergedReports.of(decoder_of(wave(20, NANONATS)), reports(shapes(20)["bimodal"], 3000, 2))
    profile, chosen = Profile(on), np.arange(20) < 8
    here = float(profile.share[chosen].sum())
    best = slowly(on, chosen, here)
    assert profile.root(chosen, here) == pytest.approx(0, abs=math.sqrt(2 * CONVERGED_NATS))
    roots = []
    for t in (0.05, 0.2, 0.35, 0.6, 0.9):
        roots.append(profile.root(chosen, t))
        assert roots[-1] ** 2 == pytest.approx(2 * (best - slowly(on, chosen, t)), abs=0.1)
        assert (roots[-1] > 0) == (t > here)
    assert roots == sorted(roots)
    low, high = profile.interval(chosen, Z)
    assert profile.root(chosen, low) == pytest.approx(-Z, abs=2e-3)
    assert profile.root(chosen, high) == pytest.approx(Z, abs=2e-3)
    assert Profile(on, 4.0).root(chosen, 0.9) == pytest.approx(roots[-1] / 2)


def test_shares_at_which_the_reports_are_impossible_are_rejected() -> None:
    """A report reveals its block, so the statistic of a block's share is that of a binomial count, infinite at the
    shares 0 and 1; a value that alone gives some output has a share above 0."""
    channel = in_blocks([0] * 4 + [1] * 6 + [2], NANONATS, randomized_response)
    decoder, chosen, n = decoder_of(channel), np.arange(11) < 4, 400
    counts = np.random.default_rng(7).multinomial(n, decoder.forward(np.full(11, 1 / 11)))
    profile = Profile(MergedReports.of(decoder, counts))
    part = counts[decoder.forward(chosen / 4) > 0].sum() / n
    for t in (0.1, 0.3, 0.7):
        divergence = part * math.log(part / t) + (1 - part) * math.log((1 - part) / (1 - t))
        root = math.copysign(math.sqrt(2 * n * divergence), t - part)
        assert profile.root(chosen, t) == pytest.approx(root, abs=0.02)
    assert (profile.root(chosen, 0), profile.root(chosen, 1)) == (-math.inf, math.inf)
    low, high = profile.interval(chosen, Z)
    assert profile.root(chosen, low) == pytest.approx(-Z, abs=2e-3)
    assert profile.root(chosen, high) == pytest.approx(Z, abs=2e-3)
    assert 0 < profile.interval(np.arange(11) == 10, Z)[0] < 1 / 11
    few = np.where(decoder.forward(np.eye(11)[10]) > 0, 1, counts)
    assert 0 < Profile(MergedReports.of(decoder, few)).interval(np.arange(11) == 10, 5.0)[0] < 1e-5


def test_quantiles_of_a_question_with_sensitive_numbers() -> None:
    """Quantiles, ranges and the distribution function exist for high-low LDP, where a report may reveal a number."""
    channel = high_low(20, range(4), NANONATS, randomized_response)
    counts = np.random.default_rng(8).multinomial(2000, decoder_of(channel).forward(shapes(20)["smooth"]))
    notion, views = HighLow(NANONATS, 20, tuple(range(4))), plain_views(channel)
    domain = NumberRange.of(1, 20)
    campaign = Campaign("T", "Q?", "", "O", domain, notion, "any", views, 0, 86_400, 86_400, 1, 1, "open")
    found = ordered_statistics(campaign, Tally.of(counts), quantiles=(0.1, 0.5), cdf=True, between=(3, 9), above=19)
    for one in (found.between, found.above, *found.cdf):
        assert 0 <= one.low <= one.estimate <= one.high <= 1
    assert all(one.low <= one.value <= one.high for one in found.quantiles)


def test_the_interval_of_a_quantile_contains_the_values_that_no_test_rejects() -> None:
    """low and high are the smallest and the largest value v that pass two tests: the share up to v is at least p, and
    the share below v at most p."""
    channel, domain = wave(20, NANONATS), NumberRange.of(10, 29)
    counts = reports(shapes(20)["smooth"], 4000, 3)
    profile, places = Profile(MergedReports.of(decoder_of(channel), counts)), np.arange(20)
    z = Z * math.sqrt(SHORT_TAIL_RATIO)
    for found in ordered_statistics(
        unsigned_campaign(domain, channel), Tally.of(counts), quantiles=(0.9, 0.1, 0.5), confidence=0.9
    ).quantiles:
        held = [
            v
            for v in range(20)
            if (v == 19 or profile.root(places <= v, found.p) <= z)
            and (v == 0 or profile.root(places < v, found.p) >= -z)
        ]
        assert (found.low, found.high) == (min(10 + held[0], found.value), max(10 + held[-1], found.value))
        assert held == list(range(held[0], held[-1] + 1))


def test_an_interval_that_is_much_too_short_is_extended() -> None:
    """An interval of the tests with at most half the values of Woodruff's is extended to it, and no other is changed.

    In this survey the tests alone keep 24 and 25 for the 0.2-quantile, which is 27.
    """
    channel, domain, p = wave(74, NANONATS), NumberRange.of(17, 90), shapes(74)["smooth"]
    counts = reports(p, 5000, 2)
    found = ordered_statistics(unsigned_campaign(domain, channel), Tally.of(counts), quantiles=DECILES, confidence=0.9)
    profile, places = Profile(MergedReports.of(decoder_of(channel), counts)), np.arange(74)
    z, up_to, extended = Z * math.sqrt(SHORT_TAIL_RATIO), np.cumsum(found.estimate.share), 0
    for one in found.quantiles:
        held = [
            v
            for v in range(74)
            if (v == 73 or profile.root(places <= v, one.p) <= z) and (v == 0 or profile.root(places < v, one.p) >= -z)
        ]
        at = one.value - 17
        low, high = profile.interval(places <= at, z)
        smooth = [int((up_to < one.p - part).sum()) for part in (high - up_to[at], low - up_to[at])]
        first, final = min(held[0], at), max(held[-1], at)
        if final - first + 1 <= (smooth[1] - smooth[0] + 1) / 2:
            extended += 1
            first, final = min(first, smooth[0]), max(final, smooth[1])
        assert (one.low, one.high) == (17 + first, 17 + final)
    assert extended


def covered(
    surveys: int, seed: int, distributions: dict[str, np.ndarray], n: int = 5000
) -> dict[str, tuple[float, float]]:
    """Return, for each distribution of 74 numbers, the coverage of 90% intervals of nine deciles, and of the shares up
    to them."""
    found, channel, k = {}, wave(74, NANONATS), 74
    decoder, places = decoder_of(channel), np.arange(k)
    campaign = unsigned_campaign(NumberRange.of(0, k - 1), channel)
    for name, p in distributions.items():
        up_to, held = np.cumsum(p), []
        for number in range(surveys):
            counts = reports(p, n, seed + number)
            profile = Profile(MergedReports.of(decoder, counts))
            for decile in ordered_statistics(campaign, Tally.of(counts), quantiles=DECILES, confidence=0.9).quantiles:
                v = min(int(np.searchsorted(up_to, decile.p - 1e-9)), k - 1)
                low, high = (0.0, 1.0) if v == k - 1 else profile.interval(places <= v, Z)
                held.append((decile.low <= v <= decile.high, low - 1e-9 <= up_to[v] <= high + 1e-9))
        found[name] = tuple(np.mean(held, axis=0))
    return found


def test_intervals_have_nominal_coverage() -> None:
    """At least 80% of the 90% intervals of deciles, and of the shares up to them, contain the truth.

    4 surveys of 5,000 people on each of five shapes, 74 numbers, 1 nat, pooled over nine deciles; seed fixed. A failure
    means that the intervals are too narrow.
    """
    found = covered(4, 100, shapes(74))
    assert min(min(both) for both in found.values()) >= 0.8, found


@pytest.mark.long
def test_intervals_have_nominal_coverage_long() -> None:
    """With 200 surveys the coverage of 90% intervals is at least 87% on each shape; seed fixed.

    For deciles of shapes without numbers that many people share, it is at most 98%.
    """
    found = covered(200, 1000, shapes(74))
    assert min(min(both) for both in found.values()) >= 0.87, found
    assert max(found[name][0] for name in ("smooth", "bimodal", "uniform")) <= 0.98, found


@pytest.mark.long
def test_intervals_on_steep_distributions_have_nominal_coverage_long() -> None:
    """The coverage of 90% intervals is at least 87% where neighbouring numbers differ much, so that many intervals are
    a single number.

    200 surveys of 20,000 people, 74 numbers, 1 nat, pooled over nine deciles: a normal distribution with a standard
    deviation of 1.5 numbers, five numbers with nearly everybody, and three numbers with half of the people; seed fixed.
    """
    x = np.arange(74)
    steep = {
        "narrow": np.exp(-(((x - 34.3) / 1.5) ** 2) / 2),
        "block": np.where((x >= 25) & (x < 30), 1.0, 0.02),
        "three": np.where(np.isin(x, (13, 34, 55)), 1.0, 3 / 71),
    }
    found = covered(200, 2000, {name: p / p.sum() for name, p in steep.items()}, 20_000)
    assert min(min(both) for both in found.values()) >= 0.87, found


def estimated(domain: Domain, **wanted: Any) -> OrderedStatistics:
    channel = wave(domain.size, NANONATS)
    counts = reports(shapes(domain.size)["smooth"], 20_000, 5)
    return ordered_statistics(unsigned_campaign(domain, channel), Tally.of(counts), confidence=0.9, **wanted)


def test_ranges_add_up_and_lie_in_their_intervals() -> None:
    """Bins contain each value once and their shares sum to one; an edge between two bins belongs to the upper one.

    "above" excludes its value, and "between" includes both ends. Every estimate is in its interval, and the band
    contains the intervals.
    """
    found = estimated(
        NumberRange.of(17, 90, unit="years"), bins=(35, 25), above=65, between=(30, 40), mean=True, cdf=True
    )
    assert [(one.first, one.last) for one in found.bins] == [(17, 24), (25, 34), (35, 90)]
    assert sum(one.estimate for one in found.bins) == pytest.approx(1)
    assert (found.above.first, found.above.last) == (66, 90)
    assert (found.between.first, found.between.last) == (30, 40)
    assert found.mean.low < found.mean.estimate < found.mean.high
    for one in (*found.bins, found.above, found.between, *found.cdf):
        assert 0 <= one.low <= one.estimate <= one.high <= 1
    assert [one.estimate for one in found.cdf] == sorted(one.estimate for one in found.cdf)
    assert all(one.simultaneous_low <= one.low and one.high <= one.simultaneous_high for one in found.cdf)
    document = found.as_json()

    assert {"from", "to", "estimate", "low", "high"} == set(document["above"])
    assert "quantiles" not in document


def test_values_are_written_as_the_domain_writes_them() -> None:
    """Dates are shown as dates, ordered labels by their names, and decimal numbers as numbers."""
    days = estimated(Dates.of("2026-01-01", "2026-02-09"), quantiles=(0.5,), above="2026-01-10")
    assert days.quantiles[0].value.startswith("2026-01-")
    assert days.above.first == "2026-01-11"
    steps = estimated(NumberRange.of(0, "4.5", "0.5"), quantiles=(0.5,), bins=("0.75",))
    assert steps.bins[1].first == 1
    assert steps.bins[0].last == 0.5
    labels = OrderedValues(tuple("abcdefghij"))
    assert estimated(labels, between=("b", "d")).between.as_json()["from"] == "b"


def test_many_values_are_read_in_blocks() -> None:
    """With more values than blocks, the interval of a quantile has at least the length of a block and contains its
    estimate."""
    found = estimated(NumberRange.of(0, 2999), quantiles=(0.25,), above=700)
    (quarter,) = found.quantiles
    assert quarter.low <= quarter.value <= quarter.high
    assert quarter.high - quarter.low >= 3000 // INTERVAL_BLOCKS - 1
    assert found.above.low <= found.above.estimate <= found.above.high


def test_invalid_orders_fractions_and_ranges_are_refused() -> None:
    """Values without an order, fractions outside 0 to 1, edges outside the range, and empty ranges are refused."""
    labels, ages = Values(tuple("abcdefgh")), NumberRange.of(17, 90)
    with pytest.raises(NotOrdered, match="have no order"):
        ordered_statistics(
            unsigned_campaign(labels, randomized_response(8, NANONATS)), Tally.of(np.full(8, 50)), quantiles=(0.5,)
        )
    with pytest.raises(NotOrdered, match="between 0 and 1"):
        estimated(ages, quantiles=(50,))
    with pytest.raises(NotInDomain):
        estimated(ages, above=120)
    with pytest.raises(NotOrdered, match=r"from 40 to 30 contains no value .* 17 to 90: give the lower end first"):
        estimated(ages, between=(40, 30))
    with pytest.raises(NotOrdered, match=r"above 90 contains no value .* 17 to 90: give a lower value"):
        estimated(ages, above=90)
    with pytest.raises(NotOrdered, match=r"one of the bins contains no value .* 17 to 90: leave an edge out"):
        estimated(ages, bins=(30, 30))


def test_quantiles_of_bits_and_views_are_refused_with_a_reason() -> None:
    """Campaigns that report bits or views have no quantiles, and the error gives the reason; bits have a mean."""
    line = NumberRange.of(1, 8)
    bits = oue(8, NANONATS)
    counts = Tally(np.full(8, 40), 100)
    with pytest.raises(NotOrdered, match="counted bit by bit"):
        ordered_statistics(unsigned_campaign(line, bits), counts, quantiles=(0.5,))
    assert ordered_statistics(unsigned_campaign(line, bits), counts, mean=True).mean is not None
    halves = (
        View(1, Coarse(4), randomized_response(2, NANONATS)),
        View(1, Identity(), randomized_response(8, NANONATS)),
    )
    campaign = replace(unsigned_campaign(line, bits), views=halves)
    parts = tuple(Tally.of(np.full(size, 50)) for size in (2, 8))
    with pytest.raises(NotOrdered, match="this is a campaign with views: estimate the shares"):
        ordered_statistics(campaign, ViewsTally.of_parts(parts, {}, None), quantiles=(0.5,))
