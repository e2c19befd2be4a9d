"""Processes that tests kill or run in parallel: forks of one process that has only loaded its modules.

A fresh Python would spend seconds on loading. A fork has the environment variables that the first process had at its
start; a test passes later changes as arguments.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import forkserver, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any

from aggregator.storage import tables

PROCESSES = get_context("forkserver")
# pandas is listed because pyarrow loads it with the first table, which takes 0.3 s of processor time in each copy.
PROCESSES.set_forkserver_preload([
    "aggregator.cli.add_data", "aggregator.cli.estimate", "aggregator.engines.connection",
    "aggregator.estimate.estimator", "aggregator.intake.compact", "aggregator.intake.ingest", "aggregator.present.page",
    "aggregator.present.plot", "aggregator.receive.inbox", "hypothesis", "pandas", "pytest", "tests.aggregator.fleet",
])  # fmt: skip


def start_process(work: Callable[..., None], *arguments: Any) -> tuple[ForkServerProcess, Connection]:
    """Start a process that runs ``work``; return it and the reading end of a pipe whose writing end is the last
    argument of ``work``."""
    ours, theirs = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=work, args=(*arguments, theirs))
    process.start()
    theirs.close()
    return process, ours


def next_message(pipe: Connection) -> Any:
    """Return the next object that a process sent; None if the process ended or was killed before it sent one."""
    try:
        return pipe.recv()
    except EOFError:
        return None


def kill_at_commit(when: str, step: int) -> None:
    """Let this process kill itself ``"before"`` or ``"after"`` its commit number ``step``, counted from 0."""
    real, commits = tables.write_deltalake, 0

    def written(*arguments: Any, **options: Any) -> None:
        nonlocal commits
        here, commits = commits == step, commits + 1
        if here and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        real(*arguments, **options)
        if here:
            os.kill(os.getpid(), signal.SIGKILL)

    tables.write_deltalake = written


@contextmanager
def dask_processes(workers: int, **options: Any) -> Iterator[Any]:
    """A Dask scheduler with forked worker processes, without transport security.

    Args:
        workers: number of worker processes.
        options: keyword arguments of ``aggregator.engines.connection.local_cluster``.
    """
    import dask

    from aggregator.engines import connection

    forkserver.ensure_running()  # must run before Dask sets its own preload list
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        connection.local_cluster(workers, security=None, protocol="tcp", **options) as started,
    ):
        yield started
