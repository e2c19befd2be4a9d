"""The fuzzing targets for hostile bytes.

A target takes any bytes and returns, or raises ``AssertionError`` if its check fails; any other exception is a defect
too. The seeded mutations of test_targets and the coverage-guided fuzzer of ``make fuzz`` use the same targets.

Whole batches through a study: tests.aggregator.test_intake_ingest.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgpack
import numpy as np

from aggregator.intake import columns
from aggregator.intake.framing import frames
from protocol import codec, envelope
from protocol.campaign import decode_campaign, encode_campaign, open_campaign, unverified_campaign
from protocol.closing import Closing
from protocol.envelope import Envelope, Kind
from protocol.errors import BadData, CodecError
from protocol.keys import key_id
from protocol.report import Enrolment, Report

VECTORS = Path(__file__).parents[1] / "vectors"
TRAILER = bytes(66)
"""Zeros in place of the bytes that follow a payload in its envelope: the head of the signature and the signature."""


def codec_target(data: bytes) -> None:
    """Check that bytes are refused, or re-encode to themselves and decode to the value that msgpack gives."""
    try:
        value = codec.decode(data, limit=2**20)
    except CodecError:
        return
    assert codec.encode(value) == data
    assert msgpack.unpackb(data, raw=False, strict_map_key=False) == value


def batch_target(data: bytes) -> None:
    """Check that the reader of batches, the scanner of streams, and the scanner of two buffers find the same
    envelopes."""
    slow: list[bytes] = []
    malformed_items = 0
    for item in envelope.read_batch(data):
        if isinstance(item, Envelope):
            slow.append(item.encode())
        else:
            malformed_items += 1
    whole = frames(data, final=True)
    assert [data[begin:end] for begin, end in whole.columns[[0, 2]].T.tolist()] == slow
    assert (whole.malformed_items, whole.rest) == (malformed_items, len(data))
    cut = len(data) // 2
    first = frames(data[:cut], final=False)
    second = frames(data[first.rest :], final=True, inside_malformed=first.inside_malformed)
    assert [*first.columns[0], *(first.rest + second.columns[0])] == whole.columns[0].tolist()
    assert first.malformed_items + second.malformed_items == malformed_items


def report_target(payload: bytes) -> None:
    """Check that the decoder of one report and the decoder of columns of reports agree on any payload."""
    found = columns.decode_reports(np.frombuffer(payload + TRAILER, dtype=np.uint8), *_whole(payload))
    try:
        report = Report.decode(payload)
    except BadData:
        assert not found.valid[0]
        return
    assert found.valid[0]
    assert report.encode() == payload
    at = int(found.packed[0])
    fields = (found.period[0], found.slot[0], found.count[0], payload[at : at + int(found.packed_length[0])])
    assert fields == (report.period, report.slot, report.count, report.packed)
    assert tuple(found.campaign[0]) == columns.id_integers(report.campaign_id)


def enrolment_target(payload: bytes) -> None:
    """Check that the decoder of one enrolment and the decoder of columns of enrolments agree on any payload, under its
    own key's id."""
    named = key_id(payload[21:53])
    found = columns.decode_enrolments(
        np.frombuffer(payload + TRAILER, dtype=np.uint8), np.frombuffer(named, dtype=np.uint8)[None], *_whole(payload)
    )
    try:
        one = Enrolment.decode(payload)
    except BadData:
        assert not found.valid[0]
        return
    assert found.valid[0]
    assert one.encode() == payload
    assert tuple(found.campaign[0]) == columns.id_integers(one.campaign_id)
    assert found.public[0].tobytes() == one.public
    assert (found.prior[0] is None) == (one.prior is None)


def _whole(payload: bytes) -> tuple[columns.Integers, columns.Integers]:
    """Return the offsets of a payload that fills the bytes."""
    return np.array([0], dtype=np.int64), np.array([len(payload)], dtype=np.int64)


def closing_target(data: bytes) -> None:
    """Check that a payload is a closing notice that encodes to itself, or raises BadData."""
    try:
        closing = Closing.decode(data)
    except BadData:
        return
    assert closing.encode() == data
    assert closing.closes >= 0


