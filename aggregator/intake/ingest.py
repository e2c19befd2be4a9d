"""Ingest: verifies the reports in upload files and adds each one to the study at most once.

Files are read twice, for the keys they bring and then for their reports, a chunk at a time; a chunk is
committed in one piece, and running it all again changes nothing. A bad report is a count, never an exception.

How each step works: the other files of this package, in the order its docstring gives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from aggregator.intake import validate
from aggregator.intake.chunk import Chunk, Gathering
from aggregator.intake.enrolments import Enrolled, enrol
from aggregator.intake.files import IntakeError, batch_files, contents, may_hold, size_of
from aggregator.intake.framing import HEADS, frames
from aggregator.intake.rejects import Reject
from aggregator.intake.signatures import verifier
from aggregator.intake.slots import Slots
from aggregator.intake.validate import PendingChunk, ValidationOutcome
from aggregator.intake.verified import Verified
from aggregator.storage import places
from aggregator.storage.places import Place
from aggregator.storage.tables import REJECTS, REPORTS, SCHEMAS, add, bring_all
from protocol.envelope import Kind

if TYPE_CHECKING:
    from aggregator.study import Study

__all__ = ["CampaignCounts", "IngestResult", "IntakeError", "ingest", "size_of"]

PIECE_BYTES = 2**22
ALONE_BYTES = 2**20
"""A file of so many bytes is worth a commit of its own."""
CHUNK_REPORTS = 200_000
CHUNK_OUTPUTS = 2**18
"""A commit carries at most about ``CHUNK_REPORTS`` reports, and ``CHUNK_OUTPUTS`` outputs and the last report's."""


@dataclass(frozen=True)
class CampaignCounts:
    """The numbers of one campaign's accepted and refused envelopes.

    Attributes:
        accepted: reports counted.
        outputs: outputs in them.
        rejected: envelopes refused, by reject class; classes without any are left out.
    """

    accepted: int
    outputs: int
    rejected: Mapping[str, int]


@dataclass(frozen=True)
class IngestResult:
    """The result of an ingest.

    Attributes:
        read: reports, runs of bytes that are no envelope, stray campaigns and refused enrolments; equals
            ``accepted`` and all of ``rejected`` together.
        accepted: reports counted.
        outputs: outputs in them.
        rejected: envelopes refused, by reject class; classes without any are left out.
        enrolments: enrolments that verify, of new keys and of known ones.
        enrolments_ignored: enrolments for campaigns that take enrolled keys only.
        keys_added: keys newly registered.
        files: files read.
        warnings: what the person should know, a sentence each.
        by_campaign: by name of the campaign; "" for envelopes of no known campaign.
    """

    read: int
    accepted: int
    outputs: int
    rejected: Mapping[str, int]
    enrolments: int
    enrolments_ignored: int
    keys_added: int
    files: int
    warnings: tuple[str, ...]
    by_campaign: Mapping[str, CampaignCounts]

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form.

        Returns:
            A mapping for ``json.dumps``; counts by class of report.
        """
        return {
            "read": self.read,
            "accepted": self.accepted,
            "outputs": self.outputs,
            "rejected": dict(self.rejected),
            "enrolments": self.enrolments,
            "enrolments_ignored": self.enrolments_ignored,
            "keys_added": self.keys_added,
            "files": self.files,
            "warnings": list(self.warnings),
            "campaigns": {
                name: {"accepted": counts.accepted, "outputs": counts.outputs, "rejected": dict(counts.rejected)}
                for name, counts in self.by_campaign.items()
            },
        }


def ingest(
    study: Study,
    paths: Iterable[str | Place],
    *,
    now: int,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
    piece_bytes: int = PIECE_BYTES,
    chunk_reports: int = CHUNK_REPORTS,
    chunk_outputs: int = CHUNK_OUTPUTS,
) -> IngestResult:
    """Verify, deduplicate and count the reports in files and folders.

    Args:
        now: UTC seconds; decides which reports are early.
        threads: that verify signatures; as many as there are processors if not given.
        progress: told the number of bytes done since the last time, after each chunk committed.
        piece_bytes: bytes read at a time.
        chunk_reports: the most reports that are committed at a time.
        chunk_outputs: the most outputs that are committed at a time.
    Returns:
        How many reports were counted, and how many refused by class; the same files again count nothing.
    Raises:
        IntakeError: a path that is not there.
        StudyError: the study cannot be read or written; what was committed until then stays, and counts once.
    """
    files = batch_files(paths)
    warnings: list[str] = []
    desk = IngestTotals(study, now)
    with verifier(threads, Verified.of(study.path)) as threads_verifying:
        # All keys come before all reports, so neither order nor the size of chunks decides who is known.
        introducing = [path for path in files if may_hold(path, HEADS[Kind.ENROLMENT], piece_bytes)]
        for chunk in _chunks(introducing, [], piece_bytes, chunk_reports):
            desk.take_keys(enrol(study, chunk, threads_verifying, uploaded=True), len(chunk.of(Kind.ENROLMENT)))
        slots = Slots(study.path / REPORTS)
        chunks = _chunks(files, warnings, piece_bytes, chunk_reports)
        hearings = (validate.begin(study, chunk, threads_verifying, now) for chunk in chunks)
        for judged, size in _finished(hearings, slots, chunk_outputs):
            desk.take_reports(judged)
            pa.default_memory_pool().release_unused()  # what a commit took, Arrow would keep
            if progress is not None:
                progress(size)
    return desk.result(len(files), tuple(warnings))


def _finished(
    hearings: Iterator[PendingChunk], slots: Slots, most_outputs: int
) -> Iterator[tuple[ValidationOutcome, int]]:
    """The result of each chunk, and its number of bytes.

    While a chunk is committed, the signatures of the next are verified: there are two in memory, and no more.
    """
    before = next(hearings, None)
    while before is not None:
        following = next(hearings, None)
        yield before.finish(slots, most_outputs), len(before.chunk.data)
        before = following


def _chunks(files: Sequence[Place], warnings: list[str], piece_bytes: int, chunk_reports: int) -> Iterator[Chunk]:
    """The files' envelopes, many small files or a part of a large one at a time."""
    gathering = Gathering()
    for path, read in contents(files, piece_bytes):
        # A large file shares no chunk with others: then it makes the same chunks in any company, and is known again.
        alone = _size(path) >= min(ALONE_BYTES, piece_bytes)
        if alone and gathering.parts:
            yield gathering.done()
            gathering = Gathering()
        rest, inside_garbage = b"", False
        for piece, last in _with_last(path, read, warnings):
            data = rest + piece if rest else piece
            found = frames(data, final=last, inside_garbage=inside_garbage)
            rest, inside_garbage = data[found.rest :], found.inside_garbage
            gathering.add(data[: found.rest] if rest else data, found)
            full = gathering.envelopes >= chunk_reports or gathering.size >= 2 * piece_bytes
            if full or (alone and last):
                yield gathering.done()
                gathering = Gathering()
    if gathering.parts:
        yield gathering.done()


