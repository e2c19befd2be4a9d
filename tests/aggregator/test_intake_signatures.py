"""Signatures: the verdict of libsodium in threads is the protocol's verdict."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import nacl.bindings as sodium
import numpy as np
import pytest
from nacl.exceptions import BadSignatureError

from aggregator.intake.signatures import SLICE, EnvelopeOffsets, verifier, well_formed
from protocol import codec, keys
from protocol.envelope import Kind, signed_message
from protocol.errors import BadData
from protocol.keys import FIELD, ORDER, SMALL_ORDER_Y, SigningKey
from tests.altered import flipped

VECTORS = Path(__file__).parents[1] / "vectors" / "wycheproof_ed25519.json"
KEY = SigningKey(bytes(range(32)))


def slow(public: bytes, signature: bytes, message: bytes) -> bool:
    """Return the protocol's verdict on a signature."""
    try:
        keys.verify(public, signature, message)
    except BadData:
        return False
    return True


def fast(public: bytes, signature: bytes, message: bytes) -> bool:
    """Return the intake's verdict on any message: byte checks, then libsodium."""
    if len(signature) != 64 or not well_formed(np.frombuffer(signature, dtype=np.uint8).reshape(1, 64))[0]:
        return False
    try:
        keys.require_public(public)
        sodium.crypto_sign_open(signature + message, public)
    except (BadData, BadSignatureError):
        return False
    return True


def test_every_wycheproof_vector_has_its_verdict():
    """Every Wycheproof vector has its expected verdict, by the intake and by the protocol."""
    checked = 0
    for group in json.loads(VECTORS.read_text())["testGroups"]:
        public = bytes.fromhex(group["publicKey"]["pk"])
        for case in group["tests"]:
            signature, message = bytes.fromhex(case["sig"]), bytes.fromhex(case["msg"])
            verdict = fast(public, signature, message)
            assert verdict == slow(public, signature, message) == (case["result"] == "valid"), case["tcId"]
            checked += 1
    assert checked == 151


def test_byte_checks_are_exact_at_their_bounds():
    """S below the group order passes, and so does R's y if it is below the field size and not of small order; the
    bounds themselves fail."""

    def passes(r: int, s: int) -> bool:
        signature = r.to_bytes(32, "little") + s.to_bytes(32, "little")
        return bool(well_formed(np.frombuffer(signature, dtype=np.uint8).reshape(1, 64))[0])

    assert passes(5, ORDER - 1)
    for s in (ORDER, ORDER + 1, 2**253, 2**256 - 1):
        assert not passes(5, s)
    for top in (0, 2**255):
        assert passes(FIELD - 2 + top, 5)
        for r in (FIELD, FIELD + 1, 2**255 - 1, *SMALL_ORDER_Y):
            assert not passes(r + top, 5)


@pytest.mark.parametrize("torsion_in_key", [False, True])
def test_both_libraries_agree_on_points_with_a_part_of_small_order(torsion_in_key):
    """For keys and R with a component of order 8, libsodium and OpenSSL give the same verdict on every signature."""
    small = min(SMALL_ORDER_Y - {0, 1}).to_bytes(32, "little")
    scalar = int.from_bytes(hashlib.sha512(KEY.secret).digest()[:32], "little") & ((1 << 254) - 8) | 1 << 254
    verdicts = set()
    for number in range(64):
        public = sodium.crypto_core_ed25519_add(KEY.public, small) if torsion_in_key else KEY.public
        nonce = number + 10**6
        R = sodium.crypto_scalarmult_ed25519_base_noclamp(nonce.to_bytes(32, "little"))
        if number % 2 or not torsion_in_key:
            R = sodium.crypto_core_ed25519_add(R, small)
        h = int.from_bytes(hashlib.sha512(R + public + b"m").digest(), "little")
        signature = R + ((nonce + h * scalar) % ORDER).to_bytes(32, "little")
        verdict = fast(public, signature, b"m")
        assert verdict == slow(public, signature, b"m")
        verdicts.add(verdict)
    assert verdicts == ({True, False} if torsion_in_key else {False})


@pytest.mark.parametrize("kind", list(Kind))
def test_exactly_the_altered_envelopes_fail(kind):
    """In several slices of every kind, exactly the altered envelopes fail, and no envelope verifies as another kind."""
    number, data, frames, good = SLICE + 5, b"", [], []
    for row in range(number):
        payload = b"payload %d" % row
        signature = KEY.sign(signed_message(kind if row % 7 else Kind(kind % 3 + 1), KEY.id, payload))
        if row % 5 == 0:
            signature = flipped(signature, 0)
        envelope = codec.encode([1, int(kind), KEY.id, payload, signature])
        frames.append((len(data), len(data) + 15, len(data) + len(envelope)))
        data += envelope
        good.append(row % 5 != 0 and row % 7 != 0)
    begin, payload_at, end = np.array(frames, dtype=np.int64).T
    public = np.frombuffer(KEY.public * number, dtype=np.uint8).reshape(-1, 32)
    with verifier(3) as threads:
        assert threads.verify(EnvelopeOffsets(kind, data, begin, payload_at, end), public).tolist() == good
        nothing = begin[:0]
        assert len(threads.verify(EnvelopeOffsets(kind, data, nothing, nothing, nothing), public[:0])) == 0
