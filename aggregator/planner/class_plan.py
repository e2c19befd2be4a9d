"""Plan a question for classes of people: expected errors of each class and of all together, and the people needed.

Each class has a separate channel and level. The estimate for everybody is the mean of the classes' estimates, weighted
by the sizes of the classes. So a noisy class counts as much as an accurate class of the same size. The errors assume
classes of equal size.

The error of a share or a mean is exact. Errors of deciles and ranges are simulated, as in ``goals``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aggregator.estimate.precision_pooling import expected_errors
from aggregator.estimate.query import unit_of
from aggregator.families.decoder import NotInvertible
from aggregator.families.mechanism import PlannedQuestion
from aggregator.families.registry import decoder_of
from aggregator.planner.choice import Candidate
from aggregator.planner.goals import MAX_PLANNED_PEOPLE, PLAN_SURVEYS, GoalErrors, length_of, people_for
from aggregator.planner.ordered_error import simulated_error
from protocol import exact
from protocol.domain import Line


@dataclass(frozen=True)
class ClassPlan:
    """The expected errors of one class or of everybody, and the people needed.

    Attributes:
        name: the name of the class; None for everybody.
        level: the level in nanonats; for everybody the largest level of any class.
        mechanism: the names of the mechanisms that are used.
        output_bits: the number of bits of an output; for everybody the largest number of any class.
        reports: n, the number of reports.
        se: the standard error of a share with n reports, root mean square over the values; None if single values have
            no unbiased estimate.
        se_precision: for everybody, the standard error if the classes have the same shares and are pooled by precision;
            otherwise None.
        errors: for ordered values, the other errors with n reports; otherwise None.
        unit: the unit of the errors of deciles and means.
        people_for: the number of people needed for each target error, of this class or of all classes; None above
            ``MAX_PLANNED_PEOPLE``, and for an error that is not computed. The target is the error of a decile for the
            goal distribution, of the mean for the goal mean, and otherwise of a share.
    """

    name: str | None
    level: int
    mechanism: str
    output_bits: int
    reports: int
    se: float | None
    se_precision: float | None
    errors: GoalErrors | None
    unit: str
    people_for: dict[float, int | None]

    def as_json(self) -> dict[str, Any]:
        return {
            "class": self.name,
            "epsilon": exact.nats(self.level),
            "mechanism": self.mechanism,
            "output_bits": self.output_bits,
            "reports": self.reports,
            "se": self.se,
            "se_precision": self.se_precision,
            "unit": self.unit,
            "errors": None if self.errors is None else self.errors.as_json(),
            "people_for": {f"{target:g}": people for target, people in self.people_for.items()},
        }


def plan_classes(
    names: Sequence[str],
    questions: Sequence[PlannedQuestion],
    choices: Sequence[Candidate],
    reports: int,
    target_errors: Sequence[float],
) -> list[ClassPlan]:
    """Return a plan for each class alone, and then a plan for all classes together.

    Args:
        questions, choices: the question and the candidate of each class.
        reports: n, the number of reports of all classes together.
        target_errors: the target errors of the quantity that the goal names (see ``ClassPlan.people_for``).
    """
    class_reports = math.ceil(reports / len(names))
    plans = [
        _ClassPlanner([question], [choice]).plan(name, class_reports, target_errors)
        for name, question, choice in zip(names, questions, choices, strict=True)
    ]
    return [*plans, _ClassPlanner(questions, choices).plan(None, reports, target_errors)]


class _ClassPlanner:
    """The expected errors of one class, or of several classes of equal size together, for any number of people."""

    def __init__(self, questions: Sequence[PlannedQuestion], choices: Sequence[Candidate]) -> None:
        self._question, self._choices = questions[0], choices
        self._level = max(question.notion.level for question in questions)
        self._channels = tuple(choice.channel for choice in choices)
        self._equal: float | None = None
        self._precision: float | None = None
        with suppress(NotInvertible):
            self._equal, self._precision = expected_errors([*map(decoder_of, self._channels)])

    def plan(self, name: str | None, reports: int, target_errors: Sequence[float]) -> ClassPlan:
        domain, root = self._question.domain, math.sqrt(reports)
        return ClassPlan(
            name,
            self._level,
            ", ".join(dict.fromkeys(choice.mechanism.name for choice in self._choices)),
            max(choice.channel.output_bits for choice in self._choices),
            reports,
            None if self._equal is None else self._equal / root,
            None if self._precision is None or len(self._choices) == 1 else self._precision / root,
            self._errors(reports) if domain.ordered else None,
            unit_of(domain) if domain.ordered else "",
            {error: self._people(error, reports) for error in target_errors},
        )

    def _errors(self, reports: int) -> GoalErrors:
        mean_se = None if self._mean_variance is None else math.sqrt(self._mean_variance / reports)
        if self._rounded:  # the distribution cannot be estimated from a few rounded numbers
            return GoalErrors(None, None, mean_se, None)
        errors, length = simulated_error(self._channels, reports, PLAN_SURVEYS), length_of(self._question)
        if math.isinf(errors.distance):
            return GoalErrors(None, None, mean_se, None)
        return GoalErrors(errors.decile * length, errors.distance * length, mean_se, errors.in_range)

    @property
    def _rounded(self) -> bool:
        domain = self._question.domain
        return isinstance(domain, Line) and domain.rounds_randomly

    @property
    def _mean_variance(self) -> float | None:
        """The variance of one report's contribution to the mean of all people; None if a class has no unbiased estimate
        of the mean."""
        variances = [choice.mean_variance for choice in self._choices]
        known = [variance for variance in variances if variance is not None and not math.isnan(variance)]
        return sum(known) / len(known) if len(known) == len(variances) else None

    def _people(self, target: float, reports: int) -> int | None:
        goal, length = self._question.goal, length_of(self._question)
        if goal not in ("distribution", "ranges"):
            root = self._equal if goal != "mean" else self._mean_variance and math.sqrt(self._mean_variance)
            people = None if root is None else math.ceil((root / target) ** 2)
            return None if people is None or people > MAX_PLANNED_PEOPLE else people
        if self._rounded:
            return None

        def error(people: int) -> float:
            errors = simulated_error(self._channels, people, PLAN_SURVEYS)
            return errors.in_range if goal == "ranges" else errors.decile * length

        return people_for(error, target, reports)
