"""Garbage collection while the app is idle, so that the person never waits for it.

A full collection visits all live objects. This can take half a second in an app with many widgets, and Python may start
it while a screen opens. So objects that live as long as the app are excluded (gc.freeze), and the other objects are
collected when nothing was touched for a while.

Most of the garbage consists of closed screens.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

from kivy.clock import Clock

REST_SECONDS = 1.0
"""Seconds without a touch or a task before a collection."""

YOUNG, MIDDLE, OLD = 700, 10, 200
"""Python's thresholds, except the last (Python: 10), so that a full collection rarely starts by itself."""


class IdleCollector:
    """The garbage collector of this process; make only one.

    Args:
        is_idle: returns True if no task runs and nothing is being drawn.
    """

    def __init__(self, is_idle: Callable[[], bool]) -> None:
        self._is_idle = is_idle
        self._full = False
        self._due = Clock.create_trigger(self._collect, REST_SECONDS)
        gc.set_threshold(YOUNG, MIDDLE, OLD)

    def collect_and_freeze(self) -> None:
        """Collect once, including objects excluded earlier; then exclude all live objects from later collections."""
        self._full = False
        gc.unfreeze()
        gc.collect()
        gc.freeze()

    def request_full_collection(self) -> None:
        """Request a collection of all objects, excluded ones too, at the next pause; call it when all screens were
        replaced. The replaced widgets may be excluded, and would never be freed."""
        self._full = True
        self.postpone()

    def postpone(self, *_: object) -> None:
        """Postpone the next collection, because something was touched or shown."""
        self._due.cancel()
        self._due()

    def _collect(self, _: float) -> None:
        if not self._is_idle():
            self._due()
        elif self._full:
            self.collect_and_freeze()
        else:
            gc.collect()
