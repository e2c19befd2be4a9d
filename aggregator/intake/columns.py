"""Decode report and enrolment payloads, one column at a time.

Canonical msgpack has one form for each value, so the first byte of a field gives its width. This allows whole columns
to be read with a few gather operations, for any mix of campaigns, periods and lengths. The results equal those of
``protocol.report.Report.decode`` and ``Report.outputs``; a payload that either of them refuses is refused here.

``validate`` checks the campaign's schedule and quota.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from protocol.campaign import CAMPAIGN_ID_BYTES, MAX_ANSWERS_PER_PERIOD
from protocol.errors import BadData
from protocol.keys import KEY_ID_BYTES, PUBLIC_BYTES
from protocol.report import MAX_PERIOD, MAX_SLOT, Enrolment, packed_bytes

Bytes: TypeAlias = NDArray[np.uint8]
Integers: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
ByteStrings: TypeAlias = NDArray[np.object_]
"""Each element is bytes or None."""

_ID_AT = 3
"""Offset of the campaign id in a payload, after the array's and the byte string's head."""
_ID_END = _ID_AT + CAMPAIGN_ID_BYTES
_SHORTEST_REPORT = _ID_AT + CAMPAIGN_ID_BYTES + 3 + 2
_ENROLMENT_BYTES = _ID_AT + CAMPAIGN_ID_BYTES + 2 + PUBLIC_BYTES
_PLAIN, _DECLARING = 0x92, 0x93
"""First byte of an enrolment with two fields, and of one with a third field, the declared prior."""
_ID_HEADS = frozenset(bytes([array, 0xC4, CAMPAIGN_ID_BYTES]) for array in (0x95, _PLAIN, _DECLARING))
"""All possible first three bytes of a payload that has a campaign id; the id follows them."""
_WORD = 8
"""Number of bytes that are read for one output that is a number."""
_MAX_BITS = 57
"""Maximum bits of an output that fits in eight bytes, whichever bit of the first byte it begins at."""
_UNPACKED_AT_ONCE = 2**21
"""Maximum number of bits that are unpacked at once; while they are converted, each takes up to nine bytes of memory."""


@dataclass(frozen=True)
class Reports:
    """The fields of report payloads, one row for each report.

    Attributes:
        valid: whether the payload is a report; in rows where this is false, the other columns have no meaning.
        campaign: (n, 2) the two halves of the campaign id.
        period, slot, count: as in ``protocol.report.Report``.
        packed: offset of the packed outputs.
        packed_length: number of bytes of the packed outputs.
    """

    valid: Mask
    campaign: Integers
    period: Integers
    slot: Integers
    count: Integers
    packed: Integers
    packed_length: Integers


def campaign_named(data: bytes, start: int, end: int) -> str:
    """Return the id in hex of the campaign that a payload names, or "" if it names no campaign.

    Args:
        start, end: offsets of the payload. Bytes after the id are not read.
    """
    names = end - start >= _ID_END and data[start : start + _ID_AT] in _ID_HEADS
    return data[start + _ID_AT : start + _ID_END].hex() if names else ""


@dataclass(frozen=True)
class Enrolments:
    """The fields of enrolment payloads, one row for each enrolment.

    Attributes:
        valid: whether the payload is an enrolment of the key id that its envelope names.
        campaign: (n, 2) the two halves of the campaign id.
        public: (n, 32) public keys.
        prior: (n,) encoded declared priors; None for an enrolment that declares no prior.
    """

    valid: Mask
    campaign: Integers
    public: Bytes
    prior: ByteStrings


def octets(data: Bytes, offset: Integers, length: int) -> Bytes:
    """Return the ``length`` bytes that begin at each offset, (n, length)."""
    if not len(offset) or not length:
        return np.zeros((len(offset), length), dtype=np.uint8)
    return np.ascontiguousarray(sliding_window_view(data, length)[offset])


def key_column(key_ids: Bytes) -> Integers:
    """Return key ids of (n, 8) bytes as (n,) big-endian signed integers, the form in tables and registries."""
    return key_ids.view(">i8").astype(np.int64).reshape(-1)


def id_integers(campaign_id: bytes) -> tuple[int, int]:
    """Return a campaign id as the two integers of ``Reports.campaign``."""
    first, second = np.frombuffer(campaign_id, dtype="<i8").tolist()
    return first, second


def decode_reports(data: Bytes, payload: Integers, end: Integers) -> Reports:
    """Decode the report payloads ``data[payload[i]:end[i]]``.

    Every payload is followed by at least the bytes of a signature. Therefore reading the fields of a payload that is
    too short stays within ``data``; its row is invalid because of its length.
    """
    valid = end - payload >= _SHORTEST_REPORT
    start = np.where(valid, payload, 0)
    head = octets(data, start, _ID_AT)
    valid &= (head == (0x95, 0xC4, CAMPAIGN_ID_BYTES)).all(axis=1)
    campaign = octets(data, start + _ID_AT, CAMPAIGN_ID_BYTES).view("<i8")
    offset = start + _ID_AT + CAMPAIGN_ID_BYTES
    period, offset = _integers(data, offset, valid, MAX_PERIOD)
    slot, offset = _integers(data, offset, valid, MAX_SLOT)
    count, offset = _integers(data, offset, valid, MAX_ANSWERS_PER_PERIOD)
    valid &= count >= 1
    head = octets(data, offset, 3).astype(np.int64)
    long = head[:, 0] == 0xC5
    length = np.where(long, head[:, 1] << 8 | head[:, 2], head[:, 1])
    valid &= (head[:, 0] == 0xC4) | (long & (length >= 2**8))
    offset = offset + np.where(long, 3, 2)
    valid &= offset + length == end
    return Reports(valid, campaign, period, slot, count, offset, length)


def _integers(data: Bytes, offset: Integers, valid: Mask, high: int) -> tuple[Integers, Integers]:
    """Decode the shortest-form integers in 0 .. high at each offset; return them and the offsets after them.

    Clear ``valid`` where no such integer begins.
    """
    raw = octets(data, offset, 5).astype(np.int64)
    marker = raw[:, 0]
    two = raw[:, 1] << 8 | raw[:, 2]
    four = two << 16 | raw[:, 3] << 8 | raw[:, 4]
    forms = [marker < 0x80, marker == 0xCC, marker == 0xCD, marker == 0xCE]
    value = np.select(forms, [marker, raw[:, 1], two, four], -1)
    width = np.select(forms, [1, 2, 3, 5], 1)
    smallest = np.select(forms, [0, 2**7, 2**8, 2**16], 0)
    valid &= (value >= smallest) & (value <= high)
    return value, offset + width


def unpacked_outputs(
    data: Bytes, packed: Integers, length: Integers, count: int, bits: int, limit: int
) -> tuple[Integers, Mask]:
    """Unpack the outputs of reports that carry ``count`` outputs of ``bits`` bits each.

    Args:
        bits: bits of each output on the wire; with several views, the bits of the widest view.
        limit: number of outputs of the channel, at most 2^57.
    Returns:
        (n, count) outputs, and (n,) whether the outputs of each report are packed correctly and are all below
        ``limit``.
    """
    if bits > _MAX_BITS:
        return _wide_outputs(data, packed, length, count, bits, limit)
    unpacked = np.zeros((len(packed), count), dtype=np.int64)
    width = packed_bytes(count, bits)
    valid = length == width
    rows = np.flatnonzero(valid)
    step = max(1, _UNPACKED_AT_ONCE // (8 * width))
    for first in range(0, len(rows), step):
        batch = rows[first : first + step]
        # The signature follows the integers of a row, so the additional bytes exist.
        raw = octets(data, packed[batch], width + _WORD)
        values = _numbers(raw, count, bits)
        unpacked[batch] = values
        padding = raw[:, width - 1] & np.uint8((1 << (8 * width - count * bits)) - 1)
        valid[batch] = (padding == 0) & (values.max(axis=1) < limit)
    return unpacked, valid


def _numbers(raw: Bytes, count: int, bits: int) -> Integers:
    """Unpack (n, count) integers of ``bits`` bits each, starting at the first bit of each row.

    Args:
        raw: contiguous, with ``_WORD`` more bytes after the integers of a row.
    """
    values = np.empty((len(raw), count), dtype=np.int64)
    # Every eighth integer begins at the same bit of a byte, so these are read together.
    for place in range(min(8, count)):
        begin, shift = divmod(place * bits, 8)
        shape = len(raw), len(range(place, count, 8))
        number: NDArray[np.uint64] = np.ndarray(shape, ">u8", raw, begin, (raw.strides[0], bits)).astype(np.uint64)
        number <<= np.uint64(shift)
        number >>= np.uint64(64 - bits)
        values[:, place::8] = number
    return values


def _wide_outputs(
    data: Bytes, packed: Integers, length: Integers, count: int, bits: int, limit: int
) -> tuple[Integers, Mask]:
    """Unpack outputs of more than ``_MAX_BITS`` bits like ``unpacked_outputs``; the bits before the last ``_MAX_BITS``
    must be zero."""
    unpacked = np.zeros((len(packed), count), dtype=np.int64)
    valid = length == packed_bytes(count, bits)
    spare, place_values = bits - _MAX_BITS, 1 << np.arange(_MAX_BITS - 1, -1, -1, dtype=np.int64)
    for batch, bit_values, padded in _bit_rows(data, packed, np.flatnonzero(valid), count, bits):
        values = bit_values[:, :, spare:] @ place_values
        unpacked[batch] = values
        valid[batch] = padded & ~bit_values[:, :, :spare].any(axis=(1, 2)) & (values.max(axis=1) < limit)
    return unpacked, valid


def unpacked_words(
    data: Bytes, packed: Integers, length: Integers, count: int, bits: int, ones: int | None, width: int
) -> tuple[ByteStrings, Mask]:
    """Unpack the outputs of reports that carry ``count`` words of ``bits`` bits each.

    Args:
        ones: number of ones in every word of the channel; None if it varies.
        width: bits of each output on the wire; with several views, the bits of the widest view. The first ``width -
            bits`` bits are zero.
    Returns:
        (n, count) words, each zero-padded to whole bytes, and (n,) whether the words of each report are valid.
    """
    unpacked = np.full((len(packed), count), None, dtype=np.object_)
    valid = length == packed_bytes(count, width)
    for batch, bit_values, padded in _bit_rows(data, packed, np.flatnonzero(valid), count, width):
        word = bit_values[:, :, width - bits :]
        octets_each = np.packbits(word, axis=2)
        unpacked[batch] = octets_each.view(f"V{octets_each.shape[2]}")[..., 0].astype(np.object_)
        valid[batch] = padded & ~bit_values[:, :, : width - bits].any(axis=(1, 2))
        if ones is not None:
            valid[batch] &= (word.sum(axis=2) == ones).all(axis=1)
    return unpacked, valid


def count_ones(words: pa.Array, bits: int) -> Integers:
    """Return for each of the ``bits`` places the number of words that have this bit set.

    Args:
        words: a column of words, zero-padded to whole bytes as by ``unpacked_words``.
    """
    counts = np.zeros(bits, dtype=np.int64)
    width = packed_bytes(1, bits)
    octets = np.frombuffer(b"".join(words.to_pylist()), dtype=np.uint8).reshape(-1, width)
    step = max(1, _UNPACKED_AT_ONCE // (8 * width))
    for first in range(0, len(octets), step):
        counts += np.unpackbits(octets[first : first + step], axis=1, count=bits).sum(axis=0, dtype=np.int64)
    return counts


def _bit_rows(
    data: Bytes, packed: Integers, rows: Integers, count: int, bits: int
) -> Iterator[tuple[Integers, Bytes, Mask]]:
    """Yield the bits of r rows at a time: the indices of the rows, (r, count, bits) bits, and whether the padding is
    zero."""
    width = packed_bytes(count, bits)
    step = max(1, _UNPACKED_AT_ONCE // (8 * width))
    for first in range(0, len(rows), step):
        batch = rows[first : first + step]
        bit_values = np.unpackbits(octets(data, packed[batch], width), axis=1)
        padded: Mask = bit_values[:, count * bits :].max(axis=1, initial=0) == 0
        yield batch, bit_values[:, : count * bits].reshape(len(batch), count, bits), padded


def decode_enrolments(data: Bytes, key_ids: Bytes, payload: Integers, end: Integers) -> Enrolments:
    """Decode the enrolment payloads ``data[payload[i]:end[i]]`` of envelopes with these key ids."""
    valid = end - payload >= _ENROLMENT_BYTES
    raw = np.zeros((len(payload), _ENROLMENT_BYTES), dtype=np.uint8)
    raw[valid] = octets(data, payload[valid], _ENROLMENT_BYTES)
    prior = np.full(len(payload), None, dtype=np.object_)
    declares = valid & (raw[:, 0] == _DECLARING)
    for row in np.flatnonzero(declares).tolist():  # declared priors differ in length and form
        written = data[payload[row] : end[row]].tobytes()
        try:
            Enrolment.decode(written)
        except BadData:
            valid[row] = False
        else:
            prior[row] = written[_ENROLMENT_BYTES:]
    raw[declares, 0] = _PLAIN
    valid &= declares | (end - payload == _ENROLMENT_BYTES)
    public_at = _ENROLMENT_BYTES - PUBLIC_BYTES
    valid &= (raw[:, :_ID_AT] == (_PLAIN, 0xC4, CAMPAIGN_ID_BYTES)).all(axis=1)
    valid &= (raw[:, public_at - 2 : public_at] == (0xC4, PUBLIC_BYTES)).all(axis=1)
    campaign = np.ascontiguousarray(raw[:, _ID_AT : _ID_AT + CAMPAIGN_ID_BYTES]).view("<i8")
    public = np.ascontiguousarray(raw[:, public_at:])
    blob = public.tobytes()
    expected_ids = b"".join(
        hashlib.sha256(blob[begin : begin + PUBLIC_BYTES]).digest()[:KEY_ID_BYTES]
        for begin in range(0, len(blob), PUBLIC_BYTES)
    )
    valid &= (np.frombuffer(expected_ids, dtype=np.uint8).reshape(-1, KEY_ID_BYTES) == key_ids).all(axis=1)
    return Enrolments(valid, campaign, public, prior)
