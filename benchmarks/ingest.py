"""Ingest: outputs a second beside the bare signature check, peak memory, ingesting a file again, and bundles.

Right before and right after the ingest, the bare loop verifies the signatures in the first ``SAMPLE`` bytes of the
batch, on the same number of threads. The ratio of the two times for the same number of signatures shows the cost of
everything except libsodium. Processor time is given too, because other work on the machine affects it less. Other
processes seal the reports and run the bare loop, so this process's peak memory is that of an ingest.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import numpy as np
from nacl.bindings import crypto_sign_open

from aggregator.families.decoder import Integers
from aggregator.intake.columns import key_column
from aggregator.intake.deduplicate import Candidates
from aggregator.intake.enrolments import register
from aggregator.intake.framing import frames
from aggregator.intake.ingest import IngestResult, ingest
from aggregator.storage import tables
from aggregator.storage.tables import REPORTS
from aggregator.study import Study
from protocol import exact
from protocol.campaign import Campaign, SignedCampaign, open_campaign, seal_campaign
from protocol.channels import RandomizedResponse
from protocol.domain import Grid
from protocol.envelope import decode, signed_message
from protocol.keys import SigningKey, key_id
from protocol.notions import Ldp
from protocol.report import Report
from protocol.views import plain_views

US_GRID = Grid(25_000_000, 50_000_000, -130_000_000, -60_000_000, 200_000)
OPENS, WEEK = 1_800_000_000, 604_800
BLOCK = 5_000
SINGLES = 1_000_000
BUNDLE, BUNDLES = 64, 65_536
SAMPLE = 2**24
"""Bytes of the batch whose signatures the bare loop verifies."""

T = TypeVar("T")


def campaign(answers: int = 1) -> SignedCampaign:
    """Return a campaign over 43,750 cells of a map with ``answers`` answers a period; its outputs have 16 bits."""
    author = SigningKey(bytes(range(32)))
    channel = RandomizedResponse(US_GRID.size, (2**64 // (US_GRID.size + 1),))
    map_campaign = Campaign(
        "Map", "Where?", "", "Town", US_GRID, Ldp(exact.NANONATS), "randomized-response", plain_views(channel),
        OPENS, OPENS + WEEK, WEEK, answers, 1, "enrolled",
    )  # fmt: skip
    return open_campaign(seal_campaign(map_campaign, author), [author.public])


def valid_reports(signed: SignedCampaign, key: Integers, output: Integers, period: int = 0) -> Candidates:
    """Return reports as if they were verified, one output for each key."""
    size, zeros = len(key), np.zeros(len(key), dtype=np.int64)
    return Candidates((signed.id.hex(),), size, np.arange(size), zeros, zeros + period, key, zeros, zeros, output, None)


def sealed_reports(first: int, stop: int, campaign_id: bytes, answers: int) -> tuple[bytes, bytes]:
    """Return envelopes with random outputs, one for each device, and the devices' public keys."""
    envelopes, publics = [], []
    for number in range(first, stop):
        key = SigningKey.for_campaign(number.to_bytes(32, "little"), campaign_id)
        outputs = np.random.default_rng(number).integers(US_GRID.size, size=answers)
        envelopes.append(Report(campaign_id, 0, 0, answers, outputs.astype(">u2").tobytes()).seal(key))
        publics.append(key.public)
    return b"".join(envelopes), b"".join(publics)


def prepare(folder: Path, reports: int, answers: int = 1) -> Path:
    """Create a study with enrolled devices, and the file of their reports; return the path of this file.

    Args:
        reports: number of envelopes, each with ``answers`` outputs.
    """
    signed = campaign(answers)
    publics = []
    batch = folder / "batch.htr"
    with batch.open("wb") as file, ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        starts = range(0, reports, BLOCK)
        stops = [min(start + BLOCK, reports) for start in starts]
        for envelopes, public in pool.map(sealed_reports, starts, stops, repeat(signed.id), repeat(answers)):
            file.write(envelopes)
            publics.append(public)
    blob = b"".join(publics)
    study = Study.create(folder / "study")
    study.import_campaign(signed.data, [signed.author], "map")
    ids = b"".join(key_id(blob[start : start + 32]) for start in range(0, len(blob), 32))
    columns = (np.frombuffer(raw, dtype=np.uint8).reshape(-1, width) for raw, width in ((ids, 8), (blob, 32)))
    id_bytes, public_bytes = columns
    register(study, signed.id.hex(), key_column(id_bytes), public_bytes)
    return batch


def size_of(path: Path) -> int:
    """Return the bytes of a table's data files."""
    return sum(file.size for file in tables.data_files(path, tables.snapshot(path)))


