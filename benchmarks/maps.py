"""The errors of a map: all people report their cell, or each person is asked at one of several resolutions.

`python -m benchmarks.maps DATA` reads real check-ins from the folder DATA. It prints the total variation distances of
both designs at each resolution, and those of other maps, trees and notions. Then it rewrites the section of
docs/BENCHMARKS.md.

``map_surveys`` draws people and outputs, and ``map_notions`` measures other notions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from aggregator.estimate.estimator import estimate
from aggregator.estimate.tree import CombinedEstimate, Tree, consistent, project_inside
from aggregator.families.decoder import Decoder, Floats
from aggregator.planner.choice import AUTO
from aggregator.planner.resolutions import PARTS
from aggregator.reproduce import simulated_people
from aggregator.reproduce.formats import grid_check_ins
from aggregator.reproduce.simulated_people import drawn_tally
from benchmarks import map_notions, page
from benchmarks.map_surveys import COLUMNS, ROWS, SURVEYS, TARGETS, Resolutions, districts, means
from protocol.campaign import Campaign
from protocol.exact import NANONATS
from protocol.notions import Ldp

FILE = "gowalla_u5628_us_grid.csv.gz"
FACTORS = (25, 5, 1)
COLUMNS_READ = {"users": "people per cell", "checkins": "check-ins per cell"}
"""The columns of true shares, with their names in the table; a quarter of the check-ins are in one cell."""

TREES = ((25, 5, 1), (5, 1), (10, 1))
"""The factors of each tree's resolutions, for the table of maps from uniform to clustered."""

CLUSTERS = 20
"""Number of cells that contain all people of the most clustered map."""


def true_shares(folder: Path, column: str) -> Floats:
    """Return the shares of the k cells, from one column of the file: (k,)."""
    counts = grid_check_ins(folder / FILE, ROWS, COLUMNS, column)
    return counts / counts.sum()


def flat(campaign: Campaign, decoder: Decoder, people: Floats, n: int, rng: np.random.Generator) -> dict[str, Floats]:
    """Return the estimated shares of the cells if all people report their cell, for the default method and for
    projection."""
    tally = drawn_tally(campaign.channel, decoder, people, n, rng)
    estimates = [estimate(campaign, tally, method=method) for method in (None, "projection")]
    return {cells.method: cells.share for cells in estimates}


def projected(tree: Tree, combined: Sequence[CombinedEstimate]) -> list[Floats]:
    """Return the shares of each resolution, projected within their parents even if the map is nearly uniform."""
    shares, above = [], np.ones(1)
    for resolution, parent in zip(combined, tree.parents, strict=True):
        above = project_inside(resolution.raw, resolution.reference_variances, parent, above)
        shares.append(above)
    return shares


def measured(folder: Path) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table of views beside cells."""
    campaign = simulated_people.campaign(simulated_people.values(ROWS * COLUMNS), Ldp(NANONATS), AUTO)
    for column, label in COLUMNS_READ.items():
        people = true_shares(folder, column)
        for n, targets in TARGETS.items():
            resolutions, rng = Resolutions([districts(factor) for factor in FACTORS], n), np.random.default_rng(1)
            errors: dict[str, list[list[float]]] = {}
            for _ in range(SURVEYS):
                estimates = {"views": consistent(resolutions.tree, resolutions.views(people, rng))}
                for method, cells in flat(campaign, resolutions.decoders[-1], people, n, rng).items():
                    estimates[f"cells only, {method}"] = [np.bincount(district, cells) for district in resolutions.maps]
                for name, shares in estimates.items():
                    errors.setdefault(name, []).append(resolutions.variations(people, shares))
            weights = " / ".join(f"{weight / PARTS:g}" for weight in resolutions.weights[::-1])
            for name, runs in sorted(errors.items(), reverse=True):
                yield (
                    label,
                    f"{n:,}",
                    f"{name}, {weights}" if name == "views" else name,
                    means(runs),
                    " / ".join(f"{target:.2f}" for target in targets) if name == "views" and column == "users" else "",
                )


def shapes(folder: Path) -> dict[str, Floats]:
    """Return maps from uniform to clustered, by name."""
    real, even = true_shares(folder, "users"), np.full(ROWS * COLUMNS, 1 / (ROWS * COLUMNS))
    few = np.zeros(ROWS * COLUMNS)
    few[np.random.default_rng(4).choice(ROWS * COLUMNS, CLUSTERS, replace=False)] = 1 / CLUSTERS
    return {
        "uniform": even,
        "half uniform, half as Gowalla": (even + real) / 2,
        "people per cell": real,
        f"all in {CLUSTERS} cells": few,
    }


def uniform_to_clustered(folder: Path) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table of maps from uniform to clustered, for several trees."""
    for factors in TREES:
        for n in TARGETS:
            resolutions = Resolutions([districts(factor) for factor in factors], n)
            for name, people in shapes(folder).items():
                rng = np.random.default_rng(1)
                errors: dict[str, list[list[float]]] = {"projected": [], "estimated": []}
                for _ in range(SURVEYS):
                    combined = resolutions.views(people, rng)
                    errors["projected"].append(resolutions.variations(people, projected(resolutions.tree, combined)))
                    errors["estimated"].append(resolutions.variations(people, consistent(resolutions.tree, combined)))
                tree = " / ".join(map(str, factors[::-1]))
                yield (name, tree, f"{n:,}", *(means(runs) for runs in errors.values()))


def main() -> None:
    """Measure, print the figures, and write the section of docs/BENCHMARKS.md."""
    folder = page.folder_with(FILE, ": see SOURCES in aggregator.reproduce.data")
    sections = {
        "views": (("true shares", "people", "asked", "cells / 5 x 5 / 25 x 25", "at most"), measured(folder)),
        "shapes": (
            ("true shares", "cells on a side", "people", "projected", "estimated"),
            uniform_to_clustered(folder),
        ),
        "notions": (map_notions.HEADS, map_notions.measured(true_shares(folder, "users"))),
    }
    tables = {name: page.table(heads, page.print_rows(rows)) for name, (heads, rows) in sections.items()}
    page.write("maps", Path(__file__).with_suffix(".md"), surveys=SURVEYS, **tables)


if __name__ == "__main__":
    main()
