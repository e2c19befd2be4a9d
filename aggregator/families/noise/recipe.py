"""Recipes for noise, and the notion of geo-indistinguishability from the distances of a domain.

A distribution whose weights fall by a factor of e^level with each step satisfies the level between neighbours. It also
satisfies the level at the border if the largest step gets the mass of all larger steps. Integer weights satisfy the
level if each weight is computed from its predecessor and rounded up: then no weight is zero, and no ratio exceeds its
bound.

``protocol.levels.pairs`` computes the (eps, delta) curve of a distribution.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from aggregator.families.decoder import Floats
from aggregator.families.mechanism import DENSE, Mechanism, PlannedQuestion, Recipe, for_ldp
from aggregator.families.rounding import LEVEL_RESERVE, D, ceil
from protocol import exact
from protocol.channels.noise.channel import MAX_LATTICE_POINTS, NOISE_SCALE, Noise
from protocol.domain import MICRODEGREES, Domain, Grid, Line
from protocol.errors import NotionError
from protocol.exact import exp_lower
from protocol.notions import Geo, Ldp

ONE = 1 << NOISE_SCALE

EARTH = 6_371_008
"""The mean radius of the Earth in metres."""

METRICS = ("steps", "numbers", "degrees", "kilometres")

FLOOR = 1 << 28
"""Maximum of the weight that planar noise adds to every step; steps to the last row or column may get more. With this
weight, rounding up by 1 changes a weight by at most 4 billionths."""

REACH = 4096
"""Maximum number of steps beyond the lattice, in each direction, over which planar noise is summed."""

FAR = 40.0
"""The number of nats below the largest term at which the remaining terms of a sum over steps are negligible."""

CLOSE = 1 - 1e-4
"""Planar noise is not improved further if its audited level exceeds this fraction of the allowed level."""


def discrete_laplace(size: int, level: int) -> Noise:
    """Return two-sided geometric noise on a line: P(step d) = (1 - a) / (1 + a) a^|d|, a = e^-level.

    Each weight except the last is e^-level times its predecessor, rounded up. The last weight also contains the mass of
    all larger steps and is 1 / (e^level - 1) times its predecessor. The step of zero gets the remaining mass. The first
    weight is the smallest weight for which the step of zero is at most e^level times as likely as the first step. So
    the probabilities of an output given two inputs at distance d have a ratio of at most e^(d level), and the LDP level
    is (size - 1) level.

    Source: Ghosh, Roughgarden, Sundararajan 2009, Def. 2.1 (truncated geometric mechanism).

    Args:
        size: the number of points.
        level: the level in nanonats per step.
    """
    N = exp_lower(level)

    def steps(first: int) -> list[int]:
        weights = [first]
        for _ in range(size - 3):
            weights.append(ceil(weights[-1] * D, N))
        if size > 2:
            weights.append(ceil(weights[-1] * D, N - D))
        return weights

    def within_level(first: int) -> bool:
        # With two points, the first step is also the last one.
        return (ONE - 2 * sum(steps(first))) * D <= (N if size > 2 else N - D) * first

    first = 1 + bisect_left(range(1, ONE), True, key=within_level)
    weights = steps(first)
    return Noise(1, size, (ONE - 2 * sum(weights), *weights))


def discrete_gaussian(size: int, sigma: float, level: int) -> Noise:
    """Return Gaussian noise on a line, P(step d) in proportion to e^(-d^2 / (2 sigma^2)), with uniform far tails.

    A Gaussian tail has no finite level. Here every step has at least e^-level times the largest probability, so the
    channel satisfies pure LDP at the declared ``level``. With a small delta it satisfies a much smaller epsilon, which
    the audit computes. The last step gets the mass of all larger steps, and at least the mass that the level requires
    at a border.

    Source: Canonne, Kamath, Steinke 2020, Def. 1 (discrete Gaussian); the paper has no uniform tails.

    Args:
        size: the number of points.
        sigma: the parameter sigma in steps, above 0.
        level: the LDP level for all pairs in nanonats.
    Raises:
        ValueError: sigma is not a finite number above 0.
    """
    if not 0 < sigma < math.inf:
        raise ValueError(f"sigma must be a finite number of steps above 0, not {sigma}")
    floor = math.exp(-exact.nats(level) * (1 - LEVEL_RESERVE))
    distribution = np.maximum(np.exp(-0.5 * (np.arange(size) / sigma) ** 2), floor)
    beyond = np.arange(size - 1, math.ceil(size + 40 * sigma))
    distribution[-1] = max(
        float(np.exp(-0.5 * (beyond / sigma) ** 2).sum()),
        float(distribution[:-1].sum()) * floor / (1 - floor),
    )
    scaled = distribution[1:] * (ONE / (distribution[0] + 2 * float(distribution[1:].sum())))
    weights = [math.ceil(weight) for weight in scaled.tolist()]
    return Noise(1, size, (ONE - 2 * sum(weights), *weights))


def planar(geo: Geo) -> Noise:
    """Return noise for a grid of cells, P(step) in proportion to e^(-level distance / unit).

    The last row and column of steps get the mass of all larger steps. So by the triangle inequality the level holds for
    all pairs of cells, also at the border. A small weight, which also satisfies the level, is added to every step, so
    that rounding up changes no ratio by more than a few billionths. The level is lowered by this amount, and the result
    is audited. On a line the result is ``discrete_laplace``. On an uneven lattice the smallest gap is used for all
    gaps.

    Source: Andres et al. 2013, sec. 4.1 (planar Laplacian; here discrete, with larger steps added to the last row and
    column).

    Raises:
        NotionError: the level between neighbours is too low for any channel to distinguish them.
    """
    down = min((gap for gap, _ in geo.down), default=0)
    across = min((gap for gap, _ in geo.across), default=0)
    if not (geo.down and geo.across):
        level = geo.level * max(down, across) // geo.unit
        if not level:
            raise NotionError(
                "the level between neighbouring points is too low for any noise; use fewer points or a higher level"
            )
        return discrete_laplace(geo.rows * geo.columns, min(level, exact.MAX_LEVEL))
    slope = exact.nats(geo.level) / geo.unit  # nats per unit of the coordinates
    floors = np.outer(_flat(geo.rows, slope * down), _flat(geo.columns, slope * across))
    floor = min(FLOOR, int(ONE / 1000 / _mirrored_sum(floors)))
    rate = slope - 4 / max(floor, 1) / min(down, across)
    best: tuple[int, Noise] | None = None
    for _ in range(5):
        if rate * min(down, across) * REACH < FAR:
            break
        channel = _planar(geo.rows, geo.columns, rate * down, rate * across, floor * floors)
        _, audited, _ = geo.audit(channel)
        if audited <= geo.level and (best is None or audited > best[0]):
            best = audited, channel
        if CLOSE * geo.level < audited <= geo.level:
            break
        # Truncation and rounding raise the audited level above the requested level, and mass at the border lowers it,
        # so the rate is corrected.
        rate *= geo.level / audited * (1 - LEVEL_RESERVE)
    if best is None:
        raise NotionError(
            "the level between neighbouring cells is too low for any noise; use larger cells or a higher level"
        )
    return best[1]


def _planar(rows: int, columns: int, down: float, across: float, floors: Floats) -> Noise:
    """Return planar noise of ``down`` and ``across`` nats per step, with the weights ``floors`` added."""
    r = down * np.arange(rows + min(REACH, math.ceil(FAR / down)))[:, np.newaxis]
    reach = min(REACH, math.ceil(FAR / across))
    distribution = np.empty((rows, columns))
    for column in range(columns):
        # The last row and the last column get the mass of all steps beyond them too.
        alike = np.arange(column, columns + reach if column == columns - 1 else column + 1)
        mass = np.exp(-np.hypot(r, across * alike)).sum(axis=1)
        distribution[: rows - 1, column], distribution[rows - 1, column] = mass[: rows - 1], mass[rows - 1 :].sum()
    distribution *= (ONE - _mirrored_sum(floors)) / _mirrored_sum(distribution)
    cells = zip(distribution.ravel().tolist(), floors.ravel().tolist(), strict=True)
    weights = [math.ceil(weight) + int(floor) for weight, floor in cells]
    images = [(1 + (row > 0)) * (1 + (column > 0)) for row in range(rows) for column in range(columns)]
    weights[0] += ONE - sum(weight * image for weight, image in zip(weights, images, strict=True))
    return Noise(rows, columns, tuple(weights))


def _flat(size: int, step: float) -> Floats:
    """Return step weights that are equal inside and satisfy ``step`` / root 2 nats per step at the border.

    The product of two such axes satisfies the level in Euclidean distance, since (r + c) / root 2 <= root(r^2 + c^2).
    """
    distribution = np.ones(size)
    distribution[-1] = math.ceil(1 / math.expm1(step / math.sqrt(2)))
    return distribution


def _mirrored_sum(distribution: Floats) -> float:
    """Return the sum of the weights over all steps and their mirror images."""
    return float(4 * distribution.sum() - 2 * distribution[0].sum() - 2 * distribution[:, 0].sum() + distribution[0, 0])


def geo_over(domain: Domain, level: int, metric: str = "steps", scale: Fraction = Fraction(1)) -> Geo:
    """Return the notion of geo-indistinguishability over the distances of a domain.

        steps        neighbouring inputs are 1 apart, diagonal neighbours of a grid root 2
        numbers      the difference of the numbers
        degrees      a grid as a plane of latitude and longitude
        kilometres   a grid as a plane whose cells are as wide as the narrowest of them, rounded down to millimetres:
                     no cell's width is overstated

    Args:
        level: the level in nanonats per ``scale`` of the metric.
        scale: the distance to which the level applies, in the metric's unit, such as 1/2 for half a kilometre.
    Raises:
        NotionError: the domain does not have this metric, ``scale`` is not above zero, or the level is out of range.
    """
    if scale <= 0:
        raise NotionError(f"scale, the distance at which the level is epsilon, must be above 0, not {float(scale):g}")
    rows, columns, unit = _coordinates(domain, metric)
    factor = scale.denominator
    return Geo.between(
        level, unit * scale.numerator, [factor * row for row in rows], [factor * column for column in columns]
    )


def _coordinates(domain: Domain, metric: str) -> tuple[Sequence[int], Sequence[int], int]:
    """Return the coordinates of the rows and of the columns as integers, and the integer that equals one unit of the
    metric."""
    if metric not in METRICS:
        raise NotionError(f"unknown metric {metric[:40]!r}; expected one of {', '.join(METRICS)}")
    if isinstance(domain, Grid):
        down, across, unit = 1, 1, 1
        if metric == "degrees":
            down, across, unit = domain.step, domain.step, MICRODEGREES
        if metric == "kilometres":
            height = 1000 * EARTH * math.radians(domain.step / MICRODEGREES)
            narrowest = math.cos(math.radians(max(abs(domain.south), abs(domain.north)) / MICRODEGREES))
            down, across, unit = math.floor(height), math.floor(height * narrowest), 10**6
        if metric != "numbers":
            if not across:
                raise NotionError("at a pole the cells of a grid have no width; use another metric")
            return range(0, domain.rows * down, down), range(0, domain.columns * across, across), unit
    elif metric == "numbers" and isinstance(domain, Line):
        return [0], domain.scaled, 10**domain.decimal_places
    elif metric == "steps":
        return [0], range(domain.size), 1
    raise NotionError(f"metric {metric!r} does not apply to these values: use 'steps'")


def _on_a_line(question: PlannedQuestion) -> Recipe | str:
    notion = question.notion
    if isinstance(notion, Geo) and notion.is_line:
        return lambda: planar(notion)
    if isinstance(notion, Ldp) and isinstance(question.domain, Line):
        return for_ldp(lambda size, level: discrete_laplace(size, level // (size - 1)), MAX_LATTICE_POINTS)(question)
    return "it needs numbers on a line, with notion geo or ldp"


def _around_a_place(question: PlannedQuestion) -> Recipe | str:
    notion = question.notion
    if not isinstance(notion, Geo) or notion.is_line:
        return "it needs places: a grid domain with notion geo"
    return lambda: planar(notion)


MECHANISMS = (
    Mechanism(
        "geometric", "discrete Laplace noise on a line", "Ghosh, Roughgarden, Sundararajan 2009", DENSE, _on_a_line
    ),
    Mechanism("planar", "discrete noise on a grid of places", "Andres et al. 2013", DENSE, _around_a_place),
)
