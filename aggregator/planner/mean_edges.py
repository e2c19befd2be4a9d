"""The few numbers to which devices round at random where the mean of a number is wanted.

Random rounding keeps the mean, so numbers may be as far apart as one likes, and the fewer there are, the less a channel
has to tell apart; the rounding itself adds error. Two numbers are best at small levels (Duchi, Jordan, Wainwright
2018), more at larger ones. Which number of them is best is found by the exact error of the mean, the rounding included,
where all numbers are equally common.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from aggregator.families.mechanism import Question
from aggregator.planner.choice import Candidate, best, candidates, most_bits_of
from protocol.domain import NumberRange
from protocol.errors import DomainError
from protocol.notions import Ldp

EDGES = (2, 3, 5, 9)
"""How many evenly spaced numbers are tried."""

AS_GOOD = 1.02
"""Fewer numbers are taken where the standard error is at most this times the least one: they are told in fewer bits,
and lose less where people are near the ends of the range."""


def rounded_for_mean(question: Question) -> Question:
    """Return the question about the mean of a number, over few numbers with random rounding.

    A question with another goal, domain or notion than plain LDP is returned as it is.
    """
    return rounded_for_means([question])[0]


def rounded_for_means(questions: Sequence[Question]) -> list[Question]:
    """Return the questions to several classes of people as ``rounded_for_mean``, over the same few numbers for all.

    The numbers are those of the least error of the mean of all people, classes of equal size.

    Args:
        questions: over one domain and for one goal; one at least.
    """
    domain, goal = questions[0].domain, questions[0].goal
    plain = all(isinstance(question.notion, Ldp) for question in questions)
    if goal != "mean" or not isinstance(domain, NumberRange) or not plain:
        return list(questions)
    # The spread of the people themselves is in every error alike.
    spread = float(Fraction(domain.high - domain.low, 10**domain.places)) ** 2 / 12
    tried = []
    for edged in _edged(domain):
        asked = [replace(question, domain=edged) for question in questions]
        variances = [_mean_variance(one) for one in asked]
        known = [variance for variance in variances if variance is not None]
        if len(known) == len(asked):
            tried.append((sum(known) - len(known) * spread, asked))
    least = min(noise for noise, _ in tried)
    return next(asked for noise, asked in tried if noise <= AS_GOOD**2 * least)


def _mean_variance(question: Question) -> float | None:
    """The variance of what one report adds to the mean, by the mechanism of least error."""
    found = [one for _, one in candidates(question) if isinstance(one, Candidate)]
    choice, _ = best(question, found, most_bits_of(question, None))
    return choice.mean_variance


def _edged(domain: NumberRange) -> Iterator[NumberRange]:
    """Each number of evenly spaced numbers over the range, as far as decimal places reach."""
    low, high = (Fraction(end, 10**domain.places) for end in (domain.low, domain.high))
    for count in EDGES:
        if count > max(2, domain.size):
            return
        try:
            step = (high - low) / (count - 1)
            yield NumberRange.of(low, high, step, random=True, clamp=domain.clamp, unit=domain.unit)
        except DomainError:  # more decimal places than there may be
            continue
