"""Responses to devices: which envelopes the study accepted, and whether reports were counted.

An acknowledgement has the digest of the upload, and the positions of the envelopes whose campaign the study does not
have. These envelopes are not stored; the device still has them. Only a client that sends the signed report itself
learns whether the report was counted. Without the signature, anybody could query all possible outputs of a key and so
find out its reports.

Verifying a signature takes a tenth of a millisecond. So uploads are only parsed here and verified at ingest. The
reports of a query are verified immediately, so a query has at most ``MAX_QUERY_REPORTS`` reports.

``inbox`` stores uploads, and ``snapshot`` has the counted reports.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggregator.intake import columns
from aggregator.intake.chunk import Chunk, ChunkBuilder
from aggregator.intake.columns import Bytes, Integers, Mask, Reports, campaign_named
from aggregator.intake.framing import TRAILER_BYTES, frames
from aggregator.intake.signatures import EnvelopeOffsets, Verifier
from aggregator.intake.views import Unpacked, ViewChannels, assigned_views, unpack
from aggregator.receive.output_hashes import number_bytes, output_hashes
from aggregator.receive.snapshot import CampaignSnapshot
from protocol.campaign import MAX_ANSWERS_PER_PERIOD
from protocol.channels import Channel
from protocol.envelope import Kind, decode_first
from protocol.errors import EnvelopeError, Truncated
from protocol.report import packed_bytes

MAX_QUERY_REPORTS = 64
"""Maximum number of reports in a query."""


@dataclass(frozen=True)
class Acknowledgement:
    """The acknowledgement of an upload: all envelopes except ``not_accepted`` are on the disk.

    Attributes:
        digest: SHA-256 of the upload in hex; the device compares it with the digest of its upload.
        envelopes: number of envelopes in the upload.
        not_accepted: positions, counted from 0, of the envelopes that were not stored because the study does not have
            their campaign.
    """

    digest: str
    envelopes: int
    not_accepted: tuple[int, ...]

    def as_json(self) -> dict[str, Any]:
        return {"digest": self.digest, "envelopes": self.envelopes, "refused": list(self.not_accepted)}


@dataclass(frozen=True)
class ReceivedUpload:
    """An upload: consecutive reports and enrolments, not verified.

    Attributes:
        body: all bytes.
        ends: the offset just after each envelope.
        named: the id, in hex, of the campaign that each envelope names; "" if the payload names none, which ingest
            counts as malformed.
        reports: number of reports.
    """

    body: bytes
    ends: tuple[int, ...]
    named: tuple[str, ...]
    reports: int

    def divide(self, campaigns: Collection[str]) -> tuple[bytes, Acknowledgement]:
        """Return the bytes that a study with the given campaigns stores, and the acknowledgement.

        Args:
            campaigns: ids in hex.
        """
        foreign = {named for named in self.named if named and named not in campaigns}
        not_accepted = tuple(place for place, named in enumerate(self.named) if named in foreign)
        begins = (0, *self.ends)
        batch = self.body
        if not_accepted:
            spans = zip(begins, self.ends, self.named, strict=False)
            batch = b"".join(self.body[begin:end] for begin, end, named in spans if named not in foreign)
        return batch, Acknowledgement(hashlib.sha256(self.body).hexdigest(), len(self.ends), not_accepted)


def parse_upload(body: bytes) -> ReceivedUpload:
    """Parse an upload of whole reports and enrolments, in linear time; no signature is verified.

    Raises:
        BadData: the upload is empty or contains anything else; the error has the stage at which decoding failed.
    """
    if not body:
        raise Truncated("the upload is empty: send at least one report or enrolment")
    envelopes = frames(body, final=True, strict=True)
    if envelopes.malformed_items:
        decode_first(body, envelopes.rest)
        raise EnvelopeError(
            "the upload contains bytes that are neither a report nor an enrolment: send only whole reports and "
            "enrolments"
        )
    _, payloads, ends, kinds = envelopes.columns.tolist()
    for kind in Kind.CAMPAIGN, Kind.CLOSING:
        if kind in kinds:
            raise EnvelopeError(
                f"the upload contains an envelope of kind {kind.name.lower()}: expected only reports and enrolments"
            )
    named = (campaign_named(body, payload, end - TRAILER_BYTES) for payload, end in zip(payloads, ends, strict=True))
    return ReceivedUpload(body, tuple(ends), tuple(named), kinds.count(Kind.REPORT))


@dataclass(frozen=True)
class CountedQuery:
    """A query whether the reports of a batch were counted; the batch's enrolments are ignored.

    Attributes:
        keys: (n,) the key id that each report names.
        campaigns: (n,) campaign ids in hex; "" for a malformed report.
    """

    chunk: Chunk
    sealed: EnvelopeOffsets
    reports: Reports
    keys: Integers
    campaigns: tuple[str, ...]

    @classmethod
    def of(cls, body: bytes) -> CountedQuery:
        """Return the query about the reports in the bytes of a batch."""
        builder = ChunkBuilder()
        builder.add(body, frames(body, final=True))
        chunk = builder.chunk()
        sealed = chunk.of(Kind.REPORT)
        reports = columns.decode_reports(chunk.octets, sealed.payload, sealed.payload_end)
        named = zip(reports.campaign, reports.valid.tolist(), strict=True)
        campaigns = tuple(ids.tobytes().hex() if valid else "" for ids, valid in named)
        return cls(chunk, sealed, reports, chunk.keys(sealed), campaigns)

    def counted(self, snapshots: Mapping[str, CampaignSnapshot], verifier: Verifier) -> list[bool]:
        """Return, for each report in order, whether the study has counted it.

        A report with an invalid signature gets False. For other reports, False means only that the outputs are not in
        the study: the report may wait in the inbox, may have been refused, or may never have arrived. The response does
        not reveal whether the key is registered in the study.
        """
        verdicts = np.zeros(len(self.sealed), dtype=np.bool_)
        for campaign in set(self.campaigns) & snapshots.keys():
            mine = np.array([named == campaign for named in self.campaigns])
            self._in_campaign(snapshots[campaign], np.flatnonzero(mine), verifier, verdicts)
        return [bool(verdict) for verdict in verdicts]

    def _in_campaign(self, snapshot: CampaignSnapshot, rows: Integers, verifier: Verifier, verdicts: Mask) -> None:
        positions, known = snapshot.registry.find(self.keys[rows])
        rows, publics = rows[known], snapshot.registry.public[positions[known]]
        valid = verifier.verify(self.sealed.rows(rows), publics)
        rows = rows[valid]
        channels, view = ViewChannels.of(snapshot.signed.campaign), assigned_views(snapshot.signed, publics[valid])
        alike = channels.of_view[view] * (MAX_ANSWERS_PER_PERIOD + 1) + self.reports.count[rows]
        for shape in np.unique(alike).tolist():
            place, count = divmod(shape, MAX_ANSWERS_PER_PERIOD + 1)
            some = rows[alike == shape]
            packed, length = self.reports.packed[some], self.reports.packed_length[some]
            unpacked = unpack(self.chunk.octets, packed, length, count, channels.channels[place], channels.width)
            period, key = (np.repeat(column[some], count) for column in (self.reports.period, self.keys))
            slot = (self.reports.slot[some][:, np.newaxis] + np.arange(count)).ravel()
            hashes = output_hashes(
                snapshot.counted.secret, period, key, slot, _octets(unpacked, channels.channels[place])
            )
            verdicts[some] = unpacked.good & snapshot.counted.holds(hashes).reshape(-1, count).all(axis=1)


def _octets(unpacked: Unpacked, channel: Channel) -> Bytes:
    """Return the bytes of outputs for ``output_hashes``, (n, w); zeros for bad outputs."""
    if unpacked.words is None:
        return number_bytes(unpacked.outputs.ravel())
    length = packed_bytes(1, channel.output_bits)
    words = b"".join(bytes(length) if word is None else word for word in unpacked.words.ravel())
    return np.frombuffer(words, dtype=np.uint8).reshape(-1, length)
