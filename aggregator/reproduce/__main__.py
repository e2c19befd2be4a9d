"""`make results`: run all papers quickly and write docs/RESULTS.md and its figures anew.

One idea: the page's own words stay; what was computed is replaced, paper by paper, between its comments.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from aggregator.reproduce import PAPERS
from aggregator.reproduce.data import DataFolder
from aggregator.reproduce.document import run
from aggregator.reproduce.draw import draw
from aggregator.reproduce.page import written

DOCS = Path(__file__).parents[2] / "docs"
SEED = 1


def main() -> None:
    """Write the parts of the papers named after the folder of data, or of all."""
    if not any(sys.argv[1:2]) or not Path(sys.argv[1]).is_dir():
        sys.exit("name the folder of the data sets: make results DATA=DIR")
    figures = DOCS / "results"
    for paper in sys.argv[2:] or PAPERS:
        start = time.monotonic()
        document = run(paper, DataFolder(Path(sys.argv[1])), SEED, quick=True)
        if document.missing:
            sys.exit("\n".join(document.missing.values()))
        (figures / f"{paper}.json").write_text(document.as_text(), encoding="utf-8")
        for found in document.found:
            if found.figure:
                draw(found, figures / f"{paper}-{found.name}.png")
        page = DOCS / "RESULTS.md"
        page.write_text(written(page.read_text(encoding="utf-8"), document, figures.name), encoding="utf-8")
        print(f"{paper}: {len(document.found)} experiments in {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
