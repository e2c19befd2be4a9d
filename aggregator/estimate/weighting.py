"""Known margins of the population, and what an estimate says of the weights that were made of them.

People who answer are seldom spread like the population. Where it is known how the population is spread over some
groups, reports of a group that answered less count for more (post-stratification: Holt, Smith 1979; several margins:
raking, Deming, Stephan 1940, and calibration, Deville, Särndal 1992). That removes the error of who answered as far as
the groups explain it, and it has a price: the error of chance grows, by the design effect, and a forged report of a
group that counts for more moves the estimate further.

Weights of classes, which are public: class_weights. Of questions of a form, which are not: form_weights. What a file
says: aggregator.population.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aggregator.families.decoder import Floats, Integers
from protocol.errors import BadData

CLASS = "class"
"""The name of a margin by the campaign's classes."""


class MarginRefused(BadData):
    """Known margins that the reports cannot be weighted by."""

    stage = "population"


@dataclass(frozen=True)
class KnownMargin:
    """How the population is distributed over groups of classes, or of a question's values.

    Attributes:
        by: ``class``, or the name of a question.
        question: its place in the form; None of classes.
        names: of the G groups.
        shares: (G,) above zero; they sum to one.
        groups: (a,) the group of each class or value.
        source: where the shares are from, for people; may be empty.
    """

    by: str
    question: int | None
    names: tuple[str, ...]
    shares: Floats
    groups: Integers
    source: str = ""


@dataclass(frozen=True)
class Weighting:
    """What weights did to an estimate.

    Attributes:
        margins: that the reports were weighted to.
        reported: of each margin the (G,) shares of its groups among the reports.
        least, most: the smallest and the largest weight of a report; the mean weight is 1.
        design_effect: the variance of the weighted shares over that of the unweighted ones, each the mean over the
            values; NaN where the latter is 0. Of waves, the variances are those of the mean.
        people_per_report: the most people that one report counts for in a raw estimate; NaN of waves.
        people_unweighted: the same without weights.
    """

    margins: tuple[KnownMargin, ...]
    reported: tuple[Floats, ...]
    least: float
    most: float
    design_effect: float
    people_per_report: float
    people_unweighted: float

    @property
    def by(self) -> str:
        """What the margins are by."""
        return " and ".join(dict.fromkeys(margin.by for margin in self.margins))

    @property
    def words(self) -> str:
        """One sentence for people: that weights were used, by what, and at what price."""
        sources = ", ".join(dict.fromkeys(margin.source for margin in self.margins if margin.source))
        source = f" ({sources})" if sources else ""
        told = (
            f"weighted to known shares of the population by {self.by}{source}: a report counts {self.least:.2f} to "
            f"{self.most:.2f} times, the variance is {self.design_effect:.2f} times that without weights (design "
            "effect)"
        )
        if math.isnan(self.people_per_report):
            return told
        return (
            f"{told}, and one forged report counts for up to {self.people_per_report:,.1f} people instead of "
            f"{self.people_unweighted:,.1f}"
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know before believing weighted numbers."""
        if self.least >= 0:
            return ()
        return (
            f"the weights of some people are below zero (down to {self.least:.2f}): the margins are far from those of "
            "the reports; weight by fewer questions or by larger groups",
        )

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form; its keys are a contract."""
        return {
            "margins": [
                {
                    "by": margin.by,
                    "source": margin.source,
                    "groups": [
                        {"group": name, "population": float(share), "reported": float(got)}
                        for name, share, got in zip(margin.names, margin.shares, reported, strict=True)
                    ],
                }
                for margin, reported in zip(self.margins, self.reported, strict=True)
            ],
            "least": self.least,
            "most": self.most,
            "design_effect": _number(self.design_effect),
            "people_per_report": _number(self.people_per_report),
            "people_per_report_unweighted": _number(self.people_unweighted),
        }


def _number(value: float) -> float | None:
    """JSON has no NaN."""
    return None if math.isnan(value) else value


def require_distinct(margins: Sequence[KnownMargin]) -> None:
    """Refuse two margins with the same groups.

    Raises:
        MarginRefused
    """
    seen = [(margin.by, tuple(margin.groups.tolist())) for margin in margins]
    for place, one in enumerate(seen):
        if one in seen[:place]:
            raise MarginRefused(f"two margins are by {one[0]!r} with the same groups: leave out one of them")
