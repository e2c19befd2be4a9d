"""Properties of estimates and intervals over 4,000 and more simulated surveys for each mechanism.

Surveys are drawn from the exact distribution of the counts. "Drawn people": every survey has new people from the shares
p, so counts are multinomial under p Q; the standard error is computed in this model, and the intervals are tight.
"Fixed people": every survey has the same people, so counts vary less, and intervals can only be wider than needed.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from scipy.stats import binom

from aggregator.estimate.interval import clopper_pearson, critical_value, intervals, standard_errors
from aggregator.families.bits import recipe as unary
from aggregator.families.blocks.recipe import high_low, in_blocks
from aggregator.families.decoder import BinomialSteps
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.noise import recipe as noise
from aggregator.families.projective.recipe import projective
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import randomized_response
from aggregator.families.sets.recipe import subset_selection, triples
from aggregator.families.windows import recipe as windows
from protocol.channels import Table
from protocol.domain import Grid
from protocol.exact import NANONATS
from protocol.personal import lip_response

SURVEYS = 4000
MANY = 20_000
REPORTS = 4000
ALPHA = 0.05

E1 = NANONATS
TABLE = Table(
    tuple(
        tuple(int(cell) * (2**62 // 20) + (2**62 % 20 if y == x else 0) for y, cell in enumerate(row))
        for x, row in enumerate([[8, 4, 3, 3, 2], [3, 8, 2, 4, 3], [2, 3, 9, 2, 4]])
    )
)


@dataclass(frozen=True, eq=False)
class Case:
    """A channel, its decoder, and the (k, w) distribution of its reports, with the (w, m) features of each report.

    Surveys that several tests use are drawn once, of drawn and of fixed people, 4,000 people each.
    """

    channel: object
    decoder: object
    distribution: np.ndarray
    features: np.ndarray

    @cached_property
    def drawn(self):
        """Return counts of drawn people, (20,000, m)."""
        return drawn_people(self, people_of(self), MANY)

    @cached_property
    def fixed(self):
        """Return counts of fixed people, (4,000, m)."""
        return fixed_people(self, people_of(self), SURVEYS)

    @cached_property
    def left_inverse(self):
        """Return L, (m, k), and the intercepts, (k,), from the query for each value."""
        units = np.eye(self.channel.input_count)
        L = np.array([self.decoder.adjoint(unit) for unit in units]).T
        return L, np.array([self.decoder.intercept(unit) for unit in units])

    @cached_property
    def reached(self):
        """Return the steps without reports, and (m, s, k) the effect of one report with each feature on the counts
        of its steps.

        These counts are linear in the counts of the features, so one report with each feature determines them all.
        """
        ones = np.eye(len(self.left_inverse[0]), dtype=np.int64)
        ground = self.decoder.binomial_steps(np.zeros(len(ones), dtype=np.int64), 1)
        return ground, np.array([self.decoder.binomial_steps(one, 1).counts for one in ones]) - ground.counts


def case(channel):
    """Return the case of a channel, with its distribution from the weights alone, over outputs or all words of a unary
    channel."""
    words = (
        [y for y in range(channel.output_count) if channel.emits(y)] if channel.unary else range(channel.output_count)
    )
    one = 1 << channel.scale
    distribution = np.array([[channel.weight(x, y) / one for y in words] for x in range(channel.input_count)])
    k = channel.input_count
    features = np.array([[y >> (k - 1 - x) & 1 for x in range(k)] for y in words]) if channel.unary else None
    return Case(channel, decoder_of(channel), distribution, features)


def channels_under_test():
    """Return a builder of the case for each name. A new family is added here by one line; unary channels need a
    small 2^k."""
    return {
        "randomised response k=2": lambda: case(randomized_response(2, E1)),
        "randomised response k=6": lambda: case(randomized_response(6, E1)),
        "randomised response k=16": lambda: case(randomized_response(16, E1)),
        "hadamard k=6": lambda: case(hadamard(6, E1)),
        "hadamard k=100": lambda: case(hadamard(100, E1)),
        "hadamard k=16 eps=4": lambda: case(hadamard(16, 4 * E1)),
        "blocks": lambda: case(in_blocks([0] * 5 + [1] * 3 + [2] + [3] * 4, E1, hadamard)),
        "high-low": lambda: case(high_low(10, [0, 3, 4], E1, hadamard)),
        "lip": lambda: case(lip_response((40, 30, 15, 10, 5), E1)),
        "table": lambda: case(TABLE),
        "oue k=8": lambda: case(unary.oue(8, E1)),
        "rappor k=5": lambda: case(unary.rappor(5, E1)),
        "utility-optimised oue": lambda: case(unary.utility_oue(6, [0, 2], E1)),
        "subset selection k=9": lambda: case(subset_selection(9, E1)),
        "discrete laplace k=6": lambda: case(noise.discrete_laplace(6, E1)),
        "projective k=20": lambda: case(projective(20, E1)),
        "triples k=9": lambda: case(triples(9, E1)),
        "planar laplace 3 x 3": lambda: case(noise.planar(noise.geo_over(Grid(0, 3, 0, 3, 1), E1))),
        "windows k=12": lambda: case(windows.windows((2,) * 6 + (3,) * 4 + (8, 12), E1)),
    }


@pytest.fixture(params=channels_under_test().values(), ids=channels_under_test().keys(), scope="module")
def given(request):
    return request.param()


def people_of(given, n=REPORTS):
    """Return a skewed population of n people: shares fall as 1 / rank, and no person has the last value."""
    weights = 1 / np.arange(1, given.channel.input_count + 1)
    weights[-1] = 0
    people = np.floor(n * weights / weights.sum()).astype(np.int64)
    people[0] += n - people.sum()
    return people


def drawn_people(given, people, surveys):
    """Return counts, (surveys, m); every survey has new people."""
    distribution = people / people.sum() @ given.distribution
    rng = np.random.default_rng(11)
    return counted(given, rng.multinomial(people.sum(), distribution / distribution.sum(), surveys))


def fixed_people(given, people, surveys):
    """Return counts, (surveys, m); every survey has the same people."""
    rng = np.random.default_rng(12)
    rows = zip(people, given.distribution, strict=True)
    return counted(given, sum(rng.multinomial(count, row / row.sum(), surveys) for count, row in rows))


def counted(given, reports):
    """Return counts of features, (surveys, m), from the counts of outputs or words."""
    return reports if given.features is None else reports @ given.features


def estimates(given, counts, n=REPORTS):
    """Return raw estimates, (surveys, k)."""
    L, bases = given.left_inverse
    return counts / n @ L + bases


def dense_errors(given, counts, n):
    """Return standard errors, (surveys, k): the dense reference of ``standard_errors``."""
    L, _ = given.left_inverse
    if given.features is None:
        variances = counts / n @ L**2 - estimates(given, counts, n) ** 2
    else:  # the features are bits, and L is diagonal
        variances = counts / n * (1 - counts / n) * np.diag(L) ** 2
    return np.sqrt(np.maximum(variances, 0) / n)


def all_intervals(given, counts, alpha, n=REPORTS):
    """Return lower and upper ends, each (surveys, k), computed from the steps of all surveys at once."""
    ground, reaches = given.reached
    steps = np.einsum("bm,msk->sbk", counts.astype(float), reaches.astype(float), optimize=True)
    steps = np.rint(steps).astype(np.int64) + n * ground.counts[:, None]
    surveys = len(counts)
    joined = BinomialSteps(
        np.tile(ground.base, surveys), np.tile(ground.heights, surveys), steps.reshape(len(steps), -1), n
    )
    raw, se = estimates(given, counts, n), dense_errors(given, counts, n)
    low, high = intervals(joined, raw.ravel(), se.ravel(), alpha)
    return low.reshape(raw.shape), high.reshape(raw.shape)


def test_simulated_counts_follow_the_channels_weights(given):
    """The rows of the surveys' distribution sum to one, and its mean is the decoder's forward pass."""
    np.testing.assert_allclose(given.distribution.sum(axis=1), 1, atol=1e-12)
    mean = given.distribution if given.features is None else given.distribution @ given.features
    np.testing.assert_allclose(
        [given.decoder.forward(unit) for unit in np.eye(given.channel.input_count)], mean, atol=1e-9
    )


def test_steps_of_surveys_equal_the_steps_of_each_survey(given):
    """The steps and standard errors of each survey equal those of ``binomial_steps`` and ``standard_errors``."""
    counts = given.drawn[:3]
    low, high = all_intervals(given, counts, ALPHA)
    for b, survey in enumerate(counts):
        raw = given.decoder.invert(survey / REPORTS)
        se = standard_errors(given.decoder, survey / REPORTS, REPORTS)
        np.testing.assert_allclose(estimates(given, counts)[b], raw, atol=1e-9)
        own = intervals(given.decoder.binomial_steps(survey, REPORTS), raw, se, ALPHA)
        np.testing.assert_allclose((low[b], high[b]), own, atol=1e-7)


def test_the_expected_estimate_is_the_truth(given):
    """The decoder maps the distribution of an input's reports to that input: the estimate has no bias for any
    population."""
    L, bases = given.left_inverse
    mean = given.distribution if given.features is None else given.distribution @ given.features
    np.testing.assert_allclose(mean @ L + bases, np.eye(given.channel.input_count), atol=1e-9)


@pytest.mark.parametrize("model", ["drawn", "fixed"])
def test_raw_estimates_are_unbiased(given, model):
    """The mean of 4,000 raw estimates is within 5 standard errors of the truth, for every value.

    n = 4,000 reports a survey. There are 522 comparisons over all mechanisms and both models. With a limit of 4
    standard errors (alpha 6e-5 each) one seed in 30 would fail by chance; with 5, one in 3,300 does. A failure means
    that counts do not follow the weights, because test_the_expected_estimate_is_the_truth shows exactly that the
    decoder is a left inverse.
    """
    people = people_of(given)
    raw = estimates(given, getattr(given, model)[:SURVEYS])
    error = raw.mean(axis=0) - people / REPORTS
    assert (np.abs(error) <= 5 * raw.std(axis=0) / np.sqrt(SURVEYS) + 1e-12).all()


def test_the_mean_squared_error_is_the_closed_form(given):
    """n times the total squared error of 20,000 surveys is within 5% of the closed form of ``expected_mse``.

    n = 4,000. The relative standard error is at most sqrt(2 / 20,000) = 1% (one degree of freedom, k = 2; alpha =
    6e-7). A failure means a wrong formula.
    """
    people = people_of(given)
    raw = estimates(given, given.drawn)
    mse = REPORTS * ((raw - people / REPORTS) ** 2).sum(axis=1).mean()
    assert mse == pytest.approx(given.decoder.variances(given.decoder.forward(people / REPORTS)).sum(), rel=0.05)


def test_standard_errors_are_the_spread_of_the_estimates(given):
    """The mean standard error of a value is within 5% of the standard deviation of 20,000 estimates.

    n = 4,000. The standard deviation is precise to 0.5%, so the limit is ten of its errors. A failure means a wrong
    second moment.
    """
    counts = given.drawn
    raw = estimates(given, counts)
    se = np.array([standard_errors(given.decoder, survey / REPORTS, REPORTS) for survey in counts[:200]]).mean(axis=0)
    np.testing.assert_allclose(se[raw.std(axis=0) > 0], raw.std(axis=0)[raw.std(axis=0) > 0], rtol=0.05)


def test_intervals_of_one_value_have_nominal_coverage(given):
    """Over 4,000 surveys, each with new people, the mean coverage of 95% intervals is 94 to 96.5%, and that of each
    value at least 93.5%.

    n = 4,000; the mean is over 4,000 surveys and all values whose estimate varies. (The interval of an open value
    without people and without reports of other values always contains 0; the mean omits it.) The standard error of the
    mean is below 0.35% (k = 2, where the intervals of both values contain their shares or neither does), mostly below
    0.2%. Exact intervals are conservative by half a count: 0.3% at the 200 reports that the rarest outputs have here. A
    failure means wrong quantiles or a wrong variance.
    """
    people = people_of(given)
    counts = given.drawn[:SURVEYS]
    low, high = all_intervals(given, counts, ALPHA)
    truth = people / REPORTS
    covered = ((low <= truth) & (truth <= high)).mean(axis=0)
    varies = estimates(given, counts).std(axis=0) > 0
    assert (covered >= 0.935).all()
    assert 0.94 <= covered[varies].mean() <= 0.965


def test_intervals_of_fixed_people_have_nominal_coverage(given):
    """The coverage of 95% intervals is at least 94% if every survey has the same people.

    n = 4,000, 4,000 surveys. There is no upper limit, because counts of fixed people vary less than the intervals allow
    for (Hoeffding 1956). The difference is larger for values reported with less noise: the coverage of the high-low
    channel's intervals is 98%. A failure means that intervals are too narrow.
    """
    people = people_of(given)
    low, high = all_intervals(given, given.fixed, ALPHA)
    truth = people / REPORTS
    assert ((low <= truth) & (truth <= high)).mean() >= 0.94


def test_simultaneous_intervals_have_nominal_coverage(given):
    """In at least 95% of 4,000 surveys, less 3 standard errors, all intervals at alpha / k contain their truths.

    n = 4,000, one-sided alpha = 0.1% if the true coverage were exactly 95%; Bonferroni's is higher. A failure means
    that alpha was not divided by k, or that normal tails are used too far from the centre.
    """
    people = people_of(given)
    low, high = all_intervals(given, given.drawn[:SURVEYS], ALPHA / given.channel.input_count)
    truth = people / REPORTS
    together = ((low <= truth) & (truth <= high)).all(axis=1).mean()
    assert together >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / SURVEYS)


@pytest.mark.parametrize("n", [30, 400, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_intervals_of_few_reports_have_nominal_coverage(given, n, alpha):
    """With 30 to 400 reports the interval of each value misses the truth with a probability of at most 1.4 alpha.

    4,000 surveys of drawn people; for each value the fraction of misses is at most 1.4 alpha + 3.5 standard errors.
    With correct intervals the test fails with a probability of 0.02% for each of about 1,000 values, so the seed is
    fixed. A failure means that the normal interval is used for too few reports.
    """
    surveys = 4000
    people = people_of(given, n)
    low, high = all_intervals(given, drawn_people(given, people, surveys), alpha, n)
    missed = ((low > people / n) | (high < people / n)).mean(axis=0)
    # By the Edgeworth expansion, each of the two tails may have up to 4/3 of its mass before exact intervals take over.
    slack = 0.4 * alpha
    assert (missed <= alpha + slack + 3.5 * np.sqrt(alpha / surveys)).all()


def test_clopper_pearson_is_the_inversion_of_the_binomial():
    """At the ends of the interval the tail probability of the count is alpha / 2; the interval of 0 of n begins at 0,
    and that of n of n ends at 1."""
    count = np.array([0, 1, 7, 50, 99, 100, 7])
    low, high = clopper_pearson(count, 100, 0.01)
    assert low[0] == 0
    assert high[5] == 1
    np.testing.assert_allclose(binom.sf(count[1:] - 1, 100, low[1:]), 0.005)
    np.testing.assert_allclose(binom.cdf(count[[0, 1, 2, 3, 4]], 100, high[:5]), 0.005)
    assert low[2] == low[6]


def test_clopper_pearson_matches_a_published_table():
    """The 95% interval of 10 of 20 is 0.2720 to 0.7280 (Hald 1952; also NIST's handbook of statistical methods)."""
    low, high = clopper_pearson(np.array([10]), 20, 0.05)
    assert (round(float(low[0]), 4), round(float(high[0]), 4)) == (0.272, 0.728)


def test_exact_intervals_of_a_value_without_people_have_nominal_coverage():
    """For a value without people the normal interval of randomised response misses in 61% of the surveys, the exact one
    in less than 5%.

    eps = 8, n = 2,000. The output comes from the cover alone, 0.5 times on average; in e^-0.5 = 61% of the surveys it
    does not occur, and the normal interval has no width (MATH 6.3). 20,000 surveys: the miss rates are precise to 0.4%.
    A failure means that a normal interval is used for a rare output.
    """
    channel = randomized_response(1000, 8 * NANONATS)
    cover, truth, n = channel.cover[0] / 2**64, channel.truth / 2**64, 2000
    counts = np.random.default_rng(5).binomial(n, cover, 20_000)
    raw = (counts / n - cover) / truth
    se = np.sqrt(counts / n * (1 - counts / n) / n) / truth
    z = critical_value(ALPHA)
    normal = (np.abs(raw) > z * se).mean()
    steps = BinomialSteps(np.full(20_000, -cover / truth), np.full((1, 20_000), 1 / truth), counts[np.newaxis], n)
    low, high = intervals(steps, raw, se, ALPHA)
    exact = ((low > 0) | (high < 0)).mean()
    assert normal == pytest.approx(0.61, abs=0.02)
    assert exact < 0.05
