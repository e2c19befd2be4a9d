"""Where the work of an ingest or of a tally is done: in this process, or on a cluster.

The steps are the same functions, of bytes and of versions of tables; an engine only says where they run. So
whatever the engine, the same input gives the same counts, and whatever is written goes through the same
compare-and-swap on the study's tables.

``local`` runs them in this process and on its threads; ``cluster`` on the workers of a Dask scheduler, by way of
``steps`` and ``tallies``, and is loaded only when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from aggregator.engines.engine import Engine, EngineError

__all__ = ["Engine", "EngineError", "engine_of", "is_engine"]

LOCAL, PROCESSES, SCHEDULERS = "local", "dask", ("dask://", "dask+tls://")


def is_engine(name: str) -> bool:
    """Whether ``engine_of`` takes the name."""
    return name in (LOCAL, PROCESSES) or name.startswith(SCHEDULERS)


@contextmanager
def engine_of(name: str, threads: int | None = None) -> Iterator[Engine]:
    """An engine, for as long as it is needed.

    Args:
        name: "local"; "dask", which starts worker processes on this machine; "dask://HOST:PORT", a scheduler that
            runs; or "dask+tls://HOST:PORT", with the certificates that Dask's configuration names.
        threads: that verify, or worker processes; as many as there are processors if not given. A scheduler that runs
            has the workers that it has.
    Raises:
        EngineError
    """
    if not is_engine(name):
        raise ValueError(f"no engine is called {name!r}")
    if name == LOCAL:
        from aggregator.engines.local import Local

        yield Local(threads)
        return
    try:
        from aggregator.engines import cluster  # distributed takes most of a second to load
    except ModuleNotFoundError as error:
        if error.name not in ("dask", "distributed"):
            raise
        raise EngineError(
            "the Dask engine is not installed: `pip install 'halftruth[aggregator,dask]'`, or use --engine local"
        ) from None
    with cluster.connected(name, threads) as engine:
        yield engine
