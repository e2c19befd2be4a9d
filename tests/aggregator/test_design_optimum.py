"""Properties of designed channels: published optima, the search compared to them, and mechanisms for an average over
people."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize

from aggregator.estimate.error import expected_mse, lip_mse
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.mechanism import PlannedQuestion
from aggregator.families.noise.wasserstein import geo_for, infinite_wasserstein, largest_wasserstein
from aggregator.families.response.recipe import (
    published_lip_response,
    random_sampling,
    random_sampling_lip,
    randomized_response,
    symmetric_lip,
)
from aggregator.families.table.mutual_information import mutual_information_of, mutual_information_table
from aggregator.families.table.search import best_table, binary_optimum
from aggregator.planner.choice import chosen_channel
from protocol import exact
from protocol.channels import RandomizedResponse, Table
from protocol.domain import Values
from protocol.errors import NotionError, Uncertified
from protocol.levels import Pufferfish, Scenario
from protocol.notions import UNBOUNDED, Ldp, Lip, Matrix, certify
from protocol.notions.geo import Geo
from protocol.notions.leakage import MutualInformation

NAT = exact.NANONATS
SEED = 20260101
ONE = 2.0**62


def matrix_of(size, level):
    rows = tuple(tuple(0 if x == y else level(x, y) for y in range(size)) for x in range(size))
    return Matrix(max(map(max, rows)), rows)


def pair(e12, e21):
    return Matrix(max(e12, e21), ((0, e12), (e21, 0)))


# Two values


@pytest.mark.parametrize(("e12", "e21"), [(NAT, 2 * NAT), (3 * NAT, NAT // 10), (10**6, 20 * NAT), (1, 1), (NAT, NAT)])
def test_the_binary_optimum_equals_theorem_2(e12, e21):
    """The binary optimum is Q* as printed (Acharya et al. 2020, eq. 9), and certified at both levels.

    Both bounds are reached up to the precision of the integers.
    """
    table = binary_optimum(e12, e21)
    b, a = math.exp(e21 / NAT), math.exp(-e12 / NAT)
    printed = np.array([[b - 1, 1 - a], [a * (b - 1), b * (1 - a)]]) / (b - a)
    np.testing.assert_allclose(np.array(table.rows) / ONE, printed, rtol=1e-6)
    for first, second, level in ((0, 1, e12), (1, 0, e21)):
        loss = table.loss([first], [second])
        assert exact.satisfies(loss.numerator, loss.denominator, level)
        assert loss.level >= level - 200


def test_warner_and_mangat_are_special_cases():
    """Equal levels give Warner's randomised response; no bound for value 1 gives Mangat's with p = e^-e21."""
    for level in (NAT // 3, NAT, 5 * NAT):
        warner = randomized_response(2, level)
        for x in (0, 1):
            for y in (0, 1):
                assert abs(binary_optimum(level, level).weight(x, y) - warner.weight(x, y) / 4) <= 1
        mangat = np.array(binary_optimum(UNBOUNDED, level).rows) / ONE
        p = math.exp(-level / NAT)
        np.testing.assert_allclose(mangat, [[1 - p, p], [0, 1]], rtol=1e-12)
        certify(binary_optimum(UNBOUNDED, level), pair(UNBOUNDED, level))
        certify(binary_optimum(level, UNBOUNDED), pair(level, UNBOUNDED))
    assert binary_optimum(UNBOUNDED, UNBOUNDED).rows == ((1 << 62, 0), (0, 1 << 62))


@pytest.mark.parametrize(("e12", "e21"), [(0, 0), (0, NAT), (UNBOUNDED, 0), (-2, NAT), (NAT, 21 * NAT)])
def test_a_level_of_zero_is_refused(e12, e21):
    """A level of zero is refused because equal rows reveal nothing, as is an invalid level."""
    with pytest.raises(NotionError):
        binary_optimum(e12, e21)


@pytest.mark.parametrize("share", [1, 10, 30, 50, 90])
def test_the_symmetric_lip_channel_has_the_error_of_proposition_4(share):
    """The channel has exactly its level at three levels, under each prior; its error is eq. 22 at the q of Proposition
    4.

    Eq. 23 is not used: as printed it is negative.
    """
    for level in (NAT // 2, NAT, 2 * NAT):
        prior = (share, 100 - share)
        channel = symmetric_lip(prior, level)
        assert certify(channel, Lip(level, prior)).audited_level == level
        p, e = min(prior) / 100, math.exp(level / NAT)
        q = (1 - p) / (e - 2 * p + 1)
        other = q * (1 - p) + (1 - q) * p
        error = p * (1 - p) - p**2 * ((2 * q - 1) * (p - 1)) ** 2 / (other * (1 - other))
        assert lip_mse(channel, prior) / 2 == pytest.approx(error)
        with pytest.raises(Uncertified):
            certify(RandomizedResponse(2, (channel.cover[0] - 2**40,)), Lip(level, prior))


@pytest.mark.parametrize("prior", [(1, 1, 1), (5, 3, 2), (90, 9, 1), (1, 1000)])
def test_random_sampling_satisfies_its_level(prior):
    """Both forms have exactly their level, the LIP form answers truthfully at least as often, and its outputs are
    distributed as the prior."""
    for level in (NAT // 2, NAT, 4 * NAT):
        plain, lip = random_sampling(prior, level), random_sampling_lip(prior, level)
        assert certify(plain, Ldp(level)).audited_level == level
        assert certify(lip, Lip(level, prior)).audited_level == level
        assert plain.truth <= lip.truth  # LDP implies LIP
        marginal = [sum(p * lip.weight(x, y) for x, p in enumerate(prior)) for y in range(len(prior))]
        np.testing.assert_allclose([mass / 2**64 for mass in marginal], prior, rtol=1e-12)


def test_random_sampling_of_an_even_prior_is_randomised_response():
    """For a uniform prior, random sampling and randomised response are the same channel, up to one unit of rounding."""
    for size in (2, 3, 10):
        sampling, response = random_sampling([1] * size, NAT), randomized_response(size, NAT)
        assert abs(sampling.cover[0] - response.cover[0]) <= 1


def test_random_sampling_for_lip_is_the_published_channel_where_that_is_valid():
    """For a prior with every P >= 1 / (e^eps + 1), random sampling for LIP is the published channel."""
    prior = (5, 3, 2)
    ours, published = random_sampling_lip(prior, 2 * NAT), published_lip_response(prior, 2 * NAT)
    assert ours == published


# A few values


def subset_selection_mse(size, level):
    """Return the error of subset selection at the best subset size (MATH 4.1), the optimum under LDP."""
    e, best = math.exp(level / NAT), math.inf
    for d in range(1, size):
        inside = d * e / (d * e + size - d)
        outside = inside * (d - 1) / (size - 1) + (1 - inside) * d / (size - 1)
        share = outside + (inside - outside) / size
        best = min(best, size * share * (1 - share) / (inside - outside) ** 2)
    return best


@pytest.mark.parametrize(("size", "level"), [(3, NAT), (4, NAT // 2), (5, 3 * NAT), (6, NAT)])
def test_the_best_table_under_ldp_is_subset_selection(size, level):
    """With one level for all pairs the search finds the known optimum within a millionth."""
    table = best_table(matrix_of(size, lambda x, y: level))
    assert expected_mse(table) == pytest.approx(subset_selection_mse(size, level), rel=1e-6)


def test_the_best_table_for_two_values_is_the_binary_optimum():
    """For k = 2 the best table is that of Acharya et al. 2020, Theorem 2, with finite and with infinite levels."""
    for e12, e21 in ((NAT, 2 * NAT), (UNBOUNDED, NAT)):
        assert best_table(pair(e12, e21)) == binary_optimum(e12, e21)


DRAW = random.Random(SEED)
MATRICES = {
    "a line": matrix_of(5, lambda x, y: NAT * abs(x - y)),
    "high-low": matrix_of(5, lambda x, y: NAT if x < 2 else UNBOUNDED),
    "blocks": matrix_of(6, lambda x, y: NAT if x // 3 == y // 3 else UNBOUNDED),
    "one way": matrix_of(4, lambda x, y: NAT if x < y else UNBOUNDED),
    **{f"random {k}": matrix_of(k, lambda x, y: DRAW.randrange(NAT // 2, 4 * NAT)) for k in (3, 4, 6)},
    "far apart": matrix_of(3, lambda x, y: 20 * NAT if x + y == 1 else NAT // 100),
}


@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES)
def test_the_best_table_is_certified_and_better_than_ldp(matrix):
    """The table satisfies any matrix of levels, and no LDP channel at the smallest level has less error."""
    table = best_table(matrix)
    certify(table, matrix)
    size, least = len(matrix.levels), min(level for _, _, level in matrix.bounds())
    plain = min(expected_mse(recipe(size, least)) for recipe in (randomized_response, hadamard))
    assert expected_mse(table) <= min(plain, subset_selection_mse(size, least)) * (1 + 1e-6)


def test_the_best_table_has_at_most_the_error_of_a_random_search():
    """Under random levels the table has no more error than 12 starts of a search over all 3 x 5 tables that does not
    use rays."""
    matrix = MATRICES["random 3"]
    ours = expected_mse(best_table(matrix))
    bound = np.exp(np.array(matrix.levels) / NAT)
    generator = np.random.default_rng(SEED)

    def error(flat):
        rows = flat.reshape(3, 5)
        marginal = np.maximum(rows.mean(axis=0), 1e-12)
        seen = (rows / marginal) @ rows.T
        return np.trace(np.linalg.pinv(seen)) - 1 / 3 if np.linalg.cond(seen) < 1e9 else 1e6

    def kept(flat):
        rows = flat.reshape(3, 5)
        return np.concatenate([bound[x, z] * rows[z] - rows[x] for x in range(3) for z in range(3) if x != z])

    found = []
    for _ in range(12):
        result = optimize.minimize(
            error,
            generator.dirichlet(np.ones(5) * 20, 3).ravel(),
            method="SLSQP",
            bounds=[(0, 1)] * 15,
            constraints=[
                {"type": "ineq", "fun": kept},
                {"type": "eq", "fun": lambda flat: flat.reshape(3, 5).sum(axis=1) - 1},
            ],
            options={"maxiter": 300},
        )
        if kept(result.x).min() > -1e-9:
            found.append(result.fun)
    assert found
    assert ours <= min(found) * (1 + 1e-6)
    assert ours >= min(found) * (1 - 1e-3)  # both minimise the same error


def test_a_matrix_with_zero_levels_or_too_many_values_is_refused():
    with pytest.raises(NotionError, match="at most 12 values"):
        best_table(matrix_of(13, lambda x, y: NAT))
    with pytest.raises(NotionError, match="a level of zero"):
        best_table(matrix_of(3, lambda x, y: 0 if x + y == 1 else NAT))


# Mutual information


def blahut_arimoto(distribution, d, price):
    """Return the rate-distortion optimum at a price, by the classical iteration (Cover, Thomas 2006, sec. 10.8)."""
    r, worth = np.full(len(distribution), 1 / len(distribution)), np.exp(-price * d)
    for _ in range(3000):
        r = r * ((distribution / (worth @ r)) @ worth)
    return worth * r / (worth @ r)[:, np.newaxis]


PROBLEMS = [
    ((1, 1, 1), NAT // 5, None),
    ((5, 3, 2), 3 * NAT // 10, None),
    ((50, 30, 15, 4, 1), 3 * NAT // 10, None),
    ((90, 10), NAT // 10, None),
    ((1,) * 6, NAT // 2, [[abs(x - y) for y in range(6)] for x in range(6)]),
]


@pytest.mark.parametrize(("prior", "cap", "distortion"), PROBLEMS)
def test_the_mutual_information_table_has_the_distortion_of_blahut_arimoto(prior, cap, distortion):
    """At the cap the distortion is that of Blahut-Arimoto; the channel is certified, and refused for a slightly lower
    cap."""
    table = mutual_information_table(prior, cap, distortion)
    certificate = certify(table, MutualInformation(cap, prior))
    assert cap - 100 < certificate.audited_level <= cap
    assert certificate.ldp_level is not None
    with pytest.raises(Uncertified):
        certify(table, MutualInformation(cap - 100, prior))
    distribution = np.array(prior) / sum(prior)
    d = 1 - np.eye(len(distribution)) if distortion is None else np.array(distortion, dtype=float)
    price = optimize.brentq(
        lambda s: mutual_information_of(distribution, blahut_arimoto(distribution, d, s)) - cap / NAT,
        1e-3,
        30,
        xtol=1e-9,
    )
    rows = np.array(table.rows) / ONE
    assert (distribution @ (rows * d)).sum() == pytest.approx(
        (distribution @ (blahut_arimoto(distribution, d, price) * d)).sum(), rel=1e-5
    )


def test_the_bound_of_mutual_information_is_close_and_above():
    """For random tables, also with zeros, the audited level is above I(X;Y) by at most four nanonats."""
    draw = np.random.default_rng(SEED)
    for _ in range(50):
        k, m = (int(size) for size in draw.integers(2, 7, 2))
        cells = draw.integers(0, 9, (k, m))
        cells[:, 0] += 1
        table = Table.rounded([[Fraction(int(cell), int(row.sum())) for cell in row] for row in cells])
        prior = tuple(int(p) for p in draw.integers(1, 50, k))
        _, audited, witness = MutualInformation(NAT, prior).audit(table)
        distribution, rows = np.array(prior) / sum(prior), np.array(table.rows) / ONE
        true = mutual_information_of(distribution, rows) * NAT
        assert true - 1e-3 <= audited <= true + 4
        lift = rows[witness.x, witness.y] / (distribution @ rows)[witness.y]
        assert witness.numerator / witness.denominator == pytest.approx(lift)


def test_mutual_information_decodes_to_itself_and_refuses_invalid_priors():
    """The notion is equal after encoding and decoding; an invalid prior and a channel with too many cells are
    refused."""
    notion = MutualInformation(NAT, (1, 2, 3))
    assert MutualInformation.from_wire(notion.encode()) == notion
    for prior in ((1,), (1, 0), (2**53, 1)):
        with pytest.raises(NotionError):
            MutualInformation(NAT, prior)
    with pytest.raises(Uncertified, match="steps"):
        certify(RandomizedResponse(300, (2**50,)), MutualInformation(NAT, (1,) * 300))


def test_a_cap_above_the_entropy_is_refused():
    """A cap above the entropy would allow reports of the answer itself, and is refused; so is a cap that rounding may
    use up.

    A distortion that is not k x k is a ValueError.
    """
    with pytest.raises(NotionError, match=r"must be above 2e-08 nats, not 0\.000000015 nats"):
        mutual_information_table((1, 1), 15)
    for cap in (NAT, 10 * NAT):
        with pytest.raises(NotionError, match="already"):
            mutual_information_table((1, 1), cap)
    with pytest.raises(ValueError, match="2 x 2"):
        mutual_information_table((1, 1), NAT // 10, [[0, 1]])


# Pufferfish


def test_the_distance_of_two_distributions_is_that_of_their_quantiles():
    """The Wasserstein distance of two random distributions equals that of the sorted populations, compared person by
    person."""
    draw = random.Random(SEED)
    for _ in range(300):
        size = draw.randint(2, 6)
        first, second = ([draw.randrange(4) for _ in range(size)] for _ in range(2))
        if sum(first) and sum(second):
            people = [
                [x for x, weight in enumerate(distribution) for _ in range(weight * sum(other))]
                for distribution, other in ((first, second), (second, first))
            ]
            assert infinite_wasserstein(first, second) == max(abs(x - y) for x, y in zip(*people, strict=True))


def scenarios():
    """Two secrets, and a third that has probability 0 in winter; answers are on a line of seven points."""
    summer = ((5, 3, 1, 0, 0, 0, 0), (0, 5, 3, 1, 0, 0, 0), (0, 0, 1, 1, 1, 0, 0))
    winter = ((1, 1, 1, 1, 1, 0, 0), (0, 1, 1, 1, 1, 1, 0), (0, 0, 0, 0, 0, 0, 0))
    return Pufferfish(
        ("a", "b", "c"), ((0, 1), (1, 2), (0, 2)), (Scenario("summer", summer), Scenario("winter", winter))
    )


def noise_for(asked, level):
    """Return the channel that an author gets for Pufferfish scenarios: noise on a line under the geo notion that
    implies them."""
    labels = tuple(f"v{x}" for x in range(len(asked.scenarios[0].joint[0])))
    return chosen_channel("geometric", PlannedQuestion(Values(labels), geo_for(asked, level)))[1]


def test_the_wasserstein_mechanism_keeps_pufferfish_exactly():
    """For all scenarios, pairs of secrets and outputs, the exact ratio of the marginals is within the level."""
    asked = scenarios()
    assert largest_wasserstein(asked) == 3
    for level in (NAT // 2, NAT, 3 * NAT):
        channel = noise_for(asked, level)
        certify(channel, Geo.between(level, largest_wasserstein(asked), [0], range(7)))
        for scenario in asked.scenarios:
            for couple in asked.pairs:
                for secret, other in (couple, couple[::-1]):
                    first, second = scenario.joint[secret], scenario.joint[other]
                    if sum(first) and sum(second):
                        for y in range(7):
                            numerator = sum(p * channel.weight(x, y) for x, p in enumerate(first)) * sum(second)
                            denominator = sum(p * channel.weight(x, y) for x, p in enumerate(second)) * sum(first)
                            assert exact.satisfies(numerator, denominator, level)


def test_two_certain_answers_use_the_whole_level():
    """Two secrets that determine the answers, four steps apart, use the whole level."""
    asked = Pufferfish(("a", "b"), ((0, 1),), (Scenario("only", ((1, 0, 0, 0, 0), (0, 0, 0, 0, 1))),))
    loss = noise_for(asked, NAT).loss([0], [4])
    assert exact.nats(loss.level) == pytest.approx(1, abs=1e-8)


def test_secrets_with_the_same_answers_need_no_noise_and_are_refused():
    """If the two secrets of every pair have the same distribution of answers, no noise is needed; the design is
    refused."""
    asked = Pufferfish(("a", "b"), ((0, 1),), (Scenario("only", ((1, 2, 3), (2, 4, 6))),))
    with pytest.raises(NotionError, match="reveal nothing about them: choose another notion"):
        geo_for(asked, NAT)
