"""Least distortion under mutual information: the convex-optimisation mechanism.

Among the channels that answer with law r, the one of least distortion at a price s for each nat is Q(y|x) in proportion
to r[y] e^(-s d(x, y)); so k numbers r are sought instead of k^2, in one convex problem, and s until the information is
what is allowed. This is Shannon's rate-distortion problem, read as privacy.

The worst-case level follows from the certificate: every input can give every output.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from protocol import exact
from protocol.channels import Table
from protocol.errors import NotionError

Floats: TypeAlias = NDArray[np.float64]

ROOM = 2e-8
"""Nats of the cap that rounding may take: the audit's bound is a few nanonats too high."""

RAREST = 1e-12
"""Answers less likely than this are left out."""

STEEPEST = 40.0
"""Nats: beyond this price of the largest distortion, no probability is a 62-bit integer."""


def mutual_information_table(
    prior: Sequence[int], cap: int, distortion: Sequence[Sequence[float]] | None = None
) -> Table:
    """The channel of least mean distortion with I(X; Y) <= cap, inputs as outputs.

        minimise   sum over x, y of P(x) Q(y|x) d(x, y)    where    sum of P(x) Q(y|x) ln(Q(y|x) / P(y)) <= cap

    Solved by sequential quadratic programming over r for a price s, and bisection over s. Where the optimum jumps in s
    (two answers of equal worth), the side of less information is taken.

    Source: Wang, Qin, Qiu 2023, sec. IV; Cover, Thomas 2006, sec. 10.7 and 10.8.

    Args:
        prior: k positive integers, P(x) = prior[x] / sum(prior).
        cap: nanonats.
        distortion: k x k finite numbers, d(x, y) where x is answered by y; 1 for every wrong answer where not given.
    Raises:
        NotionError: the cap is not binding (the distortion-free channel keeps it), or it is zero.
    """
    law = np.asarray(prior, dtype=np.float64) / sum(prior)
    d = 1.0 - np.eye(len(law)) if distortion is None else np.asarray(distortion, dtype=np.float64)
    if d.shape != (len(law), len(law)) or not np.isfinite(d).all():
        raise ValueError(f"a distortion is {len(law)} x {len(law)} finite numbers")
    d = d - d.min(axis=1, keepdims=True)  # a constant added to all costs of an input does not change the optimum
    allowed = exact.nats(cap) - ROOM
    low, high, best = 0.0, STEEPEST / float(d.max()) if d.max() else 0.0, law
    if allowed <= 0 or information(law, _answering(_answers(law, d, high, law), d, high)) <= allowed:
        raise NotionError(
            "with these distortions the best channel already keeps this much mutual information; ask for less"
            if allowed > 0
            else "a cap of nothing leaves nothing to tell"
        )
    r = law
    for _ in range(45):
        middle = (low + high) / 2
        r = _answers(law, d, middle, r)
        if information(law, _answering(r, d, middle)) <= allowed:
            low, best = middle, r
        else:
            high = middle
    rows = [[Fraction(cell) for cell in row] for row in _answering(best, d, low).tolist()]
    return Table.nearest([[cell / sum(row) for cell in row] for row in rows])


def information(law: Floats, rows: Floats) -> float:
    """I(X; Y), nats, for the law (k,) of X and the rows (k, m) of a channel."""
    marginal = law @ rows
    lift = np.divide(rows, marginal, out=np.ones_like(rows), where=(rows > 0) & (marginal > 0))
    return float((law[:, np.newaxis] * rows * np.log(lift)).sum())


def _answers(law: Floats, d: Floats, price: float, start: Floats) -> Floats:
    """(k,): the law of the answers of the best channel where a unit of distortion is worth ``price`` nats."""
    size = len(law)
    worth = np.exp(-price * d)

    def cost(r: Floats) -> tuple[float, Floats]:
        # minus the mean of ln sum over y of r[y] e^(-s d), convex in r (Cover, Thomas 2006, eq. 10.124)
        seen = worth @ np.maximum(r, 0) + 1e-300
        return -float(law @ np.log(seen)), -(law / seen) @ worth

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


def _answering(r: Floats, d: Floats, price: float) -> Floats:
    """(k, k): the rows in proportion to r[y] e^(-price d(x, y))."""
    rows: Floats = np.exp(-price * d) * r
    rows /= rows.sum(axis=1, keepdims=True)
    return rows
