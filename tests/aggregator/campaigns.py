"""A campaign with one channel, not signed, for tests of estimates."""

from __future__ import annotations

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
