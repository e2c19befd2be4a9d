"""The estimate of a campaign: what its reports say, how surely, and how far forgeries could bend it.

One idea: an estimate carries everything needed to distrust it. Unbiased and consistent shares, errors, intervals for
one value and for all together, what was refused, what one forged report is worth, and plain warnings.

Linear queries such as means: query. How it is printed: present.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggregator.estimate import distribution, interval, likelihood
from aggregator.estimate.classes import Pooled, pooled
from aggregator.estimate.decoders import Decoder, NotInvertible, decoder_of
from aggregator.estimate.decoders.decoder import Floats
from aggregator.estimate.enough import require_enough
from aggregator.estimate.linear import solve
from aggregator.estimate.method import WITHOUT_INVERSE, consistent, default_method, require_method
from aggregator.estimate.personal import PersonalTally
from aggregator.estimate.robust import LARGEST, robust
from aggregator.estimate.screen import screen
from aggregator.estimate.tally import Tally
from aggregator.estimate.transcript import TranscriptTally
from protocol import exact
from protocol.campaign import Campaign, SignedCampaign
from protocol.domain import Items
from protocol.notions import Information

MOVED = 5e-4
"""Shares that differ by less are told as the same."""

ONE_DEVICE = (
    "all reports come from one device, or from very few: they do not say how far other people are from it, so there "
    "are no errors and no intervals"
)


@dataclass(frozen=True)
class Influence:
    """How far reports that no honest device made could move a value.

    Attributes:
        people_per_report: the most people that one report counts for in a raw estimate; NaN without one.
        reports: n.
        asked: how many forged reports somebody wants to know the influence of; None: nobody asked.
    """

    people_per_report: float
    reports: int
    asked: int | None = None

    def share_of(self, forged: int) -> float:
        """The most that ``forged`` of the reports add to a value's raw share."""
        return forged * self.people_per_report / self.reports

    def as_json(self) -> dict[str, Any]:
        """The influence of one report, of one in a thousand, of one in a hundred, and of as many as were asked for."""
        usual = {1, math.ceil(self.reports / 1000), math.ceil(self.reports / 100)}
        crowds = sorted(usual if self.asked is None else usual | {self.asked})
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

    All arrays are (k,), fractions. ``raw``, ``se`` and the intervals are NaN at values that the channel does not tell
    apart, which a warning then says.

    Attributes:
        terms: the campaign.
        campaign_id: its id; empty where the campaign was not signed.
        reports: n, the outputs counted.
        method: one of ``method.METHODS``.
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
        devices: how many sent the reports; None where that is not known, of a class whose devices have several each.
        where: the class of people that it is of; None: everybody.
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
    devices: int | None
    where: str | None = None

    @property
    def size(self) -> int:
        """The number of values that are shown: k, of item sets the items."""
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
            "devices": self.devices,
            "class": self.where,
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
    campaign: Campaign | SignedCampaign,
    tally: Tally,
    *,
    method: str | None = None,
    level: float = 0.95,
    forged: int | None = None,
    where: str | None = None,
) -> Estimate:
    """The shares of ``campaign``'s values from a tally of its reports.

    Args:
        method: one of ``method.METHODS``; None takes ``default_method``.
        level: of the intervals.
        forged: a number of forged reports to state the influence of, beside the usual ones.
        where: the class that ``classes.within`` has cut campaign and tally down to, if it has.
    Raises:
        NotEnough: fewer devices than the campaign waits for.
        MethodRefused: an unknown method, or one that the campaign does not have what it takes for.
        NotInvertible: no unbiased estimate exists and the method is made of one.
    """
    signed = campaign if isinstance(campaign, SignedCampaign) else None
    terms = campaign.terms if isinstance(campaign, SignedCampaign) else campaign
    decoder, prior = reader_of(terms, tally)
    if not 0 < level < 1:
        raise ValueError("the level of an interval lies between 0 and 1")
    if forged is not None and not 0 <= forged <= tally.reports:
        raise ValueError(f"0 to {tally.reports} of the reports may be forged")

    counts, n = tally.counts, tally.reports
    share = counts / n
    groups = tally.groups if tally.groups is not None and tally.groups.dependent else None
    if method is not None:
        require_method(method, prior, decoder)
    warnings = list(tally.warnings) if isinstance(tally, TranscriptTally) else []
    try:
        linear = solve(decoder, tally)
    except NotInvertible as reason:
        method = method or default_method(decoder, prior, None)
        if method not in WITHOUT_INVERSE:
            raise
        worth = n if groups is None else n / groups.most  # as if each device repeated itself as often as it could
        raw, se, weight, warning = _as_far_as_told(decoder, share, worth, prior, str(reason))
        warnings.append(warning)
        low, high = interval.normal(raw, se, 1 - level)
        all_low, all_high = interval.normal(raw, se, (1 - level) / decoder.inputs)
        shares = consistent(method, decoder, share, n, None, prior, warnings)
    else:
        raw, se = linear.raw, linear.se
        method = method or default_method(decoder, prior, se)
        low, high = linear.intervals(1 - level)
        all_low, all_high = linear.intervals((1 - level) / decoder.inputs)
        if linear.between is not None and not linear.between.freedom:
            warnings.append(ONE_DEVICE)
        weight = decoder.weight
        shares = consistent(method, decoder, share, n, (raw, se), prior, warnings)
    findings = screen(decoder, counts, n, *(() if groups is None else (groups.devices, groups.most)))
    warnings.extend(findings)
    if findings and decoder.inputs <= LARGEST and decoder.one_hot and not isinstance(decoder, Pooled):
        with suppress(NotInvertible):
            less = robust(decoder, share, math.ceil(n if groups is None else n / groups.most))
            warnings.append(_beside(terms, distribution.project(decoder.invert(share)), less))
    if method == "mmse":
        outside = int(np.count_nonzero((shares < all_low) | (shares > all_high)))
        if outside:
            warnings.append(
                f"the prior looks wrong: at {outside} of {decoder.inputs} values the MMSE estimate, which leans on "
                f"it, lies outside the simultaneous {level:.0%} intervals, which do not. More reports will not mend "
                "it; use method 'map' or 'projection'"
            )
    columns = (shares, raw, se, low, high, all_low, all_high)
    if isinstance(terms.domain, Items):
        weight *= terms.domain.padding
        shares, raw, se, low, high, all_low, all_high = (holders(terms.domain, column) for column in columns)
    return Estimate(
        terms, signed.id if signed else b"", n, method, level, shares, raw, se,
        *_possible(low, high, se), *_possible(all_low, all_high, se),
        tally.rejected, tally.version, Influence(weight, n, forged), tuple(warnings),
        n if groups is None else groups.devices if where is None else None, where,
    )  # fmt: skip


