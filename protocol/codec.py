"""The codec: a canonical subset of msgpack (SPEC 1).

It has integers, UTF-8 text, byte strings and arrays, and nothing else. Every value has exactly one encoding, so
``encode(decode(data)) == data`` for all accepted bytes. General msgpack decoders silently accept long-form integers,
duplicate map keys, NaN, extension types and 600-deep nesting. This one reads only the shortest form, counts the depth,
and compares every claimed length with the available bytes before it allocates.

The modules that use the codec define the meaning of their arrays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import msgpack

from protocol.errors import CodecError, Truncated

Value: TypeAlias = "int | str | bytes | list[Value]"

MAX_DEPTH = 8
_MIN_INT = -(2**63)
_MAX_INT = 2**64 - 1

# Each marker maps to the number of bytes that follow, and to the smallest number that needs this form.
_UINT = {0xCC: (1, 2**7), 0xCD: (2, 2**8), 0xCE: (4, 2**16), 0xCF: (8, 2**32)}
# Here the second entry is the largest number that needs this form; signed forms contain negative numbers only.
_NEGATIVE = {0xD0: (1, -33), 0xD1: (2, -(2**7) - 1), 0xD2: (4, -(2**15) - 1), 0xD3: (8, -(2**31) - 1)}
_TEXT = {0xD9: (1, 2**5), 0xDA: (2, 2**8), 0xDB: (4, 2**16)}
_BYTES = {0xC4: (1, 0), 0xC5: (2, 2**8), 0xC6: (4, 2**16)}
_ARRAY = {0xDC: (2, 2**4), 0xDD: (4, 2**16)}


def encode(value: Value) -> bytes:
    """Encode ``value`` in its one canonical form.

    Raises:
        TypeError: a type outside the subset (booleans, floats, None, dicts among them).
        ValueError: an integer outside -2^63 .. 2^64 - 1, nesting deeper than ``MAX_DEPTH``, or a text that UTF-8 cannot
            encode.
    """
    _require_encodable(value, MAX_DEPTH)
    packed: bytes = msgpack.packb(value, use_bin_type=True)
    return packed


def _require_encodable(value: Value, depth: int) -> None:
    kind = type(value)
    if kind is list:
        if depth == 0:
            raise ValueError(f"an array is nested more than {MAX_DEPTH} deep")
        for item in value:  # type: ignore[union-attr]  # the value is a list
            if type(item) is not bytes:
                _require_encodable(item, depth - 1)
    elif kind is int:
        if not _MIN_INT <= value <= _MAX_INT:  # type: ignore[operator]  # the value is an int
            raise ValueError("an integer on the wire must lie in -2^63 .. 2^64 - 1")
    elif kind is not bytes and kind is not str:
        raise TypeError(f"the wire carries int, str, bytes and list, not {kind.__name__}")


def written_bytes(length: int) -> int:
    """Return the length of the canonical encoding of a byte string of ``length`` bytes."""
    return 1 + next(width for width, smallest in reversed(_BYTES.values()) if length >= smallest) + length


def decode(data: bytes, *, limit: int) -> Value:
    """Decode exactly one value that fills ``data``.

    Args:
        limit: maximum length of ``data`` in bytes, checked first.
    Raises:
        CodecError: ``data`` is longer than ``limit``, or is not exactly one canonical value without further bytes.
    """
    if len(data) > limit:
        raise CodecError(f"the value has {len(data)} bytes, and at most {limit} are allowed")
    value, end = _read(data, 0, MAX_DEPTH)
    if end != len(data):
        raise CodecError(f"there are bytes after the value, which ends at byte {end} of {len(data)}")
    return value


def locate_bytes(data: bytes, start: int, limit: int, subject: str, error: type[Exception]) -> tuple[int, int]:
    """Return the offset where the content of a byte string begins, and the offset after its end; nothing is copied.

    Args:
        start: offset of the byte string.
        limit: maximum length of its content in bytes.
        subject, error: the name of the byte string in the text of an error, and the class of the error.
    Raises:
        error: there is no byte string, or it claims more than ``limit`` bytes.
        Truncated: ``data`` ends before or inside it.
        CodecError: the length of the byte string is not in its shortest form.
    """
    _require(data, start, 1)
    form = _BYTES.get(data[start])
    if form is None:
        raise error(f"{subject} must be a byte string, not type byte 0x{data[start]:02x}")
    length, begin = _number(data, start + 1, form)
    if length > limit:
        raise error(f"{subject} must have at most {limit} bytes, not {length}")
    _require(data, begin, length)
    return begin, begin + length


def array_at(data: bytes, offset: int) -> tuple[int, int]:
    """Return the claimed length of the array at ``offset``, and the offset of its first element; no element is read.

    Raises:
        CodecError: there is no array, its length is not in its shortest form, or it claims more elements than there are
            bytes after it.
    """
    _require(data, offset, 1)
    marker = data[offset]
    if 0x90 <= marker < 0xA0:
        length, offset = marker - 0x90, offset + 1
    elif marker in _ARRAY:
        length, offset = _number(data, offset + 1, _ARRAY[marker])
    else:
        raise CodecError(f"an array is expected, not type byte 0x{marker:02x}")
    _require(data, offset, length)
    return length, offset


def scalar_at(data: bytes, offset: int) -> tuple[Value, int]:
    """Return the value at ``offset``, which must not be an array, and the offset after it.

    Raises:
        CodecError: there is an array, or no canonical value, at ``offset``.
    """
    if _is_array(data, offset):
        raise CodecError("text, a number or a byte string is expected, not an array")
    return _read(data, offset, 0)


def skip(data: bytes, offset: int) -> int:
    """Return the offset after the value at ``offset``; the value is discarded.

    Arrays may be nested to any depth.

    Raises:
        CodecError: there is no canonical value at ``offset``.
    """
    left = 1
    while left:
        if _is_array(data, offset):
            length, offset = array_at(data, offset)
            left += length
        else:
            _, offset = _read(data, offset, 0)
        left -= 1
    return offset


def _is_array(data: bytes, offset: int) -> bool:
    _require(data, offset, 1)
    return 0x90 <= data[offset] < 0xA0 or data[offset] in _ARRAY


def _read(data: bytes, offset: int, depth: int) -> tuple[Value, int]:
    """Return the value at ``offset``, with at most ``depth`` nested arrays, and the offset after it."""
    if offset >= len(data):
        raise Truncated("the bytes end where a value should begin")
    marker = data[offset]
    offset += 1
    if marker < 0x80:
        return marker, offset
    if marker >= 0xE0:
        return marker - 0x100, offset
    if marker in _UINT:
        return _number(data, offset, _UINT[marker])
    if marker in _NEGATIVE:
        width, largest = _NEGATIVE[marker]
        _require(data, offset, width)
        number = int.from_bytes(data[offset : offset + width], "big", signed=True)
        if number > largest:
            raise CodecError("a number must be in its shortest form")
        return number, offset + width
    if marker in _BYTES:
        length, offset = _number(data, offset, _BYTES[marker])
        _require(data, offset, length)
        return data[offset : offset + length], offset + length
    if 0xA0 <= marker < 0xC0:
        return _text(data, offset, marker - 0xA0)
    if marker in _TEXT:
        length, offset = _number(data, offset, _TEXT[marker])
        return _text(data, offset, length)
    if 0x90 <= marker < 0xA0:
        return _array(data, offset, marker - 0x90, depth)
    if marker in _ARRAY:
        length, offset = _number(data, offset, _ARRAY[marker])
        return _array(data, offset, length, depth)
    raise CodecError(f"type byte 0x{marker:02x} is not allowed: only integers, text, bytes and arrays are")


def _require(data: bytes, offset: int, length: int) -> None:
    if length > len(data) - offset:
        raise Truncated("a length reaches past the end of the bytes")


def _number(data: bytes, offset: int, form: tuple[int, int]) -> tuple[int, int]:
    """Return the big-endian number at ``offset``, and the offset after it; refuse a number that has a shorter form."""
    width, smallest = form
    _require(data, offset, width)
    number = int.from_bytes(data[offset : offset + width], "big")
    if number < smallest:
        raise CodecError("a number must be in its shortest form")
    return number, offset + width


def _text(data: bytes, offset: int, length: int) -> tuple[str, int]:
    """Return the text of ``length`` bytes at ``offset``, and the offset after it."""
    _require(data, offset, length)
    try:
        return data[offset : offset + length].decode("utf-8"), offset + length
    except UnicodeDecodeError:
        raise CodecError("a text must be UTF-8") from None


def _array(data: bytes, offset: int, length: int, depth: int) -> tuple[list[Value], int]:
    """Return the ``length`` values from ``offset`` on, and the offset after them; ``depth`` as for ``_read``."""
    if depth == 0:
        raise CodecError(f"arrays nest deeper than {MAX_DEPTH}")
    # Every element takes at least one byte, so a longer array than the data is refused before it is built.
    _require(data, offset, length)
    items: list[Value] = []
    for _ in range(length):
        item, offset = _read(data, offset, depth - 1)
        items.append(item)
    return items, offset


# These code points are invisible or change the appearance of others. They are listed here because the Unicode tables of
# machines differ from version to version. Joiners and variation selectors are invisible too, but Persian, Mongolian,
# the scripts of India and emoji need them: they are accepted only beside characters whose appearance they change.
_NEVER = (
    r"\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800"
    r"\u3164\ud800-\udfff\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff"
)
_JOINING = r"\u0620-\u0dff\u1000-\u109f\u1780-\u17ff\u1820-\u18aa\ufb50-\ufdff\ufe70-\ufefc\U0001e900-\U0001e943"
_EMOJI = r"\u2190-\u2bff\U0001f000-\U0001faff"
_UNREADABLE = re.compile(
    f"[{_NEVER}]"
    rf"|\u200c(?:(?<![{_JOINING}]\u200c)|(?![{_JOINING}]))"
    rf"|\u200d(?:(?<![{_JOINING}]\u200d)(?<![{_EMOJI}\ufe0f]\u200d)|(?![{_JOINING}{_EMOJI}]))"
    rf"|[\ufe0e\ufe0f](?<![{_EMOJI}][\ufe0e\ufe0f])"
    r"|[\u180b-\u180d\u180f](?<![\u1820-\u18aa][\u180b-\u180d\u180f])"
)


def readable(value: str) -> bool:
    """Return whether a text can be shown on one line unchanged (SPEC 1.3)."""
    return _UNREADABLE.search(value) is None


# The functions below read decoded fields. ``subject`` names the field in the text of an error. No text repeats a value,
# which may be a person's.


def fields(value: Value, count: int, subject: str, error: type[Exception]) -> list[Value]:
    """Return ``value`` as an array of exactly ``count`` elements.

    Raises:
        error: ``value`` is not an array, or has another length.
    """
    if not isinstance(value, list) or len(value) != count:
        description = f"of {len(value)}" if isinstance(value, list) else type(value).__name__
        raise error(f"{subject} must be an array of {count} fields, not {description}")
    return value


def integer(value: Value, subject: str, error: type[Exception], low: int = 0, high: int = _MAX_INT) -> int:
    """Return ``value`` as an integer in ``low .. high``.

    Raises:
        error: ``value`` is not an integer, or outside this range.
    """
    if not isinstance(value, int):
        raise error(f"{subject} must be an integer, not {type(value).__name__}")
    if not low <= value <= high:
        raise error(f"{subject} must lie in {low} .. {high}")
    return value


def text(value: Value, subject: str, error: type[Exception]) -> str:
    """Return ``value`` as text.

    Raises:
        error: ``value`` is not text.
    """
    if not isinstance(value, str):
        raise error(f"{subject} must be text, not {type(value).__name__}")
    return value


def octets(value: Value, subject: str, error: type[Exception], length: int | None = None) -> bytes:
    """Return ``value`` as a byte string, of exactly ``length`` bytes if a length is given.

    Raises:
        error: ``value`` is not a byte string, or has another length.
    """
    if not isinstance(value, bytes):
        raise error(f"{subject} must be a byte string, not {type(value).__name__}")
    if length is not None and len(value) != length:
        raise error(f"{subject} must be {length} bytes, not {len(value)}")
    return value


def array(value: Value, subject: str, error: type[Exception]) -> list[Value]:
    """Return ``value`` as an array.

    Raises:
        error: ``value`` is not an array.
    """
    if not isinstance(value, list):
        raise error(f"{subject} must be an array, not {type(value).__name__}")
    return value


def tag(value: Value, subject: str, name: str, error: type[Exception]) -> str:
    """Return the text at the start of an array, which determines the meaning of the other elements.

    Args:
        name: the word for the first element of the array in the text of an error.
    Raises:
        error: ``value`` is not an array, or its first element is missing or not text.
    """
    elements = array(value, subject, error)
    if not elements:
        raise error(f"{subject} must begin with its {name}, and this array is empty")
    return text(elements[0], f"the {name} of {subject}", error)


def integers(value: Value, subject: str, error: type[Exception], low: int = 0, high: int = _MAX_INT) -> tuple[int, ...]:
    """Return ``value`` as an array of integers in ``low .. high``.

    Raises:
        error: ``value`` is not an array, or an element is not such an integer.
    """
    if not isinstance(value, list):
        raise error(f"an array of integers is expected, not {type(value).__name__}: each must be {subject}")
    return tuple(integer(item, subject, error, low, high) for item in value)


def require_increasing(entries: Sequence[Any], subject: str, error: type[Exception]) -> None:
    """Refuse entries that do not increase.

    Raises:
        error: an entry is not above the one before it.
    """
    for number, (before, after) in enumerate(pairwise(entries), start=1):
        if after <= before:
            raise error(
                f"{subject} must be in increasing order, each once; entry {number + 1} is not above entry {number}"
            )


def require_first_use(places: Sequence[int], count: int, subject: str, error: type[Exception]) -> None:
    """Refuse a list with an entry that nothing uses, or with entries in another order than that of their first use.

    Args:
        places: for each use of an entry, its position in the list, 0 .. ``count`` - 1.
        count: the number of entries.
    Raises:
        error: an entry is not used, or is not in its place.
    """
    if len(first := list(dict.fromkeys(places))) < count:
        raise error(f"a listed {subject} is not used: leave it out")
    if first != sorted(first):
        raise error(f"the list has a {subject} in the wrong place: list each one in the order of its first use")
