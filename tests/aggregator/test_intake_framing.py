"""Framing: the fast reader agrees with the normative reader, however the bytes are divided into buffers."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aggregator.intake.framing import frames
from protocol import codec
from protocol.envelope import Envelope, Kind, read_batch
from tests.counted_work import CountedBytes, instructions

HUGE_CLAIM = b"\x95\x01\x01\xc4\x08" + bytes(8) + b"\xc6\x00\x0f\xff\xff"
"""The beginning of an envelope of nearly 1 MiB."""

BODIES = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([bytes(n) for n in (0, 127, 128, 129, 255, 256, 257, 65535, 65536, 65537)]),
)


@st.composite
def envelopes(draw: st.DrawFn) -> bytes:
    """A valid or nearly valid envelope."""
    version = draw(st.sampled_from([1, 1, 1, 1, 0, 2]))
    kind = draw(st.sampled_from([1, 2, 3, 3, 3, 0, 4]))
    key_id = bytes(draw(st.sampled_from([8, 8, 8, 8, 7, 9])))
    signature = bytes(draw(st.sampled_from([64, 64, 64, 64, 63, 65])))
    return codec.encode([version, kind, key_id, draw(BODIES), signature])


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """A batch of envelopes with noise, truncations and altered bytes."""
    noise = st.one_of(
        st.binary(max_size=20),
        st.sampled_from([b"\x95", b"\x95\x01", b"\x95\x01\x03\xc4\x08", HUGE_CLAIM]),
    )
    data = bytearray(b"".join(draw(st.lists(st.one_of(envelopes(), noise), max_size=8))))
    for _ in range(draw(st.integers(0, 3))):
        if data:
            data[draw(st.integers(0, len(data) - 1))] = draw(st.sampled_from([0, 0x95, 0xC4, 0xC5, 0xC6, 0x01, 0xFF]))
    for _ in range(draw(st.integers(0, 2))):
        start = draw(st.integers(0, len(data)))
        del data[start : start + draw(st.integers(1, 5))]
    return bytes(data)


def fast(data: bytes, cuts: list[int]) -> tuple[list[tuple[int, bytes, bytes, bytes]], int]:
    """Return the envelopes, and the number of malformed items, of the fast reader if ``data`` arrives in buffers."""
    bounds = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    found, malformed_items, rest, inside = [], 0, b"", False
    for first, last in pairwise(bounds):
        buffer = rest + data[first:last]
        part = frames(buffer, final=last == len(data), inside_malformed=inside)
        for begin, payload, end, kind in part.columns.T.tolist():
            found.append((kind, buffer[begin + 5 : begin + 13], buffer[payload : end - 66], buffer[end - 64 : end]))
        malformed_items += part.malformed_items
        rest, inside = buffer[part.rest :], part.inside_malformed
    assert rest == b""
    return found, malformed_items


@given(streams(), st.lists(st.integers(1, 2000), max_size=6))
@example(b"\x95", [])
@example(codec.encode([1, 3, bytes(8), b"x", bytes(64)]) + b"\x95\x01", [3])
def test_pieces_of_a_stream_contain_the_same_envelopes(data, cuts):
    """For any bytes in any buffers, the envelopes and the number of malformed items are those of read_batch."""
    slow = list(read_batch(data))
    expected = [(i.kind, i.key_id, i.unverified, i.signature) for i in slow if isinstance(i, Envelope)]
    assert fast(data, cuts) == (expected, len(slow) - len(expected))


def test_a_batch_divided_at_any_byte_has_the_same_envelopes():
    """A batch with noise before, between and after envelopes reads the same if it is divided at any byte."""
    one, large = codec.encode([1, 3, bytes(8), b"x", bytes(64)]), codec.encode([1, 1, bytes(8), bytes(256), bytes(64)])
    data = b"noise" + one + b"\x95" + large + b"\x95\x01\x95" + one[:-1] + one + b"\x95"
    slow = list(read_batch(data))
    expected = [(i.kind, i.key_id, i.unverified, i.signature) for i in slow if isinstance(i, Envelope)]
    for cut in range(1, len(data)):
        assert fast(data, [cut]) == (expected, len(slow) - len(expected))


def test_the_buffered_tail_is_bounded():
    """The reader buffers at most the largest possible envelope, for any claimed length."""
    head = b"\x95\x01\x01\xc4\x08" + bytes(8)
    assert frames(head + b"\xc6\x00\x10\x00\x00" + bytes(99), final=False).rest == 0
    beyond = head + b"\xc6\x00\x10\x00\x01" + bytes(99)
    assert frames(beyond, final=False).rest == len(beyond)
    whole = head + b"\xc6\x00\x10\x00\x00" + bytes(2**20) + b"\xc4\x40" + bytes(64)
    assert frames(whole[:-1], final=False).columns.size == 0
    assert frames(whole, final=False).columns[3].tolist() == [Kind.CAMPAIGN]


@pytest.mark.parametrize("filler", [b"\x95\x01", b"\x95\x01\x03\xc4\x08", HUGE_CLAIM])
def test_malformed_bytes_take_linear_time(filler):
    """Truncated envelopes are one malformed item, and the work for a buffer of it is proportional to its length.

    For 4 KiB the reader runs at most 200 interpreter instructions for each byte, and copies and searches at most 16
    times the length. A reader that begins again at each truncated envelope exceeds a limit many times over.
    """
    data = filler * (2**20 // len(filler))
    found = frames(data, final=True)
    assert (found.malformed_items, found.columns.size, found.rest) == (1, 0, len(data))
    buffer = CountedBytes(filler * (2**12 // len(filler)))
    assert instructions(partial(frames, buffer, final=True)) < 200 * len(buffer)
    assert buffer.visited < 16 * len(buffer)
