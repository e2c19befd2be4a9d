"""Child processes that are killed from outside after a random time, or that kill themselves before an SQL statement."""

from __future__ import annotations

import os
import random
import select
import signal
import time
from collections.abc import Callable

from edge_sdk.store.sqlite import Store


def die_before(store: Store, statement: int | None) -> None:
    """Make this process kill itself just before the given SQL statement of its store, counted from now; None for
    never."""
    if statement is None:
        return
    countdown = iter(range(statement, -1, -1))

    def die(_: str) -> None:
        if next(countdown) == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    store._connection.set_trace_callback(die)


def run_killed(work: Callable[[int], None], seconds: float | None, dice: random.Random) -> tuple[bool, bytes]:
    """Fork a child that runs ``work`` with a pipe for its output.

    Args:
        seconds: longest time from the child's first output until it is killed; None if the child ends itself.
    Returns:
        Whether the child was killed, and its output.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            work(writing)
        finally:
            os._exit(0)
    os.close(writing)
    if seconds is not None:
        # Wait until the child's first output.
        select.select([reading], [], [])
        time.sleep(dice.random() * seconds)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        return os.WIFSIGNALED(status), pipe.read()
