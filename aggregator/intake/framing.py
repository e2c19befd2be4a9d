"""Find the envelopes in a stream of bytes.

An envelope has exactly one encoding, so its head determines where it must end. The head and the end together decide
whether the bytes are an envelope; payloads are not read. All offsets that look like an envelope are found at once, and
a run of adjacent envelopes is accepted as a whole. Where a run ends, the reader continues with one envelope at a time
until it reaches the next run. The result equals that of ``protocol.envelope.read_batch`` for every division of the
stream into buffers, in linear time.

``columns`` decodes the payloads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protocol.envelope import MAX_PAYLOAD, VERSION, Kind
from protocol.keys import KEY_ID_BYTES, SIGNATURE_BYTES

KEY_AT = 5
"""Offset of the key id in an envelope, after the array's head, the version, the kind and the byte string's head."""
TRAILER_BYTES = 2 + SIGNATURE_BYTES
"""Number of bytes after the payload: the byte string's head and the signature."""

_PREFIX = bytes([0x95, VERSION])
HEADS = {kind: bytes([0x95, VERSION, kind, 0xC4, KEY_ID_BYTES]) for kind in Kind}
"""The first bytes of an envelope, by kind."""
_KINDS = {head: kind for kind, head in HEADS.items()}
_PAYLOAD_AT = KEY_AT + KEY_ID_BYTES
_SIGNATURE_HEAD = bytes([0xC4, SIGNATURE_BYTES])
_LONGEST_HEAD = _PAYLOAD_AT + 5
# Each marker maps to the number of bytes of the length, and to the smallest length that needs this form.
_LENGTHS = {0xC4: (1, 0), 0xC5: (2, 2**8), 0xC6: (4, 2**16)}
_LIMITS = np.array([MAX_PAYLOAD.get(kind, -1) for kind in range(256)], dtype=np.int64)  # type: ignore[call-overload]


@dataclass
class Frames:
    """Whole envelopes found in one buffer of a stream.

    Attributes:
        columns: (4, n): for each envelope the offsets of its first byte, its payload and its end in the buffer, and its
            kind.
        malformed_items: number of runs of bytes that are not an envelope (SPEC 3.3) and begin in this buffer.
        rest: offset of the first byte that must be read again with the next buffer.
        inside_malformed: whether the last byte before ``rest`` was part of such a run.
    """

    columns: NDArray[np.int64]
    malformed_items: int
    rest: int
    inside_malformed: bool


def frames(
    data: bytes, *, final: bool, inside_malformed: bool = False, stop: int | None = None, strict: bool = False
) -> Frames:
    """Find the envelopes in one buffer of a stream.

    Args:
        data: the bytes of the previous buffer from its ``rest`` on, and the new bytes.
        final: whether no bytes follow; then ``rest`` is the length of ``data``.
        inside_malformed: the ``inside_malformed`` of the previous buffer.
        stop: envelopes that begin at or after this offset are not returned; ``rest`` is then the offset at which the
            next envelope may begin.
        strict: whether to stop at the first bytes that are not an envelope; ``rest`` is then their offset.
    """
    offset, size, malformed_items = 0, len(data), 0
    stop = size if stop is None else stop
    likely = _likely(data)
    begins, ends = likely[0], likely[2]
    # After a run of adjacent envelopes, the offset of the next envelope is unknown, so it is read one at a time.
    last_of_run = np.flatnonzero(np.append(ends[:-1] != begins[1:], True)) if len(begins) else begins
    stop_row = int(np.searchsorted(begins, stop))
    first, upcoming = 0, -1
    runs = [likely[:, :0]]
    while offset < stop:
        if upcoming < offset:
            first = int(np.searchsorted(begins, offset))
            upcoming = int(begins[first]) if first < len(begins) else size
        if upcoming == offset:
            after = min(int(last_of_run[np.searchsorted(last_of_run, first)]) + 1, stop_row)
            runs.append(likely[:, first:after])
            inside_malformed = False
            offset = int(ends[after - 1])
            continue
        kind = _KINDS.get(data[offset : offset + KEY_AT], 0)
        end = payload = 0
        if kind and offset + _LONGEST_HEAD <= size:
            payload, end = _extent(data, offset, kind)
        elif size - offset < _LONGEST_HEAD and not final and _PREFIX.startswith(data[offset : offset + 2]):
            break
        if size < end and not final:
            break
        if payload and end <= size and data[end - TRAILER_BYTES : end - SIGNATURE_BYTES] == _SIGNATURE_HEAD:
            runs.append(np.array([[offset], [payload], [end], [kind]], dtype=np.int64))
            inside_malformed = False
            offset = end
            continue
        if not inside_malformed:
            malformed_items += 1
            inside_malformed = True
        if strict:
            break
        offset = _next_candidate(data, offset + 1)
    return Frames(np.concatenate(runs, axis=1), malformed_items, offset, inside_malformed)


def _likely(data: bytes) -> NDArray[np.int64]:
    """Return the columns (4, n) of all offsets that look like a whole envelope with a payload below 64 KiB.

    Only the offsets that a sequential reader reaches are envelopes, because bytes inside a payload may look like one
    too.
    """
    octets = np.frombuffer(data, dtype=np.uint8)
    offset = np.flatnonzero(octets[: max(0, len(data) - _LONGEST_HEAD + 1)] == _PREFIX[0])
    for place, value in ((1, VERSION), (3, 0xC4), (4, KEY_ID_BYTES)):
        offset = offset[octets[offset + place] == value]
    kind, marker = octets[offset + 2], octets[offset + _PAYLOAD_AT]
    long = marker == 0xC5  # the marker of byte strings with two bytes of length
    first, second = (octets[offset + _PAYLOAD_AT + place].astype(np.int64) for place in (1, 2))
    length = np.where(long, first << 8 | second, first)
    payload = offset + _PAYLOAD_AT + np.where(long, 3, 2)
    end = payload + length + TRAILER_BYTES
    good = ((marker == 0xC4) | (long & (length >= 2**8))) & (length <= _LIMITS[kind]) & (end <= len(data))
    tail = np.where(good, end - TRAILER_BYTES, 0)
    for place, value in enumerate(_SIGNATURE_HEAD):
        good &= octets[tail + place] == value
    return np.stack([offset, payload, end, kind.astype(np.int64)])[:, good]


def _extent(data: bytes, offset: int, kind: int) -> tuple[int, int]:
    """Return the offsets of the payload and of the end that a head claims; zeros if no envelope has such a head."""
    width, smallest = _LENGTHS.get(data[offset + _PAYLOAD_AT], (0, 0))
    payload = offset + _PAYLOAD_AT + 1 + width
    length = int.from_bytes(data[payload - width : payload], "big")
    if not width or not smallest <= length <= MAX_PAYLOAD[Kind(kind)]:
        return 0, 0
    return payload, payload + length + TRAILER_BYTES


def _next_candidate(data: bytes, start: int) -> int:
    """Return the first offset from ``start`` on where an envelope could begin, even if the data end after its first
    byte."""
    offset = data.find(_PREFIX, start)
    if offset >= 0:
        return offset
    return len(data) - 1 if start < len(data) and data[-1] == _PREFIX[0] else len(data)
