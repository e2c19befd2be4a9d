"""QR codes (ISO/IEC 18004, by the package segno), and their text form for a terminal."""

from __future__ import annotations

QUIET = 4
"""Width in modules of the light margin around a code, by which a camera finds the code."""

Modules = tuple[tuple[bool, ...], ...]
"""Rows of a code; True is dark."""


def modules_of(text: str) -> Modules:
    """Return the QR code of a text, without its quiet zone.

    The code can be read if up to 15% of it is damaged (error correction level M); a higher level is used if it does not
    make the code larger.
    """
    import segno  # imported here because only this command needs it

    code = segno.make_qr(text, error="m", boost_error=True)
    return tuple(tuple(bool(module) for module in row) for row in code.matrix)


def runs(modules: Modules) -> list[tuple[int, int, int]]:
    """Return the horizontal dark runs of a code: the row, first column and length of each."""
    dark_runs = []
    for row, line in enumerate(modules):
        column = 0
        while column < len(line):
            length = next((n for n, dark in enumerate(line[column:]) if not dark), len(line) - column)
            if length:
                dark_runs.append((row, column, length))
            column += max(length, 1)
    return dark_runs


def as_text(modules: Modules) -> str:
    """Return a code with its quiet zone in half-block characters, two rows of modules on each line; dark modules are
    drawn."""
    size = len(modules) + 2 * QUIET
    dark = {(row + QUIET, first + QUIET + offset) for row, first, length in runs(modules) for offset in range(length)}
    blocks = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
    return "\n".join(
        "".join(blocks[(row, column) in dark, (row + 1, column) in dark] for column in range(size))
        for row in range(0, size, 2)
    )
