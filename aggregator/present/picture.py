"""Write figures as PNG files.

``plot``, ``curve`` and the modules ``*_plot`` draw the pictures.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from aggregator.whole_file import whole_file

DOTS_PER_INCH = 150
COLOURS = 256


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
