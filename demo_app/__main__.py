"""``python -m demo_app``: the phone app in a window of this computer.

It is the same app as on a phone; some settings can be given as options.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import logging
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

TRUST = Path(__file__).parent / "trust"
"""The folder of the author keys that are delivered with the app: files of one line each."""

FAILED, USAGE = 1, 2
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
"""Variables of the environment on Linux, one of which states where to show a window."""
NOISE = ("Cutbuffer", "xclip", "xsel", "Input: MTDev")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the app, and return its exit code."""
    options = _parser().parse_args(arguments)
    if importlib.util.find_spec("kivy") is None:
        return _failed("Kivy is not installed: run pip install '.[demo]' in a clone of the repository", FAILED)
    bundled = []
    for path in (*sorted(TRUST.glob("*.pub")), *options.trust):
        try:
            bundled.append(path.read_text(encoding="utf-8").strip())
        except OSError as error:
            return _failed(f"the key file {path} cannot be read: {error.strerror}; name a public key, NAME.pub", USAGE)
        except UnicodeDecodeError:
            return _failed(f"the key file {path} cannot be read: it is not text; name a public key, NAME.pub", USAGE)
    phone = "ANDROID_ARGUMENT" in os.environ
    if sys.platform == "linux" and not phone and not any(map(os.environ.get, DISPLAYS)):
        # Kivy then draws to the screen without a desktop, as on a kiosk, or to memory, where nobody sees the window.
        print(
            f"demo_app: none of {', '.join(DISPLAYS)} is set, so there may be no window to see: run the app in a "
            "graphical session; ctrl-C stops it",
            file=sys.stderr,
        )
    # Kivy reads these at import: it must ignore this program's options, and write no log of a person's actions.
    os.environ.setdefault("KIVY_NO_ARGS", "1")
    os.environ.setdefault("KIVY_NO_FILELOG", "1")
    os.environ.setdefault("KIVY_LOG_MODE", "PYTHON")
    # Kivy warns if programs for X11's second clipboard are missing, which the app does not use, and prints a traceback
    # if the optional library for multi-touch is missing; mouse and touch screen work without it.
    logging.getLogger("kivy").addFilter(lambda record: not record.getMessage().startswith(NOISE))
    # The device's modules are imported while the window opens, because imports take most of the time of a cold start.
    threading.Thread(target=importlib.import_module, args=("edge_sdk.presentation",), daemon=True).start()
    from kivy.config import Config

    # This is Kivy's default, so no size was given.
    if (Config.getint("graphics", "width"), Config.getint("graphics", "height")) == (800, 600):
        Config.set("graphics", "width", "420")
        Config.set("graphics", "height", "800")
    if Config.has_option("input", "mouse"):
        Config.set("input", "mouse", "mouse,disable_multitouch")
    from demo_app.app import HalftruthApp

    app = HalftruthApp(
        options.store, options.address, options.language, options.dark, bundled, options.ready, options.link
    )
    app.run()
    return 0


def _failed(why: str, code: int) -> int:
    print(f"demo_app: {why}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m demo_app",
        description=(
            "The phone app in a window: answer surveys. Every answer is changed at random on this computer, and the "
            "bytes of each report are shown before it is sent."
        ),
    )
    parser.add_argument(
        "--store", metavar="DIR", type=Path, help="the device's folder; by default the system's folder for this app"
    )
    parser.add_argument(
        "--link",
        metavar="LINK",
        default="",
        help=("a link to a campaign; the app asks for confirmation before it follows the link"),
    )
    parser.add_argument(
        "--address", metavar="URL", default="", help="the address of a study, from which campaigns can be added"
    )
    parser.add_argument(
        "--trust",
        metavar="PUB",
        type=Path,
        action="append",
        default=[],
        help="the file with the public key of an author to trust",
    )
    parser.add_argument(
        "--language",
        default="",
        choices=("en", "de"),
        help="the language; by default the one chosen in the app, or the system's",
    )
    parser.add_argument("--dark", action="store_true", help="use the dark colours")
    parser.add_argument("--ready", action="store_true", help="print a line when the first screen can be used")
    return parser


if __name__ == "__main__":
    sys.exit(main())
