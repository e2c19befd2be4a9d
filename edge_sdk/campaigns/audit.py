"""The device's own audit: the levels of a campaign under every notion, by the functions that the aggregator uses too.

The device does not rely on the author's audit. It computes every level again from the campaign's integers. With the
person's history as prior, the audit also states levels that the author cannot know. The result never leaves the device.

protocol.levels computes a level, and disclosure/posterior the posterior after a report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edge_sdk.disclosure.posterior import prior_of_counts
from protocol import levels
from protocol.campaign import Campaign
from protocol.levels import METRICS, LevelsRequest, LevelTable, Metric, structure_of
from protocol.notions.classes import class_channels
from protocol.views import Identity

MAX_STEPS = 2**20
"""Maximum number of steps for one level, about a second; mutual information, which takes logarithms, may take a hundred
times as long. Levels that need more steps are not computed."""


@dataclass(frozen=True)
class OwnAudit:
    """The findings of the device's audit.

    Attributes:
        campaign: the audited campaign.
        view: index of the audited view.
        table: the levels for the inputs of that view.
        uses_history: whether the prior is the person's history; else it is uniform.
    """

    campaign: Campaign
    view: int
    table: LevelTable
    uses_history: bool


def audit(campaign: Campaign, history: Mapping[str, int] | None = None, view: int | None = None) -> OwnAudit:
    """Return the levels of a campaign under every notion.

    Args:
        history: number of answers by label of the value; empty or None if the device never answered.
        view: index of the device's view; None for the view whose worst ratio is nearest to its bound.
    """
    domain, level = campaign.domain, campaign.notion.level
    view = campaign.certificate.view_index if view is None else view
    channel, coarsening = campaign.views[view].channel, campaign.views[view].map
    size = coarsening.input_count(domain)
    counts = {x: times for x in range(size) if history and (times := history.get(coarsening.label(domain, x)))}
    # The person's class is not known here, so each class gets the same prior and the worst level is reported.
    prior = prior_of_counts(size, counts) * max(1, len(campaign.classes))
    channels = class_channels(channel, len(campaign.classes)) if campaign.classes else (channel,)
    # The inputs of a view that coarsens the answer have no distance.
    metric = Metric.of(domain) if domain.kind in METRICS and isinstance(coarsening, Identity) else None
    request = LevelsRequest(prior, (0, level // 2, level), metric=metric)
    table = levels.worst_table([structure_of(class_channel, MAX_STEPS) for class_channel in channels], request)
    return OwnAudit(campaign, view, table, bool(history))
