"""The layout of a poster: lines, boxes and the QR code, in millimetres from the top left of an A4 page.

Texts may have any length, so the layout is computed with decreasing letter sizes until everything fits on the page. The
remaining space is divided between the sections.

Sizes of letters are in points (1/72 inch). ``poster`` draws the lines and boxes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from aggregator.invite.content import PosterContent
from aggregator.invite.qr import QUIET, modules_of
from protocol.errors import HalftruthError

PAGE_WIDTH, PAGE_HEIGHT = 210.0, 297.0
EDGE = 17.0
COLUMN = PAGE_WIDTH - 2 * EDGE
POINT = 25.4 / 72
"""The length of a point in millimetres."""
SCALES = tuple(size / 100 for size in range(130, 44, -5))
MIN_GAP, MAX_GAP = 5.5, 11.0
"""Millimetres between two sections: the minimum at scale 1, and the maximum that is added to the minimum."""

PAPER, INK, MUTED, ACCENT, TINT = "#ffffff", "#1b2420", "#55625d", "#0b6b58", "#e6f1ed"


class TextsTooLong(HalftruthError):
    """The campaign's texts do not fit on one page."""


@dataclass(frozen=True)
class LetterStyle:
    """The style of letters: size in points, weight, colour, monospaced or not, and line distance as a multiple of the
    size."""

    size: float
    weight: str = "normal"
    colour: str = INK
    mono: bool = False
    leading: float = 1.32

    @property
    def font(self) -> FontProperties:
        """The font; matplotlib contains it."""
        family = "DejaVu Sans Mono" if self.mono else "DejaVu Sans"
        return FontProperties(family=family, weight=self.weight, size=self.size)

    @property
    def line(self) -> float:
        """The distance from one line to the next, in millimetres."""
        return self.size * self.leading * POINT

    def width(self, text: str) -> float:
        """Return an upper bound of a text's width in millimetres; kerning may make it narrower."""
        family = (self.weight, self.mono)
        return sum(_advance(letter, *family) for letter in text) * self.size * POINT


@cache
def _advance(letter: str, weight: str, mono: bool) -> float:
    """Return the width of a letter as a multiple of its size."""
    return float(text_to_path.get_text_width_height_descent(letter, LetterStyle(1.0, weight, mono=mono).font, False)[0])


@dataclass(frozen=True)
class DrawnLine:
    """One line of text.

    Attributes:
        x, y: left end (or the middle if ``centred``) and baseline.
        link: the link that a click opens; empty for no link.
    """

    x: float
    y: float
    text: str
    style: LetterStyle
    centred: bool = False
    link: str = ""


@dataclass(frozen=True)
class DrawnBox:
    """A filled box with rounded corners."""

    x: float
    y: float
    wide: float
    high: float
    colour: str
    radius: float = 0.0


@dataclass(frozen=True)
class PosterPage:
    """The contents of a page. ``qr_position`` is the position of the QR code without its quiet zone: left, top and side
    length."""

    lines: tuple[DrawnLine, ...]
    boxes: tuple[DrawnBox, ...]
    qr_position: tuple[float, float, float]


@dataclass(frozen=True)
class _PosterSection:
    """A section of the page: its lines and boxes with positions relative to its top, and its height."""

    high: float
    lines: tuple[DrawnLine, ...] = ()
    boxes: tuple[DrawnBox, ...] = ()
    qr_position: tuple[float, float, float] | None = None


def page_of(content: PosterContent) -> PosterPage:
    """Return the layout of a poster.

    Raises:
        TextsTooLong: the texts do not fit on one page.
    """
    for scale in SCALES:
        head, foot = _head(content, scale), _foot(content, scale)
        parts = list(_parts(content, scale))
        room = PAGE_HEIGHT - head.high - foot.high - sum(part.high for part in parts)
        gap = room / (len(parts) + 1)
        if gap >= MIN_GAP * scale:
            return _together(head, parts, foot, min(gap, MIN_GAP * scale + MAX_GAP))
    raise TextsTooLong(
        "the campaign's texts do not fit on one page: run the command without --out to get the link, and make your own "
        "poster with it"
    )


def _together(head: _PosterSection, parts: list[_PosterSection], foot: _PosterSection, gap: float) -> PosterPage:
    placed, y = [(0.0, head)], head.high + gap
    for part in parts:
        placed.append((y, part))
        y += part.high + gap
    placed.append((PAGE_HEIGHT - foot.high, foot))
    lines = tuple(replace(line, y=top + line.y) for top, part in placed for line in part.lines)
    boxes = tuple(replace(box, y=top + box.y) for top, part in placed for box in part.boxes)
    [(left, y, side)] = [
        (left, top + y, side) for top, part in placed if part.qr_position for left, y, side in (part.qr_position,)
    ]
    return PosterPage(lines, boxes, (left, y, side))


def _head(content: PosterContent, scale: float) -> _PosterSection:
    if not content.head:
        return _PosterSection(9.0, boxes=(DrawnBox(0, 0, PAGE_WIDTH, 9.0, ACCENT),))
    style = LetterStyle(17 * scale, "bold", PAPER)
    lines, high = block(content.head, style, EDGE, COLUMN, 9.0)
    high += 7.0
    return _PosterSection(high, lines, (DrawnBox(0, 0, PAGE_WIDTH, high, ACCENT),))


