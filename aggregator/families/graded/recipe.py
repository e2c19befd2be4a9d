"""The recipe of graded projective response, which finds the geometry and the contrasts with the least error.

Let f = cs / K be the part of the K outputs that an input prefers: its S_x, a set of cs points. The contrast of a class
is the logarithm of its inside weight divided by its outside weight; let g = f e^contrast + 1 - f. As multiples of the
uniform weight, the outside weight is w = 1 / g and the inside weight is (1 - (1 - f) w) / f. So the bound of a pair of
classes is linear in w, and the error is convex,

    1 - (1 - f) w_c <= f e^E_cd w_d        for each pair of classes that is bounded at E_cd
    n Var[x] = f / ((1 - f) (1 - w_c)^2)    of a rare value x of class c

For each geometry, Newton's method inside a logarithmic barrier finds the unique optimum. The best order of the field is
found by trying several orders; see ``FIRST_TRIED``. The complement of a design, whose f = 1 - cs / K is above a half,
is never better: an input that prefers most outputs is distinguished by the outputs that it does not prefer.

The outside weights are rounded up to integers with which the rows sum to a power of two. The certificate proves the
level.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aggregator.families.barrier import PRECISION, Problem, minimising_point
from aggregator.families.decoder import Floats
from aggregator.families.mechanism import TRANSFORM, Mechanism, PlannedQuestion, Recipe
from aggregator.families.projective.recipe import NO_WORSE, geometries, sizes
from aggregator.families.rounding import LEVEL_RESERVE
from protocol import exact
from protocol.channels.graded.channel import MAX_INPUT_CLASSES, GradedProjective
from protocol.channels.support import ONE
from protocol.notions import Pairwise
from protocol.notions.graded import Graded
from protocol.notions.pairwise import UNBOUNDED, Matrix

ROUGHLY = 1e-4
"""Relative precision of the error; enough to choose among geometries."""

FIRST_TRIED = 16
"""About the number of field orders that are tried first. Then the orders near the best are tried; this suffices because
the error has one minimum."""


def graded(classes: Sequence[Sequence[int]], levels: Floats, shown_count: int | None = None) -> GradedProjective:
    """Return the graded projective response with the least error if all values are equally common.

    Args:
        classes: the inputs of each class.
        levels: (t, t) the bound between inputs of two classes in nats, above 0. An infinite bound (no bound) is
            replaced by the largest level that a campaign may have.
        shown_count: r; the error of the inputs 0 .. r - 1 is minimised. None for all inputs.
    Raises:
        ChannelError: all classes get the same contrast; use projective response instead.
    """
    size = sum(map(len, classes))
    counts = np.array([sum(x < (shown_count or size) for x in members) for members in classes], dtype=np.float64)
    bounds = np.minimum(levels, exact.nats(exact.MAX_LEVEL)) * (1 - LEVEL_RESERVE)
    for number, members in enumerate(classes):
        if len(members) == 1:
            bounds[number, number] = np.inf  # the class has no second input
    shapes = _shapes(size, float(bounds[np.isfinite(bounds)].max()))
    tried: dict[tuple[int, int], float] = {}
    stride, near = max(len(shapes) // FIRST_TRIED, 1), shapes
    while True:
        for shape in near[::stride]:
            if shape not in tried:
                tried[shape], _ = _solved(shape, counts, bounds, ROUGHLY)
        best = min(tried, key=tried.__getitem__)
        if stride == 1:
            break
        middle = shapes.index(best)
        near, stride = shapes[max(middle - stride, 0) : middle + stride + 1], max(stride // 4, 1)
    enough = NO_WORSE * tried[best]
    order, dimension = min(
        (sizes(*shape)[2].bit_length(), error, shape) for shape, error in tried.items() if error <= enough
    )[2]
    _, w = _solved((order, dimension), counts, bounds, PRECISION)
    _, support, points = sizes(order, dimension)
    weights = [int(weight * (ONE / points)) + 1 for weight in w.tolist()]
    outside = [0] * size
    for weight, members in zip(weights, classes, strict=True):
        for x in members:
            outside[x] = weight + (ONE - weight) % support
    return GradedProjective.over(order, dimension, outside)


def _shapes(size: int, nats: float) -> list[tuple[int, int]]:
    """Return the pair (q, t) of each candidate order q, in increasing order; t is the least dimension with at
    least ``size`` points.

    With a single level the best order is near e^level + 1, so candidates are at most twice this number. The smallest
    order and the smallest line are always candidates.
    """
    dimensions: dict[int, int] = {}
    for order, dimension, _ in geometries(size):
        dimensions[order] = min(dimension, dimensions.get(order, dimension))
    largest = max(2 * (np.exp(nats) + 1), min(dimensions))
    return sorted((order, dimension) for order, dimension in dimensions.items() if order <= largest or dimension == 2)


def _solved(shape: tuple[int, int], counts: Floats, bounds: Floats, precision: float) -> tuple[float, Floats]:
    """Return the least error of a geometry, up to the relative ``precision``, and the outside weight w of each
    class."""
    _, support, points = sizes(*shape)
    problem = _OutsideWeights(support / points, counts, bounds)
    w = minimising_point(problem, precision)
    return problem.objective(w), w


class _OutsideWeights(Problem):
    """The optimisation problem of one geometry: the total error of the shown values as a function of w."""

    def __init__(self, f: float, counts: Floats, bounds: Floats) -> None:
        self._f, self._counts = f, counts
        pairs = np.argwhere(np.isfinite(bounds))
        steep = np.exp(bounds[tuple(pairs.T)])
        rows, pair_rows = np.zeros((len(pairs), len(counts))), np.arange(len(pairs))
        np.add.at(rows, (pair_rows, pairs[:, 0]), f - 1)
        np.add.at(rows, (pair_rows, pairs[:, 1]), -f * steep)
        self.rows = np.vstack([rows, np.eye(len(counts))])
        self.limits = np.concatenate([np.full(len(pairs), -1.0), np.ones(len(counts))])
        bound = float(steep.min())
        self.start = np.full(len(counts), 1 - f * (bound - 1) / (1 - f + f * bound) / 2)

    def objective(self, z: Floats) -> float:
        return float(self._counts @ (1 - z) ** -2.0) * self._f / (1 - self._f)

    def barrier(self, z: Floats, weight: float) -> tuple[float, Floats, Floats]:
        scaled, short = weight * self._counts * self._f / (1 - self._f), 1 - z
        return weight * self.objective(z), 2 * scaled / short**3, np.diag(6 * scaled / short**4)


def equal_inputs(notion: Matrix) -> list[list[int]]:
    """Return the inputs of each class. Exchanging two inputs of a class leaves the matrix of levels unchanged."""
    levels = notion.levels
    classes: list[list[int]] = []
    for x, row in enumerate(levels):
        for members in classes:
            first = members[0]
            alike = all(
                row[y] == levels[first][y] and levels[y][x] == levels[y][first]
                for y in range(len(row))
                if y not in (x, first)
            )
            if (
                alike
                and row[first] == levels[first][x]
                and (len(members) == 1 or row[first] == levels[first][members[1]])
            ):
                members.append(x)
                break
        else:
            classes.append([x])
    return classes


def _bounds_of(notion: Pairwise, classes: Sequence[Sequence[int]]) -> Floats:
    """Return the bound of each pair of classes in nats, shape (t, t); infinite for pairs without a bound."""
    levels = np.full((len(classes), len(classes)), np.inf)
    if isinstance(notion, Matrix):
        for c, members in enumerate(classes):
            for d, others in enumerate(classes):
                other = next((y for y in others if y != members[0]), None)
                level = UNBOUNDED if other is None else notion.levels[members[0]][other]
                if level != UNBOUNDED:
                    levels[c, d] = exact.nats(level)
        return levels
    for c, d, level in notion.bounds():
        levels[c, d] = exact.nats(level)
    return levels


def _recipe(question: PlannedQuestion) -> Recipe | str:
    notion = question.notion
    if not isinstance(notion, Graded | Matrix):
        return "it needs bounds that differ between values: notions minid, avgid and pairwise"
    classes = equal_inputs(notion) if isinstance(notion, Matrix) else notion.inputs_by_class
    if not 2 <= len(classes) <= MAX_INPUT_CLASSES:
        return f"it supports 2 to {MAX_INPUT_CLASSES} classes of values with equal bounds"
    levels = _bounds_of(notion, classes)
    if levels.min() == 0:
        return "it does not support a bound of zero between two values"
    return lambda: graded(classes, levels, question.shown_inputs.count)


MECHANISMS = (
    Mechanism(
        "graded",
        "a point of a projective space, with more noise for a smaller budget, about log2 k bits",
        "halftruth, for an open problem of Gu et al. 2020",
        TRANSFORM,
        _recipe,
    ),
)
