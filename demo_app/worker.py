"""The worker: one background thread that uses the model, and passes the results to the caller's thread.

Only this thread uses its model, and it runs the tasks in order; the thread of the screens only receives results. The
caller provides a function that passes a result to its thread, so this module is independent of the screens.

The module model defines the tasks.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Deliver: TypeAlias = Callable[[Callable[[], None]], object]
"""A function that soon calls the given function in the caller's thread."""

PATIENCE_SECONDS = 5.0
"""Seconds that ``end`` waits for work in progress: longer than a transaction, shorter than an upload on a dead
network."""


class Worker:
    """A thread with a queue of tasks. It is a daemon, so that an unresponsive network does not keep a program running.

    Args:
        deliver: function that passes a result to the caller's thread.
    """

    def __init__(self, deliver: Deliver) -> None:
        self._deliver = deliver
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="device", daemon=True)
        self._thread.start()

    def ask(self, work: Callable[[], T], receive: Callable[[T], object], failed: Callable[[Exception], object]) -> None:
        """Run ``work`` after all earlier tasks; pass its result to ``receive``, or its error to ``failed``.

        After ``end`` nothing is passed on.
        """

        def do() -> None:
            try:
                result = work()
            except Exception as error:  # every error is shown to the person, and the thread continues
                self._pass_on(failed, error)
            else:
                self._pass_on(receive, result)

        self._tasks.put(do)

    def end(self, last: Callable[[], object]) -> None:
        """Drop all waiting tasks, and wait up to ``PATIENCE_SECONDS`` for the running task and ``last``.

        A dropped task had not begun, so no answer was drawn or charged.
        """
        if self._ended.is_set():
            return
        self._ended.set()
        with contextlib.suppress(queue.Empty):
            while True:
                self._tasks.get_nowait()
        self._tasks.put(lambda: (last(), None)[1])
        self._tasks.put(None)
        self._thread.join(PATIENCE_SECONDS)

    def _pass_on(self, receiver: Callable[[T], object], outcome: T) -> None:
        def pass_on() -> None:
            if not self._ended.is_set():
                receiver(outcome)

        if not self._ended.is_set():
            self._deliver(pass_on)

    def _run(self) -> None:
        while (work := self._tasks.get()) is not None:
            work()
            # The work refers to the screen that requested it, which may close before the next work arrives.
            del work
