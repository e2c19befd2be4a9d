"""Properties of an estimate: its fields, its refusals and its warnings."""

import json

import numpy as np
import pytest

from aggregator.estimate import bayes, distribution, likelihood, query
from aggregator.estimate.estimator import estimate
from aggregator.estimate.method import MethodRefused, default_method, require_method
from aggregator.estimate.minimum import NotEnough
from aggregator.estimate.tally import Tally
from aggregator.families.bits import recipe as unary
from aggregator.families.decoder import NotInvertible
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.noise.recipe import discrete_gaussian
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import randomized_response
from protocol.campaign import Campaign, open_campaign, seal_campaign
from protocol.channels import Table
from protocol.domain import Buckets, Values
from protocol.exact import NANONATS
from protocol.keys import SigningKey
from protocol.notions import Ldp, Lip
from protocol.personal import lip_response
from protocol.views import plain_views
from tests.aggregator.matrix import dense

PRIOR = (50, 30, 15, 5)


def unsigned_campaign(channel, notion=None, domain=None, minimum=100):
    domain = domain or Values(tuple(f"v{x}" for x in range(channel.input_count)))
    return Campaign("T", "Q?", "", "O", domain, notion or Ldp(NANONATS), "any", plain_views(channel),
                    10**9, 2 * 10**9, 86400, 1, minimum, "open")  # fmt: skip


def tally(rng, channel, p, n, refused=None, version=None):
    outputs = decoder_of(channel).forward(np.asarray(p, dtype=float))
    return Tally(rng.multinomial(n, outputs / outputs.sum()), n, refused or {}, version)


LDP = unsigned_campaign(randomized_response(4, NANONATS))
LIP = unsigned_campaign(lip_response(PRIOR, NANONATS), Lip(NANONATS, PRIOR))
HALF, QUARTER = 2**61, 2**60
SINGULAR = unsigned_campaign(Table(((HALF - 1, HALF + 1), (HALF, HALF), (HALF, HALF))), Lip(NANONATS, (1, 1, 1)))
ALIKE = Table(((3 * QUARTER, QUARTER), (QUARTER, 3 * QUARTER), (QUARTER, 3 * QUARTER)))
"""A channel whose second and third value have the same outputs."""


def test_a_standard_error_above_one_half_causes_a_warning(rng):
    """A standard error above 50% causes a warning, even if the shares look certain; a smaller one does not."""
    wide = unsigned_campaign(discrete_gaussian(12, 1.5, 6 * NANONATS), Ldp(6 * NANONATS), Buckets.of(range(12)))
    found = estimate(wide, tally(rng, wide.channel, [1 / 12] * 12, 200))
    unknown = int(np.count_nonzero(found.se > 0.5))
    assert found.se.max() > 1
    assert any(f"at {unknown} of 12 values the standard error is above 50%" in warning for warning in found.warnings)
    assert not any(
        "standard error" in warning for warning in estimate(LDP, tally(rng, LDP.channel, [0.25] * 4, 200)).warnings
    )


# The distribution


@pytest.mark.parametrize("k", [2, 3, 10, 1000])
def test_projection_is_the_nearest_distribution(k, rng):
    """The projection p is a distribution, and (raw - p) . (q - p) <= 0 for every distribution q, so none is nearer."""
    for _ in range(20):
        raw = rng.normal(1 / k, 1 / np.sqrt(k), k)
        p = distribution.project(raw)
        assert p.min() >= 0
        assert p.sum() == pytest.approx(1)
        # The product is linear in q, so it is greatest where q has all its mass on one value.
        assert (raw - p).max() - p @ (raw - p) <= 1e-9


def test_the_projection_does_not_change_a_distribution():
    """The projection leaves a distribution unchanged, zeros included."""
    p = np.array([0.5, 0.0, 0.3, 0.2])
    np.testing.assert_allclose(distribution.project(p), p, atol=1e-15)


