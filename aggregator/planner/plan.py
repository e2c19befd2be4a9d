"""Plan of a question: a comparison of the mechanisms of the catalogue, with errors, bits and the reason for the choice.

Each mechanism's channel is designed and certified, and its expected error is computed exactly from the integers that
the campaign would use. Only the errors of the distribution and of ranges of ordered values are simulated
(``ordered_error``).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from aggregator.families.mechanism import PlannedQuestion
from aggregator.json_number import json_number
from aggregator.planner.choice import (
    Candidate,
    Unsuited,
    best_candidate,
    best_for_single_values,
    candidates,
    max_bits_of,
)
from protocol import exact
from protocol.notions import UNBOUNDED, DeclaredPrior, Graded, Matrix, Notion, TranscriptPrior

CURVE = (0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
"""The levels, in nats, at which the picture of a plan shows errors."""


@dataclass(frozen=True)
class PlanRow:
    """One mechanism of a plan.

    Attributes:
        candidate: the mechanism's channel and errors; None if the mechanism does not apply to the question.
        mse: the expected squared error of the unbiased estimate from all reports, summed over the values; for item
            sets, that of the shares of people who have each item. NaN without an unbiased estimate.
        se: the standard error of one value's share, root mean square over the values.
        mean_se: for numbers, the standard error of the mean, NaN without an unbiased estimate; None for other values.
        people_for: the number of people needed for each target standard error.
        reason: the reason why the mechanism is chosen or not.
    """

    mechanism: str
    candidate: Candidate | None
    mse: float
    se: float
    people_for: dict[float, int]
    reason: str
    chosen: bool
    mean_se: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        row: dict[str, Any] = {
            "mechanism": self.mechanism, "chosen": self.chosen, "serves": self.candidate is not None,
            "reason": self.reason, "output_bits": None, "mse": json_number(self.mse), "se": json_number(self.se),
            "people_for": {f"{target:g}": people for target, people in self.people_for.items()},
        }  # fmt: skip
        if self.mean_se is not None:
            row["mean_se"] = json_number(self.mean_se)
        if self.candidate is not None:
            candidate = self.candidate
            certificate = candidate.certificate
            row |= {
                "output_bits": candidate.channel.output_bits,
                "level": exact.nats(certificate.audited_level),
                "ldp": None if certificate.ldp_level is None else exact.nats(certificate.ldp_level),
                "people_per_report": json_number(candidate.people_per_report),
                "decode": candidate.mechanism.decoding_cost,
                "source": candidate.mechanism.source,
            }
            if candidate.person_mse is not None:
                row["person_mse"] = json_number(candidate.person_mse)
            if candidate.report_mae is not None:
                row["report_mae"] = candidate.report_mae
        return row


class Plan(tuple[PlanRow, ...]):
    """The mechanisms for a question: the chosen mechanism first, then others in the order of their errors, and finally
    mechanisms that do not apply."""

    __slots__ = ()

    @property
    def chosen(self) -> PlanRow:
        """The mechanism that ``name = "auto"`` chooses."""
        return self[0]

    def as_json(self) -> list[dict[str, Any]]:
        """Return the rows as JSON objects.

        Returns:
            An object for each mechanism; errors as fractions, levels in nats.
        """
        return [row.as_json() for row in self]


def plan(
    question: PlannedQuestion,
    reports: int,
    *,
    max_bits: int | None = None,
    target_errors: Sequence[float] = (0.01,),
    progress: Callable[[int], None] = lambda _: None,
) -> Plan:
    """Return a comparison of all mechanisms of the catalogue for a question.

    Args:
        question: the question, as ``read_question`` returns it.
        reports: n, the number of reports.
        max_bits: the largest number of bits of an output; None for the limit of ``auto``.
        target_errors: the target standard errors of one share.
        progress: a function that is called with 1 after each mechanism, for a progress bar.
    Returns:
        A row for each mechanism; the first row is ``chosen``.
    Raises:
        Unsuited: no mechanism applies; none has few enough bits, and then the text names a sufficient limit; or the
            campaign is for declared priors or transcripts.
    """
    if isinstance(question.notion, DeclaredPrior | TranscriptPrior):
        raise Unsuited(
            'plan does not compare mechanisms for [prior] kind "own" and "transcript", because their priors are known '
            "later: use `halftruth campaign`"
        )
    question = dataclasses.replace(question, reports=reports)
    evaluated = []
    for pair in candidates(question):
        evaluated.append(pair)
        progress(1)
    limit = max_bits_of(question, max_bits)
    applicable = [candidate for _, candidate in evaluated if not isinstance(candidate, str)]
    choice, reason = best_candidate(question, applicable, limit)
    single_best = best_for_single_values([candidate for candidate in applicable if candidate.within(limit)])
    rows = []
    for mechanism, candidate in evaluated:
        if isinstance(candidate, str):
            rows.append(PlanRow(mechanism.name, None, math.nan, math.nan, {}, candidate, False))
            continue
        mse, k = candidate.raw_mse / reports, question.shown_inputs.count
        rows.append(
            PlanRow(
                mechanism.name,
                candidate,
                mse,
                math.sqrt(mse / k) if mse == mse else math.nan,
                {}
                if math.isnan(mse)
                else {error: math.ceil(candidate.raw_mse / k / error**2) for error in target_errors},
                reason
                if candidate is choice
                else candidate.reason_not_chosen(choice, limit, question.goal, compared=candidate is single_best),
                candidate is choice,
                None if candidate.mean_variance is None else math.sqrt(candidate.mean_variance / reports),
            )
        )
    return Plan(sorted(rows, key=lambda row: (not row.chosen, row.candidate is None, _rank(row, question.goal))))


def curve(question: PlannedQuestion, levels: Sequence[float] = CURVE) -> Iterator[tuple[float, dict[str, float]]]:
    """Yield each level in nats with the error of one report for every mechanism that applies at this level.

    The error is the squared error of the unbiased estimate, summed over the values; for LIP, that of the posterior as
    an estimate of one person's value.
    """
    for level in levels:
        errors = {}
        question_at_level = dataclasses.replace(question, notion=at_level(question.notion, exact.level_from(level)))
        for mechanism, candidate in candidates(question_at_level):
            if not isinstance(candidate, str):
                errors[mechanism.name] = candidate.error
        yield level, errors


def at_level(notion: Notion, level: int) -> Notion:
    """Return the notion at the level ``level``; the levels of a matrix, and budgets, are scaled and rounded down."""
    if isinstance(notion, Matrix):
        rows = tuple(
            tuple(entry if entry == UNBOUNDED else entry * level // notion.level for entry in row)
            for row in notion.levels
        )
        return Matrix(max(max(row) for row in rows), rows)
    if isinstance(notion, Graded):
        scaled = (budget * level // notion.level for budget in notion.budgets)
        budgets = [min(max(budget, exact.MIN_LEVEL), exact.MAX_LEVEL) for budget in scaled]
        pairs = [(budgets[c], budgets[d]) for c, d, _ in notion.bounds()]
        by_input = [budgets[number] for number, length in notion.runs for _ in range(length)]
        return Graded.over(by_input, notion.name, pairs if notion.unbounded_pairs else None)
    return dataclasses.replace(notion, level=level)  # type: ignore[type-var]  # every notion is a dataclass


def _rank(row: PlanRow, goal: str) -> float:
    error = math.inf if row.candidate is None else row.candidate.error
    if goal == "mean" and row.mean_se is not None:
        error = row.mean_se
    return math.inf if math.isnan(error) else error
