"""Estimates of the periods of a campaign, and of the changes between periods.

The errors of two periods are correlated, because a device repeats its output as long as its answer stays the same. So
the error of a change does not follow from the errors of two estimates; ``change`` compares the periods device by
device.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggregator.estimate import estimator
from aggregator.estimate.change import Difference, Side, difference
from aggregator.estimate.classes import signed_of_class
from aggregator.estimate.minimum import NotEnough, devices_of, error_for_side, is_enough
from aggregator.estimate.resolutions import FINEST, ValueOrDistrict
from aggregator.estimate.result import Estimate
from aggregator.estimate.span import Span, require_ends
from aggregator.estimate.tally import Tally
from aggregator.families.decoder import Floats
from aggregator.quantity import quantity
from protocol.campaign import SignedCampaign


@dataclass(frozen=True)
class TrendPoint:
    """One span of a trend.

    Attributes:
        reports: the number of outputs in the span; with transcripts, the number of devices.
        estimate: the estimate; None if the outputs come from fewer devices than the campaign's minimum.
        truth: (k,) the true shares; None if the study is not a rehearsal.
    """

    span: Span
    reports: int
    estimate: Estimate | None
    truth: Floats | None = None


@dataclass(frozen=True)
class Trend:
    """Estimates of several spans of periods, and the changes between them.

    Attributes:
        points: the spans in the requested order; at least one has an estimate.
        change: the change between the two requested spans, by default the first and the last with an estimate; None if
            only one span has an estimate.
        steps: the changes from each span with an estimate to the next, if requested; the confidence of their
            simultaneous intervals applies to all values and steps together, including steps of spans without an
            estimate.
        only: the requested value or district; None for all.
    """

    points: tuple[TrendPoint, ...]
    change: Difference | None
    steps: tuple[Difference, ...] = ()
    only: ValueOrDistrict | None = None

    @property
    def known(self) -> list[tuple[Span, Estimate]]:
        """The spans with an estimate."""
        return [(point.span, point.estimate) for point in self.points if point.estimate is not None]

    @property
    def ends(self) -> tuple[TrendPoint, TrendPoint] | None:
        """The two points of the change; None without a change."""
        if self.change is None:
            return None
        named = {point.span.name_in_text: point for point in self.points}
        return named[self.change.names[0]], named[self.change.names[1]]

    @property
    def latest(self) -> Estimate:
        return self.known[-1][1]

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object: for each span its estimate, or its number of reports if it has no estimate."""
        latest = self.latest
        campaign = latest.campaign
        rows = []
        for point in self.points:
            row: dict[str, Any] = {
                "periods": point.span.name,
                "begins": campaign.opens + point.span.first * campaign.period_seconds,
                "ends": min(campaign.opens + (point.span.last + 1) * campaign.period_seconds, campaign.closes),
                "reports": point.reports,
                "values": None,
            }
            rows.append(row if point.estimate is None else row | _estimated(point, point.estimate, self.only))
        return {
            "campaign": campaign.title,
            "campaign_id": latest.campaign_id.hex(),
            "class": latest.class_name,
            "notion": campaign.notion.name,
            "epsilon": latest.epsilon,
            "confidence": latest.confidence,
            "table_version": latest.version,
            "spans": rows,
            "change": None if self.change is None else self.change.as_json(self.only),
            "steps": [step.as_json(self.only) for step in self.steps],
            "rejected": dict(latest.refused),
        }


def _estimated(point: TrendPoint, estimate: Estimate, only: ValueOrDistrict | None) -> dict[str, Any]:
    """Return the JSON object of a span's estimate."""
    document = estimate.as_json()
    sections = [{"resolution": FINEST, "values": document["values"]}, *document["resolutions"]]
    for section in sections:
        name, rows = section["resolution"], section["values"]
        if point.truth is not None:
            truth = true_shares(estimate, name, point.truth).tolist()
            rows = [row | {"truth": share} for row, share in zip(rows, truth, strict=True)]
        section["values"] = [row for z, row in enumerate(rows) if only in (None, ValueOrDistrict(name, z))]
    values, *coarser = sections
    rest = {name: document[name] for name in ("devices", "method", "influence", "warnings")}
    return {"values": values["values"], "resolutions": coarser, **rest}