def test_the_mmse_estimate_is_the_mean_posterior():
    """The MMSE estimate P_x sum over y of share Q(y|x) / P(y) is the mean of all people's posteriors (MATH 2.9)."""
    channel = LIP.channel
    P = np.array(PRIOR) / 100
    Q, counts = dense(channel), np.array([10, 20, 30, 40])
    by_hand = sum(count * P * Q[:, y] / (P @ Q[:, y]) for y, count in enumerate(counts)) / 100
    np.testing.assert_allclose(distribution.posterior_mean(decoder_of(channel), counts / 100, P), by_hand)


def test_a_wrong_prior_biases_the_mmse_estimate_and_not_the_mode(rng):
    """With the true prior the MMSE estimate is accurate; with a wrong one it stays off for any n, but the posterior
    mode does not.

    n = 10^7 reports of a fixed seed; the raw estimate is precise to 0.2%.
    """
    decoder, P = decoder_of(LIP.channel), np.array(PRIOR) / 100
    right = decoder.forward(P)
    np.testing.assert_allclose(distribution.posterior_mean(decoder, right, P), P)
    truth = np.array([0.2, 0.3, 0.3, 0.2])
    share = tally(rng, LIP.channel, truth, 10**7).counts / 10**7
    mean = distribution.posterior_mean(decoder, share, P)
    mode = likelihood.posterior_mode(decoder, share, 10**7, P).share
    assert np.abs(mean - truth).sum() > 0.1
    assert np.abs(mode - truth).sum() < np.abs(mean - truth).sum() / 3
    for found in (mean, mode):
        assert found.sum() == pytest.approx(1)


# The estimate


def test_the_json_of_an_estimate_has_the_documented_entries(rng):
    """The JSON of an estimate has the entries that scripts read, plain numbers without NaN, and values in order."""
    found = estimate(LDP, tally(rng, LDP.channel, [0.4, 0.3, 0.2, 0.1], 5000, {"replayed": 3}, version=9))
    document = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert {"campaign", "reports", "values", "rejected", "influence"} <= document.keys()
    assert [row["value"] for row in document["values"]] == ["v0", "v1", "v2", "v3"]
    assert {"value", "estimate", "raw", "se", "low", "high"} <= document["values"][0].keys()
    assert document["reports"] == 5000
    assert document["rejected"] == {"replayed": 3}
    assert document["table_version"] == 9
    assert document["epsilon"] == 1
    assert sum(row["estimate"] for row in document["values"]) == pytest.approx(1)


def test_an_estimate_is_consistent_with_its_raw_shares_and_intervals(rng):
    """Raw shares are the decoder's, the consistent shares are their projection, and simultaneous intervals contain the
    single ones within 0 .. 1."""
    counted = tally(rng, LDP.channel, [0.7, 0.3, 0, 0], 300)
    found = estimate(LDP, counted)
    np.testing.assert_array_equal(found.raw, decoder_of(LDP.channel).invert(counted.counts / 300))
    np.testing.assert_array_equal(found.share, distribution.project(found.raw))
    assert (found.simultaneous_low <= found.low).all()
    assert (found.high <= found.simultaneous_high).all()
    assert found.simultaneous_low.min() >= 0
    assert found.simultaneous_high.max() <= 1
    assert found.method == "projection"


def test_simultaneous_intervals_are_those_of_a_kth_of_alpha(rng):
    """The simultaneous intervals of all k values are the single intervals at alpha / k (Bonferroni)."""
    counted = tally(rng, LDP.channel, [0.4, 0.3, 0.2, 0.1], 5000)
    together, alone = estimate(LDP, counted, confidence=0.96), estimate(LDP, counted, confidence=0.99)
    np.testing.assert_allclose(together.simultaneous_low, alone.low)
    np.testing.assert_allclose(together.simultaneous_high, alone.high)


def test_a_higher_confidence_gives_wider_intervals(rng):
    """99% intervals contain the 90% intervals."""
    counted = tally(rng, LDP.channel, [0.4, 0.3, 0.2, 0.1], 5000)
    wide, narrow = (estimate(LDP, counted, confidence=confidence) for confidence in (0.99, 0.9))
    assert (wide.low < narrow.low).all()
    assert (wide.high > narrow.high).all()