def campaign_target(payload: bytes) -> None:
    """Check that a payload is a campaign that satisfies its level and encodes to the same bytes, or raises BadData."""
    try:
        campaign = decode_campaign(payload)
    except BadData:
        return
    assert encode_campaign(campaign) == payload
    assert campaign.certificate.audited_level <= campaign.notion.level


def signed_campaign_target(data: bytes) -> None:
    """Check that opening a file as a campaign, with keys that did not sign it or unverified, raises only BadData."""
    for read in (lambda: open_campaign(data, [bytes(32), b"\1" * 32]), lambda: unverified_campaign(data)):
        try:
            read()
        except BadData:
            continue


def edited_campaign_target(script: bytes) -> None:
    """Check a campaign whose fields were exchanged, dropped, doubled or replaced, as ``campaign_target`` does.

    The bytes are a script: the campaign, and for each edit four bytes: the nested list, the position, the value and the
    kind of edit.
    """
    if not script:
        return
    seeds = seeds_of("campaign")
    value = codec.decode(seeds[script[0] % len(seeds)], limit=2**20)
    for at in range(1, len(script) - 3, 4):
        _edit(value, *script[at : at + 4])
    try:
        payload = codec.encode(value)
    except ValueError:
        return
    campaign_target(payload)


EDGES: tuple[codec.Value, ...] = (
    0, 1, 2, 3, 255, 2**16, 2**20, 2**32 - 1, 2**62, 2**63, 2**64 - 1, -1, -(2**63), "", "a", "x" * 201, b"", bytes(32),
    [], [[]], [1, 2], [0] * 300, "ldp", "lip", "hadamard", "table", "values", "grid",
)  # fmt: skip


def _edit(value: codec.Value, down: int, where: int, what: int, how: int) -> None:
    """Apply one edit to a nested list."""
    while isinstance(value, list) and value:
        at = where % len(value)
        if down % 4 and isinstance(value[at], list):
            value, down, where = value[at], down // 4, where * 7 + what
            continue
        here = value[at]
        match how % 6:
            case 0:
                value[at] = EDGES[what % len(EDGES)]
            case 1 if isinstance(here, int):
                value[at] = here + what - 128
            case 2:
                value.insert(at, here)
            case 3:
                del value[at]
            case 4:
                value[at], value[what % len(value)] = value[what % len(value)], here
            case _ if isinstance(here, int):
                value[at] = here ^ 1 << what % 64
        return


TARGETS: dict[str, Callable[[bytes], None]] = {
    "codec": codec_target,
    "batch": batch_target,
    "report": report_target,
    "enrolment": enrolment_target,
    "closing": closing_target,
    "campaign": campaign_target,
    "signed-campaign": signed_campaign_target,
    "edited-campaign": edited_campaign_target,
}


@cache
def seeds_of(target: str) -> list[bytes]:
    """Return the seeds of a target: the bytes of valid and invalid vectors."""
    match target:
        case "codec":
            return _vectors("codec", "bytes") + seeds_of("report")[:10] + seeds_of("campaign")[:10]
        case "batch":
            return [one for one in _vectors("batch", "batch") + _vectors("envelope", "envelope") if one]
        case "signed-campaign":
            return _vectors("campaign", "campaign")
        case "edited-campaign":
            return [bytes([place]) for place in range(len(seeds_of("campaign")))]
        case "campaign":
            files = [case["campaign"] for case in _cases("campaign") if "stage" not in case]
            return [envelope.decode(bytes.fromhex(file)).unverified for file in files]
        case _:
            kind = Kind[target.upper()]
            opened = [item for data in _vectors(target, target) for item in envelope.read_batch(data)]
            return [item.unverified for item in opened if isinstance(item, Envelope) and item.kind is kind]


def _cases(name: str) -> list[dict[str, str]]:
    cases: list[dict[str, str]] = json.loads((VECTORS / f"{name}.json").read_text())["cases"]
    return cases


def _vectors(name: str, field: str) -> list[bytes]:
    return [bytes.fromhex(case[field]) for case in _cases(name) if isinstance(case.get(field), str)]
