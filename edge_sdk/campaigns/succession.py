"""Continue with the study's next campaign, if the unit's owner permitted it beforehand.

The owner agreed to one campaign. The permission to follow covers another campaign of the same author under four
conditions. Its fields in ``SAME``, and the map and weight of each view, are those of the first campaign. Its promise is
equal or stricter: the same notion, with no higher level, and no higher number in any sentence of the promise. It closes
later. It costs no more, both for one answer and in the worst case. Apart from a stricter promise, a later end and a
lower cost, only the title, the languages, the schedule with its number of answers, the minimum number of devices and
the mechanism with its channels may differ. Any other campaign needs the owner's consent. The caps do not change.

unit/agent decides when to ask for the next campaign, and transport/download fetches it.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf
from operator import le
from typing import TYPE_CHECKING

from edge_sdk.device import Device
from protocol import codec
from protocol.errors import BadData, NotionError

if TYPE_CHECKING:
    from edge_sdk.campaigns.joined import Joined
    from edge_sdk.store.sqlite import Store
    from edge_sdk.transport.exchange import Opener
    from protocol.notions import Notion, Promise
    from protocol.views import Map

SAME = (
    "question", "purpose", "organisation", "domain", "classes", "addresses", "contact", "retention", "notice",
    "enrolment", "goal",
)  # fmt: skip
"""The fields of a campaign that must be equal in the next one."""


def followed_campaign_id(store: Store, campaign_id: bytes) -> bytes:
    """Return the id of the campaign that a unit answers now: the last followed campaign, or the original campaign."""
    while (following := store.setting(_name(campaign_id))) is not None:
        campaign_id = bytes(following)
    return campaign_id


def continues(before: Joined, after: Joined) -> bool:
    """Return whether the permission to follow the campaign ``before`` covers the campaign ``after``."""
    same = all(getattr(after.campaign, name) == getattr(before.campaign, name) for name in SAME)
    later = after.campaign.closes > before.campaign.closes
    offered, agreed = after.terms, before.terms
    costs_no_more = (
        offered.cost_nanonats <= agreed.cost_nanonats and offered.worst_case_nanonats <= agreed.worst_case_nanonats
    )
    notion, agreed_notion = after.campaign.notion, before.campaign.notion
    same_notion = _without_level(notion) == _without_level(agreed_notion)
    # The promise also depends on the channel: of two channels of one notion, one may reveal more than its level.
    as_strict = notion.level <= agreed_notion.level and all(map(le, _limits(offered.promise), _limits(agreed.promise)))
    same = same and same_notion and _coarsenings(after) == _coarsenings(before)
    return same and as_strict and later and costs_no_more


def _without_level(notion: Notion) -> list[codec.Value]:
    """Return the fields of a notion's wire form, except the level."""
    name, _, *parameters = codec.array(notion.encode(), "a notion", NotionError)
    return [name, *parameters]


def _limits(promise: Promise) -> list[Fraction | float]:
    """Return the factors of a promise; infinity for a factor without a bound."""
    overall = None if promise.unbounded else promise.overall_factor or promise.factor
    factors = promise.factor, promise.smallest_factor, overall, promise.ball_factor
    return [inf if factor is None else factor for factor in factors]


def _coarsenings(joined: Joined) -> list[tuple[int, Map]]:
    """Return (weight, map) of each view."""
    return [(view.weight, view.map) for view in joined.campaign.views]


def follow(device: Device, campaign_id: bytes, now: float, opener: Opener | None = None) -> bytes | None:
    """Ask a campaign's study for its next campaign; join it and agree to it.

    The study's addresses are tried in order, until one of them offers a campaign that the permission covers.

    Args:
        device: a device that trusts the campaign's author.
        campaign_id: id of the campaign that the unit answers now, 16 bytes.
        now: UTC seconds.
        opener: makes the connection; None for ``exchange.connect``, which verifies the certificate.
    Returns:
        The id of the next campaign; None if the study has no campaign that the permission covers, or if the
        campaign has no address.
    Raises:
        NoResponse: no address offers a suitable campaign, and one of them gave no valid response.
        CampaignError: the study sent other bytes than the campaign in its list.
        NotJoined: this device has not joined the campaign.
        AddressRefused, BudgetRefused, ConsentMissing, OutboxFull, OutsideSchedule: the device cannot join the next
            campaign or agree to it.
    """
    from edge_sdk.transport.download import NoResponse

    before, store = device.records.campaigns.find(campaign_id), device.records.store
    unreached: NoResponse | None = None
    for url in device.addresses(campaign_id):
        try:
            data = _successor_at(url, device, before, now, opener)
        except NoResponse as error:
            unreached = error
            continue
        if data is not None:
            successor = device.join(data, url).campaign_id
            device.consent(successor)
            with store.transaction():
                store.set(_name(campaign_id), successor)
            return successor
    if unreached is not None:
        raise unreached
    return None


def _successor_at(url: str, device: Device, before: Joined, now: float, opener: Opener | None) -> bytes | None:
    """Return the signed bytes of the first campaign at an address that continues ``before`` and has no consent yet;
    None if the address offers no such campaign.

    Raises:
        NoResponse: the address gave no valid response.
    """
    from edge_sdk.campaigns.joined import Joined
    from edge_sdk.transport import download

    for offer in download.fetch_offers(url, opener):
        # A campaign that was joined without consent is tried again: its consent may have been refused before.
        agreed = offer.campaign_id in device.campaigns and device.consented(offer.campaign_id)
        if offer.ends <= now or agreed:
            continue
        data = download.fetch_campaign(url, offer.campaign_id, opener)
        try:
            after = Joined.open(data, [before.signed.author], device.records.store.secret)
        except BadData:
            # The campaign has another author, or its audit fails.
            continue
        if continues(before, after):
            return data
    return None


def _name(campaign_id: bytes) -> str:
    return f"followed by {campaign_id.hex()}"
