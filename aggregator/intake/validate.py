"""Validate the reports of a chunk, one column at a time, and commit those that pass.

Every report gets one verdict, and a check gives verdicts only to reports that have none yet. So the first check that
fails, in the order of the code, decides. All checks except the last are independent of the counted rows, so they can
run on any machine. The last check, for free slots, runs with the commit.

``refusals`` has the reasons for which reports are refused, and ``deduplicate`` finds the free slots.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from aggregator.intake import columns
from aggregator.intake.chunk import Chunk, by_campaign
from aggregator.intake.columns import Bytes, ByteStrings, Integers, Mask, Reports
from aggregator.intake.deduplicate import Candidates
from aggregator.intake.refusals import RefusalReason
from aggregator.intake.signatures import EnvelopeOffsets, PendingVerdicts, Verifier
from aggregator.intake.slots import Slots
from aggregator.intake.views import ViewChannels, assigned_views, unpack
from aggregator.storage.tables import REPORTS, append
from protocol.campaign import MAX_ANSWERS_PER_PERIOD, Campaign
from protocol.envelope import Kind
from protocol.keys import PUBLIC_BYTES
from protocol.views import MAX_VIEWS

if TYPE_CHECKING:
    from aggregator.study import Study

_REASONS = tuple(RefusalReason)
_NUMBER = {reason: number for number, reason in enumerate(_REASONS)}
_NONE, _ACCEPTED = -1, len(_REASONS)
"""A verdict is ``_NONE``, ``_ACCEPTED`` or an index into ``_REASONS``."""


@dataclass
class ValidationOutcome:
    """The result of validation: accepted and refused reports.

    Attributes:
        read: number of reports and malformed items, and of campaigns and closing notices, which do not belong in an
            upload.
        accepted, outputs: numbers of counted reports and of their outputs, by campaign.
        refused: number of refusals by campaign ("" if it is unknown) and reason.
    """

    read: int = 0
    accepted: Counter[str] = field(default_factory=Counter)
    outputs: Counter[str] = field(default_factory=Counter)
    refused: Counter[tuple[str, RefusalReason]] = field(default_factory=Counter)


@dataclass(frozen=True)
class PendingChunk:
    """A chunk whose signatures are being verified."""

    chunk: Chunk
    verdicts: _Verdicts | None

    def finish(self, slots: Slots, max_outputs: int) -> ValidationOutcome:
        """Commit the valid reports.

        Args:
            slots: the filled slots of the study.
            max_outputs: approximate maximum number of outputs in a commit.
        Raises:
            StudyError: the study cannot be read or written.
        """
        if self.verdicts is not None:
            for part in self.verdicts.parts(max_outputs):
                self.verdicts.commit(part, slots)
        return _outcome(self.verdicts, self.chunk)


def begin(study: Study, chunk: Chunk, verifier: Verifier, now: int) -> PendingChunk:
    """Start to validate the reports of a chunk; other chunks can be committed at the same time.

    Args:
        now: the current time, UTC seconds.
    Raises:
        StudyError: the study cannot be read.
    """
    return PendingChunk(chunk, _Verdicts.of(study, chunk, verifier, now))


def validate_chunk(
    study: Study, chunk: Chunk, verifier: Verifier, now: int, max_outputs: int
) -> tuple[ValidationOutcome, list[Candidates]]:
    """Validate the reports of a chunk, and return the valid ones; nothing is committed.

    Args:
        now: the current time, UTC seconds.
        max_outputs: approximate maximum number of outputs in one ``Candidates``.
    Returns:
        Counts of the refused reports, and the valid reports in order.
    Raises:
        StudyError: the study cannot be read.
    """
    verdicts = _Verdicts.of(study, chunk, verifier, now)
    candidates: list[Candidates] = []
    if verdicts is not None:
        candidates = [verdicts.candidates(part)[1] for part in verdicts.parts(max_outputs)]
    return _outcome(verdicts, chunk), candidates


def _outcome(verdicts: _Verdicts | None, chunk: Chunk) -> ValidationOutcome:
    """Return the outcome of a chunk, including its envelopes that are not reports."""
    outcome = ValidationOutcome() if verdicts is None else verdicts.outcome()
    misplaced = chunk.malformed_items + len(chunk.of(Kind.CAMPAIGN)) + len(chunk.of(Kind.CLOSING))
    outcome.refused["", RefusalReason.MALFORMED] += misplaced
    outcome.read = misplaced + len(chunk.of(Kind.REPORT))
    return outcome


@dataclass(frozen=True)
class _Verdicts:
    """The reports of a chunk, one row for each, and their verdicts.

    Attributes:
        campaigns: ids of the study's campaigns, in hex.
        closed_early: time of each campaign's early closing in UTC seconds; None if it was not closed early.
        campaign: (n,) index into ``campaigns``, or -1 for an unknown campaign.
        key: (n,) key ids.
        view: (n,) index of the view of each report's device, set when the key is found.
        channels: the channels of each campaign that has reports here, by its index.
        verdict: (n,) ``_NONE``, ``_ACCEPTED`` or an index into ``_REASONS``.
        now: the current time, UTC seconds.
        pending: the signatures being verified.
    """

    study: Study
    data: Bytes
    sealed: EnvelopeOffsets
    reports: Reports
    campaigns: tuple[str, ...]
    closed_early: tuple[int | None, ...]
    campaign: Integers
    key: Integers
    view: Integers
    channels: dict[int, ViewChannels]
    verdict: Integers
    now: int
    pending: list[PendingVerdicts]

    @classmethod
    def of(cls, study: Study, chunk: Chunk, verifier: Verifier, now: int) -> _Verdicts | None:
        """Decode the reports of a chunk, refuse malformed reports and reports of unknown campaigns, and start to verify
        signatures; None if the chunk has no reports."""
        sealed = chunk.of(Kind.REPORT)
        if not len(sealed):
            return None
        reports = columns.decode_reports(chunk.octets, sealed.payload, sealed.payload_end)
        listed = study.listed()
        campaigns = tuple(entry.id for entry in listed)
        closed_early = tuple(entry.closed_early for entry in listed)
        campaign = by_campaign(reports.campaign, campaigns)
        verdict = np.full(len(sealed), _NONE, dtype=np.int64)
        view = np.zeros(len(sealed), dtype=np.int64)
        verdicts = cls(
            study, chunk.octets, sealed, reports, campaigns, closed_early, campaign, chunk.keys(sealed), view, {},
            verdict, now, [],
        )  # fmt: skip
        all_rows = np.arange(len(sealed))
        verdicts.refuse(all_rows, ~reports.valid, RefusalReason.MALFORMED)
        verdicts.refuse(all_rows, campaign < 0, RefusalReason.UNKNOWN_CAMPAIGN)
        verdicts.check_keys(verifier)
        return verdicts

    def undecided(self, index: int | None = None) -> Integers:
        """Return the rows without a verdict, of the campaign with this index or of all campaigns."""
        undecided = self.verdict == _NONE
        return np.flatnonzero(undecided if index is None else undecided & (self.campaign == index))

    def refuse(self, rows: Integers, failed: Mask, reason: RefusalReason) -> None:
        """Give a verdict to those of ``rows`` that failed a check and have no verdict yet."""
        failing = rows[failed]
        self.verdict[failing[self.verdict[failing] == _NONE]] = _NUMBER[reason]

    def present(self) -> list[int]:
        """Return the indices of the campaigns that have rows without a verdict."""
        present: list[int] = np.unique(self.campaign[self.undecided()]).tolist()
        return present

    def check_keys(self, verifier: Verifier) -> None:
        """Refuse unknown and revoked keys; for the remaining rows, find the views and start to verify the
        signatures."""
        public: Bytes = np.zeros((len(self.key), PUBLIC_BYTES), dtype=np.uint8)
        for campaign in self.present():
            rows = self.undecided(campaign)
            registry = self.study.registry(self.campaigns[campaign])
            index, in_registry = registry.find(self.key[rows])
            self.refuse(rows, ~in_registry, RefusalReason.UNKNOWN_KEY)
            rows, index = rows[in_registry], index[in_registry]
            revoked = self.reports.period[rows] >= registry.since[index]
            self.refuse(rows, ~revoked & ~registry.registered[index], RefusalReason.UNKNOWN_KEY)
            self.refuse(rows, revoked, RefusalReason.REVOKED_KEY)
            public[rows] = np.take(registry.public, index, axis=0)
            self.view[rows] = assigned_views(self.study.cached_campaign(self.campaigns[campaign]).signed, public[rows])
            self.channels[campaign] = ViewChannels.of(self.campaign_at(campaign))
        rows = self.undecided()
        self.pending.append(verifier.start(self.sealed.rows(rows), np.take(public, rows, axis=0)))

    def parts(self, max_outputs: int) -> Iterator[Integers]:
        """Refuse bad signatures, wrong periods and exceeded quotas; yield the remaining rows in parts of about
        ``max_outputs`` outputs.

        While one part is unpacked and committed, threads verify the signatures of the next part.
        """
        signatures, undecided = self.pending.pop(), self.undecided()
        upto = np.cumsum(self.reports.count[undecided])
        cuts = np.flatnonzero(np.diff(upto // max_outputs)) + 1
        for start, stop in pairwise([0, *cuts.tolist(), len(undecided)]):
            rows = undecided[start:stop]
            self.refuse(rows, ~signatures.verdicts(start, stop), RefusalReason.BAD_SIGNATURE)
            self.check_schedule(rows)
            yield rows[self.verdict[rows] == _NONE]

    def check_schedule(self, part: Integers) -> None:
        """Refuse reports that are early, late or over the quota."""
        for index in np.unique(self.campaign[part]).tolist():
            campaign = self.campaign_at(index)
            rows = part[self.campaign[part] == index]
            # All time before the opening counts as period -1, so a report of period 0 from a clock that runs ahead is
            # not early.
            current = max(-1, (self.now - campaign.opens) // campaign.period_seconds)
            period = self.reports.period[rows]
            self.refuse(rows, period > current + 1, RefusalReason.EARLY)
            closing_time = self.closed_early[index]
            last = campaign.periods if closing_time is None else campaign.periods_until(closing_time)
            self.refuse(rows, period >= last, RefusalReason.LATE)
            count = self.reports.count[rows]
            # This is the rule of protocol.report.Report.require_fit.
            slots = period + 1 if campaign.transcript else campaign.answers_per_period
            over = (count > campaign.answers_per_period) | (self.reports.slot[rows] + count > slots)
            self.refuse(rows, over, RefusalReason.OVER_QUOTA)

    def campaign_at(self, index: int) -> Campaign:
        return self.study.cached_campaign(self.campaigns[index]).signed.campaign

    def candidates(self, part: Integers) -> tuple[Integers, Candidates]:
        """Refuse reports with bad outputs; return the remaining rows with their outputs."""
        unpacked = list(self._unpacked(part))
        reports = part[self.verdict[part] == _NONE]
        count = self.reports.count[reports]
        begin = np.cumsum(count) - count
        output = np.zeros(count.sum(), dtype=np.int64)
        word = None if all(words is None for _, _, words in unpacked) else np.full(len(output), None, dtype=np.object_)
        for rows, numbers, words in unpacked:
            position = begin[np.searchsorted(reports, rows)][:, np.newaxis] + np.arange(numbers.shape[1])
            output[position] = numbers
            if word is not None and words is not None:
                word[position] = words
        slot = np.arange(len(output)) + np.repeat(self.reports.slot[reports] - begin, count)
        report, campaign = np.repeat(np.arange(len(reports)), count), np.repeat(self.campaign[reports], count)
        period, key, view = (np.repeat(column[reports], count) for column in (self.reports.period, self.key, self.view))
        return reports, Candidates(
            self.campaigns, len(reports), report, campaign, period, key, slot, view, output, word
        )

    def commit(self, part: Integers, slots: Slots) -> None:
        """Refuse reports with bad outputs and replays; accept and commit the others."""
        reports, candidates = self.candidates(part)
        free: Mask = np.zeros(0, dtype=np.bool_)

        def rows_for(table: DeltaTable) -> pa.Table:
            nonlocal free
            free = candidates.free(table, slots=slots)
            return candidates.rows(free)

        if len(reports):
            append(self.study.path / REPORTS, rows_for)
            self.refuse(reports, ~free, RefusalReason.REPLAYED)
            self.verdict[reports[free]] = _ACCEPTED

    def _unpacked(self, rows: Integers) -> Iterator[tuple[Integers, Integers, ByteStrings | None]]:
        """Unpack outputs, and refuse reports with bad outputs.

        Yields:
            Rows with the same channel and the same number of outputs, and their outputs as numbers and as words; None
            for a channel whose outputs are not words.
        """
        channel = np.zeros(len(rows), dtype=np.int64)
        for campaign, channels in self.channels.items():
            of_campaign = self.campaign[rows] == campaign
            channel[of_campaign] = channels.of_view[self.view[rows[of_campaign]]]
        channel_code = self.campaign[rows] * MAX_VIEWS + channel
        shape_codes = channel_code * (MAX_ANSWERS_PER_PERIOD + 1) + self.reports.count[rows]
        for shape_code in np.unique(shape_codes).tolist():
            code, count = divmod(shape_code, MAX_ANSWERS_PER_PERIOD + 1)
            channels, group = self.channels[code // MAX_VIEWS], rows[shape_codes == shape_code]
            packed, length = self.reports.packed[group], self.reports.packed_length[group]
            unpacked = unpack(self.data, packed, length, count, channels.channels[code % MAX_VIEWS], channels.width)
            self.refuse(group, ~unpacked.good, RefusalReason.BAD_OUTPUT)
            words = None if unpacked.words is None else unpacked.words[unpacked.good]
            yield group[unpacked.good], unpacked.outputs[unpacked.good], words

    def outcome(self) -> ValidationOutcome:
        """Return the numbers of accepted reports, of their outputs, and of refused reports."""
        result = ValidationOutcome()
        accepted = self.verdict == _ACCEPTED
        for campaign in np.unique(self.campaign[accepted]).tolist():
            rows = accepted & (self.campaign == campaign)
            result.accepted[self.campaigns[campaign]] = int(rows.sum())
            result.outputs[self.campaigns[campaign]] = int(self.reports.count[rows].sum())
        owner = np.where(self.verdict > _NUMBER[RefusalReason.UNKNOWN_CAMPAIGN], self.campaign, -1)
        refused = ~accepted & (self.verdict != _NONE)
        counts = np.bincount(((owner + 1) * len(_REASONS) + self.verdict)[refused])
        for code in np.flatnonzero(counts).tolist():
            campaign, reason = divmod(code, len(_REASONS))
            result.refused[self.campaigns[campaign - 1] if campaign else "", _REASONS[reason]] += int(counts[code])
        return result
