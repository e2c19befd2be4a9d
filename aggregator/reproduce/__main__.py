"""Run quick versions of all experiments, and update docs/RESULTS.md and its figures (`make results`).

Only the computed parts of the page, which are marked by comments, are replaced. Papers are independent, so they run in
parallel, each in one process.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from aggregator.reproduce import PAPERS
from aggregator.reproduce.data import DataFolder
from aggregator.reproduce.document import run_experiments
from aggregator.reproduce.draw import draw
from aggregator.reproduce.page import replace_section

DOCS = Path(__file__).parents[2] / "docs"
SEED = 1


def main() -> None:
    """Write the parts of the page for the papers named on the command line after the data folder, or for all papers."""
    if not any(sys.argv[1:2]) or not Path(sys.argv[1]).is_dir():
        sys.exit("no folder of data sets was named, or it does not exist: run `make results DATA=DIR`")
    papers = sys.argv[2:] or list(PAPERS)
    if unknown := [paper for paper in papers if paper not in PAPERS]:
        sys.exit(f"there is no paper {unknown[0]!r}: expected one of {', '.join(PAPERS)}")
    figures, page = DOCS / "results", DOCS / "RESULTS.md"
    data, start = DataFolder(Path(sys.argv[1])), time.monotonic()
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        running = [pool.submit(run_experiments, paper, data, SEED, quick=True) for paper in papers]
        for paper, document in ((paper, future.result()) for paper, future in zip(papers, running, strict=True)):
            if document.missing:
                sys.exit("\n".join(document.missing.values()))
            (figures / f"{paper}.json").write_text(document.as_text(), encoding="utf-8")
            for run in document.runs:
                if run.figure:
                    draw(run, figures / f"{paper}-{run.name}.png")
            text = replace_section(page.read_text(encoding="utf-8"), document, figures.name)
            page.write_text(text, encoding="utf-8")
            print(f"{paper}: {len(document.runs)} experiments, {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
