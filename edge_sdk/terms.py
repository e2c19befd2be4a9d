"""The terms: what a person is told before they agree.

One idea: everything here is computed from the signed campaign, in words and nats; nothing here decides anything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from protocol import exact
from protocol.campaign import Campaign, SignedCampaign
from protocol.domain import Buckets, Domain, Grid
from protocol.notions import (
    Block,
    Certificate,
    Geo,
    Graded,
    HighLow,
    Information,
    Ldp,
    MinId,
    MutualInformation,
    Notion,
)
from protocol.notions.classes import Classes
from protocol.notions.information import RADIUS_UNITS
from protocol.notions.own import OwnPrior
from protocol.notions.transcript import TranscriptPrior

MOST_LISTED = 512


@dataclass(frozen=True)
class ClassTerms:
    """What one class of people is asked for.

    Attributes:
        name: of the class.
        level: that it declares, nats.
        cost: of one fresh answer, nats.
        worst_case: of all answers together, nats.
    """

    name: str
    level: float
    cost: float
    worst_case: float


@dataclass(frozen=True)
class Terms:
    """A campaign as the person sees it.

    Attributes:
        campaign_id: 16 bytes.
        title, question, purpose, organisation: who asks what, and why.
        opens, closes, period_seconds, answers_per_period: when and how often, in UTC seconds.
        enrolment: "open" or "enrolled" (keys the study was told of).
        level: what the campaign declares, nats; to the person's class, once they have named it.
        cost, cost_nanonats: of one fresh answer.
        worst_case, worst_case_nanonats: of all answers together; reserved on consent.
        notion: what is promised, in plain words.
        answers: what can be answered, in plain words.
        values: the possible answers in order, where there are at most ``MOST_LISTED``; else empty.
        classes: the classes of people, one of which the person agrees as; empty where all are treated alike. Before
            they name one, the costs are those of the class where they are highest.
        member_of: the person's class, once they have named it.
        declares_prior: whether agreeing means to declare a prior of one's own, which then is public.
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
    classes: tuple[ClassTerms, ...]
    member_of: str | None
    declares_prior: bool

    @property
    def cost(self) -> float:
        """Nats of one fresh answer."""
        return exact.nats(self.cost_nanonats)

    @property
    def worst_case(self) -> float:
        """Nats of all answers together, at worst."""
        return exact.nats(self.worst_case_nanonats)

    def as_json(self) -> dict[str, object]:
        """All of it by name, for a script; nanonats as nats."""
        return {
            "campaign": self.campaign_id.hex(),
            "title": self.title,
            "question": self.question,
            "purpose": self.purpose,
            "organisation": self.organisation,
            "opens": self.opens,
            "closes": self.closes,
            "period_seconds": self.period_seconds,
            "answers_per_period": self.answers_per_period,
            "enrolment": self.enrolment,
            "level": self.level,
            "cost": self.cost,
            "worst_case": self.worst_case,
            "notion": self.notion,
            "answers": self.answers,
            "values": list(self.values),
            "classes": [
                {"name": one.name, "level": one.level, "cost": one.cost, "worst_case": one.worst_case}
                for one in self.classes
            ],
            "declares_prior": self.declares_prior,
        }

    @classmethod
    def of(cls, signed: SignedCampaign, certificate: Certificate, place: int | None) -> Terms:
        """The terms of a verified campaign.

        Args:
            certificate: of what the person's answers are drawn from.
            place: of the person's class, where they have named it.
        """
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
            exact.nats(certificate.declared if place is not None else campaign.notion.level),
            certificate.cost,
            certificate.cost * campaign.most_draws,
            promise(campaign.notion, place, certificate.ball),
            _answers(campaign.domain),
            tuple(campaign.domain.label(x) for x in listed),
            _classes(campaign),
            None if place is None else campaign.classes[place],
            isinstance(campaign.notion, OwnPrior),
        )


def _classes(campaign: Campaign) -> tuple[ClassTerms, ...]:
    return tuple(
        ClassTerms(
            name,
            exact.nats(certificate.declared),
            exact.nats(certificate.cost),
            exact.nats(certificate.cost * campaign.most_draws),
        )
        for name, certificate in zip(campaign.classes, campaign.certificates, strict=bool(campaign.classes))
    )


def promise(notion: Notion, place: int | None = None, ball: int | None = None) -> str:
    """What a notion promises the person, in words.

    Args:
        place: of their class, where they have named it.
        ball: the level over the declared ball of priors, nanonats; None where none is declared.
    """
    if isinstance(notion, Classes):
        public = "Which class of people you answer as is told openly. "
        if place is None:
            return public + "What is promised depends on the class; it is said once you have named yours."
        return public + promise(notion.notions[place], None, ball)
    factor = _times(notion.level)
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
        told = (
            "To an observer who expects you to answer like the campaign's population, whatever leaves the device "
            f"makes an answer at most {factor} likelier or less likely than it was before."
        )
        if ball is not None:
            told += (
                f" To one who expects otherwise, by up to {100 * notion.radius / RADIUS_UNITS:.3g} of 100 people, at "
                f"most {_times(ball)}."
            )
        return f"{told} Others may learn more."
    if isinstance(notion, OwnPrior):
        return (
            "You declare openly how likely each answer is for you. To an observer who believes just that, whatever "
            f"leaves the device makes an answer at most {factor} likelier or less likely than it was before. Others "
            "may learn more."
        )
    if isinstance(notion, TranscriptPrior):
        return (
            "Each report is made for what your earlier ones here told. To an observer who expected you to answer like "
            f"the campaign's population, each makes an answer at most {factor} likelier or less likely than just "
            "before. Others may learn more, and so may whoever sees another campaign of this kind about the same."
        )
    if isinstance(notion, Geo):
        return (
            "The nearer another answer is to yours, the better it hides it: whatever leaves the device is at most "
            f"{factor} likelier with your answer than with one a unit of distance away, and less for nearer ones. That "
            "you are far from somewhere may show."
        )
    if isinstance(notion, Graded):
        least, most = _times(min(notion.budgets)), _times(max(notion.budgets))
        both = "whichever of the two is less" if isinstance(notion, MinId) else "what lies between the two"
        pairs = " Some pairs of answers are not protected from each other." if notion.unbounded else ""
        return (
            f"Each answer is protected in its own measure, from {least} for the best protected to {most}. Whatever "
            f"leaves the device is likelier with your answer than with another by {both} at most.{pairs}"
        )
    if isinstance(notion, MutualInformation):
        return (
            f"On average over all people, what leaves a device tells {exact.nats(notion.level):g} nats of the answer. "
            "A single report may tell more, even all: this is no promise to you alone."
        )
    return (
        f"Whatever leaves the device is at most {factor} likelier with your answer than with another it is protected "
        "from. Some pairs of answers are protected more, some are not."
    )


def _times(level: int) -> str:
    return f"{math.exp(exact.nats(level)):.3g} times"


def _answers(domain: Domain) -> str:
    if isinstance(domain, Grid):
        return (
            f"A position, rounded to one of {domain.size} cells of {domain.step / 10**6:g} degrees: latitude,longitude."
        )
    if isinstance(domain, Buckets):
        return f"A number from {domain.label(0)} to {domain.label(domain.size - 1)}, rounded to one of {domain.size}."
    return f"One of {domain.size} values."
