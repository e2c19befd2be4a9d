"""The joint exposure by all reports about the same values, as a screen shows it.

Several campaigns may ask the same person; the bound for the person is the sum of the campaigns' bounds. If a campaign
has no bound, the screen says so.

edge_sdk.disclosure.exposure computes the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from demo_app.texts import language
from edge_sdk import Device


@dataclass(frozen=True)
class Drawn:
    """The outputs drawn in one campaign.

    Attributes:
        draws: number of outputs drawn; a repeated report draws no further one.
        level: upper bound on the level between any two answers, nats; None if there is no bound.
    """

    title: str
    draws: int = field(repr=False)
    level: float | None = field(repr=False)


@dataclass(frozen=True)
class ExposureSummary:
    """The joint exposure by the reports of all joined campaigns about the same values.

    Attributes:
        title: the title of the campaign in question.
        drawn: the outputs drawn in each campaign.
        questions: (question, level in nats) for each question of a form. The level bounds two answers that differ in
            this question only; None if there is no bound. Empty if the campaign is not a form.
        level: upper bound on the level between any two answers, nats; None if there is no bound.
        sure: the highest posterior probability of one of two answers with equal prior probability.
        forgotten: the charges of forgotten campaigns in nats; the other numbers do not include them.
        repeats: True if one of the campaigns repeats its output while the answer stays the same, so that another
            output shows a change of the answer. Campaigns with transcripts draw an output for every report.
    """

    title: str
    drawn: tuple[Drawn, ...]
    questions: tuple[tuple[str, float | None], ...] = field(repr=False)
    level: float | None = field(repr=False)
    sure: Fraction = field(repr=False)
    forgotten: float = field(repr=False)
    repeats: bool = field(repr=False)

    @classmethod
    def of(cls, device: Device, campaign_id: bytes) -> ExposureSummary:
        """Return the exposure of the values of a joined campaign."""
        exposure = device.exposure(campaign_id)
        drawn = tuple(Drawn(campaign.title, campaign.drawn, campaign.nats) for campaign in exposure.campaigns)
        level, terms = exposure.together.nats, device.terms(campaign_id, language())
        questions = tuple((question.text, exposure.question_levels[question.name].nats) for question in terms.questions)
        return cls(
            terms.title,
            drawn,
            questions,
            level,
            exposure.highest_posterior,
            exposure.forgotten,
            any(
                campaign.drawn and device.campaign(campaign.campaign_id).transcript is None
                for campaign in exposure.campaigns
            ),
        )
