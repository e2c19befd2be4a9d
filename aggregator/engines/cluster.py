"""The Dask engine: the steps of an ingest on the workers of a cluster, and one writer.

Workers only compute, from byte ranges and from versions of the study's tables, so a step may run anywhere and
any number of times; this process, the driver, alone writes, by the study's own compare-and-swap. What a crash, a lost
worker or another writer can do is therefore what it can do to a single process.

    survey      cut the files where envelopes end                                   workers
    introduce   verify enrolments; register their keys                              workers; driver
    examine     verify and parse reports, some pieces ahead, sorted by key shard    workers
    settle      find the free slots of each shard, at a version of the table        workers
    append      one commit a round, if the table is still at that version           driver; else settle again

Pieces are settled in the order in which they were read, so of two copies of a report the first counts, as in one
process. The files and the study are on storage that all machines see under the same paths.

What the steps do: steps, tallies.
"""

# mypy: untyped-calls-exclude=distributed

from __future__ import annotations

import itertools
import logging
import os
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Any

import dask
import pyarrow as pa
from deltalake import DeltaTable
from distributed import Client, Future, KilledWorker, LocalCluster, wait
from distributed.comm.core import CommClosedError
from distributed.utils import silence_logging_cmgr

from aggregator.engines import steps, tallies
from aggregator.engines.engine import EngineError
from aggregator.engines.steps import Examined, Settled, StudyVersion
from aggregator.engines.tallies import Chosen
from aggregator.estimate.tally import Tally
from aggregator.intake import ranges
from aggregator.intake.enrolments import Introduction, admit
from aggregator.intake.files import batch_files, size_of
from aggregator.intake.ingest import ALONE_BYTES, IngestResult, IngestTotals
from aggregator.intake.ranges import Range, Surveyed
from aggregator.intake.signatures import BLOCK_BYTES
from aggregator.intake.verified import Verified
from aggregator.intake.verified import size_of as verified_bytes
from aggregator.storage import places, tables
from aggregator.storage.places import Place
from aggregator.storage.tables import CAMPAIGNS, KEYS, REPORTS, SCHEMAS
from aggregator.study import Study
from protocol.campaign import SignedCampaign
from protocol.errors import HalftruthError

PIECE_BYTES = 2**22
PIECE_OUTPUTS = 2**22
"""Maximum bytes of envelopes in a piece; fewer if they can carry too many outputs."""
PIECES_EACH = 8
"""Or fewer bytes, so that each of the workers' threads has so many pieces, and none waits long for the last; but not
fewer than signatures are remembered by, so that a file is known to any number of workers."""
PIECE_FILES = 1000
ROUND_OUTPUTS = 2**20
"""Approximate number of outputs in a commit; more with more workers, so that they need not wait for it."""
ROUND_PIECES = 256
"""Maximum number of pieces in a commit, including refused ones."""
AHEAD = 4
"""Pieces for each of the workers' threads that are under way or waiting to be settled, beside the round's own."""
MOST_SHARDS = 16
NO_HEARTBEAT = 60
"""Seconds without a sign of a worker after which its work is given to others, of workers that this engine started."""
TALLY_ROWS = 2**24
"""Rows that a worker counts at once."""
KEYS_AT_ONCE = 2**20
_URGENT = 10
_REACH = 15.0
"""Seconds to find a scheduler, and for it to have a worker, or a worker that answers."""
_GLANCE = 0.5


@contextmanager
def connected(name: str, workers: int | None) -> Iterator[Cluster]:
    """A cluster, for as long as it is needed.

    Args:
        name: "dask" for processes of its own; else the address of a scheduler, as ``engine_of`` takes it.
        workers: processes to start.
    Raises:
        EngineError
    """
    with ExitStack() as stack:
        # Its log messages about a lost worker repeat the error.
        stack.enter_context(silence_logging_cmgr(logging.CRITICAL))
        if name == "dask":
            address: LocalCluster | str = stack.enter_context(processes(workers or os.cpu_count() or 1))
        else:
            scheme, _, place = name.partition("://")
            address = ("tls://" if scheme == "dask+tls" else "tcp://") + place
        try:
            client = stack.enter_context(Client(address, timeout=_REACH, set_as_default=False))
            client.wait_for_workers(1, timeout=_REACH)
        except (OSError, TimeoutError, ValueError) as error:
            raise EngineError(
                f"no Dask scheduler with a worker answers at {name!r} ({error}): start one with `dask scheduler` and "
                "`dask worker`, or use --engine dask, which starts its own processes"
            ) from None
        with _said_plainly(), client.as_current():
            yield Cluster(client)


