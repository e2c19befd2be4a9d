"""Each report counts at most once and none is lost, although other processes write and processes are killed.

test_sequences runs operations in any order, and test_killed kills processes at each step.
"""

from __future__ import annotations

import shutil
import signal
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from aggregator.intake.ingest import IngestResult, ingest
from aggregator.study import Study
from tests.aggregator import fleet
from tests.aggregator.fleet import NOW, campaign, enrolment, report
from tests.aggregator.forked import PROCESSES, next_message, start_process

BUCKETS = campaign(4096, answers=3, title="Buckets")


def take(study: Path, file: Path) -> IngestResult:
    """Ingest a file with one thread; return the result."""
    return ingest(Study.open(study), [file], now=NOW, threads=1)


def take_together(study: Path, files: list[Path]) -> list[IngestResult]:
    """Ingest every file in a separate process, all at the same time."""
    with PROCESSES.Pool(len(files)) as pool:
        pool.starmap(time.sleep, [(0,)] * len(files))
        return pool.starmap(take, [(study, file) for file in files], chunksize=1)


@pytest.mark.parametrize(("processes", "reports"), [(4, 500), pytest.param(8, 10_000, marks=pytest.mark.long)])
def test_processes_count_the_same_file_once(tmp_path, processes, reports):
    """If several processes ingest the same file at once, each report is counted once, and the rest are replays."""
    study = fleet.study(tmp_path / "study", BUCKETS, range(reports))
    file = tmp_path / "batch.htr"
    file.write_bytes(b"".join(report(number, BUCKETS, number % 4096) for number in range(reports)))
    results = take_together(study.path, [file] * processes)
    assert sum(result.accepted for result in results) == reports
    assert sum((Counter(result.refused) for result in results), Counter()) == {"replayed": (processes - 1) * reports}
    counts = study.tally(BUCKETS).counts
    assert counts.tolist() == [len(range(y, reports, 4096)) for y in range(4096)]
    assert study.refused(BUCKETS) == {"replayed": (processes - 1) * reports}


def test_concurrent_processes_count_every_report(tmp_path):
    """If processes commit different reports and keys at the same time, all succeed and everything is counted."""
    signed = campaign(4096, enrolment="open", title="Open buckets")
    study = fleet.study(tmp_path / "study", signed)
    files = []
    for part in range(4):
        numbers = range(100 * part, 100 * part + 100)
        files.append(tmp_path / f"{part}.htr")
        files[-1].write_bytes(b"".join(enrolment(n, signed) + report(n, signed, n) for n in numbers))
    results = take_together(study.path, files)
    assert [result.accepted for result in results] == [100] * 4
    assert study.tally(signed).counts.tolist() == [1] * 400 + [0] * 3696
    assert len(study.registry(signed.id.hex()).ids) == 400


def take_slowly(study: Path, file: Path, pipe: Connection) -> None:
    """In a separate process: send "ready", and ingest in many commits."""
    pipe.send("ready")
    ingest(Study.open(study), [file], now=NOW, threads=1, chunk_reports=50, buffer_bytes=6000)


@pytest.mark.parametrize(("moments", "least"), [(3, 0), pytest.param(60, 10, marks=pytest.mark.long)])
def test_a_killed_ingest_is_completed_by_the_next(tmp_path, moments, least):
    """After kill -9 at any of several moments of an ingest, from its start to its end, a second run counts every report
    once."""
    study = fleet.study(tmp_path / "study", BUCKETS, range(400))
    file = tmp_path / "batch.htr"
    file.write_bytes(b"".join(report(number, BUCKETS, number) for number in range(400)))
    took, interrupted = 0.0, 0
    for moment in range(-1, moments):
        copy = Path(shutil.copytree(study.path, tmp_path / f"copy{moment}"))
        process, pipe = start_process(take_slowly, copy, file)
        assert next_message(pipe) == "ready"
        began = time.perf_counter()
        if moment < 0:  # the first run is not killed: it measures the duration
            process.join()
            took = time.perf_counter() - began
        else:
            time.sleep(took * moment / moments)
            process.kill()
            process.join()
            interrupted += process.exitcode == -signal.SIGKILL
        before = int(Study.open(copy).tally(BUCKETS).counts.sum())
        result = ingest(Study.open(copy), [file], now=NOW, threads=1)
        assert (result.accepted, result.refused.get("replayed", 0)) == (400 - before, before)
        assert Study.open(copy).tally(BUCKETS).counts.tolist() == [1] * 400 + [0] * 3696
        shutil.rmtree(copy)
    # Usually most kills come before the ingest has ended. If the machine was busy only during the first, measured run,
    # far fewer do; so the limit is low.
    assert interrupted >= least


def test_a_slot_filled_between_scan_and_commit_is_replayed(tmp_path, before_commit):
    """If another ingest fills a slot between the scan and the commit, the report for this slot is refused as
    replayed."""
    study = fleet.study(tmp_path / "study", BUCKETS, range(2))
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(report(0, BUCKETS, 1) + report(1, BUCKETS, 2))
    second.write_bytes(report(0, BUCKETS, 3, 4))
    others = before_commit(lambda: take(study.path, second))
    result = take(study.path, first)
    assert (others[0].accepted, result.accepted, result.refused) == (1, 1, {"replayed": 1})
    assert study.tally(BUCKETS).counts[:5].tolist() == [0, 0, 1, 1, 1]
