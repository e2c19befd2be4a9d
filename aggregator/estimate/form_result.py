"""The estimate of one question of a form, or of a table of two questions.

Shares are among the people who answered: people who skipped a question are excluded from its shares and its tables.

``form`` pools the views, and ``form_table`` estimates tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np

from aggregator.campaign_facts import counted_noun, counted_text
from aggregator.estimate.advice import ONE_DEVICE
from aggregator.estimate.forgeries import find_forgeries_in_tally
from aggregator.estimate.form import NotAsked, SharesEstimate, answered_indicator, pooled_question, shares_among
from aggregator.estimate.form_change import AnsweredShares
from aggregator.estimate.form_classes import class_weighting, form_views, weighted_views
from aggregator.estimate.form_table import Association, cross_table
from aggregator.estimate.form_view import FormView
from aggregator.estimate.form_weights import Calibration, PooledForm, weighted_question, weighted_table
from aggregator.estimate.interval import require_confidence
from aggregator.estimate.interval_estimates import Shares
from aggregator.estimate.minimum import require_enough
from aggregator.estimate.result import unsigned_and_id
from aggregator.estimate.tally import Tally
from aggregator.estimate.weighting import KnownMargin, MarginRefused, Weighting
from protocol import exact
from protocol.campaign import Campaign, SignedCampaign
from protocol.domain.form import Form
from protocol.errors import HalftruthError

Computed = TypeVar("Computed")


class NotOfForm(HalftruthError, ValueError):
    """The campaign is not a form, the form lacks a requested question, or a question was requested twice."""


@dataclass(frozen=True)
class FormEstimate:
    """The shares of one question's values, or of the cells of two questions, with their context.

    Attributes:
        campaign: the campaign.
        campaign_id: the id of the campaign; empty if it is not signed.
        questions: the names of the questions, in the requested order.
        labels: the values of each row of ``shares``, one for each question.
        shares: the shares among the people who answered.
        reports: the number of outputs of the views that are used.
        confidence: the confidence level of the intervals.
        skipping: the questions that may be skipped; people who skipped one are excluded.
        warnings: sentences to read before using the estimate.
        association: the test of association of two questions; None for one question.
        within: for two questions and each value of the first: the shares of the second among the people with this
            value.
        weighting: the effect of weights; None without weights.
        refused: the number of refused envelopes by reason.
        version: the version of the study's table from which the tally was read.
        answered: the unbiased shares among the people who answered, for a comparison.
        class_name: the class of people; None for everybody.
    """

    campaign: Campaign
    campaign_id: bytes
    questions: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    shares: Shares
    reports: int
    confidence: float
    skipping: tuple[str, ...]
    warnings: tuple[str, ...]
    refused: Mapping[str, int]
    version: int | None
    answered: AnsweredShares = field(repr=False, compare=False)
    association: Association | None = None
    within: tuple[Shares, ...] = ()
    weighting: Weighting | None = None
    class_name: str | None = None

    @property
    def form(self) -> Form:
        return _form_of(self.campaign)

    @property
    def counted(self) -> str:
        """The number of counted outputs as text, "24 outputs"; "24 reports" if each report has one output."""
        return counted_text(self.reports, self.campaign)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The machine-readable form of each value or cell."""
        of_one = len(self.questions) == 1
        names = [{"value": label[0]} if of_one else {"values": list(label)} for label in self.labels]
        return [name | row for name, row in zip(names, self.shares.numbers(), strict=True)]

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object; scripts depend on the names of its keys."""
        document: dict[str, Any] = {
            "campaign": self.campaign.title,
            "campaign_id": self.campaign_id.hex(),
            "class": self.class_name,
            "questions": list(self.questions),
            "reports": self.reports,
            "notion": self.campaign.notion.name,
            "epsilon": exact.nats(self.campaign.notion.level),
            "confidence": self.confidence,
            "table_version": self.version,
            "without_skipped": list(self.skipping),
            "weights": None if self.weighting is None else self.weighting.as_json(),
            "values" if self.association is None else "cells": self.rows,
        }
        if self.association is not None:
            document["association"] = {
                "statistic": self.association.statistic,
                "threshold": self.association.threshold,
                "p_value": self.association.p_value,
                "significant": self.association.significant,
            }
            columns = len(self.within[0].share)
            document["within"] = [
                {
                    "value": self.labels[place * columns][0],
                    "values": [
                        {"value": label[1]} | row
                        for label, row in zip(self.labels[:columns], shares.numbers(), strict=True)
                    ],
                }
                for place, shares in enumerate(self.within)
            ]
        return document | {"rejected": dict(self.refused), "warnings": list(self.warnings)}


def estimate_form(
    campaign: Campaign | SignedCampaign,
    tally: Tally,
    names: Sequence[str],
    *,
    confidence: float = 0.95,
    margins: Sequence[KnownMargin] = (),
    class_name: str | None = None,
) -> FormEstimate:
    """Return the shares of one question's values, or of the cells of two questions.

    Args:
        campaign: a campaign with a form.
        tally: the counts of the reports of all its views.
        names: one or two questions; the values of the first are the rows of a table.
        confidence: the confidence level of the intervals.
        margins: the known shares of the population by questions of the form, or by class, to which reports are
            weighted.
        class_name: the class, if ``classes.campaign_of_class`` has restricted campaign and tally to one.
    Raises:
        NotOfForm: the campaign is not a form, the form lacks a requested question, or a question is named twice.
        NotAsked: no reports distinguish the values of the questions; or, with weights, no view asks a question together
            with that of a margin, or no view of the questions has reports of every class.
        NotEnough: the used views have fewer devices than the campaign's minimum, or all reports on two questions come
            from one group of devices.
        MarginRefused: the reports cannot be weighted to the margins.
        NotInvertible: no unbiased estimate exists.
        ValueError: ``confidence`` is not between 0 and 1.
    """
    require_confidence(confidence)
    unsigned, campaign_id = unsigned_and_id(campaign)
    places = [_place(unsigned, name) for name in names]
    if len(set(places)) < len(places):
        raise NotOfForm(f"a table needs two different questions, and {names[0]!r} is named twice")
    form = _form_of(unsigned)
    questions = [form.questions[place] for place in places]
    estimator = _FormEstimator(form_views(unsigned, tally), form, tuple(margins), confidence)
    if len(places) == 1:
        form_shares = estimator.question(places[0])
        labels: tuple[tuple[str, ...], ...] = tuple((questions[0].label(x),) for x in range(questions[0].domain.size))
    else:
        form_shares = estimator.table(places)
        first, second = questions
        labels = tuple(
            (first.label(x), second.label(y)) for x in range(first.domain.size) for y in range(second.domain.size)
        )
    require_enough(unsigned, *(view.tally for view in form_shares.views))
    warnings = _warnings(form, form_shares.views, counted_noun(unsigned))
    return FormEstimate(
        unsigned,
        campaign_id,
        tuple(names),
        labels,
        form_shares.shares,
        sum(view.tally.reports for view in form_shares.views),
        confidence,
        tuple(question.name for question in questions if question.skippable),
        warnings if form_shares.weighting is None else (*warnings, *form_shares.weighting.warnings),
        tally.refused,
        tally.version,
        form_shares.answered,
        form_shares.association,
        form_shares.within,
        form_shares.weighting,
        class_name,
    )


@dataclass(frozen=True)
class _FormShares:
    """Shares and the views from which they are computed; for the other attributes see ``FormEstimate``."""

    shares: Shares
    answered: AnsweredShares
    views: Sequence[FormView]
    association: Association | None = None
    within: tuple[Shares, ...] = ()
    weighting: Weighting | None = None


class _FormEstimator:
    """The views of a form with their weights.

    Raises:
        MarginRefused: margins by class and by questions at once.
    """

    def __init__(
        self, views: Sequence[FormView], form: Form, margins: tuple[KnownMargin, ...], confidence: float
    ) -> None:
        self.everybody, self.form, self.margins, self.confidence = views, form, margins, confidence
        by_class = [margin.place is None for margin in margins]
        if any(by_class) and not all(by_class):
            raise MarginRefused(
                "margins by class and by questions of a form cannot be combined: keep the margins of one kind"
            )
        self.by_class = any(by_class)
        self.views = weighted_views(views, margins) if self.by_class else views
        self.calibration = Calibration(PooledForm(views, form), margins) if margins and not self.by_class else None

    def _estimate_from_views(self, find: Callable[[Sequence[FormView]], Computed], places: Sequence[int]) -> Computed:
        """Return the estimate that ``find`` computes from ``views``, for the questions ``places``.

        Raises:
            NotAsked: no view asks the questions; or each view that asks them lacks reports of a class, which the
                weights by class need.
        """
        try:
            return find(self.views)
        except NotAsked:
            find(self.everybody)  # raises if the reason is not the weights
            names = " and ".join(self.form.questions[place].name for place in places)
            raise NotAsked(
                f"no view that asks {names} has reports of every class, which weights by class need: ingest more, or "
                "leave out --margins"
            ) from None

    def question(self, place: int) -> _FormShares:
        skippable = self.form.questions[place].skippable
        weighting = None
        estimate: SharesEstimate
        if self.calibration is not None:
            estimate = weighted = weighted_question(self.calibration, place)
            weighting = weighted.weighting
        else:
            find = partial(pooled_question, place=place)
            estimate = self._estimate_from_views(find, [place])
            if self.by_class:
                weighting = class_weighting(self.everybody, self.margins, estimate, find)
        indicator = answered_indicator(len(estimate.raw), skippable)
        order = np.arange(int(indicator.sum()))
        shares = shares_among(estimate, indicator, self.confidence)
        return _FormShares(shares, AnsweredShares(estimate, indicator, order), estimate.views, weighting=weighting)

    def table(self, places: Sequence[int]) -> _FormShares:
        """Return the table of two questions; its rows are the values of the first of ``places``."""
        in_order = sorted(places)
        table = self._estimate_from_views(lambda views: cross_table(views, *in_order), places)
        skippable = self.form.questions[in_order[0]].skippable, self.form.questions[in_order[1]].skippable
        sizes = [self.form.questions[place].domain.size for place in places]
        order = np.arange(math.prod(sizes))
        if in_order != list(places):
            order = order.reshape(sizes[::-1]).T.ravel()
        indicator = table.both_answered(skippable)
        weighted = None if self.calibration is None else weighted_table(self.calibration, *in_order)
        if weighted is None:
            cells = table.cells(skippable=skippable, confidence=self.confidence)
            rows = range(sizes[0])
            within = tuple(table.within(places[0], x, skippable=skippable, confidence=self.confidence) for x in rows)
            weighting = None
            if self.by_class:
                weighting = class_weighting(
                    self.everybody, self.margins, table.in_rows, lambda views: cross_table(views, *in_order).in_rows
                )
        else:
            cells = shares_among(weighted, indicator, self.confidence)
            of_rows = [table.answered_within(places[0], x, skippable=skippable) for x in range(sizes[0])]
            within = tuple(shares_among(weighted, of_row, self.confidence) for of_row in of_rows)
            weighting = weighted.weighting
        estimate = table.in_rows if weighted is None else weighted
        association = (cross_table(self.everybody, *in_order) if self.by_class else table).association
        return _FormShares(
            cells.reorder(order),
            AnsweredShares(estimate, indicator, order),
            estimate.views,
            association,
            within,
            weighting,
        )


def _form_of(campaign: Campaign) -> Form:
    if not isinstance(campaign.domain, Form):
        raise NotOfForm(f"{campaign.title!r} asks one question: leave out --question and --cross")
    return campaign.domain


def _place(campaign: Campaign, name: str) -> int:
    places = _form_of(campaign).positions
    if name not in places:
        raise NotOfForm(f"the form has no question {name[:40]!r}; its questions are {', '.join(places)}")
    return places[name]


def _warnings(form: Form, views: Sequence[FormView], noun: str) -> tuple[str, ...]:
    return tuple(
        f"{' and '.join(form.questions[place].name for place in view.questions)}: {finding}"
        for view in views
        for finding in (
            *find_forgeries_in_tally(view.decoder, view.tally, noun),
            *([ONE_DEVICE] if math.isnan(view.reports) else []),
        )
    )
