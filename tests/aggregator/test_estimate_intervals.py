"""Laws of estimates and intervals over 4,000 and more simulated batches a mechanism.

Batches are drawn from the exact law of the counts. "Drawn people": every batch has new people from the shares p, so
counts are multinomial under p Q; this is the model of the standard error, and the intervals are tight in it. "Fixed
people": every batch has the same people; counts vary less, so intervals may only be wider than needed.
"""

import numpy as np
import pytest

from aggregator.design import mechanisms
from aggregator.estimate.decoders import Staircase, decoder_of
from aggregator.estimate.error import expected_mse
from aggregator.estimate.interval import clopper_pearson, intervals, quantile, standard_errors
from protocol.channels import Table
from protocol.exact import NANONATS

BATCHES = 4000
REPORTS = 4000
ALPHA = 0.05

E1 = NANONATS
TABLE = Table(
    tuple(
        tuple(int(cell) * (2**62 // 20) + (2**62 % 20 if y == x else 0) for y, cell in enumerate(row))
        for x, row in enumerate([[8, 4, 3, 3, 2], [3, 8, 2, 4, 3], [2, 3, 9, 2, 4]])
    )
)
MECHANISMS = {
    "randomised response k=2": mechanisms.randomized_response(2, E1),
    "randomised response k=6": mechanisms.randomized_response(6, E1),
    "randomised response k=16": mechanisms.randomized_response(16, E1),
    "hadamard k=6": mechanisms.hadamard(6, E1),
    "hadamard k=100": mechanisms.hadamard(100, E1),
    "hadamard k=16 eps=4": mechanisms.hadamard(16, 4 * E1),
    "blocks": mechanisms.block_hadamard([0] * 5 + [1] * 3 + [2] + [3] * 4, E1),
    "high-low": mechanisms.high_low_hadamard(10, [0, 3, 4], E1),
    "lip": mechanisms.lip_response((40, 30, 15, 10, 5), E1),
    "table": TABLE,
}


@pytest.fixture(params=MECHANISMS.values(), ids=MECHANISMS.keys(), scope="module")
def channel(request):
    return request.param


def law_of(channel):
    """Q, (k, m), from the weights alone."""
    one = 1 << channel.scale
    return np.array([[channel.weight(x, y) / one for y in range(channel.outputs)] for x in range(channel.inputs)])


def people_of(channel, n=REPORTS):
    """A skewed population of n people: shares fall as 1 / rank, the last value is nobody's."""
    weights = 1 / np.arange(1, channel.inputs + 1)
    weights[-1] = 0
    people = np.floor(n * weights / weights.sum()).astype(np.int64)
    people[0] += n - people.sum()
    return people


def drawn_people(channel, people, batches, seed=11):
    """(batches, m) counts; every batch has new people."""
    law = people / people.sum() @ law_of(channel)
    return np.random.default_rng(seed).multinomial(people.sum(), law / law.sum(), batches)


def fixed_people(channel, people, batches, seed=12):
    """(batches, m) counts; every batch has the same people."""
    rng = np.random.default_rng(seed)
    rows = law_of(channel)
    return sum(rng.multinomial(count, row / row.sum(), batches) for count, row in zip(people, rows, strict=True))


def estimates(channel, counts):
    """(batches, k) raw estimates."""
    decoder = decoder_of(channel)
    L = np.array([decoder.adjoint(unit) for unit in np.eye(channel.inputs)]).T
    return counts / counts.sum(axis=1, keepdims=True) @ L


def all_intervals(channel, counts, alpha):
    """(batches, k) lower and upper ends, all batches as one long staircase."""
    decoder = decoder_of(channel)
    stairs = [decoder.staircase(batch) for batch in counts]
    joined = Staircase(
        np.concatenate([one.base for one in stairs]),
        np.concatenate([one.heights for one in stairs], axis=1),
        np.concatenate([one.counts for one in stairs], axis=1),
        stairs[0].reports,
    )
    raw = estimates(channel, counts)
    n = stairs[0].reports
    se = np.array([standard_errors(decoder, batch / n, one, n) for batch, one in zip(counts, raw, strict=True)])
    low, high = intervals(joined, raw.ravel(), se.ravel(), alpha)
    return low.reshape(raw.shape), high.reshape(raw.shape)


def test_simulated_counts_follow_the_channels_weights(channel):
    """The law that batches are drawn from has rows that sum to one and is what the decoder carries forward."""
    Q, decoder = law_of(channel), decoder_of(channel)
    np.testing.assert_allclose(Q.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose([decoder.forward(unit) for unit in np.eye(channel.inputs)], Q, atol=1e-12)


@pytest.mark.parametrize("draw", [drawn_people, fixed_people])
def test_raw_estimates_are_unbiased(channel, draw):
    """The mean of 4,000 raw estimates lies within 4 standard errors of the truth, for every value.

    n = 4,000 reports a batch. About 160 comparisons a model: alpha = 6e-5 each, 1% in all; a failure means a
    decoder that is not a left inverse.
    """
    people = people_of(channel)
    raw = estimates(channel, draw(channel, people, BATCHES))
    error = raw.mean(axis=0) - people / REPORTS
    assert (np.abs(error) <= 4 * raw.std(axis=0) / np.sqrt(BATCHES) + 1e-12).all()


def test_the_mean_squared_error_is_the_closed_form(channel):
    """n times the total squared error of 20,000 batches is within 5% of ``expected_mse``.

    n = 4,000. The relative standard error is at most sqrt(2 / 20,000) = 1% (one degree of freedom, k = 2), so a failure
    is a wrong formula (alpha = 6e-7).
    """
    people = people_of(channel)
    raw = estimates(channel, drawn_people(channel, people, 20_000))
    mse = REPORTS * ((raw - people / REPORTS) ** 2).sum(axis=1).mean()
    assert mse == pytest.approx(expected_mse(channel, people / REPORTS), rel=0.05)


def test_standard_errors_are_the_spread_of_the_estimates(channel):
    """The mean standard error of a value is within 5% of the standard deviation of 20,000 estimates.

    n = 4,000. The standard deviation is known to 0.5%, so alpha is nil; a failure is a wrong second moment.
    """
    people = people_of(channel)
    counts = drawn_people(channel, people, 20_000)
    raw = estimates(channel, counts)
    decoder = decoder_of(channel)
    se = np.array([standard_errors(decoder, counts[b] / REPORTS, raw[b], REPORTS) for b in range(200)]).mean(axis=0)
    np.testing.assert_allclose(se[raw.std(axis=0) > 0], raw.std(axis=0)[raw.std(axis=0) > 0], rtol=0.05)


def test_intervals_of_one_value_cover_the_truth(channel):
    """95% intervals cover 94 to 96.5% of the truths, people drawn anew for each of 4,000 batches.

    n = 4,000; the mean is over 4,000 batches and all values whose estimate varies (an open value that nobody has and
    nobody can be mistaken for is always covered, and left out). Its standard error is below 0.35% (k = 2, where both
    values are covered together), mostly below 0.2%. Exact intervals are conservative by half a count: 0.3% at the 200
    reports that the rarest outputs have here. A failure means wrong quantiles or a wrong variance.
    """
    people = people_of(channel)
    counts = drawn_people(channel, people, BATCHES)
    low, high = all_intervals(channel, counts, ALPHA)
    truth = people / REPORTS
    covered = ((low <= truth) & (truth <= high)).mean(axis=0)
    varies = estimates(channel, counts).std(axis=0) > 0
    assert (covered >= 0.935).all()
    assert 0.94 <= covered[varies].mean() <= 0.965


def test_intervals_hold_for_fixed_people(channel):
    """95% intervals cover at least 94% of the truths when every batch has the same people.

    n = 4,000, 4,000 batches. There is no upper limit: counts of fixed people vary less than the intervals allow for
    (Hoeffding 1956), the less the more openly a value is told; the high-low channel's intervals cover 98%.
    """
    people = people_of(channel)
    low, high = all_intervals(channel, fixed_people(channel, people, BATCHES), ALPHA)
    truth = people / REPORTS
    assert ((low <= truth) & (truth <= high)).mean() >= 0.94


def test_simultaneous_intervals_hold_together(channel):
    """Intervals at alpha / k all cover their truths in at least 95% of 4,000 batches, less 3 standard errors.

    n = 4,000, one-sided alpha = 0.1% if the true coverage were 95% exactly; Bonferroni leaves it above. A failure means
    the division by k was lost, or normal tails were trusted too far out.
    """
    people = people_of(channel)
    low, high = all_intervals(channel, drawn_people(channel, people, BATCHES), ALPHA / channel.inputs)
    truth = people / REPORTS
    together = ((low <= truth) & (truth <= high)).all(axis=1).mean()
    assert together >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / BATCHES)


@pytest.mark.parametrize("n", [30, 100, 400])
@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_few_reports_never_make_intervals_dishonest(channel, n, alpha):
    """With 30 to 400 reports each value's interval still covers its truth with probability 1 - alpha.

    4,000 batches of drawn people; for each value at most alpha + 3.5 standard errors miss (alpha 0.02% a value, some
    1,000 values: the seed is fixed). A failure means the normal interval took over before it was normal.
    """
    batches = 4000
    people = people_of(channel, n)
    low, high = all_intervals(channel, drawn_people(channel, people, batches), alpha)
    missed = ((low > people / n) | (high < people / n)).mean(axis=0)
    slack = 0.4 * alpha  # Edgeworth: up to 4/3 of a tail, in two tails, before exact intervals take over
    assert (missed <= alpha + slack + 3.5 * np.sqrt(alpha / batches)).all()


def test_clopper_pearson_is_the_inversion_of_the_binomial():
    """At its ends the tail probability of the count is alpha / 2; 0 and n of n reach the ends of the scale."""
    from scipy.stats import binom

    count = np.array([0, 1, 7, 50, 99, 100, 7])
    low, high = clopper_pearson(count, 100, 0.01)
    assert low[0] == 0
    assert high[5] == 1
    np.testing.assert_allclose(binom.sf(count[1:] - 1, 100, low[1:]), 0.005)
    np.testing.assert_allclose(binom.cdf(count[[0, 1, 2, 3, 4]], 100, high[:5]), 0.005)
    assert low[2] == low[6]


def test_clopper_pearson_matches_a_published_table():
    """10 of 20: 0.2720 to 0.7280 at 95%   (Hald 1952; also NIST's handbook of statistical methods)."""
    low, high = clopper_pearson(np.array([10]), 20, 0.05)
    assert (round(float(low[0]), 4), round(float(high[0]), 4)) == (0.272, 0.728)


def test_exact_intervals_hold_where_normal_ones_fail():
    """Randomised response at eps = 8, n = 2,000, a value nobody has: 61% of the normal intervals miss.

    The output comes from the cover alone, 0.5 times in the mean; with no report at all, e^-0.5 = 61% of the batches,
    the normal interval has no width (MATH 6.3: 61% misses). 20,000 batches: the miss rates are known to 0.4%.
    """
    channel = mechanisms.randomized_response(1000, 8 * NANONATS)
    cover, truth, n = channel.cover[0] / 2**64, channel.truth / 2**64, 2000
    counts = np.random.default_rng(5).binomial(n, cover, 20_000)
    raw = (counts / n - cover) / truth
    se = np.sqrt(counts / n * (1 - counts / n) / n) / truth
    z = quantile(ALPHA)
    normal = (np.abs(raw) > z * se).mean()
    stairs = Staircase(np.full(20_000, -cover / truth), np.full((1, 20_000), 1 / truth), counts[np.newaxis], n)
    low, high = intervals(stairs, raw, se, ALPHA)
    exact = ((low > 0) | (high < 0)).mean()
    assert normal == pytest.approx(0.61, abs=0.02)
    assert exact < 0.05
