"""The Dask engine, in which workers compute and only this process writes.

Workers compute from byte ranges and from fixed versions of the study's tables, so a step may run on any worker and any
number of times. This process, the driver, commits the results by the same compare-and-swap as the local engine. So a
crash, a lost worker or another writer has the same effects as with a single process.

    frame_ranges       find where envelopes begin and end                                 workers
    verify_enrolments  verify enrolments; register their keys                             workers; driver
    validate_piece     verify and parse reports; sort them into shards by key             workers
    deduplicate        find the free slots of each shard, at one version of the table     workers
    append             commit the rows of many pieces if the table still has that         driver
                       version; otherwise deduplicate them again

Pieces are deduplicated in the order in which they were read, so the first of two copies of a report counts, as with the
local engine. The files and the study must be on storage that all machines can read under the same paths.

``pieces`` cuts the files, ``workers`` runs steps on workers, ``steps`` and ``tallies`` contain the steps, and
``connection`` starts or finds a scheduler.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from types import MappingProxyType

import pyarrow as pa
from deltalake import DeltaTable

from aggregator.engines import pieces, steps, tallies
from aggregator.engines.engine import EngineError
from aggregator.engines.pieces import PIECE_BYTES, Piece
from aggregator.engines.steps import ShardResult, StudyVersion, ValidatedReports
from aggregator.engines.tallies import PeriodChoice
from aggregator.engines.workers import URGENT, Workers, WorkItem
from aggregator.estimate.tally import Tally
from aggregator.intake.enrolments import IntroducedKeys, register_introduced
from aggregator.intake.files import batch_files, unread_text
from aggregator.intake.ingest import IngestResult, IngestTotals, Progress
from aggregator.intake.verified import VerifiedDigests
from aggregator.storage import tables
from aggregator.storage.paths import StoragePath
from aggregator.storage.tables import CAMPAIGNS, REPORTS, SCHEMAS
from aggregator.study import Study
from protocol.campaign import SignedCampaign

COMMIT_OUTPUTS = 2**20
"""Approximate number of outputs in a commit; more with many workers, so that they do not wait for commits."""
COMMIT_PIECES = 256
"""Maximum number of pieces in a commit."""
MAX_SHARDS = 16
TALLY_ROWS = 2**24
"""Approximate maximum number of rows that a worker counts at once."""
KEYS_AT_ONCE = 2**20
"""Number of keys of a campaign that are gathered, before all of them are registered in one commit."""


@dataclass
class Cluster:
    """The engine on a Dask scheduler.

    Attributes:
        piece_bytes, commit_outputs: see ``PIECE_BYTES`` and ``COMMIT_OUTPUTS``.
        sent_bytes: the number of bytes of the valid reports that workers packed for sending in the last ingest.
    """

    workers: Workers
    piece_bytes: int = PIECE_BYTES
    commit_outputs: int = COMMIT_OUTPUTS
    sent_bytes: int = 0

    def ingest(
        self, study: Study, paths: Iterable[str | StoragePath], *, now: int, progress: Progress | None = None
    ) -> IngestResult:
        """Verify, deduplicate and count reports like ``aggregator.intake.ingest.ingest``.

        Raises:
            EngineError: no worker answers, or a worker has a different version of halftruth, or cannot read the study
                or a file.
            IntakeError, StoragePathError, OSError, StudyError: see ``ingest``.
        """
        files = batch_files(paths)
        study_version = self._require_shared(study)
        warnings: dict[StoragePath, str] = {}
        cut = pieces.cut_files(self.workers, study, files, self.piece_bytes, warnings)
        totals, stored = IngestTotals(study, now), VerifiedDigests.of(study.path)
        self._take_keys(totals, stored, [piece for piece in cut if piece.enrolments], study_version)
        # The table of keys has a new version now. ``digest_bytes`` needs no update, because it only saves time.
        study_version = replace(StudyVersion.of(study), digest_bytes=study_version.digest_bytes)
        self._take_reports(totals, stored, cut, study_version, warnings, progress)
        return totals.result(len(files), tuple(pieces.sentences(files, warnings)))

    def _require_shared(self, study: Study) -> StudyVersion:
        """Return the study's present version, if all workers can read the study."""
        study_version = StudyVersion.of(study)
        path = study_version.path
        identity = str(tables.snapshot(path / CAMPAIGNS).metadata().id)
        own_version = metadata.version("halftruth")
        for worker, reply in self.workers.ask_each(steps.probe, path, identity).items():
            if isinstance(reply, BaseException):
                raise EngineError(
                    f"worker {worker} cannot run halftruth ({reply}): install halftruth[aggregator,dask] on every "
                    "worker"
                )
            version, reason = reply
            if version != own_version:
                raise EngineError(
                    f"worker {worker} runs halftruth {version}, and this process {own_version}: install the same "
                    "version"
                )
            if reason:
                raise EngineError(
                    f"worker {worker} cannot read {path}: {reason}. Put the study and the files on storage that "
                    "every worker reads under the same path, or use --engine dask on this machine"
                )
        return study_version

    def _take_keys(
        self, totals: IngestTotals, stored: VerifiedDigests, cut: Iterable[Piece], study_version: StudyVersion
    ) -> None:
        """Register the keys that enrolments introduce, in the order in which they were read."""
        waiting: dict[str, list[IntroducedKeys]] = {}
        jobs = ((piece.ranges, study_version) for piece in cut)
        for item in self.workers.in_order(steps.verify_enrolments, jobs):
            enrolments: steps.VerifiedEnrolments = item.future.result()
            stored.add(enrolments.digests)
            totals.take_keys(enrolments.enrolled, enrolments.without_key)
            for introduction in enrolments.keys:
                waiting.setdefault(introduction.campaign, []).append(introduction)
                if sum(len(part.ids) for part in waiting[introduction.campaign]) >= KEYS_AT_ONCE:
                    _register_introduced(totals, waiting.pop(introduction.campaign))
        for parts in waiting.values():
            _register_introduced(totals, parts)

    def _take_reports(
        self,
        totals: IngestTotals,
        stored: VerifiedDigests,
        cut: Sequence[Piece],
        study_version: StudyVersion,
        warnings: dict[StoragePath, str],
        progress: Progress | None,
    ) -> None:
        """Commit the valid reports of many pieces at a time, while workers validate the next pieces."""
        self.sent_bytes = 0
        threads = self.workers.threads()
        shards = 1 << min(MAX_SHARDS, max(threads, 2)).bit_length() - 1
        max_outputs = self.commit_outputs * max(1, threads // 8)
        jobs = ((piece.ranges, study_version, totals.now, shards) for piece in cut)
        items = self.workers.in_order(steps.validate_piece, jobs, summarize=steps.summary)
        pending: list[tuple[WorkItem, ValidatedReports]] = []
        preferred: list[str | None] = [None] * shards
        for piece, item in zip(cut, items, strict=True):
            validated: ValidatedReports = item.summary.result()
            stored.add(validated.digests)
            self.sent_bytes += validated.sent_bytes
            for path, reason in validated.reasons.items():
                warnings.setdefault(path, unread_text(reason, nothing=False))
            pending.append((item, validated))
            if progress is not None:
                progress(piece.size)
            if sum(validated.outputs for _, validated in pending) >= max_outputs or len(pending) >= COMMIT_PIECES:
                preferred = self.workers.preferred(preferred)
                self._commit(totals, pending, study_version, preferred)
                pending = []
        if pending:
            self._commit(totals, pending, study_version, self.workers.preferred(preferred))

    def _commit(
        self,
        totals: IngestTotals,
        pending: Sequence[tuple[WorkItem, ValidatedReports]],
        study_version: StudyVersion,
        preferred: Sequence[str | None],
    ) -> None:
        """Deduplicate each shard of the pending pieces, and commit the rows of all shards at once."""
        shards = len(preferred)
        submit = self.workers.client.submit
        parts = [
            [submit(steps.shard_part, item.future, shard, pure=False, priority=URGENT) for item, _ in pending]
            for shard in range(shards)
        ]
        deduplicated: list[ShardResult] = []

        def rows_for(table: DeltaTable) -> pa.Table:
            nonlocal deduplicated
            jobs = ((study_version, table.version(), shard, shards, parts[shard]) for shard in range(shards))
            items = list(
                self.workers.in_order(steps.deduplicate, jobs, priority=URGENT, limit=shards, preferred=preferred)
            )
            deduplicated = [item.future.result() for item in items]
            return pa.concat_tables([shard_result.rows.cast(SCHEMAS[REPORTS]) for shard_result in deduplicated])

        if any(validated.outputs for _, validated in pending):
            tables.append(totals.study.path / REPORTS, rows_for)
        totals.take_reports(
            steps.merged(
                [validated.outcome for _, validated in pending]
                + [shard_result.outcome for shard_result in deduplicated]
            )
        )
        pa.default_memory_pool().release_unused()

    def tally(self, study: Study, signed: SignedCampaign, period: int | None = None) -> Tally:
        """Return the tally of a period, or of each device's latest period; the counts are equal to those of
        ``aggregator.estimates.Estimates.tally``.

        Raises:
            EngineError, StudyError: see ``ingest``.
        """
        return next(self._tallies(study, signed, [period]))

    def spans(self, study: Study, signed: SignedCampaign, spans: Sequence[tuple[int, int]]) -> Iterator[Tally]:
        """Yield the tally of each span of periods; the counts are equal to those of
        ``aggregator.estimates.Estimates.spans``.

        Raises:
            EngineError, StudyError: see ``ingest`` and ``Estimates.spans``.
        """
        return self._tallies(study, signed, spans)

    def _tallies(self, study: Study, signed: SignedCampaign, spans: Sequence[PeriodChoice]) -> Iterator[Tally]:
        """Yield the tally of each period or span, all from one version of the table."""
        study_version, campaign = self._require_shared(study), signed.id.hex()
        table = tables.snapshot(study_version.path / REPORTS)
        files = tables.data_files(study_version.path / REPORTS, table)
        rows = sum(file.rows for file in files if file.partition["campaign"] == campaign)
        threads = self.workers.threads()
        shards = 1 << (max(rows // TALLY_ROWS, min(threads, MAX_SHARDS)) - 1).bit_length()
        refused = MappingProxyType(study.refused(signed))
        jobs = (
            (study_version, table.version(), shard, shards, campaign, span) for span in spans for shard in range(shards)
        )
        items = self.workers.in_order(tallies.part_tally, jobs)
        for _ in spans:
            parts: list[Tally] = [item.future.result() for item in itertools.islice(items, shards)]
            yield tallies.total_tally(parts, refused)


def _register_introduced(totals: IngestTotals, parts: Sequence[IntroducedKeys]) -> None:
    enrolled = register_introduced(totals.study, IntroducedKeys.joined(parts))
    totals.take_keys(enrolled, enrolled.added + enrolled.known + enrolled.refused.total())
