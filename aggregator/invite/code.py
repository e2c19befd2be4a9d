"""A QR code: its modules, and how a terminal shows them.

Source: ISO/IEC 18004, as the package segno implements it.
"""

from __future__ import annotations

QUIET = 4
"""Light modules around a code, which a camera needs to find it."""

Modules = tuple[tuple[bool, ...], ...]
"""Rows of a code; True is dark."""


def modules_of(text: str) -> Modules:
    """The QR code of a text, without its quiet zone.

    15% of the code may be damaged or dirty (level M), and more where that makes it no larger.
    """
    import segno  # so that the other commands do without

    code = segno.make_qr(text, error="m", boost_error=True)
    return tuple(tuple(bool(module) for module in row) for row in code.matrix)


def runs(modules: Modules) -> list[tuple[int, int, int]]:
    """The dark runs of a code: row, first column, and length of each."""
    found = []
    for row, line in enumerate(modules):
        column = 0
        while column < len(line):
            length = next((n for n, dark in enumerate(line[column:]) if not dark), len(line) - column)
            if length:
                found.append((row, column, length))
            column += max(length, 1)
    return found


def as_text(modules: Modules) -> str:
    """A code in half blocks, two rows in a line, with its quiet zone; dark modules are drawn."""
    size = len(modules) + 2 * QUIET
    dark = {(row + QUIET, first + QUIET + at) for row, first, length in runs(modules) for at in range(length)}
    blocks = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
    return "\n".join(
        "".join(blocks[(row, column) in dark, (row + 1, column) in dark] for column in range(size))
        for row in range(0, size, 2)
    )
