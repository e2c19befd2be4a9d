"""The choice of a longer step for numeric questions in the pairs of a form.

The table of another question and a numeric question with many values would be mostly noise. So a numeric question of
more than 16 values gets a longer step if it is asked in a pair. The number of its values is the largest at which, with
evenly spread people, the standard error of a cell is at most the share of a cell. If the question is in several pairs,
the median of these limits decides. The limit is at least 4 and at most 16. A step that divides the range exactly may
give fewer values than the limit; with another step, the highest value exceeds the highest answer by less than a step.
The person may still give any number of the range; it counts as the nearest value.

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

LEAST_BINS, MOST_BINS = 4, 16
"""The smallest and the largest limit of the number of values of a numeric question in a pair."""

EXACT = Fraction(3, 2)
"""A step that ends exactly at the highest number is preferred if it is at most this times the shortest step."""


def with_bins(domain: NumberRange, most: int) -> NumberRange:
    """Return the range with at most ``most`` numbers, and with the shortest possible step, or a slightly longer step
    that divides the range exactly.

    Args:
        most: the maximum number of values, at least 2.
    """
    if domain.size <= most:
        return domain
    steps = domain.size - 1
    shortest = math.ceil(steps / (most - 1))
    exact = (one for one in range(shortest, math.floor(shortest * EXACT) + 1) if steps % one == 0)
    factor = next(exact, shortest)
    step = factor * domain.step
    ends = (domain.low, domain.low + math.ceil(steps / factor) * step)
    numbers = (Fraction(number, 10**domain.places) for number in (*ends, step))
    return NumberRange.of(*numbers, random=domain.random, clamp=domain.clamp, unit=domain.unit)


def form_with_bins(
    form: Form, asked: Sequence[tuple[int, ...]], reports: int, channel_for: Callable[[int], Channel]
) -> Form:
    """Return the form in which numeric questions in pairs have few enough values.

    Args:
        asked: the positions of the questions of each view; all views have the same number of devices.
        reports: the expected number of reports of the whole form.
        channel_for: a function that returns the channel of a view with the given number of answers.
    """
    pairs = [places for places in asked if len(places) == 2]
    many = [place for pair in pairs for place in pair if _many(form.questions[place].domain)]
    if not many:
        return form
    sizes = [MOST_BINS + 1 if place in many else form.questions[place].size for pair in pairs for place in pair]
    cells = _most_cells(channel_for, reports / len(asked), max(sizes) * (MOST_BINS + 1))
    questions = list(form.questions)
    for place in sorted(set(many)):
        others = [other for pair in pairs if place in pair for other in pair if other != place]
        fitting = [math.isqrt(cells) if other in many else cells // form.questions[other].size for other in others]
        question, domain = form.questions[place], form.questions[place].domain
        if isinstance(domain, NumberRange):
            bins = min(max(median_low(fitting) - question.skippable, LEAST_BINS), MOST_BINS)
            questions[place] = replace(question, domain=with_bins(domain, bins))
    return Form(tuple(questions))


def bins_sentences(written: Form, made: Form, reports: int) -> list[str]:
    """Return a sentence for each numeric question that has a longer step than its author wrote."""
    found = []
    for one, other in zip(written.questions, made.questions, strict=True):
        if isinstance(other.domain, NumberRange) and other.domain.size < one.domain.size:
            step = decimal_of(Fraction(other.domain.step, 10**other.domain.places))
            found.append(
                f"question {one.name} is asked in pairs, so its {one.domain.size:,} numbers are reduced to "
                f"{other.domain.size} ({other.domain.span} in steps of {step}), for {reports:,} expected reports; "
                "to change this, give bins in [[question]], or reports in [analysis]"
            )
    return found


def _many(domain: Domain) -> bool:
    return isinstance(domain, NumberRange) and domain.size > MOST_BINS


def _most_cells(channel_for: Callable[[int], Channel], reports: float, most: int) -> int:
    """Return the largest number of cells of a table, up to ``most``, at which the standard error of a cell is at most
    its share."""

    def holds(cells: int) -> bool:
        decoder = decoder_of(channel_for(cells))
        variance = decoder.variances(decoder.forward(np.full(cells, 1 / cells))).mean()
        return bool(math.sqrt(variance / reports) <= 1 / cells)

    # The error of a cell hardly depends on the number of cells, so a binary search finds the largest number.
    low, high = LEAST_BINS, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low
