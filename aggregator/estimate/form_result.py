"""The estimate of one question of a form, or of a table of two, and what a reader must know beside it.

Shares are of the people who answered. Whoever skipped a question is left out of its shares, and of those of its tables.

How questions are pooled: form. Tables: form_table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggregator.estimate.form import NotAsked, Shares, margin, part_of, question_shares, shares_of
from aggregator.estimate.form_table import Association, cross
from aggregator.estimate.form_view import FormView
from aggregator.estimate.form_weights import (
    AnsweredForm,
    Calibration,
    WeightedShares,
    weighted_question,
    weighted_table,
)
from aggregator.estimate.minimum import NotEnough, require_enough
from aggregator.estimate.screen import screen
from aggregator.estimate.span import Span
from aggregator.estimate.tally import Tally
from aggregator.estimate.weighting import KnownMargin, Weighting
from aggregator.families.decoder import Floats
from aggregator.families.registry import decoder_of
from protocol import exact
from protocol.campaign import Campaign, SignedCampaign
from protocol.domain.form import Form
from protocol.errors import HalftruthError
from protocol.views.maps import Questions

COLUMNS = ("estimate", "raw", "se", "low", "high", "simultaneous_low", "simultaneous_high")


class NotOfForm(HalftruthError):
    """A question that a campaign does not have."""


@dataclass(frozen=True)
class FormEstimate:
    """The shares of one question of a form, or of the cells of two.

    Attributes:
        terms: the campaign.
        campaign_id: its id; empty where it was not signed.
        questions: the names, as they were asked for.
        labels: the values of each row of ``shares``, one for each question.
        shares: among the people who answered.
        reports: of the views behind the shares.
        level: of the intervals.
        skipping: the questions that may be skipped; whoever did is left out.
        warnings: what a reader must know before believing the numbers.
        association: of two questions.
        within: of two questions, for each value of the first the shares of the second among the people with it.
        weighting: what weights did; None without weights.
        rejected: envelopes refused, by reject class.
        version: of the study's table the tally was read from.
    """

    terms: Campaign
    campaign_id: bytes
    questions: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    shares: Shares
    reports: int
    level: float
    skipping: tuple[str, ...]
    warnings: tuple[str, ...]
    rejected: Mapping[str, int]
    version: int | None
    association: Association | None = None
    within: tuple[Shares, ...] = ()
    weighting: Weighting | None = None

    @property
    def form(self) -> Form:
        """The campaign's."""
        return _form_of(self.terms)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The machine-readable form of each value or cell."""
        of_one = len(self.questions) == 1
        names = [{"value": label[0]} if of_one else {"values": list(label)} for label in self.labels]
        return [name | row for name, row in zip(names, _numbers(self.shares), strict=True)]

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form; its keys are a contract."""
        found: dict[str, Any] = {
            "campaign": self.terms.title,
            "campaign_id": self.campaign_id.hex(),
            "questions": list(self.questions),
            "reports": self.reports,
            "notion": self.terms.notion.name,
            "epsilon": exact.nats(self.terms.notion.level),
            "confidence": self.level,
            "table_version": self.version,
            "without_skipped": list(self.skipping),
            "weights": None if self.weighting is None else self.weighting.as_json(),
            "values" if self.association is None else "cells": self.rows,
        }
        if self.association is not None:
            found["association"] = {
                "statistic": self.association.statistic,
                "threshold": self.association.threshold,
                "p_value": self.association.p_value,
                "significant": self.association.significant,
            }
            columns = len(self.within[0].share)
            found["within"] = [
                {
                    "value": self.labels[place * columns][0],
                    "values": [
                        {"value": label[1]} | row
                        for label, row in zip(self.labels[:columns], _numbers(shares), strict=True)
                    ],
                }
                for place, shares in enumerate(self.within)
            ]
        return found | {"rejected": dict(self.rejected), "warnings": list(self.warnings)}