@contextmanager
def processes(workers: int, *, silent: int = NO_HEARTBEAT, **options: Any) -> Iterator[LocalCluster]:
    """Start worker processes on this machine that other users of the machine cannot connect to.

    Args:
        silent: see ``NO_HEARTBEAT``.
        options: of ``LocalCluster``.
    """
    settings = {
        "distributed.scheduler.worker-ttl": f"{silent}s",
        # A web server is always started: on any free port, and with no pages.
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
                    n_workers=workers,
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
    """Ctrl-C is not heard while processes are started, and never by them: only this process can clean up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _said_plainly() -> Iterator[None]:
    """Context manager: raise errors of the cluster as ``EngineError``.

    Raises:
        EngineError
    """
    try:
        yield
    except HalftruthError:
        raise
    except KilledWorker as error:
        raise EngineError(
            f"workers died again and again at the same step ({error.task}): most likely they have too little memory; "
            "give them more, or use fewer. What was committed stays; run it again for the rest"
        ) from None
    except (CancelledError, CommClosedError, TimeoutError) as error:
        raise EngineError(
            f"the Dask scheduler was lost ({type(error).__name__}). What was committed stays; run it again for the rest"
        ) from error


@dataclass
class Cluster:
    """A Dask scheduler and its workers.

    Attributes:
        piece_bytes, round_outputs: see ``PIECE_BYTES`` and ``ROUND_OUTPUTS``.
        travelled: bytes of verified outputs that were sorted into shards, by the last ingest.
    """

    client: Client
    piece_bytes: int = PIECE_BYTES
    round_outputs: int = ROUND_OUTPUTS
    travelled: int = 0

    # Ingest.

    def ingest(
        self, study: Study, paths: Iterable[str | Place], *, now: int, progress: Callable[[int], None] | None = None
    ) -> IngestResult:
        """As ``aggregator.intake.ingest.ingest``.

        Raises:
            EngineError: a worker is of another version, or does not see the study or a file.
            IntakeError, StudyError
        """
        files = batch_files(paths)
        standing = self._require_shared(study)
        warnings: dict[Place, str] = {}
        pieces = self._pieces(study, files, warnings)
        desk, verified = IngestTotals(study, now), Verified.of(study.path)
        self._take_keys(desk, verified, [piece for piece, enrolments in pieces if enrolments], standing)
        standing = replace(_standing(study), verified=standing.verified)
        self._take_reports(desk, verified, [piece for piece, _ in pieces], standing, warnings, progress)
        return desk.result(len(files), tuple(_warnings(files, warnings)))

    def _require_shared(self, study: Study) -> StudyVersion:
        """The study as it is, which all workers see.

        Raises:
            EngineError
        """
        standing = _standing(study)
        identity = str(tables.snapshot(standing.path / CAMPAIGNS).metadata().id)
        mine = metadata.version("halftruth")
        for worker, answer in self._answers(steps.probe, standing.path, identity).items():
            if isinstance(answer, BaseException):
                raise EngineError(
                    f"worker {worker} cannot run halftruth ({answer}): install halftruth[aggregator,dask] where "
                    "workers run"
                )
            version, trouble = answer
            if version != mine:
                raise EngineError(f"worker {worker} runs halftruth {version}, this is {mine}: use one version")
            if trouble:
                raise EngineError(
                    f"worker {worker} cannot read {standing.path}: {trouble}. Put the study and the files on storage "
                    "that every worker sees under the same path, or use --engine dask on this machine"
                )
        return standing

    def _answers(self, question: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Each worker's answer, or the error it fails with; there is at least one answer.

        Raises:
            EngineError
        """
        patience = time.monotonic() + _REACH
        while True:
            answers: Mapping[str, Any] = self.client.run(question, *arguments, on_error="return")
            # A worker that was lost meanwhile does not answer; other workers do its work.
            found = {worker: answer for worker, answer in sorted(answers.items()) if not isinstance(answer, OSError)}
            if found:
                return found
            if time.monotonic() > patience:
                raise EngineError("no worker answers. Start workers, and run it again")
            time.sleep(_GLANCE)  # all workers may have been lost while new ones are starting

    def _pieces(
        self, study: Study, files: Sequence[Place], warnings: dict[Place, str]
    ) -> list[tuple[tuple[Range, ...], bool]]:
        """The files in pieces cut where envelopes end, and whether there are enrolments in each."""
        fair = max(size_of(files) // (PIECES_EACH * self._threads()), BLOCK_BYTES)
        # A power of two, so that every cut of one size is one of the smaller sizes too.
        size = 1 << min(self.piece_bytes, fair, _bytes_of(study, PIECE_OUTPUTS)).bit_length() - 1
        guesses = ranges.grouped(_guesses(files, size, warnings), size, PIECE_FILES, ALONE_BYTES)
        kept: deque[tuple[Range, ...]] = deque()

        def jobs() -> Iterator[tuple[Any, ...]]:
            for group in guesses:
                kept.append(group)
                yield (group,)

        def surveyed() -> Iterator[tuple[Range, Surveyed]]:
            for item in self._in_order(steps.survey, jobs()):
                yield from zip(kept.popleft(), item.future.result(), strict=True)

        def again(where: Range) -> Surveyed:
            found: list[Surveyed] = self._one(steps.survey, ((where,),)).future.result()
            return found[0]

        found_in: list[tuple[Range, bool]] = []
        for where, found in ranges.stitched(surveyed(), again):
            if found.trouble is not None:
                if found.absent and where.path.exists():
                    raise EngineError(
                        f"a worker does not see {where.path}: put the files on storage that every worker sees under "
                        "the same path, or use --engine dask on this machine"
                    )
                nothing = where.begin == found.rest == 0
                warnings[where.path] = _unread(found.trouble, nothing=nothing)
            found_in.append((where, found.enrolments))
        there = (enrolments for _, enrolments in found_in)
        pieces = ranges.grouped((where for where, _ in found_in), size, PIECE_FILES, ALONE_BYTES)
        return [(piece, any(list(itertools.islice(there, len(piece))))) for piece in pieces]

    def _take_keys(
        self, desk: IngestTotals, verified: Verified, pieces: Iterable[tuple[Range, ...]], standing: StudyVersion
    ) -> None:
        """Register the keys that enrolments introduce, in the order in which they were read."""
        waiting: dict[str, list[Introduction]] = {}
        jobs = ((piece, standing) for piece in pieces)
        for item in self._in_order(steps.introduce, jobs):
            done: steps.Introduced = item.future.result()
            verified.add(done.verified)
            desk.take_keys(done.enrolled, done.envelopes)
            for one in done.keys:
                waiting.setdefault(one.campaign, []).append(one)
                if sum(len(part.ids) for part in waiting[one.campaign]) >= KEYS_AT_ONCE:
                    _admit(desk, waiting.pop(one.campaign))
        for parts in waiting.values():
            _admit(desk, parts)

    def _take_reports(
        self,
        desk: IngestTotals,
        verified: Verified,
        pieces: Sequence[tuple[Range, ...]],
        standing: StudyVersion,
        warnings: dict[Place, str],
        progress: Callable[[int], None] | None,
    ) -> None:
        """Commit the reports that pass, a round at a time, while workers go on with the next."""
        self.travelled = 0
        threads = self._threads()
        shards = 1 << min(MOST_SHARDS, max(threads, 2)).bit_length() - 1
        most = self.round_outputs * max(1, threads // 8)
        kept = deque(pieces)
        jobs = ((piece, standing, desk.now, shards) for piece in pieces)
        held: list[tuple[Future[Any], Examined]] = []
        homes: list[str | None] = [None] * shards
        for item in self._in_order(steps.examine, jobs, digest=steps.summary):
            found: Examined = item.digest.result()
            verified.add(found.verified)
            self.travelled += found.travel
            for path, trouble in found.troubles.items():
                warnings.setdefault(path, _unread(trouble, nothing=False))
            held.append((item.future, found))
            if progress is not None:
                progress(sum(where.size for where in kept.popleft()))
            if sum(one.outputs for _, one in held) >= most or len(held) >= ROUND_PIECES:
                homes = self._homes(homes)
                self._commit(desk, held, standing, homes)
                held = []
        if held:
            self._commit(desk, held, standing, self._homes(homes))

    def _homes(self, before: Sequence[str | None]) -> list[str | None]:
        """Return the preferred worker of each shard: the same as before if it is still connected.

        That worker has the shard's slots in memory, and another one would have to read them again. It is only a
        preference.
        """
        threads: Mapping[str, int] = self.client.nthreads()
        places = [worker for worker, number in sorted(threads.items()) for _ in range(number)]
        if not places:
            return [None] * len(before)
        anew = [places[shard * len(places) // len(before)] for shard in range(len(before))]
        return [home if home in threads else other for home, other in zip(before, anew, strict=True)]

    def _commit(
        self,
        desk: IngestTotals,
        held: Sequence[tuple[Future[Any], Examined]],
        standing: StudyVersion,
        homes: Sequence[str | None],
    ) -> None:
        shards = len(homes)
        parcels = [
            [self.client.submit(steps.parcel, future, shard, pure=False, priority=_URGENT) for future, _ in held]
            for shard in range(shards)
        ]
        settled: list[Settled] = []

        def rows_for(table: DeltaTable) -> pa.Table:
            nonlocal settled
            of_shards = ((standing, table.version(), shard, shards, parcels[shard]) for shard in range(shards))
            items = list(self._in_order(steps.settle, of_shards, priority=_URGENT, most=shards, at=homes))
            settled = [item.future.result() for item in items]
            return pa.concat_tables([one.rows.cast(SCHEMAS[REPORTS]) for one in settled])

        if any(found.outputs for _, found in held):
            tables.append(desk.study.path / REPORTS, rows_for)
        desk.take_reports(steps.merged([found.judged for _, found in held] + [one.judged for one in settled]))
        pa.default_memory_pool().release_unused()

    # Tallies.

    def tally(self, study: Study, campaign: SignedCampaign, period: int | None = None) -> Tally:
        """As ``aggregator.estimates.Estimates.tally``, from the same integers.

        Raises:
            EngineError, StudyError
        """
        return next(self._tallies(study, campaign, [period]))

    def spans(self, study: Study, campaign: SignedCampaign, spans: Sequence[tuple[int, int]]) -> Iterator[Tally]:
        """As ``aggregator.estimates.Estimates.spans``, from the same integers.

        Raises:
            EngineError, StudyError
        """
        return self._tallies(study, campaign, spans)

    def _tallies(self, study: Study, campaign: SignedCampaign, asked: Sequence[Chosen]) -> Iterator[Tally]:
        """A tally of each that is asked, of one version of the table."""
        standing, name = self._require_shared(study), campaign.id.hex()
        table = tables.snapshot(standing.path / REPORTS)
        files = tables.data_files(standing.path / REPORTS, table)
        rows = sum(file.rows for file in files if file.partition["campaign"] == name)
        number = 1 << (max(rows // TALLY_ROWS, min(self._threads(), MOST_SHARDS)) - 1).bit_length()
        rejected = MappingProxyType(study.rejected(campaign))
        jobs = ((standing, table.version(), shard, number, name, chosen) for chosen in asked for shard in range(number))
        items = self._in_order(tallies.part, jobs)
        for _ in asked:
            parts: list[Tally] = [item.future.result() for item in itertools.islice(items, number)]
            yield tallies.whole(parts, rejected)

    # Work on workers.

    def _threads(self) -> int:
        threads: Mapping[str, int] = self.client.nthreads()
        return max(1, sum(threads.values()))

    def _one(self, step: Callable[..., Any], arguments: tuple[Any, ...]) -> _WorkItem:
        return next(self._in_order(step, iter([arguments])))

    def _in_order(
        self,
        step: Callable[..., Any],
        jobs: Iterator[tuple[Any, ...]],
        *,
        digest: Callable[..., Any] | None = None,
        priority: int = 0,
        most: int | None = None,
        at: Iterable[str | None] = (),
    ) -> Iterator[_WorkItem]:
        """Work items in the order of their arguments, each done; at most ``most`` are under way.

        Args:
            at: the worker that is asked first, for each.
        """
        under_way: deque[_WorkItem] = deque()
        most = most or AHEAD * self._threads()
        homes = itertools.chain(at, itertools.repeat(None))
        options = {"pure": False, "priority": priority}
        while True:
            for arguments in itertools.islice(jobs, most - len(under_way)):
                home = next(homes)
                # A requested worker may be lost before it gets the step.
                anywhere = {"workers": home and [home], "allow_other_workers": home is not None}
                future = self.client.submit(step, *arguments, **anywhere, **options)
                small = future if digest is None else self.client.submit(digest, future, **options)
                under_way.append(_WorkItem(future, small))
            if not under_way:
                return
            first = under_way.popleft()
            self._finish(first.digest)
            yield first

    def _finish(self, future: Future[Any]) -> None:
        """Return when a step is done; the scheduler gives the steps of a worker that is lost to others.

        Raises:
            EngineError: there is no worker any more.
        """
        while True:
            try:
                wait([future], timeout=NO_HEARTBEAT)
            except TimeoutError:
                if not self.client.nthreads():
                    raise EngineError(
                        "no worker is left. What was committed stays; start workers, and run it again"
                    ) from None
            else:
                return


@dataclass(frozen=True)
class _WorkItem:
    """A step on a worker.

    Attributes:
        future: the step's result.
        digest: the small part of it.
    """

    future: Future[Any]
    digest: Future[Any]


def _standing(study: Study) -> StudyVersion:
    path = study.path.resolve()
    campaigns, keys = (tables.snapshot(path / name).version() for name in (CAMPAIGNS, KEYS))
    return StudyVersion(path, campaigns, keys, verified_bytes(path))


def _bytes_of(study: Study, outputs: int) -> int:
    """Return the bytes of envelopes that carry at most about this many outputs, in any campaign."""
    least = []
    for known in study.campaigns():
        answers, bits = known.campaign.terms.answers_per_period, known.campaign.terms.output_bits
        least.append((100 + answers * bits // 8) * outputs // answers)
    return max(2**16, min(least, default=PIECE_BYTES))


def _guesses(files: Iterable[Place], most: int, warnings: dict[Place, str]) -> Iterator[Range]:
    for path in files:
        absolute = _absolute(path)
        try:
            size = places.size_of(path)
        except OSError as error:
            warnings[absolute] = _unread(error.strerror or str(error), nothing=True)
            continue
        if not size:
            warnings[absolute] = "is empty"
        yield from ranges.nominal(absolute, size, most)


def _absolute(path: Place) -> Place:
    """The absolute path, the same on every machine; links are not resolved."""
    return Path(os.path.abspath(path)) if isinstance(path, Path) else path  # noqa: PTH100


def _unread(trouble: str, *, nothing: bool) -> str:
    return f"could not be read{'' if nothing else ' to its end'}: {trouble}"


def _warnings(files: Iterable[Place], found: Mapping[Place, str]) -> Iterator[str]:
    """A sentence for each file that something is wrong with, in the order in which they were to be read."""
    for path in files:
        if trouble := found.get(_absolute(path)):
            yield f"{path} {trouble}"


def _admit(desk: IngestTotals, parts: Sequence[Introduction]) -> None:
    enrolled = admit(desk.study, Introduction.joined(parts))
    desk.take_keys(enrolled, enrolled.added + enrolled.known + enrolled.refused.total())
