"""Engines, which run an ingest or a tally in this process or on a Dask cluster.

Both engines call the same functions, whose inputs are bytes and table versions. So the same input gives the same counts
with either engine, and every write uses the same compare-and-swap on the study's tables.

``local`` runs on the threads of this process. ``cluster`` runs on the workers of a Dask scheduler, and is imported only
if it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from aggregator.engines.engine import Engine, EngineError
from aggregator.extras import install_command

__all__ = ["Engine", "EngineError", "engine_of", "is_engine"]

LOCAL, PROCESSES, SCHEDULERS = "local", "dask", ("dask://", "dask+tls://")


def is_engine(name: str) -> bool:
    """Return whether ``engine_of`` accepts the name."""
    _, _, address = name.partition("://")
    host, _, port = address.rpartition(":")
    of_scheduler = name.startswith(SCHEDULERS) and host != "" and port.isascii() and port.isdecimal()
    return name in (LOCAL, PROCESSES) or of_scheduler


@contextmanager
def engine_of(name: str, threads: int | None = None) -> Iterator[Engine]:
    """Context manager that yields the engine called ``name``.

    Args:
        name: "local"; "dask", which starts worker processes on this machine; "dask://HOST:PORT", a running scheduler;
            or "dask+tls://HOST:PORT", a running scheduler with TLS and the certificates in Dask's configuration.
        threads: the number of verifying threads ("local") or worker processes ("dask"); one for each processor if None.
            Ignored with a running scheduler, which already has workers.
    Raises:
        EngineError: Dask is not installed, or no scheduler that has a worker answers.
        ValueError: an unknown name.
    """
    if not is_engine(name):
        raise ValueError(f"unknown engine {name!r}: expected local, dask, dask://HOST:PORT or dask+tls://HOST:PORT")
    if name == LOCAL:
        from aggregator.engines.local import Local

        yield Local(threads)
        return
    try:
        from aggregator.engines import connection  # importing distributed takes most of a second
    except ModuleNotFoundError as error:
        if error.name not in ("dask", "distributed"):
            raise
        raise EngineError(
            f"the Dask engine is not installed: {install_command('aggregator,dask')}, or use --engine local"
        ) from None
    with connection.connected(name, threads) as engine:
        yield engine
