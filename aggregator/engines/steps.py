"""The steps of an ingest as a worker runs them.

A step is a function of byte ranges and of versions of the study's tables, and writes nothing. So it may run
on any worker, twice, or again after its worker died, and gives the same.

What is done in them: intake. Who calls them, in which order, and who commits: cluster.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib import metadata

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from aggregator.holdings import Listed
from aggregator.intake import ranges, shards, validate
from aggregator.intake.enrolments import Enrolled, Introduction, introduced
from aggregator.intake.ranges import Range, Surveyed
from aggregator.intake.registry import Registry, load
from aggregator.intake.rejects import Reject
from aggregator.intake.shards import ShardPart
from aggregator.intake.signatures import verifier
from aggregator.intake.slots import Slots
from aggregator.intake.validate import ValidationOutcome
from aggregator.intake.verified import Verified
from aggregator.storage import tables
from aggregator.storage.places import Place
from aggregator.storage.tables import CAMPAIGNS, KEYS, REPORTS, StudyError
from aggregator.study import Study
from protocol.envelope import Kind

_OFFER_OUTPUTS = 2**20
"""Outputs that are unpacked at once."""
SHARD_ROWS = 2**26
"""Rows of the periods at hand for which slots are kept, of each shard."""


@dataclass(frozen=True)
class StudyVersion:
    """A study as it was at one moment: all reports of an ingest are judged by the same campaigns and keys.

    Attributes:
        path: of the study; the same on every machine.
        campaigns, keys: versions of these tables.
        verified: bytes of what was written down as verified. Nothing but time depends on them.
    """

    path: Place
    campaigns: int
    keys: int
    verified: int = field(compare=False)


class Pinned(Study):
    """A study at fixed versions of its tables."""

    def __init__(self, standing: StudyVersion) -> None:
        super().__init__(standing.path)
        self.standing = standing
        self._lock = threading.Lock()
        self._pinned: dict[str, Registry] = {}

    @cached_property
    def _as_listed(self) -> list[Listed]:
        return super().listed()

    def listed(self) -> list[Listed]:
        """All campaigns in order of their names, not opened."""
        return self._as_listed

    def _campaigns(self) -> DeltaTable:
        return tables.snapshot(self.path / CAMPAIGNS, self.standing.campaigns)

    def registry(self, campaign: str) -> Registry:
        """The keys registered in a campaign: read once in a process, whatever number of its threads ask."""
        with self._lock:
            if campaign not in self._pinned:
                self._pinned[campaign] = load(tables.snapshot(self.path / KEYS, self.standing.keys), campaign)
            return self._pinned[campaign]


@lru_cache(maxsize=2)
def pinned(standing: StudyVersion) -> Pinned:
    """The study of ``standing``, of which a process keeps two: there may be two drivers."""
    return Pinned(standing)


@lru_cache(maxsize=2)
def verified(path: Place, size: int) -> Verified:
    """What was verified before in the study at ``path``, as far as ``size`` bytes tell."""
    return Verified.of(path, size)


class SlotCache:
    """The filled slots of a shard; a process keeps them between rounds, also between rounds of different drivers."""

    def __init__(self, path: Place, shard: int, number: int) -> None:
        """Keep nothing yet, of the study at ``path``."""
        low, high = shards.bounds(shard, number)
        self.slots = Slots(path / REPORTS, SHARD_ROWS, low, high)
        self.lock = threading.Lock()


@lru_cache(maxsize=32)
def shelf(path: Place, shard: int, number: int) -> SlotCache:
    """Those of one of ``number`` shards."""
    return SlotCache(path, shard, number)


def probe(path: Place, identity: str) -> tuple[str, str]:
    """The version of halftruth on this worker, and what keeps it from reading the study; empty if nothing does.

    Args:
        identity: of the study's table of campaigns.
    """
    trouble = ""
    try:
        if str(tables.snapshot(path / CAMPAIGNS).metadata().id) != identity:
            trouble = "there is another study at this path"
    except StudyError:
        trouble = "there is no study at this path"
    return metadata.version("halftruth"), trouble


def survey(parts: Sequence[Range]) -> list[Surveyed]:
    """What ranges hold, if they begin where they say."""
    return list(ranges.each(ranges.survey, parts))


@dataclass(frozen=True)
class Introduced:
    """The checked enrolments of a piece, before any key is registered.

    Attributes:
        enrolled: those refused or ignored.
        envelopes: those that introduce no key.
        keys: those to admit.
        verified: digests to write down.
    """

    enrolled: Enrolled
    envelopes: int
    keys: tuple[Introduction, ...]
    verified: tuple[bytes, ...]


def introduce(parts: Sequence[Range], standing: StudyVersion) -> Introduced:
    """Check the enrolments of a piece."""
    chunk, _ = ranges.gather(parts)
    noting = verified(standing.path, standing.verified).noting()
    with verifier(1, noting) as verifying:
        enrolled, keys = introduced(pinned(standing), chunk, verifying, uploaded=True)
    others = len(chunk.of(Kind.ENROLMENT)) - sum(len(one.ids) for one in keys)
    return Introduced(enrolled, others, tuple(keys), tuple(noting.noted))


@dataclass(frozen=True)
class Examined:
    """The checked reports of a piece, before any slot is filled.

    Attributes:
        judged: what was refused.
        outputs: of the reports that passed.
        travel: bytes of the parcels they are in.
        troubles: what stopped reading, by file.
        verified: digests to write down.
    """

    judged: ValidationOutcome
    outputs: int
    travel: int
    troubles: Mapping[Place, str]
    verified: tuple[bytes, ...]


def examine(parts: Sequence[Range], standing: StudyVersion, now: int, number: int) -> tuple[Examined, list[ShardPart]]:
    """Check the reports of a piece, and sort those that pass into ``number`` shards."""
    chunk, troubles = ranges.gather(parts)
    noting = verified(standing.path, standing.verified).noting()
    with verifier(1, noting) as verifying:
        judged, offers = validate.examine(pinned(standing), chunk, verifying, now, _OFFER_OUTPUTS)
    parcels = shards.split(offers, number)
    pa.default_memory_pool().release_unused()
    outputs = sum(len(offer.report) for offer in offers)
    travel = sum(parcel.__sizeof__() for parcel in parcels)
    return Examined(judged, outputs, travel, troubles, tuple(noting.noted)), parcels


def summary(examined: tuple[Examined, list[ShardPart]]) -> Examined:
    """The part of an examination that the driver needs."""
    return examined[0]


def parcel(examined: tuple[Examined, list[ShardPart]], shard: int) -> ShardPart:
    """The part of an examination that a shard needs."""
    return examined[1][shard]


@dataclass(frozen=True)
class Settled:
    """The accepted and refused reports of a shard in a round; valid only for the table version it was computed from.

    Attributes:
        rows: of the table of reports, the campaigns' names in a dictionary.
        judged: reports accepted, and replayed.
    """

    rows: pa.Table
    judged: ValidationOutcome


def settle(standing: StudyVersion, version: int, shard: int, number: int, parcels: Sequence[ShardPart]) -> Settled:
    """Find which reports of a shard fill slots that are free.

    Args:
        version: of the table of reports.
        parcels: of this shard, in the order in which their reports were read.
    """
    names = pinned(standing).ids()
    offer = shards.joined(names, parcels)
    judged = ValidationOutcome()
    if not offer.reports:
        return Settled(_narrow(tables.SCHEMAS[REPORTS].empty_table()), judged)
    table = tables.snapshot(standing.path / REPORTS, version)
    kept = shelf(standing.path, shard, number)
    with kept.lock:
        free = offer.free(table, shards.condition(shard, number), kept.slots)
    first = np.flatnonzero(np.diff(offer.report, prepend=-1))
    for campaign in np.unique(offer.campaign).tolist():
        of_campaign = offer.campaign[first] == campaign
        judged.accepted[names[campaign]] = int((free & of_campaign).sum())
        judged.outputs[names[campaign]] = int((free[offer.report] & (offer.campaign == campaign)).sum())
        judged.rejected[names[campaign], Reject.REPLAYED] = int((~free & of_campaign).sum())
    judged.accepted, judged.outputs = +judged.accepted, +judged.outputs
    return Settled(_narrow(offer.rows(free)), judged)


def _narrow(rows: pa.Table) -> pa.Table:
    """The same rows with each campaign's name once, for the way; by key, so that a shard reads few row groups."""
    rows = rows.set_column(0, "campaign", rows["campaign"].dictionary_encode())
    return rows.sort_by([("key", "ascending"), ("slot", "ascending")])


def merged(parts: Sequence[ValidationOutcome]) -> ValidationOutcome:
    """The combined result of all parts."""
    whole = ValidationOutcome(sum(part.read for part in parts), Counter(), Counter(), Counter())
    for part in parts:
        whole.accepted.update(part.accepted)
        whole.outputs.update(part.outputs)
        whole.rejected.update(part.rejected)
    return whole
