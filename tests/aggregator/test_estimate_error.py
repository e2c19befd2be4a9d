"""The expected error equals explicit sums, published results and errors computed independently."""

import math
from fractions import Fraction

import numpy as np
import pytest

from aggregator.estimate.error import expected_mse, lip_mse, lip_mse_bound
from aggregator.families.blocks.recipe import high_low, in_blocks
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import randomized_response
from aggregator.families.sets.recipe import subset_error
from protocol.channels import RandomizedResponse, Table
from protocol.exact import NANONATS
from protocol.personal import lip_response

ONE = 1 << 64


def per_coordinate(inside, outside, f):
    """Return the variance of one report's estimate of a share f, theta (1 - theta) / (p* - q*)^2 (MATH 4.1)."""
    theta = outside + f * (inside - outside)
    return theta * (1 - theta) / (inside - outside) ** 2


def subset_selection(k, eps):
    """Return the error of a coordinate for uniform shares, with the better of the two subset sizes (Ye, Barg 2018; MATH
    4.1)."""
    E = math.exp(eps)
    found = []
    for d in {max(1, math.floor(k / (E + 1))), math.ceil(k / (E + 1))}:
        inside = d * E / (d * E + k - d)
        outside = inside * (d - 1) / (k - 1) + (1 - inside) * d / (k - 1)
        found.append(per_coordinate(inside, outside, 1 / k))
    return min(found)


@pytest.mark.parametrize(("eps", "error"), [(0.5, 15.7), (1, 3.68), (2, 0.723)])
def test_the_error_of_subset_selection_is_the_published_one(eps, error):
    """Subset selection has n MSE of 15.7, 3.68 and .723 per coordinate at eps = .5, 1 and 2, k = 1024, by the formula
    of MATH 4.1.

    No subset size up to half of the values has less error than the better of the two published sizes.
    """
    least = min(subset_error(1024, ones, int(eps * NANONATS)) for ones in range(1, 513)) / 1024
    assert least == pytest.approx(error, rel=0.005)
    assert least == pytest.approx(subset_selection(1024, eps))


@pytest.mark.parametrize(
    ("k", "eps", "ratio"),
    [(1024, 0.5, 1.066), (1024, 1, 1.274), (1024, 2, 2.39), (1024, 4, 14.2), (43750, 0.5, 1.064), (43750, 1, 1.272),
     (43750, 2, 2.38), (43750, 4, 14.16)],
)  # fmt: skip
def test_the_error_of_hadamard_response_grows_with_cosh_squared(k, eps, ratio):
    """Hadamard response has 1.27 times the error of subset selection at eps = 1 and 14.2 times at 4, for k = 1024;
    that is within 10% of cosh^2(eps / 2) (MATH 4.2)."""
    found = expected_mse(hadamard(k, int(eps * NANONATS))) / (k * subset_selection(k, eps))
    assert found == pytest.approx(ratio, rel=0.003)
    assert found == pytest.approx(math.cosh(eps / 2) ** 2, rel=0.1)


@pytest.mark.parametrize(("eps", "ratio"), [(0.5, 156), (1, 95), (2, 35), (4, 5.2), (8, 1.0)])
def test_randomised_response_has_a_large_error_for_many_values(eps, ratio):
    """At k = 1024 randomised response has 95 times the error of subset selection at eps = 1, and the same error at eps
    = 8."""
    found = expected_mse(randomized_response(1024, int(eps * NANONATS))) / (1024 * subset_selection(1024, eps))
    assert found == pytest.approx(ratio, rel=0.02)


@pytest.mark.parametrize("eps", [0.5, 1, 4])
def test_the_error_is_the_sum_over_coordinates(eps):
    """For support channels ``expected_mse`` is the sum of theta (1 - theta) / (p* - q*)^2, for any shares."""
    p = np.random.default_rng(1).dirichlet(np.ones(6))
    E = math.exp(eps)
    walsh = sum(per_coordinate(E / (E + 1), 0.5, f) for f in p)
    assert expected_mse(hadamard(6, int(eps * NANONATS)), p) == pytest.approx(walsh)
    response = sum(per_coordinate(E / (E + 5), 1 / (E + 5), f) for f in p)
    assert expected_mse(randomized_response(6, int(eps * NANONATS)), p) == pytest.approx(response)


@pytest.mark.parametrize(
    "channel",
    [
        randomized_response(4, NANONATS),
        lip_response((7, 5, 2, 1), NANONATS),
        hadamard(4, NANONATS),
        in_blocks([0, 0, 1, 2], NANONATS, hadamard),
        high_low(4, [0, 2], NANONATS, hadamard),
    ],
)
def test_lip_error_is_the_sum_written_out(channel):
    """``lip_mse`` is 1 - sum over y, x of (P Q(y|x))^2 / P(y), computed from the weights in exact fractions."""
    prior = (7, 5, 2, 1)
    P = [Fraction(weight, 15) for weight in prior]
    gained = Fraction(0)
    for y in range(channel.output_count):
        joint = [p * Fraction(channel.weight(x, y), 1 << channel.scale) for x, p in enumerate(P)]
        if sum(joint):
            gained += sum(part**2 for part in joint) / sum(joint)
    assert lip_mse(channel, prior) == pytest.approx(float(1 - gained), abs=1e-12)


