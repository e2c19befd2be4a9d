"""Bytes that are nearly valid: with one flipped bit, or drawn by Hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st


def flipped(data: bytes, bit: int = -8) -> bytes:
    """Return ``data`` with one bit flipped; by default the last byte's lowest one, which in an envelope is a bit of the
    signature."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@st.composite
def altered(draw: st.DrawFn, valid: st.SearchStrategy[bytes], least: int = 0, most: int = 3) -> bytes:
    """Valid bytes with ``least`` to ``most`` changes, each of which replaces, removes or inserts up to three bytes.

    Arbitrary bytes are almost never valid, so a property of valid bytes would not be tested with them.
    """
    data = draw(valid)
    for _ in range(draw(st.integers(least, most))):
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.binary(max_size=3)) + data[at + draw(st.integers(0, 3)) :]
    return data
