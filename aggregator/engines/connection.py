"""Connect to a Dask scheduler, or start a scheduler with worker processes on this machine."""

# mypy: untyped-calls-exclude=distributed

from __future__ import annotations

import logging
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from typing import Any

import dask
from distributed import Client, KilledWorker, LocalCluster
from distributed.comm.core import CommClosedError
from distributed.utils import silence_logging_cmgr

from aggregator.engines.cluster import Cluster
from aggregator.engines.engine import EngineError
from aggregator.engines.workers import NO_HEARTBEAT, Workers
from protocol.errors import HalftruthError

CONNECT_SECONDS = 15.0
"""Time limit for connecting to a scheduler, and for its first worker."""


@contextmanager
def connected(name: str, processes: int | None) -> Iterator[Cluster]:
    """Context manager that yields a Dask engine.

    Args:
        name: "dask" to start worker processes; otherwise the address of a scheduler, in the form that ``engine_of``
            accepts.
        processes: the number of worker processes to start; one for each processor if None.
    Raises:
        EngineError: no scheduler that has a worker answers, or the connection is lost.
    """
    with ExitStack() as stack:
        # Dask's log messages about a lost worker would repeat the error that is raised.
        stack.enter_context(silence_logging_cmgr(logging.CRITICAL))
        if name == "dask":
            address: LocalCluster | str = stack.enter_context(local_cluster(processes or os.cpu_count() or 1))
        else:
            scheme, _, place = name.partition("://")
            address = ("tls://" if scheme == "dask+tls" else "tcp://") + place
        try:
            client = stack.enter_context(Client(address, timeout=CONNECT_SECONDS, set_as_default=False))
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except (OSError, TimeoutError, ValueError) as error:
            advice = "start one with `dask scheduler` and `dask worker`, or use --engine dask on this machine"
            if name == "dask":
                advice = "start fewer processes with --threads, or use --engine local"
            raise EngineError(f"no Dask scheduler with a worker answers at {name!r} ({error}): {advice}") from None
        with _dask_errors(), client.as_current():
            yield Cluster(Workers(client))


@contextmanager
def local_cluster(processes: int, *, heartbeat: int = NO_HEARTBEAT, **options: Any) -> Iterator[LocalCluster]:
    """Context manager that yields a scheduler with worker processes on this machine. Other users of the machine cannot
    connect to the scheduler.

    Args:
        processes: the number of worker processes.
        heartbeat: see ``NO_HEARTBEAT``.
        options: keyword arguments for ``LocalCluster``.
    """
    settings = {
        "distributed.scheduler.worker-ttl": f"{heartbeat}s",
        # Dask always starts a web server; these settings remove its pages.
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    with (
        tempfile.TemporaryDirectory(prefix="halftruth-dask-") as scratch,
        dask.config.set(settings),
        ExitStack() as stack,
    ):
        with _not_interrupted():
            cluster = stack.enter_context(
                LocalCluster(
                    n_workers=processes,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                    local_directory=scratch,
                    **{"security": True, **options},
                )
            )
        yield cluster


@contextmanager
def _not_interrupted() -> Iterator[None]:
    """Context manager in which this process and its new child processes ignore Ctrl-C, so that this process can clean
    up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous_handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous_handler)


@contextmanager
def _dask_errors() -> Iterator[None]:
    """Context manager that raises the errors of Dask as ``EngineError``."""
    try:
        yield
    except HalftruthError:
        raise
    except KilledWorker as error:
        raise EngineError(
            f"several workers died at the same step ({error.task}), probably because they have too little memory: "
            "give each worker more memory, or use fewer workers. Committed reports stay; run the command again for "
            "the rest"
        ) from None
    except (CancelledError, CommClosedError, TimeoutError) as error:
        raise EngineError(
            f"the connection to the Dask scheduler was lost ({type(error).__name__}). Committed reports stay; run the "
            "command again for the rest"
        ) from error
