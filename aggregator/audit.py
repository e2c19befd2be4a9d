"""The audit: what a campaign's integers prove, and what they cost in accuracy.

One idea: nothing is read from what the author claims; every number is computed again from the channel's integers.
Levels are exact and rounded up; errors are floats, for people.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aggregator.estimate.decoders import NotInvertible, decoder_of
from aggregator.estimate.error import expected_mse, lip_mse, lip_mse_bound
from protocol import exact
from protocol.campaign import Campaign
from protocol.notions import Information


@dataclass(frozen=True)
class Audit:
    """The findings for one campaign.

    Attributes:
        terms: the campaign.
        raw_mse: expected squared error of the unbiased histogram of one report, summed over values, people spread
            evenly; divide by n for n reports. None where there is no unbiased estimate.
        people_per_report: the most people one report can count for in the unbiased estimate; None without one.
        mse, mse_bound: LIP only: expected squared error of one person's histogram when the prior is right, summed
            over values, and the least any mechanism at this level can have (MATH 2.2).
    """

    terms: Campaign
    raw_mse: float | None
    people_per_report: float | None
    mse: float | None
    mse_bound: float | None

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form; levels in nats, null where infinite."""
        certificate, channel = self.terms.certificate, self.terms.channel
        levels: dict[str, float | None] = {
            "declared": exact.nats(certificate.declared),
            "ldp": None if certificate.ldp is None else exact.nats(certificate.ldp),
            self.terms.notion.name: exact.nats(certificate.audited),
        }
        found: dict[str, Any] = {
            "mechanism": self.terms.mechanism,
            "family": channel.family,
            "values": channel.inputs,
            "output_bits": channel.output_bits,
            "notion": self.terms.notion.name,
            "levels": levels,
            "certified": True,  # a campaign that is not cannot be constructed
            "witness": {
                "input": certificate.witness.x,
                "other": certificate.witness.other,
                "output": certificate.witness.y,
            },
            "cost": exact.nats(certificate.cost),
            "worst_case": exact.nats(self.terms.worst_case),
            "raw_mse": self.raw_mse,
            "people_per_report": self.people_per_report,
        }
        if self.mse is not None:
            found |= {"mse": self.mse, "mse_bound": self.mse_bound}
        return found


def audit_campaign(terms: Campaign) -> Audit:
    """Audit a campaign. Its certificate was computed from the same integers when it was decoded."""
    prior = terms.notion.prior if isinstance(terms.notion, Information) else None
    raw_mse: float | None = None
    weight: float | None = None
    with suppress(NotInvertible):  # a LIP campaign still has its MMSE estimate
        raw_mse, weight = expected_mse(terms.channel), decoder_of(terms.channel).weight
    return Audit(
        terms,
        raw_mse,
        weight,
        None if prior is None else lip_mse(terms.channel, prior),
        None if prior is None else lip_mse_bound(terms.notion.level, prior),
    )
