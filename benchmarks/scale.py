"""The Dask engine: the gain of a second worker, its cost beside threads, and the cost of a report in a cluster.

Each engine in turn ingests the same file into a copy of the same study, so all ratios come from one run. Afterwards the
studies must have the same rows. A worker is a process with one thread. Verification is also timed alone, without the
driver's commits, because two workers and the driver compete for two cores.

    python -m benchmarks scale                    ingest and verification, one worker and two
    python -m benchmarks.scale ROWS               tallies and deduplication of a study of ROWS generated rows, on two
                                                  workers; nothing is verified there
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from distributed import Client

from aggregator.engines import cluster, connection, pieces, steps
from aggregator.engines.cluster import Cluster
from aggregator.engines.local import Local
from aggregator.engines.steps import StudyVersion
from aggregator.engines.workers import Workers
from aggregator.estimate.estimator import estimate
from aggregator.intake import shards
from aggregator.storage import tables
from aggregator.storage.tables import KEYS, REPORTS, SCHEMAS
from aggregator.study import Study
from benchmarks.ingest import OPENS, US_GRID, campaign, peak, prepare, size_of, valid_reports
from protocol.campaign import SignedCampaign, open_campaign, seal_campaign
from protocol.keys import SigningKey

REPORTS_VERIFIED = 200_000
WARM_UP = 20_000
TURNS = 2
"""Turns of each engine with workers; the local engine, which benchmarks.ingest measures, has one."""
DAY = 10**9
"""Number of reports for which the core-hours are computed: those of a large study in a day."""
COMMIT_ROWS = 2**21
TESTS = "run tests/aggregator/test_engine_dask.py"


@contextmanager
def workers(number: int) -> Iterator[Cluster]:
    """Yield the engine on ``number`` ready processes."""
    with connection.local_cluster(number) as started, Client(started) as client, client.as_current():
        client.wait_for_workers(number, timeout=60)
        yield Cluster(Workers(client))


@dataclass
class BestDuration:
    """The shortest time of several turns: elapsed seconds, and processor seconds of the processes that did the work."""

    wall: float = float("inf")
    cpu: float = float("inf")

    @contextmanager
    def turn(self, engine: Local | Cluster) -> Iterator[None]:
        """Context manager: time the block, and keep the shortest times so far."""
        before, began = cpu(engine), time.perf_counter()
        yield
        self.wall = min(self.wall, time.perf_counter() - began)
        self.cpu = min(self.cpu, cpu(engine) - before)


def result(study: Study, signed: SignedCampaign, engine: Local | Cluster) -> str:
    """Return a digest of the counted rows and of the engine's estimate; it does not depend on the order of the rows."""
    rows = tables.query(tables.snapshot(study.path / REPORTS), "SELECT * FROM rows ORDER BY key, slot")
    digest = hashlib.sha256()
    for name in ("period", "key", "slot", "output"):
        digest.update(rows[name].to_numpy().tobytes())
    estimate_json = estimate(signed, engine.tally(study, signed)).as_json()
    digest.update(json.dumps(estimate_json | {"table_version": None}).encode())
    return digest.hexdigest()


def validated(engine: Cluster, study: Study, batch: Path) -> int:
    """Verify a file and sort the valid outputs with workers only; return the number of outputs. Nothing is
    committed."""
    study_version = StudyVersion.of(study)
    cut = pieces.cut_files(engine.workers, study, [batch], engine.piece_bytes, {})
    jobs = ((piece.ranges, study_version, OPENS, 2) for piece in cut)
    items = engine.workers.in_order(steps.validate_piece, jobs, summarize=steps.summary)
    return sum(item.summary.result().outputs for item in items)


