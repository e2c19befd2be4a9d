"""Non-negative least squares by block pivoting, for groups of columns that share no rows except a few equations.

Lawson and Hanson (1974) begin with no column and add one at a time, so that each solution costs as many steps as it
has positive entries. Block pivoting begins with a guess of the positive entries and exchanges all columns with a wrong
sign at once (Portugal, Judice and Vicente 1994). With a good guess it needs few steps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import nnls

from aggregator.families.decoder import Floats, Mask

MIN_COLUMNS = 32
"""With fewer columns Lawson and Hanson's method takes less time than block pivoting."""

MAX_EXCHANGES = 30
"""Maximum number of steps of block pivoting. A step costs a Cholesky factorisation and a solution for each group."""

MAX_GROWTHS = 3
"""Maximum number of successive steps without a new smallest number of wrong signs."""

WORST_PIVOT = 1e-5
"""Smallest sine of the angle between a column and the columns before it at which a Cholesky factorisation is used."""

ROUNDED_RATE, ROUNDED_SHARE = 1e-8, 1e-13
"""A column is added only if half the sum of squares decreases at more than the first number times the largest rate at
zero without the equations. It is removed only if its entry is below minus the second number times the largest entry."""


def nonnegative_solution(
    groups: Sequence[tuple[Floats, Floats]], equations: tuple[Floats, Floats], guess: Mask
) -> Floats:
    """Return the x >= 0 that minimises the sum of squares of all rows and equations, shape (m,).

    Block pivoting finds it, or Lawson and Hanson's method if there are few columns, if columns are nearly dependent, or
    if the signs are still wrong after ``MAX_EXCHANGES`` steps.

    Args:
        groups: for each group of columns its rows and their targets, shapes (M_g, m_g) and (M_g,).
        equations: rows over the columns of all groups, one group after another, and their targets, shapes (E, m) and
            (E,).
        guess: (m,) the columns that are expected to be positive.
    """
    pivoted = _pivoted(groups, equations, guess) if len(guess) >= MIN_COLUMNS else None
    return _lawson_hanson(groups, equations) if pivoted is None else pivoted


def _lawson_hanson(groups: Sequence[tuple[Floats, Floats]], equations: tuple[Floats, Floats]) -> Floats:
    rows = np.vstack([block_diag(*(rows for rows, _ in groups)), equations[0]])
    orthogonal, triangle = np.linalg.qr(rows)
    targets = np.concatenate([*(targets for _, targets in groups), equations[1]])
    solution, _ = nnls(triangle, orthogonal.T @ targets, maxiter=100 * rows.shape[1])
    return np.asarray(solution)


def _pivoted(groups: Sequence[tuple[Floats, Floats]], equations: tuple[Floats, Floats], guess: Mask) -> Floats | None:
    """Return the solution by block pivoting, shape (m,); None if it is not found or not accurate."""
    grams = [rows.T @ rows for rows, _ in groups]
    sums = np.concatenate([rows.T @ targets for rows, targets in groups])
    bounds = np.cumsum([len(gram) for gram in grams])[:-1]
    across, fixed_sums = equations
    least_rate = ROUNDED_RATE * float(np.abs(sums).max())
    passive, fewest, growths = guess, len(guess) + 1, 0
    for _ in range(MAX_EXCHANGES):
        solution = _solved(grams, sums, equations, passive)
        if solution is None:
            return None
        slopes = np.concatenate([gram @ part for gram, part in zip(grams, np.split(solution, bounds), strict=True)])
        slopes += (across @ solution - fixed_sums) @ across - sums
        wrong = np.where(passive, solution < -ROUNDED_SHARE * solution.max(), slopes < -least_rate)
        count = int(wrong.sum())
        if not count:
            return np.maximum(solution, 0)
        growths = 0 if count < fewest else growths + 1
        fewest = min(fewest, count)
        if growths > MAX_GROWTHS:  # The exchange of a single column, the last one, always ends (Murty 1974).
            wrong[: np.flatnonzero(wrong)[-1]] = False
        passive = passive ^ wrong
    return None


def _solved(grams: Sequence[Floats], sums: Floats, equations: tuple[Floats, Floats], passive: Mask) -> Floats | None:
    """Return the least-squares solution with zeros outside ``passive``, shape (m,); None if it is not accurate.

    The solution without the equations is corrected by the Sherman-Morrison-Woodbury formula.
    """
    across, fixed_sums = equations
    right = np.vstack([sums, across])
    solved = np.zeros_like(right)
    first = 0
    for gram in grams:
        places = np.flatnonzero(passive[first : first + len(gram)])
        columns = first + places
        first += len(gram)
        if not len(places):
            continue
        try:
            triangle = np.linalg.cholesky(block := gram[np.ix_(places, places)])
        except np.linalg.LinAlgError:
            return None
        if (triangle.diagonal() < WORST_PIVOT * np.sqrt(gram.diagonal()[places])).any():
            return None
        solved[:, columns] = np.linalg.solve(block, right[:, columns].T).T
    free, moves = solved[0], solved[1:]
    return np.asarray(
        free + np.linalg.solve(np.eye(len(fixed_sums)) + across @ moves.T, fixed_sums - across @ free) @ moves
    )
