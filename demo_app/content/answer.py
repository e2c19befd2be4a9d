"""Answers as screens show them: what will leave for one and what it could tell, what was answered, and the ledger.

One idea: a true answer is the person's own, so no repr shows it, its report, or what it cost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from demo_app.content.study import Card
from edge_sdk import Device

if TYPE_CHECKING:  # loaded with the first campaign
    from edge_sdk.receipt import Preview, Receipt
    from edge_sdk.shown import Given, Part


@dataclass(frozen=True)
class Leaving:
    """What will leave this phone for an answer, and what it could tell.

    Attributes:
        kind: of the question: "values", "grid", "buckets" or "items".
        value: the answer, as it was asked about.
        truth: of 100 people who answer so, in how many reports the answer is among those it makes likeliest.
        before, after: how sure an observer who knew this person's history could be, without and with the report.
        factor: how many times likelier the report may be with this answer than with another.
        cost, after_cost: nats that are charged, and what is spent in all afterwards.
        size: bytes of the report.
        report: the signed report, once it is made; None before.
        repeated: whether it is an earlier report again.
    """

    card: Card
    kind: str
    value: str = field(repr=False)
    truth: float = field(repr=False)
    before: float = field(repr=False)
    after: float = field(repr=False)
    factor: float
    cost: float = field(repr=False)
    after_cost: float = field(repr=False)
    size: int
    report: bytes | None = field(repr=False)
    repeated: bool = field(repr=False)

    @property
    def parts(self) -> list[Part]:
        """The report's bytes by what they are for; none before it is made."""
        from edge_sdk.shown import parts

        return [] if self.report is None else parts(self.report)

    @classmethod
    def of(
        cls, device: Device, campaign_id: bytes, now: int, value: str, preview: Preview, receipt: Receipt | None = None
    ) -> Leaving:
        """What leaves for an answer.

        Args:
            value: as the question's own kind of answer is written.
            preview: of this answer, from before it was given.
            receipt: of it, once it was given.
        """
        from edge_sdk.shown import promise, question

        cost = preview.cost if receipt is None else receipt.cost
        return cls(
            Card.of(device, campaign_id, now),
            question(device, campaign_id).kind,
            value,
            preview.truth,
            preview.belief.before,
            preview.belief.after,
            promise(device, campaign_id).factor,
            cost,
            device.budget.spent + (cost if receipt is None else 0.0),
            preview.report_bytes if receipt is None else len(receipt.envelope),
            None if receipt is None else receipt.envelope,
            receipt is not None and receipt.repeated,
        )


@dataclass(frozen=True)
class Answers:
    """What was answered in one campaign.

    Attributes:
        kind: of the question: "values", "grid", "buckets" or "items".
        given: the values, the latest first.
        spent: nats that they cost.
        counted: whether the study says that the latest report of each value was counted; None where it was not asked.
    """

    card: Card
    kind: str
    given: tuple[Given, ...] = field(repr=False)
    spent: float = field(repr=False)
    counted: tuple[bool, ...] | None = None

    @classmethod
    def of(cls, device: Device, campaign_id: bytes, now: int) -> Answers:
        """What was answered in a joined campaign."""
        from edge_sdk.shown import given, question

        spent = sum(
            entry.nats
            for entry in device.ledger
            if entry.campaign_id == campaign_id and entry.kind.name in ("CHARGE", "CARRY")
        )
        kind = question(device, campaign_id).kind
        return cls(Card.of(device, campaign_id, now), kind, tuple(given(device, campaign_id)), spent)


@dataclass(frozen=True)
class Row:
    """A row of the ledger.

    Attributes:
        kind: "reserve", "charge", "release" or "carry".
        title: of the campaign; empty where it was forgotten.
    """

    time: int
    kind: str
    nats: float
    title: str


@dataclass(frozen=True)
class History:
    """What was answered in each campaign, and the ledger, the latest first."""

    answers: tuple[Answers, ...]
    rows: tuple[Row, ...] = field(repr=False)

    @classmethod
    def of(cls, device: Device, now: int) -> History:
        """What was answered, and the ledger."""
        titles = {campaign_id: device.terms(campaign_id).title for campaign_id in device.campaigns}
        rows = tuple(
            Row(entry.time, entry.kind.name.lower(), entry.nats, titles.get(entry.campaign_id, ""))
            for entry in reversed(device.ledger)
        )
        answers = (Answers.of(device, campaign_id, now) for campaign_id in titles)
        return cls(tuple(one for one in answers if one.given), rows)
