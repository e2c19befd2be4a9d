"""Plan ordered values for each goal: the choice of ``auto``, its expected errors, and the people needed.

A campaign about a number has one goal: the distribution, the mean, or the shares of ranges. For each goal, the errors
of the channel that ``auto`` would choose are computed for all three goals, so that an author sees before signing how a
goal affects the other errors.

The error of a mean is exact, and so is the number of people needed for it. The other errors and numbers of people are
simulated (``ordered_error``). A simulated number of people is interpolated between simulations with powers of ten, and
rounded up to two digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aggregator.estimate.query import unit_of
from aggregator.families.mechanism import PlannedQuestion
from aggregator.planner.choice import Candidate, best_candidate, candidates, max_bits_of
from aggregator.planner.mean_edges import rounded_for_mean
from aggregator.planner.ordered_error import OrderedError, simulated_error
from protocol.domain import Line
from protocol.notions import DeclaredPrior, Lip, MutualInformation, TranscriptPrior

PLAN_SURVEYS = 4
"""Number of simulated surveys for each reference shape."""

_MAX_POWER = 10

MAX_PLANNED_PEOPLE = 10**_MAX_POWER
"""The largest number of people that the plan of a goal or of classes names."""


@dataclass(frozen=True)
class GoalErrors:
    """The expected errors of one choice; None for a quantity that the channel cannot estimate.

    Attributes:
        decile: the mean absolute error of the nine deciles, in the unit of the values.
        distance: the expected Wasserstein distance between the estimated and the true distribution, in the unit of the
            values.
        mean: the standard error of the mean, in the unit of the values.
        in_range: the mean absolute error of the share of people in a range of two fifths of the values, as a fraction.
    """

    decile: float | None
    distance: float | None
    mean: float | None
    in_range: float | None

    def as_json(self) -> dict[str, float | None]:
        return {"decile": self.decile, "distance": self.distance, "mean": self.mean, "range": self.in_range}


@dataclass(frozen=True)
class GoalPlan:
    """The choice of ``auto`` for a question with one goal.

    Attributes:
        goal: the goal: ``distribution``, ``mean`` or ``ranges``.
        question: the question with this goal, over the inputs of the channel.
        choice: the candidate that ``auto`` chooses.
        reports: n, the number of reports.
        errors: the expected errors with n reports.
        unit: the unit of the errors of deciles and means; "" if the domain has none.
        people_for: the number of people needed for each target error; None above ``MAX_PLANNED_PEOPLE``, and for an
            error that is not computed. The target is the error of a decile for ``distribution``, of the mean for
            ``mean``, and of a share for ``ranges``.
    """

    goal: str
    question: PlannedQuestion
    choice: Candidate
    reports: int
    errors: GoalErrors
    unit: str
    people_for: dict[float, int | None]

    def as_json(self) -> dict[str, Any]:
        return {
            "goal": self.goal,
            "mechanism": self.choice.mechanism.name,
            "values": self.question.size,
            "output_bits": self.choice.channel.output_bits,
            "reports": self.reports,
            "unit": self.unit,
            "errors": self.errors.as_json(),
            "people_for": {f"{target:g}": people for target, people in self.people_for.items()},
        }


def goals_of(question: PlannedQuestion) -> tuple[str, ...]:
    """Return the goals that can affect the planner's choice; empty if no goal can."""
    domain = question.domain
    with_prior = Lip | MutualInformation | DeclaredPrior | TranscriptPrior
    if not domain.ordered or isinstance(question.notion, with_prior):
        return ()
    if not isinstance(domain, Line):
        return ("distribution", "ranges")
    return ("distribution", "mean", "ranges") if domain.evenly_spaced else ()


def length_of(question: PlannedQuestion) -> float:
    """Return the distance from the first to the last value, in the unit of the values."""
    domain = question.domain
    return float(domain.points[-1] - domain.points[0]) if isinstance(domain, Line) else domain.size - 1.0


def default_target_error(question: PlannedQuestion) -> float:
    """Return the default target error of a decile or a mean.

    It is a hundredth of the range, but at least a quarter of a step, because deciles with an error below this quarter
    are mostly correct. The quarter does not apply if devices round at random.
    """
    # A question about rounded numbers has a mean and no deciles.
    if isinstance(question.domain, Line) and question.domain.rounds_randomly:
        return length_of(question) / 100
    return max(length_of(question) / 100, length_of(question) / (question.domain.size - 1) / 4)


