"""Write picture files, each completely or not at all.

A picture is written to a temporary file, which is renamed once it is on the disk.

``plot``, ``trend_plot`` and ``curve`` draw the pictures.
"""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imsave

DOTS_PER_INCH = 150


def png(figure: Figure) -> bytes:
    """Return a figure as the bytes of a PNG file; the same figure gives the same bytes."""
    drawn = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # a box is drawn instead of a missing letter
        canvas = FigureCanvasAgg(figure)
        # The canvas draws everything once; savefig would draw it twice, the first time only for the layout.
        canvas.draw()  # type: ignore[no-untyped-call]
        imsave(drawn, canvas.buffer_rgba(), format="png", dpi=figure.dpi)  # type: ignore[no-untyped-call]
    return drawn.getvalue()


def save(figure: Figure, path: Path) -> None:
    """Write a figure to a PNG file.

    Raises:
        OSError: the file could not be written; no partial file is left.
    """
    drawn = png(figure)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("xb") as file:
            file.write(drawn)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OSError(
            error.errno,
            f"cannot be written: {error.strerror}. Name a file in a folder that you may write to",
            str(path),
        ) from None
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def plain(text: str, most: int) -> str:
    """Return text of at most ``most`` characters that matplotlib does not read as a formula."""
    return (text if len(text) <= most else text[: most - 1] + "…").replace("$", r"\$")
