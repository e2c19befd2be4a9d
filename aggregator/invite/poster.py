"""A poster as a file: one drawing, saved as SVG, PDF or PNG, or as HTML that contains the SVG.

SVG and PDF consist of lines and outlines of letters, so they are sharp at any size. No file loads other files.

``content`` has the texts, and ``layout`` computes their positions.
"""

from __future__ import annotations

import io
import unicodedata
import warnings
from collections.abc import Iterable

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.patches import Circle, FancyBboxPatch, Patch, PathPatch
from matplotlib.path import Path

from aggregator.invite.content import PosterContent
from aggregator.invite.layout import (
    INK,
    PAGE_HEIGHT,
    PAGE_WIDTH,
    PAPER,
    DrawnBox,
    DrawnLine,
    LetterStyle,
    PosterPage,
    page_of,
)
from aggregator.invite.qr import modules_of, runs
from aggregator.present.markup import Html, tag

DOTS_PER_INCH = 200
INCH = 25.4
_CSS = (
    "@page{size:A4;margin:0}body{margin:0;background:#fff}"
    "svg{display:block;width:210mm;max-width:100%;height:auto;margin:0 auto}"
)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def draw_poster(content: PosterContent, file_format: str) -> bytes:
    """Return a poster as the bytes of a file; the same content gives the same bytes.

    Args:
        file_format: svg, pdf, png or html.
    Raises:
        TextsTooLong: the texts do not fit on one page.
    """
    figure = _figure(page_of(content), content.link)
    title = " - ".join(part for part in (content.title, content.head) if part)
    if file_format != "html":
        return _saved(figure, file_format, title)
    drawn = _saved(figure, "svg", title).decode("utf-8")
    # This markup is safe: matplotlib draws the author's texts as outlines or escapes them.
    picture = Html(drawn[drawn.index("<svg") :])
    words = "\n".join(content.texts)
    body = (tag("div", picture, role="img", aria_label=words), tag("style", Html(_CSS)))
    head = (
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width"),
        tag("title", title),
    )
    page = tag("html", tag("head", *head), tag("body", *body), lang=content.language)
    return f"<!doctype html>\n{page}\n".encode()


def undrawn(content: PosterContent) -> list[str]:
    """Return the letters that a poster cannot show: those missing in its font, and those written from right to left."""
    known = get_font(findfont(LetterStyle(10).font)).get_charmap()
    letters = sorted({letter for text in content.texts for letter in text if not letter.isspace()})
    return [
        letter for letter in letters if ord(letter) not in known or unicodedata.bidirectional(letter) in ("R", "AL")
    ]


def _figure(page: PosterPage, link: str) -> Figure:
    figure, axes = blank_page()
    for box in page.boxes:
        axes.add_patch(_shape(box))
    axes.add_patch(PathPatch(outline(link, *page.qr_position), facecolor=INK, linewidth=0))
    draw_lines(axes, page.lines)
    return figure


def blank_page() -> tuple[Figure, Axes]:
    """Return an A4 figure with axes in millimetres from the top left."""
    figure = Figure(figsize=(PAGE_WIDTH / INCH, PAGE_HEIGHT / INCH), dpi=DOTS_PER_INCH, facecolor=PAPER)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, PAGE_WIDTH)
    axes.set_ylim(PAGE_HEIGHT, 0)
    axes.axis("off")
    return figure, axes


def draw_lines(axes: Axes, lines: Iterable[DrawnLine]) -> None:
    for line in lines:
        axes.text(
            line.x,
            line.y,
            line.text,
            fontproperties=line.style.font,
            color=line.style.colour,
            ha="center" if line.centred else "left",
            va="baseline",
            parse_math=False,
            url=line.link or None,
        )


def _shape(box: DrawnBox) -> Patch:
    if 2 * box.radius == box.wide:
        return Circle((box.x + box.radius, box.y + box.radius), box.radius, facecolor=box.colour, linewidth=0)
    style = f"round,pad=0,rounding_size={box.radius}" if box.radius else "square,pad=0"
    return FancyBboxPatch((box.x, box.y), box.wide, box.high, boxstyle=style, facecolor=box.colour, linewidth=0)


def outline(link: str, left: float, top: float, side: float) -> Path:
    """Return the dark runs of a link's QR code as one path, so that no gaps show between neighbours."""
    modules = modules_of(link)
    unit = side / len(modules)
    corners, codes = [], []
    for row, first, length in runs(modules):
        x, y, wide = left + first * unit, top + row * unit, length * unit
        corners += [(x, y), (x + wide, y), (x + wide, y + unit), (x, y + unit), (x, y)]
        codes += [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    return Path(corners, codes)


def _saved(figure: Figure, file_format: str, title: str) -> bytes:
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(file_format, {})
    file = io.BytesIO()
    settings = {"svg.fonttype": "path", "svg.hashsalt": "halftruth", "pdf.fonttype": 42, "text.hinting": "none"}
    with rc_context(settings), warnings.catch_warnings():  # type: ignore[arg-type]
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # a box is drawn instead of a missing letter
        figure.savefig(file, format=file_format, dpi=DOTS_PER_INCH, metadata={"Title": title, **undated})
    return file.getvalue()