def test_a_signed_campaign_is_named_by_its_id(rng):
    """The estimate of a signed campaign has its id."""
    key = SigningKey(bytes(range(32)))
    signed = open_campaign(seal_campaign(LDP, key), [key.public])
    found = estimate(signed, tally(rng, LDP.channel, [0.25] * 4, 500))
    assert found.as_json()["campaign_id"] == signed.id.hex()


def test_an_estimate_below_the_minimum_is_refused():
    """An estimate and a query are refused for one report fewer than the campaign's minimum, and not for the minimum."""
    few, enough = (Tally.of(np.array([n, 0, 0, 0])) for n in (99, 100))
    for ask in (estimate, lambda *given: query.weighted_mean(*given, [1, 2, 3, 4])):
        with pytest.raises(NotEnough, match="needs reports of 100 devices, and this one has reports of 99"):
            ask(LDP, few)
        ask(LDP, enough)


def test_a_tally_of_another_channel_is_a_value_error():
    """A tally whose number of counts differs from the number of outputs is a ValueError."""
    with pytest.raises(ValueError, match=r"shape \(3,\), not \(4,\)"):
        estimate(LDP, Tally.of(np.array([1000, 0, 0])))


def test_unknown_methods_and_methods_without_their_prior_are_refused(rng):
    """An unknown method is refused with the known ones; mmse and map are refused without a prior.

    A confidence level that is not between 0 and 1 is a ValueError.
    """
    counted = tally(rng, LDP.channel, [0.25] * 4, 500)
    with pytest.raises(MethodRefused, match="projection"):
        estimate(LDP, counted, method="guess")
    for method in ("mmse", "map"):
        with pytest.raises(MethodRefused, match="needs a prior"):
            estimate(LDP, counted, method=method)
    with pytest.raises(ValueError, match="between 0 and 1"):
        estimate(LDP, counted, confidence=95)


def test_methods_that_count_outputs_are_refused_where_bits_are_counted():
    """em, mmse and map are refused for unary channels, because counts of bits have no likelihood of outputs; projection
    is the default."""
    bits = decoder_of(unary.oue(4, NANONATS))
    for method in ("em", "mmse", "map"):
        with pytest.raises(MethodRefused, match="bit by bit"):
            require_method(method, np.full(4, 0.25), bits)
    require_method("projection", None, bits)
    assert default_method(bits, np.full(4, 0.25), np.full(4, 0.01)) == "projection"


@pytest.mark.parametrize(
    ("k", "n", "method"),
    [
        (4, 200, "projection"),
        (16, 500_000, "projection"),
        (16, 2000, "empirical-bayes"),
        (300, 10_000, "empirical-bayes"),
    ],
)
def test_the_default_method_depends_on_the_noise(k, n, method, rng):
    """From 16 values on, the default is empirical Bayes if the noise is above a quarter of a uniform share, and the
    projection below."""
    asked = unsigned_campaign(hadamard(k, NANONATS))
    counted = tally(rng, asked.channel, np.full(k, 1 / k), n)
    found = estimate(asked, counted)
    assert found.method == method
    expected = {
        "projection": distribution.project(found.raw),
        "empirical-bayes": bayes.empirical_bayes(found.raw, found.se),
    }
    np.testing.assert_array_equal(found.share, expected[method])


def test_every_method_estimates_a_distribution(rng):
    """Each method but linear gives shares that are not negative, sum to one, and are within 2 percentage points of the
    truth.

    n = 10^6 and k = 4, so all shares are precise to .4%; the prior is the true distribution.
    """
    truth = np.array(PRIOR) / 100
    counted = tally(rng, LIP.channel, truth, 10**6)
    for method in ("projection", "empirical-bayes", "em", "mmse", "map"):
        found = estimate(LIP, counted, method=method)
        assert found.share.min() >= 0
        assert found.share.sum() == pytest.approx(1)
        np.testing.assert_allclose(found.share, truth, atol=0.02)
        assert not found.warnings


