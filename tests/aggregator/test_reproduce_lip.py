"""The comparators of the LIP experiments match their names: optima, bounds, exact errors."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from aggregator.estimate.error import lip_mse, report_mae
from aggregator.families.response.recipe import published_lip_response, randomized_response
from aggregator.families.table.prior_table import optimal_table
from aggregator.reproduce.data import DataFolder
from aggregator.reproduce.experiment import Setting
from aggregator.reproduce.lip import declared_priors, trusted_curator
from aggregator.reproduce.lip.declared_priors import UNIT, best_errors
from aggregator.reproduce.lip.districts import population_error
from aggregator.reproduce.lip.published import (
    SPARSE,
    bit_prior,
    claimed_error,
    ldp_channels,
    level_of_nats,
    of_bit,
    satisfies,
    true_level,
    unary_bit,
    unbiased_error,
    valid_from,
    warner,
)
from aggregator.reproduce.lip.report_error import least_mae
from aggregator.reproduce.lip.rough_prior import rough_prior
from aggregator.reproduce.lip.summation import best_for_sum, sum_mse
from protocol import personal
from protocol.notions import Ldp, Lip, certify
from protocol.personal import lip_response
from tests.aggregator.matrix import dense

NAT = 10**9


def random_prior(generator, size):
    return tuple((1 + generator.dirichlet(np.ones(size)) * 10**6).astype(int).tolist())


def local_mse(share, eps):
    """Return the least error of one bit: p q (2 a - a^2) or p q - p^2 (e^eps - 1) (1 - a)."""
    rare, odds = min(share, 1 - share), math.exp(eps)
    if rare >= 1 / (odds + 1):
        return rare * (1 - rare) * (2 - 1 / odds) / odds
    return rare * (1 - rare) - rare**2 * (odds - 1) * (1 - 1 / odds)


def test_every_channel_of_plain_ldp_without_bit_vectors_is_compared():
    """Over 76 values the best LDP channel is one of four; at 4 nats and a Zipf prior triples have the least error."""
    prior = tuple(math.ceil(2**40 / rank) for rank in range(1, 77))
    errors = {channel.family: lip_mse(channel, prior) for channel in ldp_channels(76, 4)}
    assert set(errors) == {"response", "hadamard", "projective", "triples"}
    assert min(errors, key=errors.get) == "triples"


@pytest.mark.parametrize("share", ["0.5", "0.3", "0.1", "0.01", "0.99"])
@pytest.mark.parametrize("eps", [0.5, 1.0, 2.0, 4.0])
def test_errors_of_one_bit_equal_the_closed_forms(share, eps):
    """The published error, the valid optimum, and LDP with and without MMSE are eq. 19, MATH 2.3, eq. 20 and eq. 25."""
    prior, p, odds = bit_prior(share), float(share), math.exp(eps)
    assert of_bit(published_lip_response(prior, level_of_nats(eps)), prior) == pytest.approx(
        claimed_error(p, eps), abs=1e-9
    )
    assert of_bit(lip_response(prior, level_of_nats(eps)), prior) == pytest.approx(local_mse(p, eps), abs=1e-9)
    gain = (p * (1 - p) * (1 - odds)) ** 2 / ((1 - p + p * odds) * (odds - p * odds + p))
    assert of_bit(warner(eps), prior) == pytest.approx(p * (1 - p) - gain, abs=1e-9)
    assert unbiased_error(warner(eps), prior) == pytest.approx(odds / (odds - 1) ** 2, rel=1e-9)


def program_of_mae(share, eps):
    """Return the least E|X - Y| by the linear program over the four inequalities of a binary channel with flips q0,
    q1."""
    low, high = math.exp(-eps), math.exp(eps)
    rows, ends = [], []
    yes = np.array([1 - share, -share]), share  # P(Y = 1) = (1 - share) q0 - share q1 + share
    entries = {(1, 1): (np.array([0.0, -1.0]), 1.0), (0, 1): (np.array([1.0, 0.0]), 0.0)}  # Q(1|1) and Q(1|0)
    for slope, start in entries.values():
        for of_output, marginal in (((slope, start), yes), ((-slope, 1 - start), (-yes[0], 1 - yes[1]))):
            rows += [of_output[0] - high * marginal[0], low * marginal[0] - of_output[0]]
            ends += [high * marginal[1] - of_output[1], of_output[1] - low * marginal[1]]
    found = linprog([1 - share, share], A_ub=np.array(rows), b_ub=ends, bounds=[(0, 1)] * 2, method="highs")
    return float(found.fun)


@pytest.mark.parametrize("eps", [0.2, 0.69, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("share", ["0.5", "0.3", "0.15", "0.05", "0.01"])
def test_the_published_channel_has_the_least_error_of_a_single_report(share, eps):
    """If the published channel is valid, it has the least mean absolute error of all valid channels (Proposition 3).

    Its reports then have the distribution of the answers. Otherwise the best valid channel says yes with probability
    1/(e^eps + 1), and the least error is that channel's or, if P1 is below 1/(2 e^eps), that of no report.
    """
    prior, p, odds = bit_prior(share), float(share), math.exp(eps)
    assert least_mae(prior, eps) == pytest.approx(program_of_mae(p, eps), abs=1e-9)
    ours, theirs = lip_response(prior, level_of_nats(eps)), published_lip_response(prior, level_of_nats(eps))
    yes = [p * channel.weight(1, 1) / 2**64 + (1 - p) * channel.weight(0, 1) / 2**64 for channel in (ours, theirs)]
    assert yes == pytest.approx([max(p, 1 / (odds + 1)), p], abs=1e-9)
    if p >= 1 / (odds + 1):
        assert report_mae(theirs, prior) == pytest.approx(2 * p * (1 - p) / odds, abs=1e-9)
        assert report_mae(theirs, prior) == pytest.approx(least_mae(prior, eps), abs=1e-9)
    else:
        least = min(report_mae(ours, prior), p)
        assert least == pytest.approx(least_mae(prior, eps), abs=1e-9)
        assert (report_mae(ours, prior) <= p) == (p >= 1 / (2 * odds))


def test_the_true_level_is_the_least_that_certifies():
    """A channel is certified at its true level and at no smaller one; the published channel is valid from
    ``valid_from`` on."""
    prior = (70, 20, 10)
    channel = published_lip_response(prior, NAT)
    found = true_level(channel, prior)
    assert found == pytest.approx(math.log((1 - math.exp(-1)) / 0.1 + math.exp(-1)), abs=1e-8)
    certify(channel, Lip(round(found * NAT), prior))
    assert not satisfies(channel, prior, found - 1e-6)
    edge = valid_from(prior)
    for eps, valid in ((edge - 0.01, False), (edge + 0.01, True)):
        assert satisfies(published_lip_response(prior, level_of_nats(eps)), prior, eps) == valid


def optimum_of_sum(prior, values, eps):
    """Return the optimum of the linear program over all corners of the posteriors of a sum."""
    distribution, f = np.array(prior) / sum(prior), np.array(values, dtype=float)
    low, high = math.exp(-eps), math.exp(eps)
    corners = []
    for free in range(len(distribution)):
        for ends in itertools.product((low, high), repeat=len(distribution) - 1):
            lifts = np.insert(np.array(ends), free, 0.0)
            lifts[free] = (1 - lifts @ distribution) / distribution[free]
            if low - 1e-12 <= lifts[free] <= high + 1e-12:
                corners.append(lifts)
    pool = np.array(corners)
    solved = linprog(-((pool @ (distribution * f)) ** 2), A_eq=pool.T, b_eq=np.ones(len(distribution)), method="highs")
    return float(distribution @ f**2 + solved.fun)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 7])
def test_the_best_channel_for_a_sum_has_the_optimal_gain(size):
    """The channel is certified, and its gain is that of the linear program over all corners within 0.02%."""
    generator = np.random.default_rng(size)
    for eps in (0.3, 1.0, 3.0):
        prior = random_prior(generator, size)
        values = sorted(generator.normal(size=size).tolist())
        table = best_for_sum(prior, values, level_of_nats(eps))
        certify(table, Lip(level_of_nats(eps), prior))
        found, best = sum_mse(table, prior, values), optimum_of_sum(prior, values, eps)
        distribution = np.array(prior) / sum(prior)
        variance = float(distribution @ np.array(values) ** 2 - (distribution @ values) ** 2)
        assert best - 1e-7 * variance <= found <= best + 2e-4 * (variance - best)


def test_the_error_of_a_sum_equals_brute_force():
    """The error of a number is the mean of its variance given the output; for one bit it is half the error of the
    histogram."""
    prior, f = (5, 3, 2), (0.0, 1.0, 4.0)
    channel = randomized_response(3, NAT)
    distribution = np.array(prior) / 10
    joint = distribution[:, None] * dense(channel)
    marginal = joint.sum(axis=0)
    means = np.array(f) @ joint / marginal
    assert sum_mse(channel, prior, f) == pytest.approx(float(distribution @ np.square(f) - marginal @ means**2))
    assert sum_mse(channel, prior, f) > sum_mse(best_for_sum(prior, f, NAT), prior, f)
    assert sum_mse(warner(1), (7, 3), (0, 1)) == pytest.approx(of_bit(warner(1), (7, 3)))


def partitions(n):
    """Yield every way to merge a lower and an upper tail of the sums 0 .. n."""
    for low in range(n + 1):
        for high in range(low + 1, n + 1):
            yield [tuple(range(low + 1)), *((s,) for s in range(low + 1, high)), tuple(range(high, n + 1))]


@pytest.mark.parametrize("n", [3, 4, 6])
def test_the_trusted_curator_satisfies_the_level_of_every_person(n):
    """The error is that of no report, or of merged sums which change no person's posterior by more than the level.

    The posteriors are computed from all 2^n answers. At least one of 30 curators publishes a sum.
    """
    generator = np.random.default_rng(n)
    bits = np.array(list(itertools.product((0, 1), repeat=n)))
    silent = 0
    for _ in range(30):
        p, eps = generator.uniform(0.05, 0.95, n), float(generator.uniform(0.5, 5))
        weight = np.prod(np.where(bits == 1, p, 1 - p), axis=1)
        distribution = np.array([weight[bits.sum(axis=1) == s].sum() for s in range(n + 1)])
        valid = []
        for parts in partitions(n):
            lifts = []
            for part in parts:
                inside = np.isin(bits.sum(axis=1), part)
                yes = (weight[inside] @ bits[inside]) / weight[inside].sum()
                lifts += [yes / p, (1 - yes) / (1 - p)]
            if np.abs(np.log(np.maximum(lifts, 1e-300))).max() <= eps:
                means = [distribution[list(part)] @ np.array(part) / distribution[list(part)].sum() for part in parts]
                valid.append(sum(distribution[list(part)] @ (np.array(part) - mean) ** 2
                                 for part, mean in zip(parts, means, strict=True)))  # fmt: skip
        found, nothing = trusted_curator.curator_sum_error(p, eps), float((p * (1 - p)).sum())
        silent += found == nothing
        assert found == pytest.approx(nothing) or any(found == pytest.approx(error) for error in valid)
    assert silent < 30


def test_the_sum_of_many_people_is_reported_nearly_exactly():
    """With 500 people the distribution computed by halves equals the direct one, and the error is below a millionth of
    the variance."""
    p = np.random.default_rng(1).uniform(size=500)
    plain = np.ones(1)
    for share in p.tolist():
        plain = np.convolve(plain, (1 - share, share))
    assert trusted_curator._distribution_of_sum(p) == pytest.approx(plain, abs=1e-12)
    assert trusted_curator.curator_sum_error(p, 1.0) < 1e-6 * (p * (1 - p)).sum()


def test_errors_of_declared_priors_use_the_channels_of_the_devices():
    """Each person's error is that of the channel that a device derives from their declared prior."""
    yes = np.array([1.0, 2000.0, 500_000.0, 900_000.0, UNIT - 1])
    errors = best_errors(yes, 1.5)
    for part, error in zip(yes.astype(int).tolist(), errors.tolist(), strict=True):
        prior = (UNIT - part, part)
        channel = personal.lip_response(personal.canonical_prior(prior), level_of_nats(1.5))
        assert error == pytest.approx(lip_mse(channel, prior) / 2, abs=1e-9)


