"""Write figures as PNG files.

``plot``, ``curve`` and the modules ``*_plot`` draw the pictures.
"""

from __future__ import annotations

import io
import textwrap
import warnings
from pathlib import Path
from typing import Literal

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from aggregator.whole_file import whole_file

LayoutName = Literal["constrained", "compressed"]
DOTS_PER_INCH = 150
COLOURS = 256

NARROW, NARROW_DOTS_PER_INCH = 3.3, 200
"""Width in inches, and resolution, of a picture for a phone. On a screen of 360 CSS pixels, letters of 8 points in it
are as large as letters of 11 pixels."""

NARROW_LETTERS = 46
"""Maximum letters in a line of the title of a picture for a phone."""

INK = "#1f2933"


def new_figure(width: float, height: float, *, narrow: bool = False, layout: LayoutName = "constrained") -> Figure:
    """Return an empty figure.

    Args:
        width, height: in inches; a narrow figure has the width ``NARROW``.
        narrow: whether the figure is for a phone.
    """
    if narrow:
        return Figure(figsize=(NARROW, height), dpi=NARROW_DOTS_PER_INCH, layout=layout)
    return Figure(figsize=(width, height), dpi=DOTS_PER_INCH, layout=layout)


def narrow_title(figure: Figure, text: str) -> None:
    """Write the title of a picture for a phone, in short lines."""
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, NARROW_LETTERS)]
    figure.suptitle("\n".join(lines), size=9, x=0.01, ha="left", color=INK)


def png(figure: Figure) -> bytes:
    """Return a figure as the bytes of a PNG file with at most 256 colours; the same figure gives the same bytes."""
    drawn = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # a box is drawn instead of a missing letter
        canvas = FigureCanvasAgg(figure)
        # The canvas draws everything once; savefig would draw it twice, the first time only for the layout.
        canvas.draw()  # type: ignore[no-untyped-call]
    size = canvas.get_width_height()
    pixels = Image.frombytes("RGBA", size, bytes(canvas.buffer_rgba())).convert("RGB")  # type: ignore[no-untyped-call]
    # The palette makes the file less than half as large; the change of the colours is invisible.
    palette = pixels.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    palette.save(drawn, "png", optimize=True, dpi=(figure.dpi, figure.dpi))
    return drawn.getvalue()


def save(figure: Figure, path: Path) -> None:
    """Write a figure to a PNG file.

    Raises:
        OSError: the file could not be written; no partial file is left.
    """
    drawn = png(figure)
    try:
        with whole_file(path) as file:
            file.write(drawn)
    except OSError as error:  # an error of writing or syncing names no file
        raise OSError(error.errno, error.strerror, str(path)) from None


def plot_text(text: str, maximum: int) -> str:
    """Return text of at most ``maximum`` characters that matplotlib does not read as a formula."""
    return (text if len(text) <= maximum else text[: maximum - 1] + "…").replace("$", r"\$")
