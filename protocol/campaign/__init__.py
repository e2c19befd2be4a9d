"""Campaigns: signed questions with their schedule, channels and privacy notion (SPEC 7).

``campaign`` defines a campaign, ``wire`` encodes it, ``signed`` signs and verifies the file, and ``size`` limits its
length.
"""

from protocol.campaign.campaign import ENROLMENTS, GOALS, MAX_ANSWERS_PER_PERIOD, MAX_PERIODS, MAX_TIME, Campaign
from protocol.campaign.signed import (
    CAMPAIGN_ID_BYTES,
    SignedCampaign,
    campaign_id,
    open_campaign,
    require_campaign,
    seal_campaign,
    unverified_campaign,
)
from protocol.campaign.size import MAX_CAMPAIGN
from protocol.campaign.wire import decode_campaign, encode_campaign

__all__ = [
    "CAMPAIGN_ID_BYTES", "ENROLMENTS", "GOALS", "MAX_ANSWERS_PER_PERIOD", "MAX_CAMPAIGN", "MAX_PERIODS", "MAX_TIME",
    "Campaign", "SignedCampaign",
    "campaign_id", "decode_campaign", "encode_campaign", "open_campaign", "require_campaign", "seal_campaign",
    "unverified_campaign",
]  # fmt: skip
