"""Where envelopes begin and end in a stream of bytes.

One idea: an envelope has exactly one encoding, so its head says where it must end, and looking at both ends decides
whether it is one; payloads are not touched. The result is that of ``protocol.envelope.read_batch``, however the
stream is cut into pieces, in time linear in the bytes.

What payloads say: columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from protocol.envelope import MAX_PAYLOAD, VERSION, Kind
from protocol.keys import KEY_ID_BYTES, SIGNATURE_BYTES

KEY_AT = 5
"""Offset of the key id in an envelope, after array of five, version, kind and the byte string's head."""
TRAILER = 2 + SIGNATURE_BYTES
"""Bytes after the payload: the byte string's head and the signature."""

_PREFIX = bytes([0x95, VERSION])
_HEADS = {bytes([0x95, VERSION, kind, 0xC4, KEY_ID_BYTES]): kind for kind in Kind}
_PAYLOAD_AT = KEY_AT + KEY_ID_BYTES
_SIGNATURE_HEAD = bytes([0xC4, SIGNATURE_BYTES])
_LONGEST_HEAD = _PAYLOAD_AT + 5
_ALWAYS_ALLOWED = min(255, *MAX_PAYLOAD.values())
_LENGTHS = {0xC4: (1, 0), 0xC5: (2, 2**8), 0xC6: (4, 2**16)}  # marker: (bytes of the length, smallest length)


@dataclass
class Frames:
    """Whole envelopes found in one piece of a stream, as offsets into it.

    Attributes:
        begin, payload, end: offsets of the envelope, of its payload, and just after it.
        kind: of the envelope.
        garbage: number of runs of bytes that are no envelope and began in this piece.
        rest: offset from which on bytes have to wait for the next piece.
        inside_garbage: whether the last byte before ``rest`` was part of such a run.
    """

    begin: list[int] = field(default_factory=list)
    payload: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    garbage: int = 0
    rest: int = 0
    inside_garbage: bool = False


def frames(data: bytes, *, final: bool, inside_garbage: bool = False, stop: int | None = None) -> Frames:
    """The envelopes of one piece of a stream.

    Args:
        data: what the previous piece left from ``rest`` on, and the new bytes.
        final: no bytes follow; then ``rest`` is the length of ``data``.
        inside_garbage: as the previous piece left it.
        stop: offset at and after which envelopes belong to somebody else; then ``rest`` is where the next may begin.
    """
    found = Frames(inside_garbage=inside_garbage)
    add_begin, add_payload, add_end, add_kind = (
        found.begin.append,
        found.payload.append,
        found.end.append,
        found.kind.append,
    )
    at, size = 0, len(data)
    stop = size if stop is None else stop
    while at < stop:
        kind = _HEADS.get(data[at : at + KEY_AT])
        end = payload = 0
        if kind is not None and at + _LONGEST_HEAD <= size:
            if data[at + _PAYLOAD_AT] == 0xC4 and data[at + _PAYLOAD_AT + 1] <= _ALWAYS_ALLOWED:
                payload = at + _PAYLOAD_AT + 2  # nearly every envelope
                end = payload + data[payload - 1] + TRAILER
            else:
                payload, end = _extent(data, at, kind)
        elif size - at < _LONGEST_HEAD and not final and _PREFIX.startswith(data[at : at + 2]):
            break
        if size < end and not final:
            break
        if payload and end <= size and data[end - TRAILER : end - SIGNATURE_BYTES] == _SIGNATURE_HEAD:
            add_begin(at)
            add_payload(payload)
            add_end(end)
            add_kind(kind)  # type: ignore[arg-type]  # a payload is only where there is a kind
            found.inside_garbage = False
            at = end
            continue
        if not found.inside_garbage:
            found.garbage += 1
            found.inside_garbage = True
        at = _next_candidate(data, at + 1)
    found.rest = at
    return found


def _extent(data: bytes, at: int, kind: int) -> tuple[int, int]:
    """Offsets of the payload and of the end, as the head claims them; zeros where no envelope claims that."""
    width, smallest = _LENGTHS.get(data[at + _PAYLOAD_AT], (0, 0))
    payload = at + _PAYLOAD_AT + 1 + width
    length = int.from_bytes(data[payload - width : payload], "big")
    if not width or not smallest <= length <= MAX_PAYLOAD[Kind(kind)]:
        return 0, 0
    return payload, payload + length + TRAILER


def _next_candidate(data: bytes, start: int) -> int:
    """The first offset from ``start`` where an envelope, or the end of this piece's last one, could begin."""
    at = data.find(_PREFIX, start)
    if at >= 0:
        return at
    return len(data) - 1 if start < len(data) and data[-1] == _PREFIX[0] else len(data)
