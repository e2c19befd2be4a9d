"""Mechanisms whose channel is a table, designed cell by cell, and the questions for which each applies."""

from __future__ import annotations

from aggregator.families.lifts import level_for_ball
from aggregator.families.mechanism import COUNT, DENSE, Mechanism, PlannedQuestion, Recipe, for_priors_near
from aggregator.families.table.mutual_information import mutual_information_table
from aggregator.families.table.prior_table import estimable_table, optimal_table
from aggregator.families.table.search import best_table, binary_optimum
from protocol import exact
from protocol.notions import UNBOUNDED, HighLow, Ldp, Lip, Matrix, MutualInformation, Pairwise

MAX_DESIGNED = 8
"""Maximum number of values of a designed table; for more, the search takes too long."""
MAX_COLUMNS = 60
"""Maximum number of values of a table by column generation, because a campaign contains every cell."""
MAX_CONVEX = 30
"""Maximum number of values of a table with a bound on the mutual information."""


def _binary(question: PlannedQuestion) -> Recipe | str:
    notion = question.notion
    if not isinstance(notion, Pairwise) or question.size != 2:
        return f"it needs two values and a pairwise notion, such as {Ldp.name}, {HighLow.name} or {Matrix.name}"
    levels = _matrix(notion, 2).levels
    return lambda: binary_optimum(levels[0][1], levels[1][0])


def _designed(question: PlannedQuestion) -> Recipe | str:
    notion = question.notion
    if not isinstance(notion, Pairwise) or isinstance(notion, Ldp):
        return "it needs bounds that differ between pairs of values"
    if not 3 <= question.size <= MAX_DESIGNED:
        return f"it supports 3 to {MAX_DESIGNED} values"
    return lambda: best_table(_matrix(notion, question.size))


def _mutual_information(question: PlannedQuestion) -> Recipe | str:
    notion = question.notion
    if not isinstance(notion, MutualInformation):
        return "it needs a bound on the average: notion mutual-information"
    if question.size > MAX_CONVEX:
        return f"it supports at most {MAX_CONVEX} values"
    return lambda: mutual_information_table(notion.prior, notion.level)


def _matrix(notion: Pairwise, size: int) -> Matrix:
    """Return a pairwise notion as the notion ``Matrix`` with the same bounds."""
    if isinstance(notion, Matrix):
        return notion
    levels = [[UNBOUNDED] * size for _ in range(size)]
    classes = notion.inputs_by_class or [range(size)]
    for first, second, bound in notion.bounds():
        for x in classes[first]:
            for other in classes[second]:
                levels[x][other] = min(bound, exact.MAX_LEVEL)
    rows = tuple(tuple(0 if x == other else row[other] for other in range(size)) for x, row in enumerate(levels))
    return Matrix(max(max(row) for row in rows), rows)


def _centre(question: PlannedQuestion) -> Recipe | str:
    notion = question.notion
    if not isinstance(notion, Lip) or not notion.radius:
        return "it needs a prior with a radius"
    if question.size > MAX_COLUMNS:
        return f"it supports at most {MAX_COLUMNS} values"
    return lambda: optimal_table(notion.prior, level_for_ball(notion.level, notion.radius))


MECHANISMS = (
    Mechanism(
        "binary-optimum",
        "the best channel for two values, for any bounds",
        "Acharya et al. 2020, Theorem 2",
        COUNT,
        _binary,
    ),
    Mechanism(
        "designed",
        "the best table found for pairwise bounds",
        "halftruth, for an open problem of Acharya et al. 2020",
        DENSE,
        _designed,
    ),
    Mechanism(
        "lip-table",
        "the best table found for a prior, by column generation; optimal for up to 14 values (10 with a radius)",
        "halftruth",
        DENSE,
        for_priors_near(optimal_table, MAX_COLUMNS),
    ),
    Mechanism(
        "lip-estimable",
        "the table of lip-table mixed with lip-response, so that all values have an unbiased estimate",
        "halftruth",
        DENSE,
        for_priors_near(estimable_table, MAX_COLUMNS),
    ),
    Mechanism(
        "lip-centre",
        "the best table found for the campaign's prior, at a level low enough for all priors within the radius",
        "halftruth",
        DENSE,
        _centre,
    ),
    Mechanism(
        "mutual-information",
        "the channel with the least distortion under a bound on the mutual information",
        "Wang, Qin, Qiu 2023",
        DENSE,
        _mutual_information,
    ),
)
