"""Verified reports per second, beside the bare signature check, and the memory it takes.

One idea: the bare loop and the ingest run in the same process on the same reports and threads, so their ratio says
what everything but libsodium costs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

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


def campaign() -> SignedCampaign:
    """A campaign over 43,750 cells of a map, so that an output takes 16 bits."""
    author = SigningKey(bytes(range(32)))
    channel = RandomizedResponse(US_GRID.size, (2**64 // (US_GRID.size + 1),))
    terms = Campaign(
        "Map", "Where?", "", "Town", US_GRID, Ldp(exact.NANONATS), "randomized-response", channel,
        OPENS, OPENS + WEEK, WEEK, 1, 1, "enrolled",
    )  # fmt: skip
    return open_campaign(seal_campaign(terms, author), [author.public])


def sealed_reports(first: int, campaign_id: bytes, prepared: bool) -> tuple[list[bytes], list[bytes], bytes]:
    """A block of envelopes, each of a device of its own; what a verifier is handed for each; the public keys."""
    envelopes, messages, publics = [], [], []
    for number in range(first, first + BLOCK):
        key = SigningKey.for_campaign(number.to_bytes(32, "little"), campaign_id)
        output = number * 7919 % US_GRID.size
        envelope = Report(campaign_id, 0, 0, 1, output.to_bytes(2, "big")).seal(key)
        envelopes.append(envelope)
        publics.append(key.public)
        if prepared:
            opened = decode(envelope)
            messages.append(opened.signature + signed_message(Kind.REPORT, key.id, opened.unverified))
    return envelopes, messages, b"".join(publics)


def prepare(folder: Path, reports: int, *, prepared: bool) -> tuple[Path, list[bytes], bytes]:
    """A study that knows the devices, the file of their reports, and what a bare verifier needs."""
    signed = campaign()
    messages: list[bytes] = []
    publics: list[bytes] = []
    batch = folder / "batch.htr"
    with (
        batch.open("wb") as file,
        ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool,
    ):
        blocks = pool.map(sealed_reports, range(0, reports, BLOCK), repeat(signed.id), repeat(prepared))
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


def bare(messages: list[bytes], publics: bytes, threads: int) -> float:
    """Seconds that nothing but libsodium takes."""

    def verify(start: int) -> None:
        for row in range(start, min(start + BLOCK, len(messages))):
            crypto_sign_open(messages[row], publics[32 * row : 32 * row + 32])

    began = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(verify, range(0, len(messages), BLOCK)))
    return time.perf_counter() - began


def run(reports: int = 200_000) -> Iterator[tuple[str, str]]:
    """Rate and ratio; from a million reports on, the memory of a process that ingests them instead."""
    threads = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if reports >= 1_000_000:
            prepare(folder, reports, prepared=False)
            command = [sys.executable, "-m", "benchmarks.ingest", str(folder)]
            peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603  # this file
            yield f"peak memory to ingest {reports:,} reports [below 600 MB]", peak
            return
        batch, messages, publics = prepare(folder, reports, prepared=True)
        before = bare(messages, publics, threads)
        began = time.perf_counter()
        result = ingest(Study.open(folder / "study"), [batch], now=OPENS, threads=threads)
        took = time.perf_counter() - began
        after = bare(messages, publics, threads)
        if result.accepted != reports:
            raise RuntimeError(f"{result.accepted} of {reports} accepted: {result.rejected}")
        alone = (before + after) / 2
        yield f"libsodium alone, {reports:,} signatures, {threads} threads", f"{reports / alone:,.0f} a second"
        yield f"ingest of {reports:,} reports, {threads} threads", f"{reports / took:,.0f} a second"
        yield "ingest beside libsodium alone [at least 0.8]", f"{alone / took:.2f}"


def _measure(folder: Path) -> None:
    import resource

    began = time.perf_counter()
    result = ingest(Study.open(folder / "study"), [folder / "batch.htr"], now=OPENS)
    took = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{peak:.0f} MB, {result.accepted:,} accepted, {result.read / took:,.0f} a second")


if __name__ == "__main__":
    _measure(Path(sys.argv[1]))
