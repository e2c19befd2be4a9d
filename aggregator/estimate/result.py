"""The estimate of a campaign: what its reports say, how surely, and how far forgeries could bend it.

One idea: an estimate carries everything needed to distrust it. Unbiased and consistent shares, errors, intervals for
one value and for all together, what was refused, what one forged report is worth, and plain warnings.

Linear queries such as means: query. How it is printed: present.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggregator.estimate import distribution, interval
from aggregator.estimate.decoders import Decoder, NotInvertible, decoder_of
from aggregator.estimate.decoders.decoder import Floats
from aggregator.estimate.screen import screen
from aggregator.estimate.tally import Tally
from protocol import exact
from protocol.campaign import Campaign, SignedCampaign
from protocol.errors import HalftruthError, NotYet
from protocol.notions import Information

METHODS = ("projection", "mmse", "map", "linear")
"""How the consistent distribution is made: see ``distribution``; "linear" leaves the raw estimate as it is."""


class NotEnough(NotYet):
    """Fewer reports than the campaign promised to wait for."""


class MethodRefused(HalftruthError, ValueError):
    """The estimator asked for does not go with the campaign."""


@dataclass(frozen=True)
class Influence:
    """How far reports that no honest device made could move a value.

    Attributes:
        people_per_report: the most people that one report counts for in a raw estimate; NaN without one.
        reports: n.
    """

    people_per_report: float
    reports: int

    def share_of(self, forged: int) -> float:
        """The most that ``forged`` of the reports add to a value's raw share."""
        return forged * self.people_per_report / self.reports

    def as_json(self) -> dict[str, Any]:
        """The influence of one report, and of one in a thousand and one in a hundred."""
        crowds = sorted({1, math.ceil(self.reports / 1000), math.ceil(self.reports / 100)})
        return {
            "people_per_report": _number(self.people_per_report),
            "share_per_report": _number(self.share_of(1)),
            "forged": [
                {
                    "reports": forged,
                    "people": _number(forged * self.people_per_report),
                    "share": _number(self.share_of(forged)),
                }
                for forged in crowds
            ],
        }


