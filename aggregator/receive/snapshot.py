"""A copy of the study's public information in memory, so that no request reads the study's tables.

A thread checks whether the study has changed, and reads the changes. So the tables are read once for each commit,
not for each request. Keys and counted outputs are read only for campaigns that a client has asked about.

``app`` and ``acknowledgements`` answer the requests.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from aggregator.holdings import VerifiedCampaign
from aggregator.intake.registry import Registry
from aggregator.receive.inbox import inbox_of
from aggregator.receive.output_hashes import CountedHashes
from aggregator.receive.pages import CampaignPage
from aggregator.storage import tables
from aggregator.storage.tables import CAMPAIGNS, KEYS, REPORTS
from aggregator.study import Study
from protocol.campaign import SignedCampaign
from protocol.errors import HalftruthError

INTERVAL = 0.5
"""Seconds between two refreshes, unless a request needs the latest state of the study; more if a refresh is slow, so
that refreshes take at most a tenth of the time."""
TICK = 0.05
"""Two changes of a folder within this many seconds may leave the same modification time."""

_log = logging.getLogger("halftruth.receive")
Stamp: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class CampaignSnapshot:
    """The keys and counted outputs of one campaign.

    Attributes:
        stamp: the modification times of the study's folders of commits when the keys and outputs were read.
    """

    stamp: Stamp
    signed: SignedCampaign
    registry: Registry
    counted: CountedHashes


class StudySnapshot:
    """A recent snapshot of a study. Its parts are replaced and never modified, so requests read them without locks."""

    def __init__(self, study: Study) -> None:
        """Read the campaigns.

        Raises:
            StudyError, OSError: the study cannot be read.
            NoInbox: the study is in a bucket.
            BundleError: the pages' script cannot be built.
        """
        self._study = study
        self._path = inbox_of(study.path).parent  # a local path: an inbox is never in a bucket
        self._stamp: Stamp = ()
        self._requested: frozenset[str] = frozenset()
        self._snapshots: Mapping[str, CampaignSnapshot] = MappingProxyType({})
        self._changed = threading.Event()
        self.campaigns: Mapping[str, SignedCampaign] = MappingProxyType({})
        """The campaigns by id in hex."""
        self.closings: Mapping[str, bytes] = MappingProxyType({})
        """The signed closing notices, by the campaign's id in hex."""
        self.pages: Mapping[str, CampaignPage] = MappingProxyType({})
        """The page of each campaign, by its id in hex."""
        self.listing = b""
        """The campaigns as JSON."""
        self.refresh()

    def refresh(self) -> None:
        """Read the changes since the last refresh.

        Raises:
            StudyError, OSError: the study cannot be read.
            BundleError: the pages' script cannot be built.
        """
        self._changed.clear()
        stamp = self._settled()
        requested = self._requested
        if stamp[:1] != self._stamp[:1]:
            known = self._study.campaigns()
            self.campaigns = MappingProxyType({campaign.signed.id.hex(): campaign.signed for campaign in known})
            closings = {campaign.signed.id.hex(): campaign.closing for campaign in known if campaign.closing}
            self.closings = MappingProxyType(closings)
            self.pages = MappingProxyType({campaign.signed.id.hex(): self._page(campaign) for campaign in known})
            self.listing = json.dumps({"campaigns": [_listed(campaign) for campaign in known]}).encode()
        self._snapshots = MappingProxyType(
            {campaign: self._campaign_snapshot(campaign, stamp) for campaign in sorted(requested)}
        )
        self._stamp = stamp

    def follow(self, stop: threading.Event) -> None:
        """Refresh the snapshot repeatedly until ``stop`` is set."""
        while not stop.is_set():
            begun = time.monotonic()
            try:
                self.refresh()
            except (HalftruthError, OSError) as error:  # the previous snapshot stays; the next refresh may succeed
                _log.error(
                    "the study cannot be read (%s), and answers come from the last snapshot: run `halftruth status`, "
                    "which states the reason",
                    type(error).__name__,
                )
            self._changed.wait(max(INTERVAL, 9 * (time.monotonic() - begun)))

    async def campaign_ids(self, named: Iterable[str], patience: float) -> Collection[str]:
        """Return the ids of the study's campaigns, in hex.

        Args:
            named: ids in hex from a client's request, or "". If one is unknown and the study has changed, the study is
                read again first.
            patience: seconds to wait for this reading; after that, the result may be out of date.
        """
        if not self.campaigns.keys() >= {campaign for campaign in named if campaign}:
            stamp, ends = self._stamp_now()[0], time.monotonic() + patience
            while self._stamp[0] < stamp and time.monotonic() < ends:
                self._changed.set()
                await asyncio.sleep(TICK)
        return self.campaigns.keys()

    async def snapshots(self, campaigns: Iterable[str], patience: float) -> Mapping[str, CampaignSnapshot] | None:
        """Return the keys and counted outputs of campaigns; None if one of them was not read in time.

        Args:
            campaigns: ids in hex; unknown ones are ignored.
            patience: seconds to wait for the study's current state; after that, the result may be out of date.
        """
        requested = frozenset(campaigns) & self.campaigns.keys()
        stamp, ends = self._stamp_now(), time.monotonic() + patience
        if self._behind(requested, stamp):
            self.request(requested)
        while self._behind(requested, stamp) and time.monotonic() < ends:
            await asyncio.sleep(TICK)
        snapshots = self._snapshots
        return snapshots if requested <= snapshots.keys() else None

    def request(self, campaigns: Iterable[str]) -> None:
        """Request that the next refresh also reads the keys and counted outputs of the given campaigns."""
        self._requested |= frozenset(campaigns)
        self._changed.set()

    def _page(self, known: VerifiedCampaign) -> CampaignPage:
        """Return the page of a campaign; it is built again after a new closing notice."""
        before = self.pages.get(known.signed.id.hex())
        return before if before is not None and before.known.closing == known.closing else CampaignPage.of(known)

    def _behind(self, campaigns: Iterable[str], stamp: Stamp) -> bool:
        """Return whether the snapshot of any of the campaigns is missing or older than ``stamp``."""
        snapshots = [self._snapshots.get(campaign) for campaign in campaigns]
        return any(snapshot is None or any(map(int.__lt__, snapshot.stamp, stamp)) for snapshot in snapshots)

    def _campaign_snapshot(self, campaign: str, stamp: Stamp) -> CampaignSnapshot:
        before = self._snapshots.get(campaign)
        if before is not None and before.stamp == stamp:
            return before
        path = self._path / REPORTS
        known = CountedHashes(secrets.randbits(64)) if before is None else before.counted
        if before is None or before.stamp[2] != stamp[2]:
            known = known.updated(path, tables.snapshot(path), campaign)
        registry = before.registry if before is not None and before.stamp[1] == stamp[1] else None
        registry = registry or self._study.registry(campaign)
        return CampaignSnapshot(stamp, self.campaigns[campaign], registry, known)

    def _stamp_now(self) -> Stamp:
        """Return a stamp that changes when the study changes: the modification times of the folders with the
        commits."""
        logs = [self._path / name / "_delta_log" for name in (CAMPAIGNS, KEYS, REPORTS)]
        return tuple(log.stat().st_mtime_ns for log in logs)

    def _settled(self) -> Stamp:
        """Wait until the stamp is so old that every later change of the study gives another stamp, and return
        it."""
        stamp = self._stamp_now()
        while 0 <= time.time() - max(stamp) / 10**9 < TICK:
            time.sleep(TICK)
            stamp = self._stamp_now()
        return stamp


def _listed(known: VerifiedCampaign) -> dict[str, object]:
    """Return a campaign's entry in the list of campaigns."""
    campaign = known.signed.campaign
    return {
        "id": known.signed.id.hex(),
        "author": known.signed.author.hex(),
        "title": campaign.title,
        "opens": campaign.opens,
        "closes": campaign.closes,
        "enrolment": campaign.enrolment,
        "closed_early": known.closed_early,
    }
