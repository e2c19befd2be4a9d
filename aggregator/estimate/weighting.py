"""Known margins of the population, and the effect of weighting reports to them.

People who answer are seldom a representative sample. If the population's shares of some groups are known, reports of an
underrepresented group get larger weights (post-stratification: Holt, Smith 1979; several margins: raking, Deming,
Stephan 1940, and calibration, Deville, Särndal 1992). Weighting removes the part of the nonresponse bias that the
groups explain. But the variance grows by the design effect, and a forged report of a group with a larger weight has
more influence.

``class_weights`` computes weights of classes, which are public; ``form_weights`` computes weights by questions of a
form, whose answers are hidden. ``aggregator.population`` reads the file format.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aggregator.families.decoder import Floats, Integers
from aggregator.json_number import json_number
from aggregator.quantity import upper_bound
from protocol.errors import BadData

BY_CLASS = "class"
"""The value of ``KnownMargin.by`` for a margin by the campaign's classes."""


class MarginRefused(BadData):
    """The reports cannot be weighted to the known margins."""

    stage = "population"


@dataclass(frozen=True)
class KnownMargin:
    """The known shares of the population by groups of classes, or of a question's values.

    Attributes:
        by: the grouping: ``class``, or the name of a question.
        place: the position of the question in the form; None for classes.
        names: the names of the G groups.
        shares: (G,) the known shares of the groups, above zero, with the sum one.
        groups: (a,) the group of each class or value.
        source: the source of the shares, in words; may be empty.
    """

    by: str
    place: int | None
    names: tuple[str, ...]
    shares: Floats
    groups: Integers
    source: str = ""


@dataclass(frozen=True)
class Weighting:
    """The effect of weights on an estimate.

    Attributes:
        margins: the known margins to which the reports are weighted.
        group_shares: for each margin, (G,), the shares of its groups among the reports.
        min_weight, max_weight: the smallest and the largest weight of a report; the mean weight is 1.
        design_effect: the mean variance of the weighted shares, divided by the mean variance of the unweighted shares;
            NaN if the unweighted shares have the variance 0. For the wave mechanism, the variances are those of the
            mean.
        people_per_report: the largest number of people that one output counts for in a raw estimate; NaN for the wave
            mechanism.
        people_per_report_unweighted: ``people_per_report`` without weights.
    """

    margins: tuple[KnownMargin, ...]
    group_shares: tuple[Floats, ...]
    min_weight: float
    max_weight: float
    design_effect: float
    people_per_report: float
    people_per_report_unweighted: float

    @property
    def by(self) -> str:
        """The groupings of the margins: "class", or the names of the questions, joined by "and"."""
        return " and ".join(dict.fromkeys(margin.by for margin in self.margins))

    def description(self, noun: str) -> str:
        """Return the margins, the weights and the design effect, as a part of a sentence.

        Args:
            noun: the word for an output (see ``counted_noun``).
        """
        sources = ", ".join(dict.fromkeys(margin.source for margin in self.margins if margin.source))
        source = f" ({sources})" if sources else ""
        text = (
            f"weighted to known shares of the population by {self.by}{source}: one {noun} counts {self.min_weight:.2f} "
            f"to {self.max_weight:.2f} times, the variance is {self.design_effect:.2f} times that without weights "
            "(design effect)"
        )
        if math.isnan(self.people_per_report):
            return text
        return (
            f"{text}, and one forged {noun} counts for at most {upper_bound(self.people_per_report, 1)} people instead "
            f"of {upper_bound(self.people_per_report_unweighted, 1)}"
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warning about negative weights; empty if no weight is negative."""
        if self.min_weight >= 0:
            return ()
        return (
            f"the weights of some people are below zero (down to {self.min_weight:.2f}): the margins are far from "
            "those of the reports; weight by fewer questions or by larger groups",
        )

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object; scripts depend on the names of its keys."""
        return {
            "margins": [
                {
                    "by": margin.by,
                    "source": margin.source,
                    "groups": [
                        {"group": name, "population": float(share), "reported": float(reported)}
                        for name, share, reported in zip(margin.names, margin.shares, shares, strict=True)
                    ],
                }
                for margin, shares in zip(self.margins, self.group_shares, strict=True)
            ],
            "least": self.min_weight,
            "most": self.max_weight,
            "design_effect": json_number(self.design_effect),
            "people_per_report": json_number(self.people_per_report),
            "people_per_report_unweighted": json_number(self.people_per_report_unweighted),
        }


def require_unweighted(margins: Sequence[KnownMargin]) -> None:
    """Refuse margins for a campaign with views.

    Raises:
        MarginRefused: there is a margin.
    """
    if margins:
        raise MarginRefused("estimates of a campaign with views cannot be weighted to margins: leave out --margins")


def require_distinct(margins: Sequence[KnownMargin]) -> None:
    """Refuse two margins with the same groups.

    Raises:
        MarginRefused: two margins have the same groups.
    """
    groupings = [(margin.by, tuple(margin.groups.tolist())) for margin in margins]
    for place, grouping in enumerate(groupings):
        if grouping in groupings[:place]:
            raise MarginRefused(f"two margins are by {grouping[0]!r} with the same groups: leave out one margin")
