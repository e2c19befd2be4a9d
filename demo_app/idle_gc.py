"""Garbage collection in idle moments: while the person reads, and not while they wait.

A full search walks everything that lives, up to half a second of it in an app of widgets, and comes when it
likes: in the middle of a page that opens. What lives as long as the app is left out of it for good, and the rest is
walked when nothing has been touched for a while.

What there is to sweep: the pages that were left.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

from kivy.clock import Clock

REST_SECONDS = 1.0
"""How long nothing was touched, and nothing done, before it is swept."""

YOUNG, MIDDLE, OLD = 700, 10, 200
"""Python's thresholds, but for the last: it searches by itself only where a person never rests (Python's own: 10)."""


class Sweep:
    """The one of this process.

    Args:
        quiet: whether nothing is being done or drawn now.
    """

    def __init__(self, quiet: Callable[[], bool]) -> None:
        self._quiet = quiet
        self._replaced = False
        self._due = Clock.create_trigger(self._sweep, REST_SECONDS)
        gc.set_threshold(YOUNG, MIDDLE, OLD)

    def spare(self) -> None:
        """What lives now lives as long as the app, and is walked no more; what was spared before is walked once."""
        self._replaced = False
        gc.unfreeze()
        gc.collect()
        gc.freeze()

    def replaced(self) -> None:
        """What was spared was replaced, and would never be let go of: spare anew after a rest."""
        self._replaced = True
        self.later()

    def later(self, *_: object) -> None:
        """Something was touched or shown: sweep after a rest from now."""
        self._due.cancel()
        self._due()

    def _sweep(self, _: float) -> None:
        if not self._quiet():
            self._due()
        elif self._replaced:
            self.spare()
        else:
            gc.collect()