@dataclass(frozen=True)
class FormCourse:
    """The same shares in several spans of periods.

    Attributes:
        sides: each span that has enough devices, with its estimate; one at least.
        few: the spans that have too few.
    """

    sides: tuple[tuple[Span, FormEstimate], ...]
    few: tuple[Span, ...]

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form; its keys are a contract."""
        return {"spans": [{"first": span.first, "last": span.last} | found.as_json() for span, found in self.sides]}


def form_course(spans: Sequence[Span], tallies: Iterable[Tally], ask: Callable[[Tally], FormEstimate]) -> FormCourse:
    """Return the shares of each span of periods.

    Args:
        spans: of which the tallies are.
        tallies: of each span.
        ask: the estimate of a tally.
    Raises:
        NotEnough: every span has fewer devices than the campaign waits for.
    """
    sides, few, refused = [], [], None
    for span, tally in zip(spans, tallies, strict=True):
        try:
            sides.append((span, ask(tally)))
        except (NotEnough, NotAsked) as reason:  # nobody may have been asked in a short period
            few.append(span)
            refused = reason
    if not sides and refused is not None:
        raise refused
    return FormCourse(tuple(sides), tuple(few))


def _numbers(shares: Shares) -> list[dict[str, float | None]]:
    columns = (shares.share, shares.raw, shares.se, shares.low, shares.high, shares.all_low, shares.all_high)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [{name: None if math.isnan(x) else x for name, x in zip(COLUMNS, row, strict=True)} for row in rows]


def estimate_form(
    campaign: Campaign | SignedCampaign,
    tally: Tally,
    names: Sequence[str],
    *,
    level: float = 0.95,
    margins: Sequence[KnownMargin] = (),
) -> FormEstimate:
    """Return the shares of one question, or of the cells of two.

    Args:
        campaign: of a form.
        tally: of all its views.
        names: of one question or two; the rows of a table are those of the first.
        level: of the intervals.
        margins: known shares of the population by questions of the form, to weight the reports to.
    Raises:
        NotOfForm: a question that the form does not have, or one twice.
        NotAsked: nobody who has answered was asked for this.
        NotEnough: fewer devices than the campaign waits for are behind the shares.
        MarginRefused: the reports cannot be weighted to the margins.
        NotInvertible
    """
    signed = campaign if isinstance(campaign, SignedCampaign) else None
    terms = campaign.terms if isinstance(campaign, SignedCampaign) else campaign
    places = [_place(terms, name) for name in names]
    if len(set(places)) < len(places):
        raise NotOfForm(f"a table is of two different questions, not twice of {names[0]!r}")
    form = _form_of(terms)
    questions = [form.questions[place] for place in places]
    views = views_of(terms, tally)
    calibration = Calibration(AnsweredForm(views, form), margins) if margins else None
    if len(places) == 1:
        found = _question(views, places[0], questions[0].skippable, calibration, level)
        labels: tuple[tuple[str, ...], ...] = tuple((questions[0].label(x),) for x in range(questions[0].domain.size))
    else:
        found = _table(views, form, places, calibration, level)
        first, second = questions
        labels = tuple(
            (first.label(x), second.label(y)) for x in range(first.domain.size) for y in range(second.domain.size)
        )
    require_enough(terms, *(view.tally for view in found.views))
    warnings = _warnings(form, found.views)
    return FormEstimate(
        terms,
        signed.id if signed else b"",
        tuple(names),
        labels,
        found.shares,
        sum(view.tally.reports for view in found.views),
        level,
        tuple(question.name for question in questions if question.skippable),
        warnings if found.weighting is None else (*warnings, *found.weighting.warnings),
        tally.rejected,
        tally.version,
        found.association,
        found.within,
        found.weighting,
    )


@dataclass(frozen=True)
class _Found:
    """Shares with the views behind them; the rest as of ``FormEstimate``."""

    shares: Shares
    views: Sequence[FormView]
    association: Association | None = None
    within: tuple[Shares, ...] = ()
    weighting: Weighting | None = None


def _question(
    views: Sequence[FormView], place: int, skippable: bool, calibration: Calibration | None, level: float
) -> _Found:
    if calibration is not None:
        weighted = weighted_question(calibration, place)
        shares = question_shares(weighted, skippable=skippable, level=level)
        return _Found(shares, weighted.views, weighting=weighted.weighting)
    pooled = margin(views, place)
    return _Found(question_shares(pooled, skippable=skippable, level=level), pooled.views)


def _table(
    views: Sequence[FormView], form: Form, places: Sequence[int], calibration: Calibration | None, level: float
) -> _Found:
    """The table whose rows are those of the first of ``places``."""
    in_order = sorted(places)
    table = cross(views, *in_order)
    skippable = form.questions[in_order[0]].skippable, form.questions[in_order[1]].skippable
    kept = [range(form.questions[place].domain.size) for place in places]
    weighted = None if calibration is None else weighted_table(calibration, *in_order)
    if weighted is None:
        cells = table.cells(skippable=skippable, level=level)
        within = tuple(table.within(places[0], x, skippable=skippable, level=level) for x in kept[0])
    else:
        cells = _among(weighted, table.kept(skippable), level)
        rows = [table.kept_within(places[0], x, skippable=skippable) for x in kept[0]]
        within = tuple(_among(weighted, of_row, level) for of_row in rows)
    if in_order != list(places):
        cells = cells.of(np.arange(len(cells.share)).reshape(len(kept[1]), len(kept[0])).T.ravel())
    if weighted is None:
        return _Found(cells, [table.view], table.association, within)
    return _Found(cells, weighted.views, table.association, within, weighted.weighting)


def _among(weighted: WeightedShares, kept: Floats, level: float) -> Shares:
    return shares_of(weighted.among(kept), part_of(weighted.share, kept), level)


def views_of(terms: Campaign, tally: Tally) -> list[FormView]:
    """Return the views of a form that somebody has answered."""
    found = []
    for view, part in zip(terms.views, tally.by_view, strict=True):
        if part.reports and isinstance(view.map, Questions):
            shape = tuple(question.size for question in view.map.asked(terms.domain))
            found.append(FormView(view.map.places, shape, decoder_of(view.channel), part))
    return found


def _form_of(terms: Campaign) -> Form:
    if not isinstance(terms.domain, Form):
        raise NotOfForm(f"{terms.title!r} asks one question: leave out --question and --cross")
    return terms.domain


def _place(terms: Campaign, name: str) -> int:
    places = _form_of(terms).places
    if name not in places:
        raise NotOfForm(f"the form has no question {name[:40]!r}; its questions are {', '.join(places)}")
    return places[name]


def _warnings(form: Form, views: Sequence[FormView]) -> tuple[str, ...]:
    found = []
    for view in views:
        groups = view.tally.groups if view.tally.groups is not None and view.tally.groups.dependent else None
        about = () if groups is None else (groups.devices, groups.most)
        names = " and ".join(form.questions[place].name for place in view.questions)
        for finding in screen(view.decoder, view.tally.counts, view.tally.reports, *about):
            found.append(f"{names}: {finding}")
    return tuple(found)
