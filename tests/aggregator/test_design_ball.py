"""LIP channels for every prior near the declared one, against all corners, closed forms and the certificate."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial import HalfspaceIntersection

from aggregator.estimate.error import lip_mse, prior_mse
from aggregator.families.lifts import level_for_ball, lift_range
from aggregator.families.mechanism import PlannedQuestion
from aggregator.families.projective.recipe import projective
from aggregator.families.response.recipe import randomized_response
from aggregator.families.table import ball
from aggregator.families.table.ball import Staircases, of_two
from aggregator.families.table.column_generation import best_mixture
from aggregator.families.table.prior_table import estimable_table, optimal_table
from aggregator.families.windows.recipe import windows
from aggregator.planner.choice import candidates, chosen_channel
from protocol.domain import Values
from protocol.errors import Uncertified
from protocol.exact import NANONATS
from protocol.notions import Lip, certify
from protocol.notions.information import RADIUS_UNITS
from tests.aggregator.command import run

SEED = 20261122


def zipf(size: int, power: float) -> tuple[int, ...]:
    return tuple(round(10**6 / (x + 1) ** power) for x in range(size))


def moved(distribution: np.ndarray, order: Sequence[int], radius: float) -> np.ndarray:
    """Return the distribution after mass has moved to the last input in the order, from the others in turn."""
    found, left = distribution.copy(), radius
    for x in order[:-1]:
        taken = min(left, found[x])
        found[x] -= taken
        found[order[-1]] += taken
        left -= taken
    return found


def ball_corners(distribution: np.ndarray, radius: float) -> np.ndarray:
    """Return every corner of the ball of priors: mass moves from inputs, in every order, to each input."""
    corners = [moved(distribution, order, radius) for order in itertools.permutations(range(len(distribution)))]
    return np.unique(np.round(corners, 13), axis=0)


def brute_force(distribution: np.ndarray, b: float, radius: float) -> float:
    """Return the least MSE over all channels: a linear program over every valid corner of the posteriors.

    At each corner of the ball the valid lifts are bounded by b and 1/b, one inequality for each input and corner; the
    convex hull library finds their intersections. The reference uses neither the design's algorithm nor its results
    about the structure of the optimum.
    """
    priors, n = ball_corners(distribution, radius), len(distribution)
    cells = []  # rows (A, c) of the constraints A l + c <= 0 on the lifts l
    for prior, x in itertools.product(priors, range(n)):
        own = np.eye(n)[x]
        cells += [own - b * prior, prior / b - own]
    # The mean is one, so the last lift follows from the others.
    rows = np.array(cells)
    reduced = rows[:, :-1] - np.outer(rows[:, -1], distribution[:-1] / distribution[-1])
    halfspaces = np.unique(np.round(np.column_stack([reduced, rows[:, -1] / distribution[-1]]), 12), axis=0)
    if n == 2:
        meets = -halfspaces[:, 1] / np.where(halfspaces[:, 0] == 0, np.nan, halfspaces[:, 0])
        found = np.array([[np.nanmax(meets[meets < 1])], [np.nanmin(meets[meets > 1])]])
    else:
        found = HalfspaceIntersection(halfspaces, np.ones(n - 1)).intersections
    lifts = np.column_stack([found, (1 - found @ distribution[:-1]) / distribution[-1]])
    solved = linprog(-(lifts**2 @ distribution**2), A_eq=lifts.T, b_eq=np.ones(n), method="highs")
    return 1 + float(solved.fun)


def searched(distribution: np.ndarray, b: float, radius: float) -> float:
    """Return the MSE of the best mixture of staircases."""
    given = Staircases.of(distribution, b, radius)
    mixture = best_mixture(given)
    assert mixture.weights @ mixture.lifts == pytest.approx(np.ones(len(distribution)), abs=1e-9)
    return 1 - float(mixture.weights @ given.squared_posterior(mixture.lifts))


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_staircases_reach_the_optimum_over_all_corners(size):
    """Column generation over staircases finds the optimum over all corners, for skewed and uniform priors."""
    draw = np.random.default_rng(SEED + size)
    for _ in range({2: 20, 3: 12, 4: 6, 5: 2}[size]):
        distribution = draw.dirichlet(np.full(size, draw.choice([0.7, 3.0])))
        distribution = np.maximum(distribution, 1e-3) / np.maximum(distribution, 1e-3).sum()
        b, radius = math.exp(draw.uniform(0.2, 3)), draw.choice([0.01, 0.05, 0.2, 0.6])
        expected = brute_force(distribution, b, radius)
        assert searched(distribution, b, radius) == pytest.approx(expected, abs=2e-7)
        if size == 2:
            mixture = of_two(distribution, b, radius)
            assert 1 - mixture.weights @ mixture.lifts**2 @ distribution**2 == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("radius", "error"), [(0, 0.1261), (0.1, 0.1431), (0.2, 0.1602), (1, 0.1710)])
def test_the_design_for_two_values_has_the_least_error_over_the_ball(radius, error):
    """With P1 = .3 at 1 nat the error is that of the polygon of the four constraints, for four radii of the ball.

    For all priors (radius 1) the channel has an LDP level of 1 nat, as randomised response has.
    """
    mass = np.array([0.3, 0.7])
    mixture = of_two(mass, math.e, radius)
    assert (1 - mixture.weights @ mixture.lifts**2 @ mass**2) / 2 == pytest.approx(error, abs=6e-5)
    if radius == 1:
        level = math.log((mixture.lifts.max(axis=1) / mixture.lifts.min(axis=1)).max())
        assert level == pytest.approx(1, abs=1e-9)


def test_a_search_comes_close_to_all_staircases(monkeypatch):
    """If the staircases are not listed, the search reaches 98% of the gain over the prior that the list reaches."""
    for size, power, eps, radius in ((8, 1.0, 1.0, 0.05), (8, 1.5, 2.0, 0.02), (9, 0.5, 3.0, 0.1), (8, 1.0, 1.0, 0.5)):
        distribution = np.array(zipf(size, power)) / sum(zipf(size, power))
        listed = searched(distribution, math.exp(eps), radius)
        with monkeypatch.context() as patched:
            patched.setattr(ball, "MAX_LISTED", 1)
            found = searched(distribution, math.exp(eps), radius)
        flat = 1 - float((distribution**2).sum())
        assert 0.98 <= (flat - found) / (flat - listed) <= 1 + 1e-5


@settings(max_examples=60)
@given(
    st.floats(0.01, 10),
    st.integers(0, RADIUS_UNITS),
    st.lists(st.integers(0, 1000), min_size=2, max_size=7),
    st.integers(0, 2**32),
)
def test_lifts_within_the_range_satisfy_the_level(eps, billionths, parts, seed):
    """Lifts of mean one within the range satisfy the level for the worst prior in the radius, and so does every LIP
    channel at the scaled level."""
    distribution = np.random.default_rng(seed).dirichlet(np.full(len(parts), 0.7)) + 1e-4
    distribution /= distribution.sum()
    b, radius = math.exp(eps), billionths / RADIUS_UNITS
    alone = math.exp(level_for_ball(round(eps * NANONATS), billionths) / NANONATS)
    for low, high in (lift_range(b, radius), (1 / alone, alone)):
        assert low <= 1 <= high
        # The mixture of two lifts has the mean 1. It is scaled to deviate from 1 as far as both ranges allow.
        lifts = np.array(parts) / 1000
        lifts = lifts - lifts @ distribution
        if abs(lifts).max() < 1e-6:
            continue
        lifts = 1 + lifts * min((high - 1) / max(lifts.max(), 1e-12), (1 - low) / max(-lifts.min(), 1e-12))
        means = [prior @ lifts for prior in _extremes(distribution, lifts, radius)]
        assert lifts.max() <= b * min(means) * (1 + 1e-8)
        assert lifts.min() * b >= max(means) * (1 - 1e-8)


def _extremes(distribution: np.ndarray, lifts: np.ndarray, radius: float) -> list[np.ndarray]:
    """Return the two priors within the radius at which the mean of the lifts is least and largest."""
    return [moved(distribution, order, radius) for order in (np.argsort(-lifts), np.argsort(lifts))]


@pytest.mark.parametrize(
    ("prior", "eps", "radius"),
    [((1, 9), 1, 0.05), ((3, 7), 0.5, 1.0), (zipf(5, 1), 1, 0.1), (zipf(20, 1), 2, 0.05), (zipf(9, 2), 4, 0.3)],
)
def test_the_level_is_satisfied_over_the_ball_and_reached(prior, eps, radius):
    """The integer channel satisfies the declared level for every prior in the ball, and uses all but a thousandth of
    it.

    Its gain is at most that of the optimum for the exact prior, and at least those of plain LDP and of the scaled
    optimum for the centre. The optimum for the exact prior is refused for the ball; a table with an unbiased estimate
    satisfies the level.
    """
    level, billionths = round(eps * NANONATS), round(radius * RADIUS_UNITS)
    notion = Lip(level, prior, billionths)
    table = optimal_table(prior, level, billionths)
    found = certify(table, notion).ball_level
    assert 0.999 * level <= found <= level
    centre = optimal_table(prior, level)
    with pytest.raises(Uncertified, match="radius"):
        certify(centre, notion)
    shrunk = optimal_table(prior, level_for_ball(level, billionths))
    certify(shrunk, notion)
    plain = randomized_response(len(prior), level)
    errors = [lip_mse(channel, prior) for channel in (centre, table, shrunk)]
    assert errors == sorted(errors)
    assert errors[1] <= min(lip_mse(plain, prior), prior_mse(prior)) + 1e-9
    estimable = estimable_table(prior, level, billionths)
    assert certify(estimable, notion).ball_level <= level


@pytest.mark.parametrize("size", [12, pytest.param(200, marks=pytest.mark.long)])
def test_auto_designs_for_the_ball(size):
    """The mechanism that auto takes satisfies the level over the ball.

    Its error is at most 1.01 times that of each usable mechanism among five, one of which may be the taken one. It is
    less than the errors of the scaled optimum for the centre, of the response and of the projective space.
    """
    prior = zipf(size, 1)
    question = PlannedQuestion(Values(tuple(map(str, range(size)))), Lip(NANONATS, prior, 5 * 10**7))
    wanted = ("lip-table", "lip-windows", "lip-centre", "lip-response", "projective")
    errors = {mechanism.name: one.error for mechanism, one in candidates(question)
              if not isinstance(one, str) and mechanism.name in wanted}  # fmt: skip
    name, channel = chosen_channel("auto", question)
    assert name in ("lip-table", "lip-estimable", "lip-windows")
    assert certify(channel, question.notion).ball_level <= NANONATS
    best = lip_mse(channel, prior)
    assert all(best <= 1.01 * error for error in errors.values())
    assert all(best < error for name, error in errors.items() if name in ("lip-centre", "lip-response", "projective"))


@pytest.mark.long
def test_windows_of_2000_values_satisfy_the_level_over_the_ball():
    """Windows of 2,000 values are certified over the ball, and gain more than twice as much under the prior as a
    projective space."""
    prior = zipf(2000, 1)
    channel = windows(prior, NANONATS, 5 * 10**7)
    assert certify(channel, Lip(NANONATS, prior, 5 * 10**7)).ball_level <= NANONATS
    gain, plain = (prior_mse(prior) - lip_mse(one, prior) for one in (channel, projective(2000, NANONATS)))
    assert gain > 2 * plain > 0


def test_plan_takes_a_radius(tmp_path):
    """``plan --prior --radius`` plans for the ball and prints the radius.

    The table for the ball has a lower level and more error than the one for the prior alone, and less error than the
    scaled channel for the centre.
    """
    file = tmp_path / "prior.csv"
    file.write_text("value,count\n1,40\n2,30\n3,20\n4,10\n")
    words = ("plan", "--values", 4, "--epsilon", 1, "--prior", file)
    assert "lip at 1 nat for every prior within 0.05" in run(*words, "--radius", 0.05).output
    near, exactly = (
        {row["mechanism"]: row for row in json.loads(run(*words, *more, "--json").output)}
        for more in (("--radius", 0.05), ())
    )
    assert near["lip-table"]["person_mse"] < near["lip-centre"]["person_mse"]
    assert near["lip-table"]["person_mse"] > exactly["lip-table"]["person_mse"]
    assert near["lip-table"]["level"] < exactly["lip-table"]["level"] == pytest.approx(1)
    assert not exactly["lip-centre"]["serves"]
