"""A Hypothesis strategy for bytes that are valid or nearly valid."""

from __future__ import annotations

from hypothesis import strategies as st


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
