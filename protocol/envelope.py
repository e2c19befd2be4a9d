"""The envelope: bytes, their kind, whose key, and a signature (SPEC 3).

One idea: bytes are signed, never re-encoded objects. Until ``open`` has verified them they are only
``unverified``, which may be looked at to find the key, and for nothing else.

What a payload means: campaign, report.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from protocol import codec, keys
from protocol.errors import BadData, CodecError, EnvelopeError

VERSION = 1


class Kind(IntEnum):
    """What an envelope carries. The signature covers it, so one kind never passes for another."""

    CAMPAIGN = 1
    ENROLMENT = 2
    REPORT = 3


MAX_PAYLOAD = {Kind.CAMPAIGN: 4 * 2**20, Kind.ENROLMENT: 128, Kind.REPORT: 2**16}
"""Bytes of payload, by kind; checked before the payload is decoded."""

# An envelope begins with an array of five, the version, and one of three kinds; a reader finds its place again here.
_PREFIX = bytes([0x95, VERSION])


@dataclass(frozen=True)
class Envelope:
    """A well-formed envelope whose signature nobody has looked at yet."""

    kind: Kind
    key_id: bytes
    unverified: bytes
    signature: bytes

    def open(self, public: bytes) -> bytes:
        """The payload, once the signature verifies under ``public``.

        Raises:
            KeyRefused, SignatureRefused
        """
        if keys.key_id(public) != self.key_id:
            raise EnvelopeError("the envelope names another key than the one it is opened with")
        keys.verify(public, self.signature, signed_message(self.kind, self.key_id, self.unverified))
        return self.unverified


def signed_message(kind: Kind, key_id: bytes, payload: bytes) -> bytes:
    """The bytes under the signature: context, key id and payload, each after its length as 4 bytes big-endian."""
    context = f"halftruth/{VERSION}/{kind.name.lower()}".encode()
    return b"".join(len(part).to_bytes(4, "big") + part for part in (context, key_id, payload))


def seal(kind: Kind, key: keys.SigningKey, payload: bytes) -> bytes:
    """An envelope of ``payload`` signed with ``key``."""
    if len(payload) > MAX_PAYLOAD[kind]:
        raise ValueError(f"a payload of kind {kind.name.lower()} has at most {MAX_PAYLOAD[kind]} bytes")
    signature = key.sign(signed_message(kind, key.id, payload))
    return codec.encode([VERSION, int(kind), key.id, payload, signature])


def decode(data: bytes) -> Envelope:
    """The envelope that fills ``data``.

    Raises:
        CodecError, EnvelopeError
    """
    envelope, end = decode_first(data, 0)
    if end != len(data):
        raise CodecError(f"{len(data) - end} bytes after the end of the envelope")
    return envelope


def decode_first(data: bytes, start: int) -> tuple[Envelope, int]:
    """The envelope that begins at ``start``, and the offset just after it.

    Raises:
        Truncated: more bytes could complete it.
        CodecError, EnvelopeError: no bytes could.
    """
    value, end = codec.decode_first(data, start)
    version, kind, key_id, payload, signature = codec.fields(value, 5, "an envelope", EnvelopeError)
    codec.integer(version, "an envelope's version", EnvelopeError, VERSION, VERSION)
    kind = Kind(codec.integer(kind, "an envelope's kind", EnvelopeError, min(Kind), max(Kind)))
    payload = codec.octets(payload, "an envelope's payload", EnvelopeError)
    if len(payload) > MAX_PAYLOAD[kind]:
        raise EnvelopeError(f"a payload of kind {kind.name.lower()} has at most {MAX_PAYLOAD[kind]} bytes")
    return Envelope(
        kind,
        codec.octets(key_id, "a key id", EnvelopeError, keys.KEY_ID_BYTES),
        payload,
        codec.octets(signature, "a signature", EnvelopeError, keys.SIGNATURE_BYTES),
    ), end


def read_batch(data: bytes) -> Iterator[Envelope | BadData]:
    """The envelopes of a batch, one after another; a run of bytes that is none comes as one error.

    After bytes that are no envelope, reading goes on at the next offset where a whole envelope is found, so one
    damaged report never takes its neighbours with it. Every byte belongs to exactly one item.
    """
    at = 0
    while at < len(data):
        try:
            envelope, at = decode_first(data, at)
            yield envelope
        except BadData as error:
            yield error
            at = find_envelope(data, at + 1)


def find_envelope(data: bytes, start: int) -> int:
    """The first offset from ``start`` where a whole envelope begins; the length of ``data`` where none does."""
    at = data.find(_PREFIX, start)
    while at >= 0:
        try:
            decode_first(data, at)
        except BadData:
            at = data.find(_PREFIX, at + 1)
        else:
            return at
    return len(data)
