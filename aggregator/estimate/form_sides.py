"""Shares of a form in several spans of periods or several classes of people, and the differences between them.

Two classes share no device. Two periods share devices, which repeat an output as long as their answer stays the same.
``form_change`` computes a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, TypeVar

from aggregator.estimate.classes import signed_of_class
from aggregator.estimate.form import NotAsked
from aggregator.estimate.form_change import FormDifference, form_difference
from aggregator.estimate.form_result import FormEstimate
from aggregator.estimate.minimum import NotEnough, error_for_side
from aggregator.estimate.span import Span, require_ends
from aggregator.estimate.tally import Tally
from protocol.campaign import SignedCampaign

Name = TypeVar("Name", Span, str)


@dataclass(frozen=True)
class FormSides(Generic[Name]):
    """Shares of the same values or cells on several sides.

    Attributes:
        sides: the names and estimates of the sides with enough devices; at least one.
        refused: the names of the sides without an estimate, each with the error: too few devices, or no reports from
            which the questions can be estimated.
        differences: the differences between sides; for classes, between each class and the first class with an
            estimate. The confidence of simultaneous intervals applies to all differences together, including
            differences from the sides in ``refused``.
    """

    sides: tuple[tuple[Name, FormEstimate], ...]
    refused: tuple[tuple[Name, NotEnough | NotAsked], ...]
    differences: tuple[FormDifference, ...] = ()


@dataclass(frozen=True)
class FormTrend(FormSides[Span]):
    """Shares of the same values or cells in several spans of periods.

    Attributes:
        change: the difference between the two requested spans, by default the first and the last with an estimate; None
            if only one span has an estimate. ``differences`` contains the step from each span with an estimate
            to the next, if requested.
    """

    change: FormDifference | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object; scripts depend on the names of its keys."""
        return {
            "spans": [{"first": span.first, "last": span.last} | estimate.as_json() for span, estimate in self.sides],
            "change": None if self.change is None else self.change.as_json(),
            "steps": [step.as_json() for step in self.differences],
        }


@dataclass(frozen=True)
class FormClasses(FormSides[str]):
    """Shares of the same values or cells in each class of people."""

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object; scripts depend on the names of its keys."""
        return {
            "classes": [estimate.as_json() for _, estimate in self.sides],
            "differences": [difference.as_json() for difference in self.differences],
        }


def form_trend(
    spans: Sequence[Span],
    tallies: Iterable[Tally],
    ask: Callable[[Tally], FormEstimate],
    *,
    ends: tuple[Span, Span] | None = None,
    steps: bool = False,
) -> FormTrend:
    """Return the shares of each span of periods, and the changes between them.

    Args:
        spans: the spans of periods, in order.
        tallies: the tally of each span, with groups of devices.
        ask: a function from a tally to its estimate.
        ends: the two spans of the change; by default the first and the last with an estimate.
        steps: whether to return the change from each span with an estimate to the next as well.
    Raises:
        NotEnough: one of ``ends``, or the last span if no span has an estimate, has fewer devices than the campaign's
            minimum.
        NotAsked: one of ``ends``, or the last span if no span has an estimate, has no reports from which the questions
            can be estimated.
        ValueError: ``ends`` are not two of the spans.
    """
    require_ends(ends, spans)
    sides, refused = _estimated(spans, tallies, ask)
    known = dict(sides)
    for end, reason in refused:
        if end in (ends or ()) and isinstance(reason, NotEnough):
            raise error_for_side(sides[0][1].campaign, f"on the chosen questions in {end.name_in_text}")
        if end in (ends or ()):
            raise type(reason)(f"{end.name_in_text}: {reason}")
    first, last = ends or (sides[0][0], sides[-1][0])
    before, after = ((end.name_in_text, known[end]) for end in (first, last))
    change = None if first == last else _difference(before, after, True)
    named = [(span.name_in_text, estimate) for span, estimate in sides]
    differences = [_difference(earlier, later, True, len(spans) - 1) for earlier, later in pairwise(named)]
    return FormTrend(sides, refused, tuple(differences) if steps else (), change)


def form_classes(
    signed: SignedCampaign, tally: Tally, ask: Callable[[SignedCampaign, Tally, str], FormEstimate]
) -> FormClasses:
    """Return the shares of each class of people, and the differences from the first class with an estimate.

    Args:
        signed: a campaign with a form and classes.
        tally: the tally of all classes.
        ask: a function from the campaign and the tally of a class, and its name, to its estimate.
    Raises:
        NotEnough: no class has an estimate, and the last one has fewer devices than the campaign's minimum.
        NotAsked: no class has an estimate, and the last one has no reports from which the questions can be estimated.
    """
    names = signed.campaign.classes
    sides, refused = _estimated(names, names, lambda name: ask(*signed_of_class(signed, tally, name), name))
    differences = [_difference(sides[0], side, False, len(names) - 1) for side in sides[1:]]
    return FormClasses(sides, refused, tuple(differences))


Subject = TypeVar("Subject")


def _estimated(
    names: Sequence[Name], subjects: Iterable[Subject], ask: Callable[[Subject], FormEstimate]
) -> tuple[tuple[tuple[Name, FormEstimate], ...], tuple[tuple[Name, NotEnough | NotAsked], ...]]:
    """Return the sides with an estimate and their estimates, and the other sides and their errors.

    Raises:
        NotEnough, NotAsked: no side has an estimate; the error is that of the last side.
    """
    sides: list[tuple[Name, FormEstimate]] = []
    refused: list[tuple[Name, NotEnough | NotAsked]] = []
    for name, subject in zip(names, subjects, strict=True):
        try:
            sides.append((name, ask(subject)))
        except (NotEnough, NotAsked) as reason:  # a short period may have no reports on a question
            refused.append((name, reason))
    if not sides and refused:
        raise refused[-1][1]
    return tuple(sides), tuple(refused)


def _difference(
    before: tuple[str, FormEstimate], after: tuple[str, FormEstimate], paired: bool, difference_count: int = 1
) -> FormDifference:
    """Return the difference of two named sides."""
    estimate = after[1]
    return form_difference(
        (before[0], after[0]), estimate.labels, before[1].answered, estimate.answered, confidence=estimate.confidence,
        paired=paired, difference_count=difference_count,
    )  # fmt: skip
