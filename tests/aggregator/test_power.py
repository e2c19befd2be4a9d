"""Properties of power failures: completed work is on the disk, and nothing is removed before its replacement is on the
disk."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from aggregator.intake.compact import compact
from aggregator.intake.ingest import ingest
from aggregator.rebuild import Sources, rebuild
from aggregator.receive import inbox
from aggregator.storage import tables
from aggregator.study import Study
from tests.aggregator.fleet import AUTHOR, NOW, campaign, enrolment, report
from tests.aggregator.power import Disk

OPEN = campaign(enrolment="open", answers=2, title="Open")


@pytest.fixture
def disk(monkeypatch):
    """A record of everything synced to the disk."""
    return Disk(monkeypatch)


@pytest.fixture
def left(disk, tmp_path):
    """A function that returns the study that a power failure at this moment would leave."""
    numbers = count()

    def after(study):
        assert disk.survives(study.path)
        return Study.open(disk.left_of(study.path, tmp_path / f"left-{next(numbers)}"))

    return after


def made(path):
    """A new study of ``OPEN``."""
    study = Study.create(path)
    study.import_campaign(OPEN.data, [AUTHOR.public], "open")
    return study


def batch(folder, *numbers, period=0):
    """Return a file with the enrolments and reports of these devices."""
    file = folder / f"{'-'.join(map(str, numbers))}.htr"
    file.write_bytes(b"".join(enrolment(n, OPEN) + report(n, OPEN, n % 16, period=period) for n in numbers))
    return file


def same(first, second):
    """Return whether two studies have the same status and tally."""
    return first.status(NOW) == second.status(NOW) and (
        first.tally(OPEN).counts.tolist() == second.tally(OPEN).counts.tolist()
    )


def test_completed_steps_survive_a_power_failure(tmp_path, left, monkeypatch):
    """After each completed step, a power failure leaves a study with the same status and tally."""
    monkeypatch.setattr(tables, "_CHECKPOINT_EVERY", 3)
    study = made(tmp_path / "lib")
    assert same(left(study), study)
    study.enrol(enrolment(50, OPEN))
    assert same(left(study), study)
    batches = [batch(tmp_path, 1, 2, 3), batch(tmp_path, 4, 5, 6, period=1), batch(tmp_path, 6, 7)]
    for file in batches:
        assert ingest(study, [file], now=NOW, threads=1, chunk_reports=2, chunk_outputs=1).accepted
        assert same(left(study), study)
    study.revoke(enrolment(3, OPEN))
    assert same(left(study), study)
    compact(study, now=NOW + 10**9, alone=True, retention=0)
    assert same(left(study), study)
    remade = rebuild(study.path, tmp_path / "remade", Sources(batches), now=NOW, afresh=True, count_revoked=True)
    rebuilt = Study.open(remade.path)
    assert same(left(rebuilt), rebuilt)


def test_an_upload_is_in_the_study_before_it_leaves_the_inbox(tmp_path, disk, left, monkeypatch):
    """If the power fails when an upload is removed, its reports are counted and its batch is archived."""
    study = made(tmp_path / "lib")
    inbox.prepare(study.path)
    for number in range(3):
        inbox.put(study.path, enrolment(number, OPEN) + report(number, OPEN))
    (inbox.inbox_of(study.path) / "by-hand.htr").write_bytes(b"noise" + enrolment(4, OPEN) + report(4, OPEN))
    removed = []
    unlink = Path.unlink

    def checked(path):
        if path.suffix == ".htr":
            removed.append(path)
            assert left(study).tally(OPEN).reports == 4

    monkeypatch.setattr(Path, "unlink", lambda path, missing_ok=False: (checked(path), unlink(path, missing_ok))[1])
    files = inbox.waiting(study.path)
    assert ingest(study, files, now=NOW, threads=1).accepted == 4
    inbox.archive(study.path, files)
    assert len(removed) == 3
    kept = disk.left_of(inbox.done_of(study.path), tmp_path / "kept")
    assert {file.read_bytes() for file in kept.iterdir()} == {
        file.read_bytes() for file in inbox.done_of(study.path).iterdir()
    }
    assert not [*inbox.inbox_of(study.path).glob("*.htr")]


def test_a_commit_of_another_process_is_on_the_disk_before_archiving(tmp_path, left, monkeypatch):
    """A replayed report is archived only after the commit of the first copy is on the disk, even if another process
    made it without a sync."""
    study = made(tmp_path / "lib")
    inbox.prepare(study.path)
    with monkeypatch.context() as patch:
        patch.setattr(tables, "sync", lambda _: None)
        ingest(study, [batch(tmp_path, 1)], now=NOW, threads=1)
    inbox.put(study.path, enrolment(1, OPEN) + report(1, OPEN, 1))
    files = inbox.waiting(study.path)
    assert ingest(study, files, now=NOW, threads=1).refused == {"replayed": 1}
    inbox.archive(study.path, files)
    assert left(study).tally(OPEN).reports == 1
