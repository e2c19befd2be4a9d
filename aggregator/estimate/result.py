"""Estimate of a campaign: shares with standard errors and intervals, and the influence of forged reports.

An estimate contains all numbers that are needed to judge it: unbiased and consistent shares, standard errors, intervals
for one value and for all values together, refused reports, the influence of a forged report, and warnings.

``estimator`` computes an estimate, and ``present`` prints it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggregator.campaign_facts import estimated_noun
from aggregator.estimate.distribution import total_variation
from aggregator.estimate.interval_estimates import Shares
from aggregator.estimate.names import POOLS
from aggregator.estimate.prior_test import PriorTest
from aggregator.estimate.resolutions import Resolution
from aggregator.estimate.weighting import Weighting
from aggregator.families.decoder import Floats
from aggregator.json_number import json_number
from aggregator.quantity import quantity
from protocol import exact
from protocol.campaign import Campaign, SignedCampaign
from protocol.domain import Items, Line

VALUE_KINDS = {
    "values": "value",
    "ordered": "value",
    "grid": "cell",
    "buckets": "randomly rounded number",
    "number": "number",
    "date": "date",
    "items": "item",
}
"""The name of a value in machine-readable tables, by kind of domain."""

ROUNDED = (
    "each share is that of the answers rounded to this number, not that of a bin. A device rounds its answer at random "
    "to one of the two numbers around the answer, more often to the nearer one, so means and sums are unbiased"
)


def unsigned_and_id(campaign: Campaign | SignedCampaign) -> tuple[Campaign, bytes]:
    """Return a campaign without its signature, and its id, which is empty if the campaign is not signed."""
    return (campaign.campaign, campaign.id) if isinstance(campaign, SignedCampaign) else (campaign, b"")


@dataclass(frozen=True)
class Influence:
    """A bound on how far forged outputs can move a share. A report has one output, or several in a bundle.

    Attributes:
        people_per_report: the largest number of people that one output counts for in a raw estimate; NaN without a raw
            estimate.
        reports: n, the number of outputs.
        forged: the requested number of forged outputs; None if not requested.
    """

    people_per_report: float
    reports: int
    forged: int | None = None

    def share_of(self, forged: int) -> float:
        """Return the largest number that ``forged`` of the outputs can add to an unbiased share, or take from it."""
        return forged * self.people_per_report / self.reports

    def as_json(self) -> dict[str, Any]:
        """Return the influence of one forged output, of one in 1,000, of one in 100, and of the requested number."""
        usual = {1, math.ceil(self.reports / 1000), math.ceil(self.reports / 100)}
        numbers = sorted(usual if self.forged is None else usual | {self.forged})
        return {
            "people_per_report": json_number(self.people_per_report),
            "share_per_report": json_number(self.share_of(1)),
            "forged": [
                {
                    "reports": forged,
                    "people": json_number(forged * self.people_per_report),
                    "share": json_number(self.share_of(forged)),
                }
                for forged in numbers
            ],
        }


@dataclass(frozen=True)
class Estimate(Shares):
    """Shares of a campaign's k values, with their errors and context.

    ``raw``, ``se`` and the intervals are NaN at values that the channel does not distinguish; a warning then states
    this.

    Attributes:
        campaign: the campaign.
        campaign_id: the id of the campaign; empty if it is not signed.
        reports: n, the number of outputs counted; with transcripts, the number of devices.
        method: the estimation method, one of ``aggregator.estimate.names.METHODS``.
        confidence: the confidence level of the intervals, such as 0.95.
        refused: the number of refused envelopes by reason.
        version: the version of the study's table from which the tally was read.
        influence: the effect that forged reports can have.
        warnings: sentences to read before using the estimate.
        devices: the number of devices that sent the reports; None if unknown, for a class whose devices have several
            reports each.
        class_name: the class of people; None for everybody.
        pool: the way in which classes are combined, one of ``aggregator.estimate.names.POOLS``.
        prior: (k,) the shares that the campaign's prior predicts; None without a prior, for item sets, and with weights
            by known margins.
        prior_test: the test of the prior; None if it cannot be tested.
        rough: (k,) whether too few reports affect the value for ``se`` to be reliable; None if the channel has no
            inverse.
        resolutions: in a campaign with views, the shares at each resolution, the coarsest first; the last resolution is
            that of the values.
        weighting: the effect of weights by known margins; None without weights.
    """

    campaign: Campaign
    campaign_id: bytes
    reports: int
    method: str
    confidence: float
    refused: Mapping[str, int]
    version: int | None
    influence: Influence
    warnings: tuple[str, ...]
    devices: int | None
    class_name: str | None = None
    pool: str = POOLS[0]
    prior: Floats | None = None
    prior_test: PriorTest | None = None
    rough: NDArray[np.bool_] | None = None
    resolutions: tuple[Resolution, ...] = ()
    weighting: Weighting | None = None

    def at(self, resolution: str) -> Estimate | Resolution:
        """Return the shares at one resolution.

        Args:
            resolution: the name of one of ``resolutions``.
        Returns:
            The shares; for the finest resolution, and in a campaign without views, the estimate itself.
        """
        return next((shares for shares in self.resolutions[:-1] if shares.name == resolution), self)

    @property
    def distance_from_prior(self) -> float | None:
        """The total variation distance between the prior and the estimate; None without a prior."""
        return None if self.prior is None else total_variation(self.share, self.prior)

    @property
    def value_kind(self) -> str:
        """The name of a value, one of ``VALUE_KINDS``."""
        return VALUE_KINDS["buckets" if self.note else self.campaign.domain.kind]

    @property
    def note(self) -> str | None:
        """A note on the meaning of the values; None if no note is needed."""
        domain = self.campaign.domain
        return ROUNDED if isinstance(domain, Line) and domain.rounds_randomly else None

    @property
    def counted(self) -> str:
        """The number of counted outputs as text, "24 outputs"; "24 reports" if each report has one output, and "24
        devices" with transcripts."""
        return quantity(self.reports, estimated_noun(self.campaign))

    @property
    def epsilon(self) -> float:
        """The declared level of the campaign's notion, nats."""
        return exact.nats(self.campaign.notion.level)

    def label(self, x: int) -> str:
        """Return the name of value ``x``.

        Args:
            x: the index of the value, 0 .. k - 1.
        Returns:
            The name, as in tables.
        """
        return self.campaign.domain.label(x)

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as a JSON object.

        Returns:
            An object for ``json.dumps``; shares as fractions. Scripts depend on the names of its keys.
        """
        return {
            "campaign": self.campaign.title,
            "campaign_id": self.campaign_id.hex(),
            "reports": self.reports,
            "devices": self.devices,
            "class": self.class_name,
            "pool": self.pool,
            "weights": None if self.weighting is None else self.weighting.as_json(),
            "notion": self.campaign.notion.name,
            "epsilon": self.epsilon,
            "method": self.method,
            "confidence": self.confidence,
            "table_version": self.version,
            "value_kind": self.value_kind,
            "note": self.note,
            **self._items(),
            "values": list(value_rows(self)),
            "resolutions": [
                {"resolution": resolution.name, "reports": resolution.reports, "values": list(value_rows(resolution))}
                for resolution in self.resolutions[:-1]
            ],
            "prior_test": None if self.prior_test is None else self.prior_test.as_json(),
            "added_to_prior": self.distance_from_prior,
            "rejected": dict(self.refused),
            "influence": self.influence.as_json(),
            "warnings": list(self.warnings),
        }

    def _items(self) -> dict[str, Any]:
        """Return the description of the items of an item set, numbered from 1 if they have no names; empty for other
        domains."""
        domain = self.campaign.domain
        if not isinstance(domain, Items):
            return {}
        numbered = [1, domain.item_count] if isinstance(domain.labels, int) else None
        return {"items": {"count": domain.item_count, "padding": domain.padding, "numbered": numbered}}


def value_rows(shares: Estimate | Resolution) -> Iterator[dict[str, Any]]:
    """Yield the machine-readable form of each value or district, as a row."""
    prior = shares.prior if isinstance(shares, Estimate) else None
    for x, (numbers, above) in enumerate(zip(shares.numbers(), shares.above_zero.tolist(), strict=True)):
        yield {
            "value": shares.label(x),
            **numbers,
            **({} if prior is None else {"prior": float(prior[x])}),
            "above_zero": None if numbers["simultaneous_low"] is None else above,
            "se_rough": shares.rough is not None and bool(shares.rough[x]),
        }
