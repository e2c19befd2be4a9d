"""A study and its inputs work the same in a bucket and in a folder, with faults, crashes and other writers.

The store is moto's, on loopback; behaviour that only Amazon's store has is not tested.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from contextlib import ExitStack

import pytest

from aggregator.engines import EngineError, connection, engine_of
from aggregator.intake import signatures
from aggregator.intake import verified as verification
from aggregator.intake.compact import HOUR, RETENTION, clock_of, compact
from aggregator.intake.files import batch_files
from aggregator.intake.ingest import ingest
from aggregator.intake.verified import VerifiedDigests
from aggregator.rebuild import Sources, rebuild
from aggregator.storage import tables
from aggregator.storage.paths import files_below
from aggregator.storage.remote import Remote
from aggregator.storage.tables import REPORTS, Damaged, StudyError
from aggregator.study import Study
from tests.aggregator import fleet, test_upkeep
from tests.aggregator.fault_proxy import Fault, fault_proxy
from tests.aggregator.fleet import NOW, report
from tests.aggregator.forked import dask_processes, kill_at_commit, next_message, start_process
from tests.aggregator.object_store import BUCKET, ENVIRONMENT, prepared, uploaded
from tests.aggregator.test_engine_dask import messy
from tests.aggregator.test_intake_ingest import PLAIN, rows

EIGHTEEN = [report(n % 9, PLAIN, n % 16, period=n // 9) for n in range(18)]


def copied(study, path):
    """Return a copy of the study at another path."""
    for file in files_below(study.path):
        Remote(BUCKET, path.key + file.path.key.removeprefix(study.path.key)).write_bytes(file.path.read_bytes())
    return Study.open(path)


def contents(study):
    """Return the rows, status, refusals and tallies of a study."""
    return rows(study), *test_upkeep.contents(study)


# Counts equal to those of a local study


def test_results_in_a_bucket_equal_those_in_folders(bucket, study, tmp_path):
    """Counts, rows, refusals and tallies are the same for files and studies on a disk and in a bucket, also on a second
    ingest.

    The files have every fault, and a Dask worker ingests them too.
    """
    datas = [*messy(5, 100), b"", *(report(n % 8, PLAIN, n) for n in range(16))]
    inputs = uploaded(bucket / "inbox", datas), uploaded(tmp_path / "inbox", datas)
    local = prepared(tmp_path / "study")
    by_dask = prepared(bucket / "by dask")
    with engine_of("dask", 1) as dask:
        done = [
            ingest(study, [inputs[0]], now=NOW),
            ingest(local, [inputs[1]], now=NOW),
            dask.ingest(by_dask, [inputs[0]], now=NOW),
        ]
        first, second, third = ({**one.as_json(), "warnings": len(one.warnings)} for one in done)
        assert first == second == third
        assert (first["accepted"] > 10, first["warnings"]) == (True, 1)
        expected = contents(local)
        assert contents(study) == contents(by_dask) == expected
        for known in local.campaigns():
            assert dask.tally(by_dask, known.signed).counts.tolist() == expected[2][known.name, None][0]
    again = ingest(local, [inputs[0]], now=NOW), ingest(study, [inputs[1]], now=NOW)
    assert again[0].accepted == again[1].accepted == 0
    assert contents(study) == contents(local) != expected


def test_large_objects_are_read_in_pieces(bucket, tmp_path):
    """An object of many buffers and chunks has the same reports as the same file on a disk."""
    data = b"".join(report(n, PLAIN, n % 16) for n in range(300))
    (bucket / "many.htr").write_bytes(data)
    (tmp_path / "many.htr").write_bytes(data)
    found = []
    for name, file in (("in a bucket", bucket / "many.htr"), ("on a disk", tmp_path / "many.htr")):
        made = fleet.study(tmp_path / name, PLAIN, range(200))
        done = ingest(made, [file], now=NOW, buffer_bytes=1000, chunk_reports=40)
        found.append((done, rows(made)))
    assert found[0] == found[1]
    assert found[0][0].accepted == 200


def test_a_removed_object_is_named_and_the_others_are_counted(bucket, study):
    """An object that is removed after the listing, small or large, is named in the warnings, and the others are
    counted."""
    large = b"".join(report(n, PLAIN) for n in range(1, 9)) + bytes(2**17)
    files = batch_files([uploaded(bucket / "inbox", [report(0, PLAIN), large, large])])
    for gone in files[:2]:
        gone.unlink()
    done = ingest(study, files, now=NOW)
    assert done.accepted == 8
    assert done.warnings == tuple(f"{gone} could not be read: no such object" for gone in files[:2])


def test_recorded_signatures_are_not_verified_again(bucket, study, monkeypatch):
    """Signatures that one process has recorded in the bucket are not verified by another, and each object of the
    record has a maximum size."""
    for module, name, value in (
        (signatures, "MIN_SIGNATURES", 1), (signatures, "BLOCK_BYTES", 500), (verification, "OBJECT_BYTES", 100),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)
    file = bucket / "many.htr"
    file.write_bytes(b"".join(EIGHTEEN))
    assert ingest(study, [file], now=NOW, buffer_bytes=1000, chunk_reports=4).accepted == 18
    objects = list(files_below(study.path / verification.NAME))
    assert len(objects) > 1
    assert all(file.size < 100 + 4 * 66 for file in objects)
    assert len(VerifiedDigests.of(study.path)._known) > 2

    def refused(*_):
        raise AssertionError("a recorded signature was verified again")

    monkeypatch.setattr(signatures, "crypto_sign_open", refused)
    again = ingest(Study.open(study.path), [file], now=NOW, buffer_bytes=1000, chunk_reports=4)
    assert again.refused == {"replayed": 18}


# Concurrent ingests, faults and crashes


def test_writers_at_once_count_each_report_once(bucket, study):
    """Two writers with all files in different orders, and a compaction at the same time, count each report once."""
    files = [str(file) for file in batch_files([uploaded(bucket / "inbox", EIGHTEEN)])]
    accepted, failures = [], []

    def work(number):
        try:
            shuffled = random.Random(number).sample(files, len(files))
            done = ingest(Study.open(study.path), shuffled, now=NOW, threads=1, chunk_reports=9)
            accepted.append(done.accepted)
        except BaseException as error:  # a thread's error must fail the test
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    compact(study, now=clock_of(study))
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(accepted) == 2
    assert sum(accepted) == len(rows(study)) == 18
    assert study.refused(study.campaign("education")) == {"replayed": 18}


def persist(environment, path, files, pipe):
    """In a separate process: repeat an ingest until it succeeds, then send the errors of the failed attempts."""
    os.environ.update(environment)
    failed, done = [], None
    while done is None or done.warnings:
        try:
            done = ingest(Study.open(path), [files], now=NOW, threads=1, chunk_reports=5)
        except (StudyError, OSError) as error:
            failed.append(str(error))
    pipe.send(failed)


FAULTS = [fault for fault in Fault if fault is not Fault.SLOW]


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long), pytest.param(3, marks=pytest.mark.long)])
def test_a_network_that_loses_requests_and_responses_changes_no_count(stores, bucket, study, seed):
    """Through a proxy that loses or truncates about a third of the requests or responses, an ingest succeeds or fails
    with one sentence.

    If it is repeated until it succeeds, each report counts once, even if the response to its commit was lost.
    """
    files = uploaded(bucket / "inbox", EIGHTEEN)
    rng = random.Random(seed)
    faults = [rng.choice(FAULTS) if rng.random() < 0.3 else Fault.NONE for _ in range(80)]
    upstream = stores[0].removeprefix("http://").split(":")
    with fault_proxy((upstream[0], int(upstream[1])), faults) as proxy:
        environment = ENVIRONMENT | {"AWS_ENDPOINT_URL": "http://{}:{}".format(*proxy.address)}
        # This needs a separate process: while the engine waits for a response, it may block a proxy in its own
        # process.
        process, pipe = start_process(persist, environment, study.path, files)
        failed = next_message(pipe)
        process.join()
        assert proxy.met > 5
    assert all("\n" not in message and len(message) < 400 for message in failed), failed
    assert len(rows(study)) == 18


def ingest_until_killed(environment, path, files, when, step, _):
    """In a separate process: ingest, and kill the process before or after a commit."""
    os.environ.update(environment)
    kill_at_commit(when, step)
    ingest(Study.open(path), [files], now=NOW, threads=1, chunk_reports=9)


def test_an_ingest_killed_at_a_commit_is_completed_by_the_next(stores, bucket, study):
    """If an ingest is killed by kill -9 after its first or before its second commit, the study has only whole commits.

    The next ingest completes it.
    """
    files = uploaded(bucket / "inbox", [b"".join(EIGHTEEN[n : n + 3]) for n in range(0, 18, 3)])
    undisturbed = copied(study, bucket / "undisturbed")
    ingest(undisturbed, [files], now=NOW)
    expected = rows(undisturbed)
    for when, step in (("after", 0), ("before", 1)):
        made = copied(study, bucket / f"{when} {step}")
        process, _ = start_process(
            ingest_until_killed, ENVIRONMENT | {"AWS_ENDPOINT_URL": stores[0]}, made.path, files, when, step
        )
        process.join()
        assert process.exitcode == -signal.SIGKILL
        half = rows(made)
        assert half.items() <= expected.items()
        assert len(half) == 9 * (step + (when == "after"))
        assert ingest(Study.open(made.path), [files], now=NOW).accepted == 18 - len(half)
        assert rows(made) == expected


# Compaction, damage and access


def test_compaction_keeps_the_rows_and_replaced_objects(bucket, study):
    """Compaction makes fewer objects with the same rows, and keeps replaced objects for the retention time.

    This time begins with the replacement, and a reader of the previous version can read on until it ends.
    """
    for number in range(3):
        (bucket / f"{number}.htr").write_bytes(report(number, PLAIN, number))
        ingest(study, [bucket / f"{number}.htr"], now=NOW)
    before, version = (rows(study), study.status(NOW)), tables.snapshot(study.path / REPORTS).version()
    now = clock_of(study)
    assert abs(now - next(files_below(study.path)).path.stat().st_mtime) < 60
    done = {one.table: one for one in compact(study, now=now)}
    assert (done[REPORTS].before.files, done[REPORTS].after.files) == (3, 1)
    assert (done[REPORTS].removed.files, done[REPORTS].retained.files) == (0, 3)
    assert (rows(study), study.status(NOW)) == before
    old = tables.query(tables.snapshot(study.path / REPORTS, version), "SELECT count(*) AS n FROM rows")
    assert old["n"].to_pylist() == [3]
    done = {one.table: one for one in compact(study, now=now + RETENTION + HOUR)}
    assert (done[REPORTS].removed.files, done[REPORTS].retained.files) == (3, 0)
    assert rows(Study.open(study.path)) == before[0]
    assert not [file for file in files_below(study.path) if file.path.name.startswith(".")]


def test_a_damaged_study_is_refused_and_rebuilt_in_a_folder(bucket, study, tmp_path):
    """A lost or truncated data object stops every command with one sentence; the other objects and the batches
    rebuild the study in a folder."""
    (bucket / "all.htr").write_bytes(b"".join(report(n, PLAIN, n) for n in range(6)))
    ingest(study, [bucket / "all.htr"], now=NOW)
    expected = rows(study), study.status(NOW)
    (file,) = (one for one in files_below(study.path / REPORTS) if one.path.name.endswith(".parquet"))
    whole = file.path.read_bytes()
    for damage in (lambda: file.path.write_bytes(whole[:100]), file.path.unlink):
        damage()
        with pytest.raises(Damaged, match=r"is damaged: its table reports has lost .*parquet"):
            Study.open(study.path)
        for read in (lambda: rows(study), lambda: ingest(study, [bucket / "all.htr"], now=NOW)):
            with pytest.raises(Damaged, match="cannot be read"):
                read()
    made = rebuild(study.path, tmp_path / "rebuilt", Sources(batches=[bucket / "all.htr"]), now=NOW)
    assert made.incomplete == (REPORTS,)
    rebuilt = Study.open(tmp_path / "rebuilt")
    assert (rows(rebuilt), rebuilt.status(NOW)) == expected
    log = study.path / REPORTS / "_delta_log" / f"{1:020}.json"
    for data in (b"", b"{"):
        log.write_bytes(data)
        with pytest.raises(Damaged):
            Study.open(study.path)
    for one in list(files_below(study.path / REPORTS)):
        one.path.unlink()
    with pytest.raises(Damaged, match="is missing"):
        Study.open(study.path)


def test_workers_must_reach_the_store(bucket, study):
    """Workers that cannot reach the bucket are named in an error before any work is done."""
    (bucket / "one.htr").write_bytes(report(0, PLAIN))
    with ExitStack() as stack:
        nowhere = ENVIRONMENT | {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
        started = stack.enter_context(dask_processes(1, env=nowhere))
        dask = stack.enter_context(connection.connected(started.scheduler_address.replace("tcp", "dask"), None))
        with pytest.raises(EngineError, match="cannot read s3://"):
            dask.ingest(study, [bucket / "one.htr"], now=NOW)
    assert rows(study) == {}
