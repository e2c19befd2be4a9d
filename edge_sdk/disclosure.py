"""Disclosure: what a person's reports told, and what one more would tell.

One idea: whoever answers may know as much about what leaks as whoever listens. Everything here is computed on the
device, from what was drawn and from the person's own history, for them alone; nothing is drawn, charged or kept.

What an observer of one report could believe: prior. How the levels of many draws add: exposure.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from edge_sdk.exposure import Exposure, Told
from edge_sdk.prior import belief, truth
from edge_sdk.receipt import Preview, Transcript
from edge_sdk.transcripts import as_drawn
from protocol.channels import Channel
from protocol.domain import DITHER_BYTES, Answer
from protocol.errors import CampaignError
from protocol.notions import MinId

if TYPE_CHECKING:
    from edge_sdk.records import Records
    from protocol.campaign import Campaign


def preview(records: Records, campaign_id: bytes, value: Answer | None, now: int) -> Preview:
    """``Device.preview``."""
    joined = records.member(campaign_id)
    campaign = records.campaigns.number(campaign_id)
    earlier, period = records.transcripts.of(campaign), _period_near(joined.campaign, now)
    if earlier:
        joined = joined.following(earlier, max(period, earlier[-1][0] + 1))
    channel, certificate = joined.channel, joined.certificate
    x = cost = None
    if value is not None:
        x = joined.campaign.domain.index(value, _dither(records, campaign))
        kept = records.memo.recall(campaign, x)
        free = kept is not None and (joined.campaign.transcript is None or kept.period == period)
        cost = 0 if free else certificate.cost
    exposed = certificate.witness.x if x is None else x
    return Preview(
        joined.longest_report,
        truth(channel, exposed),
        belief(channel, certificate.ldp, records.memo.counts(campaign), x),
        certificate.cost if cost is None else cost,
    )


def exposure(records: Records, campaign_id: bytes) -> Exposure:
    """``Device.exposure``."""
    campaigns = records.campaigns
    domain = campaigns.find(campaign_id).campaign.domain
    alike = [known for known in campaigns.ids() if campaigns.find(known).campaign.domain == domain]
    forgotten = records.ledger.forgotten()
    told = tuple(_told(records, known, forgotten.pop(campaigns.number(known), 0)) for known in alike)
    gone = sum(spent for campaign, spent in forgotten.items() if not campaigns.is_joined(campaign))
    return Exposure(domain, _dither(records, campaigns.number(campaign_id)), told, gone)


def transcript(records: Records, campaign_id: bytes) -> Transcript:
    """``Device.transcript``."""
    joined = records.campaigns.find(campaign_id)
    if joined.campaign.transcript is None:
        raise CampaignError(f"the reports in {joined.campaign.title!r} do not build on each other")
    told = records.transcripts.of(records.campaigns.number(campaign_id))
    ldp = [drawn.certificate.ldp for drawn in as_drawn(joined, told)]
    return Transcript(
        tuple(period for period, _ in told),
        len(told) * joined.certificate.cost,
        sum(level for level in ldp if level is not None),  # a response channel's is finite
    )


def _told(records: Records, campaign_id: bytes, carried: int) -> Told:
    """What a campaign's draws told.

    Args:
        carried: what was charged for draws before it was forgotten and joined again.
    """
    joined, campaign = records.member(campaign_id), records.campaigns.number(campaign_id)
    terms = joined.campaign
    draws: Counter[Channel] = Counter()
    if terms.transcript:
        draws.update(drawn.channel for drawn in as_drawn(joined, records.transcripts.of(campaign)))
        carried *= 2  # an LDP level is at most twice the LIP level that was charged
    else:
        draws[joined.channel] = len(records.memo.counts(campaign))
    consent = records.consents.find(campaign)
    beside = carried + (0 if consent is None else consent.choice)
    # Where a level is infinite, what was charged for a draw bounds some pairs only.
    unbounded = carried and any(certificate.ldp is None for certificate in terms.certificates)
    notion = terms.notion if isinstance(terms.notion, MinId) and not terms.notion.unbounded else None
    return Told(campaign_id, terms.title, terms.domain.size, draws, None if unbounded else beside, notion)


def _dither(records: Records, campaign: int) -> bytes:
    """The person's own; before they agreed any will do, for nothing is remembered of them."""
    consent = records.consents.find(campaign)
    return bytes(DITHER_BYTES) if consent is None else consent.dither


def _period_near(terms: Campaign, now: int) -> int:
    """The period that it is; before the opening the first, after the closing the last."""
    return min(max(0, (now - terms.opens) // terms.period_seconds), terms.periods - 1)
