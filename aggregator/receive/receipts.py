"""Responses to devices: which envelopes the study accepted, and whether reports were counted.

A receipt has the digest of the upload and the positions of the envelopes that name a campaign the study does not have.
Those are not kept, and the device still has them. Whether a report was counted is answered only to a client that sends
the signed report itself. If slots were looked up without the signature, anybody could try all outputs of a key and so
read its reports.

What verification costs: one signature is a hundred microseconds, so uploads are looked over here and verified at
ingest; a question is verified at once, so it is about ``MOST_ASKED`` reports at most. How uploads are kept: inbox. What
the study has counted: view.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggregator.intake import columns
from aggregator.intake.chunk import Chunk, Gathering
from aggregator.intake.columns import Bytes, Integers, Mask, Reports, campaign_named
from aggregator.intake.framing import TRAILER, frames
from aggregator.intake.signatures import Sealed, Verifier
from aggregator.intake.views import Unpacked, ViewChannels, unpack, views_of
from aggregator.receive.fingerprints import fingerprints, numbers
from aggregator.receive.view import Answers
from protocol.campaign import MAX_ANSWERS_PER_PERIOD
from protocol.channels import Channel
from protocol.envelope import Kind, decode_first
from protocol.errors import EnvelopeError
from protocol.report import packed_bytes

MOST_ASKED = 64
"""Reports that one question is about, at most."""


@dataclass(frozen=True)
class UploadReceipt:
    """The receipt of an upload: everything except the refused envelopes is on the disk.

    Attributes:
        digest: the upload's SHA-256, in hex; the device compares it with what it sent.
        envelopes: how many there were in it.
        refused: positions of the envelopes that were not kept because the study does not have their campaign,
            counted from 0, in order.
    """

    digest: str
    envelopes: int
    refused: tuple[int, ...]

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form."""
        return {"digest": self.digest, "envelopes": self.envelopes, "refused": list(self.refused)}


@dataclass(frozen=True)
class ReceivedUpload:
    """Reports and enrolments, one after another; nothing in them is verified.

    Attributes:
        body: all of their bytes.
        ends: offset just after each envelope.
        named: the campaign that each envelope names, in hex; "" where the payload names none, which ingest counts as
            malformed.
        reports: how many of them are reports.
    """

    body: bytes
    ends: tuple[int, ...]
    named: tuple[str, ...]
    reports: int

    def divide(self, campaigns: Collection[str]) -> tuple[bytes, UploadReceipt]:
        """The bytes that a study of these campaigns keeps, and the receipt that says so.

        Args:
            campaigns: ids in hex.
        """
        foreign = {named for named in self.named if named and named not in campaigns}
        refused = tuple(place for place, named in enumerate(self.named) if named in foreign)
        begins = (0, *self.ends)
        kept = self.body
        if refused:
            spans = zip(begins, self.ends, self.named, strict=False)
            kept = b"".join(self.body[begin:end] for begin, end, named in spans if named not in foreign)
        return kept, UploadReceipt(hashlib.sha256(self.body).hexdigest(), len(self.ends), refused)


def look_over(body: bytes) -> ReceivedUpload:
    """An upload that is whole reports and enrolments, one after another, and nothing else.

    No signature is verified, in time linear in the bytes.

    Raises:
        BadData: at the stage at which the first other bytes fail.
    """
    found = frames(body, final=True, whole=True)
    if found.garbage or not body:
        decode_first(body, found.rest)
        raise EnvelopeError("not an envelope")
    if Kind.CAMPAIGN in found.kind or Kind.CLOSING in found.kind:
        raise EnvelopeError("an upload carries reports and enrolments, not campaigns and notices about them")
    payloads = zip(found.payload, found.end, strict=True)
    named = (campaign_named(body, payload, end - TRAILER) for payload, end in payloads)
    return ReceivedUpload(body, tuple(found.end), tuple(named), found.kind.count(Kind.REPORT))


@dataclass(frozen=True)
class CountedQuery:
    """The reports of a batch, of which a device asks whether they were counted; enrolments are passed over.

    Attributes:
        keys: (n,) the key that each names.
        campaigns: (n,) ids in hex; "" of what is no report.
    """

    chunk: Chunk
    sealed: Sealed
    reports: Reports
    keys: Integers
    campaigns: tuple[str, ...]

    @classmethod
    def of(cls, body: bytes) -> CountedQuery:
        """Return the query of a batch."""
        gathering = Gathering()
        gathering.add(body, frames(body, final=True))
        chunk = gathering.done()
        sealed = chunk.of(Kind.REPORT)
        reports = columns.reports(chunk.octets, sealed.payload, sealed.payload_end)
        named = zip(reports.campaign, reports.valid.tolist(), strict=True)
        campaigns = tuple(ids.tobytes().hex() if valid else "" for ids, valid in named)
        return cls(chunk, sealed, reports, chunk.keys(sealed), campaigns)

    def counted(self, known: Mapping[str, Answers], verifier: Verifier) -> list[bool]:
        """Whether the study has counted each report, in their order.

        False says no more than that its outputs are not in the study: it may wait in the inbox, be refused, or never
        have come; whether the study knows the key is not told.
        """
        verdicts = np.zeros(len(self.sealed), dtype=np.bool_)
        for campaign in set(self.campaigns) & known.keys():
            mine = np.array([one == campaign for one in self.campaigns])
            self._in_campaign(known[campaign], np.flatnonzero(mine), verifier, verdicts)
        return [bool(verdict) for verdict in verdicts]

    def _in_campaign(self, known: Answers, rows: Integers, verifier: Verifier, verdicts: Mask) -> None:
        at, found = known.registry.find(self.keys[rows])
        rows, publics = rows[found], known.registry.public[at[found]]
        # An invalid signature gets no information: else anybody could try all outputs of a key.
        kept = verifier.verify(self.sealed.rows(rows), publics)
        rows = rows[kept]
        laws, view = ViewChannels.of(known.campaign.terms), views_of(known.campaign, publics[kept])
        alike = laws.of_view[view] * (MAX_ANSWERS_PER_PERIOD + 1) + self.reports.count[rows]
        for shape in np.unique(alike).tolist():
            place, count = divmod(shape, MAX_ANSWERS_PER_PERIOD + 1)
            some = rows[alike == shape]
            packed, length = self.reports.packed[some], self.reports.packed_length[some]
            said = unpack(self.chunk.octets, packed, length, count, laws.channels[place], laws.width)
            period, key = (np.repeat(column[some], count) for column in (self.reports.period, self.keys))
            slot = (self.reports.slot[some][:, np.newaxis] + np.arange(count)).ravel()
            prints = fingerprints(known.counted.secret, period, key, slot, _octets(said, laws.channels[place]))
            verdicts[some] = said.good & known.counted.holds(prints).reshape(-1, count).all(axis=1)


def _octets(said: Unpacked, channel: Channel) -> Bytes:
    """(n, w) what outputs say, one after another, as ``fingerprints`` takes them; zeros where they are not right."""
    if said.words is None:
        return numbers(said.numbers.ravel())
    length = packed_bytes(1, channel.output_bits)
    words = b"".join(bytes(length) if word is None else word for word in said.words.ravel())
    return np.frombuffer(words, dtype=np.uint8).reshape(-1, length)
