"""The convex-optimisation mechanism, which has the least distortion under a bound on the mutual information.

The mutual information is the least mean divergence of the rows Q(.|x) from a distribution r, over all r. For a given r,
this divergence plus s times the distortion is minimal if Q(y|x) is in proportion to r[y] e^(-s d(x, y)). So the problem
is convex in the k numbers r, instead of k^2 probabilities, and s is chosen so that the mutual information equals the
bound. This is Shannon's rate-distortion problem.

The certificate states the worst-case LDP level, which is finite because every input can give every output that occurs.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy import optimize

from aggregator.families.decoder import Floats
from protocol import exact
from protocol.channels import Table
from protocol.errors import NotionError

INFORMATION_RESERVE = 2e-8
"""Nats of the bound that are reserved for rounding, because the audit's upper bound is a few nanonats too high."""

RAREST = 1e-12
"""Outputs with at most this probability get the probability 0."""

STEEPEST = 40.0
"""Maximum price of the largest distortion, in nats; above it, probabilities are too small for 62-bit integers."""


def mutual_information_table(
    prior: Sequence[int], bound: int, distortion: Sequence[Sequence[float]] | None = None
) -> Table:
    """Return the channel with the least mean distortion among channels with one output for each value and
    I(X; Y) <= bound.

        minimise   sum over x, y of P(x) Q(y|x) d(x, y)    where    sum of P(x) Q(y|x) ln(Q(y|x) / P(y)) <= bound

    The solution uses sequential quadratic programming over r for a price s, and bisection over s. If the optimum jumps
    at some s, the result is the channel with less information.

    Source: Wang, Qin, Qiu 2023, sec. IV; Cover, Thomas 2006, sec. 10.7 and 10.8.

    Args:
        prior: k positive integers, P(x) = prior[x] / sum(prior).
        bound: the largest mutual information in nanonats.
        distortion: (k, k) finite numbers d(x, y), the cost of output y for input x; by default 1 if x and y differ,
            else 0.
    Raises:
        NotionError: the bound is at most ``INFORMATION_RESERVE``, or the channel without distortion already satisfies
            it.
        ValueError: ``distortion`` does not have the shape (k, k), or is not finite.
    """
    distribution = np.asarray(prior, dtype=np.float64) / sum(prior)
    d = 1.0 - np.eye(len(distribution)) if distortion is None else np.asarray(distortion, dtype=np.float64)
    if d.shape != (len(distribution), len(distribution)) or not np.isfinite(d).all():
        raise ValueError(f"the distortion must be a table of {len(distribution)} x {len(distribution)} finite numbers")
    # A constant added to all costs of an input does not change the optimum.
    d = d - d.min(axis=1, keepdims=True)
    allowed = exact.nats(bound) - INFORMATION_RESERVE
    low, high, best = 0.0, STEEPEST / float(d.max()) if d.max() else 0.0, distribution
    if (
        allowed <= 0
        or mutual_information_of(
            distribution, _channel_rows(_output_distribution(distribution, d, high, distribution), d, high)
        )
        <= allowed
    ):
        raise NotionError(
            "the channel without distortion already satisfies this bound on the mutual information; lower the bound"
            if allowed > 0
            else f"the bound on the mutual information must be above {INFORMATION_RESERVE:g} nats, not "
            f"{exact.in_nats(bound)} (nats: see docs/GLOSSARY.md)"
        )
    r = distribution
    for _ in range(45):
        middle = (low + high) / 2
        r = _output_distribution(distribution, d, middle, r)
        if mutual_information_of(distribution, _channel_rows(r, d, middle)) <= allowed:
            low, best = middle, r
        else:
            high = middle
    rows = [[Fraction(cell) for cell in row] for row in _channel_rows(best, d, low).tolist()]
    return Table.rounded([[cell / sum(row) for cell in row] for row in rows])


def mutual_information_of(distribution: Floats, rows: Floats) -> float:
    """Return the mutual information I(X; Y) in nats for the distribution of X, (k,), and a channel's rows, (k, m)."""
    marginal = distribution @ rows
    lift = np.divide(rows, marginal, out=np.ones_like(rows), where=(rows > 0) & (marginal > 0))
    return float((distribution[:, np.newaxis] * rows * np.log(lift)).sum())


def _output_distribution(distribution: Floats, d: Floats, price: float, start: Floats) -> Floats:
    """Return the output distribution of the best channel if a unit of distortion costs ``price`` nats, shape (k,)."""
    size = len(distribution)
    factors = np.exp(-price * d)

    def cost(r: Floats) -> tuple[float, Floats]:
        # The objective is minus the mean of ln sum over y of r[y] e^(-s d), convex in r (Cover, Thomas 2006, eq.
        # 10.124).
        mean_factors = factors @ np.maximum(r, 0) + 1e-300
        return -float(distribution @ np.log(mean_factors)), -(distribution / mean_factors) @ factors

    result = optimize.minimize(
        cost,
        start,
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * size,
        constraints={"type": "eq", "fun": lambda r: r.sum() - 1, "jac": lambda r: np.ones((1, size))},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return np.where(result.x > RAREST, result.x, 0.0)


def _channel_rows(r: Floats, d: Floats, price: float) -> Floats:
    """Return the channel whose rows are in proportion to r[y] e^(-price d(x, y)), shape (k, k)."""
    rows: Floats = np.exp(-price * d) * r
    rows /= rows.sum(axis=1, keepdims=True)
    return rows
