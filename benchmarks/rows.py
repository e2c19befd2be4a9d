"""A study of ten million counted rows: the cost of tallies, estimates, and deduplication against these rows.

The rows are written to a study as an ingest writes them. But no device made them and nothing is verified, so the
figures cover only the steps after the signatures. The benchmark runs in a separate process, so that its peak memory can
be measured.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from aggregator.estimate.estimator import estimate
from aggregator.intake.slots import Slots
from aggregator.storage import tables
from aggregator.storage.tables import REPORTS
from aggregator.study import Study
from benchmarks.ingest import US_GRID, campaign, figures_of_process, peak, timed, valid_reports

ROWS = 10_000_000
COMMIT_ROWS = 200_000


def run(rows: int = ROWS) -> Iterator[tuple[str, str]]:
    """Yield the figures of a study of ``rows`` rows, measured in a separate process."""
    return figures_of_process("benchmarks.rows", str(rows))


def measured(folder: Path, rows: int) -> Iterator[tuple[str, str]]:
    """Deduplicate and commit ``rows`` rows of one period in chunks, then estimate; yield the figures."""
    signed = campaign()
    study = Study.create(folder / "study")
    study.import_campaign(signed.data, [signed.author], "map")
    path = study.path / REPORTS
    rng, slots = np.random.default_rng(1), Slots(path)
    seconds: list[float] = []
    for first in range(0, rows, COMMIT_ROWS):
        size = min(COMMIT_ROWS, rows - first)
        key, output = rng.integers(-(2**63), 2**63 - 1, size), rng.zipf(1.5, size) % US_GRID.size
        candidates = valid_reports(signed, key, output)
        table = tables.snapshot(path)
        took, free = timed(partial(candidates.free, table, slots=slots))
        seconds.append(took.cpu)
        tables.append_rows(path, candidates.rows(free))
    table = tables.snapshot(path)
    looked, _ = timed(lambda: candidates.free(table))
    tenth = max(1, len(seconds) // 10)
    yield f"deduplication of {COMMIT_ROWS:,} reports, first tenth of {rows:,}", f"{sum(seconds[:tenth]) / tenth:.3f} s"
    yield f"deduplication of {COMMIT_ROWS:,} reports, last tenth of {rows:,}", f"{sum(seconds[-tenth:]) / tenth:.3f} s"
    yield f"deduplication of {COMMIT_ROWS:,} reports, by reading all rows", f"{looked.cpu:.3f} s"
    took, tally = timed(lambda: study.tally(signed))
    yield f"tally of {rows:,} rows", str(took)
    if tally.reports != rows:
        raise RuntimeError(
            f"{tally.reports} of {rows} rows are in the tally: expected all; run tests/aggregator/test_study.py"
        )
    for method, target in (("projection", 1), ("empirical-bayes", 5)):
        took, _ = timed(partial(estimate, signed, tally, method=method))
        yield f"estimate of {US_GRID.size:,} values, {method} [under {target} s]", str(took)
    yield "peak memory of this benchmark [below 1,500 MiB]", f"{peak():.0f} MiB"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write rows to a new study, and print the figures.")
    parser.add_argument("rows", type=int, nargs="?", default=ROWS, help="number of rows [default: %(default)s]")
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as name:
        for title, figure in measured(Path(name), rows):
            print(title, figure, sep="\t", flush=True)
