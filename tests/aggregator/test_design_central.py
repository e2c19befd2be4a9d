"""A trusted curator's least error equals that of linear programs in another formulation, and no valid mechanism has
less."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from aggregator.reproduce.lip.published import bit_prior, of_bit
from aggregator.reproduce.lip.trusted_curator import (
    MAX_EXACT_PEOPLE,
    curator_error,
    curator_error_of,
    curator_sum_error,
    least_error,
)
from protocol.personal import lip_response

NAT = 10**9


def over_corners(distribution, low, high):
    """Return the optimum over all corners of the posteriors of a sum; a corner has one sum, or two sums whose mean is
    at an end of the range."""
    corners = []
    for s in range(len(distribution)):
        if low <= s <= high:
            corners.append(np.eye(len(distribution))[s])
    for s, t in itertools.combinations(range(len(distribution)), 2):
        for end in (low, high):
            if s < end < t:
                corner = np.zeros(len(distribution))
                corner[s], corner[t] = (t - end) / (t - s), (end - s) / (t - s)
                corners.append(corner)
    pool, sums = np.array(corners), np.arange(len(distribution))
    solved = linprog(-((pool @ sums) ** 2), A_eq=pool.T, b_eq=distribution, method="highs")
    return float(distribution @ sums**2 + solved.fun)


@pytest.mark.parametrize(
    ("people", "share", "nats"), [(1, 0.3, 1), (2, 0.5, 0.2), (5, 0.5, 1), (7, 0.1, 2), (9, 0.8, 0.5)]
)
def test_the_optimum_of_a_global_prior_equals_the_program_over_all_corners(people, share, nats):
    """The least error equals that of the program over all corners; it is .0899 for 5 people with p = 1/2 at 1 nat."""
    distribution = np.array([math.comb(people, s) * share**s * (1 - share) ** (people - s) for s in range(people + 1)])
    found = curator_error(people, share, round(nats * NAT))
    assert found.mse == pytest.approx(over_corners(distribution, found.low, found.high), abs=1e-9)
    if people == 5:
        assert found.mse == pytest.approx(0.0899, abs=5e-5)


def test_the_least_error_equals_the_program_over_all_corners():
    """The least error equals that of the linear program for 40 random distributions, several of them with gaps. In some
    of them the lower and the upper tail meet."""
    generator = np.random.default_rng(4)
    met = 0
    for _ in range(40):
        distribution = generator.dirichlet(np.full(6, 0.7)) * (generator.random(6) < 0.8)
        if not distribution.any():
            continue
        distribution /= distribution.sum()
        mean = float(distribution @ np.arange(6))
        low, high = mean * generator.random(), mean + (5 - mean) * generator.random()
        found = least_error(distribution, low, high)
        assert found == pytest.approx(over_corners(distribution, low, high), abs=1e-8)
        variance = float(distribution @ np.arange(6) ** 2 - mean**2)
        met += found == pytest.approx(variance - (mean - low) * (high - mean))
    assert 0 < met < 40


def test_the_least_error_falls_with_the_level_and_is_symmetric():
    """The least error falls as the level grows, is the same if zeros and ones are exchanged, and is never above the
    error without an output. A number of people of 0, and shares of 0 and 1, are refused."""
    for people, share in ((2, 0.05), (50, 0.3), (100, 0.1)):
        errors = [curator_error(people, share, level) for level in (NAT // 10, NAT // 2, NAT, 5 * NAT)]
        assert all(a.mse >= b.mse - 1e-12 for a, b in itertools.pairwise(errors))
        assert all(0 <= found.mse <= people * share * (1 - share) for found in errors)
        mirror = curator_error(people, 1 - share, NAT)
        assert (people - mirror.high, mirror.mse) == (pytest.approx(errors[2].low), pytest.approx(errors[2].mse))
    assert errors[2].mse == pytest.approx(0.0147, abs=5e-5)
    for people, share, fault in ((0, 0.5, "at least 1, not 0"), (1, 0.0, "not 0.0"), (1, 1.0, "not 1.0")):
        with pytest.raises(ValueError, match=fault):
            curator_error(people, share, NAT)


def test_the_optimum_for_declared_priors_is_at_most_the_error_of_each_mechanism():
    """If all people have one prior, the optimum is the closed form.

    With declared priors it is at most the error of devices (Jiang, Li, Tandon 2020, Theorem 6) and at most that of
    the mechanism for many people. For a single person it is the local optimum. A number of people of 0 or above the
    limit, and a share of 1, are refused.
    """
    generator = np.random.default_rng(8)
    for people, nats in ((2, 0.5), (3, 1.0), (4, 2.0)):
        level = round(nats * NAT)
        assert curator_error_of([0.3] * people, level) == pytest.approx(curator_error(people, 0.3, level).mse, abs=1e-7)
        p = generator.uniform(0.05, 0.95, people).round(3)
        devices = sum(of_bit(lip_response(bit_prior(str(share)), level), bit_prior(str(share))) for share in p)
        assert curator_error_of(p, level) <= min(devices, curator_sum_error(p, nats)) + 1e-9
    assert curator_error_of([0.1], NAT) == pytest.approx(
        of_bit(lip_response(bit_prior("0.1"), NAT), bit_prior("0.1")), abs=1e-8
    )
    for shares, fault in (([], "1 to"), ([0.5] * (MAX_EXACT_PEOPLE + 1), "1 to"), ([1.0], "between 0 and 1")):
        with pytest.raises(ValueError, match=fault):
            curator_error_of(shares, NAT)
