"""Campaigns that are not signed: of one channel, and of the text of a draft."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path

from aggregator.author.draft import campaign_of
from protocol.campaign import Campaign
from protocol.channels import Channel
from protocol.domain import Domain
from protocol.exact import NANONATS
from protocol.notions import Ldp
from protocol.views import plain_views


def unsigned_campaign(domain: Domain, channel: Channel, level: int = NANONATS) -> Campaign:
    """Return a campaign of one day and one answer, with LDP, open enrolment and a minimum of one device."""
    views = plain_views(channel)
    return Campaign("T", "Q?", "", "O", domain, Ldp(level), "any", views, 0, 86_400, 86_400, 1, 1, "open")


def campaign_of_draft(text: str, folder: Path = Path()) -> Campaign:
    """Return the campaign of a draft; the names of files in it are relative to ``folder``."""
    return campaign_of(tomllib.loads(text, parse_float=Decimal), folder)
