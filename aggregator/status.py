"""The status of each campaign of a study: keys, counted reports, refused envelopes, views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from deltalake import DeltaTable

from aggregator.campaign_facts import counted_noun, view_name
from aggregator.counting import devices_by_view, periods
from aggregator.holdings import VerifiedCampaign
from aggregator.intake.registry import Registry
from protocol.campaign import SignedCampaign


@dataclass(frozen=True)
class ViewStatus:
    """The status of one view of a campaign.

    Attributes:
        name: a short description of the question that devices with this view are asked.
        share: the expected share of devices with this view, computed from its weight.
        devices: the number of devices with counted reports.
    """

    name: str
    share: float
    devices: int


@dataclass(frozen=True)
class CampaignStatus:
    """The status of one campaign.

    Attributes:
        name: the analyst's name for the campaign.
        id: the campaign's id, in hex.
        title: the campaign's title.
        opens: the campaign's opening time, UTC seconds.
        closes: its closing time, UTC seconds.
        open: whether devices can answer now.
        closed_early: the time of an early closing, UTC seconds; None if the campaign was not closed early.
        keys: the number of keys that are registered or revoked.
        revoked: the number of revoked keys.
        revoked_from: the number of keys revoked from each period on.
        outputs: the number of counted outputs.
        periods: their number by period.
        refused: the number of refused envelopes by reason.
        views: the status of each view; empty for a campaign with one view.
        warnings: sentences that each describe an implausible number.
        noun: the word for a counted output (see ``counted_noun``).
    """

    name: str
    id: str
    title: str
    opens: int
    closes: int
    open: bool
    closed_early: int | None
    keys: int
    revoked: int
    revoked_from: Mapping[int, int]
    outputs: int
    periods: Mapping[int, int]
    refused: Mapping[str, int]
    views: tuple[ViewStatus, ...] = ()
    warnings: tuple[str, ...] = ()
    noun: str = "report"

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        status_json = {name: value for name, value in vars(self).items() if name != "noun"}
        return status_json | {
            "revoked_from": {str(period): keys for period, keys in self.revoked_from.items()},
            "periods": {str(period): outputs for period, outputs in self.periods.items()},
            "rejected": dict(self.refused),
            "views": [{"view": view.name, "share": view.share, "devices": view.devices} for view in self.views],
            "warnings": list(self.warnings),
        }


def campaign_status(
    known: VerifiedCampaign, table: DeltaTable, registry: Registry, refused: Mapping[str, int], now: int
) -> CampaignStatus:
    """Return the status of a campaign.

    Args:
        table: the counted reports of the study.
        registry: the campaign's keys.
        refused: its refused envelopes, by reason.
        now: the current time, UTC seconds.
    """
    campaign, campaign_hex, early = known.signed.campaign, known.signed.id.hex(), known.closed_early
    views, warnings = _views(table, known.signed)
    counted = periods(table, campaign_hex)
    since, keys = np.unique(registry.since[registry.revoked], return_counts=True)
    return CampaignStatus(
        name=known.name,
        id=campaign_hex,
        title=campaign.title,
        opens=campaign.opens,
        closes=campaign.closes,
        open=campaign.opens <= now < (campaign.closes if early is None else early),
        closed_early=early,
        keys=len(registry.ids),
        revoked=int(keys.sum()),
        revoked_from=dict(zip(since.tolist(), keys.tolist(), strict=True)),
        outputs=sum(counted.values()),
        periods=counted,
        refused=refused,
        views=views,
        warnings=warnings,
        noun=counted_noun(campaign),
    )


def _views(table: DeltaTable, signed: SignedCampaign) -> tuple[tuple[ViewStatus, ...], tuple[str, ...]]:
    """Return the status of each view of a campaign with several views, and warnings about their numbers."""
    campaign = signed.campaign
    if len(campaign.views) == 1:
        return (), ()
    from aggregator.estimate.view_balance import find_view_imbalance  # a status of plain campaigns needs no estimators

    devices = devices_by_view(table, signed)
    warning = find_view_imbalance(campaign.domain, campaign.views, devices)
    total = sum(view.weight for view in campaign.views)
    named = zip(campaign.views, devices.tolist(), strict=True)
    views = tuple(ViewStatus(view_name(campaign.domain, view), view.weight / total, count) for view, count in named)
    return views, () if warning is None else (warning,)