@dataclass
class Turns:
    """The times of one engine, and the state that it left.

    Attributes:
        verify, ingest, known: the time of verification alone, by workers only; of the first ingest; and of the second
            ingest of the same file.
        left: digests of the study's content after each turn.
        travelled, stored, keys: bytes sent between workers, bytes of the table of reports, and bytes of the table of
            keys.
    """

    engine: Local | Cluster
    verify: BestDuration = field(default_factory=BestDuration)
    ingest: BestDuration = field(default_factory=BestDuration)
    known: BestDuration = field(default_factory=BestDuration)
    left: set[str] = field(default_factory=set)
    travelled: int = 0
    stored: int = 0
    keys: int = 0

    def warm_up(self, study_path: Path, file: Path) -> None:
        """Load all modules and code that are loaded once, so that no turn includes this time."""
        self.engine.ingest(Study.open(shutil.copytree(study_path, study_path.with_name("warm"))), [file], now=OPENS)
        shutil.rmtree(study_path.with_name("warm"))
        if isinstance(self.engine, Cluster):
            validated(self.engine, Study.open(study_path), file)  # warms up the registry as well

    def take(self, study_path: Path, batch: Path) -> None:
        """Verify the reports of a file, and ingest it twice into a copy of the study."""
        engine = self.engine
        if isinstance(engine, Cluster):
            with self.verify.turn(engine):
                passed = validated(engine, Study.open(study_path), batch)
            if passed != REPORTS_VERIFIED:
                raise RuntimeError(f"{passed} of {REPORTS_VERIFIED} reports passed verification: expected all; {TESTS}")
        copy = Study.open(shutil.copytree(study_path, study_path.with_name("copy")))
        with self.ingest.turn(engine):
            first = engine.ingest(copy, [batch], now=OPENS)
        self.travelled = engine.sent_bytes if isinstance(engine, Cluster) else 0
        with self.known.turn(engine):
            second = engine.ingest(copy, [batch], now=OPENS)
        if (first.accepted, second.refused) != (REPORTS_VERIFIED, {"replayed": REPORTS_VERIFIED}):
            raise RuntimeError(
                f"expected all {REPORTS_VERIFIED} reports to be accepted, then refused as replayed the second time; "
                f"accepted {first.accepted}; refused the first time: {first.refused}, the second time: "
                f"{second.refused}; {TESTS}"
            )
        self.left.add(result(copy, campaign(), engine))
        self.stored, self.keys = size_of(copy.path / REPORTS), size_of(copy.path / KEYS)
        shutil.rmtree(copy.path)


