"""Steps of an ingest that run on workers.

A step is a function of byte ranges and table versions, and writes nothing. So a step may run on any worker, and run
again, for example after its worker died, with the same result.

``cluster`` runs the steps in order and commits their results.
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

from aggregator.holdings import CampaignEntry
from aggregator.intake import ranges, shards, validate
from aggregator.intake.enrolments import EnrolmentCounts, IntroducedKeys, introduced
from aggregator.intake.ranges import FramedRange, Range
from aggregator.intake.refusals import RefusalReason
from aggregator.intake.registry import Registry, load_registry
from aggregator.intake.shards import ShardPart
from aggregator.intake.signatures import verifier
from aggregator.intake.slots import Slots
from aggregator.intake.validate import ValidationOutcome
from aggregator.intake.verified import VerifiedDigests, verified_bytes
from aggregator.storage import tables
from aggregator.storage.paths import StoragePath
from aggregator.storage.tables import CAMPAIGNS, KEYS, REPORTS, StudyError
from aggregator.study import Study
from protocol.envelope import Kind

_CANDIDATE_OUTPUTS = 2**20
"""Approximate number of outputs unpacked at once."""
SHARD_ROWS = 2**26
"""Maximum number of rows of a shard, in the periods of the ingested reports, whose slots are kept in memory."""


@dataclass(frozen=True)
class StudyVersion:
    """A study at one moment, so that all reports of an ingest are validated against the same campaigns and keys.

    Attributes:
        path: the folder of the study; the same path on every machine.
        campaigns, keys: the versions of the tables of campaigns and keys.
        digest_bytes: the size in bytes of the file of verified digests; only the running time depends on it.
    """

    path: StoragePath
    campaigns: int
    keys: int
    digest_bytes: int = field(compare=False)

    @classmethod
    def of(cls, study: Study) -> StudyVersion:
        """Return the present version of a study.

        Raises:
            StudyError: a table cannot be read.
        """
        path = study.path.resolve()
        campaigns, keys = (tables.snapshot(path / name).version() for name in (CAMPAIGNS, KEYS))
        return cls(path, campaigns, keys, verified_bytes(path))


class PinnedStudy(Study):
    """A study at fixed versions of its tables."""

    def __init__(self, study_version: StudyVersion) -> None:
        super().__init__(study_version.path)
        self.study_version = study_version
        self._lock = threading.Lock()
        self._pinned: dict[str, Registry] = {}

    @cached_property
    def _as_listed(self) -> list[CampaignEntry]:
        return super().listed()

    def listed(self) -> list[CampaignEntry]:
        return self._as_listed

    def _campaigns(self) -> DeltaTable:
        return tables.snapshot(self.path / CAMPAIGNS, self.study_version.campaigns)

    def registry(self, campaign: str) -> Registry:
        """Return the keys registered in a campaign; a process reads the keys once for all its threads."""
        with self._lock:
            if campaign not in self._pinned:
                self._pinned[campaign] = load_registry(
                    tables.snapshot(self.path / KEYS, self.study_version.keys), campaign
                )
            return self._pinned[campaign]


@lru_cache(maxsize=2)
def pinned_study(study_version: StudyVersion) -> PinnedStudy:
    """Return the study at a version. A process caches two versions, because there may be two drivers."""
    return PinnedStudy(study_version)


@lru_cache(maxsize=2)
def stored_digests(path: StoragePath, size: int) -> VerifiedDigests:
    """Return the digests that were verified before, from the first ``size`` bytes of their file."""
    return VerifiedDigests.of(path, size)


class SlotCache:
    """The filled slots of a shard, kept in a worker's memory for the next commits of any driver."""

    def __init__(self, path: StoragePath, shard: int, shard_count: int) -> None:
        """Make an empty cache for one of ``shard_count`` shards of the study at ``path``."""
        low, high = shards.bounds(shard, shard_count)
        self.slots = Slots(path / REPORTS, SHARD_ROWS, low, high)
        self.lock = threading.Lock()


@lru_cache(maxsize=32)
def slot_cache(path: StoragePath, shard: int, shard_count: int) -> SlotCache:
    """Return this process's cache for one of ``shard_count`` shards."""
    return SlotCache(path, shard, shard_count)


def probe(path: StoragePath, identity: str) -> tuple[str, str]:
    """Return the version of halftruth on this worker, and the reason why the worker cannot read the study, or "" if it
    can.

    Args:
        identity: the id of the study's table of campaigns.
    """
    reason = ""
    try:
        if str(tables.snapshot(path / CAMPAIGNS).metadata().id) != identity:
            reason = "there is another study at this path"
    except StudyError:
        reason = "its tables cannot be read there"
    return metadata.version("halftruth"), reason


def frame_ranges(piece: Sequence[Range]) -> list[FramedRange]:
    """Return the result of framing each range, from the state that the range assumes at its beginning."""
    return list(ranges.map_ranges(ranges.frame_range, piece))


@dataclass(frozen=True)
class VerifiedEnrolments:
    """The verified enrolments of a piece, before their keys are registered.

    Attributes:
        enrolled: the counts of refused and ignored enrolments.
        without_key: the number of enrolments that introduce no key.
        keys: the keys to register.
        digests: the digests of verified enrolments, to be stored.
    """

    enrolled: EnrolmentCounts
    without_key: int
    keys: tuple[IntroducedKeys, ...]
    digests: tuple[bytes, ...]


