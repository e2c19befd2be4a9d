"""What all answers about the same told together, as a screen shows it.

Each study promises something of its own reports alone, and a person is asked by several; the number that
holds for the person is the sum, and where nothing bounds it, that is said.

How it is computed: edge_sdk.disclosure.exposure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from demo_app.texts import spoken
from edge_sdk import Device

NANONATS = 10**9


@dataclass(frozen=True)
class Drawn:
    """What was drawn in one campaign.

    Attributes:
        times: how many different outputs.
        level: nats that they tell any two answers apart by at most; None where nothing bounds it.
    """

    title: str
    times: int = field(repr=False)
    level: float | None = field(repr=False)


@dataclass(frozen=True)
class ExposureSummary:
    """What the reports of all joined campaigns about the same told together.

    Attributes:
        title: of the campaign that was asked about.
        drawn: by campaign.
        questions: of a form, (question, nats) for each: what tells two answers to it apart at most, everything else
            alike; None where nothing bounds it. Empty where one thing is asked.
        level: nats that all of it tells any two answers apart by at most; None where nothing bounds it.
        sure: how sure of one of two answers they can be at most who held both for equally likely.
        forgotten: nats that campaigns were charged which were forgotten since; they are in no other number.
    """

    title: str
    drawn: tuple[Drawn, ...]
    questions: tuple[tuple[str, float | None], ...] = field(repr=False)
    level: float | None = field(repr=False)
    sure: Fraction = field(repr=False)
    forgotten: float = field(repr=False)

    @classmethod
    def of(cls, device: Device, campaign_id: bytes) -> ExposureSummary:
        """The exposure of the values of a joined campaign."""
        exposure = device.exposure(campaign_id)
        drawn = tuple(Drawn(told.title, told.drawn, _nats(told.nanonats)) for told in exposure.told)
        level, terms = _nats(exposure.worst.nanonats), device.terms(campaign_id, spoken())
        questions = tuple((one.text, _nats(exposure.questions[one.name].nanonats)) for one in terms.questions)
        return cls(
            terms.title,
            drawn,
            questions,
            level,
            exposure.sure,
            exposure.forgotten_nanonats / NANONATS,
        )


def _nats(nanonats: int | None) -> float | None:
    return None if nanonats is None else nanonats / NANONATS
