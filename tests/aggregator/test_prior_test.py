"""A prior that the reports contradict is detected; the estimate recovers or names the method that does, and reports
the added error."""

import json
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from aggregator.estimate.distribution import total_variation
from aggregator.estimate.estimator import estimate
from aggregator.estimate.names import METHODS
from aggregator.estimate.prior_test import ALPHA, prior_test
from aggregator.estimate.tally import Tally
from aggregator.families.registry import decoder_of
from aggregator.present.document import estimate_csv
from aggregator.present.shown_shares import prior_comparison
from aggregator.reproduce import simulated_people
from protocol.notions import Ldp, Lip, MutualInformation

NAT = 10**9
SIZE, REPORTS = 20, 8000
WEIGHTS = tuple(round(10**6 / rank) for rank in range(1, SIZE + 1))
PRIOR = np.array(WEIGHTS) / sum(WEIGHTS)


@cache
def lip():
    """A LIP campaign with the prior P(x) ~ 1 / rank."""
    return simulated_people.campaign(simulated_people.values(SIZE), Lip(NAT, WEIGHTS), "lip")


@pytest.fixture(scope="module")
def wrong():
    """Return shares at a total variation distance of .175 from the prior, and 20 surveys of people with these
    shares."""
    generator = np.random.default_rng(1)
    away = generator.permutation(PRIOR) - PRIOR
    truth = PRIOR + away * 0.175 / (np.abs(away).sum() / 2)
    return truth, [
        simulated_people.tally(lip().channel, generator.multinomial(REPORTS, truth), generator) for _ in range(20)
    ]


def test_a_wrong_prior_warns_and_a_right_one_seldom_does(wrong):
    """The test warns in 20 of 20 surveys of 8,000 reports if the prior of 20 values is off by .175 in total variation.

    With a right prior it warns in at most 12 of 2,000 surveys. alpha is .001, so 13 or more have probability 2e-7 if
    the test has its nominal level; rare outputs may double the rate. A failure means that the test has a wrong level or
    no power.
    """
    _, surveys = wrong
    decoder = decoder_of(lip().channel)
    assert all(prior_test(decoder, PRIOR, counted.counts, REPORTS).rejected for counted in surveys)
    distribution = decoder.forward(PRIOR)
    right = np.random.default_rng(2).multinomial(REPORTS, distribution / distribution.sum(), size=2000)
    alarms = sum(prior_test(decoder, PRIOR, counts, REPORTS).rejected for counts in right)
    assert alarms <= 12


def test_the_statistic_without_rare_outputs_is_that_of_pearson():
    """Without rare outputs the test equals scipy's chi-square test; if a device may have sent m reports, they count
    as one."""
    decoder = decoder_of(
        simulated_people.campaign(simulated_people.values(4), Lip(NAT, (4, 3, 2, 1)), "lip-response").channel
    )
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    distribution, counts = decoder.forward(prior), np.array([420, 290, 180, 110])
    found, expected = prior_test(decoder, prior, counts, 1000), stats.chisquare(counts, 1000 * distribution)
    assert (found.statistic, found.p_value, found.freedom) == pytest.approx((*expected, 3))
    assert prior_test(decoder, prior, counts, 1000, 4).statistic == pytest.approx(found.statistic / 4)
    assert found.rejected == (expected.pvalue < ALPHA)
    assert prior_test(decoder, prior, np.array([3, 1, 1, 0]), 5) is None


def test_an_output_with_a_small_expected_count_is_never_a_cell_alone():
    """An output with an expected count of 0.2 after one of 9.9 is joined with its neighbour: 2 cells of 3 outputs."""
    decoder = SimpleNamespace(one_hot=True, input_count=3, forward=lambda prior: prior)
    found = prior_test(decoder, np.array([9.9, 0.2, 9.9]) / 20, np.array([9, 1, 10]), 20)
    assert found.freedom == 1
    assert found.statistic == pytest.approx(0.9**2 / 9.9 + 0.9**2 / 10.1)


def test_the_default_recovers_from_a_wrong_prior(wrong):
    """The default method is the posterior mode, which recovers from a wrong prior.

    Its mean distance from the truth is at most .6 of that of MMSE in five surveys, and the warning of mmse names the
    default.
    """
    truth, surveys = wrong
    far = {None: [], "mmse": []}
    for counted in surveys[:5]:
        for method, found in far.items():
            made = estimate(lip(), counted, method=method)
            assert made.method == (method or "map")
            assert "the prior looks wrong" in made.warnings[0]
            found.append(total_variation(made.share, truth))
        assert "use method 'map'" in made.warnings[0]
    assert np.mean(far[None]) < 0.6 * np.mean(far["mmse"])


def test_every_share_lies_in_its_interval(wrong):
    """Under a wrong prior every method but smooth has low <= share <= high, for single and simultaneous intervals."""
    _, surveys = wrong
    for method in set(METHODS) - {"smooth"}:  # that method needs ordered numbers sent by the wave mechanism
        found = estimate(lip(), surveys[0], method=method)
        assert (found.low <= found.share).all()
        assert (found.share <= found.high).all()
        assert (found.simultaneous_low <= found.share).all()
        assert (found.share <= found.simultaneous_high).all()


def test_the_change_from_the_prior_is_reported(wrong):
    """The JSON has the prior, the test and the distance; the CSV has the prior, and the caption has the result of the
    test.

    A right prior passes the test. The caption of a campaign without a prior is empty.
    """
    _, surveys = wrong
    document = json.loads(json.dumps(estimate(lip(), surveys[0]).as_json(), allow_nan=False))
    assert [row["prior"] for row in document["values"]] == pytest.approx(PRIOR.tolist())
    shares = np.array([row["estimate"] for row in document["values"]])
    assert document["added_to_prior"] == pytest.approx(total_variation(shares, PRIOR))
    assert document["prior_test"]["rejected"]
    found = estimate(lip(), surveys[0])
    assert next(estimate_csv(found)).endswith(",prior\n")
    assert "the reports contradict" in prior_comparison(found)
    right = simulated_people.tally(lip().channel, np.rint(REPORTS * PRIOR).astype(int), np.random.default_rng(4))
    assert "do not contradict" in prior_comparison(estimate(lip(), right))
    assert (
        prior_comparison(
            estimate(
                simulated_people.campaign(simulated_people.values(3), Ldp(NAT), "auto"),
                Tally.of(np.array([50, 60, 70])),
            )
        )
        == ""
    )


@pytest.mark.parametrize("nats", [0.05, 0.3])
def test_mutual_information_is_estimated_from_its_prior(nats):
    """With truth and signed prior 60/25/10/5, 20,000 reports and .05 or .3 nats, estimates are near the truth.

    The default is mmse. The total variation distances are below .01 for mmse, .05 for map and .1 for em.
    """
    weights = (60, 25, 10, 5)
    truth = np.array(weights) / 100
    asked = simulated_people.campaign(
        simulated_people.values(4), MutualInformation(round(nats * NAT), weights), "mutual-information"
    )
    counted = simulated_people.tally(asked.channel, (200 * np.array(weights)), np.random.default_rng(3))
    assert estimate(asked, counted).method == "mmse"
    for method, most in ((None, 0.01), ("mmse", 0.01), ("map", 0.05), ("em", 0.1)):
        assert total_variation(estimate(asked, counted, method=method).share, truth) < most
