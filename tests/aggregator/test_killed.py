"""A study survives processes that are killed at any step, disks that are full or read-only, and clocks that jump.

The process to be killed numbers its steps, which are the calls of the aggregator's functions and the writes to the
study, and sends itself SIGKILL at a given step. So every step can be tested, and a failure can be repeated. Writes are
also cut in the middle of a file (by the system, at a limit of bytes) and between a file and its commit.
test_intake_once and test_upkeep kill at moments given by the clock; test_upkeep damages and removes files.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType

import pytest

from aggregator.cli.group import halftruth
from aggregator.estimate.estimator import estimate
from aggregator.intake.compact import compact
from aggregator.intake.framing import frames
from aggregator.intake.ingest import CHUNK_REPORTS, READ_BYTES, ingest
from aggregator.receive import inbox
from aggregator.storage import tables
from aggregator.storage.tables import StudyError
from aggregator.study import Study
from tests.aggregator import fleet
from tests.aggregator.fleet import AUTHOR, NOW, campaign, enrolment, report
from tests.aggregator.forked import next_message, start_process

OPEN = campaign(enrolment="open", answers=3, title="Killed")
OTHER = campaign(title="Another")
PEOPLE = 24

AT_CALL, BEFORE, HALF, UNCOMMITTED, AFTER = "at a call", "before a write", "half a file", "no commit", "after a write"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """The folder of a study with a few reports, and with uploads of keys and reports in its inbox."""
    study = fleet.study(tmp_path_factory.mktemp("killed") / "study", OPEN)
    first = study.path.with_name("first.htr")
    first.write_bytes(b"".join(enrolment(n, OPEN) + report(n, OPEN, n) for n in range(5)) + b"noise")
    ingest(study, [first], now=NOW, threads=1)
    inbox.prepare(study.path)
    for number in range(3, PEOPLE):
        data = enrolment(number, OPEN) + report(number, OPEN, number % 16, 1, slot=1) + report(number, OPEN, 2)
        (inbox.inbox_of(study.path) / f"{number}{inbox.ENDING}").write_bytes(data)
    return study.path


@pytest.fixture(scope="module")
def before(prepared):
    """The contents of the study that ``prepared`` made; no test changes it."""
    return contents(prepared)


# The disturbed work, each in a separate process


def take(path: Path, buffer_bytes: int = 2_000, chunk_reports: int = 20) -> None:
    """Ingest and archive the waiting uploads of the inbox, a few reports a commit."""
    study = Study.open(path)
    files = inbox.waiting(path)
    result = ingest(study, files, now=NOW, threads=1, buffer_bytes=buffer_bytes, chunk_reports=chunk_reports)
    inbox.archive(path, files, result.warnings)


def run_estimate(path: Path) -> None:
    """Run estimate on the command line, with a page."""
    halftruth.main(
        ["--study", str(path), "estimate", "education", "--json", "--report", str(page_of(path))], standalone_mode=False
    )


def page_of(path: Path) -> Path:
    """Return the path of the page, which is beside the study."""
    return path.with_name(f"{path.name}.html")


def work_until_killed(work: Callable[[Path], None], path: Path, how: str, step: int, pipe: Connection) -> None:
    """Do ``work`` and kill this process at a step, or finish and send the numbers of calls and writes."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115  # open until the process ends
    calls = writes = 0
    real = tables.write_deltalake

    def traced(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        if "/aggregator/" in frame.f_code.co_filename and "/tests/" not in frame.f_code.co_filename:
            if how == AT_CALL and calls == step:
                os.kill(os.getpid(), signal.SIGKILL)
            calls += 1

    def written(table, *args, **options):
        nonlocal writes
        here, writes = writes == step, writes + 1
        if here and how == BEFORE:
            os.kill(os.getpid(), signal.SIGKILL)
        if here and how == HALF:
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
        if here and how == UNCOMMITTED:
            with suppress(tables.CommitFailedError):
                stale = tables.DeltaTable(table.table_uri, version=max(table.version() - 1, 0))
                real(stale, *args, **options)
            os.kill(os.getpid(), signal.SIGKILL)
        real(table, *args, **options)
        if here and how == AFTER:
            os.kill(os.getpid(), signal.SIGKILL)

    tables.write_deltalake = written
    sys.settrace(traced)
    work(path)
    sys.settrace(None)
    pipe.send((calls, writes))


def run(work: Callable[[Path], None], path: Path, how: str = "", step: int = -1) -> tuple[int, int] | None:
    """Do work in another process; return the numbers of its calls and writes, or None if it was killed."""
    process, ours = start_process(work_until_killed, work, path, how, step)
    process.join(600)
    if process.exitcode in (-signal.SIGKILL, -signal.SIGXFSZ):
        return None
    assert process.exitcode == 0
    found: tuple[int, int] = next_message(ours)
    return found


def spread(total: int, most: int) -> list[int]:
    """Return ``most`` evenly spread numbers below ``total``, or all of them if they are fewer."""
    return sorted({total * (2 * place + 1) // (2 * most) for place in range(most)})


def rows(path: Path, table: str) -> list[tuple[object, ...]]:
    """Return the rows of a table, in order."""
    found = tables.query(tables.snapshot(path / table), "SELECT * FROM rows")
    return sorted(tuple(map(str, row.values())) for row in found.to_pylist())


def contents(path: Path) -> dict[str, object]:
    """Return the counted reports, the keys, the estimate, the waiting uploads and every archived envelope of a
    study."""
    shares = estimate(OPEN, Study.open(path).tally(OPEN)).as_json()
    kept = set()
    for file in inbox.done_of(path).glob(f"*{inbox.ENDING}"):
        data = file.read_bytes()
        found = frames(data, final=True)
        kept |= {data[begin:end] for begin, end in found.columns[[0, 2]].T.tolist()}
    return {
        "reports": rows(path, "reports"),
        "keys": rows(path, "keys"),
        "campaigns": rows(path, "campaigns"),
        "shares": {name: shares[name] for name in ("reports", "values", "influence")},
        "waiting": inbox.waiting(path),
        "kept": kept,
    }


@pytest.mark.parametrize(("calls", "writes"), [(2, 1), pytest.param(100, 1000, marks=pytest.mark.long)])
def test_a_killed_ingest_is_completed_by_the_next(prepared, tmp_path, calls, writes):
    """After kill -9 at ``calls`` calls and near the end, and in 4 ways at ``writes`` writes (or every one, if they are
    fewer), a second ingest gives the study of an uninterrupted one."""
    undisturbed = Path(shutil.copytree(prepared, tmp_path / "undisturbed"))
    counted = run(take, undisturbed)
    assert counted is not None
    expected = contents(undisturbed)
    assert len(expected["reports"]) == 5 + 3 * (PEOPLE - 5) + 2 * 2
    # The last of these steps is near the end, where uploads are archived.
    ways = [(AT_CALL, step) for step in [*spread(counted[0], calls), counted[0] - 20]]
    ways += [(how, step) for how in (BEFORE, HALF, UNCOMMITTED, AFTER) for step in spread(counted[1], writes)]
    for how, step in ways:
        copy = Path(shutil.copytree(prepared, tmp_path / "copy"))
        assert run(take, copy, how, step) is None, (how, step)
        for name in ("reports", "keys"):
            half = rows(copy, name)
            assert set(half) <= set(expected[name])
            assert len(set(half)) == len(half)
        take(copy, READ_BYTES, CHUNK_REPORTS)
        again = contents(copy)
        assert again == expected | {"waiting": []}, (how, step)
        shutil.rmtree(copy)


def revoke_two(path: Path) -> None:
    """Revoke keys from a period on, in a study without such a revocation."""
    Study.open(path).revoke(enrolment(1, OPEN), enrolment(2, OPEN), since=2)


@pytest.mark.parametrize("calls", [2, pytest.param(60, marks=pytest.mark.long)])
def test_a_killed_revocation_revokes_both_keys_or_neither(prepared, tmp_path, calls):
    """After kill -9 at ``calls`` calls, and at the write in 4 ways, either both keys are revoked from their period on
    or neither is; the next revocation completes it."""
    undisturbed = Path(shutil.copytree(prepared, tmp_path / "undisturbed"))
    counted = run(revoke_two, undisturbed)
    assert counted is not None
    assert counted[1] == 1
    before, after = (Study.open(path).status(NOW) for path in (prepared, undisturbed))
    assert after[0].revoked_from == {2: 2}
    ways = [(AT_CALL, step) for step in spread(counted[0], calls)]
    for how, step in [*ways, *((how, 0) for how in (BEFORE, HALF, UNCOMMITTED, AFTER))]:
        copy = Path(shutil.copytree(prepared, tmp_path / "copy"))
        assert run(revoke_two, copy, how, step) is None, (how, step)
        found = Study.open(copy).status(NOW)
        assert found == after if how == AFTER else found in (before, after)
        revoke_two(copy)
        assert Study.open(copy).status(NOW) == after, (how, step)
        shutil.rmtree(copy)


def files_of(path: Path) -> dict[str, bytes]:
    """Return the bytes of every file below a folder."""
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


@pytest.mark.parametrize("calls", [2, pytest.param(60, marks=pytest.mark.long)])
def test_a_killed_estimate_changes_nothing(prepared, tmp_path, calls):
    """After kill -9 at ``calls`` calls of an estimate, its page is complete or absent, and the study is unchanged byte
    for byte.

    A second estimate has the same result.
    """
    study = Path(shutil.copytree(prepared, tmp_path / "study"))
    take(study)
    before = files_of(study)
    counted = run(run_estimate, study)
    assert counted is not None
    expected = page_of(study).read_bytes()
    for step in spread(counted[0], calls):
        page_of(study).unlink(missing_ok=True)
        assert run(run_estimate, study, AT_CALL, step) is None
        assert not page_of(study).exists() or page_of(study).read_bytes() == expected
    assert files_of(study) == before
    page_of(study).unlink(missing_ok=True)
    assert run(run_estimate, study) is not None
    assert page_of(study).read_bytes() == expected


# Full and read-only disks

WRITING: dict[str, Callable[[Path], object]] = {
    "import": lambda path: Study.open(path).import_campaign(OTHER.data, [AUTHOR.public], "other"),
    "enrol": lambda path: Study.open(path).enrol(b"".join(enrolment(n, OPEN) for n in range(90, 120))),
    "revoke": lambda path: Study.open(path).revoke(enrolment(1, OPEN)),
    "revoke from a period": lambda path: Study.open(path).revoke(enrolment(1, OPEN), since=2),
    "ingest": lambda path: ingest(Study.open(path), inbox.waiting(path), now=NOW, threads=1),
    "compact": lambda path: compact(Study.open(path), now=time.time() + 3600, retention=0, alone=True, file_bytes=1),
}


def full() -> None:
    """Limit every file that this process writes to 300 bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))


def without_root_rights() -> None:
    """Give up root's right to ignore file permissions in this process."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    rights = (ctypes.c_uint32 * 6)()
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.capget(header, rights) == 0
    rights[0] &= ~0b110  # these are CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
    assert libc.capset(header, rights) == 0


def refused(name: str, first: Callable[[], None], path: Path, pipe: Connection) -> None:
    """Write on a full disk or in read-only folders, and send the error."""
    first()
    try:
        WRITING[name](path)
    except (StudyError, OSError) as error:
        pipe.send((type(error).__name__, str(error)))
    else:
        pipe.send(("", ""))


@pytest.mark.parametrize("condition", [full, without_root_rights], ids=["full", "read-only"])
@pytest.mark.parametrize("name", WRITING)
def test_a_full_or_read_only_disk_is_an_error_and_changes_nothing(prepared, before, tmp_path, name, condition):
    """On a full disk, or in read-only folders, every write fails with advice and changes nothing.

    The same write succeeds afterwards.
    """
    study = Path(shutil.copytree(prepared, tmp_path / "study"))
    here = before | {"waiting": inbox.waiting(study)}
    if condition is without_root_rights:
        for folder in [study, *(one for one in study.rglob("*") if one.is_dir())]:
            folder.chmod(0o555)
    process, ours = start_process(refused, name, condition, study)
    kind, text = next_message(ours)
    process.join()
    for folder in [study, *(one for one in study.rglob("*") if one.is_dir())]:
        folder.chmod(0o755)
    assert kind == "StudyError"
    assert "such as a full disk or missing permissions" in text
    assert contents(study) == here
    WRITING[name](study)
    assert (contents(study) == here) is (name == "compact")


# Clocks that jump


def test_a_wrong_clock_only_delays_early_reports(tmp_path):
    """Ingests at any clock times count no report twice. A report is counted by the first ingest whose clock is late
    enough for its period."""
    study = fleet.study(tmp_path / "study", OPEN, range(12))
    batch = tmp_path / "batch.htr"
    batch.write_bytes(b"".join(report(n, OPEN, n, period=n % 4) for n in range(12)))
    opens, length = OPEN.campaign.opens, OPEN.campaign.period_seconds
    counted = 0
    for now, latest in [(0, 0), (-(10**12), 0), (opens - 1, 0), (opens + length, 2), (0, 2), (2**62, 3), (1, 3)]:
        result = ingest(study, [batch], now=now, threads=1)
        assert result.read == 12 == result.accepted + sum(result.refused.values())
        counted += result.accepted
        assert counted == 3 * (latest + 1)
        assert sum(study.periods(OPEN).values()) == counted
    assert study.status(-(10**12))[0].open is study.status(2**62)[0].open is False


def test_a_compaction_keeps_files_with_a_future_date(prepared, tmp_path):
    """Files with a date in the future are kept, and the study reads the same."""
    study = Path(shutil.copytree(prepared, tmp_path / "study"))
    before = contents(study)
    names = {str(file) for file in study.rglob("*.parquet")}
    compact(Study.open(study), now=0)
    assert names <= {str(file) for file in study.rglob("*.parquet")}
    assert json.dumps(before["shares"]) == json.dumps(contents(study)["shares"])