def peak() -> float:
    """Return the peak memory of this process in MiB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@dataclass(frozen=True)
class Duration:
    """A measured time: elapsed seconds, and seconds of processor time."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} s; {self.cpu:.2f} s of processor time"

    def over(self, other: Duration) -> str:
        """Return this time divided by ``other``, as text."""
        return f"{self.wall / other.wall:.2f}; by processor time {self.cpu / other.cpu:.2f}"


def timed(work: Callable[[], T]) -> tuple[Duration, T]:
    """Return the time that a call of ``work`` takes in this process, and its result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return Duration(time.perf_counter() - wall, time.process_time() - cpu), result


def bare(folder: Path, threads: int) -> tuple[Duration, int]:
    """Return the time that libsodium alone needs for the first signatures of a batch, and their number."""
    with (folder / "batch.htr").open("rb") as file:
        data = file.read(SAMPLE)
    begins, _, ends, _ = frames(data, final=False).columns.tolist()
    study = Study.open(folder / "study")
    registry = study.registry(study.ids()[0])
    work = []
    for begin, end in zip(begins, ends, strict=True):
        envelope = decode(data[begin:end])
        place, _ = registry.find(key_column(np.frombuffer(envelope.key_id, dtype=np.uint8)))
        message = signed_message(envelope.kind, envelope.key_id, envelope.unverified)
        work.append((envelope.signature + message, registry.public[place].tobytes()))

    def verify(start: int) -> None:
        for message, public in work[start : start + BLOCK]:
            crypto_sign_open(message, public)

    def everything() -> None:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(verify, range(0, len(work), BLOCK)))

    return timed(everything)[0], len(work)


def measured(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the measurements of ingest in a prepared folder whose study has no reports yet."""
    batch, threads = folder / "batch.htr", os.cpu_count() or 1

    def once() -> IngestResult:
        return ingest(Study.open(folder / "study"), [batch], now=OPENS, threads=threads)

    def beside() -> tuple[Duration, int]:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(bare, folder, threads).result()

    loops = [beside()]
    first, result = timed(once)
    memory = peak()
    loops.append(beside())
    replay_time, replayed = timed(once)
    if result.refused or replayed.refused != {"replayed": result.read}:
        raise RuntimeError(
            f"expected all {result.read} envelopes to be accepted, then refused as replayed the second time; "
            f"refused the first time: {result.refused}, the second time: {replayed.refused}"
        )
    table = size_of(folder / "study" / REPORTS)
    ratio = result.read / sum(number for _, number in loops)
    alone = Duration(ratio * sum(spent.wall for spent, _ in loops), ratio * sum(spent.cpu for spent, _ in loops))
    bundle_target, single_target = (
        (" [at least 1,000,000]", "") if result.outputs > result.read else ("", " [at least {}]")
    )
    yield f"libsodium alone, signatures a second, {threads} threads", f"{result.read / alone.wall:,.0f}"
    yield f"ingest of {result.read:,} envelopes, {result.outputs:,} outputs", str(first)
    yield f"outputs a second{bundle_target}", f"{result.outputs / first.wall:,.0f}"
    yield "outputs a second if two processors did nothing else (computed)", f"{2 * result.outputs / first.cpu:,.0f}"
    yield f"time of libsodium alone / time of ingest{single_target.format(0.9)}", alone.over(first)
    yield f"speed-up if the same file is ingested again{single_target.format(20)}", first.over(replay_time)
    yield "peak memory [below 800 MiB]", f"{memory:.0f} MiB"
    yield "bytes an output in the table", f"{table / result.outputs:.1f}"


def figures_of_process(*command: str) -> Iterator[tuple[str, str]]:
    """Yield the figures that a benchmark in another process prints, line by line."""
    with subprocess.Popen([sys.executable, "-m", *command], stdout=subprocess.PIPE, text=True) as running:  # noqa: S603  # no outside input
        for line in running.stdout or ():
            title, _, figure = line.rstrip("\n").partition("\t")
            yield title, figure
    if running.returncode:
        raise RuntimeError(
            f"{' '.join(command)} ended with status {running.returncode}: expected 0; its own error is above"
        )


def run(reports: int = SINGLES) -> Iterator[tuple[str, str]]:
    """Yield the figures of an ingest of ``reports`` single reports, then of bundles."""
    for envelopes, answers in ((reports, 1), (BUNDLES, BUNDLE)):
        with tempfile.TemporaryDirectory() as name:
            prepare(Path(name), envelopes, answers)
            yield from figures_of_process("benchmarks.ingest", name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Ingest a prepared batch, and print the figures.")
    parser.add_argument("folder", type=Path, help="a folder with study, a study without reports, and batch.htr")
    folder = parser.parse_args().folder
    if not (folder / "batch.htr").is_file():
        parser.error(
            f"{folder} has no batch.htr: expected a folder that `python -m benchmarks ingest` has prepared; run this "
            "command instead, which prepares a folder, measures it and removes it"
        )
    for title, figure in measured(folder):
        print(title, figure, sep="\t", flush=True)
