"""A chunk's reports through the checks, a column at a time, and those that pass into the study.

One idea: every report has one verdict, and a check only gives verdicts to reports that have none yet; so the first
failing check wins, in the order in which the code reads. All checks but the last look at nothing that was counted, so
they may be done anywhere; whether a slot is free is asked where it is filled.

The classes: rejects. Which slots are free: deduplicate.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from aggregator.intake import columns
from aggregator.intake.chunk import Chunk, by_campaign
from aggregator.intake.columns import Bytes, Integers, Mask, Reports, Words
from aggregator.intake.deduplicate import Offer
from aggregator.intake.rejects import Reject
from aggregator.intake.signatures import Asked, Sealed, Verifier
from aggregator.intake.slots import Slots
from aggregator.intake.tables import REPORTS, append
from protocol.campaign import MAX_ANSWERS_PER_PERIOD, Campaign
from protocol.envelope import Kind
from protocol.keys import PUBLIC_BYTES

if TYPE_CHECKING:
    from aggregator.study import Study

_CLASSES = tuple(Reject)
_NUMBER = {reject: number for number, reject in enumerate(_CLASSES)}
_NONE, _ACCEPTED = -1, len(_CLASSES)
"""A verdict is an index into ``_CLASSES``, or one of these."""


@dataclass
class Judged:
    """What became of reports, and of what should not be among them.

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
class Hearing:
    """A chunk whose signatures are being verified."""

    chunk: Chunk
    docket: _Docket | None

    def finish(self, slots: Slots, most_outputs: int) -> Judged:
        """Commit the reports that pass.

        Args:
            slots: those that the study has filled.
            most_outputs: that one commit carries, give or take a report's.
        Raises:
            StudyError
        """
        if self.docket is not None:
            self.docket.hear()
            self.docket.commit(slots, most_outputs)
        return _judged(self.docket, self.chunk)


def begin(study: Study, chunk: Chunk, verifier: Verifier, now: int) -> Hearing:
    """Begin to check the reports of a chunk; meanwhile others can be committed.

    Args:
        now: UTC seconds.
    Raises:
        StudyError
    """
    return Hearing(chunk, _Docket.asked(study, chunk, verifier, now))


def examine(study: Study, chunk: Chunk, verifier: Verifier, now: int, most_outputs: int) -> tuple[Judged, list[Offer]]:
    """Check the reports of a chunk, and hand out those that pass; nothing is committed.

    Args:
        now: UTC seconds.
        most_outputs: in one offer, give or take a report's.
    Returns:
        What was refused, and the rest in order.
    Raises:
        StudyError
    """
    docket = _Docket.asked(study, chunk, verifier, now)
    offers: list[Offer] = []
    if docket is not None:
        docket.hear()
        offers = [docket.offered(part)[1] for part in docket.parts(most_outputs)]
    return _judged(docket, chunk), offers


def _judged(docket: _Docket | None, chunk: Chunk) -> Judged:
    judged = Judged() if docket is None else docket.judged()
    strays = chunk.garbage + len(chunk.of(Kind.CAMPAIGN))
    judged.rejected["", Reject.MALFORMED] += strays
    judged.read = strays + len(chunk.of(Kind.REPORT))
    return judged


