"""Facts about a store for its owner: its files, its budget, waiting envelopes, and the clock.

This module implements ``Device.doctor``. store/sqlite returns the facts about the database, and rollback/checkpointing
those about the detection of copies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edge_sdk.answers.answering import latest_recorded_time
from edge_sdk.timestamps import utc_text
from edge_sdk.transport.waiting import waiting_by_campaign
from protocol import exact

if TYPE_CHECKING:
    from edge_sdk.records import Records


def store_facts(records: Records, now: int) -> dict[str, str | int]:
    """Return facts about the store, by a short description."""
    folder, budget = records.store.folder, records.caps.budget()
    store_facts: dict[str, str | int] = {
        "folder": str(folder) if folder else "in memory: deleted when the process ends",
        "campaigns joined": len(records.campaigns.ids()),
        "envelopes queued": len(records.outbox),
        "spent": exact.in_nats(budget.spent_nanonats),
        "reserved": exact.in_nats(budget.reserved_nanonats),
        "remaining": exact.in_nats(budget.remaining_nanonats),
    }
    if folder:
        for path in (folder, *sorted(path for path in folder.iterdir() if path.is_file())):
            mode = path.stat().st_mode & 0o777
            store_facts[f"mode of {path.name}"] = f"{mode:04o}" + (" (others can read it)" if mode & 0o077 else "")
    return store_facts | _waiting(records) | _clock_behind(records, now) | records.store.doctor()


def _waiting(records: Records) -> dict[str, str]:
    """Return the reason why envelopes wait, for each campaign with a failed upload or without an address."""
    return {
        f"envelopes of {_title(records, upload.campaign_id)}": f"{upload.envelopes} waiting; {upload.reason}"
        for upload in waiting_by_campaign(records.outbox)
        if upload.failures or not upload.addresses
    }


def _clock_behind(records: Records, now: int) -> dict[str, str]:
    """Return, for each campaign whose latest recorded time is ahead of the clock, the time until which a unit waits."""
    delays = {}
    for campaign_id in records.campaigns.ids():
        consent = records.consents.find(records.campaigns.number(campaign_id))
        if consent is not None and now < (until := latest_recorded_time(records, campaign_id)):
            delays[f"clock in {_title(records, campaign_id)}"] = (
                f"behind the latest recorded time: a unit answers again at {utc_text(until)}; if the clock is correct "
                "now and was ahead before, run clock --set"
            )
    return delays


def _title(records: Records, campaign_id: bytes) -> str:
    return repr(records.campaigns.find(campaign_id).campaign.title)
