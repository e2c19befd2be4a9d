"""How near a map comes to the truth: one grid of cells beside resolutions that are asked of different people.

`python -m benchmarks.maps DATA` reads real check-ins from the folder DATA, prints the total variation of both at each
resolution, of other maps and trees, and of other notions, and writes the section of docs/BENCHMARKS.md anew.

Outputs are counted, not sent: each person has a cell, drawn from the true shares, and a view, drawn by the weights, and
the counts of a view are one draw from the exact law of its channel's outputs.

Other notions: map_notions.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from aggregator.estimate.error import expected_mse
from aggregator.estimate.interval import standard_errors
from aggregator.estimate.method import consistent as flat_method
from aggregator.estimate.method import default_method
from aggregator.estimate.reported import Reported
from aggregator.estimate.tree import Combined, Survey, Tree, combine, consistent, independent, project_inside
from aggregator.families.decoder import Decoder, Floats, Integers
from aggregator.families.mechanism import Question
from aggregator.families.registry import decoder_of
from aggregator.planner.choice import AUTO, chosen
from aggregator.planner.resolutions import PARTS, best_weights
from benchmarks import page
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

TREES = ((25, 5, 1), (5, 1), (10, 1))
"""Factors of the trees that even maps are estimated with."""

CLUSTERS = 20
"""The cells that hold all people of the most clustered map."""


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
    """(m,) shares of the outputs of ``n`` people, drawn from the law of the channel.

    Raises:
        ValueError: a report of the channel has several features, so the means of them are no law.
    """
    if not decoder.one_hot:
        raise ValueError(f"reports of a channel of {decoder.inputs} values are sets: take another mechanism")
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


class Ways:
    """A tree of resolutions with its channels, the weights that the planner gives them, and what they find."""

    def __init__(self, maps: Sequence[Integers], n: int, mechanism: str = AUTO) -> None:
        """Choose channels and weights.

        Args:
            maps: of each resolution, the coarsest first, (k,) the district of each cell.
            n: the number of people.
            mechanism: of every channel.
        """
        self.n, self.maps = n, maps
        self.tree = Tree.of(maps)
        sizes = self.tree.sizes
        channels = [chosen(mechanism, Question(values(size), Ldp(NANONATS)))[1] for size in sizes]
        variances = [expected_mse(channel) / size for channel, size in zip(channels, sizes, strict=True)]
        self.weights = best_weights(sizes, variances, n)
        self.decoders = [decoder_of(channel) for channel in channels]

    def views(self, people: Floats, rng: np.random.Generator) -> list[Combined]:
        """One crowd: the linear estimate of each resolution."""
        surveys = []
        shares = rng.multinomial(self.n, np.array(self.weights) / PARTS)
        for view, decoder, asked in zip(self.maps, self.decoders, shares, strict=True):
            share = counted(decoder, np.bincount(view, people), int(asked), rng)
            even = decoder.forward(np.bincount(view) / len(view))
            weighing, shown = (independent(decoder, law, decoder.variances(law) / asked) for law in (even, share))
            surveys.append(Survey(decoder.invert(share), weighing, shown))
        return combine(self.tree, surveys)

    def off(self, people: Floats, found: Sequence[Floats]) -> list[float]:
        """Total variation from the true shares at each resolution, the finest first."""
        truths = [np.bincount(each, people) for each in self.maps]
        return [variation(a, b) for a, b in zip(found, truths, strict=True)][::-1]


def variation(found: Floats, truth: Floats) -> float:
    """Total variation between two distributions."""
    return float(np.abs(found - truth).sum()) / 2


def projected(tree: Tree, combined: Sequence[Combined]) -> list[Floats]:
    """The shares of each resolution projected inside their parents, however even the map looks."""
    found, above = [], np.ones(1)
    for each, parent in zip(combined, tree.parents, strict=True):
        above = project_inside(each.raw, each.weighing, parent, above)
        found.append(above)
    return found


def measured(folder: Path) -> Iterator[tuple[str, ...]]:
    """Rows of the table of views beside cells."""
    for column, what in COLUMNS_READ.items():
        people = true_shares(folder, column)
        for n, aims in AIMS.items():
            ways, rng = Ways([districts(factor) for factor in FACTORS], n), np.random.default_rng(1)
            off: dict[str, list[list[float]]] = {}
            for _ in range(CROWDS):
                found = {"views": consistent(ways.tree, ways.views(people, rng))}
                for method, cells in flat(ways.decoders[-1], people, n, rng).items():
                    found[f"cells only, {method}"] = [np.bincount(each, cells) for each in ways.maps]
                for name, shares in found.items():
                    off.setdefault(name, []).append(ways.off(people, shares))
            asked = " / ".join(f"{weight / PARTS:g}" for weight in ways.weights[::-1])
            for name, each in sorted(off.items(), reverse=True):
                yield (
                    what,
                    f"{n:,}",
                    f"{name}, {asked}" if name == "views" else name,
                    means(each),
                    " / ".join(f"{aim:.2f}" for aim in aims) if name == "views" and column == "users" else "",
                )


def means(off: Sequence[Sequence[float]]) -> str:
    """The means over the crowds, at each resolution."""
    return " / ".join(f"{each:.3f}" for each in np.mean(off, axis=0))


def shapes(folder: Path) -> dict[str, Floats]:
    """Maps from even to clustered, by name."""
    real, even = true_shares(folder, "users"), np.full(ROWS * COLUMNS, 1 / (ROWS * COLUMNS))
    few = np.zeros(ROWS * COLUMNS)
    few[np.random.default_rng(4).choice(ROWS * COLUMNS, CLUSTERS, replace=False)] = 1 / CLUSTERS
    return {
        "even": even,
        "half even, half as Gowalla": (even + real) / 2,
        "people per cell": real,
        f"all in {CLUSTERS} cells": few,
    }


def evened(folder: Path) -> Iterator[tuple[str, ...]]:
    """Rows of the table of maps from even to clustered, in several trees."""
    for factors in TREES:
        for n in AIMS:
            ways = Ways([districts(factor) for factor in factors], n)
            for name, people in shapes(folder).items():
                rng = np.random.default_rng(1)
                off: dict[str, list[list[float]]] = {"projected": [], "estimated": []}
                for _ in range(CROWDS):
                    combined = ways.views(people, rng)
                    off["projected"].append(ways.off(people, projected(ways.tree, combined)))
                    off["estimated"].append(ways.off(people, consistent(ways.tree, combined)))
                tree = " / ".join(map(str, factors[::-1]))
                yield (name, tree, f"{n:,}", *(means(each) for each in off.values()))


def main() -> None:
    """Measure, print and write."""
    from benchmarks import map_notions

    folder = page.folder_with(FILE, ": see SOURCES in aggregator.reproduce.data")
    wanted = {
        "views": (("true shares", "people", "asked", "cells / 5 x 5 / 25 x 25", "at most"), measured(folder)),
        "shapes": (("true shares", "cells on a side", "people", "projected", "estimated"), evened(folder)),
        "notions": (map_notions.HEADS, map_notions.measured(true_shares(folder, "users"))),
    }
    tables = {name: page.table(heads, page.shown(rows)) for name, (heads, rows) in wanted.items()}
    page.write("maps", Path(__file__).with_suffix(".md"), crowds=CROWDS, **tables)


if __name__ == "__main__":
    main()
