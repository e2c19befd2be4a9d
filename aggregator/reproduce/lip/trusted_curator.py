"""A trusted curator for comparison: the least error of a sum of bits under centralised information privacy.

The curator has the bit of each person and publishes an output. No output may change the probability of either value of
one person's bit by more than the factor e^eps. ``curator_error`` applies to one common prior, where the optimum has a
closed form; ``curator_error_of`` applies to individual priors and solves a linear program; ``curator_sum_error`` bounds
the optimum for many people. All are for comparison with local mechanisms; no campaign uses them.

Source: Jiang, Li, Tandon 2020, sec. IV-D, Def. 4, Theorem 6 and Prop. 5.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse, stats
from scipy.optimize import linprog
from scipy.signal import fftconvolve

from aggregator.families.decoder import Floats
from protocol import exact

MAX_EXACT_PEOPLE = 6
"""Maximum number of people with individual priors, because the program has a column for each of the 2^n databases
and each output."""

SLOPES = 41
"""Initial number of outputs: tangents of the square, over the range of the mean."""

CLOSE = 1e-9
"""The search ends if it gains less than this share of the variance of the sum."""

UNLIKELY = 1e-12
"""Outputs less likely than this are left out."""

INEXACT = 1e-12
"""Probabilities of sums below this fraction of the largest probability are too inexact for a comparison."""


@dataclass(frozen=True)
class CuratorError:
    """The least error of a sum of n bits that a trusted curator publishes, with its range of estimates.

    Attributes:
        low, high: the range of the estimates E[S|Y].
        mse: the least E[(S - E[S|Y])^2] of any mechanism.
    """

    low: float
    high: float
    mse: float


def curator_error(people: int, share: float, level: int) -> CuratorError:
    """Return the least error of a sum of ``people`` independent bits, each of which is one with the probability
    ``share``.

    For each person, e^-eps <= P(X_i|y) / P(X_i) <= e^eps for both values. Summed over the people, this gives

        max(e^-eps n p, n - e^eps n (1 - p)) <= E[S|y] <= min(e^eps n p, n - e^-eps n (1 - p))

    The paper states e^-eps n p <= E[S|y] <= n - e^-eps n (1 - p), which is looser for a share far from 1/2. A curator
    who publishes a function of the sum treats all people alike, so Def. 4 has no further constraints. The optimum is
    ``least_error`` of the binomial distribution.

    Args:
        people: n, the number of people, at least 1.
        share: p, the probability of a one, in (0, 1).
        level: the level in nanonats.
    Raises:
        ValueError: ``people`` or ``share`` is outside its range.
    """
    if people < 1:
        raise ValueError(f"the number of people must be at least 1, not {people}")
    if not 0 < share < 1:
        raise ValueError(f"the share of ones must be between 0 and 1, not {share}")
    odds = math.exp(exact.nats(level))
    mean = people * share
    low = max(mean / odds, people - odds * (people - mean))
    high = min(mean * odds, people - (people - mean) / odds)
    distribution = stats.binom.pmf(np.arange(people + 1), people, share)
    return CuratorError(low, high, least_error(distribution, low, high))


def least_error(distribution: Floats, low: float, high: float) -> float:
    """Return the least E[(S - E[S|Y])^2] over all outputs Y with low <= E[S|Y] <= high.

    E[S|Y] is a contraction of S (Strassen 1965). The most dispersed contraction into the range does not change the sums
    in the middle. It pools each tail such that the tail's mean is exactly at the end of the range. To reach this mean,
    one atom is split at random. If the tails would meet, the contraction has only the two ends as values.

    Args:
        distribution: (n + 1,) the distribution of S over 0 .. n, with its mean inside the range.
    """
    sums = np.arange(len(distribution), dtype=np.float64)
    below, lower = _tail(distribution, sums - low)
    above, upper = _tail(distribution[::-1], high - sums[::-1])
    if (below + above[::-1] > 1 + 1e-12).any():
        mean = float(distribution @ sums)
        return max(float(distribution @ (sums - mean) ** 2) - (mean - low) * (high - mean), 0.0)
    return lower + upper


def _tail(distribution: Floats, above: Floats) -> tuple[Floats, float]:
    """Return the part of each atom that is pooled, (n + 1,), so that the mean of the pool is at the end of the range;
    and the squared error of the pool.

    Args:
        above: (n + 1,) the distance of each atom above the end, in increasing order.
    """
    gathered = np.cumsum(distribution * above)
    last = int(np.argmax((gathered >= 0) & (above >= 0)))
    parts = (np.arange(len(distribution)) < last).astype(np.float64)
    missing = -float(gathered[last - 1]) if last else 0.0
    weight = float(distribution[last] * above[last])
    parts[last] = min(missing / weight, 1.0) if weight > 0 else 0.0
    return parts, float((parts * distribution) @ above**2)


def curator_error_of(shares: Sequence[float], level: int) -> float:
    """Return the least E[(S - E[S|Y])^2] of a sum of bits of people with individual priors, over all mechanisms.

    An output is a posterior over the 2^n databases under which each person's probability of a one satisfies the level
    (Def. 4). A mechanism is a mixture of posteriors whose mean is the prior. Its error is the variance of S minus the
    variance of the posteriors' means. The square of a mean is the maximum of its tangents, so the problem with one
    output for each of several tangents is a linear program. Tangents at the means in the solution are added until the
    error no longer falls.

    Args:
        shares: the probability of a one of each person, in (0, 1); at most ``MAX_EXACT_PEOPLE`` people.
        level: the level in nanonats.
    Raises:
        ValueError: ``shares`` is empty or too long, or has a number outside its range.
    """
    p = np.asarray(shares, dtype=np.float64)
    if not 1 <= len(p) <= MAX_EXACT_PEOPLE:
        raise ValueError(f"the number of people must be 1 to {MAX_EXACT_PEOPLE}, not {len(p)}")
    if not ((p > 0) & (p < 1)).all():
        raise ValueError(f"each share must be between 0 and 1, and they are {p.min():g} to {p.max():g}")
    odds = math.exp(exact.nats(level))
    bits = np.array(list(itertools.product((0.0, 1.0), repeat=len(p))))
    distribution, sums = np.prod(np.where(bits == 1, p, 1 - p), axis=1), bits.sum(axis=1)
    low, high = np.maximum(p / odds, 1 - odds * (1 - p)), np.minimum(p * odds, 1 - (1 - p) / odds)
    # Two rows for each person, with a column for each database, bound the posterior of a yes. The matrix is sparse,
    # because each output gets a copy of these rows.
    of_one = sparse.csr_array(np.concatenate([bits.T - high[:, np.newaxis], low[:, np.newaxis] - bits.T]))
    silent = float((p * (1 - p)).sum())
    gained, slopes = -math.inf, np.linspace(low.sum(), high.sum(), SLOPES)
    while True:
        outputs, databases = len(slopes), len(distribution)
        worth = 2 * np.outer(slopes, sums) - (slopes**2)[:, np.newaxis]
        solved = linprog(
            -worth.ravel(),
            A_ub=sparse.kron(sparse.eye_array(outputs), of_one, format="csr"),
            b_ub=np.zeros(outputs * of_one.shape[0]),
            A_eq=sparse.kron(np.ones((1, outputs)), sparse.eye_array(databases), format="csr"),
            b_eq=distribution,
            method="highs",
        )
        joint = solved.x.reshape(outputs, databases)
        mass = joint.sum(axis=1)
        used = mass > UNLIKELY
        means = joint[used] @ sums / mass[used]
        before, gained = gained, float(mass[used] @ means**2)
        if gained - before <= CLOSE * silent:
            return max(float(distribution @ sums**2) - gained, 0.0)
        slopes = np.unique(np.concatenate([np.linspace(low.sum(), high.sum(), SLOPES), np.round(means, 9)]))


def curator_sum_error(p: Floats, eps: float) -> float:
    """Return the error of a curator that publishes the sum of bits and merges the extreme sums of each tail.

    Let X_i be the bit of person i, S the sum of all bits, and R = P(S - X_i = s) / P(S - X_i = s - 1). The published
    sum S = s multiplies the probability of X_i = 1 by 1 / (p_i + (1 - p_i) R), and that of X_i = 0 by
    R / (p_i + (1 - p_i) R). R lies between P(S = s + 1) / P(S = s) and P(S = s) / P(S = s - 1), because the
    distribution of a sum of bits is log-concave. So a sum satisfies eps for all people if both bounds are between
    e^-eps and e^eps. A merged tail satisfies eps if F(c) / F(c - 1) is at most e^eps, where F is the tail's
    probability. This ratio is at least P(c + 1) / P(c), so all sums outside the tail satisfy eps too. The shortest
    tails that satisfy eps are merged.

    Args:
        p: (n,) the prior probability of a one, for each person.
    """
    distribution = _distribution_of_sum(p)
    sums = np.arange(len(distribution), dtype=np.float64)
    error, factor, merged = 0.0, math.exp(eps), 0
    for masses, number in ((distribution, sums), (distribution[::-1], sums[::-1])):
        # The first pass is over the lower tail 0 .. c, and the second over the upper tail, with the sums reversed.
        below = np.cumsum(masses)
        # The ratio of the tail 0 .. c to the tail 0 .. c - 1; it decreases as c increases.
        tail = below / np.maximum(np.append(0.0, below[:-1]), 1e-300)
        allowed = (masses > INEXACT * distribution.max()) & (tail <= factor)
        last = int(np.argmax(allowed))
        merged += last + 1
        if merged > len(distribution) or not allowed.any():
            # The two tails would meet, so nothing is published.
            return float((p * (1 - p)).sum())
        mean = float(masses[: last + 1] @ number[: last + 1]) / below[last]
        error += float(masses[: last + 1] @ (number[: last + 1] - mean) ** 2)
    return error


def _distribution_of_sum(p: Floats) -> Floats:
    """Return the distribution of a sum of independent bits, shape (n + 1,), computed by recursive halving."""
    if len(p) <= 64:
        distribution = np.ones(1)
        for share in p.tolist():
            distribution = np.convolve(distribution, (1 - share, share))
        return distribution
    middle = len(p) // 2
    joined: Floats = np.maximum(fftconvolve(_distribution_of_sum(p[:middle]), _distribution_of_sum(p[middle:])), 0)
    joined /= joined.sum()
    return joined
