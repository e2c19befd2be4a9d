"""Validates the reports of a chunk, one column at a time, and commits those that pass.

Every report has one verdict, and a check only gives verdicts to reports that have none yet; so the first
failing check wins, in the order in which the code reads. All checks except the last are independent of the counted
rows, so they can run anywhere; the check for a free slot runs with the commit.

The classes: rejects. Which slots are free: deduplicate.
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
from aggregator.intake.columns import Bytes, Integers, Mask, Reports, Words
from aggregator.intake.deduplicate import Candidates
from aggregator.intake.rejects import Reject
from aggregator.intake.signatures import PendingVerdicts, Sealed, Verifier
from aggregator.intake.slots import Slots
from aggregator.intake.views import ViewChannels, unpack, views_of
from aggregator.storage.tables import REPORTS, append
from protocol.campaign import MAX_ANSWERS_PER_PERIOD, Campaign
from protocol.envelope import Kind
from protocol.keys import PUBLIC_BYTES
from protocol.views import MAX_VIEWS

if TYPE_CHECKING:
    from aggregator.study import Study

_CLASSES = tuple(Reject)
_NUMBER = {reject: number for number, reject in enumerate(_CLASSES)}
_NONE, _ACCEPTED = -1, len(_CLASSES)
"""A verdict is an index into ``_CLASSES``, or one of these."""


@dataclass
class ValidationOutcome:
    """The result of validation: accepted and refused reports.

    Attributes:
        read: reports, runs of garbage and stray campaigns.
        accepted, outputs: reports counted, and outputs in them, by campaign.
        rejected: by campaign ("" where none is known) and class.
    """

    read: int = 0
    accepted: Counter[str] = field(default_factory=Counter)
    outputs: Counter[str] = field(default_factory=Counter)
    rejected: Counter[tuple[str, Reject]] = field(default_factory=Counter)


@dataclass(frozen=True)
class PendingChunk:
    """A chunk whose signatures are being verified."""

    chunk: Chunk
    docket: _VerdictQueue | None

    def finish(self, slots: Slots, most_outputs: int) -> ValidationOutcome:
        """Commit the valid reports.

        Args:
            slots: those that the study has filled.
            most_outputs: that one commit carries, give or take a report's.
        Raises:
            StudyError
        """
        if self.docket is not None:
            for part in self.docket.parts(most_outputs):
                self.docket.commit(part, slots)
        return _judged(self.docket, self.chunk)


def begin(study: Study, chunk: Chunk, verifier: Verifier, now: int) -> PendingChunk:
    """Start to check the reports of a chunk; other chunks can be committed at the same time.

    Args:
        now: UTC seconds.
    Raises:
        StudyError
    """
    return PendingChunk(chunk, _VerdictQueue.asked(study, chunk, verifier, now))


def examine(
    study: Study, chunk: Chunk, verifier: Verifier, now: int, most_outputs: int
) -> tuple[ValidationOutcome, list[Candidates]]:
    """Check the reports of a chunk, and hand out those that pass; nothing is committed.

    Args:
        now: UTC seconds.
        most_outputs: in one offer, give or take a report's.
    Returns:
        What was refused, and the rest in order.
    Raises:
        StudyError
    """
    docket = _VerdictQueue.asked(study, chunk, verifier, now)
    offers: list[Candidates] = []
    if docket is not None:
        offers = [docket.offered(part)[1] for part in docket.parts(most_outputs)]
    return _judged(docket, chunk), offers


def _judged(docket: _VerdictQueue | None, chunk: Chunk) -> ValidationOutcome:
    judged = ValidationOutcome() if docket is None else docket.judged()
    strays = chunk.garbage + len(chunk.of(Kind.CAMPAIGN)) + len(chunk.of(Kind.CLOSING))
    judged.rejected["", Reject.MALFORMED] += strays
    judged.read = strays + len(chunk.of(Kind.REPORT))
    return judged


@dataclass(frozen=True)
class _VerdictQueue:
    """The reports of a chunk, one row each, and their verdicts.

    Attributes:
        names: ids of the study's campaigns, in hex.
        closes: since when each is closed early; None where it is not.
        campaign: (n,) index into ``names``, -1 for none.
        key: (n,) key ids.
        view: (n,) the place of each device's view, once its key is found.
        laws: the channels of each campaign that reports are of, by its number.
        verdict: (n,) the only column that changes.
        now: UTC seconds.
        under_way: the signatures of those without a verdict, until they are known.
    """

    study: Study
    data: Bytes
    sealed: Sealed
    reports: Reports
    names: tuple[str, ...]
    closes: tuple[int | None, ...]
    campaign: Integers
    key: Integers
    view: Integers
    laws: dict[int, ViewChannels]
    verdict: Integers
    now: int
    under_way: list[PendingVerdicts]

    @classmethod
    def of(cls, study: Study, chunk: Chunk, sealed: Sealed, now: int) -> _VerdictQueue:
        """Decode: malformed, and unknown campaigns."""
        reports = columns.reports(chunk.octets, sealed.payload, sealed.payload_end)
        listed = study.listed()
        names = tuple(one.id for one in listed)
        closes = tuple(one.closes for one in listed)
        campaign = by_campaign(reports.campaign, names)
        verdict = np.full(len(sealed), _NONE, dtype=np.int64)
        view = np.zeros(len(sealed), dtype=np.int64)
        docket = cls(
            study, chunk.octets, sealed, reports, names, closes, campaign, chunk.keys(sealed), view, {}, verdict, now,
            [],
        )  # fmt: skip
        everyone = np.arange(len(sealed))
        docket.refuse(everyone, ~reports.valid, Reject.MALFORMED)
        docket.refuse(everyone, campaign < 0, Reject.UNKNOWN_CAMPAIGN)
        return docket

    @classmethod
    def asked(cls, study: Study, chunk: Chunk, verifier: Verifier, now: int) -> _VerdictQueue | None:
        """The reports, their signatures on the way to be verified; None where there are no reports."""
        sealed = chunk.of(Kind.REPORT)
        if not len(sealed):
            return None
        docket = cls.of(study, chunk, sealed, now)
        docket.check_keys(verifier)
        return docket

    def undecided(self, campaign: int | None = None) -> Integers:
        """Rows without a verdict, of one campaign or of all."""
        undecided = self.verdict == _NONE
        return np.flatnonzero(undecided if campaign is None else undecided & (self.campaign == campaign))

    def refuse(self, rows: Integers, failed: Mask, reject: Reject) -> None:
        """Give a verdict to those of ``rows`` that ``failed`` marks, unless they have one."""
        failing = rows[failed]
        self.verdict[failing[self.verdict[failing] == _NONE]] = _NUMBER[reject]

    def present(self) -> list[int]:
        """Campaigns of rows without a verdict."""
        present: list[int] = np.unique(self.campaign[self.undecided()]).tolist()
        return present

    def check_keys(self, verifier: Verifier) -> None:
        """Refuse unknown and revoked keys; for the rest, find the views and start verifying the signatures."""
        public: Bytes = np.zeros((len(self.key), PUBLIC_BYTES), dtype=np.uint8)
        for campaign in self.present():
            rows = self.undecided(campaign)
            registry = self.study.registry(self.names[campaign])
            at, found = registry.find(self.key[rows])
            self.refuse(rows, ~found, Reject.UNKNOWN_KEY)
            rows, at = rows[found], at[found]
            revoked = self.reports.period[rows] >= registry.since[at]
            self.refuse(rows, ~revoked & ~registry.enrolled[at], Reject.UNKNOWN_KEY)
            self.refuse(rows, revoked, Reject.REVOKED_KEY)
            public[rows] = np.take(registry.public, at, axis=0)
            self.view[rows] = views_of(self.study.known(self.names[campaign]).campaign, public[rows])
            self.laws[campaign] = ViewChannels.of(self.terms(campaign))
        rows = self.undecided()
        self.under_way.append(verifier.ask(self.sealed.rows(rows), np.take(public, rows, axis=0)))

    def parts(self, most_outputs: int) -> Iterator[Integers]:
        """The rows asked about, of about ``most_outputs`` outputs at a time: bad signatures, and their schedule.

        While one part is unpacked and committed, threads verify the next.
        """
        asked, everyone = self.under_way.pop(), self.undecided()
        upto = np.cumsum(self.reports.count[everyone])
        cuts = np.flatnonzero(np.diff(upto // most_outputs)) + 1
        for start, stop in pairwise([0, *cuts.tolist(), len(everyone)]):
            rows = everyone[start:stop]
            self.refuse(rows, ~asked.verdicts(start, stop), Reject.BAD_SIGNATURE)
            self.check_schedule(rows)
            yield rows[self.verdict[rows] == _NONE]

    def check_schedule(self, everyone: Integers) -> None:
        """Refuse reports that are early, late or over the quota."""
        for campaign in np.unique(self.campaign[everyone]).tolist():
            terms = self.terms(campaign)
            rows = everyone[self.campaign[everyone] == campaign]
            # Devices' clocks may run ahead, so the period before the opening is number -1.
            current = max(-1, (self.now - terms.opens) // terms.period_seconds)
            period = self.reports.period[rows]
            self.refuse(rows, period > current + 1, Reject.EARLY)
            early = self.closes[campaign]
            last = terms.periods if early is None else terms.periods_until(early)
            self.refuse(rows, period >= last, Reject.LATE)
            count = self.reports.count[rows]
            slots = period + 1 if terms.transcript else terms.answers_per_period  # protocol.campaign.Campaign.takes
            over = (count > terms.answers_per_period) | (self.reports.slot[rows] + count > slots)
            self.refuse(rows, over, Reject.OVER_QUOTA)

    def terms(self, campaign: int) -> Campaign:
        """The terms of a campaign by its number."""
        return self.study.known(self.names[campaign]).campaign.terms

    def offered(self, part: Integers) -> tuple[Integers, Candidates]:
        """Refuse bad outputs; return the remaining rows with their outputs."""
        said = list(self._unpacked(part))
        reports = part[self.verdict[part] == _NONE]
        count = self.reports.count[reports]
        begin = np.cumsum(count) - count
        output = np.zeros(count.sum(), dtype=np.int64)
        word = None if all(words is None for _, _, words in said) else np.full(len(output), None, dtype=np.object_)
        for rows, numbers, words in said:
            at = begin[np.searchsorted(reports, rows)][:, np.newaxis] + np.arange(numbers.shape[1])
            output[at] = numbers
            if word is not None and words is not None:
                word[at] = words
        slot = np.arange(len(output)) + np.repeat(self.reports.slot[reports] - begin, count)
        report, campaign = np.repeat(np.arange(len(reports)), count), np.repeat(self.campaign[reports], count)
        period, key = np.repeat(self.reports.period[reports], count), np.repeat(self.key[reports], count)
        view = np.repeat(self.view[reports], count)
        return reports, Candidates(self.names, len(reports), report, campaign, period, key, slot, view, output, word)

    def commit(self, part: Integers, slots: Slots) -> None:
        """Refuse bad outputs and replays; accept and commit the rest."""
        reports, offer = self.offered(part)
        free: Mask = np.zeros(0, dtype=np.bool_)

        def rows_for(table: DeltaTable) -> pa.Table:
            nonlocal free
            free = offer.free(table, slots=slots)
            return offer.rows(free)

        if len(reports):
            append(self.study.path / REPORTS, rows_for)
            self.refuse(reports, ~free, Reject.REPLAYED)
            self.verdict[reports[free]] = _ACCEPTED

    def _unpacked(self, rows: Integers) -> Iterator[tuple[Integers, Integers, Words | None]]:
        """Those of ``rows`` whose outputs are right, their numbers and their words, a shape of reports at a time.

        Refuses the others.
        """
        law = np.zeros(len(rows), dtype=np.int64)
        for campaign, laws in self.laws.items():
            mine = self.campaign[rows] == campaign
            law[mine] = laws.of_view[self.view[rows[mine]]]
        alike = (self.campaign[rows] * MAX_VIEWS + law) * (MAX_ANSWERS_PER_PERIOD + 1) + self.reports.count[rows]
        for shape in np.unique(alike).tolist():
            place, count = divmod(shape, MAX_ANSWERS_PER_PERIOD + 1)
            laws, some = self.laws[place // MAX_VIEWS], rows[alike == shape]
            packed, length = self.reports.packed[some], self.reports.packed_length[some]
            said = unpack(self.data, packed, length, count, laws.channels[place % MAX_VIEWS], laws.width)
            self.refuse(some, ~said.good, Reject.BAD_OUTPUT)
            words = None if said.words is None else said.words[said.good]
            yield some[said.good], said.numbers[said.good], words

    def judged(self) -> ValidationOutcome:
        """Return the number of reports by verdict."""
        result = ValidationOutcome()
        accepted = self.verdict == _ACCEPTED
        for campaign in np.unique(self.campaign[accepted]).tolist():
            rows = accepted & (self.campaign == campaign)
            result.accepted[self.names[campaign]] = int(rows.sum())
            result.outputs[self.names[campaign]] = int(self.reports.count[rows].sum())
        owner = np.where(self.verdict > _NUMBER[Reject.UNKNOWN_CAMPAIGN], self.campaign, -1)
        refused = ~accepted & (self.verdict != _NONE)
        counts = np.bincount(((owner + 1) * len(_CLASSES) + self.verdict)[refused])
        for code in np.flatnonzero(counts).tolist():
            campaign, reject = divmod(code, len(_CLASSES))
            result.rejected[self.names[campaign - 1] if campaign else "", _CLASSES[reject]] += int(counts[code])
        return result