@dataclass(frozen=True)
class Estimate:
    """The shares of a campaign's values.

    All arrays are (k,), fractions. ``raw``, ``se`` and the intervals are NaN where the channel has no unbiased
    estimate, which a warning then says.

    Attributes:
        terms: the campaign.
        campaign_id: its id; empty where the campaign was not signed.
        reports: n, the outputs counted.
        method: one of ``METHODS``.
        level: of the intervals, such as 0.95.
        share: the consistent distribution.
        raw: the unbiased estimate; may be negative or above one.
        se: standard error of ``raw``.
        low, high: interval of each value by itself, within 0 .. 1.
        all_low, all_high: intervals that hold for all values together, within 0 .. 1.
        rejected: envelopes refused, by reject class.
        version: of the study's table the tally was read from.
        influence: of forged reports.
        warnings: what a reader must know before believing the numbers.
    """

    terms: Campaign
    campaign_id: bytes
    reports: int
    method: str
    level: float
    share: Floats
    raw: Floats
    se: Floats
    low: Floats
    high: Floats
    all_low: Floats
    all_high: Floats
    rejected: Mapping[str, int]
    version: int | None
    influence: Influence
    warnings: tuple[str, ...]

    @property
    def size(self) -> int:
        """k."""
        return len(self.share)

    @property
    def epsilon(self) -> float:
        """The declared level of the campaign's notion, nats."""
        return exact.nats(self.terms.notion.level)

    def label(self, x: int) -> str:
        """The name of value ``x``."""
        return self.terms.domain.label(x)

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form; its keys are a contract."""
        columns = (self.share, self.raw, self.se, self.low, self.high, self.all_low, self.all_high)
        names = ("estimate", "raw", "se", "low", "high", "simultaneous_low", "simultaneous_high")
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {
            "campaign": self.terms.title,
            "campaign_id": self.campaign_id.hex(),
            "reports": self.reports,
            "notion": self.terms.notion.name,
            "epsilon": self.epsilon,
            "method": self.method,
            "confidence": self.level,
            "table_version": self.version,
            "values": [
                {"value": self.label(x), **{name: _number(number) for name, number in zip(names, row, strict=True)}}
                for x, row in enumerate(rows)
            ],
            "rejected": dict(self.rejected),
            "influence": self.influence.as_json(),
            "warnings": list(self.warnings),
        }


def estimate(
    campaign: Campaign | SignedCampaign, tally: Tally, *, method: str | None = None, level: float = 0.95
) -> Estimate:
    """The shares of ``campaign``'s values from a tally of its reports.

    Args:
        method: one of ``METHODS``; None takes "mmse" for a LIP campaign, whose prior makes it best, and "projection"
            for every other.
        level: of the intervals.
    Raises:
        NotEnough: fewer reports than the campaign's minimum.
        MethodRefused: an unknown method, or one that needs the prior of a LIP campaign.
        NotInvertible: no unbiased estimate exists and the method has no use for a prior.
    """
    signed = campaign if isinstance(campaign, SignedCampaign) else None
    terms = campaign.terms if isinstance(campaign, SignedCampaign) else campaign
    require_enough(terms, tally)
    prior = prior_of(terms)
    method = method or ("projection" if prior is None else "mmse")
    require_method(method, prior)
    if not 0 < level < 1:
        raise ValueError("the level of an interval lies between 0 and 1")

    counts, n = tally.counts, tally.reports
    share = counts / n
    decoder = decoder_of(terms.channel, None if prior is None else prior.tolist())
    warnings: list[str] = []
    try:
        raw = decoder.invert(share)
    except NotInvertible as reason:
        if method not in ("mmse", "map"):
            raise
        warnings.append(f"shares without error bars: {reason}")
        raw = se = low = high = all_low = all_high = np.full(decoder.inputs, np.nan)
        weight = math.nan
    else:
        se = interval.standard_errors(decoder, share, raw, n)
        stairs = decoder.staircase(counts)
        low, high = interval.intervals(stairs, raw, se, 1 - level)
        all_low, all_high = interval.intervals(stairs, raw, se, (1 - level) / decoder.inputs)
        weight = decoder.weight
        warnings.extend(screen(decoder, counts))

    shares = consistent(method, decoder, share, raw, prior)
    if method == "mmse":
        outside = int(np.count_nonzero((shares < all_low) | (shares > all_high)))
        if outside:
            warnings.append(
                f"the prior looks wrong: at {outside} of {decoder.inputs} values the MMSE estimate, which leans on "
                f"it, lies outside the simultaneous {level:.0%} intervals, which do not. More reports will not mend "
                "it; use method 'map' or 'projection'"
            )
    return Estimate(
        terms, signed.id if signed else b"", n, method, level, shares, raw, se,
        *_possible(low, high, se), *_possible(all_low, all_high, se),
        tally.rejected, tally.version, Influence(weight, n), tuple(warnings),
    )  # fmt: skip


def _possible(low: Floats, high: Floats, se: Floats) -> tuple[Floats, Floats]:
    """The part of each interval that a share can lie in.

    One value in forty has an interval wholly below zero. Clipped, it would look like certainty, so an upper end is at
    least a standard error above 0 and a lower end one below 1: wider only, so no share is missed that was covered.
    """
    return np.clip(np.minimum(low, 1 - se), 0, 1), np.clip(np.maximum(high, se), 0, 1)


def consistent(method: str, decoder: Decoder, share: Floats, raw: Floats, prior: Floats | None) -> Floats:
    """The distribution that ``method`` makes; ``share`` are the outputs', ``raw`` the unbiased inputs'."""
    if method == "mmse" and prior is not None:
        return distribution.posterior_mean(decoder, share, prior)
    if method == "map" and prior is not None:
        return distribution.posterior_mode(decoder, share, prior)
    return raw if method == "linear" else distribution.project(raw)


def prior_of(terms: Campaign) -> Floats | None:
    """The prior that a LIP campaign declares."""
    if not isinstance(terms.notion, Information):
        return None
    weights: Floats = np.array(terms.notion.prior, dtype=np.float64)
    weights /= weights.sum()
    return weights


def require_enough(terms: Campaign, tally: Tally) -> None:
    """Refuse a tally that is too small, or of another campaign.

    Raises:
        NotEnough
    """
    if tally.counts.shape != (terms.channel.outputs,):
        raise ValueError(f"the tally has {tally.counts.shape} counts, the channel {terms.channel.outputs} outputs")
    if tally.reports < terms.minimum_reports:
        raise NotEnough(
            f"{terms.title!r} waits for {terms.minimum_reports} reports and has {tally.reports}: "
            "ingest more, nothing is estimated before"
        )


def require_method(method: str, prior: Floats | None) -> None:
    """Refuse a method that does not exist or lacks its prior.

    Raises:
        MethodRefused
    """
    if method not in METHODS:
        raise MethodRefused(f"a method is {', '.join(METHODS)}, not {method[:40]!r}")
    if method in ("mmse", "map") and prior is None:
        raise MethodRefused(f"method {method!r} needs the prior of a LIP campaign: use 'projection'")


def _number(value: float) -> float | None:
    """JSON has no NaN."""
    return None if math.isnan(value) else value
