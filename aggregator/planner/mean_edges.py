"""Choose the few numbers to which devices round at random if the goal is the mean of a number.

Random rounding does not bias the mean. With fewer numbers the channel adds less noise, but the rounding adds more
noise. Two numbers are best at small levels (Duchi, Jordan, Wainwright 2018), and more numbers at larger levels. The
choice minimises the exact error of the mean, including that of the rounding, for people spread evenly over the range.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from aggregator.families.mechanism import PlannedQuestion
from aggregator.planner.choice import Candidate, Unsuited, best_candidate, candidates, max_bits_of
from protocol.domain import NumberRange
from protocol.errors import DomainError
from protocol.notions import Ldp

EDGES = (2, 3, 5, 9)
"""The numbers of evenly spaced values that are tried."""

EQUAL_ERROR = 1.02
"""Fewer values are used if the standard error is at most this times the least standard error. They need fewer bits,
and lose less accuracy if people are near the ends of the range."""


def rounded_for_mean(question: PlannedQuestion) -> PlannedQuestion:
    """Return a question about the mean of a number with a domain of few numbers, to which devices round at random.

    A question with another goal or domain, or with another notion than LDP, is returned unchanged; so is a question
    for which no mechanism makes a channel over one of the ``EDGES``.
    """
    return rounded_for_means([question])[0]


def rounded_for_means(questions: Sequence[PlannedQuestion]) -> list[PlannedQuestion]:
    """Return ``rounded_for_mean`` of the questions for several classes of people, with the same few numbers for all
    classes.

    The numbers minimise the error of the mean of all people, for classes of equal size.

    Args:
        questions: the question of each class, at least one; all have the same domain and goal.
    """
    domain, goal = questions[0].domain, questions[0].goal
    plain = all(isinstance(question.notion, Ldp) for question in questions)
    if goal != "mean" or not isinstance(domain, NumberRange) or not plain:
        return list(questions)
    # The variance of the people's own numbers is part of every error, so it is subtracted before errors are compared.
    spread = float(Fraction(domain.high - domain.low, 10**domain.decimal_places)) ** 2 / 12
    trials = []
    for edged in _edged(domain):
        edged_questions = [replace(question, domain=edged) for question in questions]
        variances = [_mean_variance(question) for question in edged_questions]
        known = [variance for variance in variances if variance is not None]
        if len(known) == len(edged_questions):
            trials.append((sum(known) - len(known) * spread, edged_questions))
    if not trials:
        return list(questions)
    lowest = min(noise for noise, _ in trials)
    return next(edged_questions for noise, edged_questions in trials if noise <= EQUAL_ERROR**2 * lowest)


def _mean_variance(question: PlannedQuestion) -> float | None:
    """Return the variance of one report's contribution to the mean, with the mechanism that has the least error; None
    if no mechanism applies, such as subset selection over fewer than four numbers."""
    choices = [candidate for _, candidate in candidates(question) if isinstance(candidate, Candidate)]
    try:
        choice, _ = best_candidate(question, choices, max_bits_of(question, None))
    except Unsuited:
        return None
    return choice.mean_variance


def _edged(domain: NumberRange) -> Iterator[NumberRange]:
    """Yield the range with each number of values in ``EDGES``, except ranges whose step has too many decimal places."""
    low, high = (Fraction(end, 10**domain.decimal_places) for end in (domain.low, domain.high))
    for count in EDGES:
        if count > max(2, domain.size):
            return
        try:
            step = (high - low) / (count - 1)
            yield NumberRange.of(low, high, step, rounds_randomly=True, clamps=domain.clamps, unit=domain.unit)
        except DomainError:  # the step has too many decimal places
            continue
