"""A campaign as screens show it: in a list, its terms, its question, and its classes.

The dates, the consent and the answers determine the state of a campaign, and the state determines the screen to open.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from demo_app.content.budget import BudgetContent
from demo_app.content.declaration import Statement
from demo_app.texts import language
from edge_sdk import Device

if TYPE_CHECKING:  # imported at run time only with the first campaign
    from edge_sdk.campaigns.terms import Terms
    from edge_sdk.disclosure.preview import Preview
    from edge_sdk.presentation import AnswerChoices

NEW, UPCOMING, OPEN, ANSWERED, OVER = "new", "upcoming", "open", "answered", "over"

LEVELS = (0.5, 1.0, 2.0)
"""Levels at which the device can choose a class or statement, in nats, increasing; each bounds the disclosure by the
choice."""


@dataclass(frozen=True)
class QuestionNames:
    """One question of a form and its answers, in the person's language.

    Attributes:
        text: the question.
        kind: the kind of the question, as in ``edge_sdk.presentation.AnswerChoices``.
        names: the names of the values in the person's language, by label.
        unit: the unit of its numbers, such as "hours"; "" for none.
    """

    text: str
    kind: str
    names: Mapping[str, str]
    unit: str


@dataclass(frozen=True)
class CampaignSummary:
    """The data that a list shows about a joined campaign.

    Attributes:
        state: "new" (no consent), "upcoming", "open" (asks for an answer), "answered" (in this period) or "over" (also
            if its author closed it before it opened).
        next_period: UTC seconds at which the next period begins; None if no further period begins.
        left: number of answers that are still possible in this period.
        early: True if its author closed it early, at ``closes``.
        questions: the questions of a form, in order, by name; empty for a single question.
        names: the names of the values in the person's language, by label; empty if not translated.
        unit: the unit of the numbers of a single question; "" for none.
    """

    campaign_id: bytes
    title: str
    organisation: str
    state: str
    opens: int
    closes: int
    next_period: int | None
    left: int
    early: bool = False
    questions: Mapping[str, QuestionNames] = field(default_factory=dict, compare=False, repr=False)
    names: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    unit: str = ""

    @classmethod
    def of(cls, device: Device, campaign_id: bytes, now: int) -> CampaignSummary:
        """Return the summary of a joined campaign; ``now`` is in UTC seconds."""
        from edge_sdk.presentation import answers_left, label_translations, unit_of

        terms = device.terms(campaign_id, language())
        closes = terms.ends
        period = max(0, now - terms.opens) // terms.period_seconds
        next_period = terms.opens + (period + (now >= terms.opens)) * terms.period_seconds
        free = answers_left(device, campaign_id, period) if terms.opens <= now < closes else 0
        if now >= closes or closes <= terms.opens:
            state = OVER
        elif not device.consented(campaign_id):
            state = NEW
        elif now < terms.opens:
            state = UPCOMING
        else:
            state = OPEN if free else ANSWERED
        return cls(
            campaign_id,
            terms.title,
            terms.organisation,
            state,
            terms.opens,
            closes,
            next_period if next_period < closes else None,
            free,
            closes < terms.closes,
            questions_of(device, campaign_id) if terms.questions else {},
            label_translations(device, campaign_id, language()),
            unit_of(device, campaign_id, language()),
        )


def questions_of(device: Device, campaign_id: bytes) -> dict[str, QuestionNames]:
    """Return the questions of a joined form in the person's language, by name."""
    from edge_sdk.presentation import questions

    return {
        question.name: QuestionNames(
            question.text, question.kind, dict(zip(question.labels, question.shown, strict=True)), question.unit
        )
        for question in questions(device, campaign_id, language())
    }


@dataclass(frozen=True)
class Overview:
    """The first screen: joined campaigns, the budget, and the number of waiting envelopes."""

    campaigns: tuple[CampaignSummary, ...]
    budget: BudgetContent
    waiting: int

    @classmethod
    def of(cls, device: Device, now: int) -> Overview:
        """Return the content of the first screen; campaigns that ask for an answer come first, then those without
        consent."""
        order = (OPEN, NEW, ANSWERED, UPCOMING, OVER)
        campaigns = sorted(
            (CampaignSummary.of(device, campaign_id, now) for campaign_id in device.campaigns),
            key=lambda campaign: (order.index(campaign.state), campaign.closes),
        )
        return cls(tuple(campaigns), BudgetContent.of(device), len(device.outbox))


@dataclass(frozen=True)
class Strength:
    """One level of the random choice of a class or a statement from the person's earlier answers.

    Attributes:
        level: nats that the choice may reveal, charged at once.
        share: the probability that the nearest candidate is chosen.
        worst_case: maximum cost of the choice and all answers together, in nats.
    """

    level: float
    share: float
    worst_case: float


