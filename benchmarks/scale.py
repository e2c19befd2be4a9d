"""More workers: what a second one brings, what Dask costs beside threads, and what a report costs a cluster.

One idea: the same file goes into copies of the same study by each engine, in turns, so ratios are of one run; and what
is in the study afterwards must be the same, row for row.

    python -m benchmarks scale                    verification, one worker and two
    python -m benchmarks.scale ROWS               tallies and deduplication of a study of so many generated rows, on two
                                                  workers; nothing is verified there
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from distributed import Client

from aggregator.engines import cluster, steps
from aggregator.engines.cluster import Cluster
from aggregator.engines.local import Local
from aggregator.estimate.result import estimate
from aggregator.intake import deduplicate, shards, tables
from aggregator.intake.tables import KEYS, REPORTS, SCHEMAS
from aggregator.study import Study
from benchmarks.ingest import OPENS, US_GRID, campaign, prepare
from protocol.campaign import SignedCampaign, open_campaign, seal_campaign
from protocol.keys import SigningKey

REPORTS_VERIFIED = 120_000
ROUNDS = 2
DAY = 10**9
"""Reports a day that the cost model is asked for."""
COMMIT_ROWS = 2**21


@contextmanager
def workers(number: int) -> Iterator[Cluster]:
    """The engine on so many processes, all of them ready."""
    with cluster.processes(number) as started, Client(started) as client, client.as_current():
        client.wait_for_workers(number, timeout=60)
        yield Cluster(client)


def result(study: Study, signed: SignedCampaign, engine: Local | Cluster) -> str:
    """A digest of the counted rows, and of the estimate that the engine makes of them, whatever the order of rows."""
    rows = tables.query(tables.snapshot(study.path / REPORTS), "SELECT * FROM rows ORDER BY key, slot")
    told = hashlib.sha256()
    for name in ("period", "key", "slot", "output"):
        told.update(rows[name].to_numpy().tobytes())
    found = estimate(signed, engine.tally(study, signed)).as_json()
    told.update(json.dumps(found | {"table_version": None}).encode())
    return told.hexdigest()


def run() -> Iterator[tuple[str, str]]:
    """Verification by 1 and 2 workers beside the local engine, and what a report costs."""
    took: dict[str, list[float]] = {}
    worked: dict[str, float] = {}
    digests: set[str] = set()
    signed = campaign()
    travelled = 0
    with tempfile.TemporaryDirectory() as name, workers(1) as one, workers(2) as two:
        folder = Path(name)
        batch, _, _ = prepare(folder, REPORTS_VERIFIED, prepared=False)
        engines = {"local, 1 thread": Local(1), "local": Local(), "1 worker": one, "2 workers": two}
        for round_ in range(ROUNDS):
            for what, engine in engines.items():
                copy = Path(shutil.copytree(folder / "study", folder / f"{what}{round_}"))
                before, began = cpu(engine), time.perf_counter()
                done = engine.ingest(Study.open(copy), [batch], now=OPENS)
                took.setdefault(what, []).append(time.perf_counter() - began)
                worked[what] = cpu(engine) - before
                if done.accepted != REPORTS_VERIFIED:
                    raise RuntimeError(f"{done.accepted} accepted: {done.rejected}")
                digests.add(result(Study.open(copy), signed, engine))
                travelled = engine.travelled if isinstance(engine, Cluster) else travelled
                stored = size_of(copy, REPORTS)
                keys = size_of(copy, KEYS)
                shutil.rmtree(copy)
        read = batch.stat().st_size
    if len(digests) != 1:
        raise RuntimeError("the engines do not leave the same rows, or do not make the same estimate of them")
    best = {what: min(seconds) for what, seconds in took.items()}
    core = REPORTS_VERIFIED / best["1 worker"]
    yield "ingest on 2 workers over 1, reports a second [at least 1.7]", f"{best['1 worker'] / best['2 workers']:.2f}"
    yield "processor time of the workers, 1 over 2", f"{worked['1 worker'] / worked['2 workers']:.2f}"
    yield "ingest on 2 threads over 1, local engine", f"{best['local, 1 thread'] / best['local']:.2f}"
    yield "ingest on 2 workers beside the local engine, seconds", f"{best['2 workers'] / best['local']:.2f}"
    yield "rows and estimates of all engines", "the same bytes"
    yield "reports a second a core, 1 worker", f"{core:,.0f}"
    yield "bytes a report: read (twice)", f"{read / REPORTS_VERIFIED:.0f}"
    yield "bytes a report: sorted into shards", f"{travelled / REPORTS_VERIFIED:.1f}"
    yield "bytes a report: in the table", f"{stored / REPORTS_VERIFIED:.1f}"
    yield "bytes a key: in the table of keys", f"{keys / REPORTS_VERIFIED:.1f}"
    yield f"core-hours for {DAY:,} reports", f"{DAY / core / 3600:.1f}"


def cpu(engine: Local | Cluster) -> float:
    """Processor seconds that the workers have used."""
    return sum(engine.client.run(time.process_time).values()) if isinstance(engine, Cluster) else time.process_time()


def size_of(study: Path, name: str) -> int:
    """Bytes of a table's data."""
    return sum(file.size for file in tables.data_files(study / name, tables.snapshot(study / name)))