def binary_optimum(p1, eps):
    """Return the optimal binary LIP channel (MATH 2.3), with covers rounded up; input 1 is the rarer one."""
    E = math.exp(eps)
    if p1 >= 1 / (E + 1):
        kept, mistaken = 1 - (1 - p1) / E, p1 / E
    else:
        kept, mistaken = E / (E + 1), (1 - E * p1) / ((E + 1) * (1 - p1))
    return RandomizedResponse(2, (math.ceil((1 - kept) * ONE), math.ceil(mistaken * ONE)))


@pytest.mark.parametrize(("p1", "eps", "one_coordinate"), [(0.01, 1, 0.00979), (0.1, 1, 0.0791), (0.1, 2, 0.0348)])
def test_the_binary_optimum_has_the_stated_error(p1, eps, one_coordinate):
    """The binary optimum has an error of .00979, .0791 and .0348 per coordinate (MATH 2.3), by a closed form.

    The LIP response for two values has the same error.
    """
    prior = (round(1000 * (1 - p1)), round(1000 * p1))
    found = lip_mse(binary_optimum(p1, eps), prior)
    assert found / 2 == pytest.approx(one_coordinate, rel=0.005)
    E = math.exp(eps)
    closed = p1 * (1 - p1) - p1**2 * (E - 1) * (1 - 1 / E)
    assert found / 2 == pytest.approx(closed, rel=1e-6)
    assert lip_mse(lip_response(prior, eps * NANONATS), prior) == pytest.approx(found, rel=1e-6)


def test_the_binary_optimum_has_the_published_error():
    """At P1 = .4, eps = 1 the optimum has the published error P1 P0 (2 a - a^2) (MATH 2.3)."""
    a = math.exp(-1)
    assert lip_mse(binary_optimum(0.4, 1), (6, 4)) / 2 == pytest.approx(0.24 * (2 * a - a * a), rel=1e-9)


@pytest.mark.parametrize(
    ("weights", "eps", "bound"),
    [
        ([1 / i for i in range(1, 1001)], 1, 0.93879),
        ([1 / i for i in range(1, 21)], 2, 0.48943),
        ([1 / i for i in range(1, 101)], 4, 0.28397),
        ([1 / i for i in range(1, 51)], 1, 0.8325),
    ],
)
def test_the_lower_bound_of_the_lip_error_has_the_stated_values(weights, eps, bound):
    """The coordinate bound is .93879, .48943, .28397 and .8325 for Zipf priors (MATH 2.2), and at most the error of the
    LIP response."""
    prior = [round(2**40 * weight) for weight in weights]
    assert lip_mse_bound(eps * NANONATS, prior) == pytest.approx(bound, abs=6e-5)
    assert lip_mse(lip_response(prior, eps * NANONATS), prior) >= bound - 6e-5


def test_the_bound_is_the_short_form_for_rare_values():
    """If every P is at most 1 / (e^eps + 1), the bound is 1 - |P|^2 (e^eps + e^-eps - 1) (MATH 2.2)."""
    prior = [3, 2, 2, 1, 1, 1]
    square = sum(weight**2 for weight in prior) / 100
    assert lip_mse_bound(NANONATS // 2, prior) == pytest.approx(1 - square * (2 * math.cosh(0.5) - 1))


def test_the_error_of_a_table_is_the_variance_of_one_report():
    """The expected error of a table at p is the variance of one report's estimate, summed over its outputs."""
    rows = ((1, 2, 5), (6, 1, 1))
    channel = Table.rounded([[Fraction(cell, 8) for cell in row] for row in rows])
    p = np.array([0.3, 0.7])
    decoder = decoder_of(channel)
    distribution = p @ (np.array(rows) / 8)
    L = np.array([decoder.adjoint(unit) for unit in np.eye(2)]).T
    assert expected_mse(channel, p) == pytest.approx(((distribution @ L**2) - (distribution @ L) ** 2).sum())


@pytest.mark.parametrize(
    ("eps", "share", "error"), [(1, 0.01, 0.00980), (1, 0.1, 0.0820), (2, 0.1, 0.0601)]
)  # fmt: skip
def test_ldp_with_the_posterior_mean_has_the_published_error(eps, share, error):
    """Warner's response with the posterior mean has the published error per coordinate (Jiang, Li, Tandon, eq. 20).

    It is P1 P0 - (P1 P0 (2 q - 1))^2 / (P(y = 1) P(y = 0)), q = e^eps / (e^eps + 1) (MATH 1.2, 1.3).
    """
    prior = (round(share * 1000), round((1 - share) * 1000))
    found = lip_mse(randomized_response(2, int(eps * NANONATS)), prior) / 2
    q, spread = math.exp(eps) / (math.exp(eps) + 1), share * (1 - share)
    seen = share * q + (1 - share) * (1 - q)
    assert found == pytest.approx(spread - (spread * (2 * q - 1)) ** 2 / (seen * (1 - seen)), rel=1e-9)
    assert found == pytest.approx(error, abs=6e-5)
