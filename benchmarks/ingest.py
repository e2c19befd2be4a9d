"""Verified reports per second, beside the bare signature check, and the memory it takes.

One idea: the bare loop and the ingest run in the same process on the same reports and threads, so their ratio says
what everything but libsodium costs. Processor time is given beside it, because others at work on the machine change
that less.
"""

from __future__ import annotations

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

from aggregator.intake.columns import key_column
from aggregator.intake.enrolments import register
from aggregator.intake.ingest import ingest
from aggregator.study import Study
from protocol import exact
from protocol.campaign import Campaign, SignedCampaign, open_campaign, seal_campaign
from protocol.channels import RandomizedResponse
from protocol.domain import Grid
from protocol.envelope import Kind, decode, signed_message
from protocol.keys import SigningKey, key_id
from protocol.notions import Ldp
from protocol.report import Report

US_GRID = Grid(25_000_000, 50_000_000, -130_000_000, -60_000_000, 200_000)
OPENS, WEEK = 1_800_000_000, 604_800
BLOCK = 5_000
BUNDLE, BUNDLES = 64, 65_536

T = TypeVar("T")


def campaign(answers: int = 1) -> SignedCampaign:
    """A campaign over 43,750 cells of a map, so that an output takes 16 bits, with so many answers in its period."""
    author = SigningKey(bytes(range(32)))
    channel = RandomizedResponse(US_GRID.size, (2**64 // (US_GRID.size + 1),))
    terms = Campaign(
        "Map", "Where?", "", "Town", US_GRID, Ldp(exact.NANONATS), "randomized-response", channel,
        OPENS, OPENS + WEEK, WEEK, answers, 1, "enrolled",
    )  # fmt: skip
    return open_campaign(seal_campaign(terms, author), [author.public])


def sealed_reports(
    first: int, stop: int, campaign_id: bytes, prepared: bool, answers: int
) -> tuple[list[bytes], list[bytes], bytes]:
    """Envelopes, each of a device of its own; what a verifier is handed for each; the public keys."""
    envelopes, messages, publics = [], [], []
    for number in range(first, stop):
        key = SigningKey.for_campaign(number.to_bytes(32, "little"), campaign_id)
        outputs = [(number * answers + place) * 7919 % US_GRID.size for place in range(answers)]
        packed = b"".join(output.to_bytes(2, "big") for output in outputs)
        envelope = Report(campaign_id, 0, 0, answers, packed).seal(key)
        envelopes.append(envelope)
        publics.append(key.public)
        if prepared:
            opened = decode(envelope)
            messages.append(opened.signature + signed_message(Kind.REPORT, key.id, opened.unverified))
    return envelopes, messages, b"".join(publics)


def prepare(folder: Path, reports: int, *, prepared: bool, answers: int = 1) -> tuple[Path, list[bytes], bytes]:
    """A study that knows the devices, the file of their reports, and what a bare verifier needs.

    Args:
        reports: envelopes, of ``answers`` reports each.
    """
    signed = campaign(answers)
    messages: list[bytes] = []
    publics: list[bytes] = []
    batch = folder / "batch.htr"
    with (
        batch.open("wb") as file,
        ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool,
    ):
        starts = range(0, reports, BLOCK)
        stops = [min(start + BLOCK, reports) for start in starts]
        blocks = pool.map(sealed_reports, starts, stops, repeat(signed.id), repeat(prepared), repeat(answers))
        for envelopes, some, public in blocks:
            file.write(b"".join(envelopes))
            messages += some
            publics.append(public)
    blob = b"".join(publics)
    study = Study.create(folder / "study")
    study.import_campaign(signed.data, [signed.author], "map")
    ids = b"".join(key_id(blob[at : at + 32]) for at in range(0, len(blob), 32))
    columns = (np.frombuffer(raw, dtype=np.uint8).reshape(-1, width) for raw, width in ((ids, 8), (blob, 32)))
    id_bytes, public_bytes = columns
    register(study, signed.id.hex(), key_column(id_bytes), public_bytes, revoked=False)
    return batch, messages, blob


@dataclass(frozen=True)
class Took:
    """Seconds by the wall, and of processors."""

    wall: float
    cpu: float

    def over(self, other: Took) -> str:
        """How often the other goes into this one."""
        return f"{self.wall / other.wall:.2f} (processor time {self.cpu / other.cpu:.2f})"


def timed(what: Callable[[], T]) -> tuple[Took, T]:
    """What something takes in this process, and what it returns."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = what()
    return Took(time.perf_counter() - wall, time.process_time() - cpu), result


def bare(messages: list[bytes], publics: bytes, threads: int) -> None:
    """Nothing but libsodium."""

    def verify(start: int) -> None:
        for row in range(start, min(start + BLOCK, len(messages))):
            crypto_sign_open(messages[row], publics[32 * row : 32 * row + 32])

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(verify, range(0, len(messages), BLOCK)))


def run(reports: int = 200_000) -> Iterator[tuple[str, str]]:
    """Rates and ratios; from a million reports on, the memory of a process that ingests them instead."""
    threads = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as name:
        if reports >= 1_000_000:
            prepare(Path(name), reports, prepared=False)
            command = [sys.executable, "-m", "benchmarks.ingest", name]
            peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603  # this file
            yield f"peak memory to ingest {reports:,} reports [below 800 MB]", peak
            return
        yield from _beside_libsodium(Path(name), reports, threads)
    with tempfile.TemporaryDirectory() as name:
        yield from _bundles(Path(name), threads)


def _beside_libsodium(folder: Path, reports: int, threads: int) -> Iterator[tuple[str, str]]:
    batch, messages, publics = prepare(folder, reports, prepared=True)
    before, _ = timed(lambda: bare(messages, publics, threads))
    took, result = timed(lambda: ingest(Study.open(folder / "study"), [batch], now=OPENS, threads=threads))
    after, _ = timed(lambda: bare(messages, publics, threads))
    again, replayed = timed(lambda: ingest(Study.open(folder / "study"), [batch], now=OPENS, threads=threads))
    if result.accepted != reports or replayed.rejected != {"replayed": reports}:
        raise RuntimeError(f"{result.accepted} of {reports} accepted: {result.rejected}; again: {replayed.rejected}")
    alone = Took((before.wall + after.wall) / 2, (before.cpu + after.cpu) / 2)
    yield f"libsodium alone, {reports:,} signatures, {threads} threads", f"{reports / alone.wall:,.0f} a second"
    yield f"ingest of {reports:,} reports, {threads} threads", f"{reports / took.wall:,.0f} a second"
    yield "ingest beside libsodium alone [at least 0.9]", alone.over(took)
    yield "the same file again, times faster [at least 20]", took.over(again)


def _bundles(folder: Path, threads: int) -> Iterator[tuple[str, str]]:
    batch, messages, publics = prepare(folder, BUNDLES, prepared=True, answers=BUNDLE)
    before, _ = timed(lambda: bare(messages, publics, threads))
    took, result = timed(lambda: ingest(Study.open(folder / "study"), [batch], now=OPENS, threads=threads))
    after, _ = timed(lambda: bare(messages, publics, threads))
    if result.outputs != BUNDLES * BUNDLE:
        raise RuntimeError(f"{result.outputs} outputs accepted: {result.rejected}")
    alone, cpu = (before.wall + after.wall) / 2, (before.cpu + after.cpu) / 2
    rate = result.outputs / took.wall
    yield f"bundles of {BUNDLE}, reports a second, {threads} threads [at least 1,000,000]", f"{rate:,.0f}"
    yield "bundles beside libsodium alone", f"{alone / took.wall:.2f} (processor time {cpu / took.cpu:.2f})"
    yield "bundles, reports a second of two idle processors", f"{2 * result.outputs / took.cpu:,.0f}"


def _measure(folder: Path) -> None:
    import resource

    took, result = timed(lambda: ingest(Study.open(folder / "study"), [folder / "batch.htr"], now=OPENS))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{peak:.0f} MB, {result.accepted:,} accepted, {result.read / took.wall:,.0f} a second")


if __name__ == "__main__":
    _measure(Path(sys.argv[1]))
