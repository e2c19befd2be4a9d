"""The worker: one background thread that uses the model, and hands what comes of it to the caller's thread.

The store belongs to one thread, and things are done in the order they were asked for; the thread of the
screens only ever gets results. Which thread that is, and how it is reached, is the caller's: no screen here.

What is done: model.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Hand: TypeAlias = Callable[[Callable[[], None]], object]
"""Calls what it is given in the caller's thread, some time soon."""

PATIENCE_SECONDS = 5.0
"""Seconds that ``end`` waits for work in progress: longer than a transaction, shorter than an upload on a dead
network.
"""


class Worker:
    """A thread and the queue before it. Daemonic: a network that does not answer keeps no program from ending.

    Args:
        hand: brings a result to the thread that wants it.
    """

    def __init__(self, hand: Hand) -> None:
        self._hand = hand
        self._asked: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="device", daemon=True)
        self._thread.start()

    def ask(self, work: Callable[[], T], done: Callable[[T], object], failed: Callable[[Exception], object]) -> None:
        """Do ``work`` after everything asked before; hand its result to ``done``, or its error to ``failed``.

        Nothing is handed on once the worker was ended.
        """

        def do() -> None:
            try:
                result = work()
            except Exception as error:  # every error is shown to the person, and the thread continues
                self._tell(failed, error)
            else:
                self._tell(done, result)

        self._asked.put(do)

    def end(self, last: Callable[[], object]) -> None:
        """Do nothing more of what was asked but what is being done, then ``last``; back once that is so.

        What waits in the queue is dropped: an answer that was not begun was neither charged nor drawn.
        """
        if self._ended.is_set():
            return
        self._ended.set()
        with contextlib.suppress(queue.Empty):
            while True:
                self._asked.get_nowait()
        self._asked.put(lambda: (last(), None)[1])
        self._asked.put(None)
        self._thread.join(PATIENCE_SECONDS)

    def _tell(self, whom: Callable[[T], object], what: T) -> None:
        def hand() -> None:
            if not self._ended.is_set():
                whom(what)

        if not self._ended.is_set():
            self._hand(hand)

    def _run(self) -> None:
        while (work := self._asked.get()) is not None:
            work()
            del work  # it knows the screen that asked, which may be gone before the next is asked for
