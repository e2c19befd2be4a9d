"""An estimate over the periods of a campaign, and what has changed.

One idea: each period is an estimate like any other, but their errors hang together, since a device repeats its output
for as long as its answer stays. So a change is never read off two estimates: it is compared device by device (change).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from aggregator.estimate.change import Difference, Side, difference
from aggregator.estimate.classes import within
from aggregator.estimate.enough import NotEnough, devices_of, is_enough
from aggregator.estimate.result import Estimate, estimate
from aggregator.estimate.tally import Tally
from protocol.campaign import SignedCampaign


@dataclass(frozen=True)
class Span:
    """Periods ``first`` to ``last``, both of them in it."""

    first: int
    last: int

    @property
    def name(self) -> str:
        """As it is typed: ``3``, or ``0-3``."""
        return f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"

    @property
    def words(self) -> str:
        """As it is read: ``period 3``, or ``periods 0-3``."""
        return f"period{'' if self.first == self.last else 's'} {self.name}"


@dataclass(frozen=True)
class Point:
    """One span of a trend.

    Attributes:
        reports: outputs counted in it.
        estimate: None where they come from fewer devices than the campaign waits for.
    """

    span: Span
    reports: int
    estimate: Estimate | None


@dataclass(frozen=True)
class Trend:
    """The estimates of some spans of periods.

    Attributes:
        points: in the order in which they were asked for; one at least has an estimate.
        change: from the first to the last that has an estimate; None where only one has.
    """

    points: tuple[Point, ...]
    change: Difference | None

    @property
    def known(self) -> list[tuple[Span, Estimate]]:
        """The spans that have an estimate."""
        return [(point.span, point.estimate) for point in self.points if point.estimate is not None]

    @property
    def latest(self) -> Estimate:
        """The estimate of the last span that has one."""
        return self.known[-1][1]

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form: of each span what ``Estimate.as_json`` gives, or its reports alone."""
        latest = self.latest
        terms = latest.terms
        rows = []
        for point in self.points:
            row: dict[str, Any] = {
                "periods": point.span.name,
                "begins": terms.opens + point.span.first * terms.period_seconds,
                "ends": min(terms.opens + (point.span.last + 1) * terms.period_seconds, terms.closes),
                "reports": point.reports,
                "values": None,
            }
            rows.append(row if point.estimate is None else row | _told(point.estimate))
        return {
            "campaign": terms.title,
            "campaign_id": latest.campaign_id.hex(),
            "class": latest.where,
            "notion": terms.notion.name,
            "epsilon": latest.epsilon,
            "confidence": latest.level,
            "table_version": latest.version,
            "spans": rows,
            "change": None if self.change is None else self.change.as_json(),
            "rejected": dict(latest.rejected),
        }


def _told(found: Estimate) -> dict[str, Any]:
    told = found.as_json()
    return {name: told[name] for name in ("devices", "method", "values", "influence", "warnings")}


def trend(
    campaign: SignedCampaign,
    spans: Sequence[Span],
    tallies: Iterable[Tally],
    *,
    level: float = 0.95,
    method: str | None = None,
    where: str | None = None,
) -> Trend:
    """The estimates of some spans, and the change from the first to the last.

    Args:
        tallies: of each span, by groups of devices; only two of them are held at a time.
        level, method: as of ``estimate``.
        where: a class of people, or None for everybody.
    Raises:
        NotEnough: no span has as many devices as the campaign waits for.
        NoSuchClass, MethodRefused, NotInvertible
    """
    points: list[Point] = []
    ends: list[Side] = []
    most = 0
    for span, tally in zip(spans, tallies, strict=True):
        asked: SignedCampaign = campaign
        if where is not None:
            terms, tally = within(campaign.terms, tally, where)
            asked = SignedCampaign(terms, campaign.id, campaign.author, campaign.data)
        if not is_enough(asked.terms, tally):
            points.append(Point(span, tally.reports, None))
            most = max(most, devices_of(tally))
            continue
        points.append(Point(span, tally.reports, estimate(asked, tally, level=level, method=method, where=where)))
        ends = [*ends[:1], Side(span.words, asked, tally, where)]
    if not ends:
        raise NotEnough(
            f"{campaign.terms.title!r} waits for {campaign.terms.minimum_reports:,} devices in a period, and the one "
            f"that has most has reports of {most:,}: ingest more, or take periods together with --periods"
        )
    change = difference(ends[0], ends[1], level=level, method=method, paired=True) if len(ends) > 1 else None
    return Trend(tuple(points), change)
