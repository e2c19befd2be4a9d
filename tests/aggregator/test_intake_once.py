"""Each report counts at most once and none is lost: other processes, crashes, and any order of operations."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from multiprocessing import get_context
from pathlib import Path

import pytest

from aggregator.intake import ingest as intake
from aggregator.intake import judge, tables
from aggregator.intake.ingest import IngestResult, ingest
from aggregator.study import Study
from tests.aggregator import crowd
from tests.aggregator.crowd import NOW, campaign, enrolment, report

BUCKETS = campaign(4096, answers=3, title="Buckets")


def take(study: Path, file: Path) -> IngestResult:
    """In a process of its own."""
    return ingest(Study.open(study), [file], now=NOW, threads=1)


def take_together(study: Path, files: list[Path]) -> list[IngestResult]:
    """Every file in a process of its own, at the same time."""
    with get_context("spawn").Pool(len(files)) as pool:
        pool.starmap(time.sleep, [(0,)] * len(files))
        return pool.starmap(take, [(study, file) for file in files], chunksize=1)


def together(tmp_path: Path, processes: int, reports: int) -> None:
    """Processes ingest the same file at once: one count a report, the rest replays."""
    study = crowd.study(tmp_path / "study", BUCKETS, range(reports))
    file = tmp_path / "batch.htr"
    file.write_bytes(b"".join(report(number, BUCKETS, number % 4096) for number in range(reports)))
    results = take_together(study.path, [file] * processes)
    assert sum(result.accepted for result in results) == reports
    assert sum((Counter(result.rejected) for result in results), Counter()) == {"replayed": (processes - 1) * reports}
    counts = study.tally(BUCKETS).counts
    assert counts.tolist() == [len(range(y, reports, 4096)) for y in range(4096)]
    assert study.rejected(BUCKETS) == {"replayed": (processes - 1) * reports}


def test_four_processes_count_the_same_file_once(tmp_path):
    """4 processes, the same 2,000 reports: 2,000 counted, 6,000 replayed."""
    together(tmp_path, 4, 2_000)


@pytest.mark.long
def test_eight_processes_count_the_same_file_once(tmp_path):
    """8 processes, the same 10,000 reports: 10,000 counted, 70,000 replayed."""
    together(tmp_path, 8, 10_000)


def test_processes_with_different_files_lose_nothing(tmp_path):
    """Processes that commit different reports and keys at the same time all succeed, and everything is counted."""
    signed = campaign(4096, enrolment="open", title="Open buckets")
    study = crowd.study(tmp_path / "study", signed)
    files = []
    for part in range(4):
        numbers = range(100 * part, 100 * part + 100)
        files.append(tmp_path / f"{part}.htr")
        files[-1].write_bytes(b"".join(enrolment(n, signed) + report(n, signed, n) for n in numbers))
    results = take_together(study.path, files)
    assert [result.accepted for result in results] == [100] * 4
    assert study.tally(signed).counts.tolist() == [1] * 400 + [0] * 3696
    assert len(study.registry(signed.id.hex()).ids) == 400


def killed_and_repeated(tmp_path: Path, moments: int) -> None:
    """Kill an ingest at so many moments, from its start to its end; a re-run completes what an undisturbed run does."""
    study = crowd.study(tmp_path / "study", BUCKETS, range(400))
    file = tmp_path / "batch.htr"
    file.write_bytes(b"".join(report(number, BUCKETS, number) for number in range(400)))
    script = f"""if True:
        import sys
        from aggregator.intake.ingest import ingest
        from aggregator.study import Study
        print("ready", flush=True)
        ingest(Study.open(sys.argv[1]), [sys.argv[2]], now={NOW}, threads=1, chunk_reports=50, piece_bytes=6000)
    """
    took, interrupted = 0.0, 0
    for moment in range(-1, moments):
        copy = Path(shutil.copytree(study.path, tmp_path / f"copy{moment}"))
        process = subprocess.Popen([sys.executable, "-c", script, copy, file], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        began = time.perf_counter()
        if moment < 0:  # the first run is not disturbed, and says how long one takes
            process.wait()
            took = time.perf_counter() - began
        else:
            time.sleep(took * moment / moments)
            process.send_signal(signal.SIGKILL)
            interrupted += process.wait() == -signal.SIGKILL
        process.stdout.close()
        before = int(Study.open(copy).tally(BUCKETS).counts.sum())
        result = ingest(Study.open(copy), [file], now=NOW, threads=1)
        assert (result.accepted, result.rejected.get("replayed", 0)) == (400 - before, before)
        assert Study.open(copy).tally(BUCKETS).counts.tolist() == [1] * 400 + [0] * 3696
        shutil.rmtree(copy)
    assert interrupted >= moments // 2


def test_a_killed_ingest_is_completed_by_the_next(tmp_path):
    """kill -9 at 6 moments of an ingest: after a re-run every report is counted once."""
    killed_and_repeated(tmp_path, 6)


@pytest.mark.long
def test_an_ingest_killed_anywhere_is_completed_by_the_next(tmp_path):
    """kill -9 at 60 moments of an ingest: after a re-run every report is counted once."""
    killed_and_repeated(tmp_path, 60)


class Stopped(Exception):
    """A simulated crash."""


def operations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, rounds: int, worlds: int) -> None:
    """Random ingests, duplicates, reorderings and crashes: no bucket above 1, and in the end every bucket 1.

    A round runs so many sequences side by side, each of a dozen devices of its own.
    """
    rng = random.Random(seed)
    people, buckets = 12 * worlds, 36 * worlds
    furnished = crowd.study(tmp_path / "furnished", BUCKETS, range(people))
    # Reports of one or more of a device's three slots; each slot has a bucket of its own.
    shapes = [(n, slot, count) for n in range(people) for slot in range(3) for count in range(1, 4 - slot)]
    sealed = {
        shape: report(shape[0], BUCKETS, *(3 * shape[0] + shape[1] + place for place in range(shape[2])), slot=shape[1])
        for shape in shapes
    }
    singles = [shape for shape in shapes if shape[2] == 1]
    real_append, real_add = tables.append, tables.add
    for number in range(rounds):
        study = Study.open(shutil.copytree(furnished.path, tmp_path / f"study{number}"))
        filled: set[tuple[int, int]] = set()
        for step in range(rng.randrange(1, 5)):
            chosen = []
            for world in range(worlds):
                chosen += rng.choices(shapes[72 * world : 72 * world + 72], k=rng.randrange(1, 30))
            chosen += rng.choices(chosen, k=rng.randrange(5 * worlds))
            rng.shuffle(chosen)
            file = tmp_path / f"{number}-{step}.htr"
            file.write_bytes(b"".join(sealed[shape] for shape in chosen))
            crash = rng.choice([None, None, "before the commit", "after the commit", "before the rejects"])

            def crashing(path, rows_for, crash=crash):
                if path.name == "reports" and crash == "before the commit":
                    raise Stopped
                real_append(path, rows_for)
                if path.name == "reports" and crash == "after the commit":
                    raise Stopped

            def crashing_add(path, rows, crash=crash):
                if crash == "before the rejects":
                    raise Stopped
                real_add(path, rows)

            monkeypatch.setattr(judge, "append", crashing)
            monkeypatch.setattr(intake, "add", crashing_add)
            try:
                result = ingest(
                    study,
                    [file],
                    now=NOW,
                    threads=1,
                    chunk_reports=len(chosen) // 3,
                    piece_bytes=rng.choice([4_000, 10**6]),
                )
                assert result.read == len(chosen) == result.accepted + sum(result.rejected.values())
            except Stopped:
                pass
            counts = study.tally(BUCKETS).counts
            assert counts.max() <= 1
            if crash is None:
                for device, slot, count in chosen:
                    places = {(device, slot + place) for place in range(count)}
                    if filled.isdisjoint(places):
                        filled |= places
                assert set(counts.nonzero()[0].tolist()) == {3 * device + slot for device, slot in filled}
            else:
                filled = {divmod(bucket, 3) for bucket in counts.nonzero()[0].tolist()}
        monkeypatch.setattr(judge, "append", real_append)
        monkeypatch.setattr(intake, "add", real_add)
        last = tmp_path / "last.htr"
        last.write_bytes(b"".join(sealed[shape] for shape in singles))
        assert ingest(study, [last], now=NOW, threads=1).accepted == buckets - len(filled)
        assert study.tally(BUCKETS).counts[:buckets].tolist() == [1] * buckets
        shutil.rmtree(study.path)


def test_no_order_of_operations_counts_a_report_twice(tmp_path, monkeypatch):
    """200 random sequences of ingest, duplicate, reorder and crash agree with a set of filled slots."""
    operations(tmp_path, monkeypatch, 1, 10, 20)


@pytest.mark.long
def test_ten_thousand_orders_of_operations_count_no_report_twice(tmp_path, monkeypatch):
    """10,000 random sequences of ingest, duplicate, reorder and crash agree with a set of filled slots."""
    operations(tmp_path, monkeypatch, 2, 100, 100)


def test_a_commit_that_comes_between_is_seen(tmp_path, monkeypatch):
    """If another process fills a slot between the look and the commit, the commit fails and the report is replayed."""
    study = crowd.study(tmp_path / "study", BUCKETS, range(2))
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(report(0, BUCKETS, 1) + report(1, BUCKETS, 2))
    second.write_bytes(report(0, BUCKETS, 3, 4))
    real, others = tables.write_deltalake, []

    def late(*args, **options):
        if not others:
            others.append(None)
            others.append(take(study.path, second))
        real(*args, **options)

    monkeypatch.setattr(tables, "write_deltalake", late)
    result = take(study.path, first)
    assert (others[1].accepted, result.accepted, result.rejected) == (1, 1, {"replayed": 1})
    assert study.tally(BUCKETS).counts[:5].tolist() == [0, 0, 1, 1, 1]
