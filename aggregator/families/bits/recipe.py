"""Recipes for bit vectors: RAPPOR, OUE, utility-optimised RAPPOR, and OUE under a prior.

With u = ln(a / b) and v = ln((1 - b) / (1 - a)) of a bit, the log-likelihood ratio of two inputs is at most u_x + v_x'.
RAPPOR uses u = v; OUE uses a = 1/2, which has the least error for values that few people have. Every a is rounded down
and every b up, to 32 bits, which lowers both u and v.

``idue`` has the recipe for budgets by class of inputs; ``protocol.channels.bits.channel`` defines the integers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aggregator.families.barrier import Problem, minimising_point
from aggregator.families.decoder import Floats, Integers
from aggregator.families.mechanism import BITS, Mechanism, for_ldp, for_prior, for_sensitive
from aggregator.families.rounding import LEVEL_RESERVE, D, ceil
from protocol import exact
from protocol.channels.bits.channel import MAX_BITS, Bits, S
from protocol.exact import exp_lower

PRIOR_CLASSES = 64
"""Maximum number of classes of priors: the exact audit compares every two classes."""


def rappor(size: int, level: int) -> Bits:
    """Return basic RAPPOR, in which ones and zeros flip equally often: a = e^(eps/2) / (e^(eps/2) + 1), b = 1 - a.

    Source: Erlingsson, Pihur, Korolova 2014; Wang, Blocki, Li, Jha 2017.

    Args:
        size: k, the number of values.
        level: the LDP level in nanonats.
    """
    b = _symmetric(level)
    return Bits((S - b,), (b,), ((0, size),))


def oue(size: int, level: int) -> Bits:
    """Return optimised unary encoding (OUE): a = 1/2, b = 1 / (e^eps + 1).

    Source: Wang, Blocki, Li, Jha 2017.

    Args:
        size: k, the number of values.
        level: the LDP level in nanonats.
    """
    return Bits((S // 2,), (_least_b(S // 2, level),), ((0, size),))


def utility_rappor(size: int, sensitive: Sequence[int], level: int) -> Bits:
    """Return utility-optimised RAPPOR, in which only people who have a non-sensitive value set its bit.

        sensitive    a = t                    b = t / ((1 - t) e^eps + t), which is 1 - t
        others       a = 1 - e^(-eps/2)       b = 0

    with t = e^(eps/2) / (e^(eps/2) + 1), as in basic RAPPOR. The channel satisfies high-low LDP. If no bit of a
    non-sensitive value is set, the probabilities of the bit vector also differ by at most the factor e^eps between all
    inputs, which is utility-optimised LDP.

    Source: Murakami, Kawamoto 2019, utility-optimized RAPPOR with its theta = t.
    """
    b = _symmetric(level)
    return _utility_optimised(size, sensitive, level, S - b, b)


def utility_oue(size: int, sensitive: Sequence[int], level: int) -> Bits:
    """Return utility-optimised RAPPOR with theta = 1/2: OUE among sensitive values, and a = (1 - e^-eps) / 2 for other
    values.

    Source: Murakami, Kawamoto 2019, utility-optimized RAPPOR.
    """
    return _utility_optimised(size, sensitive, level, S // 2, _least_b(S // 2, level))


def oue_lip(prior: Sequence[int], level: int) -> Bits:
    """Return optimised unary encoding under a prior, which has the least error for rare values under LIP.

    OUE minimises the sum of b (1-b) / (a-b)^2 under LDP. This channel minimises the same sum under LIP. With r(1) = a/b
    and r(0) = (1-a)/(1-b), Q(y|x) / P(y) = r_x(y_x) / sum over z of P_z r_z(y_z), so the constraints of LIP are linear
    in r(1) and r(0),

        r_x(1) <= e^eps     (P_x r_x(1) + sum over z other than x of P_z r_z(0))
        r_x(0) >= e^(-eps)  (P_x r_x(0) + sum over z other than x of P_z r_z(1))

    and the error 1 / ((r(1) - 1) (1 - r(0))) is convex. If all values are rare, the channel is OUE. A common value gets
    less noise, because no report can raise a high prior probability by much.

    Jiang, Li, Tandon 2022 derive a closed form for unary encoding under LIP. This recipe does not use the closed form,
    because the closed forms of their paper of 2020 exceed the declared level for many priors. The probabilities here
    follow from the definition of LIP, and the certificate verifies the level.

    Args:
        prior: positive integers, P_x = prior[x] / sum. If more than ``PRIOR_CLASSES`` of the priors differ, values of
            similar prior form a class. A class is designed for its smallest prior, which has the strictest constraint.
        level: the LIP level in nanonats.
    """
    distribution = np.asarray(prior, dtype=np.float64) / sum(prior)
    group = _prior_classes(distribution)
    problem = _UnderPrior(group, distribution, exact.nats(level) * (1 - LEVEL_RESERVE))
    a, b = problem.probabilities(minimising_point(problem))
    probabilities = [rounded_probabilities(a, b) for a, b in zip(a.tolist(), b.tolist(), strict=True)]
    return Bits.over([probabilities[number] for number in group.tolist()])


def rounded_probabilities(a: float, b: float) -> tuple[int, int]:
    """Return a, rounded down, and b, rounded up, as integers over 2^32, with a > b."""
    up = min(max(int(np.ceil(b * S)), 0), S - 1)
    return max(int(np.floor(a * S)), up + 1), up


class _UnderPrior(Problem):
    """The optimisation problem of ``oue_lip``: the total error by r(1) and r(0) of each class of priors."""

    def __init__(self, group: Integers, distribution: Floats, nats: float) -> None:
        self._sizes = np.bincount(group).astype(np.float64)
        masses, bound = np.bincount(group, weights=distribution), float(np.exp(nats))
        t = self._count = len(masses)
        smallest = np.full(t, np.inf)
        np.minimum.at(smallest, group, distribution)
        up = np.hstack([np.diag(1 - bound * smallest), np.diag(bound * smallest) - bound * masses])
        down = np.hstack([masses - np.diag(smallest), -np.diag(bound - smallest)])
        self.rows = np.vstack([up, down, np.diag(np.repeat([-1.0, 1.0], t)), np.eye(2 * t)[t:] * -1])
        self.limits = np.concatenate([np.zeros(2 * t), np.repeat([-1.0, 1.0], t), np.zeros(t)])
        near = (bound - 1) / (bound + 1) / 2
        self.start = np.repeat([1 + near, 1 - near], t)

    def objective(self, z: Floats) -> float:
        return float(self._sizes @ (1 / ((z[: self._count] - 1) * (1 - z[self._count :]))))

    def barrier(self, z: Floats, weight: float) -> tuple[float, Floats, Floats]:
        t = self._count
        up, down = z[:t] - 1, 1 - z[t:]
        errors = weight * self._sizes / (up * down)
        hessian = np.diag(np.concatenate([2 * errors / up**2, 2 * errors / down**2]))
        i = np.arange(t)
        hessian[i, t + i] = hessian[t + i, i] = -errors / (up * down)
        return float(errors.sum()), np.concatenate([-errors / up, errors / down]), hessian

    def probabilities(self, z: Floats) -> tuple[Floats, Floats]:
        """Return a and b of each class: b = (1 - r(0)) / (r(1) - r(0)), a = b r(1)."""
        up, down = z[: self._count], z[self._count :]
        b = (1 - down) / (up - down)
        return b * up, b


def _least_b(a: int, level: int) -> int:
    """Return the least b with a (1 - b) / (b (1 - a)) <= e^eps, as an integer over 2^32."""
    N = exp_lower(level)
    return ceil(a * S * D, N * (S - a) + a * D)


def _symmetric(level: int) -> int:
    """Return a probability b with ((1 - b) / b)^2 <= e^eps, times 2^32; it exceeds the least such integer by at most
    1."""
    b = ceil(S * D, exp_lower(level // 2) + D)
    while not exact.satisfies((S - b) ** 2, b**2, level):
        b += 1
    return b


def _utility_optimised(size: int, sensitive: Sequence[int], level: int, a: int, b: int) -> Bits:
    # The condition is (a_s / b_s) / (1 - a) <= e^eps: people with a non-sensitive value must leave its bit unset often
    # enough.
    shown = S - ceil(a * S * D, b * exp_lower(level))
    marked = frozenset(sensitive)
    return Bits.over([(a, b) if x in marked else (shown, 0) for x in range(size)])


def _prior_classes(distribution: Floats) -> Integers:
    """Return the class of each value, (k,): one for each distinct prior, or one of ``PRIOR_CLASSES`` logarithmic
    intervals."""
    _, exactly = np.unique(distribution, return_inverse=True)
    if exactly.max() < PRIOR_CLASSES:
        return exactly.astype(np.int64)
    logs = np.log(distribution)
    spread = (logs - logs.min()) / (logs.max() - logs.min())
    _, rounded = np.unique(
        np.minimum((spread * PRIOR_CLASSES).astype(np.int64), PRIOR_CLASSES - 1), return_inverse=True
    )
    return rounded.astype(np.int64)


MECHANISMS = (
    Mechanism(
        "rappor",
        "a bit for each value; ones and zeros flip equally often",
        "Erlingsson et al. 2014",
        BITS,
        for_ldp(rappor, MAX_BITS),
    ),
    Mechanism(
        "oue",
        "a bit for each value; zeros flip less often than ones",
        "Wang et al. 2017",
        BITS,
        for_ldp(oue, MAX_BITS),
    ),
    Mechanism(
        "utility-rappor",
        "bits; the bit of a non-sensitive value is set only by people with that value",
        "Murakami, Kawamoto 2019",
        BITS,
        for_sensitive(utility_rappor),
    ),
    Mechanism(
        "utility-oue",
        "like utility-rappor; the bits of sensitive values flip from 0 less often than from 1",
        "Murakami, Kawamoto 2019",
        BITS,
        for_sensitive(utility_oue),
    ),
    Mechanism(
        "oue-lip",
        "a bit for each value, with the least error for rare values under a prior",
        "after Jiang, Li, Tandon 2022",
        BITS,
        for_prior(oue_lip, MAX_BITS),
    ),
)
