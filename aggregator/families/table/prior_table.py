"""Recipes of LIP tables for a prior, as certified integers: with the least error, or with an unbiased estimate.

The *gain* of a channel is the expected squared error without a report minus the expected squared error with one report
(``prior_mse`` - ``lip_mse``).

With a radius, the level holds for every prior within this radius. The linear program is in ``column_generation``, and
its corners for a radius are in ``ball``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from aggregator.estimate.error import lip_mse, prior_mse
from aggregator.families.decoder import Floats
from aggregator.families.lifts import level_for_ball
from aggregator.families.rounding import LEVEL_RESERVE
from aggregator.families.table.ball import Staircases, of_two
from aggregator.families.table.column_generation import Coordinates, Mixture, best_mixture
from protocol import exact, personal
from protocol.channels import Table
from protocol.channels.response.channel import RESPONSE_SCALE
from protocol.channels.table.channel import TABLE_SCALE
from protocol.errors import ChannelError, Uncertified
from protocol.exact import NANONATS
from protocol.notions import Lip, certify
from protocol.notions.information import RADIUS_UNITS

MAX_TABLE_INPUTS = 150
"""Maximum number of inputs; a larger table takes minutes to design and more than 200 kilobytes to send."""

ATTEMPTS = 12
"""Number of attempts. The first reserves ``LEVEL_RESERVE`` for rounding, and each other one four times as much as the
attempt before."""

MAX_ERROR = 1.005
"""Maximum error of a table that is mixed with a response, as a multiple of the least error."""

MAX_LOST = 0.01
"""Maximum part of the best table's gain that the mixture may lose, unless ``MIN_PART`` requires more."""

MIN_PART = 1e-4
"""Least probability of the response in the mixture."""


def optimal_table(prior: Sequence[int], level: int, radius: int = 0) -> Table:
    """Return a table with at most k outputs: the LIP channel with the least expected squared error under ``prior``
    that column generation finds.

    For up to 14 inputs (10 with a radius) the table is the optimum of the linear program over all corners. For more
    inputs, where a channel attains the bound of MATH 2.2, the table has about 0.9999 of the gain that the bound allows.
    The table is designed for a level that is lower by a billionth, then rounded and certified. If it is not certified,
    the level is lowered further.

    Args:
        prior: positive integers, P[x] = prior[x] / sum.
        level: the LIP level in nanonats.
        radius: the total variation distance from ``prior`` within which the level holds for every prior, in parts per
            billion.
    Raises:
        ChannelError: more than ``MAX_TABLE_INPUTS`` inputs; use ``windows``. Or the solver of the linear program fails.
        Uncertified: no rounding was found that satisfies the level.
    """
    if len(prior) > MAX_TABLE_INPUTS:
        raise ChannelError(
            f"an explicit table is made for at most {MAX_TABLE_INPUTS} values, not {len(prior)}: use windows"
        )
    return _optimal(tuple(prior), level, radius)


@lru_cache(maxsize=4)
def _optimal(prior: tuple[int, ...], level: int, radius: int) -> Table:
    mass = np.asarray(prior, dtype=np.float64) / sum(prior)
    return certified_table(Lip(level, prior, radius), lambda nats: _mixture(mass, nats, radius / RADIUS_UNITS))


def certified_table(notion: Lip, mixture_of: Callable[[float], Mixture]) -> Table:
    """Return the table of a mixture of posteriors, designed for a level that is lower by a billionth, or for an even
    lower level if the rounded table does not satisfy the notion.

    Args:
        mixture_of: the function from a level in nats to the mixture.
    Raises:
        Uncertified: no rounding was found that satisfies the notion.
    """
    for attempt in range(ATTEMPTS):
        mixture = mixture_of(notion.level / NANONATS * (1 - LEVEL_RESERVE * 4**attempt))
        rows = (mixture.lifts * mixture.weights[:, np.newaxis]).T
        if rows.shape[1] < 2:
            rows = np.repeat(rows / 2, 2, axis=1)
        table = Table.rounded([_whole(row) for row in rows])
        try:
            certify(table, notion)
        except Uncertified:
            continue
        return table
    raise Uncertified(
        f"no rounding of the best table satisfies {exact.in_nats(notion.level)} (nats: see docs/GLOSSARY.md): choose "
        "another mechanism"
    )


def _mixture(mass: Floats, nats: float, radius: float) -> Mixture:
    """Return the best mixture for a prior and all priors within ``radius``; for two values in closed form.

    Args:
        nats: the LIP level in nats.
        radius: the radius in total variation.
    """
    b = math.exp(nats)
    if not radius:
        return best_mixture(Coordinates(mass, mass**2, 0 * mass, 1 / b, b, 1.0, 1.0))
    return of_two(mass, b, radius) if len(mass) == 2 else best_mixture(Staircases.of(mass, b, radius))


def estimable_table(prior: Sequence[int], level: int, radius: int = 0) -> Table:
    """Return the ``optimal_table`` of a prior, mixed with ``lip_response``, so that an unbiased estimate exists.

    The optimal table often has fewer different outputs than inputs, or linearly dependent rows; then no unbiased
    estimate and no interval exist. Each output of the mixture belongs to one of the two channels, so the level holds,
    and the error is the weighted mean of both errors. The response is used with the smaller of two probabilities: the
    probability at which the error is ``MAX_ERROR`` times that of the optimal table, and the probability at which a
    part ``MAX_LOST`` of that table's gain is lost; but at least with ``MIN_PART`` and at most with 1/2.

    Args, Raises: see ``optimal_table``.
    """
    best = optimal_table(prior, level, radius)
    # Two nanonats are reserved for the rounding of the table's cells.
    other = personal.lip_response(prior, level_for_ball(level, radius) - 2)
    best_error, other_error = lip_mse(best, prior), lip_mse(other, prior)
    more = min((MAX_ERROR - 1) * best_error, MAX_LOST * (prior_mse(prior) - best_error)) / max(
        other_error - best_error, 1e-12
    )
    part = Fraction(min(max(more, MIN_PART), 0.5)).limit_denominator(10**6)
    rows = [
        [(1 - part) * Fraction(cell, 1 << TABLE_SCALE) for cell in row]
        + [part * Fraction(other.weight(x, y), 1 << RESPONSE_SCALE) for y in range(other.output_count)]
        for x, row in enumerate(best.rows)
    ]
    table = Table.rounded(rows)
    certify(table, Lip(level, tuple(prior), radius))
    return table


def _whole(row: Floats) -> list[Fraction]:
    """Return the row as fractions that sum to exactly one; the rounding error of the floats is distributed
    proportionally."""
    cells = [Fraction(float(cell)) for cell in row]
    total = sum(cells)
    return [cell / total for cell in cells]
