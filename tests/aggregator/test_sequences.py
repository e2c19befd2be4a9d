"""Any sequence of operations on a study counts each report at most once and loses no accepted report.

Every report fills a separate bucket, so the tally itself shows which reports were counted, and how often. A model made
of sets goes through the same operations: ingest, duplicate, reorder, crash, retry, enrol, revoke, compact, and several
of these at once. A crash here is an exception at a write. test_killed kills processes.
"""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from deltalake import DeltaTable

from aggregator.intake.compact import compact
from aggregator.intake.ingest import IngestResult, ingest
from aggregator.storage import tables
from aggregator.study import Study
from tests.aggregator import fleet
from tests.aggregator.fleet import NOW, campaign, enrolment, report

BUCKETS = campaign(4096, answers=3, title="Sequences")
DEVICES, PERIODS = 3, (0, 1)
SHAPES = [(slot, count) for slot in range(3) for count in range(1, 4 - slot)]
OF_DEVICE = len(PERIODS) * len(SHAPES)
OF_WORLD = DEVICES * OF_DEVICE
"""Reports of a world, which goes through one sequence of operations. Worlds have only the study in common."""


@dataclass(frozen=True)
class SealedReport:
    """A report, and the bucket that only this report fills."""

    bucket: int
    device: int
    period: int
    slot: int
    count: int
    data: bytes

    @property
    def places(self) -> set[tuple[int, int, int]]:
        """The slots that the report fills, each as (device, period, slot)."""
        return {(self.device, self.period, self.slot + place) for place in range(self.count)}


def reports(worlds: int) -> list[SealedReport]:
    """Return all reports of the worlds, by bucket."""
    made: list[SealedReport] = []
    for device in range(worlds * DEVICES):
        for period in PERIODS:
            for slot, count in SHAPES:
                bucket = len(made)
                data = report(device, BUCKETS, *[bucket] * count, period=period, slot=slot)
                made.append(SealedReport(bucket, device, period, slot, count, data))
    return made


@dataclass
class ExpectedStudy:
    """The expected contents of a study.

    Attributes:
        revoked: devices, with the first period of each one's revocation.
    """

    enrolled: set[int] = field(default_factory=set)
    revoked: dict[int, int] = field(default_factory=dict)
    filled: set[tuple[int, int, int]] = field(default_factory=set)
    counted: set[int] = field(default_factory=set)

    def refuses(self, device: int, period: int) -> bool:
        """Return True if the device is revoked in the period."""
        return period >= self.revoked.get(device, period + 1)

    def revoke(self, devices: Iterable[int], since: int) -> int:
        """Revoke devices; the earliest period of each counts. Return the number of devices with a change."""
        new = {device for device in devices if self.revoked.get(device, since + 1) > since}
        self.revoked |= dict.fromkeys(new, since)
        return len(new)

    def take(self, batch: Iterable[SealedReport]) -> Counter[str]:
        """Take reports; return the number of reports with each outcome: "accepted" or a refusal."""
        verdicts: Counter[str] = Counter()
        for one in batch:
            if self.refuses(one.device, one.period):
                verdicts["revoked-key"] += 1
            elif one.device not in self.enrolled:
                verdicts["unknown-key"] += 1
            elif self.filled & one.places:
                verdicts["replayed"] += 1
            else:
                verdicts["accepted"] += 1
                self.filled |= one.places
                self.counted.add(one.bucket)
        return verdicts


class SimulatedCrash(Exception):
    """Raised at a write of the study."""