def test_errors_of_a_population_equal_brute_force():
    """The error under a wrong prior is the mean over people and outputs; under a right one it is the expected error."""
    prior, truth = (6, 3, 1), np.array([0.2, 0.5, 0.3])
    channel = optimal_table(prior, NAT)
    distribution, rows = np.array(prior) / 10, dense(channel)
    posterior = distribution[:, None] * rows / (distribution @ rows)
    expected = sum(
        truth[x] * rows[x, y] * ((np.eye(3)[x] - posterior[:, y]) ** 2).sum()
        for x in range(3)
        for y in range(channel.output_count)
    )
    assert population_error(channel, prior, truth) == pytest.approx(expected)
    assert population_error(channel, prior, distribution) == pytest.approx(lip_mse(channel, prior))


def test_the_unary_bit_is_the_unary_encoding_of_one_bit():
    """A yes is reported as yes half of the time, a no with probability 1/(e^eps + 1), and the channel satisfies LDP."""
    table = unary_bit(1.0)
    assert Fraction(table.weight(1, 1), 2**62) == Fraction(1, 2)
    assert table.weight(0, 1) / 2**62 == pytest.approx(1 / (math.e + 1))
    certify(table, Ldp(NAT))


def test_the_error_for_a_ball_of_priors_grows_with_the_radius():
    """The error of the design for the ball never decreases with the radius.

    It is never above those of the scaled channel of the centre, of LDP and of no report. For two values it is the
    valid optimum at radius 0, and that of LDP at the largest radius.
    """
    found = rough_prior(Setting(DataFolder(None), np.random.default_rng(1), 1, True, lambda _: None))
    for plot in found.plots:
        ours, scaled, plain, alone = (np.array(curve.y) for curve in plot.curves)
        assert (np.diff(ours) >= -1e-9).all()
        assert (ours <= np.minimum(np.minimum(scaled, plain), alone) + 1e-6).all()
    binary = found.plots[0].curves
    assert binary[0].y[0] == pytest.approx(2 * local_mse(0.3, 1.0), abs=1e-7)
    assert binary[0].y[-1] == pytest.approx(binary[2].y[-1], abs=1e-7)


def test_levels_at_which_ldp_is_not_between_are_counted():
    """If LDP has more error than LIP at eps/2 at one level, the finding says at how many levels it is between."""
    names = ("best", "ldp", "best half", "published", "protected", "curator")
    errors = {people: {name: [0.2] * len(SPARSE) for name in names} for people in declared_priors.PEOPLE}
    (between,) = (f for f in declared_priors._findings(errors, 1.0, 2) if "lies almost everywhere" in f.paper)
    assert f"at {len(SPARSE)} of {len(SPARSE)} levels" in between.ours
    assert between.why.startswith("no difference")
    errors[declared_priors.MANY]["ldp"][0] = 0.3
    (between,) = (f for f in declared_priors._findings(errors, 1.0, 2) if "lies almost everywhere" in f.paper)
    assert f"at {len(SPARSE) - 1} of {len(SPARSE)} levels" in between.ours
    assert between.why == "it does not hold"
