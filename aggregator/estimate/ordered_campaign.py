"""Predicates of a campaign: whether it uses the wave mechanism, and which statistics of ordered values it has.

``ordered`` estimates the statistics.
"""

from __future__ import annotations

from protocol.campaign import Campaign
from protocol.channels.wave.channel import Wave
from protocol.domain import Line
from protocol.notions.classes import class_channels
from protocol.views import is_plain


def has_summary(campaign: Campaign) -> bool:
    """Return whether ``summary_statistics`` applies: a device uses the wave mechanism, or the goal is a mean."""
    return campaign.goal == "mean" or is_wave(campaign)


def has_mean(campaign: Campaign) -> bool:
    """Return whether the values are numbers or dates, evenly spaced ones for the wave mechanism, so that their mean may
    have an unbiased estimate."""
    return isinstance(campaign.domain, Line) and (campaign.domain.evenly_spaced or not is_wave(campaign))


def is_wave(campaign: Campaign) -> bool:
    """Return whether all devices, or all devices of at least one class, use the wave mechanism, which estimates no
    single values."""
    if not is_plain(campaign.views):
        return False
    channels = class_channels(campaign.channel, len(campaign.classes)) if campaign.classes else (campaign.channel,)
    return any(isinstance(channel, Wave) for channel in channels)
