"""The device's own audit: the levels of a campaign under every notion, by the same functions as on the desk.

Nobody need be believed. From the campaign's integers, and the person's own history where there is one, the device
computes what an author's audit says; with the own history it says more than the author can know. Nothing of it leaves
the device.

How a level is computed: protocol.levels. What an answer would tell: disclosure/posterior.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edge_sdk.disclosure.posterior import counted
from protocol import levels
from protocol.campaign import Campaign
from protocol.levels import METRICS, Asked, Metric, Survey, structure_of
from protocol.notions.classes import class_channels

MOST_STEPS = 2**20
"""About a second for a level; a channel that takes longer has none here."""


@dataclass(frozen=True)
class OwnAudit:
    """What the device found.

    Attributes:
        campaign: whose channel.
        survey: the levels.
        own: whether they are under the person's own history rather than under no knowledge at all.
    """

    campaign: Campaign
    survey: Survey
    own: bool


def audit(campaign: Campaign, history: Mapping[str, int] | None = None) -> OwnAudit:
    """Audit a campaign.

    Args:
        history: how many reports were of each value, by its label; none where the device never answered.
    """
    channel, domain, level = campaign.channel, campaign.domain, campaign.notion.level
    counts = {x: times for x in range(domain.size) if history and (times := history.get(domain.label(x)))}
    # Which class the person is of is not known here, so each has the same prior, and the worst of them is told.
    prior = counted(domain.size, counts) * max(1, len(campaign.classes))
    channels = class_channels(channel, len(campaign.classes)) if campaign.classes else (channel,)
    metric = Metric.of(domain) if domain.kind in METRICS else None
    asked = Asked(prior, (0, level // 2, level), metric=metric)
    found = levels.survey_of([structure_of(one, MOST_STEPS) for one in channels], asked)
    return OwnAudit(campaign, found, bool(history))
