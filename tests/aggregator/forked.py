"""Processes for what is killed, or goes on beside a test: copies of one that has loaded everything and done nothing.

A fresh Python would spend seconds on loading. A copy has the environment of the moment at which the first one began;
what a test changed since, it hands over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import forkserver, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any

PROCESSES = get_context("forkserver")
# Where pandas is installed, pyarrow loads it with the first table: 0.3 s of the processor's time in each copy.
PROCESSES.set_forkserver_preload([
    "aggregator.cli.desk", "aggregator.cli.estimate", "aggregator.engines.connection", "aggregator.estimate.estimator",
    "aggregator.intake.compact", "aggregator.intake.ingest", "aggregator.present.page", "aggregator.present.plot",
    "aggregator.receive.inbox", "hypothesis", "pandas", "pytest", "tests.aggregator.crowd",
])  # fmt: skip


def begun(work: Callable[..., None], *arguments: Any) -> tuple[ForkServerProcess, Connection]:
    """A process that does ``work``, and the end of a pipe whose other end is the last of its arguments."""
    ours, theirs = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=work, args=(*arguments, theirs))
    process.start()
    theirs.close()
    return process, ours


def heard(pipe: Connection) -> Any:
    """What a process has said next; None where it ended, or was killed, before."""
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

    forkserver.ensure_running()  # before Dask says what is to be loaded
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        connection.local_cluster(workers, security=None, protocol="tcp", **options) as started,
    ):
        yield started