def test_a_search_that_did_not_converge_warns(monkeypatch, rng):
    """If a search has not converged, the first warning says that it stopped."""
    monkeypatch.setattr(likelihood, "MAX_EM_STEPS", 2)
    asked = unsigned_campaign(hadamard(200, NANONATS))
    found = estimate(asked, tally(rng, asked.channel, np.full(200, 1 / 200), 5000), method="em")
    assert "search for the most likely shares stopped" in found.warnings[0]


def test_only_identified_values_have_intervals():
    """If two of three values have the same outputs, only the other one has an unbiased estimate and an interval.

    The influence is computed from its estimate.
    """
    asked = unsigned_campaign(ALIKE, Lip(2 * NANONATS, (1, 1, 1)))
    found = estimate(asked, Tally.of(np.array([450, 550])))
    assert "without intervals at 2 of 3 values" in found.warnings[0]
    assert found.raw[0] == pytest.approx(2 * (0.45 - 0.25))
    assert found.se[0] == pytest.approx(2 * np.sqrt(0.45 * 0.55 / 1000))
    assert found.low[0] < found.raw[0] < found.high[0]
    assert np.isnan(found.low[1:]).all()
    assert found.influence.people_per_report == pytest.approx(1.5)
    json.dumps(found.as_json(), allow_nan=False)


def test_without_inverse_and_prior_em_is_the_default():
    """The default method of a campaign without a prior, whose channel has no inverse, is em; others are refused."""
    asked = unsigned_campaign(ALIKE, Ldp(2 * NANONATS))
    counted = Tally.of(np.array([450, 550]))
    found = estimate(asked, counted)
    assert found.method == "em"
    assert found.share[0] == pytest.approx(0.4, abs=0.02)
    with pytest.raises(NotInvertible):
        estimate(asked, counted, method="empirical-bayes")


def test_lip_campaigns_default_to_their_prior(rng):
    """The default method of a LIP campaign is MMSE, with intervals that do not use the prior."""
    counted = tally(rng, LIP.channel, np.array(PRIOR) / 100, 20_000)
    found = {method: estimate(LIP, counted, method=method) for method in (None, "mmse", "map", "projection", "linear")}
    assert found[None].method == "mmse"
    np.testing.assert_array_equal(found[None].share, found["mmse"].share)
    np.testing.assert_array_equal(found["linear"].share, found["linear"].raw)
    for each in found.values():
        np.testing.assert_array_equal(each.low, found[None].low)
        assert not each.warnings


def test_a_singular_lip_channel_is_estimated_without_intervals(rng):
    """If no unbiased estimate exists, MMSE and MAP still give shares, without intervals and with a warning."""
    counted = tally(rng, SINGULAR.channel, [1 / 3] * 3, 1000)
    for method in ("mmse", "map"):
        found = estimate(SINGULAR, counted, method=method)
        assert "without intervals" in found.warnings[0]
        assert found.share.sum() == pytest.approx(1)
        document = json.loads(json.dumps(found.as_json(), allow_nan=False))
        assert document["values"][0]["se"] is None
        assert document["influence"]["people_per_report"] is None
    with pytest.raises(NotInvertible):
        estimate(SINGULAR, counted, method="projection")
    answer = query.weighted_mean(SINGULAR, counted, [0, 1, 2])
    assert answer.as_json()["estimate"] is None
    assert 0 < answer.mmse < 2


@pytest.mark.parametrize("asked", [LDP, LIP, unsigned_campaign(hadamard(6, NANONATS))])
def test_forged_reports_move_a_share_by_no_more_than_stated(asked, rng):
    """If 10 of 1,010 reports are forged and equal, no expected raw share rises by more than the stated influence."""
    decoder, even = decoder_of(asked.channel), np.full(asked.domain.size, 1 / asked.domain.size)
    honest = tally(rng, asked.channel, even, 1000).counts
    found = estimate(asked, Tally.of(honest + 10 * np.eye(asked.channel.output_count, dtype=np.int64)[-1]))
    assert found.influence.share_of(10) == pytest.approx(10 * decoder.people_per_report / 1010)
    gains = [
        (decoder.invert((1000 * decoder.forward(even) + 10 * report) / 1010) - even).max()
        for report in np.eye(asked.channel.output_count, dtype=np.int64)
    ]
    assert 0.8 * found.influence.share_of(10) <= max(gains) <= found.influence.share_of(10)
    forged = found.as_json()["influence"]["forged"]
    assert [entry["reports"] for entry in forged] == [1, 2, 11]
    assert forged[2]["people"] == pytest.approx(11 * decoder.people_per_report)