def goal_plans(
    question: PlannedQuestion,
    reports: int,
    *,
    max_bits: int | None = None,
    target_errors: Sequence[float] = (),
    share_target_errors: Sequence[float] = (0.01,),
    known: Sequence[Candidate] = (),
) -> Iterator[GoalPlan]:
    """Yield the choice of ``auto`` for a question about ordered values, for each possible goal.

    Args:
        question: the question over all values; its goal is ignored.
        reports: n, the number of reports.
        max_bits: the largest number of bits of an output; None for the limit of ``auto``.
        target_errors: the target errors of a decile and of the mean, in the unit of the values;
            ``default_target_error`` if empty.
        share_target_errors: the target errors of a share.
        known: the candidates for the question over all values, if they are already computed.
    Raises:
        Unsuited: no mechanism within the limits applies to the question.
    """
    any_goal = replace(question, goal="", reports=reports)
    target_errors = target_errors or (default_target_error(question),)
    mean_candidates: list[Candidate] = []
    other_candidates = list(known)
    for goal in goals_of(question):
        goal_question = rounded_for_mean(replace(any_goal, goal=goal))
        choices = mean_candidates if goal == "mean" else other_candidates
        if not choices:
            choices += [candidate for _, candidate in candidates(goal_question) if isinstance(candidate, Candidate)]
        choice, _ = best_candidate(goal_question, choices, max_bits_of(goal_question, max_bits))
        yield _GoalPlanner(any_goal, goal_question, choice).plan(
            goal, reports, share_target_errors if goal == "ranges" else target_errors
        )


class _GoalPlanner:
    """The expected errors of one choice of a mechanism, for any number of people."""

    def __init__(self, question: PlannedQuestion, goal_question: PlannedQuestion, choice: Candidate) -> None:
        self._goal_question, self._choice = goal_question, choice
        self._length, self._unit = length_of(question), unit_of(question.domain)
        # The distribution cannot be estimated from a few rounded numbers.
        self._all_values = goal_question.size == question.size

    def _simulated(self, people: int) -> OrderedError:
        return simulated_error(self._choice.channel, people, PLAN_SURVEYS)

    def plan(self, goal: str, reports: int, target_errors: Sequence[float]) -> GoalPlan:
        errors = self._errors(reports)
        people = {error: self._people(goal, error, reports) for error in target_errors}
        return GoalPlan(goal, self._goal_question, self._choice, reports, errors, self._unit, people)

    def _errors(self, reports: int) -> GoalErrors:
        simulated = self._simulated(reports) if self._all_values else None
        if simulated is None or math.isinf(simulated.distance):
            return GoalErrors(None, None, self._mean(reports), None)
        decile, distance = simulated.decile * self._length, simulated.distance * self._length
        return GoalErrors(decile, distance, self._mean(reports), simulated.in_range)

    def _mean(self, reports: int) -> float | None:
        variance = self._choice.mean_variance
        return None if variance is None or math.isnan(variance) else math.sqrt(variance / reports)

    def _people(self, goal: str, target: float, reports: int) -> int | None:
        if goal == "mean":
            variance = self._choice.mean_variance
            people = None if variance is None or math.isnan(variance) else math.ceil(variance / target**2)
            return None if people is None or people > MAX_PLANNED_PEOPLE else people
        if not self._all_values:
            return None

        def error(people: int) -> float:
            simulated = self._simulated(people)
            return simulated.in_range if goal == "ranges" else simulated.decile * self._length

        return people_for(error, target, reports)


def people_for(error: Callable[[int], float], target: float, start: int) -> int | None:
    """Return the number of people needed for a target error, rounded up to two significant digits.

    The error is computed at powers of ten, and interpolated by a power law between two of them.

    Args:
        error: a function from the number of people to the error, which falls with this number.
        target: the target error, above 0.
        start: the number of people near which the search begins.
    Returns:
        The number of people; None if it is above ``MAX_PLANNED_PEOPLE``.
    """

    def gap(power: int) -> float:
        return math.log(max(error(10**power), target / 100) / target)

    power = min(max(round(math.log10(start)), 1), _MAX_POWER)
    while power > 1 and gap(power - 1) <= 0:
        power -= 1
    while gap(power) > 0:
        if power == _MAX_POWER:
            return None
        power += 1
    above, below = gap(power - 1), gap(power)
    if above <= 0 or math.isinf(above):
        return int(10 ** (power - 1))
    return rounded_up_people(math.pow(10, power - 1 + above / (above - below)))


def rounded_up_people(people: float) -> int:
    """Return the number rounded up to two significant digits."""
    number = math.ceil(people)
    unit = int(10 ** max(0, len(str(number)) - 2))
    return math.ceil(number / unit) * unit
