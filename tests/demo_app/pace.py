"""The pace of a program on a screen: idle time is skipped, and a frame is drawn only for a picture.

While a request is played, the time until the next frame passes only on the program's clock. Animations, scrolling and
notices have as many frames and seconds as on a phone, and the machine does not wait for them. Work in the program's
other threads is awaited in real time (``real``). Drawing in software takes most of the time of a frame, so it is left
out without a picture.

If the frames themselves are measured, ``drawn`` is true: no time is skipped, and each frame is drawn.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from kivy.base import EventLoop
from kivy.clock import Clock


class Pace:
    """The pace of this process; it begins once there is a window."""

    def __init__(self) -> None:
        self.drawn = False
        self._skipped = 0.0
        self._hurried = threading.Event()

    def begin(self) -> None:
        """Replace the waiting of the clock and the drawing of the window."""
        from kivy.effects import kinetic, scroll
        from kivy.input import motionevent
        from kivy.uix.behaviors import button

        clock, window = Clock.time, EventLoop.window
        Clock.time = lambda: clock() + self._skipped
        Clock.usleep = self._wait
        # These modules measure the speed of a finger, so they get the same clock.
        for module in (kinetic, scroll, motionevent, button):
            module.time = lambda: time.time() + self._skipped
        draw, flip = window.on_draw, window.on_flip
        window.on_draw = lambda: draw() if self.drawn else None
        window.on_flip = lambda: flip() if self.drawn else None
        self.draw = draw

    def hurry(self) -> None:
        """Skip the time between frames while a request is played."""
        self._hurried.set()

    def rest(self) -> None:
        """Wait in real time for the next request after a response."""
        self._hurried.clear()

    @contextmanager
    def real(self) -> Iterator[None]:
        """Skip no time, because another thread is awaited."""
        self.rest()
        yield
        self.hurry()

    def _wait(self, microseconds: float) -> None:
        """Wait as long as the clock's time between two frames. Unless frames are drawn, a new request ends the wait."""
        if self.drawn:
            time.sleep(microseconds / 1e6)
        elif self._hurried.is_set():
            self._skipped += microseconds / 1e6
        else:
            self._hurried.wait(microseconds / 1e6)
