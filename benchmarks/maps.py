"""How near a map comes to the truth: one grid of cells beside resolutions that are asked of different people.

`python -m benchmarks.maps DATA` reads real check-ins from the folder DATA, prints the total variation of both at each
resolution, and writes the section of docs/BENCHMARKS.md anew.

Outputs are counted, not sent: each person has a cell, drawn from the true shares, and a view, drawn by the weights, and
the counts of a view are one draw from the exact law of its channel's outputs.
"""

from __future__ import annotations

import csv
import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from aggregator.estimate.error import expected_mse
from aggregator.estimate.interval import standard_errors
from aggregator.estimate.method import consistent as flat_method
from aggregator.estimate.method import default_method
from aggregator.estimate.reported import Reported
from aggregator.estimate.tree import Survey, Tree, combine, consistent, independent
from aggregator.families.decoder import Decoder, Floats, Integers
from aggregator.families.mechanism import Question
from aggregator.families.registry import decoder_of
from aggregator.planner.choice import AUTO, chosen
from aggregator.planner.resolutions import PARTS, best_weights
from benchmarks.accuracy import values
from protocol.exact import NANONATS
from protocol.notions import Ldp

FILE = "gowalla_u5628_us_grid.csv.gz"
ROWS, COLUMNS = 125, 350
FACTORS = (25, 5, 1)
CROWDS = 20
AIMS = {100_000: (0.75, 0.47, 0.19), 546_659: (0.60, 0.34, 0.11)}
"""By number of people: total variation at cells, squares of 5 x 5 and squares of 25 x 25."""

COLUMNS_READ = {"users": "people per cell", "checkins": "check-ins per cell"}
"""Whose shares are true: of people by the cells they were in, or of check-ins, a quarter of them in one cell."""

PAGE = Path(__file__).parent.parent / "docs" / "BENCHMARKS.md"
BEGIN, END = "<!-- maps: begin -->", "<!-- maps: end -->"


def districts(factor: int) -> Integers:
    """(k,) the square of ``factor`` by ``factor`` cells of each cell."""
    row, column = np.divmod(np.arange(ROWS * COLUMNS), COLUMNS)
    return row // factor * -(-COLUMNS // factor) + column // factor


def true_shares(folder: Path, column: str) -> Floats:
    """(k,) the shares of the cells, from one column of the file."""
    counts = np.zeros((ROWS, COLUMNS))
    with gzip.open(folder / FILE, "rt", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            counts[int(line["row"]), int(line["col"])] = int(line[column])
    return counts.ravel() / counts.sum()


def counted(decoder: Decoder, people: Floats, n: int, rng: np.random.Generator) -> Floats:
    """(m,) shares of the outputs of ``n`` people, drawn from the law of the channel."""
    law = decoder.forward(people)
    return rng.multinomial(n, law / law.sum()) / n


def flat(decoder: Decoder, people: Floats, n: int, rng: np.random.Generator) -> dict[str, Floats]:
    """The shares of the cells when everybody is asked for the cell: by the default method, and by projection."""
    share = counted(decoder, people, n, rng)
    raw, se = decoder.invert(share), standard_errors(decoder, share, n)
    methods = dict.fromkeys((default_method(decoder, None, se), "projection"))
    return {
        method: flat_method(method, decoder, share, n, (raw, se), None, [], Reported(decoder.inputs))
        for method in methods
    }


def variations(
    decoders: list[Decoder], people: Floats, n: int, weights: tuple[int, ...], seed: int = 1
) -> dict[str, Floats]:
    """Mean total variation of each way over the crowds, at each of ``FACTORS``."""
    rng = np.random.default_rng(seed)
    maps = [districts(factor) for factor in FACTORS]
    tree, truths = Tree.of(maps), [np.bincount(each, people) for each in maps]
    off: dict[str, list[list[float]]] = {}
    for _ in range(CROWDS):
        surveys = []
        for view, decoder, asked in zip(maps, decoders, rng.multinomial(n, np.array(weights) / PARTS), strict=True):
            share = counted(decoder, np.bincount(view, people), int(asked), rng)
            even = decoder.forward(np.bincount(view) / len(view))
            weighing, shown = (independent(decoder, law, decoder.variances(law) / asked) for law in (even, share))
            surveys.append(Survey(decoder.invert(share), weighing, shown))
        found = {"views": consistent(tree, combine(tree, surveys))}
        for method, cells in flat(decoders[-1], people, n, rng).items():
            found[f"cells only, {method}"] = [np.bincount(each, cells) for each in maps]
        for name, shares in found.items():
            each = [float(np.abs(a - b).sum()) / 2 for a, b in zip(shares, truths, strict=True)]
            off.setdefault(name, []).append(each)
    return {name: np.mean(each, axis=0) for name, each in off.items()}


def measured(folder: Path) -> Iterator[tuple[str, ...]]:
    """Rows of the table."""
    sizes = [int(districts(factor).max()) + 1 for factor in FACTORS]
    channels = [chosen(AUTO, Question(values(size), Ldp(NANONATS)))[1] for size in sizes]
    variances = [expected_mse(channel) / size for channel, size in zip(channels, sizes, strict=True)]
    decoders = [decoder_of(channel) for channel in channels]
    for column, what in COLUMNS_READ.items():
        people = true_shares(folder, column)
        for n, aims in AIMS.items():
            weights = best_weights(sizes, variances, n)
            asked = " / ".join(f"{weight / PARTS:g}" for weight in weights[::-1])
            for name, off in sorted(variations(decoders, people, n, weights).items(), reverse=True):
                yield (
                    what,
                    f"{n:,}",
                    f"{name}, {asked}" if name == "views" else name,
                    " / ".join(f"{each:.3f}" for each in off[::-1]),
                    " / ".join(f"{aim:.2f}" for aim in aims) if name == "views" and column == "users" else "",
                )


def write(rows: list[tuple[str, ...]]) -> None:
    """Put the table between the marks of the page."""
    heads = ("true shares", "people", "asked", "cells / 5 x 5 / 25 x 25", "at most")
    lines = ["| " + " | ".join(row) + " |" for row in (heads, ("---",) * len(heads), *rows)]
    text = (Path(__file__).parent / "maps.md").read_text(encoding="utf-8").format(crowds=CROWDS, table="\n".join(lines))
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN, 1)
    PAGE.write_text(f"{before}{BEGIN}\n{text}{END}{rest.split(END, 1)[1]}", encoding="utf-8")


def main() -> None:
    """Measure, print and write."""
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / FILE).is_file():
        sys.exit(
            f"usage: python -m benchmarks.maps DATA, a folder with {FILE}: see SOURCES in aggregator.reproduce.data"
        )
    rows = []
    for row in measured(Path(sys.argv[1])):
        print(*row, sep="  ", flush=True)
        rows.append(row)
    write(rows)


if __name__ == "__main__":
    main()
