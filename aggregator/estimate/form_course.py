"""The same shares of a form in several spans of periods, or in several classes of people, and how they differ.

Two classes share no device. Two periods share devices, which repeat an output for as long as their answer stays.
How a difference is made: form_change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, TypeVar

from aggregator.estimate.classes import within
from aggregator.estimate.form import NotAsked
from aggregator.estimate.form_change import FormDifference, form_difference
from aggregator.estimate.form_result import FormEstimate
from aggregator.estimate.minimum import NotEnough
from aggregator.estimate.span import Span
from aggregator.estimate.tally import Tally
from protocol.campaign import SignedCampaign

Name = TypeVar("Name", Span, str)


@dataclass(frozen=True)
class FormSides(Generic[Name]):
    """The same shares on several sides.

    Attributes:
        sides: each that has enough devices, with its estimate; one at least.
        few: those that have too few.
        differences: between sides; of classes of each from the first. Their simultaneous intervals hold together.
    """

    sides: tuple[tuple[Name, FormEstimate], ...]
    few: tuple[Name, ...]
    differences: tuple[FormDifference, ...] = ()


@dataclass(frozen=True)
class FormCourse(FormSides[Span]):
    """The same shares in several spans of periods.

    Attributes:
        change: between two of them, the first and the last that have an estimate if no others were named; None where
            only one has. ``differences`` are the steps from each to the next, if these were asked for.
    """

    change: FormDifference | None = None

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form; its keys are a contract."""
        return {
            "spans": [{"first": span.first, "last": span.last} | found.as_json() for span, found in self.sides],
            "change": None if self.change is None else self.change.as_json(),
            "steps": [step.as_json() for step in self.differences],
        }


@dataclass(frozen=True)
class FormClasses(FormSides[str]):
    """The same shares in each class of people."""

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form; its keys are a contract."""
        return {
            "classes": [found.as_json() for _, found in self.sides],
            "differences": [one.as_json() for one in self.differences],
        }


def form_course(
    spans: Sequence[Span],
    tallies: Iterable[Tally],
    ask: Callable[[Tally], FormEstimate],
    *,
    ends: tuple[Span, Span] | None = None,
    steps: bool = False,
) -> FormCourse:
    """Return the shares of each span of periods, and what has changed between them.

    Args:
        spans: of which the tallies are.
        tallies: of each span, by groups of devices.
        ask: the estimate of a tally.
        ends: the two spans that the change is between; the first and the last that have an estimate if not given.
        steps: whether the change from each span to the next is wanted too.
    Raises:
        NotEnough: every span has fewer devices than the campaign waits for, or one of ``ends`` has.
    """
    sides, few = _enough(spans, tallies, ask)
    known = dict(sides)
    if missing := [end for end in ends or () if end not in known]:
        raise NotEnough(f"too few devices have answered in {missing[0].words}: compare other periods")
    first, last = ends or (sides[0][0], sides[-1][0])
    change = None if first == last else _difference((first.words, known[first]), (last.words, known[last]), True)
    named = [(span.words, found) for span, found in sides]
    taken = [_difference(one, other, True, len(named) - 1) for one, other in pairwise(named)]
    return FormCourse(sides, few, tuple(taken) if steps else (), change)


def form_classes(
    campaign: SignedCampaign, tally: Tally, ask: Callable[[SignedCampaign, Tally, str], FormEstimate]
) -> FormClasses:
    """Return the shares of each class of people, and the differences of each class from the first.

    Args:
        tally: of everybody.
        ask: the estimate of a class, from the campaign and the tally cut down to it, and its name.
    Raises:
        NotEnough: every class has fewer devices than the campaign waits for.
    """
    names = campaign.terms.classes

    def one(name: str) -> FormEstimate:
        terms, mine = within(campaign.terms, tally, name)
        return ask(SignedCampaign(terms, campaign.id, campaign.author, campaign.data), mine, name)

    sides, few = _enough(names, names, one)
    taken = [_difference(sides[0], side, False, len(sides) - 1) for side in sides[1:]]
    return FormClasses(sides, few, tuple(taken))


Given = TypeVar("Given")


def _enough(
    names: Sequence[Name], given: Iterable[Given], ask: Callable[[Given], FormEstimate]
) -> tuple[tuple[tuple[Name, FormEstimate], ...], tuple[Name, ...]]:
    """The sides that have enough devices with their estimates, and those that have too few."""
    sides: list[tuple[Name, FormEstimate]] = []
    few: list[Name] = []
    refused: Exception | None = None
    for name, one in zip(names, given, strict=True):
        try:
            sides.append((name, ask(one)))
        except (NotEnough, NotAsked) as reason:  # nobody may have been asked in a short period
            few.append(name)
            refused = reason
    if not sides and refused is not None:
        raise refused
    return tuple(sides), tuple(few)


def _difference(
    before: tuple[str, FormEstimate], after: tuple[str, FormEstimate], paired: bool, together: int = 1
) -> FormDifference:
    """The difference of two named sides."""
    found = after[1]
    return form_difference(
        (before[0], after[0]), found.labels, before[1].answered, found.answered, level=found.level,
        paired=paired, together=together,
    )  # fmt: skip
