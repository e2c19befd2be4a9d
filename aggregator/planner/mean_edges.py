"""The few numbers to which devices round at random where the mean of a number is wanted.

Random rounding keeps the mean, so numbers may be as far apart as one likes, and the fewer there are, the less a channel
has to tell apart; the rounding itself adds error. Two numbers are best at small levels (Duchi, Jordan, Wainwright
2018), more at larger ones. Which number of them is best is found by the exact error of the mean, the rounding included,
where all numbers are equally common.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    domain = question.domain
    if question.goal != "mean" or not isinstance(domain, NumberRange) or not isinstance(question.notion, Ldp):
        return question
    # The spread of the people themselves is in every error alike.
    spread = float(Fraction(domain.high - domain.low, 10**domain.places)) ** 2 / 12
    tried = []
    for asked in _edged(question, domain):
        found = [one for _, one in candidates(asked) if isinstance(one, Candidate)]
        choice, _ = best(asked, found, most_bits_of(asked, None))
        if choice.mean_variance is not None:
            tried.append((choice.mean_variance - spread, asked))
    least = min(noise for noise, _ in tried)
    return next(asked for noise, asked in tried if noise <= AS_GOOD**2 * least)


def _edged(question: Question, domain: NumberRange) -> Iterator[Question]:
    """The question over each number of evenly spaced numbers, as far as decimal places reach."""
    low, high = (Fraction(end, 10**domain.places) for end in (domain.low, domain.high))
    for count in EDGES:
        if count > max(2, domain.size):
            return
        try:
            step = (high - low) / (count - 1)
            edged = NumberRange.of(low, high, step, random=True, clamp=domain.clamp, unit=domain.unit)
        except DomainError:  # more decimal places than there may be
            continue
        yield replace(question, domain=edged)