def run() -> Iterator[tuple[str, str]]:
    """Yield ingest and verification by 1 and 2 workers beside the local engine, and the cost of a report."""
    with tempfile.TemporaryDirectory() as name, workers(1) as one_worker, workers(2) as two_workers:
        study, warm = Path(name) / "study", Path(name) / "warm.htr"
        batch = prepare(Path(name), REPORTS_VERIFIED)
        warm.write_bytes(batch.read_bytes()[: WARM_UP * batch.stat().st_size // REPORTS_VERIFIED])
        thread, threads, single, double = (Turns(engine) for engine in (Local(1), Local(), one_worker, two_workers))
        for turn in range(TURNS):
            for turns in (thread, threads, single, double):
                if turn == 0:
                    turns.warm_up(study, warm)
                if turn == 0 or isinstance(turns.engine, Cluster):
                    turns.take(study, batch)
        read = batch.stat().st_size
    if len(thread.left | threads.left | single.left | double.left) != 1:
        raise RuntimeError(f"the rows and estimates of the engines differ: expected one digest; {TESTS}")
    core = REPORTS_VERIFIED / single.ingest.wall
    verify, ingest = (single.verify, double.verify), (single.ingest, double.ingest)
    yield "speed-up of verification by a second worker [at least 1.7]", f"{verify[0].wall / verify[1].wall:.2f}"
    yield "  processor time: 2 workers / 1 worker", f"{verify[1].cpu / verify[0].cpu:.2f}"
    yield "speed-up of ingest by a second worker", f"{ingest[0].wall / ingest[1].wall:.2f}"
    yield "  processor time: 2 workers / 1 worker", f"{ingest[1].cpu / ingest[0].cpu:.2f}"
    yield (
        f"speed-up of ingest by {os.cpu_count()} threads compared with one, local engine",
        f"{thread.ingest.wall / threads.ingest.wall:.2f}",
    )
    yield "time of ingest: 2 workers / local engine", f"{double.ingest.wall / threads.ingest.wall:.2f}"
    for engine_name, turns in (("local", threads), ("2 workers", double)):
        yield (
            f"speed-up if the same file is ingested again, {engine_name}",
            f"{turns.ingest.wall / turns.known.wall:.1f}",
        )
    yield "rows and estimates of all engines", "the same bytes"
    for engine_name, turns in (("1 worker", single), ("2 workers", double)):
        seconds = " / ".join(f"{duration.wall:.1f}" for duration in (turns.verify, turns.ingest, turns.known))
        yield f"seconds to verify / ingest / ingest again, {engine_name}", seconds
    yield "reports per second and core, 1 worker", f"{core:,.0f}"
    yield "bytes a report: read (twice)", f"{read / REPORTS_VERIFIED:.0f}"
    yield "bytes a report: sorted into shards", f"{double.travelled / REPORTS_VERIFIED:.1f}"
    yield "bytes a report: in the table", f"{double.stored / REPORTS_VERIFIED:.1f}"
    yield "bytes a key: in the table of keys", f"{double.keys / REPORTS_VERIFIED:.1f}"
    yield f"core-hours for {DAY:,} reports", f"{DAY / core / 3600:.1f}"


def cpu(engine: Local | Cluster) -> float:
    """Return the processor seconds that the workers have used; for the local engine, those of this process."""
    return (
        sum(engine.workers.client.run(time.process_time).values())
        if isinstance(engine, Cluster)
        else time.process_time()
    )


def generated(folder: Path, rows: int) -> tuple[Study, SignedCampaign]:
    """Create a study of ``rows`` generated rows: half of them in each of two periods, from the same devices.

    Each commit is sorted by key, like those of the Dask engine.
    """
    author = SigningKey(bytes(range(32)))
    map_campaign = campaign().campaign
    map_campaign = replace(map_campaign, closes=map_campaign.opens + 2 * map_campaign.period_seconds)
    signed = open_campaign(seal_campaign(map_campaign, author), [author.public])
    study = Study.create(folder / "study")
    study.import_campaign(signed.data, [signed.author], "map")
    for period in (0, 1):
        rng = np.random.default_rng(1)  # the same seed gives the same keys in both periods
        for first in range(0, rows // 2, COMMIT_ROWS):
            size = min(COMMIT_ROWS, rows // 2 - first)
            key = np.sort(rng.integers(-(2**63), 2**63 - 1, size))
            output = (key * 7919 + period) % US_GRID.size
            reports = valid_reports(signed, key, output, period)
            tables.append_rows(study.path / REPORTS, reports.rows(np.ones(size, dtype=np.bool_)))
    return study, signed


def aggregate(rows: int) -> Iterator[tuple[str, str]]:
    """Yield the seconds to tally ``rows`` rows, and to deduplicate against them."""
    with tempfile.TemporaryDirectory() as name:
        began = time.perf_counter()
        study, signed = generated(Path(name), rows)
        yield f"{rows:,} rows written, sorted by key", f"{time.perf_counter() - began:.1f} s"
        yield "bytes a row in the table", f"{size_of(study.path / REPORTS) / rows:.1f}"
        with workers(1) as one_worker, workers(2) as two_workers:
            for rows_text, period in (
                (f"one period, {rows // 2:,} rows", 0),
                (f"latest of two periods, {rows:,} rows", None),
            ):
                tallies = {}
                for engine_name, engine in (("local", Local()), ("1 worker", one_worker), ("2 workers", two_workers)):
                    began = time.perf_counter()
                    tally = engine.tally(study, signed, period)
                    tallies[engine_name] = tally.counts.tolist()
                    yield f"tally, {rows_text}, {engine_name}", f"{time.perf_counter() - began:.1f} s"
                same = all(counts == tallies["local"] for counts in tallies.values())
                yield f"tally, {rows_text}, all engines", "the same integers" if same else "DIFFERENT"
            yield from deduplicated(study, signed, two_workers)
            peaks = [*two_workers.workers.client.run(peak).values(), *one_worker.workers.client.run(peak).values()]
            yield (
                "peak memory: this process; each of two workers; one alone",
                "; ".join(f"{memory:,.0f} MiB" for memory in (peak(), max(peaks[:2]), peaks[2])),
            )


def deduplicated(study: Study, signed: SignedCampaign, engine: Cluster) -> Iterator[tuple[str, str]]:
    """Yield the seconds to find the replays of the outputs of two commits among the rows of a period; half of the
    outputs of a commit are replays."""
    table = tables.snapshot(study.path / REPORTS)
    size, preferred = cluster.COMMIT_OUTPUTS, engine.workers.preferred([None, None])
    known = tables.query(table, f"SELECT key FROM rows WHERE period = 0 LIMIT {size // 2}")["key"].to_numpy()  # noqa: S608
    study_version, rng = StudyVersion.of(study), np.random.default_rng(2)
    for commit_name in ("first commit, reads the period", "next commit"):
        fresh = rng.integers(-(2**63), 2**63 - 1, size - len(known))
        key = np.concatenate([known, fresh])
        candidates = valid_reports(signed, key, np.zeros(size, dtype=np.int64))
        number = len(preferred)
        parts = [engine.workers.client.scatter(part) for part in shards.split([candidates], number)]
        began = time.perf_counter()
        jobs = ((study_version, table.version(), shard, number, [parts[shard]]) for shard in range(number))
        deduplicated = [
            item.future.result() for item in engine.workers.in_order(steps.deduplicate, jobs, preferred=preferred)
        ]
        took = time.perf_counter() - began
        accepted = sum(shard_result.outcome.accepted.total() for shard_result in deduplicated)
        if accepted != len(fresh):
            raise RuntimeError(f"{accepted} reports were accepted: expected the {len(fresh)} new ones; {TESTS}")
        new_rows = [shard_result.rows.cast(SCHEMAS[REPORTS]) for shard_result in deduplicated]
        tables.append_rows(study.path / REPORTS, pa.concat_tables(new_rows))
        table = tables.snapshot(study.path / REPORTS)
        yield f"deduplication of {size:,} outputs, {commit_name}", f"{took:.1f} s"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Tally generated rows, and deduplicate against them, on two workers.")
    parser.add_argument("rows", type=int, help="number of rows")
    for title, measured in aggregate(parser.parse_args().rows):
        print(f"  {title:<68} {measured}", flush=True)
