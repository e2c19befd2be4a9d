"""Properties of envelopes and batches (SPEC 3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import codec, envelope, keys
from protocol.envelope import MAX_PAYLOAD, Envelope, Kind
from protocol.errors import BadData, CodecError, EnvelopeError, SignatureRefused, Truncated
from protocol.keys import SigningKey
from tests.altered import altered, flipped
from tests.counted_work import CountedBytes

KEY = SigningKey(bytes(range(32)))
OTHER = SigningKey(bytes(32))
SEALED = [envelope.seal(kind, KEY, bytes([kind] * 30)) for kind in Kind]


def written(item: Envelope) -> bytes:
    return codec.encode([envelope.VERSION, int(item.kind), item.key_id, item.unverified, item.signature])


@given(st.sampled_from(Kind), st.binary(max_size=128))
def test_a_sealed_payload_opens_under_its_key_only(kind: Kind, payload: bytes) -> None:
    """decode(seal(kind, payload)) opens to the payload under the sealer's key and no other key."""
    data = envelope.seal(kind, KEY, payload)
    found = envelope.decode(data)
    assert (found.kind, found.open(KEY.public), written(found)) == (kind, payload, data)
    with pytest.raises(EnvelopeError, match="another key"):
        found.open(OTHER.public)


@pytest.mark.parametrize("payload", [0, 1, 2**8 - 1, 2**8, 2**16 - 1, 2**16, 2**20])
def test_the_length_of_an_envelope_follows_from_its_payload(payload: int) -> None:
    """``sealed_bytes`` computes the length of a sealed envelope without signing it."""
    assert envelope.sealed_bytes(payload) == len(envelope.seal(Kind.CAMPAIGN, KEY, bytes(payload)))


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("claimed", Kind)
def test_no_kind_opens_as_another(kind: Kind, claimed: Kind) -> None:
    """The same payload and signature under another kind never verify."""
    data = bytearray(envelope.seal(kind, KEY, b"payload"))
    data[2] = claimed
    found = envelope.decode(bytes(data))
    if kind is claimed:
        assert found.open(KEY.public) == b"payload"
    else:
        with pytest.raises(SignatureRefused):
            found.open(KEY.public)


@pytest.mark.parametrize("sealed", SEALED, ids=[kind.name for kind in Kind])
def test_no_bit_can_be_flipped(sealed: bytes) -> None:
    """An envelope with any bit flipped is refused with BadData and no other exception."""
    for bit in range(8 * len(sealed)):
        with pytest.raises(BadData):
            envelope.decode(flipped(sealed, bit)).open(KEY.public)


@pytest.mark.parametrize("sealed", SEALED, ids=[kind.name for kind in Kind])
def test_every_beginning_is_truncated(sealed: bytes) -> None:
    """Every beginning of an envelope is reported as truncated, unlike bytes that no further bytes can complete."""
    for length in range(len(sealed)):
        with pytest.raises(Truncated):
            envelope.decode_first(sealed[:length], 0)


def test_the_boundary_of_key_id_and_payload_is_signed() -> None:
    """Moving bytes between the parts of the signed message changes the message, because each part follows its
    length."""
    message = envelope.signed_message(Kind.REPORT, b"12345678", b"9abc")
    assert message != envelope.signed_message(Kind.REPORT, b"123456789", b"abc")
    assert message == b"\0\0\0\x12halftruth/1/report\0\0\0\x0812345678\0\0\0\x049abc"


@pytest.mark.parametrize("kind", Kind)
def test_a_payload_above_its_limit_is_refused(kind: Kind) -> None:
    """A payload may have its kind's maximum size and not a byte more, for encoder and decoder."""
    limit = MAX_PAYLOAD[kind]
    assert envelope.decode(envelope.seal(kind, KEY, bytes(limit))).open(KEY.public) == bytes(limit)
    with pytest.raises(ValueError, match="at most"):
        envelope.seal(kind, KEY, bytes(limit + 1))
    with pytest.raises(EnvelopeError, match="at most"):
        envelope.decode(codec.encode([1, int(kind), KEY.id, bytes(limit + 1), bytes(64)]))


@given(st.binary(max_size=120) | altered(st.sampled_from(SEALED), most=2))
def test_an_envelope_has_one_form(data: bytes) -> None:
    """Bytes decode as an envelope only if they are its encoding, and then the codec reads the same fields."""
    try:
        found = envelope.decode(data)
    except (CodecError, EnvelopeError):
        return
    assert written(found) == data
    fields = [envelope.VERSION, int(found.kind), found.key_id, found.unverified, found.signature]
    assert codec.decode(data, limit=len(data)) == fields


# Batches


def places(data: bytes) -> list[tuple[int, int, bool]]:
    """Return (begin, end, whether an envelope) of every item, found offset by offset as in SPEC 3.3."""
    found: list[tuple[int, int, bool]] = []
    at = 0
    while at < len(data):
        try:
            _, end = envelope.decode_first(data, at)
        except BadData:
            end = at + 1
            if found and not found[-1][2]:
                found[-1] = (found[-1][0], end, False)
            else:
                found.append((at, end, False))
        else:
            found.append((at, end, True))
        at = end
    return found


def check_batch(data: bytes) -> None:
    """Check that items and their bytes agree with a search at every offset, and that no exception is raised."""
    expected = places(data)
    assert [begin for begin, _, _ in expected] == [0, *(end for _, end, _ in expected)][: len(expected)]
    items = list(envelope.read_batch(data))
    assert len(items) == len(expected)
    for item, (begin, end, whole) in zip(items, expected, strict=True):
        if whole:
            assert isinstance(item, Envelope)
            assert written(item) == data[begin:end]
        else:
            assert isinstance(item, BadData)


