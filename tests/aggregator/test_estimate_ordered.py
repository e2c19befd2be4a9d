"""Properties of estimates of numbers: the default distribution, the mean with its error, and the labels of rounded
numbers."""

import csv
import io
import math

import numpy as np
import pytest
from rich.console import Console

from aggregator.estimate import query
from aggregator.estimate.bayes import empirical_bayes
from aggregator.estimate.distribution import project
from aggregator.estimate.estimator import estimate
from aggregator.estimate.linear import unbiased_estimate
from aggregator.estimate.result import ROUNDED
from aggregator.estimate.tally import Tally
from aggregator.families.bits import recipe as unary
from aggregator.families.mechanism import PlannedQuestion
from aggregator.families.projective.recipe import projective
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import randomized_response
from aggregator.planner.choice import candidates
from aggregator.planner.plan import plan
from aggregator.present.document import estimate_csv
from aggregator.present.plan_tables import plan_table
from aggregator.present.table import estimate_table
from protocol.channels.bits.channel import S
from protocol.domain import Buckets, Values
from protocol.exact import NANONATS
from protocol.notions import Ldp
from tests.aggregator.campaigns import unsigned_campaign
from tests.aggregator.test_estimate_smoothed import shapes


def ordered_shapes(k):
    """Return four distributions of numbers: smooth, bimodal, with a spike, and exponential."""
    exponential = np.exp(-6 * (np.arange(k) + 0.5) / k)
    return [*(shapes(k)[name] for name in ("smooth", "bimodal", "spike")), exponential / exponential.sum()]


def wasserstein(p, q):
    """Return the Wasserstein distance as a fraction of the range."""
    return np.abs(np.cumsum(p) - np.cumsum(q))[:-1].sum() / (len(p) - 1)


def tally_of(decoder, p, n, generator):
    distribution = np.maximum(decoder.forward(p), 0)
    return Tally.of(generator.multinomial(n, distribution / distribution.sum()))


def test_the_default_of_numbers_has_the_smaller_distance_on_ordered_shapes():
    """The geometric mean of the projection's Wasserstein distance is at most .85 of that of empirical Bayes, over four
    ordered shapes.

    On no shape is the projection's distance more than a fifth larger. 32 edges, 5,000 reports at 1 nat, 15 surveys
    each, seed fixed. So the projection is the default for numbers; for labels, which have no order, empirical Bayes is.
    """
    generator, ratios, k = np.random.default_rng(5), [], 32
    channel = projective(k, NANONATS)
    decoder = decoder_of(channel)
    for p in ordered_shapes(k):
        tallies = [tally_of(decoder, p, 5000, generator) for _ in range(15)]
        found = [unbiased_estimate(decoder, tally) for tally in tallies]
        ours = np.mean([wasserstein(project(one.raw), p) for one in found])
        ratios.append(ours / np.mean([wasserstein(empirical_bayes(one.raw, one.se), p) for one in found]))
    assert np.exp(np.mean(np.log(ratios))) < 0.85
    assert max(ratios) < 1.2
    one = estimate(unsigned_campaign(Buckets.of(range(k)), channel), tallies[0])
    assert one.method == "projection"
    np.testing.assert_allclose(one.share, project(one.raw))
    assert (
        estimate(unsigned_campaign(Values(tuple(map(str, range(k)))), channel), tallies[0]).method == "empirical-bayes"
    )


OUE = unary.oue(8, NANONATS)
EDGES = Buckets.of([0, 1, 2, 4, 8, 16, 32, 64])


def test_the_plan_states_the_error_of_the_mean():
    """The planned standard error of the mean equals that of an estimate from n expected reports, for each mechanism.

    The plan's table shows it. A plan for labels has none.
    """
    question, n = PlannedQuestion(EDGES, Ldp(NANONATS)), 10**9
    checked = 0
    rows = {row.mechanism: row for row in plan(question, n)}
    for mechanism, one in candidates(question):
        if isinstance(one, str) or math.isnan(one.mean_variance):
            continue
        distribution = decoder_of(one.channel).forward(np.full(8, 1 / 8))
        answer = query.mean(unsigned_campaign(EDGES, one.channel), Tally(np.rint(n * distribution).astype(np.int64), n))
        assert rows[mechanism.name].mean_se == pytest.approx(answer.se, rel=1e-5), mechanism.name
        assert rows[mechanism.name].as_json()["mean_se"] == rows[mechanism.name].mean_se
        checked += 1
    assert checked >= 4
    console = Console(file=io.StringIO(), width=200)
    console.print(plan_table(list(rows.values()), question, n, width=200))
    assert "error of the mean" in console.file.getvalue()
    assert plan(PlannedQuestion(Values(tuple("abc")), Ldp(NANONATS)), n)[0].mean_se is None


def covered(surveys, seed):
    """Yield the coverage of the 95% interval of the mean, for each case of a channel and a distribution of numbers."""
    people, generator = 400, np.random.default_rng(seed)
    for channel in (randomized_response(8, NANONATS), projective(8, NANONATS), OUE):
        campaign, decoder = unsigned_campaign(EDGES, channel), decoder_of(channel)
        for p in (np.full(8, 1 / 8), np.array([0.6, 0.2, 0.1, 0.1, 0, 0, 0, 0]), np.array([0.9] + [0.0] * 6 + [0.1])):
            mean, hits = float(p @ np.array(EDGES.points, dtype=float)), 0
            for _ in range(surveys):
                if channel.unary:
                    held = generator.multinomial(people, p)
                    own, other = channel.own_weights[0] / S, channel.other_weights[0] / S
                    counts = generator.binomial(held, own) + generator.binomial(people - held, other)
                    tally = Tally(counts, people)
                else:
                    tally = tally_of(decoder, p, people, generator)
                answer = query.mean(campaign, tally)
                hits += answer.low <= mean <= answer.high
            yield hits / surveys


def test_intervals_of_means_have_nominal_coverage():
    """More than 91.2% of the 95% intervals contain the mean in 540 surveys of 400 people (alpha 10^-4 for a coverage of
    95%).

    There are 60 surveys of each of 9 cases. A failure means that the interval of a mean is too narrow.
    """
    assert np.mean(list(covered(60, 3))) > 0.912


@pytest.mark.long
def test_intervals_of_means_have_nominal_coverage_long():
    """Over 4,000 surveys of each of 9 cases, with 400 people at 1 nat, the coverage is 93.5 to 96%.

    One seed in 70 would fail at a coverage of exactly 95%; the seed is fixed. A failure means a wrong interval.
    """
    found = list(covered(4000, 4))
    assert min(found) > 0.935
    assert max(found) < 0.96


def test_shares_of_rounded_numbers_are_labelled_in_every_format():
    """Table, JSON and CSV state that numbers were rounded at random; those of labels do not."""
    counts = Tally.of(np.full(8, 100))
    channel = randomized_response(8, NANONATS)
    for domain, says in ((EDGES, True), (Values(tuple("abcdefgh")), False)):
        found = estimate(unsigned_campaign(domain, channel), counts)
        console = Console(file=io.StringIO(), width=400)
        console.print(estimate_table(found))
        table = " ".join(console.file.getvalue().split())
        assert (ROUNDED in table) is says
        assert ("rounded to" in table) is says
        assert found.as_json()["note"] == (ROUNDED if says else None)
        kinds = {row["value_kind"] for row in csv.DictReader(estimate_csv(found))}
        assert kinds == {"randomly rounded number" if says else "value"}