def test_the_influence_of_any_number_of_forged_reports_is_stated(rng):
    """The JSON has the influence of the requested number of forged reports after the usual numbers; more than all
    reports are refused."""
    counted = tally(rng, LDP.channel, [0.25] * 4, 1000)
    forged = estimate(LDP, counted, forged=37).as_json()["influence"]["forged"]
    assert [entry["reports"] for entry in forged] == [1, 10, 37]
    assert forged[2]["share"] == pytest.approx(37 * decoder_of(LDP.channel).people_per_report / 1000)
    with pytest.raises(ValueError, match="0 to 1000"):
        estimate(LDP, counted, forged=1001)


def test_a_tally_of_43750_values_is_estimated(rng):
    """Estimated shares of 43,750 values sum to one, and no simultaneous interval ends below the single one."""
    channel = hadamard(43_750, NANONATS)
    asked = unsigned_campaign(channel, domain=Buckets(tuple(range(43_750)), 0))
    found = estimate(asked, tally(rng, channel, np.full(43_750, 1 / 43_750), 1_000_000))
    assert found.share.sum() == pytest.approx(1)
    assert (found.simultaneous_high >= found.high).all()


# Queries


def simulated(rng, asked, p, n, surveys, ask):
    return [ask(asked, tally(rng, asked.channel, p, n)) for _ in range(surveys)]


AGES = unsigned_campaign(hadamard(7, NANONATS), domain=Buckets.of([0, 20, 30, 40.5, 60, 80, 100]))
AGE_SHARES = np.array([0.05, 0.1, 0.2, 0.3, 0.2, 0.1, 0.05])


def test_means_are_unbiased_and_their_intervals_have_nominal_coverage(rng):
    """Over 1,000 surveys the mean is unbiased within 4 standard errors, its se is right within 7%, and the coverage
    of 95% intervals is 93 to 97%.

    n = 2,000; coverage is precise to 0.7% (alpha 0.5%, seed fixed), the standard deviation to 2.2%. A failure means a
    biased mean or a wrong standard error.
    """
    true = float(AGE_SHARES @ [0, 20, 30, 40.5, 60, 80, 100])
    answers = simulated(rng, AGES, AGE_SHARES, 2000, 1000, query.mean)
    found = np.array([answer.estimate for answer in answers])
    assert abs(found.mean() - true) < 4 * found.std() / np.sqrt(1000)
    assert np.mean([answer.se for answer in answers]) == pytest.approx(found.std(), rel=0.07)
    assert 0.93 <= np.mean([answer.low <= true <= answer.high for answer in answers]) <= 0.97


def test_a_query_equals_the_product_with_the_raw_shares(rng):
    """If the left inverse is unique, the estimate of a query is a . raw plus the offset."""
    counted = tally(rng, LDP.channel, [0.4, 0.3, 0.2, 0.1], 3000)
    a = np.array([3.0, -1.0, 0.5, 2.0])
    answer = query.weighted_mean(LDP, counted, a, offset=10)
    raw = decoder_of(LDP.channel).invert(counted.counts / 3000)
    assert answer.estimate == pytest.approx(float(a @ raw) + 10)
    assert answer.mmse is None


def test_the_mean_of_a_constant_has_no_error(rng):
    """If all people have the same number, the mean is that number without error, for three mechanisms."""
    for asked in (LDP, AGES, LIP):
        counted = tally(rng, asked.channel, np.full(asked.domain.size, 1 / asked.domain.size), 1000)
        answer = query.weighted_mean(asked, counted, [5.0] * asked.domain.size, offset=1)
        assert answer.estimate == pytest.approx(6)
        assert answer.se == pytest.approx(0, abs=1e-6)