@dataclass(frozen=True)
class _Docket:
    """The reports of a chunk, one row each, and their verdicts.

    Attributes:
        names: ids of the study's campaigns, in hex.
        campaign: (n,) index into ``names``, -1 for none.
        key: (n,) key ids.
        verdict: (n,) the only column that changes.
        now: UTC seconds.
        under_way: the signatures of those without a verdict, until they are known.
    """

    study: Study
    data: Bytes
    sealed: Sealed
    reports: Reports
    names: tuple[str, ...]
    campaign: Integers
    key: Integers
    verdict: Integers
    now: int
    under_way: list[Asked]

    @classmethod
    def of(cls, study: Study, chunk: Chunk, sealed: Sealed, now: int) -> _Docket:
        """Decode: malformed, and unknown campaigns."""
        reports = columns.reports(chunk.octets, sealed.payload, sealed.payload_end)
        names = study.ids()
        campaign = by_campaign(reports.campaign, names)
        verdict = np.full(len(sealed), _NONE, dtype=np.int64)
        docket = cls(study, chunk.octets, sealed, reports, names, campaign, chunk.keys(sealed), verdict, now, [])
        everyone = np.arange(len(sealed))
        docket.refuse(everyone, ~reports.valid, Reject.MALFORMED)
        docket.refuse(everyone, campaign < 0, Reject.UNKNOWN_CAMPAIGN)
        return docket

    @classmethod
    def asked(cls, study: Study, chunk: Chunk, verifier: Verifier, now: int) -> _Docket | None:
        """The reports, their signatures on the way to be verified; None where there are no reports."""
        sealed = chunk.of(Kind.REPORT)
        if not len(sealed):
            return None
        docket = cls.of(study, chunk, sealed, now)
        docket.check_keys(verifier)
        return docket

    def hear(self) -> None:
        """All other checks but those of outputs."""
        self.check_signatures()
        self.check_schedule()

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
        """Unknown keys, revoked keys; who is left is asked about."""
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
            public[rows] = registry.public[at]
        rows = self.undecided()
        self.under_way.append(verifier.ask(self.sealed.rows(rows), public[rows]))

    def check_signatures(self) -> None:
        """Bad signatures."""
        self.refuse(self.undecided(), ~self.under_way.pop().verdicts(), Reject.BAD_SIGNATURE)

    def check_schedule(self) -> None:
        """Early, late, over quota."""
        for campaign in self.present():
            terms = self.terms(campaign)
            rows = self.undecided(campaign)
            # Devices' clocks may run ahead; before the opening is the period before the first.
            current = max(-1, (self.now - terms.opens) // terms.period_seconds)
            period = self.reports.period[rows]
            self.refuse(rows, period > current + 1, Reject.EARLY)
            self.refuse(rows, period >= terms.periods, Reject.LATE)
            count = self.reports.count[rows]
            slots = period + 1 if terms.transcript else terms.answers_per_period  # protocol.campaign.Campaign.takes
            over = (count > terms.answers_per_period) | (self.reports.slot[rows] + count > slots)
            self.refuse(rows, over, Reject.OVER_QUOTA)

    def terms(self, campaign: int) -> Campaign:
        """The terms of a campaign by its number."""
        return self.study.known(self.names[campaign]).campaign.terms

    def parts(self, most_outputs: int) -> list[Integers]:
        """Rows without a verdict, about ``most_outputs`` outputs at a time."""
        rows = self.undecided()
        upto = np.cumsum(self.reports.count[rows])
        return np.split(rows, np.flatnonzero(np.diff(upto // most_outputs)) + 1)

    def offered(self, part: Integers) -> tuple[Integers, Offer]:
        """Bad outputs; the rest of the rows, and what they say."""
        row, slot, output, word = self._unpacked(part)
        begins = np.diff(row, prepend=-1) != 0
        reports, report = row[begins], np.cumsum(begins) - 1
        where = self.campaign[row], self.reports.period[row], self.key[row], slot
        return reports, Offer(self.names, len(reports), report, *where, output, word)

    def commit(self, slots: Slots, most_outputs: int) -> None:
        """Bad outputs and replays; what is left is accepted."""
        for part in self.parts(most_outputs):
            self._commit(*self.offered(part), slots)

    def _commit(self, reports: Integers, offer: Offer, slots: Slots) -> None:
        free: Mask = np.zeros(0, dtype=np.bool_)

        def rows_for(table: DeltaTable) -> pa.Table:
            nonlocal free
            free = offer.free(table, slots=slots)
            return offer.rows(free)

        if len(reports):
            append(self.study.path / REPORTS, rows_for)
            self.refuse(reports, ~free, Reject.REPLAYED)
            self.verdict[reports[free]] = _ACCEPTED

    def _unpacked(self, rows: Integers) -> tuple[Integers, Integers, Integers, Words | None]:
        """Row, slot, number and word of every output of the reports in ``rows``; refuses reports with bad outputs."""
        alike = self.campaign[rows] * (MAX_ANSWERS_PER_PERIOD + 1) + self.reports.count[rows]
        parts = [(rows[:0], rows[:0], rows[:0])]
        said: list[Words | int] = []  # words, or how many outputs have none: most studies hold no words at all
        for shape in np.unique(alike).tolist():
            campaign, count = divmod(shape, MAX_ANSWERS_PER_PERIOD + 1)
            some = rows[alike == shape]
            channel = self.terms(campaign).channel
            packed = self.data, self.reports.packed[some], self.reports.packed_length[some], count, channel.output_bits
            if channel.unary:
                words, good = columns.words(*packed, channel.ones)
                values = np.zeros(words.shape, dtype=np.int64)
                said.append(words[good].reshape(-1))
            else:
                values, good = columns.outputs(*packed, channel.outputs)
                said.append(int(good.sum()) * count)
            self.refuse(some, ~good, Reject.BAD_OUTPUT)
            slots = self.reports.slot[some[good]][:, np.newaxis] + np.arange(count)
            each = np.repeat(some[good], count)
            parts.append((each, slots.reshape(-1), values[good].reshape(-1)))
        row, slot, output = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(row, kind="stable")
        word = None
        if not all(isinstance(one, int) for one in said):
            some_words = [np.empty(one, dtype=np.object_) if isinstance(one, int) else one for one in said]
            word = np.concatenate(some_words)[order]
        return row[order], slot[order], output[order], word

    def judged(self) -> Judged:
        """The verdicts that there are, counted."""
        result = Judged()
        accepted = self.verdict == _ACCEPTED
        for campaign in np.unique(self.campaign[accepted]).tolist():
            rows = accepted & (self.campaign == campaign)
            result.accepted[self.names[campaign]] = int(rows.sum())
            result.outputs[self.names[campaign]] = int(self.reports.count[rows].sum())
        owner = np.where(self.verdict > _NUMBER[Reject.UNKNOWN_CAMPAIGN], self.campaign, -1)
        refused = ~accepted & (self.verdict != _NONE)
        pairs, counts = np.unique(np.stack([owner, self.verdict])[:, refused], axis=1, return_counts=True)
        for (campaign, reject), count in zip(pairs.T.tolist(), counts.tolist(), strict=True):
            result.rejected[self.names[campaign] if campaign >= 0 else "", _CLASSES[reject]] += count
        return result