def generated(folder: Path, rows: int) -> tuple[Study, SignedCampaign]:
    """A study of ``rows`` rows that no device made: a half in each of two periods, by the same devices.

    Each commit is sorted by key, as the Dask engine's are.
    """
    author = SigningKey(bytes(range(32)))
    terms = campaign().terms
    terms = replace(terms, closes=terms.opens + 2 * terms.period_seconds)
    signed = open_campaign(seal_campaign(terms, author), [author.public])
    study = Study.create(folder / "study")
    study.import_campaign(signed.data, [signed.author], "map")
    for period in (0, 1):
        rng = np.random.default_rng(1)  # the same keys
        for first in range(0, rows // 2, COMMIT_ROWS):
            size = min(COMMIT_ROWS, rows // 2 - first)
            key = np.sort(rng.integers(-(2**63), 2**63 - 1, size))
            output = (key * 7919 + period) % US_GRID.size
            columns = [
                pa.repeat(signed.id.hex(), size), pa.repeat(np.int32(period), size), pa.array(key),
                pa.repeat(np.int32(0), size), pa.array(output), pa.nulls(size, pa.binary()),
            ]  # fmt: skip
            tables.add(study.path / REPORTS, pa.table(columns, schema=SCHEMAS[REPORTS]))
    return study, signed


def aggregate(rows: int) -> Iterator[tuple[str, str]]:
    """Seconds to tally, and to deduplicate against, so many rows."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name:
        began = time.perf_counter()
        study, signed = generated(Path(name), rows)
        yield f"{rows:,} rows written, sorted by key", f"{time.perf_counter() - began:.1f} s"
        yield "bytes a row in the table", f"{size_of(study.path, REPORTS) / rows:.1f}"
        with workers(1) as one, workers(2) as two:
            for what, period in (
                (f"one period, {rows // 2:,} rows", 0),
                (f"latest of two periods, {rows:,} rows", None),
            ):
                found = {}
                for engine_name, engine in (("local", Local()), ("1 worker", one), ("2 workers", two)):
                    began = time.perf_counter()
                    tally = engine.tally(study, signed, period)
                    found[engine_name] = tally.counts.tolist()
                    yield f"tally, {what}, {engine_name}", f"{time.perf_counter() - began:.1f} s"
                same = all(counts == found["local"] for counts in found.values())
                yield f"tally, {what}, all engines", "the same integers" if same else "DIFFERENT"
            yield from deduplicated(study, signed, two)


def deduplicated(study: Study, signed: SignedCampaign, engine: Cluster) -> Iterator[tuple[str, str]]:
    """Seconds to find a round's replays among the rows of a period; every second report of the round is one."""
    table = tables.snapshot(study.path / REPORTS)
    number, size = cluster.MOST_SHARDS, cluster.ROUND_OUTPUTS
    known = tables.query(table, f"SELECT key FROM rows WHERE period = 0 LIMIT {size // 2}")["key"].to_numpy()  # noqa: S608
    fresh = np.random.default_rng(2).integers(-(2**63), 2**63 - 1, size - len(known))
    key, zeros = np.concatenate([known, fresh]), np.zeros(size, dtype=np.int64)
    offer = deduplicate.Offer((signed.id.hex(),), size, np.arange(size), zeros, zeros, key, zeros, zeros, None)
    parcels = shards.split([offer], number)
    standing = cluster._standing(study)
    began = time.perf_counter()
    errands = [
        engine.client.submit(steps.settle, standing, table.version(), shard, number, [parcels[shard]], pure=False)
        for shard in range(number)
    ]
    settled = [errand.result() for errand in errands]
    took = time.perf_counter() - began
    accepted = sum(one.judged.accepted.total() for one in settled)
    if accepted != len(fresh) or pc.sum(pa.array([one.rows.num_rows for one in settled])).as_py() != accepted:
        raise RuntimeError(f"{accepted} of {len(fresh)} fresh reports settled")
    yield f"deduplication of a round of {size:,} against one period, 2 workers", f"{took:.1f} s"


if __name__ == "__main__":
    for what, measured in aggregate(int(sys.argv[1])):
        print(f"  {what:<68} {measured}", flush=True)