def verify_enrolments(piece: Sequence[Range], study_version: StudyVersion) -> VerifiedEnrolments:
    chunk, _ = ranges.gather(piece)
    collector = stored_digests(study_version.path, study_version.digest_bytes).collector()
    with verifier(1, collector) as verifying:
        enrolled, keys = introduced(pinned_study(study_version), chunk, verifying, uploaded=True)
    without_key = len(chunk.of(Kind.ENROLMENT)) - sum(len(introduction.ids) for introduction in keys)
    return VerifiedEnrolments(enrolled, without_key, tuple(keys), tuple(collector.collected))


@dataclass(frozen=True)
class ValidatedReports:
    """The validated reports of a piece, before their slots are filled.

    Attributes:
        outcome: the counts of refused reports.
        outputs: the number of outputs of the valid reports.
        sent_bytes: the number of bytes of the valid reports, packed for sending.
        reasons: for each file that could not be read to its end, the reason.
        digests: the digests of verified reports, to be stored.
    """

    outcome: ValidationOutcome
    outputs: int
    sent_bytes: int
    reasons: Mapping[StoragePath, str]
    digests: tuple[bytes, ...]


def validate_piece(
    piece: Sequence[Range], study_version: StudyVersion, now: int, shard_count: int
) -> tuple[ValidatedReports, list[ShardPart]]:
    """Validate the reports of a piece, and return the valid reports sorted into ``shard_count`` shards."""
    chunk, reasons = ranges.gather(piece)
    collector = stored_digests(study_version.path, study_version.digest_bytes).collector()
    with verifier(1, collector) as verifying:
        outcome, candidates = validate.validate_chunk(
            pinned_study(study_version), chunk, verifying, now, _CANDIDATE_OUTPUTS
        )
    parts = shards.split(candidates, shard_count)
    pa.default_memory_pool().release_unused()
    outputs = sum(len(batch.report) for batch in candidates)
    sent_bytes = sum(part.__sizeof__() for part in parts)
    return ValidatedReports(outcome, outputs, sent_bytes, reasons, tuple(collector.collected)), parts


def summary(validated: tuple[ValidatedReports, list[ShardPart]]) -> ValidatedReports:
    """Return the part of a piece's validation that the driver needs."""
    return validated[0]


def shard_part(validated: tuple[ValidatedReports, list[ShardPart]], shard: int) -> ShardPart:
    """Return the part of a piece's validation that belongs to a shard."""
    return validated[1][shard]


@dataclass(frozen=True)
class ShardResult:
    """The accepted and refused reports of a shard in a commit, valid only for the table version from which they were
    computed.

    Attributes:
        rows: the rows to append to the table of reports, with dictionary-encoded campaign ids.
        outcome: the counts of accepted and replayed reports.
    """

    rows: pa.Table
    outcome: ValidationOutcome


def deduplicate(
    study_version: StudyVersion, table_version: int, shard: int, shard_count: int, parts: Sequence[ShardPart]
) -> ShardResult:
    """Divide the reports of a shard: those whose slots are all free are accepted, the others are refused as replayed.

    Args:
        table_version: the version of the table of reports.
        parts: the parts of this shard, in the order in which the reports were read.
    """
    campaigns = pinned_study(study_version).ids()
    candidates = shards.joined(campaigns, parts)
    outcome = ValidationOutcome()
    if not candidates.reports:
        return ShardResult(_narrow(tables.SCHEMAS[REPORTS].empty_table()), outcome)
    table = tables.snapshot(study_version.path / REPORTS, table_version)
    cache = slot_cache(study_version.path, shard, shard_count)
    with cache.lock:
        free = candidates.free(table, shards.shard_condition(shard, shard_count), cache.slots)
    first_rows = np.flatnonzero(np.diff(candidates.report, prepend=-1))
    for campaign in np.unique(candidates.campaign).tolist():
        of_campaign = candidates.campaign[first_rows] == campaign
        outcome.accepted[campaigns[campaign]] = int((free & of_campaign).sum())
        outcome.outputs[campaigns[campaign]] = int((free[candidates.report] & (candidates.campaign == campaign)).sum())
        outcome.refused[campaigns[campaign], RefusalReason.REPLAYED] = int((~free & of_campaign).sum())
    outcome.accepted, outcome.outputs = +outcome.accepted, +outcome.outputs
    return ShardResult(_narrow(candidates.rows(free)), outcome)


def _narrow(rows: pa.Table) -> pa.Table:
    """Return the rows with dictionary-encoded campaign ids, which are smaller to send, and sorted by key, so that a
    shard reads few row groups of a file."""
    rows = rows.set_column(0, "campaign", rows["campaign"].dictionary_encode())
    return rows.sort_by([("key", "ascending"), ("slot", "ascending")])


def merged(parts: Sequence[ValidationOutcome]) -> ValidationOutcome:
    """Return the sum of the counts of all outcomes."""
    total = ValidationOutcome(sum(part.read for part in parts), Counter(), Counter(), Counter())
    for part in parts:
        total.accepted.update(part.accepted)
        total.outputs.update(part.outputs)
        total.refused.update(part.refused)
    return total
