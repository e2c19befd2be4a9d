"""What a device is told: that its upload has arrived, and whether its reports were counted.

One idea: a device is told only what the bytes it sends already say. Its receipt is a digest of them; whether a report
was counted is answered to whoever shows the signed report itself, outputs and all, and to nobody else. Were slots
looked up without the signature, anybody could try all outputs of somebody's key and read the study.

What verification costs: one signature is a hundred microseconds, so uploads are looked over here and verified at
ingest; a question is verified at once, because it reads the study. How uploads are kept: inbox.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggregator.intake import tables
from aggregator.intake.framing import frames
from aggregator.intake.tables import REPORTS
from aggregator.study import Study
from protocol.envelope import Envelope, Kind, decode_first, read_batch
from protocol.errors import BadData, EnvelopeError
from protocol.report import Report, pack


@dataclass(frozen=True)
class Receipt:
    """That an upload is on the disk.

    Attributes:
        received: its bytes.
        digest: its SHA-256, in hex; the device compares it with what it sent.
        reports: envelopes in it that are reports, whatever becomes of them at ingest.
    """

    received: int
    digest: str
    reports: int

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form."""
        return {"received": self.received, "digest": self.digest, "reports": self.reports}


def look_over(body: bytes) -> Receipt:
    """The receipt of an upload that is whole reports and enrolments, one after another, and nothing else.

    No signature is verified, in time linear in the bytes.

    Raises:
        BadData: at the stage at which the first other bytes fail.
    """
    found = frames(body, final=True)
    at = 0
    for begin, end in zip(found.begin, found.end, strict=True):
        if begin != at:
            break
        at = end
    if at != len(body) or not body:
        decode_first(body, at)
        raise EnvelopeError("not an envelope")
    if Kind.CAMPAIGN in found.kind:
        raise EnvelopeError("an upload carries reports and enrolments, not campaigns")
    return Receipt(len(body), hashlib.sha256(body).hexdigest(), found.kind.count(Kind.REPORT))


@dataclass(frozen=True)
class _Said:
    """A verified report, as rows of the ``reports`` table would say it: (period, key, slot) -> output or word."""

    campaign: str
    rows: dict[tuple[int, int, int], int | bytes]


def counted(study: Study, body: bytes) -> list[bool]:
    """Whether the study has counted each report of a batch, in their order; enrolments are passed over.

    False says no more than that its outputs are not in the study: it may wait in the inbox, be refused, or never have
    come; whether the study knows the key is not told.

    Raises:
        StudyError: the study cannot be read.
    """
    said = list(_said(study, body))
    wanted: defaultdict[str, set[tuple[int, int, int]]] = defaultdict(set)
    for one in said:
        if one is not None:
            wanted[one.campaign].update(one.rows)
    there = {campaign: _rows(study, campaign, places) for campaign, places in wanted.items()}
    return [one is not None and one.rows.items() <= there[one.campaign].items() for one in said]


def _said(study: Study, body: bytes) -> Iterator[_Said | None]:
    """What each report of a batch says, None where nobody registered has said it."""
    campaigns = frozenset(study.ids())
    for sealed in read_batch(body):
        if isinstance(sealed, Envelope) and sealed.kind is Kind.REPORT:
            try:
                yield _opened(study, campaigns, sealed)
            except BadData:
                yield None


def _opened(study: Study, campaigns: frozenset[str], sealed: Envelope) -> _Said | None:
    """What a report says.

    Raises:
        BadData: the signature does not verify, or the report does not fit its campaign.
    """
    report = Report.decode(sealed.unverified)
    campaign = report.campaign_id.hex()
    if campaign not in campaigns:
        return None
    key = int.from_bytes(sealed.key_id, "big", signed=True)
    registry = study.registry(campaign)
    [at], [found] = registry.find(np.array([key], dtype=np.int64))
    if not found:
        return None
    sealed.open(registry.public[at].tobytes())
    terms = study.known(campaign).campaign.terms
    if report.period >= terms.periods:
        return None
    bits = terms.channel.output_bits
    outputs: list[int | bytes] = list(report.outputs(terms))
    if terms.channel.unary:
        outputs = [pack([word], bits) for word in report.outputs(terms)]
    return _Said(campaign, {(report.period, key, report.slot + n): output for n, output in enumerate(outputs)})


def _rows(study: Study, campaign: str, places: set[tuple[int, int, int]]) -> dict[tuple[int, int, int], int | bytes]:
    """What the study counted of some keys in some periods."""
    periods, keys = ({place[column] for place in places} for column in (0, 1))
    # The campaign is one of the study's and the others are integers, so nothing from outside gets into the query.
    rows = tables.query(
        tables.snapshot(study.path / REPORTS),
        f"SELECT period, key, slot, output, word FROM rows WHERE campaign = '{campaign}' "  # noqa: S608
        f"AND period IN ({', '.join(map(str, periods))}) AND key IN ({', '.join(map(str, keys))})",
    )
    columns = (rows[name].to_pylist() for name in ("period", "key", "slot", "output", "word"))
    return {
        (period, key, slot): output if word is None else word
        for period, key, slot, output, word in zip(*columns, strict=True)
    }
