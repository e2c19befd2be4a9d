"""Properties of the codec (SPEC 1)."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from protocol import codec
from protocol.errors import CodecError, Truncated
from tests.fuzz.targets import codec_target

LIMIT = 2**20


def text_without_surrogates() -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


def values() -> st.SearchStrategy[codec.Value]:
    edges = [
        sign * 2**power + step for power in (5, 7, 8, 15, 16, 31, 32, 63) for sign in (1, -1) for step in (-1, 0, 1)
    ]
    integers = st.integers(-(2**63), 2**64 - 1) | st.sampled_from([edge for edge in edges if edge >= -(2**63)])
    scalars = integers | text_without_surrogates() | st.binary(max_size=300)
    return st.recursive(scalars, lambda inner: st.lists(inner, max_size=20), max_leaves=30)


def depth(value: codec.Value) -> int:
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


@given(values().filter(lambda value: depth(value) <= codec.MAX_DEPTH))
def test_every_value_decodes_to_itself(value: codec.Value) -> None:
    """decode(encode(v)) = v for every value of the subset."""
    assert codec.decode(codec.encode(value), limit=LIMIT) == value


@given(st.binary(max_size=40))
@example(b"\xcc\x80")
@example(b"\xd0\xdf")
@example(b"\x91" * 8 + b"\x00")
def test_decoded_values_have_one_encoding(data: bytes) -> None:
    """Random bytes are refused, or are the only encoding of the value that msgpack gives for them."""
    codec_target(data)


@given(values().filter(lambda value: depth(value) <= codec.MAX_DEPTH), st.data())
def test_mutated_bytes_are_refused_or_encode_another_value(value: codec.Value, data: st.DataObject) -> None:
    """A valid encoding with a byte changed, lost or inserted is refused, or is the only encoding of another value."""
    encoded = codec.encode(value)
    at = data.draw(st.integers(0, len(encoded) - 1))
    byte = data.draw(st.binary(max_size=1))
    skipped = data.draw(st.integers(0, 1))
    codec_target(encoded[:at] + byte + encoded[at + skipped :])


@pytest.mark.parametrize("markers", [(0xCC, 0xCD, 0xCE, 0xCF), (0xD0, 0xD1, 0xD2, 0xD3)])
@given(number=st.integers(-(2**63), 2**63 - 1))
def test_every_long_form_of_an_integer_is_refused(markers: tuple[int, ...], number: int) -> None:
    """Of all forms that can encode an integer, only the shortest decodes; signed forms encode no positive number."""
    canonical = codec.encode(number)
    signed = markers[0] == 0xD0
    for marker, width in zip(markers, (1, 2, 4, 8), strict=True):
        try:
            form = bytes([marker]) + number.to_bytes(width, "big", signed=signed)
        except OverflowError:
            continue
        if form == canonical:
            assert codec.decode(form, limit=9) == number
        else:
            with pytest.raises(CodecError):
                codec.decode(form, limit=9)


@pytest.mark.parametrize("length", [0, 1, 15, 16, 31, 32, 255, 256, 65_535, 65_536])
def test_every_long_form_of_a_length_is_refused(length: int) -> None:
    """Of all forms of a text, byte string or array, only the shortest decodes."""
    for markers, content, value in (
        (((0xD9, 1), (0xDA, 2), (0xDB, 4)), b"a" * length, "a" * length),
        (((0xC4, 1), (0xC5, 2), (0xC6, 4)), b"a" * length, b"a" * length),
        (((0xDC, 2), (0xDD, 4)), b"\x01" * length, [1] * length),
    ):
        canonical = codec.encode(value)
        for marker, width in markers:
            if length >= 1 << 8 * width:
                continue
            form = bytes([marker]) + length.to_bytes(width, "big") + content
            if form == canonical:
                continue
            with pytest.raises(CodecError, match="shortest"):
                codec.decode(form, limit=LIMIT)


@pytest.mark.parametrize(
    "data", [b"\xdb" + b"\xff" * 4, b"\xc6" + b"\xff" * 5, b"\xdd" + b"\xff" * 5, b"\xdd\xff\xff\xff\xff\xc0"]
)
def test_claimed_lengths_are_not_allocated(data: bytes) -> None:
    """A few bytes that state a length of four gigabytes, or of four billion elements, are refused within a few
    kilobytes of memory."""
    tracemalloc.start()
    try:
        with pytest.raises(Truncated):
            codec.decode(data, limit=LIMIT)
        assert tracemalloc.get_traced_memory()[1] < 2**14
    finally:
        tracemalloc.stop()


def test_arrays_are_nested_at_most_eight_deep() -> None:
    """Eight nested arrays are accepted; nine are refused by encoder and decoder, for bytes of any depth."""
    value: codec.Value = []
    for _ in range(codec.MAX_DEPTH - 1):
        value = [value]
    assert codec.decode(codec.encode(value), limit=LIMIT) == value
    with pytest.raises(ValueError, match="deep"):
        codec.encode([value])
    for levels in (codec.MAX_DEPTH, 600, 100_000):
        with pytest.raises(CodecError, match="deep"):
            codec.decode(b"\x91" * levels + b"\x90", limit=LIMIT)


def test_an_array_in_the_place_of_a_text_is_refused_as_an_array() -> None:
    """An array where a single value is expected is refused for this reason, whatever its depth."""
    assert codec.scalar_at(codec.encode(["lip", 1]), 1) == ("lip", 5)
    for length in (0, 15, 16, 2**16):
        with pytest.raises(CodecError, match="text, a number or a byte string is expected, not an array"):
            codec.scalar_at(codec.encode([0] * length), 0)
    with pytest.raises(Truncated):
        codec.scalar_at(b"\x90", 1)


def test_bytes_over_the_limit_are_refused_before_parsing() -> None:
    assert codec.decode(b"\xc4\x01\x00", limit=3) == b"\0"
    with pytest.raises(CodecError, match="at most 2"):
        codec.decode(b"\xc1\xc1\xc1", limit=2)


@pytest.mark.parametrize("value", [True, None, 1.0, {}, (1, 2), {1}, bytearray(b"a"), [1, [None]]])
def test_other_types_are_not_encoded(value: object) -> None:
    """A value outside the subset raises a TypeError, at any depth, because it is a mistake of the program."""
    with pytest.raises(TypeError):
        codec.encode(value)  # type: ignore[arg-type]  # a programmer may pass a wrong type


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, [2**64]])
def test_other_integers_are_not_encoded(value: codec.Value) -> None:
    """Integers that no form can encode raise a ValueError, because they are a mistake of the program."""
    with pytest.raises(ValueError, match="integer"):
        codec.encode(value)


def test_a_text_is_readable_unless_it_has_a_listed_code_point() -> None:
    """A text is unreadable if it contains any of the code points that SPEC 1.3 lists, and readable otherwise."""
    ranges = (
        (0, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5),
        (0x180B, 0x180F), (0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F), (0x2800, 0x2800), (0x3164, 0x3164),
        (0xD800, 0xDFFF), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFC), (0xFFFE, 0xFFFF),
        (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
    )  # fmt: skip
    unreadable = {point for low, high in ranges for point in range(low, high + 1)}
    assert {point for point in range(0x110000) if not codec.readable(chr(point))} == unreadable


@pytest.mark.parametrize(
    "text",
    ["\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0915\u094d\u200d\u0937", "\u0dc1\u0dca\u200d\u0dbb\u0dd3",
     "\U0001f469\u200d\U0001f52c", "\u2764\ufe0f\u200d\U0001f525", "\u2602\ufe0e", "\u1820\u180b"],
)  # fmt: skip
def test_joiners_are_accepted_only_inside_words_that_need_them(text: str) -> None:
    """Joiners are accepted inside Persian, Hindi, Sinhala, Mongolian and emoji, and refused at either end of a text,
    doubled, or between Latin letters."""
    assert codec.readable(text)
    sign = next(one for one in text if one in "\u200c\u200d\ufe0e\ufe0f\u180b")
    for wrong in (sign + text, text + "\u200c", text.replace(sign, sign * 2), f"a{sign}b", f"a {sign}"):
        assert not codec.readable(wrong), ascii(wrong)
