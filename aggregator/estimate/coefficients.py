"""Weighted sums over people with coefficients by class: S = sum over people i of a_i X_i + b_i.

A report states the class in plain text, so the coefficients are known. The sum is then a weighted sum of independent
means, one for each class, decoded by the channel of the class. A value that only the device has cannot be a
coefficient, because the study would learn it.

Source: Jiang, Li, Tandon 2020, weighted summation; their examples are employers and employees, adults and children.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from aggregator.estimate import interval
from aggregator.estimate.classes import campaign_of_class
from aggregator.estimate.minimum import NotEnough
from aggregator.estimate.query import QueryResult, weighted_mean
from aggregator.estimate.tally import Tally
from aggregator.families.decoder import Floats
from protocol.campaign import Campaign


@dataclass(frozen=True)
class Coefficients:
    """The coefficients of a class.

    Attributes:
        weight: a, by which each person's number is multiplied.
        offset: b, which is added for each person.
        people: the number of people in the class; None takes the number of its reports.
    """

    weight: float
    offset: float = 0.0
    people: int | None = None


def sum_by_class(
    campaign: Campaign,
    tally: Tally,
    numbers: Sequence[float] | Floats,
    coefficients: Sequence[Coefficients],
    *,
    confidence: float = 0.95,
) -> QueryResult:
    """Return the unbiased estimate of the sum of a[c] numbers[x] + b[c] over people with class c and value x.

    The variance is the sum of the variances of the classes, since no device is in two classes. Classes of weight 0 are
    not decoded.

    Args:
        numbers: the number of each value.
        coefficients: the coefficients of each class, in the campaign's order.
    Returns:
        The sum with its interval; NaN if a class has no unbiased estimate. ``mmse`` is None unless every decoded class
        has a prior.
    Raises:
        NotEnough: fewer devices of a class than the campaign's minimum.
        NotInvertible: a class without a prior has no unbiased estimate.
        ValueError: the numbers of coefficients and classes differ.
    """
    if len(coefficients) != len(campaign.classes):
        raise ValueError(
            f"there must be coefficients for each of the {len(campaign.classes)} classes, not for {len(coefficients)}"
        )
    raw = variance = mmse = 0.0
    all_have_priors, critical_value = True, interval.critical_value(1 - confidence)
    for name, class_coefficients in zip(campaign.classes, coefficients, strict=True):
        cut, reports = campaign_of_class(campaign, tally, name)
        people = reports.reports if class_coefficients.people is None else class_coefficients.people
        raw, mmse = raw + people * class_coefficients.offset, mmse + people * class_coefficients.offset
        factor = people * class_coefficients.weight
        if not factor:
            continue
        try:
            class_sum = weighted_mean(cut, reports, numbers, confidence=confidence)
        except NotEnough as error:
            raise NotEnough(f"class {name!r}: {error}") from None
        if class_sum.mmse is None:
            all_have_priors = False
        else:
            mmse += factor * class_sum.mmse
        raw += factor * class_sum.raw
        variance += (factor * class_sum.se) ** 2
        # If few devices have several reports each, the critical value is larger than that of the normal distribution.
        if class_sum.se > 0:
            critical_value = max(critical_value, (class_sum.high - class_sum.raw) / class_sum.se)
    se = math.sqrt(variance)
    return QueryResult(
        "sum weighted by class", raw, raw, se, raw - critical_value * se, raw + critical_value * se, confidence,
        mmse if all_have_priors else None,
    )  # fmt: skip