def _beside(terms: Campaign, whole: Floats, less: Floats) -> str:
    """What a robust estimate says, in words, beside the projection of everything that was counted."""
    if isinstance(terms.domain, Items):
        whole, less = holders(terms.domain, whole), holders(terms.domain, less)
    most = np.argsort(-np.abs(whole - less), kind="stable")[:3].tolist()
    told = [
        f"{terms.domain.label(x)}: {less[x]:.2%}, not {whole[x]:.2%}" for x in most if abs(whole[x] - less[x]) >= MOVED
    ]
    if not told:
        return "a robust estimate (projected) is nearly the same: it finds no output that others do not explain"
    return (
        "a robust estimate (projected), from counts brought down to what other outputs explain, says "
        f"{'; '.join(told)}. The estimate itself counts every report"
    )


def holders(domain: Items, column: Floats) -> Floats:
    """Shares of people who hold each item, from the shares of what was told: one of l, so l times as many.

    Sets larger than l count for less, so this leans below the truth where there are many of them.
    """
    people: Floats = column[: domain.count] * domain.padding
    return people


def _as_far_as_told(
    decoder: Decoder, share: Floats, n: float, prior: Floats | None, reason: str
) -> tuple[Floats, Floats, float, str]:
    """Raw estimates, standard errors and weight where a channel has no inverse, and the warning that says so."""
    nothing = np.full(decoder.inputs, np.nan)
    even = np.full(decoder.inputs, 1 / decoder.inputs)
    if decoder.inputs * decoder.features > likelihood.MOST_CELLS:
        return nothing, nothing, math.nan, f"shares without error bars: {reason}"
    fit = likelihood.em(decoder, share, math.ceil(n), even if prior is None else prior)
    found = likelihood.told_apart(decoder, share, fit.share)
    lost = int(np.count_nonzero(~found.told))
    warning = f"shares without error bars at {lost} of {decoder.inputs} values, which no report tells apart: {reason}"
    return found.raw, np.sqrt(found.variance / n), found.weight, warning


def _possible(low: Floats, high: Floats, se: Floats) -> tuple[Floats, Floats]:
    """The part of each interval that a share can lie in.

    One value in forty has an interval wholly below zero. Clipped, it would look like certainty, so an upper end is at
    least a standard error above 0 and a lower end one below 1: wider only, so no share is missed that was covered.
    """
    return np.clip(np.minimum(low, 1 - se), 0, 1), np.clip(np.maximum(high, se), 0, 1)


def reader_of(terms: Campaign, tally: Tally) -> tuple[Decoder, Floats | None]:
    """What reads a campaign's tally; and the prior of a person of whom nothing is known, where there is one.

    Raises:
        NotEnough: too few devices for the campaign.
    """
    features = tally.priors.size if isinstance(tally, PersonalTally) else terms.channel.features
    features = len(tally.chains) if isinstance(tally, TranscriptTally) else features
    if tally.counts.shape != (features,):
        raise ValueError(f"the tally has {tally.counts.shape} counts, the channel {features} features")
    require_enough(terms, tally)
    classes = pooled(terms, tally)
    prior = prior_of(terms) if classes is None else classes.prior
    return classes or decoder_of(terms.channel, None if prior is None else prior.tolist()), prior


def prior_of(terms: Campaign) -> Floats | None:
    """The prior that a LIP campaign declares."""
    if not isinstance(terms.notion, Information):
        return None
    weights: Floats = np.array(terms.notion.prior, dtype=np.float64)
    weights /= weights.sum()
    return weights


def _number(value: float) -> float | None:
    """JSON has no NaN."""
    return None if math.isnan(value) else value