def _size(path: Place) -> int:
    """Bytes of a file; 0 where that cannot be known, as reading it will say."""
    with suppress(OSError):
        return places.size_of(path)
    return 0


def _with_last(path: Place, read: Iterator[bytes], warnings: list[str]) -> Iterator[tuple[bytes, bool]]:
    """The pieces of a file, each with whether it is the last; what is wrong with the file goes to ``warnings``."""
    piece, before = b"", False
    try:
        for following in read:
            if before:
                yield piece, False
            piece, before = following, True
        if not before:
            warnings.append(f"{path} is empty")
    except OSError as error:
        warnings.append(f"{path} could not be read{' to its end' if before else ''}: {error.strerror or error}")
    if before:
        yield piece, True


@dataclass
class IngestTotals:
    """Counts accepted and refused envelopes, and records refusals."""

    study: Study
    now: int
    read: int = 0
    accepted: Counter[str] = field(default_factory=Counter)
    outputs: Counter[str] = field(default_factory=Counter)
    rejected: Counter[tuple[str, Reject]] = field(default_factory=Counter)
    enrolled: Enrolled = field(default_factory=Enrolled)

    def take_keys(self, enrolled: Enrolled, envelopes: int) -> None:
        """Add a number of enrolments."""
        self.enrolled.add(enrolled)
        self.read += envelopes - enrolled.added - enrolled.known - enrolled.ignored
        self._write_down(enrolled.refused)

    def take_reports(self, judged: ValidationOutcome) -> None:
        """Count reports and strays."""
        self.accepted.update(judged.accepted)
        self.outputs.update(judged.outputs)
        self.read += judged.read
        self._write_down(judged.rejected)

    def _write_down(self, rejected: Counter[tuple[str, Reject]]) -> None:
        self.rejected.update(rejected)
        rows = _reject_rows(rejected, self.now)
        if rows.num_rows:
            add(self.study.path / REJECTS, rows)

    def result(self, files: int, warnings: tuple[str, ...]) -> IngestResult:
        """All that was counted, once it is on the disk, with what others counted before and made it a replay."""
        for name in SCHEMAS:
            bring_all(self.study.path / name)
        names = {listed.id: listed.name for listed in self.study.listed()}
        of_campaign: dict[str, dict[str, int]] = {campaign: {} for campaign in self.accepted}
        for campaign, reject in sorted(key for key, count in self.rejected.items() if count):
            of_campaign.setdefault(campaign, {})[str(reject)] = self.rejected[campaign, reject]
        rejected: Counter[str] = Counter()
        for classes in of_campaign.values():
            rejected.update(classes)
        return IngestResult(
            read=self.read,
            accepted=self.accepted.total(),
            outputs=self.outputs.total(),
            rejected=dict(rejected),
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


def _reject_rows(rejected: Mapping[tuple[str, Reject], int], now: int) -> pa.Table:
    """Rows of the ``rejects`` table."""
    rows = [(campaign, str(reject), count, now) for (campaign, reject), count in sorted(rejected.items()) if count]
    columns = zip(*rows, strict=True) if rows else [()] * len(SCHEMAS[REJECTS])
    return pa.table([list(column) for column in columns], schema=SCHEMAS[REJECTS])
