"""Continue with the study's next campaign, if the unit's owner permitted it beforehand.

The owner agreed to one campaign. The permission to follow covers a later campaign of the same author under three
conditions. The fields in ``SAME``, which include the promise, and the maps and shares of the views are equal. It closes
later. It costs no more, both for one answer and in the worst case. So only the title, the languages, the schedule, the
minimum number of reports and the mechanism with its channels may differ. Any other campaign needs the owner's consent.
The caps do not change.

unit/agent decides when to ask for the next campaign, and transport/download fetches it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edge_sdk.device import Device
from protocol.errors import BadData

if TYPE_CHECKING:
    from edge_sdk.campaigns.joined import Joined
    from edge_sdk.store.sqlite import Store
    from edge_sdk.transport.exchange import Opener
    from protocol.views import Map

SAME = (
    "question", "purpose", "organisation", "domain", "notion", "classes", "addresses", "contact", "retention", "notice",
    "enrolment", "goal",
)  # fmt: skip
"""The fields of a campaign that must be equal in the next one."""


def followed(store: Store, campaign_id: bytes) -> bytes:
    """Return the id of the campaign that a unit answers now: the last followed campaign, or the original campaign."""
    while (following := store.setting(_name(campaign_id))) is not None:
        campaign_id = bytes(following)
    return campaign_id


def continues(before: Joined, after: Joined) -> bool:
    """Return whether the permission to follow the campaign ``before`` covers the campaign ``after``."""
    same = all(getattr(after.campaign, name) == getattr(before.campaign, name) for name in SAME)
    later = after.campaign.closes > before.campaign.closes
    asked, agreed = after.terms, before.terms
    costs_no_more = (
        asked.cost_nanonats <= agreed.cost_nanonats and asked.worst_case_nanonats <= agreed.worst_case_nanonats
    )
    return same and later and costs_no_more and _coarsenings(after) == _coarsenings(before)


def _coarsenings(joined: Joined) -> list[tuple[int, Map]]:
    """Return the map and the share of each view."""
    return [(view.weight, view.map) for view in joined.campaign.views]


def follow(device: Device, campaign_id: bytes, now: float, opener: Opener | None = None) -> bytes | None:
    """Ask a campaign's study for its next campaign; join it and agree to it.

    Args:
        device: a device that trusts the campaign's author.
        campaign_id: id of the campaign that the unit answers now, 16 bytes.
        now: UTC seconds.
        opener: makes the connection; None for ``exchange.connect``, which verifies the certificate.
    Returns:
        The id of the next campaign; None if the study has no campaign that the permission covers.
    Raises:
        NoResponse: an address of the study gave no valid response; later addresses are not tried.
        CampaignError: the study sent other bytes than the campaign in its list.
        BudgetRefused, ConsentMissing, OutboxFull: the device cannot agree to the next campaign.
    """
    from edge_sdk.campaigns.joined import Joined
    from edge_sdk.transport import download

    before, store = device.records.campaigns.find(campaign_id), device.records.store
    for url in device.addresses(campaign_id):
        for offer in download.fetch_offers(url, opener):
            if offer.closes <= now or offer.campaign_id in device.campaigns:
                continue
            data = download.fetch_campaign(url, offer.campaign_id, opener)
            try:
                after = Joined.open(data, [before.signed.author], store.secret)
            except BadData:
                # The campaign has another author, or its audit fails.
                continue
            if continues(before, after):
                device.join(data, url)
                device.consent(offer.campaign_id)
                with store.transaction():
                    store.set(_name(campaign_id), offer.campaign_id)
                return offer.campaign_id
    return None


def _name(campaign_id: bytes) -> str:
    return f"followed by {campaign_id.hex()}"
