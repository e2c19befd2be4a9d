"""The promise and the error of several notions on one map, beside plain LDP with views.

The map has cells of two degrees, because on a finer grid the audit of planar noise exceeds the limit on steps.

``map_surveys`` draws people and outputs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aggregator.estimate.estimator import estimate
from aggregator.estimate.tree import consistent as tree_shares
from aggregator.families.decoder import Floats
from aggregator.families.registry import decoder_of
from aggregator.planner.choice import AUTO
from aggregator.reproduce import simulated_people
from aggregator.reproduce.simulated_people import drawn_tally
from benchmarks.map_surveys import SURVEYS, TARGETS, Resolutions, districts, means
from protocol.domain import Grid
from protocol.exact import NANONATS
from protocol.notions import Block, Geo, Ldp, Notion

CELL = 10
"""Number of the data's cells along each side of a cell of two degrees."""

SIDE = 5
"""Number of cells of two degrees along each side of a square."""

GRID = Grid(25_000_000, 51_000_000, -130_000_000, -60_000_000, 2_000_000)

HEADS = ("notion", "pairs of cells with a level above 1 nat", "mechanism", "people", "cells / 5 x 5")


def questions(square: list[int]) -> Iterator[tuple[str, str, Notion, str]]:
    """Yield (name, pairs of cells with a level above 1 nat, notion, mechanism) for each notion."""
    yield "ldp", "none", Ldp(NANONATS), AUTO
    yield "block", "in different squares", Block.over(NANONATS, square), AUTO
    for cells in (1, SIDE):
        geo = Geo.between(NANONATS, cells, range(GRID.rows), range(GRID.columns))
        name, apart = ("cell", "1 cell") if cells == 1 else (f"{cells} cells", f"{cells} cells")
        for mechanism in (AUTO, "planar")[:cells]:  # at 1 nat per cell, auto takes planar
            yield f"geo, 1 nat per {name}", f"more than {apart} apart", geo, mechanism


def measured(people: Floats) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table.

    Args:
        people: the true shares of the data's cells.
    """
    truth = np.bincount(districts(CELL), people)
    row, column = np.divmod(np.arange(GRID.size), GRID.columns)
    square = row // SIDE * -(-GRID.columns // SIDE) + column // SIDE
    maps = [square, np.arange(GRID.size)]
    for n in TARGETS:
        resolutions, rng = Resolutions(maps, n, "projective"), np.random.default_rng(1)
        errors = []
        for _ in range(SURVEYS):
            shares = tree_shares(resolutions.tree, resolutions.views(truth, rng))
            errors.append(resolutions.variations(truth, shares))
        yield "ldp", "none", "views of 5 x 5 and 1", f"{n:,}", means(errors)
    for name, shows, notion, mechanism in questions(square.tolist()):
        campaign = simulated_people.campaign(GRID, notion, mechanism)
        decoder = decoder_of(campaign.channel)
        for n in TARGETS:
            rng = np.random.default_rng(1)
            errors = []
            for _ in range(SURVEYS):
                cells = estimate(campaign, drawn_tally(campaign.channel, decoder, truth, n, rng)).share
                errors.append(resolutions.variations(truth, [np.bincount(district, cells) for district in maps]))
            yield name, shows, campaign.mechanism, f"{n:,}", means(errors)