@dataclass
class Bench:
    """A study, its expected contents, and the operations on both."""

    study: Study
    model: ExpectedStudy
    everything: list[SealedReport]
    folder: Path
    rng: random.Random
    monkeypatch: pytest.MonkeyPatch
    files: list[list[SealedReport]] = field(default_factory=list)
    broken: list[list[SealedReport]] = field(default_factory=list)

    def chosen(self) -> list[SealedReport]:
        """Draw reports of every world, several of them twice, in any order."""
        batch: list[SealedReport] = []
        for first in range(0, len(self.everything), OF_WORLD):
            some = self.rng.choices(self.everything[first : first + OF_WORLD], k=self.rng.randrange(1, 10))
            batch += some + self.rng.choices(some, k=self.rng.randrange(3))
        self.rng.shuffle(batch)
        return batch

    def some_devices(self, most: float) -> list[int]:
        """Draw each device with a probability of at most ``most``."""
        chance = self.rng.uniform(0, most)
        return [number for number in range(len(self.everything) // OF_DEVICE) if self.rng.random() < chance]

    def ingest(self, batch: list[SealedReport]) -> IngestResult:
        """Ingest the batch in buffers and chunks; assert that accepted and refused add up to the number read."""
        file = self.folder / f"{threading.get_ident()}-{time.monotonic_ns()}.htr"
        file.write_bytes(b"".join(one.data for one in batch))
        sizes = {"buffer_bytes": 4_000 + len(batch) * 40, "chunk_reports": 1 + len(batch) // 2}
        result = ingest(Study.open(self.study.path), [file], now=NOW, threads=1, **sizes)
        assert result.read == len(batch) == result.accepted + sum(result.refused.values())
        return result

    def found(self) -> set[int]:
        """Return the filled buckets; assert that each is filled at most once, and no slot twice."""
        rows = tables.query(tables.snapshot(self.study.path / "reports"), "SELECT key, period, slot, output FROM rows")
        places = list(zip(*(rows[name].to_pylist() for name in ("key", "period", "slot")), strict=True))
        assert len(set(places)) == len(places)
        buckets = Counter(rows["output"].to_pylist())
        for bucket, outputs in buckets.items():
            assert outputs == self.everything[bucket].count
        return set(buckets)

    def agree(self) -> None:
        """Assert that the study has the same reports as the model."""
        assert self.found() == self.model.counted

    def adopt(self, offered: list[list[SealedReport]], accepted: int | None, known: set[int] | None = None) -> None:
        """Update the model after processes that ran in an unknown order.

        Asserts that no counted report is lost, and that every accepted report fills its slots.

        Args:
            offered: batches that were read to their end.
            accepted: number of reports newly counted, by the results of the ingests; None if one crashed.
            known: devices that were enrolled all the time; None for all that are enrolled.
        """
        found = self.found()
        assert self.model.counted <= found
        if accepted is not None:
            assert len(found) == len(self.model.counted) + accepted
        self.model.counted = found
        self.model.filled = set().union(*(self.everything[bucket].places for bucket in found))
        for one in (one for batch in offered for one in batch):
            enrolled = one.device in (self.model.enrolled if known is None else known)
            if enrolled and not self.model.refuses(one.device, one.period):
                assert self.model.filled & one.places

    # The operations

    def plain(self, batch: list[SealedReport]) -> None:
        """Ingest a batch, and assert that every verdict is the model's."""
        result = self.ingest(batch)
        assert Counter(result.refused) + Counter(accepted=result.accepted) == self.model.take(batch)
        self.agree()
        self.files.append(batch)

    def fresh(self) -> None:
        """Ingest reports that may be new."""
        self.plain(self.chosen())

    def duplicate(self) -> None:
        """Ingest an earlier file once more."""
        self.plain(self.rng.choice(self.files or [self.chosen()]))

    def reorder(self) -> None:
        """Ingest several earlier files as one, in another order."""
        batch = [one for batch in self.files[-3:] for one in batch] or self.chosen()
        self.plain(self.rng.sample(batch, len(batch)))

    def retry(self) -> None:
        """Ingest again a batch whose ingest crashed."""
        self.plain(self.broken.pop() if self.broken else self.chosen())

    def enrol(self) -> None:
        """Enrol more devices."""
        devices = self.some_devices(0.6)
        self.study.enrol(b"".join(enrolment(number, BUCKETS) for number in devices), threads=1)
        self.model.enrolled |= set(devices)

    def revoke(self) -> None:
        """Revoke a few devices from a random period on, enrolled or not; their counted reports stay."""
        devices, since = self.some_devices(0.1), self.rng.choice(PERIODS)
        named = b"".join(enrolment(number, BUCKETS) for number in devices)
        assert self.study.revoke(named, since=since) == self.model.revoke(devices, since)
        counted = [self.everything[bucket] for bucket in self.found()]
        under = sum(one.count for one in counted if one.device in devices and one.period >= since)
        assert self.study.counted_under(named, since=since) == under

    def compact(self) -> None:
        """Write the same rows to fewer files."""
        compact(Study.open(self.study.path), now=time.time())
        self.agree()

    def crash(self) -> None:
        """Stop an ingest at one of its writes: before it, with a file but no commit, or just after its commit."""
        batch, left = self.chosen(), self.rng.randrange(4)
        if self.crashing(lambda: self.ingest(batch), left):
            self.broken.append(batch)
            self.adopt([], None)
        else:
            self.adopt([batch], None)

    def crashing(self, work: Callable[[], object], left: int) -> bool:
        """Do ``work`` and stop it at its write number ``left``, in one of three ways; return whether it was stopped."""
        how = self.rng.choice(["before", "half", "after"])
        real = tables.write_deltalake

        def crashing(table: DeltaTable, *args: object, **options: object) -> None:
            nonlocal left
            left -= 1
            if left >= 0:
                real(table, *args, **options)
                return
            if how == "half" and table.version():
                stale = DeltaTable(table.table_uri, version=table.version() - 1)
                with pytest.raises(tables.CommitFailedError):  # the data file is written before the commit fails
                    real(stale, *args, **options | {"schema_mode": "merge"})  # the older version may lack a column
            if how == "after":
                real(table, *args, **options)
            raise SimulatedCrash

        with self.monkeypatch.context() as patch:
            patch.setattr(tables, "write_deltalake", crashing)
            try:
                work()
            except SimulatedCrash:
                return True
        return False

    def crash_revoking(self) -> None:
        """Stop a revocation from a period on at its write, and repeat the revocation."""
        devices = self.some_devices(0.1)
        named = b"".join(enrolment(number, BUCKETS) for number in devices)
        self.crashing(lambda: self.study.revoke(named, since=1), 0)
        self.study.revoke(named, since=1)
        self.model.revoke(devices, 1)
        assert not self.study.revoke(named, since=1)

    def between(self) -> None:
        """Do another whole operation between the scan and the commit of an ingest."""
        batch, other, known = self.chosen(), self.chosen(), set(self.model.enrolled)
        inner = self.rng.choice(
            [self.enrol, self.revoke, lambda: compact(Study.open(self.study.path), now=time.time())]
        )
        results: list[IngestResult] = []
        real, done = tables.write_deltalake, False

        def late(*args: object, **options: object) -> None:
            nonlocal done
            if not done:
                done = True
                inner()
                results.append(self.ingest(other))
            real(*args, **options)

        with self.monkeypatch.context() as patch:
            patch.setattr(tables, "write_deltalake", late)
            results.append(self.ingest(batch))
        self.adopt([batch, other] if done else [batch], sum(result.accepted for result in results), known)

    def together(self) -> None:
        """Run three ingests, two of them of the same batch, and a compaction at the same time."""
        first, second = self.chosen(), self.chosen()
        results: list[IngestResult] = []
        failures: list[BaseException] = []

        def run(work: Callable[[], object]) -> None:
            try:
                done = work()
            except BaseException as error:
                failures.append(error)
            else:
                if isinstance(done, IngestResult):
                    results.append(done)

        works: list[Callable[[], object]] = [lambda batch=batch: self.ingest(batch) for batch in (first, second, first)]
        works.append(lambda: compact(Study.open(self.study.path), now=time.time()))
        threads = [threading.Thread(target=run, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        self.adopt([first, second], sum(result.accepted for result in results))

    def finish(self) -> None:
        """Ingest everything; assert that each slot of a period in which its device is not revoked is filled, and that
        the tally is the model's."""
        devices = range(len(self.everything) // OF_DEVICE)
        self.study.enrol(b"".join(enrolment(number, BUCKETS) for number in devices), threads=1)
        self.model.enrolled = set(devices)
        self.plain(self.rng.sample(self.everything, len(self.everything)))
        self.plain([one for one in self.everything if one.count == 1])
        whole = {(device, period, slot) for device in devices for period in PERIODS for slot in range(3)}
        assert all(self.model.refuses(device, period) for device, period, _ in whole - self.model.filled)
        for period in PERIODS:
            tally = self.study.tally(BUCKETS, period).counts
            expected = Counter({b: self.everything[b].count for b in self.model.counted})
            assert {b: n for b, n in enumerate(tally.tolist()) if n} == {
                b: n for b, n in expected.items() if self.everything[b].period == period
            }


ORDINARY = ("fresh", "duplicate", "reorder", "crash", "crash", "retry", "enrol", "revoke", "crash_revoking", "between")
COSTLY = ("compact", "together")


@pytest.mark.parametrize(("seed", "rounds", "worlds"), [(1, 2, 30), pytest.param(2, 100, 100, marks=pytest.mark.long)])
def test_no_sequence_of_operations_counts_a_report_twice_or_loses_one(tmp_path, monkeypatch, seed, rounds, worlds):
    """After ``rounds`` times ``worlds`` random sequences, each of 8 operations and 2 compactions or concurrent ingests,
    study and model have the same reports."""
    rng = random.Random(seed)
    everything = reports(worlds)
    empty = fleet.study(tmp_path / "empty", BUCKETS)
    for number in range(rounds):
        study = Study.open(shutil.copytree(empty.path, tmp_path / f"study{number}"))
        folder = tmp_path / f"files{number}"
        folder.mkdir()
        bench = Bench(study, ExpectedStudy(), everything, folder, rng, monkeypatch)
        bench.enrol()
        order = [*rng.choices(ORDINARY, k=8), *rng.choices(COSTLY, k=2)]
        for name in rng.sample(order, len(order)):
            getattr(bench, name)()
        bench.finish()
        shutil.rmtree(study.path)
        shutil.rmtree(folder)
