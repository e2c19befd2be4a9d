"""Processes that tests kill or run in parallel: forks of one process that has loaded everything and done nothing.

A fresh Python would spend seconds on loading. A fork has the environment variables that the first process had at its
start; a test passes later changes to it as arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import forkserver, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any

PROCESSES = get_context("forkserver")
# pandas is listed because pyarrow loads it with the first table, which takes 0.3 s of processor time in each copy.
PROCESSES.set_forkserver_preload([
    "aggregator.cli.desk", "aggregator.cli.estimate", "aggregator.engines.connection", "aggregator.estimate.estimator",
    "aggregator.intake.compact", "aggregator.intake.ingest", "aggregator.present.page", "aggregator.present.plot",
    "aggregator.receive.inbox", "hypothesis", "pandas", "pytest", "tests.aggregator.fleet",
])  # fmt: skip


def begun(work: Callable[..., None], *arguments: Any) -> tuple[ForkServerProcess, Connection]:
    """A process that does ``work``, and the end of a pipe whose other end is the last of its arguments."""
    ours, theirs = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=work, args=(*arguments, theirs))
    process.start()
    theirs.close()
    return process, ours


def heard(pipe: Connection) -> Any:
    """Return the next object that a process sent; None if it ended or was killed before."""
    try:
        return pipe.recv()
    except EOFError:
        return None


@contextmanager
def dask_processes(workers: int, **options: Any) -> Iterator[Any]:
    """A Dask scheduler with worker processes that are such copies, which whoever knows the address can speak to.

    Args:
        options: of ``aggregator.engines.connection.local_cluster``.
    """
    import dask

    from aggregator.engines import connection

    forkserver.ensure_running()  # must run before Dask sets its own preload list
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        connection.local_cluster(workers, security=None, protocol="tcp", **options) as started,
    ):
        yield started