def _parts(content: PosterContent, scale: float) -> Iterator[_PosterSection]:
    yield _texts(
        (content.title, LetterStyle(27 * scale, "bold", leading=1.2), 3.5 * scale),
        (content.question, LetterStyle(16 * scale, colour=ACCENT), 3.5 * scale),
        (content.purpose, LetterStyle(11.5 * scale, colour=MUTED), 0.0),
    )
    yield _qr(content, scale)
    yield _promise(content, scale)


def _texts(*texts: tuple[str, LetterStyle, float]) -> _PosterSection:
    """Place texts below each other, each with its style and the space below it."""
    lines: list[DrawnLine] = []
    high = 0.0
    for text, style, below in texts:
        if text:
            block_lines, high = block(text, style, EDGE, COLUMN, high)
            lines += block_lines
            high += below
    return _PosterSection(high, tuple(lines))


def _qr(content: PosterContent, scale: float) -> _PosterSection:
    """Place the QR code, the steps beside it, and the link below."""
    side = min(94.0, 88.0 * max(scale, 0.7))
    quiet = QUIET * side / len(modules_of(content.link))
    above = max(0.0, quiet - MIN_GAP * scale)
    left, gap, disc = EDGE + side + quiet, 3.4 * scale, 7.2 * scale
    wide = PAGE_WIDTH - EDGE - left
    lines, high = block(content.part, LetterStyle(16 * scale, "bold"), left, wide, 0.0)
    high += gap
    boxes: list[DrawnBox] = []
    for number, step in enumerate(content.steps, 1):
        block_lines, below = block(step, LetterStyle(11.5 * scale), left + disc + 3.5, wide - disc - 3.5, high)
        middle = high + disc / 2
        boxes.append(DrawnBox(left, high - 0.6 * scale, disc, disc, ACCENT, disc / 2))
        digit = LetterStyle(11 * scale, "bold", PAPER)
        centre = middle - 0.6 * scale + 0.36 * digit.size * POINT
        lines = (*lines, DrawnLine(left + disc / 2, centre, str(number), digit, centred=True), *block_lines)
        high = max(below, high + disc) + gap
    block_lines, high = block(content.when, LetterStyle(11.5 * scale, "bold", ACCENT), left, wide, high + gap / 2)
    top = above + max(0.0, (side - high) / 2)
    lines = tuple(replace(line, y=line.y + top) for line in (*lines, *block_lines))
    boxes = [replace(box, y=box.y + top) for box in boxes]
    high = max(high + top + 5.0 * scale, above + side + quiet)
    link, high = block(
        content.link, LetterStyle(10 * min(scale, 1.0), mono=True), EDGE, COLUMN, high, link=content.link
    )
    return _PosterSection(high, (*lines, *link), tuple(boxes), (EDGE, above, side))


def _promise(content: PosterContent, scale: float) -> _PosterSection:
    inside = 5.5
    lines, high = block(content.promised, LetterStyle(12.5 * scale, "bold"), EDGE + inside, COLUMN - 2 * inside, inside)
    text, high = block(content.promise, LetterStyle(11 * scale), EDGE + inside, COLUMN - 2 * inside, high + 1.8 * scale)
    return _PosterSection(high + inside, (*lines, *text), (DrawnBox(EDGE, 0.0, COLUMN, high + inside, TINT, 3.0),))


def _foot(content: PosterContent, scale: float) -> _PosterSection:
    part = _texts(*((text, LetterStyle(9.5 * min(scale, 1.0), colour=MUTED), 0.8) for text in content.foot))
    return replace(part, high=part.high + EDGE * 0.75)


def block(
    text: str, style: LetterStyle, x: float, wide: float, top: float, link: str = ""
) -> tuple[tuple[DrawnLine, ...], float]:
    """Return the lines of a text that begins at ``top``, and the position of the text's lower end."""
    lines = []
    y = top
    for words in _wrapped(text, style, wide):
        lines.append(DrawnLine(x, y + 0.93 * style.size * POINT, words, style, link=link))
        y += style.line
    return tuple(lines), y


def _wrapped(text: str, style: LetterStyle, wide: float) -> Iterator[str]:
    """Yield the lines of a text, at most ``wide`` millimetres wide; a longer word is broken."""
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}" if line else word
            if style.width(longer) <= wide:
                line = longer
                continue
            if line:
                yield line
            while style.width(word) > wide:
                fits = _fitting(word, style, wide)
                yield word[:fits]
                word = word[fits:]
            line = word
        yield line


def _fitting(word: str, style: LetterStyle, wide: float) -> int:
    """Return the number of characters of a word that fit on a line, at least 1. If the second half of these characters
    contains a / or #, return the number of characters up to the last such sign."""
    fits = next(length for length in range(len(word), 0, -1) if length == 1 or style.width(word[:length]) <= wide)
    sign = max(word.rfind(sign, 0, fits) for sign in "/#") + 1
    return sign if 2 * sign >= fits else fits