def test_a_constant_of_the_weights_may_move_to_the_offset(rng):
    """Weights a + c with offset -c have the same estimate and error as a.

    The error is less than three quarters of that of the decoder's adjoint without this freedom.
    """
    counted = tally(rng, AGES.channel, AGE_SHARES, 3000)
    a = np.array([0, 20, 30, 40.5, 60, 80, 100])
    plain, moved = query.weighted_mean(AGES, counted, a), query.weighted_mean(AGES, counted, a + 1000, offset=-1000)
    assert moved.estimate == pytest.approx(plain.estimate)
    assert moved.se == pytest.approx(plain.se)
    decoder = decoder_of(AGES.channel)
    phi, share = decoder.adjoint(a), counted.counts / 3000
    naive = np.sqrt((share @ phi**2 - (share @ phi) ** 2) / 3000)
    assert plain.se < 0.75 * naive


def test_sums_scale_the_mean(rng):
    """A sum is the mean times the number of reports, or times the population."""
    counted = tally(rng, AGES.channel, AGE_SHARES, 3000)
    mean = query.mean(AGES, counted)
    for population in (None, 10_000):
        total = query.total(AGES, counted, population=population)
        factor = population or 3000
        assert total.estimate == pytest.approx(mean.estimate * factor)
        assert (total.low, total.high) == pytest.approx((mean.low * factor, mean.high * factor))
    weights = [1.0, 0, 0, 0, 0, 0, 2.0]
    whole = query.weighted_sum(AGES, counted, weights, offset=0.5, population=10)
    assert whole.estimate == pytest.approx(10 * query.weighted_mean(AGES, counted, weights, offset=0.5).estimate)


def test_negative_factors_keep_intervals_in_order(rng):
    """A negative factor swaps the ends of the interval, so that low is at most high."""
    turned = query.mean(AGES, tally(rng, AGES.channel, AGE_SHARES, 3000)).times(-1, "debt")
    assert turned.low < turned.estimate < turned.high
    assert turned.se > 0


def test_the_share_of_one_value_equals_that_of_the_histogram(rng):
    """The share of one value and its interval are those of the histogram; the number of people is the share times the
    population."""
    counted = tally(rng, LIP.channel, np.array(PRIOR) / 100, 3000)
    found = estimate(LIP, counted)
    answer = query.value_share(LIP, counted, 2)
    assert (answer.estimate, answer.low, answer.high) == (found.raw[2], found.low[2], found.high[2])
    assert answer.mmse == found.share[2]
    assert answer.times(1000, "people").estimate == pytest.approx(1000 * answer.estimate)
    with pytest.raises(ValueError, match="there is no value"):
        query.value_share(LIP, counted, 4)


def test_a_mean_needs_numbers(rng):
    """A mean of labels is refused, and the error names the domains that have one."""
    with pytest.raises(query.NotANumber, match="a mean needs numbers"):
        query.mean(LDP, tally(rng, LDP.channel, [0.25] * 4, 500))


def test_weights_are_one_for_each_value(rng):
    """A number of weights other than the number of values is a ValueError."""
    with pytest.raises(ValueError, match="4 values"):
        query.weighted_mean(LDP, tally(rng, LDP.channel, [0.25] * 4, 500), [1, 2])


def test_no_interval_shrinks_to_a_point_at_the_border():
    """A value whose raw share is far below zero still has an interval as wide as a standard error."""
    unlucky = unsigned_campaign(hadamard(16, NANONATS))
    agree = np.array([y % 2 == 0 for y in range(unlucky.channel.output_count)])  # these columns support value 0
    found = estimate(unlucky, Tally.of(np.where(agree, 80, 120)))
    assert found.raw[0] + 3 * found.se[0] < 0
    assert found.low[0] == 0
    assert found.high[0] == pytest.approx(max(found.se[0], found.share[0]))
    assert found.simultaneous_high[0] >= found.high[0]
