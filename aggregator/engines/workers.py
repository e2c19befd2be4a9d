"""Run steps on the workers of a Dask scheduler, and return their results in order."""

# mypy: untyped-calls-exclude=distributed

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from distributed import Client, Future, wait

from aggregator.engines.engine import EngineError

NO_HEARTBEAT = 60
"""The number of seconds without a heartbeat after which a worker's steps are assigned to other workers."""
AHEAD = 4
"""Maximum number of unfinished steps for each thread of the workers. A finished step whose result waits for that of an
earlier step counts as unfinished."""
URGENT = 10
"""The priority of steps for which a commit waits."""
REPLY_SECONDS = 15.0
"""Time limit for the reply of at least one worker."""
_RETRY_SECONDS = 0.5


@dataclass(frozen=True)
class WorkItem:
    """A step that runs on a worker.

    Attributes:
        arguments: the arguments of the step.
        future: the result, which stays on the worker until it is fetched.
        summary: the small part of the result that this process needs; the same as ``future`` if no summary was
            requested.
    """

    arguments: tuple[Any, ...]
    future: Future[Any]
    summary: Future[Any]


@dataclass(frozen=True)
class Workers:
    """The workers of a Dask scheduler."""

    client: Client

    def threads(self) -> int:
        """Return the number of threads of all workers, at least 1."""
        threads: Mapping[str, int] = self.client.nthreads()
        return max(1, sum(threads.values()))

    def ask_each(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Call ``function`` on every worker, and return the result or the exception by worker; at least one worker
        replies.

        Raises:
            EngineError: no worker replies in time.
        """
        deadline = time.monotonic() + REPLY_SECONDS
        while True:
            replies: Mapping[str, Any] = self.client.run(function, *arguments, on_error="return")
            # For a worker that was lost meanwhile, the reply is an OSError; other workers do its work.
            answers = {worker: reply for worker, reply in sorted(replies.items()) if not isinstance(reply, OSError)}
            if answers:
                return answers
            if time.monotonic() > deadline:
                raise EngineError("no worker answers: start workers, and run the command again")
            time.sleep(_RETRY_SECONDS)  # all workers may have been lost while new ones are starting

    def preferred(self, previous: Sequence[str | None]) -> list[str | None]:
        """Return the preferred worker of each shard, which is the same as before if this worker is still connected;
        None for each shard if no worker is connected.

        The preferred worker has the shard's filled slots in memory; another worker would have to read them again. The
        scheduler may still choose another worker.
        """
        threads: Mapping[str, int] = self.client.nthreads()
        workers = [worker for worker, number in sorted(threads.items()) for _ in range(number)]
        if not workers:
            return [None] * len(previous)
        fresh = [workers[shard * len(workers) // len(previous)] for shard in range(len(previous))]
        return [worker if worker in threads else other for worker, other in zip(previous, fresh, strict=True)]

    def run(self, step: Callable[..., Any], *arguments: Any) -> Any:
        """Run one step on any worker, and return its result."""
        return next(self.in_order(step, iter([arguments]))).future.result()

    def in_order(
        self,
        step: Callable[..., Any],
        jobs: Iterator[tuple[Any, ...]],
        *,
        summarize: Callable[[Any], Any] | None = None,
        priority: int = 0,
        limit: int | None = None,
        preferred: Iterable[str | None] = (),
    ) -> Iterator[WorkItem]:
        """Run a step for each tuple of arguments, and yield the finished work items in the order of ``jobs``.

        Args:
            summarize: a function that returns the small part of a result; it runs on the worker that has the result.
            limit: the largest number of unfinished steps; ``AHEAD`` for each thread if None.
            preferred: the preferred worker of each step; later steps run on any worker.
        Raises:
            EngineError: all workers are lost.
        """
        under_way: deque[WorkItem] = deque()
        limit = limit or AHEAD * self.threads()
        preferences = itertools.chain(preferred, itertools.repeat(None))
        options = {"pure": False, "priority": priority}
        while True:
            for arguments in itertools.islice(jobs, limit - len(under_way)):
                worker = next(preferences)
                # Other workers are allowed because the preferred one may be lost before it gets the step.
                anywhere = {"workers": worker and [worker], "allow_other_workers": worker is not None}
                future = self.client.submit(step, *arguments, **anywhere, **options)
                summary = future if summarize is None else self.client.submit(summarize, future, **options)
                under_way.append(WorkItem(arguments, future, summary))
            if not under_way:
                return
            first = under_way.popleft()
            self._finish(first.summary)
            yield first

    def _finish(self, future: Future[Any]) -> None:
        """Wait until a step is done. The scheduler assigns the steps of a lost worker to other workers.

        Raises:
            EngineError: all workers are lost.
        """
        while True:
            try:
                wait([future], timeout=NO_HEARTBEAT)
            except TimeoutError:
                if not self.client.nthreads():
                    raise EngineError(
                        "all workers were lost. Committed reports stay; start workers, and run the command again for "
                        "the rest"
                    ) from None
            else:
                return
