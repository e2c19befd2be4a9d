"""The envelope: a payload, its kind, the key id and a signature (SPEC 3).

The signature covers bytes, never a re-encoded object. Until ``open`` has verified it, a payload is ``unverified`` and
must not be trusted.

The modules ``campaign``, ``closing`` and ``report`` define the payloads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from protocol import codec, keys
from protocol.errors import BadData, CodecError, EnvelopeError, Truncated

VERSION = 1


class Kind(IntEnum):
    """The kind of an envelope's payload. The signature covers the kind, so no payload can be used as another kind."""

    CAMPAIGN = 1
    ENROLMENT = 2
    REPORT = 3
    CLOSING = 4


MAX_PAYLOAD = {Kind.CAMPAIGN: 2**20, Kind.ENROLMENT: 2**10, Kind.REPORT: 2**16, Kind.CLOSING: 2**6}
"""Maximum bytes of a payload, by its kind; checked before the payload is decoded."""

# An envelope has one encoding: 95 01 kind, c4 08 key id, payload, c4 40 signature (SPEC 3.1).
_PREFIX = bytes([0x95, VERSION])
_KEY_ID = bytes([0xC4, keys.KEY_ID_BYTES])
_SIGNATURE = bytes([0xC4, keys.SIGNATURE_BYTES])
_KINDS = {kind: bytes([kind]) for kind in Kind}
_CONTEXTS = {kind: f"halftruth/{VERSION}/{kind.name.lower()}".encode() for kind in Kind}


@dataclass(frozen=True)
class Envelope:
    """A well-formed envelope whose signature has not been verified."""

    kind: Kind
    key_id: bytes
    unverified: bytes
    signature: bytes

    def open(self, public: bytes) -> bytes:
        """Return the payload after verifying the signature under ``public``.

        Raises:
            EnvelopeError: the envelope has another key id.
            KeyRefused, SignatureRefused: as for ``keys.verify``.
        """
        self.require_key(public)
        keys.verify(public, self.signature, signed_message(self.kind, self.key_id, self.unverified))
        return self.unverified

    def require_key(self, public: bytes) -> None:
        """Refuse a public key whose id is not that of the envelope.

        Raises:
            EnvelopeError: the ids differ.
        """
        if keys.key_id(public) != self.key_id:
            raise EnvelopeError(
                "the envelope names another key than the given one: give the public key whose fingerprint begins with "
                f"{keys.fingerprint_beginning(self.key_id)}"
            )

    def encode(self) -> bytes:
        return b"".join(
            (
                _PREFIX,
                _KINDS[self.kind],
                _KEY_ID,
                self.key_id,
                codec.encode(self.unverified),
                _SIGNATURE,
                self.signature,
            )
        )


def signed_message(kind: Kind, key_id: bytes, payload: bytes) -> bytes:
    """Return the signed bytes: context, key id and payload, each preceded by its length (4 bytes, big-endian)."""
    context = _CONTEXTS[kind]
    return b"".join(
        (
            len(context).to_bytes(4, "big"), context, len(key_id).to_bytes(4, "big"), key_id,
            len(payload).to_bytes(4, "big"), payload,
        )
    )  # fmt: skip


def seal(kind: Kind, key: keys.SigningKey, payload: bytes) -> bytes:
    """Return the bytes of an envelope of ``payload`` signed with ``key``.

    Raises:
        ValueError: the payload is longer than ``MAX_PAYLOAD`` allows.
    """
    if len(payload) > MAX_PAYLOAD[kind]:
        raise ValueError(
            f"a payload of kind {kind.name.lower()} must have at most {MAX_PAYLOAD[kind]} bytes, not {len(payload)}"
        )
    return Envelope(kind, key.id, payload, key.sign(signed_message(kind, key.id, payload))).encode()


def sealed_bytes(payload_bytes: int) -> int:
    """Return the length in bytes of an envelope whose payload has ``payload_bytes`` bytes; nothing is signed."""
    parts = (_PREFIX, _KEY_ID, _SIGNATURE)
    return sum(map(len, parts)) + 1 + keys.KEY_ID_BYTES + codec.written_bytes(payload_bytes) + keys.SIGNATURE_BYTES


