"""Verify the reports in upload files, and add each one to the study at most once.

Files are read twice, in chunks: first for their keys and then for their reports. A commit takes effect as a whole or
not at all, and an ingest of the same files again counts no report twice. A bad report is refused and
recorded; it never raises an exception.

The other modules of this package make the steps, in the order of the package's docstring.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from aggregator.intake import validate
from aggregator.intake.chunk import Chunk, ChunkBuilder
from aggregator.intake.enrolments import EnrolmentCounts, enrol
from aggregator.intake.files import batch_files, contents, may_hold, unread_text
from aggregator.intake.framing import HEADS, frames
from aggregator.intake.refusals import RefusalReason
from aggregator.intake.signatures import verifier
from aggregator.intake.slots import Slots
from aggregator.intake.validate import PendingChunk, ValidationOutcome
from aggregator.intake.verified import VerifiedDigests
from aggregator.storage.paths import StoragePath, size_of
from aggregator.storage.tables import REFUSALS, REPORTS, SCHEMAS, append_rows, sync_table
from protocol.envelope import Kind

if TYPE_CHECKING:
    from aggregator.study import Study

READ_BYTES = 2**22
"""Size of the buffers in which files are read."""
ALONE_BYTES = 2**20
"""A file of at least this many bytes shares no commit with other files."""
CHUNK_REPORTS = 200_000
CHUNK_OUTPUTS = 2**18
"""Approximate maximum number of reports, and of outputs, in a commit."""

Progress: TypeAlias = Callable[[int], None]
"""A function that is called after each part of an ingest, with the number of bytes of this part."""


@dataclass(frozen=True)
class CampaignCounts:
    """Numbers of accepted and refused envelopes of one campaign.

    Attributes:
        accepted: number of counted reports.
        outputs: number of their outputs.
        refused: number of refused envelopes by reason; reasons that did not occur are left out.
    """

    accepted: int
    outputs: int
    refused: Mapping[str, int]


@dataclass(frozen=True)
class IngestResult:
    """The result of an ingest.

    Attributes:
        read: number of reports, malformed items and refused enrolments, and of campaigns and closing notices, which do
            not belong in an upload; equals the sum of ``accepted`` and ``refused``.
        accepted: number of counted reports.
        outputs: number of their outputs.
        refused: number of refused envelopes by reason; reasons that did not occur are left out.
        enrolments: number of verified enrolments, of new and of known keys.
        enrolments_ignored: number of enrolments for campaigns that accept no enrolments in uploads.
        keys_added: number of newly registered keys.
        files: number of files, including those that could not be read.
        warnings: one sentence for each problem with a file.
        by_campaign: the numbers of each campaign, by its name; "" for envelopes of no known campaign.
    """

    read: int
    accepted: int
    outputs: int
    refused: Mapping[str, int]
    enrolments: int
    enrolments_ignored: int
    keys_added: int
    files: int
    warnings: tuple[str, ...]
    by_campaign: Mapping[str, CampaignCounts]

    def as_json(self) -> dict[str, Any]:
        """Return the counts as a JSON object.

        Returns:
            An object for ``json.dumps``; scripts depend on the names of its keys.
        """
        return {
            "read": self.read,
            "accepted": self.accepted,
            "outputs": self.outputs,
            "rejected": dict(self.refused),
            "enrolments": self.enrolments,
            "enrolments_ignored": self.enrolments_ignored,
            "keys_added": self.keys_added,
            "files": self.files,
            "warnings": list(self.warnings),
            "campaigns": {
                name: {"accepted": counts.accepted, "outputs": counts.outputs, "rejected": dict(counts.refused)}
                for name, counts in self.by_campaign.items()
            },
        }


def ingest(
    study: Study,
    paths: Iterable[str | StoragePath],
    *,
    now: int,
    threads: int | None = None,
    progress: Progress | None = None,
    buffer_bytes: int = READ_BYTES,
    chunk_reports: int = CHUNK_REPORTS,
    chunk_outputs: int = CHUNK_OUTPUTS,
) -> IngestResult:
    """Verify, deduplicate and count the reports in files and folders.

    Args:
        study: the study to which the reports are added.
        paths: files and folders, or objects and prefixes in buckets.
        now: the current time, UTC seconds; reports of periods after the next one are refused as early.
        threads: number of threads that verify signatures; one for each processor if None.
        progress: called after each chunk with the number of its bytes.
        buffer_bytes: size of the buffers in which files are read.
        chunk_reports: approximate maximum number of reports in a commit.
        chunk_outputs: approximate maximum number of outputs in a commit.
    Returns:
        Counts of accepted and refused reports. Ingesting the same files again counts no report twice.
    Raises:
        IntakeError, StoragePathError, OSError: see ``batch_files``.
        StudyError: the study cannot be read or written. Earlier commits stay, and a second ingest does not count their
            reports again.
    """
    files = batch_files(paths)
    warnings: list[str] = []
    totals = IngestTotals(study, now)
    with verifier(threads, VerifiedDigests.of(study.path)) as threads_verifying:
        # All keys are read before all reports, so the order of files and the size of chunks do not matter.
        introducing = [path for path in files if may_hold(path, HEADS[Kind.ENROLMENT], buffer_bytes)]
        for chunk in _chunks(introducing, [], buffer_bytes, chunk_reports):
            totals.take_keys(enrol(study, chunk, threads_verifying, uploaded=True), len(chunk.of(Kind.ENROLMENT)))
        slots = Slots(study.path / REPORTS)
        chunks = _chunks(files, warnings, buffer_bytes, chunk_reports)
        pending = (validate.begin(study, chunk, threads_verifying, now) for chunk in chunks)
        for outcome, size in _finished(pending, slots, chunk_outputs):
            totals.take_reports(outcome)
            pa.default_memory_pool().release_unused()  # otherwise Arrow keeps the memory that the commit took
            if progress is not None:
                progress(size)
    return totals.result(len(files), tuple(warnings))


def _finished(
    pending: Iterator[PendingChunk], slots: Slots, max_outputs: int
) -> Iterator[tuple[ValidationOutcome, int]]:
    """Finish each chunk; yield its outcome and its number of bytes.

    While a chunk is committed, the signatures of the next chunk are verified; at most two chunks are in memory.
    """
    current = next(pending, None)
    while current is not None:
        following = next(pending, None)
        yield current.finish(slots, max_outputs), len(current.chunk.data)
        current = following


def _chunks(
    files: Sequence[StoragePath], warnings: list[str], buffer_bytes: int, chunk_reports: int
) -> Iterator[Chunk]:
    """Yield the envelopes of files in chunks: a chunk joins many small files, or has a part of a large file."""
    builder = ChunkBuilder()
    for path, read in contents(files, buffer_bytes):
        # A large file shares no chunk with other files. So its chunks, and their digests, are the same in every ingest.
        large = _size(path) >= min(ALONE_BYTES, buffer_bytes)
        if large and builder.parts:
            yield builder.chunk()
            builder = ChunkBuilder()
        rest, inside_malformed = b"", False
        for buffer, last in _with_last(path, read, warnings):
            data = rest + buffer if rest else buffer
            envelopes = frames(data, final=last, inside_malformed=inside_malformed)
            rest, inside_malformed = data[envelopes.rest :], envelopes.inside_malformed
            builder.add(data[: envelopes.rest] if rest else data, envelopes)
            full = builder.envelopes >= chunk_reports or builder.size >= 2 * buffer_bytes
            if full or (large and last):
                yield builder.chunk()
                builder = ChunkBuilder()
    if builder.parts:
        yield builder.chunk()


def _size(path: StoragePath) -> int:
    """Return the size of a file in bytes; 0 if the size cannot be determined, because reading the file later reports
    the error."""
    with suppress(OSError):
        return size_of(path)
    return 0


def _with_last(path: StoragePath, read: Iterator[bytes], warnings: list[str]) -> Iterator[tuple[bytes, bool]]:
    """Yield each buffer of a file, and whether it is the last one; add problems with the file to ``warnings``."""
    buffer, any_buffer = b"", False
    try:
        for following in read:
            if any_buffer:
                yield buffer, False
            buffer, any_buffer = following, True
        if not any_buffer:
            warnings.append(f"{path} is empty")
    except OSError as error:
        warnings.append(f"{path} {unread_text(error.strerror or str(error), nothing=not any_buffer)}")
    if any_buffer:
        yield buffer, True


@dataclass
class IngestTotals:
    """The numbers of accepted and refused envelopes of an ingest; refusals are also stored in the study."""

    study: Study
    now: int
    read: int = 0
    accepted: Counter[str] = field(default_factory=Counter)
    outputs: Counter[str] = field(default_factory=Counter)
    refused: Counter[tuple[str, RefusalReason]] = field(default_factory=Counter)
    enrolled: EnrolmentCounts = field(default_factory=EnrolmentCounts)

    def take_keys(self, enrolled: EnrolmentCounts, envelopes: int) -> None:
        """Add the result of registering enrolments."""
        self.enrolled.add(enrolled)
        self.read += envelopes - enrolled.added - enrolled.known - enrolled.ignored
        self._store(enrolled.refused)

    def take_reports(self, outcome: ValidationOutcome) -> None:
        """Add the outcome of validating a chunk."""
        self.accepted.update(outcome.accepted)
        self.outputs.update(outcome.outputs)
        self.read += outcome.read
        self._store(outcome.refused)

    def _store(self, refused: Counter[tuple[str, RefusalReason]]) -> None:
        self.refused.update(refused)
        rows = _reject_rows(refused, self.now)
        if rows.num_rows:
            append_rows(self.study.path / REFUSALS, rows)

    def result(self, files: int, warnings: tuple[str, ...]) -> IngestResult:
        """Return the totals after syncing all tables to the disk, including the commits of other processes, because
        these may have filled the slots of refused replays."""
        for name in SCHEMAS:
            sync_table(self.study.path / name)
        names = {listed.id: listed.name for listed in self.study.listed()}
        of_campaign: dict[str, dict[str, int]] = {campaign: {} for campaign in self.accepted}
        for campaign, reason in sorted(key for key, count in self.refused.items() if count):
            of_campaign.setdefault(campaign, {})[str(reason)] = self.refused[campaign, reason]
        refused: Counter[str] = Counter()
        for classes in of_campaign.values():
            refused.update(classes)
        return IngestResult(
            read=self.read,
            accepted=self.accepted.total(),
            outputs=self.outputs.total(),
            refused=dict(refused),
            enrolments=self.enrolled.added + self.enrolled.known,
            enrolments_ignored=self.enrolled.ignored,
            keys_added=self.enrolled.added,
            files=files,
            warnings=warnings,
            by_campaign={
                names.get(campaign, ""): CampaignCounts(self.accepted[campaign], self.outputs[campaign], classes)
                for campaign, classes in of_campaign.items()
            },
        )


def _reject_rows(refused: Mapping[tuple[str, RefusalReason], int], now: int) -> pa.Table:
    rows = [(campaign, str(reason), count, now) for (campaign, reason), count in sorted(refused.items()) if count]
    columns = zip(*rows, strict=True) if rows else [()] * len(SCHEMAS[REFUSALS])
    return pa.table([list(column) for column in columns], schema=SCHEMAS[REFUSALS])
