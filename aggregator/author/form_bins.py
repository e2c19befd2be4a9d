"""The choice of a longer step for numeric questions in the pairs of a form.

The table of another question and a numeric question with many values would be mostly noise. So a numeric question of
more than 16 values gets a longer step if it is asked in a pair. The number of its values is the largest at which, with
evenly spread people, the standard error of a cell is at most the share of a cell. If the question is in several pairs,
the median of these limits decides. The limit is at least 4 and at most 16. A step that divides the range exactly may
give fewer values than the limit; with another step, the highest value exceeds the highest answer by less than a step.
The person may still give any number of the range; it is rounded to the nearest value, or, if the question has
``rounding = "random"``, at random to the value below or above.

Authors can change the number of values with ``bins``, its maximum, or with a longer ``step``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import median_low

import numpy as np

from aggregator.families.registry import decoder_of
from protocol.channels import Channel
from protocol.domain import Domain, Form, NumberRange
from protocol.domain.domain import decimal_of

MIN_BINS, MAX_BINS = 4, 16
"""The smallest and the largest limit of the number of values of a numeric question in a pair."""

MAX_STEP_RATIO = Fraction(3, 2)
"""A step that ends exactly at the highest number is preferred if it is at most this times the shortest step."""


def with_bins(domain: NumberRange, limit: int) -> NumberRange:
    """Return the range with at most ``limit`` numbers, and with the shortest possible step, or a slightly longer step
    that divides the range exactly.

    Args:
        limit: the maximum number of values, at least 2.
    """
    if domain.size <= limit:
        return domain
    steps = domain.size - 1
    shortest = math.ceil(steps / (limit - 1))
    exact = (divisor for divisor in range(shortest, math.floor(shortest * MAX_STEP_RATIO) + 1) if steps % divisor == 0)
    factor = next(exact, shortest)
    step = factor * domain.step
    ends = (domain.low, domain.low + math.ceil(steps / factor) * step)
    numbers = (Fraction(number, 10**domain.decimal_places) for number in (*ends, step))
    return NumberRange.of(*numbers, rounds_randomly=domain.rounds_randomly, clamps=domain.clamps, unit=domain.unit)


def form_with_bins(
    form: Form, view_places: Sequence[tuple[int, ...]], reports: int, channel_for: Callable[[int], Channel]
) -> Form:
    """Return the form in which numeric questions in pairs have few enough values.

    Args:
        view_places: the positions of the questions of each view; all views have the same number of devices.
        reports: the expected number of reports of the whole form.
        channel_for: a function that returns the channel of a view with the given number of answers.
    """
    pairs = [places for places in view_places if len(places) == 2]
    many_valued = [place for pair in pairs for place in pair if _many(form.questions[place].domain)]
    if not many_valued:
        return form
    sizes = [MAX_BINS + 1 if place in many_valued else form.questions[place].size for pair in pairs for place in pair]
    cells = _most_cells(channel_for, reports / len(view_places), max(sizes) * (MAX_BINS + 1))
    questions = list(form.questions)
    for place in sorted(set(many_valued)):
        others = [other for pair in pairs if place in pair for other in pair if other != place]
        fitting = [
            math.isqrt(cells) if other in many_valued else cells // form.questions[other].size for other in others
        ]
        question, domain = form.questions[place], form.questions[place].domain
        if isinstance(domain, NumberRange):
            bins = min(max(median_low(fitting) - question.skippable, MIN_BINS), MAX_BINS)
            questions[place] = replace(question, domain=with_bins(domain, bins))
    return Form(tuple(questions))


def bins_sentences(written: Form, reduced: Form, reports: int) -> list[str]:
    """Return a sentence for each numeric question that has a longer step than its author wrote."""
    sentences = []
    for question, reduced_question in zip(written.questions, reduced.questions, strict=True):
        if isinstance(reduced_question.domain, NumberRange) and reduced_question.domain.size < question.domain.size:
            step = decimal_of(Fraction(reduced_question.domain.step, 10**reduced_question.domain.decimal_places))
            sentences.append(
                f"question {question.name} is asked in pairs, so its {question.domain.size:,} numbers are reduced to "
                f"{reduced_question.domain.size} ({reduced_question.domain.range_text} in steps of {step}), for "
                f"{reports:,} expected reports; to change this, give bins in [[question]], or reports in [analysis]"
            )
    return sentences


def _many(domain: Domain) -> bool:
    return isinstance(domain, NumberRange) and domain.size > MAX_BINS


def _most_cells(channel_for: Callable[[int], Channel], reports: float, limit: int) -> int:
    """Return the largest number of cells of a table, up to ``limit``, at which the standard error of a cell is at most
    its share."""

    def holds(cells: int) -> bool:
        decoder = decoder_of(channel_for(cells))
        variance = decoder.variances(decoder.forward(np.full(cells, 1 / cells))).mean()
        return bool(math.sqrt(variance / reports) <= 1 / cells)

    # The error of a cell hardly depends on the number of cells, so a binary search finds the largest number.
    low, high = MIN_BINS, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low
