"""The mechanisms whose channel is a table, designed cell by cell, and which questions each serves."""

from __future__ import annotations

from aggregator.families.lifts import scaled
from aggregator.families.mechanism import COUNT, DENSE, Mechanism, Question, Recipe, for_priors_near
from aggregator.families.table.mutual_information import mutual_information_table
from aggregator.families.table.prior_table import optimal_table, telling_table
from aggregator.families.table.search import best_table, binary_optimum
from protocol import exact
from protocol.notions import UNBOUNDED, Information, Ldp, Matrix, MutualInformation, Pairwise

MOST_DESIGNED = 8
"""Values of a designed table: above it the search takes long."""
MOST_COLUMNS = 60
"""Values of a table by column generation: a campaign carries every cell."""
MOST_CONVEX = 30
"""Values of a table of least distortion within a mutual information."""


def _binary(question: Question) -> Recipe | str:
    notion = question.notion
    if not isinstance(notion, Pairwise) or question.size != 2:
        return "it takes two values and a bound each way"
    levels = _matrix(notion, 2).levels
    return lambda: binary_optimum(levels[0][1], levels[1][0])


def _designed(question: Question) -> Recipe | str:
    notion = question.notion
    if not isinstance(notion, Pairwise) or isinstance(notion, Ldp):
        return "it is made for bounds that differ from pair to pair"
    if not 3 <= question.size <= MOST_DESIGNED:
        return f"it takes 3 to {MOST_DESIGNED} values"
    return lambda: best_table(_matrix(notion, question.size))


def _mutual_information(question: Question) -> Recipe | str:
    notion = question.notion
    if not isinstance(notion, MutualInformation):
        return "it is made for an average: notion mutual-information"
    if question.size > MOST_CONVEX:
        return f"it takes {MOST_CONVEX} values at most"
    return lambda: mutual_information_table(notion.prior, notion.level)


def _matrix(notion: Pairwise, size: int) -> Matrix:
    """The bounds of a pairwise notion, pair by pair."""
    if isinstance(notion, Matrix):
        return notion
    levels = [[UNBOUNDED] * size for _ in range(size)]
    classes = notion.classes or [range(size)]
    for first, second, bound in notion.bounds():
        for x in classes[first]:
            for other in classes[second]:
                levels[x][other] = min(bound, exact.MAX_LEVEL)
    rows = tuple(tuple(0 if x == other else row[other] for other in range(size)) for x, row in enumerate(levels))
    return Matrix(max(max(row) for row in rows), rows)


def _centre(question: Question) -> Recipe | str:
    notion = question.notion
    if not isinstance(notion, Information) or not notion.radius:
        return "it is made for a prior with a radius"
    if question.size > MOST_COLUMNS:
        return f"it takes {MOST_COLUMNS} values at most"
    return lambda: optimal_table(notion.prior, scaled(notion.level, notion.radius))


MECHANISMS = (
    Mechanism(
        "binary-optimum",
        "the best channel of two values for any bounds",
        "Acharya et al. 2020, Theorem 2",
        COUNT,
        _binary,
    ),
    Mechanism(
        "designed",
        "the best table found for bounds pair by pair",
        "ours; open in Acharya et al. 2020",
        DENSE,
        _designed,
    ),
    Mechanism(
        "lip-table", "the optimum, by column generation", "ours", DENSE, for_priors_near(optimal_table, MOST_COLUMNS)
    ),
    Mechanism(
        "lip-telling",
        "the optimum, mixed with a response so that all values can be estimated",
        "ours",
        DENSE,
        for_priors_near(telling_table, MOST_COLUMNS),
    ),
    Mechanism(
        "lip-centre",
        "the optimum for the declared prior alone, at a level low enough for all priors near it",
        "ours",
        DENSE,
        _centre,
    ),
    Mechanism(
        "mutual-information",
        "the least distortion within an average leak",
        "Jiang et al. 2018",
        DENSE,
        _mutual_information,
    ),
)
