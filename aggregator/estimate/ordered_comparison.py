"""Quantiles and shares of ranges by periods of a campaign or by classes of people, and their differences.

Classes share no device, so their intervals are combined by their squares, as in ``change``. Periods share devices, and
a device repeats its output while its answer stays the same, so the quantiles of two periods have an unknown
correlation. For any correlation, the standard error of a difference is at most the sum of the two standard errors. So
the lower end of a difference between periods is the later period's lower end minus the earlier period's upper end, and
the upper end is the later period's upper end minus the earlier period's lower end. The interval is conservative; if the
periods share no device, it is at most sqrt(2) times as wide as necessary.

``ordered`` estimates a single side, and ``present.ordered_comparison`` prints the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from aggregator.campaign_facts import estimated_noun
from aggregator.estimate.change import Side, require_same_values
from aggregator.estimate.classes import signed_of_class
from aggregator.estimate.minimum import error_for_no_part, error_for_side, is_enough
from aggregator.estimate.ordered_result import NotOrdered, OrderedStatistics, ShownValue, Statistic
from aggregator.estimate.query import unit_of
from aggregator.estimate.span import Span, require_ends
from aggregator.estimate.tally import Tally
from protocol.campaign import SignedCampaign
from protocol.domain import DITHER_BYTES, Domain, Line

Ask = Callable[[SignedCampaign, Tally, str | None], OrderedStatistics]
"""A function that returns the quantiles and ranges of a campaign's tally; its last argument is the name of a class, or
None. Its errors are not caught."""


@dataclass(frozen=True)
class OrderedSide:
    """One side of a comparison: a span of periods, a class or a campaign.

    Attributes:
        name: the name that a user types: ``0-3``, or the name of the class.
        name_in_text: the name in sentences: ``periods 0-3``.
        reports: the number of outputs of this side; with transcripts, the number of devices.
        statistics: the statistics; None if the outputs come from fewer devices than the campaign's minimum.
    """

    name: str
    name_in_text: str
    reports: int
    statistics: OrderedStatistics | None


@dataclass(frozen=True)
class Shift:
    """The difference of one statistic: the second side minus the first.

    Attributes:
        kind, parameters: as for ``Statistic``.
        difference, low, high: the difference and its interval, as fractions for shares, and in the unit of ``unit_of``
            for quantiles and means.
    """

    kind: str
    parameters: Mapping[str, ShownValue]
    difference: float
    low: float
    high: float

    def as_json(self) -> dict[str, Any]:
        return {**self.parameters, "difference": self.difference, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class OrderedDifference:
    """The differences of the statistics between two sides.

    Attributes:
        before, after: the first and the second side; both have statistics.
        shifts: the difference of each requested statistic.
    """

    before: OrderedSide
    after: OrderedSide
    shifts: tuple[Shift, ...]


@dataclass(frozen=True)
class OrderedComparison:
    """Quantiles and ranges of several periods, classes or campaigns.

    Attributes:
        by: the kind of the sides: ``period``, ``class`` or ``campaign``.
        sides: the sides in the requested order; at least one has statistics.
        differences: for periods, the difference between the two requested spans (by default the first and the last with
            statistics), and from each span to the next if requested; for classes and campaigns, the difference of each
            side with statistics from the first such side. Empty if only one side has statistics.
    """

    by: str
    sides: tuple[OrderedSide, ...]
    differences: tuple[OrderedDifference, ...]

    @property
    def known(self) -> list[tuple[OrderedSide, OrderedStatistics]]:
        """The sides with statistics."""
        return [(side, side.statistics) for side in self.sides if side.statistics is not None]

    @property
    def domain(self) -> Domain:
        return self.known[0][1].estimate.campaign.domain

    def noun_of(self, side: OrderedSide) -> str:
        """Return the noun for the units that a side counts (see ``estimated_noun``)."""
        statistics = side.statistics or self.known[0][1]
        return estimated_noun(statistics.estimate.campaign)

    def without_cdf(self) -> OrderedComparison:
        """Return the comparison without the distribution functions, which only a picture needs."""
        sides = [
            side if side.statistics is None else replace(side, statistics=replace(side.statistics, cdf=()))
            for side in self.sides
        ]
        differences = [
            replace(difference, shifts=tuple(shift for shift in difference.shifts if shift.kind != "cdf"))
            for difference in self.differences
        ]
        return replace(self, sides=tuple(sides), differences=tuple(differences))

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object: for each side its statistics, or its number of reports if it has none."""
        estimate = self.known[0][1].estimate
        name = "periods" if self.by == "period" else self.by
        return {
            "campaign": estimate.campaign.title,
            "campaign_id": estimate.campaign_id.hex(),
            "confidence": estimate.confidence,
            "by": self.by,
            "sides": [
                {name: side.name, "reports": side.reports}
                | ({} if side.statistics is None else _numbers(side.statistics))
                for side in self.sides
            ],
            "differences": [
                {
                    "from": difference.before.name,
                    "to": difference.after.name,
                    "unit": unit_of(self.domain),
                    "values": [{"what": shift.kind} | shift.as_json() for shift in difference.shifts],
                }
                for difference in self.differences
            ],
        }


def _numbers(statistics: OrderedStatistics) -> dict[str, Any]:
    """Return the part of ``OrderedStatistics.as_json`` that concerns one side, not the campaign."""
    return {name: value for name, value in statistics.as_json().items() if name not in _OF_ALL}