def true_shares(estimate: Estimate, resolution: str, truth: Floats) -> Floats:
    """Return the true shares at one resolution of an estimate, shape (k_j,)."""
    shares = estimate.at(resolution)
    if isinstance(shares, Estimate):
        return truth
    return np.bincount(shares.districts, truth, shares.size).astype(np.float64)


def trend(
    signed: SignedCampaign,
    spans: Sequence[Span],
    tallies: Iterable[Tally],
    *,
    confidence: float = 0.95,
    method: str | None = None,
    class_name: str | None = None,
    ends: tuple[Span, Span] | None = None,
    steps: bool = False,
    only: ValueOrDistrict | None = None,
    truths: Sequence[Floats] = (),
) -> Trend:
    """Return the estimate of each span, and the changes between spans.

    Args:
        signed: the campaign of the spans.
        spans: the spans of periods, in order.
        tallies: the tally of each span, with groups of devices; at most four are in memory at once.
        confidence, method: see ``estimate``.
        class_name: a class of people; None for everybody.
        ends: the two spans of the change; by default the first and the last with an estimate.
        steps: whether to return the change from each span with an estimate to the next as well.
        only: a value or district; the confidence of simultaneous intervals then applies to this value or district
            alone.
        truths: the true shares of a rehearsal, one array for each span or one for all spans.
    Raises:
        NotEnough: no span, or not both of ``ends``, has the campaign's minimum of devices.
        NoSuchClass: the campaign has no class ``class_name``.
        MethodRefused, NotInvertible: as in ``estimator.estimate``.
        ValueError: ``ends`` are not two of the spans, the number of truths is wrong, or ``confidence`` is not between 0
            and 1.
    """
    require_ends(ends, spans)
    if len(truths) not in (0, 1, len(spans)):
        raise ValueError(f"the number of truths must be 0, 1 or that of the spans, {len(spans)}, not {len(truths)}")
    points: list[TrendPoint] = []
    sides_by_span: dict[Span, Side] = {}
    differences: list[Difference] = []
    last: Side | None = None
    max_devices = 0
    step_count = max(len(spans) - 1, 1)
    for number, (span, tally) in enumerate(zip(spans, tallies, strict=True)):
        truth = truths[min(number, len(truths) - 1)] if truths else None
        restricted, tally = signed_of_class(signed, tally, class_name)
        if not is_enough(restricted.campaign, tally):
            points.append(TrendPoint(span, tally.reports, None, truth))
            max_devices = max(max_devices, devices_of(tally))
            continue
        estimate = estimator.estimate(restricted, tally, confidence=confidence, method=method, class_name=class_name)
        points.append(TrendPoint(span, tally.reports, estimate, truth))
        side = Side(span.name_in_text, restricted, tally, class_name, estimate)
        if steps and last is not None:
            differences.append(
                difference(
                    last, side, confidence=confidence, paired=True, only=only is not None, difference_count=step_count
                )
            )
        last = side
        if ends is None:
            sides_by_span = dict([*list(sides_by_span.items())[:1], (span, side)])
        elif span in ends:
            sides_by_span[span] = side
    if last is None:
        raise NotEnough(
            f"{signed.campaign.title!r} needs reports of at least "
            f"{quantity(signed.campaign.minimum_devices, 'device')} in a period, and no period has more than "
            f"{quantity(max_devices, 'device')}: ingest more, or combine periods with --periods"
        )
    if missing := [end for end in ends or () if end not in sides_by_span]:
        raise error_for_side(signed.campaign, f"in {missing[0].name_in_text}")
    sides = [sides_by_span[end] for end in ends] if ends is not None else list(sides_by_span.values())
    change = None
    if len(sides) > 1:
        change = difference(sides[0], sides[1], confidence=confidence, paired=True, only=only is not None)
    return Trend(tuple(points), change, tuple(differences), only)