@given(st.lists(st.sampled_from(SEALED), max_size=6))
def test_batches_concatenate(parts: list[bytes]) -> None:
    """Envelopes one after the other are read as exactly these items."""
    items = list(envelope.read_batch(b"".join(parts)))
    assert [written(item) for item in items if isinstance(item, Envelope)] == parts


chunks = (
    st.sampled_from(SEALED) | st.binary(max_size=20) | st.sampled_from([b"\x95", b"\x95\x01", b"\x95\x01\x03\xc4\x08"])
)


@given(st.lists(chunks, max_size=7))
def test_every_byte_of_a_batch_belongs_to_one_item(parts: list[bytes]) -> None:
    """If any bytes lie between envelopes, every byte belongs to exactly one item."""
    check_batch(b"".join(parts))


@given(altered(st.lists(st.sampled_from(SEALED), min_size=1, max_size=4).map(b"".join), least=1, most=4))
def test_a_mutated_batch_is_read_as_items(data: bytes) -> None:
    """A batch with bytes changed, lost and inserted is read as items, and no exception is raised."""
    check_batch(data)


@given(st.integers(0, 106), st.integers(1, 255))
def test_an_altered_envelope_leaves_its_neighbours_valid(at: int, change: int) -> None:
    """One changed byte invalidates only its own envelope; the envelopes before and after are read as usual.

    This also holds for the payload's length: where a longer payload would end, there is no head of a signature.
    """
    middle = bytearray(SEALED[2])
    middle[at % len(middle)] ^= change
    items = list(envelope.read_batch(SEALED[0] + bytes(middle) + SEALED[1]))
    whole = [written(item) for item in items if isinstance(item, Envelope)]
    assert whole[0] == SEALED[0]
    assert whole[-1] == SEALED[1]
    assert len(items) == 3


@pytest.mark.parametrize(
    "hostile",
    [
        b"\x95\x01\x01\xc4\x08" + bytes(8) + b"\xc6\x00\x00\x80\x00",
        b"\x95\x01\x03\xc4\x08" + bytes(8) + b"\xc4\x00\xc4\x40",
        b"\x95\x01\xdd\x00\xff\xff\xff",
        b"\x95\x01",
        b"\x95\x01\x03\xdd\x7f\xff\xff\xff" + b"\x90" * 1000,
    ],
    ids=["large payloads", "no signatures", "large arrays", "beginnings", "arrays of arrays"],
)
def test_looking_for_envelopes_is_linear(hostile: bytes) -> None:
    """For a batch of beginnings of envelopes, which may state a long payload or array, the reader copies and searches
    less than 32 times the length of the batch."""
    data = CountedBytes(hostile * (100_000 // len(hostile)))
    for _ in envelope.read_batch(data):
        pass
    assert data.visited < 32 * len(data)


def test_empty_bytes_are_an_empty_batch() -> None:
    assert list(envelope.read_batch(b"")) == []


# Keys (SPEC 2)


def test_keys_of_campaigns_differ() -> None:
    """The public keys of two devices in eight campaigns are all different; a secret of a wrong length is refused."""
    derived = {
        SigningKey.for_campaign(secret, bytes([number] * 16)).public
        for secret in (bytes(32), bytes([1] * 32))
        for number in range(8)
    }
    assert len(derived) == 16
    with pytest.raises(ValueError, match="32 bytes"):
        SigningKey.for_campaign(b"", bytes(16))


def test_no_secret_is_shown() -> None:
    """repr of a key, and the error for a key file that cannot be read, do not contain the secret."""
    assert KEY.secret.hex() not in repr(KEY)
    assert repr(KEY) == f"SigningKey(id={KEY.id.hex()})"
    with pytest.raises(BadData) as refused:
        SigningKey.from_line(KEY.line()[:-3])
    assert KEY.secret.hex()[:16] not in str(refused.value)


def test_a_key_file_decodes_to_its_key() -> None:
    """A key file decodes to its key, with or without surrounding blanks."""
    assert SigningKey.from_line(KEY.line()) == SigningKey.from_line(f"\n {KEY.line()}\n") == KEY
    assert keys.public_from_line(keys.public_line(KEY.public)) == KEY.public


def test_the_eight_points_of_small_order_are_listed() -> None:
    """SMALL_ORDER_Y has the y coordinates of the points P with 8 P = 0, by the addition law of the curve."""
    p = keys.FIELD
    d = -121665 * pow(121666, -1, p) % p
    for y in keys.SMALL_ORDER_Y:
        # The curve's equation gives x^2 = (y^2 - 1) / (d y^2 + 1).
        square = (y * y - 1) * pow(d * y * y + 1, -1, p) % p
        x = pow(square, (p + 3) // 8, p)
        if x * x % p != square:
            x = x * pow(2, (p - 1) // 4, p) % p
        assert x * x % p == square
        point = (x, y)
        for _ in range(3):
            u, v = point
            t = d * u * u * v * v
            point = (2 * u * v * pow(1 + t, -1, p) % p, (v * v + u * u) * pow(1 - t, -1, p) % p)
        assert point == (0, 1)
    # These are eight points, because y = 0, c and p - c have two x each.
    assert len(keys.SMALL_ORDER_Y) == 5