_OF_ALL = ("campaign", "campaign_id", "confidence", "class")


def by_period(
    signed: SignedCampaign,
    spans: Sequence[Span],
    tallies: Iterable[Tally],
    ask: Ask,
    *,
    class_name: str | None = None,
    ends: tuple[Span, Span] | None = None,
    steps: bool = False,
) -> OrderedComparison:
    """Return the statistics of each span of periods, and the difference between two spans.

    Args:
        signed: a campaign about ordered values.
        spans: the spans of periods, in order.
        tallies: the tally of each span.
        ask: a function that returns the statistics of a tally.
        class_name: a class of people; None for everybody.
        ends: the two spans of the difference; by default the first and the last with statistics.
        steps: whether to return the difference from each span with statistics to the next as well.
    Raises:
        NotEnough: no span, or not both of ``ends``, has the campaign's minimum of devices.
        NoSuchClass: the campaign has no class ``class_name``.
        ValueError: ``ends`` are not two of the spans.
    """
    require_ends(ends, spans)
    sides = tuple(
        _side(span.name, span.name_in_text, *signed_of_class(signed, tally, class_name), ask, class_name)
        for span, tally in zip(spans, tallies, strict=True)
    )
    known = _known(signed, sides, "period")
    before, after = known[0], known[-1]
    if ends is not None:
        before, after = (sides[spans.index(end)] for end in ends)
        if few := [side for side in (before, after) if side.statistics is None]:
            raise error_for_side(signed.campaign, f"in {few[0].name_in_text}")
    pairs = [(before, after)] if before is not after else []
    if steps:
        pairs += [(earlier, later) for earlier, later in pairwise(known) if earlier is not before or later is not after]
    return OrderedComparison("period", sides, tuple(_difference(*pair, paired=True) for pair in pairs))


def by_class(signed: SignedCampaign, tally: Tally, ask: Ask) -> OrderedComparison:
    """Return the statistics of each class, and the differences from the first class with statistics.

    Raises:
        NotOrdered: the campaign has no classes.
        NotEnough: no class has the campaign's minimum of devices.
    """
    names = signed.campaign.classes
    if not names:
        raise NotOrdered(f"{signed.campaign.title!r} has no classes of people: leave out --by class")
    sides = tuple(_side(name, name, *signed_of_class(signed, tally, name), ask, name) for name in names)
    first, *others = _known(signed, sides, "class")
    return OrderedComparison("class", sides, tuple(_difference(first, side, paired=False) for side in others))


def of_sides(compared: Sequence[Side], ask: Ask) -> OrderedComparison:
    """Return the statistics of campaigns or classes that share no devices, and the differences from the first side.

    Args:
        compared: two or more sides with signed campaigns.
        ask: a function that returns the statistics of a tally.
    Raises:
        NotComparable: the sides have different values.
        NotEnough: a side has fewer devices than its campaign's minimum.
    """
    for side in compared[1:]:
        require_same_values(compared[0], side)
    sides = tuple(
        OrderedSide(side.name, side.name, side.tally.reports, ask(side.signed, side.tally, side.class_name))
        for side in compared
    )
    grouping = "campaign" if all(side.class_name is None for side in compared) else "class"
    return OrderedComparison(grouping, sides, tuple(_difference(sides[0], side, paired=False) for side in sides[1:]))


def _side(name: str, text: str, signed: SignedCampaign, tally: Tally, ask: Ask, class_name: str | None) -> OrderedSide:
    statistics = ask(signed, tally, class_name) if is_enough(signed.campaign, tally) else None
    return OrderedSide(name, text, tally.reports, statistics)


def _known(signed: SignedCampaign, sides: Sequence[OrderedSide], part: str) -> list[OrderedSide]:
    """Return the sides with statistics."""
    known = [side for side in sides if side.statistics is not None]
    if not known:
        raise error_for_no_part(signed.campaign, part)
    return known


def _difference(before: OrderedSide, after: OrderedSide, *, paired: bool) -> OrderedDifference:
    both = [side.statistics for side in (before, after) if side.statistics is not None]
    domain = both[0].estimate.campaign.domain
    pairs = zip(*(statistics.statistics() for statistics in both), strict=True)
    return OrderedDifference(before, after, tuple(_shift(domain, *pair, paired=paired) for pair in pairs))


def _shift(domain: Domain, before: Statistic, after: Statistic, *, paired: bool) -> Shift:
    a, a_low, a_high = (_number(domain, value) for value in (before.estimate, before.low, before.high))
    b, b_low, b_high = (_number(domain, value) for value in (after.estimate, after.low, after.high))
    if paired:
        low, high = b_low - a_high, b_high - a_low
    else:
        low, high = b - a - math.hypot(b - b_low, a_high - a), b - a + math.hypot(b_high - b, a - a_low)
    return Shift(before.kind, before.parameters, b - a, low, high)


def _number(domain: Domain, value: ShownValue) -> float:
    """Return a value as a number, for differences: the number itself, the day number of a date, or the position of a
    label."""
    if not isinstance(value, str):
        return float(value)
    place = domain.index(value, bytes(DITHER_BYTES))
    return float(domain.scaled[place] if isinstance(domain, Line) else place)
