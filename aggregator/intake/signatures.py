"""Verify Ed25519 signatures on threads, with the same verdicts as ``protocol.keys.verify`` (SPEC 2).

Forms of signatures on which libraries disagree are recognised from the bytes, in vectorised checks, and refused.
libsodium verifies the others; it releases the interpreter's lock, so threads run in parallel.

Public keys are checked once, when ``enrolments`` registers them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from nacl.bindings import crypto_sign_open
from nacl.exceptions import BadSignatureError

from aggregator.intake.columns import Bytes, Integers, Mask, octets
from aggregator.intake.framing import KEY_AT, TRAILER_BYTES
from aggregator.intake.verified import VerifiedDigests
from protocol.envelope import Kind, signed_message
from protocol.keys import FIELD, KEY_ID_BYTES, ORDER, PUBLIC_BYTES, SIGNATURE_BYTES, SMALL_ORDER_Y

SLICE = 2048
"""Number of signatures that a thread verifies in one task."""
BLOCK_BYTES = 2**20
"""Size in bytes of the blocks into which a chunk is cut; each block has one digest."""
MIN_SIGNATURES = 256
"""Minimum number of signatures in a block whose digest is stored."""


@dataclass(frozen=True)
class EnvelopeOffsets:
    """Envelopes of one kind, as offsets into ``data``.

    Attributes:
        data: the bytes of a chunk.
        begin, payload, end: (n,) offsets of each envelope's first byte, of its payload, and just after the envelope.
    """

    kind: Kind
    data: bytes
    begin: Integers
    payload: Integers
    end: Integers

    def __len__(self) -> int:
        return len(self.begin)

    def rows(self, rows: Integers) -> EnvelopeOffsets:
        """Return the envelopes at the given rows."""
        return EnvelopeOffsets(self.kind, self.data, self.begin[rows], self.payload[rows], self.end[rows])

    @property
    def payload_end(self) -> Integers:
        """Offsets just after each payload, (n,)."""
        return self.end - TRAILER_BYTES


@dataclass(frozen=True)
class SignatureBlock:
    """Consecutive envelopes whose signatures have one digest.

    Attributes:
        start, stop: positions of the first envelope and of the one after the last, among those being verified.
        digest: digest to store once all signatures have verified; None if the envelopes are too few.
        futures: the pending verdicts of each slice of envelopes.
    """

    start: int
    stop: int
    digest: bytes | None
    futures: list[Future[Mask]]


@dataclass(frozen=True)
class PendingVerdicts:
    """Signatures that are being verified.

    Attributes:
        count: number of envelopes.
        blocks: the blocks of envelopes that were not verified before.
        stored: stores the digests of blocks in which all signatures verify; None to store nothing.
    """

    count: int
    blocks: list[SignatureBlock]
    stored: VerifiedDigests | None

    def verdicts(self, start: int = 0, stop: int | None = None) -> Mask:
        """Wait for the envelopes from ``start`` up to ``stop`` (default: to the last), and return whether each
        verifies."""
        stop = self.count if stop is None else stop
        verdicts = np.ones(self.count, dtype=np.bool_)
        digests: list[bytes] = []
        for block in self.blocks:
            if block.start < stop and start < block.stop:
                block_verdicts = np.concatenate([future.result() for future in block.futures])
                verdicts[block.start : block.stop] = block_verdicts
                if block.digest is not None and block_verdicts.all():
                    digests.append(block.digest)
        if self.stored is not None:
            self.stored.add(digests)
        return verdicts[start:stop]


@dataclass(frozen=True)
class Verifier:
    """Threads that verify signatures.

    Attributes:
        stored: the digests of signatures verified before; None to verify all signatures.
    """

    pool: ThreadPoolExecutor
    stored: VerifiedDigests | None = None

    def start(self, sealed: EnvelopeOffsets, publics: Bytes) -> PendingVerdicts:
        """Start to verify envelopes under their keys.

        Args:
            publics: (n, 32) keys that ``protocol.keys.require_public`` accepts.
        """
        blocks = []
        # Blocks are cut by offsets and not by numbers of reports. So if an earlier ingest refused a report without
        # verifying its signature, and this ingest verifies it, only the digest of that report's block changes.
        cuts = np.flatnonzero(np.diff(sealed.begin // BLOCK_BYTES)) + 1
        bounds = [0, *cuts.tolist(), len(sealed)]
        for start, stop in pairwise(bounds):
            digest = None
            if self.stored is not None and stop - start >= MIN_SIGNATURES:
                digest = _digest(sealed, publics, start, stop)
                if digest in self.stored:
                    continue
            slices = [(first, min(first + SLICE, stop)) for first in range(start, stop, SLICE)]
            futures = [self.pool.submit(_verify_slice, sealed, publics, begin, end) for begin, end in slices]
            if futures:
                blocks.append(SignatureBlock(start, stop, digest, futures))
        return PendingVerdicts(len(sealed), blocks, self.stored)

    def verify(self, sealed: EnvelopeOffsets, publics: Bytes) -> Mask:
        """Return whether each envelope verifies under its key; see ``start``."""
        return self.start(sealed, publics).verdicts()


@contextmanager
def verifier(threads: int | None = None, stored: VerifiedDigests | None = None) -> Iterator[Verifier]:
    """Context manager: a verifier on ``threads`` threads, or on one for each processor."""
    with ThreadPoolExecutor(threads or os.cpu_count() or 1, thread_name_prefix="verify") as pool:
        try:
            yield Verifier(pool, stored)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # the remaining verdicts are not needed


def _digest(sealed: EnvelopeOffsets, publics: Bytes, start: int, stop: int) -> bytes:
    """Return the digest of all bytes that determine the verdicts on the envelopes."""
    first, last = int(sealed.begin[start]), int(sealed.end[stop - 1])
    offsets = np.stack([sealed.begin[start:stop], sealed.payload[start:stop], sealed.end[start:stop]]) - first
    digest = hashlib.sha256(b"verified 1")
    digest.update(np.array([sealed.kind, stop - start, last - first], dtype="<i8").tobytes())
    digest.update(offsets.astype("<i8").tobytes())
    digest.update(memoryview(sealed.data)[first:last])
    digest.update(publics[start:stop].tobytes())
    return digest.digest()


def _verify_slice(sealed: EnvelopeOffsets, publics: Bytes, start: int, stop: int) -> Mask:
    data = sealed.data
    begin, payload, end = (column[start:stop] for column in (sealed.begin, sealed.payload, sealed.end))
    keys = publics[start:stop].tobytes()
    verdicts = well_formed(octets(np.frombuffer(data, dtype=np.uint8), end - SIGNATURE_BYTES, SIGNATURE_BYTES))
    rows = np.flatnonzero(verdicts)
    # A signed message consists of the context, the key id, the payload's length and the payload (protocol.envelope).
    context = signed_message(sealed.kind, bytes(KEY_ID_BYTES), b"")[: -KEY_ID_BYTES - 4]
    for row, head, body, after in zip(
        rows.tolist(), begin[rows].tolist(), payload[rows].tolist(), end[rows].tolist(), strict=True
    ):
        tail = after - TRAILER_BYTES
        signed = b"".join((
            data[after - SIGNATURE_BYTES : after],
            context,
            data[head + KEY_AT : head + KEY_AT + KEY_ID_BYTES],
            (tail - body).to_bytes(4, "big"),
            data[body:tail],
        ))  # fmt: skip
        try:
            crypto_sign_open(signed, keys[row * PUBLIC_BYTES : (row + 1) * PUBLIC_BYTES])
        except BadSignatureError:
            verdicts[row] = False
    return verdicts


def _words(number: int) -> list[int]:
    words: list[int] = np.frombuffer(number.to_bytes(32, "little"), dtype="<u8").tolist()
    return words


def _below(words: np.ndarray[tuple[int, ...], np.dtype[np.uint64]], bound: int) -> Mask:
    """Return, for each row of four little-endian words, whether it encodes a number below ``bound``."""
    below = np.zeros(len(words), dtype=np.bool_)
    for place, limit in enumerate(_words(bound)):  # the most significant word comes last and decides
        word = words[:, place]
        below = (word < limit) | ((word == limit) & below)
    return below


def well_formed(signatures: Bytes) -> Mask:
    """Return whether signatures pass the checks before verification: S < L, and R is canonical and not of small order
    (SPEC 2).

    Args:
        signatures: (n, 64) bytes.
    """
    words = np.ascontiguousarray(signatures).view("<u8").astype(np.uint64)
    y = words[:, :4].copy()
    y[:, 3] &= np.uint64(2**63 - 1)
    passed = _below(words[:, 4:], ORDER) & _below(y, FIELD)
    for small in SMALL_ORDER_Y:
        passed &= (y != np.array(_words(small), dtype=np.uint64)).any(axis=1)
    return passed
