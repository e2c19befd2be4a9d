"""Answers as screens show them: the envelopes for one answer and their risk, the earlier answers, and the ledger.

True answers must stay secret, so no repr shows an answer, its report or its cost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from demo_app.content.campaign import CampaignSummary
from demo_app.texts import language
from edge_sdk import Device

if TYPE_CHECKING:  # imported at run time only with the first campaign
    from edge_sdk.answers.results import Receipt
    from edge_sdk.campaigns.terms import Terms
    from edge_sdk.disclosure.envelopes import OutputMeaning, WaitingEnvelope
    from edge_sdk.disclosure.preview import Preview
    from edge_sdk.presentation import GivenAnswer


@dataclass(frozen=True)
class Review:
    """The envelopes that are sent for an answer, and the information that they could reveal.

    Attributes:
        kind: the kind of the question, as in ``edge_sdk.presentation.AnswerChoices``; "form" for several questions.
        value: the answer, as the person gave it.
        group: the group or district that the answer counts as on this device, which the probabilities are about; "" if
            this device's view does not coarsen answers.
        input: the label of the input that the probabilities are about: the group, the rounded number or day, the item
            that this device picked ("" for a dummy), or the answer itself.
        fits_true: the probability that the report of a person with this answer fits this answer.
        fits_other: the least probability that the report of a person with another answer fits this answer.
        before, after: the largest posterior of the answer, for an observer who knows this person's history, without and
            with the report.
        terms: the terms of the campaign, with its promise.
        cost, after_cost: nats that the answer costs, and total nats spent afterwards.
        size: size of the report in bytes; before it is made, the maximum size.
        total: size in bytes of the campaign's next upload; before the report is made, the maximum size.
        report: the signed report; None before it is made.
        envelopes: all envelopes that wait for this campaign, including the report; empty before it is made.
        meanings: the answers that each output of the report fits; empty before it is made, or if they are not computed.
        kept_kind: the kind of ``meanings``: ``kind``, or "districts" if this device's view asks for a district.
        beside: (number, bytes) of the envelopes that wait for other campaigns.
        repeated: True if the report was already made before.
    """

    summary: CampaignSummary
    kind: str
    value: str = field(repr=False)
    group: str = field(repr=False)
    input: str = field(repr=False)
    fits_true: Fraction = field(repr=False)
    fits_other: Fraction = field(repr=False)
    before: Fraction = field(repr=False)
    after: Fraction = field(repr=False)
    terms: Terms = field(repr=False)
    cost: float = field(repr=False)
    after_cost: float = field(repr=False)
    size: int
    total: int
    report: bytes | None = field(repr=False)
    envelopes: tuple[WaitingEnvelope, ...] = field(repr=False)
    meanings: tuple[OutputMeaning, ...] = field(repr=False)
    kept_kind: str
    beside: tuple[int, int]
    repeated: bool = field(repr=False)

    @classmethod
    def of(
        cls, device: Device, campaign_id: bytes, now: int, value: str, preview: Preview, receipt: Receipt | None = None
    ) -> Review:
        """Return the envelopes for an answer.

        Args:
            value: the text of the answer, in the form for the question's kind.
            preview: the preview of this answer, made before the answer was given.
            receipt: the receipt of this answer; None before it is given.
        """
        from edge_sdk.disclosure.envelopes import output_meanings, waiting_envelopes
        from edge_sdk.presentation import input_label, kept_kind

        cost = preview.cost if receipt is None else receipt.cost
        waiting = waiting_envelopes(device, campaign_id)
        waiting_bytes = sum(len(envelope.data) for envelope in waiting)
        mine = next(
            (envelope for envelope in waiting if receipt is not None and envelope.data == receipt.envelope), None
        )
        return cls(
            CampaignSummary.of(device, campaign_id, now),
            device.campaign(campaign_id).domain.kind,
            value,
            preview.group,
            input_label(device, campaign_id, preview.posterior.x),
            preview.fits_true,
            preview.fits_other,
            preview.posterior.before,
            preview.posterior.after,
            device.terms(campaign_id, language()),
            cost,
            device.budget.spent + (cost if receipt is None else 0.0),
            preview.report_bytes if receipt is None else len(receipt.envelope),
            preview.upload_bytes if receipt is None else waiting_bytes,
            None if receipt is None else receipt.envelope,
            () if receipt is None else waiting,
            () if mine is None else output_meanings(device, mine),
            kept_kind(device, campaign_id),
            (len(device.outbox) - len(waiting), device.outbox.bytes - waiting_bytes),
            receipt is not None and receipt.repeated,
        )


@dataclass(frozen=True)
class CampaignAnswers:
    """The answers given in one campaign.

    Attributes:
        kind: the kind of the question, as in ``edge_sdk.presentation.AnswerChoices``; "form" for several questions;
            "districts" if this device's view asks for a district.
        values: the values that were answered, the latest first.
        spent: nats spent in the campaign: by its answers, and by the choice of a class or statement.
        addresses: the study's addresses, tried in this order; empty if unknown.
        counted: for each value, True if the study counted its latest report; None if no study was asked. False for a
            report that waits in the outbox, about which no study is asked.
    """

    summary: CampaignSummary
    kind: str
    values: tuple[GivenAnswer, ...] = field(repr=False)
    spent: float = field(repr=False)
    addresses: tuple[str, ...]
    counted: tuple[bool, ...] | None = None

    @property
    def askable(self) -> bool:
        """True if the study can be asked: its address is known, and a report has left the outbox."""
        return bool(self.addresses) and not all(value.waits for value in self.values)

    @classmethod
    def of(cls, device: Device, campaign_id: bytes, now: int) -> CampaignAnswers:
        """Return the answers given in a joined campaign."""
        from edge_sdk.presentation import given_answers, kept_kind

        spent = sum(
            entry.nats
            for entry in device.ledger
            if entry.campaign_id == campaign_id and entry.kind.name in ("CHARGE", "CARRY")
        )
        kind = kept_kind(device, campaign_id)
        addresses = device.addresses(campaign_id)
        return cls(
            CampaignSummary.of(device, campaign_id, now),
            kind,
            tuple(given_answers(device, campaign_id)),
            spent,
            addresses,
        )


@dataclass(frozen=True)
class LedgerRow:
    """A row of the ledger.

    Attributes:
        kind: "reserve", "charge", "release" or "carry".
        title: the campaign's title; empty if it was forgotten.
    """

    time: int
    kind: str
    nats: float
    title: str


@dataclass(frozen=True)
class History:
    """The answers given in each campaign, and the ledger, the latest first."""

    answers: tuple[CampaignAnswers, ...]
    rows: tuple[LedgerRow, ...] = field(repr=False)

    @classmethod
    def of(cls, device: Device, now: int) -> History:
        """Return the answers given, and the ledger."""
        titles = {campaign_id: device.terms(campaign_id, language()).title for campaign_id in device.campaigns}
        rows = tuple(
            LedgerRow(entry.time, entry.kind.name.lower(), entry.nats, titles.get(entry.campaign_id, ""))
            for entry in reversed(device.ledger)
        )
        answers = (CampaignAnswers.of(device, campaign_id, now) for campaign_id in titles)
        return cls(tuple(campaign_answers for campaign_answers in answers if campaign_answers.values), rows)
