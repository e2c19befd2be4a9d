"""Columns: payloads that are read in bulk equal those that the protocol reads one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from aggregator.intake import columns
from protocol import codec
from protocol.channels import RandomizedResponse
from protocol.errors import BadData
from protocol.keys import key_id
from protocol.report import Report, pack, unpack
from tests.aggregator.fleet import campaign
from tests.altered import flipped

BOUNDARIES = [0, 1, 127, 128, 255, 256, 4095, 4096, 4097, 65535, 65536, 2**31, 2**32 - 1, 2**32, 2**63, -1, -33, -200]
INTEGERS = st.one_of(st.sampled_from(BOUNDARIES), st.integers(-(2**63), 2**64 - 1))
ANYTHING = st.one_of(INTEGERS, st.binary(max_size=20), st.text(max_size=3), st.just([]))


@st.composite
def payloads(draw: st.DrawFn) -> bytes:
    """A report payload: valid, nearly valid or with altered bytes."""
    small = st.integers(0, 300)
    fields = [
        bytes(draw(st.sampled_from([16, 16, 16, 15, 17]))),
        draw(st.one_of(small, INTEGERS)),
        draw(st.one_of(small, INTEGERS)),
        draw(st.one_of(st.integers(1, 5), INTEGERS)),
        bytes(draw(st.sampled_from([0, 1, 2, 255, 256, 300]))),
    ]
    if draw(st.integers(0, 5)) == 0:
        fields[draw(st.integers(0, 4))] = draw(ANYTHING)
    data = bytearray(codec.encode(fields[: draw(st.sampled_from([5, 5, 5, 5, 4]))]))
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.sampled_from([len(data), len(data), len(data) - 1]))])


def encodings(value: int, marks: dict[int, int]) -> list[bytes]:
    """Return the encodings of a number in each width that is large enough for it."""
    return [bytes([mark]) + value.to_bytes(width, "big") for mark, width in marks.items() if value < 256**width]


def payloads_in_every_encoding() -> list[bytes]:
    """Return report payloads whose integers and length have every possible encoding, the shortest and longer ones."""
    found = []
    for value in (1, 127, 128, 255, 256, 65535, 65536, 2**32 - 1):
        short = codec.encode(value)
        for encoding in {short, *encodings(value, {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8})}:
            found += [
                encoding + b"\x01\x01\xc4\x01.",
                b"\x01" + encoding + b"\x01\xc4\x01.",
                b"\x01\x01" + encoding + b"\xc4\x01.",
            ]
    for length in (0, 1, 255, 256, 65000):
        found += [
            b"\x01\x01\x01" + encoding + bytes(length) for encoding in encodings(length, {0xC4: 1, 0xC5: 2, 0xC6: 4})
        ]
    return [b"\x95\xc4\x10" + bytes(16) + fields for fields in found]


def laid_out(parts: list[bytes]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return payloads as in a batch, each inside the bytes of an envelope."""
    starts, data = [], b""
    for part in parts:
        data += bytes(15)
        starts.append(len(data))
        data += part + b"\xc4\x40" + bytes(range(64))
    start = np.array(starts, dtype=np.int64)
    return np.frombuffer(data, dtype=np.uint8), start, start + [len(part) for part in parts]


@given(st.lists(payloads(), min_size=1, max_size=8))
@example(payloads_in_every_encoding())
def test_columns_equal_the_decoded_reports(parts):
    """A payload is refused if and only if Report.decode refuses it, and all others are read as by Report.decode."""
    found = columns.decode_reports(*laid_out(parts))
    data = laid_out(parts)[0]
    for row, part in enumerate(parts):
        try:
            report = Report.decode(part)
        except BadData:
            assert not found.valid[row]
            continue
        assert found.valid[row]
        assert found.campaign[row].tobytes() == report.campaign_id
        assert (found.period[row], found.slot[row], found.count[row]) == (report.period, report.slot, report.count)
        at = found.packed[row]
        assert data[at : at + found.packed_length[row]].tobytes() == report.packed


@given(st.integers(1, 20), st.integers(1, 40), st.data())
def test_outputs_equal_the_unpacked_reports(bits, count, data):
    """Outputs are refused if and only if ``unpack`` refuses them or one reaches the limit; all others are the same."""
    limit = data.draw(st.integers(2 ** (bits - 1) + (bits > 1), 2**bits)) if bits > 1 else 2
    width = (bits * count + 7) // 8
    most = data.draw(st.sampled_from([limit - 1, limit - 1, 2**bits - 1]))
    packed = st.lists(st.integers(0, most), min_size=count, max_size=count).map(lambda outputs: pack(outputs, bits))
    parts = data.draw(st.lists(packed | st.binary(min_size=width - 1, max_size=width + 1), min_size=1, max_size=6))
    buffer, start, end = laid_out(parts)
    values, valid = columns.unpacked_outputs(buffer, start, end - start, count, bits, limit)
    for row, part in enumerate(parts):
        try:
            expected = unpack(part, count, bits)
        except BadData:
            expected = (limit,)
        assert valid[row] == (max(expected) < limit)
        if valid[row]:
            assert tuple(values[row]) == expected


def test_integers_that_are_not_outputs_of_the_channel_are_refused():
    """All of a channel's outputs are accepted; larger integers with as many bits are refused."""
    channel = RandomizedResponse(5, (2**64 // 6,))
    buffer, start, end = laid_out([bytes([y << 5]) for y in range(8)])
    _, valid = columns.unpacked_outputs(buffer, start, end - start, 1, channel.output_bits, channel.output_count)
    assert valid.tolist() == [True] * 5 + [False] * 3


@given(
    st.lists(st.tuples(st.binary(min_size=32, max_size=32), st.booleans(), st.integers(0, 60)), min_size=1, max_size=4)
)
def test_an_enrolment_must_have_the_id_of_its_key(rows):
    """An enrolment payload is accepted if and only if it is canonical and its envelope has the id of its key."""
    parts, ids, expected = [], [], []
    for public, honest, at in rows:
        payload = codec.encode([campaign().id, public])
        if at < len(payload):
            payload = flipped(payload, 8 * at)
        parts.append(payload)
        ids.append(key_id(payload[-32:]) if honest else bytes(8))
        expected.append(honest and not (at < 3 or 19 <= at < 21))
    buffer, start, end = laid_out(parts)
    key_ids = np.frombuffer(b"".join(ids), dtype=np.uint8).reshape(-1, 8)
    found = columns.decode_enrolments(buffer, key_ids, start, end)
    assert found.valid.tolist() == expected
