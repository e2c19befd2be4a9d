"""The terms: what a person is told before they agree.

One idea: everything here is computed from the signed campaign, in words and nats; nothing here decides anything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from protocol import exact
from protocol.campaign import SignedCampaign
from protocol.domain import Buckets, Domain, Grid
from protocol.notions import Block, HighLow, Information, Ldp, Notion

MOST_LISTED = 512


@dataclass(frozen=True)
class Terms:
    """A campaign as the person sees it.

    Attributes:
        campaign_id: 16 bytes.
        title, question, purpose, organisation: who asks what, and why.
        opens, closes, period_seconds, answers_per_period: when and how often, in UTC seconds.
        enrolment: "open" or "enrolled" (keys the study was told of).
        level: what the campaign declares, nats.
        cost, cost_nanonats: of one fresh answer.
        worst_case, worst_case_nanonats: of all answers together; reserved on consent.
        notion: what is promised, in plain words.
        answers: what can be answered, in plain words.
        values: the possible answers in order, where there are at most ``MOST_LISTED``; else empty.
    """

    campaign_id: bytes
    title: str
    question: str
    purpose: str
    organisation: str
    opens: int
    closes: int
    period_seconds: int
    answers_per_period: int
    enrolment: str
    level: float
    cost_nanonats: int
    worst_case_nanonats: int
    notion: str
    answers: str
    values: tuple[str, ...]

    @property
    def cost(self) -> float:
        """Nats of one fresh answer."""
        return exact.nats(self.cost_nanonats)

    @property
    def worst_case(self) -> float:
        """Nats of all answers together, at worst."""
        return exact.nats(self.worst_case_nanonats)

    @classmethod
    def of(cls, signed: SignedCampaign) -> Terms:
        """The terms of a verified campaign."""
        campaign = signed.terms
        listed = range(campaign.domain.size) if campaign.domain.size <= MOST_LISTED else ()
        return cls(
            signed.id,
            campaign.title,
            campaign.question,
            campaign.purpose,
            campaign.organisation,
            campaign.opens,
            campaign.closes,
            campaign.period_seconds,
            campaign.answers_per_period,
            campaign.enrolment,
            exact.nats(campaign.notion.level),
            campaign.certificate.cost,
            campaign.worst_case,
            promise(campaign.notion),
            _answers(campaign.domain),
            tuple(campaign.domain.label(x) for x in listed),
        )


def promise(notion: Notion) -> str:
    """What a notion promises the person, in words."""
    factor = f"{math.exp(exact.nats(notion.level)):.3g} times"
    if isinstance(notion, Ldp):
        return f"Whatever leaves the device is at most {factor} likelier with your answer than with any other."
    if isinstance(notion, HighLow):
        return (
            f"If your answer is one of the {len(notion.sensitive)} sensitive ones, whatever leaves the device is at "
            f"most {factor} likelier with it than with any other. Other answers may show."
        )
    if isinstance(notion, Block):
        return (
            f"Within a group of answers, whatever leaves the device is at most {factor} likelier with yours than with "
            "another. Which group your answer is in may show."
        )
    if isinstance(notion, Information):
        return (
            "To an observer who expects you to answer like the campaign's population, whatever leaves the device "
            f"makes an answer at most {factor} likelier or less likely than it was before. Others may learn more."
        )
    return (
        f"Whatever leaves the device is at most {factor} likelier with your answer than with another it is protected "
        "from. Some pairs of answers are protected more, some are not."
    )


def _answers(domain: Domain) -> str:
    if isinstance(domain, Grid):
        return (
            f"A position, rounded to one of {domain.size} cells of {domain.step / 10**6:g} degrees: latitude,longitude."
        )
    if isinstance(domain, Buckets):
        return f"A number from {domain.label(0)} to {domain.label(domain.size - 1)}, rounded to one of {domain.size}."
    return f"One of {domain.size} values."
