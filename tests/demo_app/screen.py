"""A virtual screen with a program that a test touches, types into, reads and photographs.

The program runs in a separate process, under Xvfb with software GL. A driver inside the program (driver) plays the
requests of this module, one at a time, as touches and keys that pass through the window's own event loop. The test's
process never imports Kivy.

    with display() as number, Screen(number, "demo_app", "--store", folder, size=PHONE) as screen:
        screen.wait("consent")
        screen.tap("consent")
        screen.shot("consented")

A widget is found by its ``name``, or else by the exact text that it shows; if several match, the first visible one from
the top left is used.

Each test judges the content of its screens.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).parent.parent.parent
SHOTS = ROOT / "build" / "screens"
"""The folder of pictures unless a test names another folder; git ignores it."""

PHONE, DESKTOP = (360, 740), (1100, 750)
NEEDED = "apt-get install xvfb libgl1 libgl1-mesa-dri libmtdev1"
PATIENCE = 120.0
"""Maximum seconds that a test waits for the response to a request. A test that waits this long has found a defect."""


class ScreenError(AssertionError):
    """A test's request could not be carried out: no such widget, or the program has ended."""


@contextmanager
def display() -> Iterator[str]:
    """Context manager: a new X display on a free number, such as ``":7"``; it ends afterwards."""
    program = shutil.which("Xvfb")
    if program is None:
        raise ScreenError(f"Xvfb is not installed, and the app's tests need it: {NEEDED}")
    reading, writing = os.pipe()
    server = subprocess.Popen(
        [program, "-displayfd", str(writing), "-screen", "0", "1280x1600x24", "-nolisten", "tcp", "-noreset"],
        pass_fds=(writing,),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    try:
        with os.fdopen(reading) as output:
            ready, _, _ = select.select([output], [], [], PATIENCE)
            number = output.readline().strip() if ready else ""
        if not number:
            raise ScreenError(f"Xvfb did not start; it needs: {NEEDED}")
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()


def surroundings(number: str, home: str, density: float = 1.0, font_scale: float = 1.0) -> dict[str, str]:
    """Return the environment for a Kivy program: this display, a separate home folder, software GL, no log files."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KIVY", "SDL", "XDG"))}
    return kept | {
        "DISPLAY": number,
        "HOME": home,
        "KIVY_HOME": str(Path(home) / "kivy"),
        "KIVY_NO_ARGS": "1",
        "KIVY_NO_FILELOG": "1",
        # Kivy's errors go to stderr, which a failed test prints.
        "KIVY_LOG_MODE": "PYTHON",
        "KIVY_METRICS_DENSITY": str(density),
        "KIVY_METRICS_FONTSCALE": str(font_scale),
        "KIVY_WINDOW": "sdl2",
        "KIVY_TEXT": "sdl2",
        "LIBGL_ALWAYS_SOFTWARE": "1",
        # Two workers share two cores, where threads of the software GL would only wait for each other.
        "LP_NUM_THREADS": "0",
        "SDL_VIDEODRIVER": "x11",
        "SDL_AUDIODRIVER": "dummy",
        "XDG_RUNTIME_DIR": home,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    }


class Screen:
    """A Kivy program on a display, with a person's actions and views.

    Args:
        number: the number of the display, from ``display``.
        program: a module, run as ``python -m`` does; its arguments follow.
        size: the size of the window in dp; a dp is ``density`` pixels.
        density: pixels per dp.
        font_scale: the person's magnification of texts.
        shots: the folder of pictures.
    """

    def __init__(
        self,
        number: str,
        program: str,
        *arguments: str | Path,
        size: tuple[int, int] = PHONE,
        density: float = 1.0,
        font_scale: float = 1.0,
        shots: Path | None = None,
    ) -> None:
        self.shots = shots or SHOTS
        self._home = tempfile.TemporaryDirectory(prefix="screen-")
        self._asked = 0
        pixels = [str(round(length * density)) for length in size]
        self._log = (Path(self._home.name) / "log").open("w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.demo_app.driver", *pixels, program, *map(str, arguments)],
            cwd=ROOT,
            env=surroundings(number, self._home.name, density, font_scale),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def __enter__(self) -> Screen:
        try:
            self._ask("start")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> int:
        """End the program in the same way as closing its window; return its exit code."""
        if self.process.stdin and not self.process.stdin.closed:
            # The program may have ended by itself.
            with suppress(BrokenPipeError):
                self.process.stdin.close()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            if self.process.stdout:
                self.process.stdout.close()
            self._log.close()
            self._home.cleanup()
        return self.process.returncode

    def log(self) -> str:
        """Return the program's stderr up to now."""
        self._log.flush()
        return Path(self._log.name).read_text(encoding="utf-8")

    def tap(self, what: str, at: Sequence[float] = (0.5, 0.5)) -> None:
        """Scroll a widget into view, touch it and release; ``at`` is the place in the widget from its bottom left, as
        shares of its size.

        Raises:
            ScreenError: the widget does not exist, or another widget covers the place.
        """
        self._ask("tap", what=what, at=list(at))

    def drag(self, what: str, start: Sequence[float], end: Sequence[float], *, held: bool = False) -> None:
        """Touch a widget at one place, move to another place within 10 frames, and release; places are shares of the
        widget's size.

        Args:
            held: whether to wait, before moving, until the touch is known not to be a scroll gesture and the widget has
                received it.
        """
        self._ask("drag", what=what, start=list(start), end=list(end), held=held)

    def pinch(self, what: str, factor: float) -> None:
        """Move two fingers apart around a widget's centre by a factor; a factor below 1 moves them together."""
        self._ask("pinch", what=what, factor=factor)

    def wheel(self, what: str, steps: int) -> None:
        """Turn the mouse wheel over a widget, upwards if ``steps`` is positive."""
        self._ask("wheel", what=what, steps=steps)

    def type(self, text: str) -> None:
        """Type text into the widget with the focus."""
        self._ask("type", text=text)

    def key(self, name: str) -> None:
        """Press a key by name: escape (the back button), enter, tab, backspace, up, down, left, right, spacebar."""
        self._ask("key", name=name)

    def fill(self, what: str, text: str) -> None:
        """Tap a text field, empty it and type."""
        self._ask("fill", what=what, text=text)

    def wait(self, what: str, seconds: float = PATIENCE) -> None:
        """Wait until a widget of that name or text is visible."""
        self._ask("wait", what=what, seconds=seconds, patience=seconds)

    def gone(self, what: str) -> None:
        """Wait until no widget of that name or text is visible."""
        self._ask("gone", what=what, seconds=PATIENCE, patience=PATIENCE)

    def lasts(self, expression: str, what: str) -> float:
        """Evaluate an expression as ``call`` does; return the seconds until the widget that it shows closes by itself.

        The seconds pass on the program's clock only, so the test does not wait for them.

        Raises:
            ScreenError: the widget is not shown, or does not close within ``PATIENCE`` seconds.
        """
        return float(self._ask("lasts", expression=expression, what=what, seconds=PATIENCE))

    def idle(self) -> None:
        """Wait until the app reports that no task runs and the screen is complete."""
        self._ask("idle", seconds=PATIENCE, patience=PATIENCE)

    def seen(self, what: str) -> bool:
        """Return whether a widget of that name or text is visible now."""
        return bool(self._ask("seen", what=what))

    def read(self, what: str, prop: str) -> Any:
        """Return a property of a widget, in JSON's types."""
        return self._ask("read", what=what, prop=prop)

    def box(self, what: str) -> tuple[float, float, float, float]:
        """Return x, y, width and height of a widget in dp, from the window's bottom left."""
        x, y, width, height = self._ask("box", what=what)
        return x, y, width, height

    def texts(self) -> list[str]:
        """Return all visible texts, from the top left."""
        return list(self._ask("texts"))

    def small(self) -> list[str]:
        """Return all visible touch targets whose width or height is below 48 dp; tests expect none."""
        return list(self._ask("small"))

    def cut(self) -> list[str]:
        """Return all visible texts that do not fit their widget or the window; tests expect none."""
        return list(self._ask("cut"))

    @contextmanager
    def drawn(self) -> Iterator[None]:
        """Context manager: draw each frame, at the pace of a phone. By default only pictures are drawn, without
        waiting: ``pace``."""
        self._ask("draw", each=True)
        yield
        self._ask("draw", each=False)

    def longest_frame(self) -> float:
        """Return the seconds of the longest frame since the last call, without frames of pictures; requires
        ``drawn``."""
        return float(self._ask("longest_frame"))

    def busiest_frame(self) -> float:
        """Return the processor seconds of the window's thread in its busiest frame since the last call; load of other
        processes does not count."""
        return float(self._ask("busiest_frame"))

    def shot(self, name: str) -> Path:
        """Save a picture of the window as ``name``.png."""
        self.shots.mkdir(parents=True, exist_ok=True)
        path = self.shots / f"{name}.png"
        self._ask("shot", path=str(path))
        return path

    def call(self, expression: str) -> Any:
        """Return the value of a Python expression in the program, in which ``app`` is the running App; for the set-up
        of a test."""
        return self._ask("call", expression=expression)

    def _ask(self, verb: str, patience: float = 0.0, **arguments: Any) -> Any:
        assert self.process.stdin
        assert self.process.stdout
        self._asked += 1
        try:
            self.process.stdin.write(json.dumps([self._asked, verb, arguments]) + "\n")
            self.process.stdin.flush()
            line = self._line(time.monotonic() + patience + PATIENCE)
        except BrokenPipeError:
            line = ""
        if not line:
            raise ScreenError(f"the program stopped responding at {verb} {arguments}; it wrote:\n{self.log()}")
        number, trouble, value = json.loads(line)
        assert number == self._asked, "the response belongs to another request"
        if trouble:
            raise ScreenError(f"{verb} {arguments}: {trouble}\n{self.log()}")
        return value

    def _line(self, until: float) -> str:
        """Return the next line that the driver wrote; "" after the time limit."""
        assert self.process.stdout
        ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))
        return self.process.stdout.readline() if ready else ""