@dataclass(frozen=True)
class RandomChoice:
    """The random choice that the device can make of a person's class or statement.

    Attributes:
        known: number of the person's earlier answers that the device uses: those to all campaigns with the same
            possible answers, except campaigns that ask this device for a coarser answer.
        strengths: the levels whose worst case fits into the remaining budget, the lowest first.
    """

    known: int = field(repr=False)
    strengths: tuple[Strength, ...] = field(repr=False)

    @classmethod
    def of(cls, device: Device, campaign_id: bytes) -> RandomChoice | None:
        """Return the possible choices in a joined campaign; None if there is nothing to choose."""
        from edge_sdk.presentation import answers_for_choice, can_choose_class

        terms, remaining = device.terms(campaign_id), device.budget.remaining
        if terms.declares_prior:
            declared = device.declaration(campaign_id)
            if declared.declared_before:
                return None
            others, worst = declared.candidates - 1, declared.chosen_worst_case
        elif can_choose_class(device, campaign_id):
            others, worst = len(terms.classes) - 1, terms.worst_case
        else:
            return None
        strengths = (
            # The probability is e^level / (e^level + C - 1), as in Device.choose_class and Device.choose_prior.
            Strength(level, 1 / (1 + others * math.exp(-level)), level + worst)
            for level in LEVELS
        )
        return cls(
            answers_for_choice(device, campaign_id),
            tuple(strength for strength in strengths if strength.worst_case <= remaining),
        )


@dataclass(frozen=True)
class TermsContent:
    """The terms of a campaign: organisation, question, purpose, schedule and maximum cost.

    Attributes:
        summary: the campaign's state, dates and names.
        terms: the terms that the device computes from the signed campaign.
        questions: all questions of a form, or the only question.
        preview: the preview of one report, for the answer that the report can make most probable.
        answers: maximum number of answers until the campaign ends, which may be an early closing.
        each_costs: True if every report is charged, even with the same answer as before.
        author: the fingerprint of the key that signed the campaign.
        trusted: True if the person accepts all campaigns of this author.
        budget: the current budget.
        within_budget: True if the worst case fits into the remaining budget.
        random_choice: the random choice that the device can make of a class or statement; None if there is nothing to
            choose.
        statement: the public statement on how likely each answer is; None if the campaign does not ask for it.
    """

    summary: CampaignSummary
    terms: Terms
    questions: tuple[AnswerChoices, ...]
    preview: Preview
    answers: int
    each_costs: bool
    author: str
    trusted: bool
    budget: BudgetContent
    within_budget: bool
    random_choice: RandomChoice | None
    statement: Statement | None

    @classmethod
    def of(cls, device: Device, campaign_id: bytes, now: int) -> TermsContent:
        """Return the terms of a joined campaign."""
        from edge_sdk.presentation import fingerprint_of, questions

        terms, budget = device.terms(campaign_id, language()), BudgetContent.of(device)
        campaign = device.campaign(campaign_id)
        return cls(
            CampaignSummary.of(device, campaign_id, now),
            terms,
            questions(device, campaign_id, language()),
            device.preview(campaign_id),
            campaign.periods_until(terms.ends) * terms.answers_per_period,
            campaign.transcript is not None,
            fingerprint_of(terms.author),
            terms.author in {author.public for author in device.trusted},
            budget,
            terms.worst_case <= budget.remaining,
            RandomChoice.of(device, campaign_id),
            Statement.of(device, campaign_id) if terms.declares_prior else None,
        )


@dataclass(frozen=True)
class QuestionContent:
    """The questions that the person is asked.

    Attributes:
        purpose: the campaign's purpose; "" if not given.
        questions: the questions of the device's view of a form, or the only question, each with its possible answers.
        member_of: the person's class, in the person's language; None for none.
    """

    summary: CampaignSummary
    purpose: str
    questions: tuple[AnswerChoices, ...]
    member_of: str | None

    @classmethod
    def of(cls, device: Device, campaign_id: bytes, now: int) -> QuestionContent:
        """Return the questions of a joined campaign; the questions of a form are available after consent."""
        from edge_sdk.presentation import questions

        terms, all_questions = device.terms(campaign_id, language()), questions(device, campaign_id, language())
        asked_questions = (
            tuple(question for question in all_questions if question.name in terms.asked_names)
            if terms.questions
            else all_questions
        )
        member_of = next(
            (class_terms.shown for class_terms in terms.classes if class_terms.name == terms.member_of), None
        )
        return cls(CampaignSummary.of(device, campaign_id, now), terms.purpose, asked_questions, member_of)
