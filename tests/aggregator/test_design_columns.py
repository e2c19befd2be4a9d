"""The best LIP table, against a linear program over every corner."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from aggregator.estimate.error import expected_mse, lip_mse, lip_mse_bound
from aggregator.families.mechanism import PlannedQuestion
from aggregator.families.table import column_generation
from aggregator.families.table.column_generation import Coordinates, best_mixture, plain_mixture
from aggregator.families.table.prior_table import MAX_ERROR, estimable_table, optimal_table
from aggregator.planner.choice import chosen_channel
from protocol.channels import Table
from protocol.domain import Values
from protocol.errors import ChannelError, Uncertified
from protocol.exact import NANONATS
from protocol.notions import Lip, certify
from protocol.personal import lip_response
from tests.aggregator.test_design_windows import counted, zipf


def random_prior(size, seed):
    return counted(np.random.default_rng(seed).dirichlet(np.full(size, 0.7)))


def corners(distribution, a, b):
    """Return every posterior that has all coordinates but one at an end of their range."""
    found = []
    for between in range(len(distribution)):
        for ends in product((a, b), repeat=len(distribution) - 1):
            lifts = np.insert(np.array(ends), between, 0.0)
            left = (1 - distribution @ lifts) / distribution[between]
            if a - 1e-9 <= left <= b + 1e-9:
                lifts[between] = left
                found.append(lifts * distribution)
    return np.array(found)


def slow_optimum(distribution, level):
    """Return the least error of any channel at ``level``, by the linear program over all corners."""
    b = math.exp(level / NANONATS)
    posteriors = corners(distribution, 1 / b, b)
    solved = linprog(-((posteriors**2).sum(axis=1)), A_eq=posteriors.T, b_eq=distribution, method="highs")
    return 1 + solved.fun


def gained(error, distribution):
    """Return the error of a guess from the prior minus the error of a channel."""
    return 1 - (distribution**2).sum() - error


PRIORS = {
    **{f"zipf, k = {k}": zipf(k, 1) for k in (2, 3, 5, 8)},
    **{f"random, k = {k}": random_prior(k, k) for k in (3, 4, 6, 7)},
    "a rare value": [10**6, 10**3, 1],
    "uniform": [1] * 6,
}


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("eps", [0.1, 1, 2.5, 6])
def test_small_tables_have_the_optimal_gain(prior, eps):
    """Up to 8 values the table has the gain of the program over all corners to 1e-5, satisfies its level, and has at
    most k outputs."""
    level, distribution = round(eps * NANONATS), np.array(prior) / sum(prior)
    table = optimal_table(prior, level)
    optimum = gained(slow_optimum(distribution, level), distribution)
    assert gained(lip_mse(table, prior), distribution) == pytest.approx(optimum, rel=1e-5, abs=1e-12)
    assert certify(table, Lip(level, tuple(prior))).audited_level <= level
    assert table.output_count <= max(len(prior), 2)
    assert lip_mse(table, prior) >= lip_mse_bound(level, prior) - 1e-9


@pytest.mark.parametrize("prior", [[1, 1], [1, 9], [3, 100]])
@pytest.mark.parametrize("eps", [0.2, 1, 3])
def test_the_error_for_two_values_equals_the_closed_form(prior, eps):
    """For two values the optimum is that of the repaired response (MATH 2.3)."""
    level = round(eps * NANONATS)
    response = lip_response(prior, level)
    assert lip_mse(optimal_table(prior, level), prior) == pytest.approx(lip_mse(response, prior), rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_searched_columns_come_close_to_all_corners(seed, monkeypatch):
    """For 14 values a search over corners reaches 0.995 of the gain that the list of all corners has."""
    mass = np.random.default_rng(seed).dirichlet(np.ones(14))
    b = math.exp(0.5 + seed / 2)
    given = Coordinates(mass, mass**2, 0 * mass, 1 / b, b, 1.0, 1.0)
    flat = (mass**2).sum()
    best = best_mixture(given)
    monkeypatch.setattr(column_generation, "_LISTED", 1)
    searched = best_mixture(given)
    found, optimum = (mixture.weights @ given.squared_posterior(mixture.lifts) - flat for mixture in (searched, best))
    assert 0.995 * optimum <= found <= optimum * (1 + 1e-6)


@pytest.mark.parametrize(
    ("size", "eps", "share"), [(20, 1, 0.9995), (20, 0.1, 0.9995), (40, 1, 0.9995), (30, 2, 0.998)]
)
def test_larger_tables_come_close_to_the_bound(size, eps, share):
    """Under Zipf priors a table reaches the stated fraction of the coordinate bound's gain; it satisfies its level, but
    not 0.999 times that level."""
    level, prior = round(eps * NANONATS), zipf(size, 1)
    distribution = np.array(prior) / sum(prior)
    table = optimal_table(prior, level)
    assert isinstance(table, Table)
    assert gained(lip_mse(table, prior), distribution) >= share * gained(lip_mse_bound(level, prior), distribution)
    assert table.output_count <= size
    certify(table, Lip(level, tuple(prior)))
    with pytest.raises(Uncertified):
        certify(table, Lip(round(level * 0.999), tuple(prior)))


@pytest.mark.parametrize("seed", range(5))
def test_the_lifts_of_a_plain_mixture_are_independent(seed):
    """The lifts are within their range and use the whole budget; their mean is the requested one, and they are linearly
    independent."""
    draw = np.random.default_rng(seed)
    mass, b = 0.9 * draw.dirichlet(np.ones(seed + 2)), math.exp(draw.uniform(0.2, 1.2))
    given = Coordinates(mass, mass**2, 0 * mass, 1 / b, b, 0.95, 0.95)
    mixture = plain_mixture(given)
    assert mixture.weights.min() > 0
    assert mixture.lifts.min() >= given.low - 1e-12
    assert mixture.lifts.max() <= given.high + 1e-12
    np.testing.assert_allclose(mixture.lifts @ mass, given.budget)
    np.testing.assert_allclose(mixture.weights @ mixture.lifts, given.mean)
    assert np.linalg.matrix_rank(mixture.lifts) == len(mass)


def test_a_table_of_many_values_is_refused():
    """A table for many values is refused: the search would take minutes, and windows have as little error."""
    with pytest.raises(ChannelError, match="windows"):
        optimal_table((1,) * 1000, NANONATS)


@pytest.mark.parametrize(("size", "nats", "seed"), [(4, 0.5, 1), (5, 1.0, 2), (8, 2.0, 3), (16, 1.0, 4)])
def test_lip_takes_an_unbiased_estimate_at_a_cost_of_a_hundredth(size, nats, seed):
    """Under a random prior a table mixed with responses satisfies the level and has an unbiased estimate. Its error is
    at most 1.005 times the least error, plus 1e-4.

    The mechanism `lip` takes a channel with an unbiased estimate, whose error is at most 1.01 times that of the best
    table.
    """
    prior = tuple((1 + np.random.default_rng(seed).dirichlet(np.ones(size)) * 10**6).astype(int).tolist())
    question = PlannedQuestion(Values(tuple(f"v{x}" for x in range(size))), Lip(round(nats * NANONATS), prior))
    table, best = estimable_table(prior, question.notion.level), optimal_table(prior, question.notion.level)
    certify(table, question.notion)
    assert lip_mse(table, prior) <= MAX_ERROR * lip_mse(best, prior) + 1e-4
    assert np.isfinite(expected_mse(table))
    _, channel = chosen_channel("lip", question)
    assert np.isfinite(expected_mse(channel))
    assert lip_mse(channel, prior) <= 1.01 * lip_mse(best, prior)