def decode(data: bytes) -> Envelope:
    """Return the envelope that fills ``data``.

    Raises:
        CodecError: the bytes are cut off, a length is not canonical, or bytes follow the envelope.
        EnvelopeError: not an envelope.
    """
    envelope, end = decode_first(data, 0)
    if end != len(data):
        raise CodecError(f"there are bytes after the envelope, which ends at byte {end} of {len(data)}")
    return envelope


def decode_first(data: bytes, start: int) -> tuple[Envelope, int]:
    """Return the envelope that begins at ``start``, and the offset after it.

    Raises:
        Truncated: more bytes could complete it.
        CodecError, EnvelopeError: no further bytes could complete it.
    """
    offsets = _locate(data, start)
    return offsets.read(data), offsets.after


@dataclass(frozen=True)
class _Offsets:
    """The offsets of an envelope's parts, so that a search for envelopes in damaged data copies nothing."""

    kind: Kind
    key_at: int
    payload_at: int
    payload_end: int
    signature_at: int
    after: int

    def read(self, data: bytes) -> Envelope:
        key_id = data[self.key_at : self.key_at + keys.KEY_ID_BYTES]
        payload = data[self.payload_at : self.payload_end]
        return Envelope(self.kind, key_id, payload, data[self.signature_at : self.after])


def _locate(data: bytes, start: int) -> _Offsets:
    """Return the offsets of the envelope that begins at ``start``; raises as ``decode_first`` does."""
    offset = _expect(
        data, start, _PREFIX, ("the bytes do not begin as an envelope does, with an array of five fields and version 1")
    )
    if offset == len(data):
        raise Truncated("the bytes end before the envelope's kind")
    if data[offset] not in MAX_PAYLOAD:
        raise EnvelopeError(f"an envelope's kind must be one byte, 1 to {max(Kind)}, not {data[offset]}")
    kind = Kind(data[offset])
    key_at = _expect(data, offset + 1, _KEY_ID, f"the key id is not a byte string of {keys.KEY_ID_BYTES} bytes")
    payload_at, payload_end = codec.locate_bytes(
        data, key_at + keys.KEY_ID_BYTES, MAX_PAYLOAD[kind], f"a payload of kind {kind.name.lower()}", EnvelopeError
    )
    signature_at = _expect(
        data, payload_end, _SIGNATURE, (f"the signature is not a byte string of {keys.SIGNATURE_BYTES} bytes")
    )
    after = signature_at + keys.SIGNATURE_BYTES
    if after > len(data):
        raise Truncated("the bytes end inside the envelope's signature")
    return _Offsets(kind, key_at, payload_at, payload_end, signature_at, after)


def _expect(data: bytes, offset: int, expected: bytes, rule: str) -> int:
    """Return the offset after ``expected``, which must be at ``offset``."""
    actual = data[offset : offset + len(expected)]
    if actual == expected:
        return offset + len(expected)
    if expected.startswith(actual):
        raise Truncated("the bytes end inside an envelope")
    raise EnvelopeError(rule)


def read_batch(data: bytes) -> Iterator[Envelope | BadData]:
    """Yield the envelopes of a batch in order, and one error for each run of other bytes (SPEC 3.3).

    After other bytes, reading continues at the next offset where a whole envelope begins. A report that lost bytes
    may take bytes of the next report, and a report with a wrong payload length may take whole envelopes as its payload.
    Other damage usually affects no neighbour. Every byte belongs to exactly one item.
    """
    offset = 0
    while offset < len(data):
        try:
            envelope, offset = decode_first(data, offset)
            yield envelope
        except BadData as error:
            yield error
            offset = find_envelope(data, offset + 1)


def find_envelope(data: bytes, start: int) -> int:
    """Return the first offset from ``start`` where a whole envelope begins; the length of ``data`` if there is none."""
    offset = data.find(_PREFIX, start)
    while offset >= 0:
        try:
            _locate(data, offset)
        except BadData:
            offset = data.find(_PREFIX, offset + 1)
        else:
            return offset
    return len(data)
