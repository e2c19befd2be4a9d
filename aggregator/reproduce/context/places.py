"""Check-ins on the grid: Table 1 and a map.

People may reveal their district; the place inside the district is protected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aggregator.estimate.error import expected_mse
from aggregator.families.decoder import Floats
from aggregator.reproduce import simulated_people
from aggregator.reproduce.context.reader import EPS, TV, CampaignReader
from aggregator.reproduce.data import GRID_COLUMNS, GRID_ROWS, SOURCES, CheckIns
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Plot, Setting
from aggregator.reproduce.simulated_people import level_of_nats
from protocol.domain import Domain
from protocol.notions import Block, Ldp, Notion

GRIDS = ((1, 1), (5, 7), (25, 35), (25, 70))
"""The grids of Table 1: numbers of parts of latitude and of longitude. The grid with one part of each is plain LDP."""

PAPERS_TV = (0.591, 0.298, 0.108, 0.082)

WHOLE = SOURCES["gowalla-grid"].records
"""The number of check-ins of all of Gowalla on the grid."""

MAP_STEPS = 60
"""The number of steps of the search for the posterior mode over the grid; a step takes a tenth of a second."""

BANDS = ((1e-2, 1.0, "1% or more", "published"), (2e-3, 1e-2, "0.2% to 1%", "server"),
         (4e-4, 2e-3, "0.04% to 0.2%", "optimum"), (0.0, 4e-4, "0.001% to 0.04%", "alone"))  # fmt: skip
"""Ranges of the cells' shares in a map: from, below, name and role."""


def grid_blocks(rows: int, columns: int) -> list[int]:
    """Return the block of each cell of the grid, with ``rows`` parts of latitude and ``columns`` parts of longitude."""
    down = np.arange(GRID_ROWS) * rows // GRID_ROWS
    across = np.arange(GRID_COLUMNS) * columns // GRID_COLUMNS
    return (down[:, None] * columns + across).ravel().tolist()


def _on_grid(domain: Domain, grid: tuple[int, int], mechanism: str) -> CampaignReader:
    parts = grid_blocks(*grid)
    notion: Notion = Block.over(level_of_nats(EPS), parts) if grid != (1, 1) else Ldp(level_of_nats(EPS))
    return CampaignReader(simulated_people.campaign(domain, notion, mechanism))


def _named(grid: tuple[int, int]) -> str:
    return "LDP" if grid == (1, 1) else f"{grid[0]} x {grid[1]} blocks"


@dataclass(frozen=True)
class _GridErrors:
    """Errors of the estimated distributions of check-ins.

    Attributes:
        distance: the total variation distance by grid, channel and method.
        error: the exact squared error by grid and channel.
        distance_of_many: by grid, the distance of Hadamard response with as many check-ins as all of Gowalla.
    """

    distance: dict[tuple[tuple[int, int], str, str], float]
    error: dict[tuple[tuple[int, int], str], float]
    distance_of_many: list[float]

    def curve(self, name: str, method: str) -> tuple[float, ...]:
        return tuple(self.distance[grid, name, method] for grid in GRIDS)


def distances_on_grid(setting: Setting) -> ExperimentResult:
    """Compute Table 1: the total variation of estimated check-ins, by number of blocks."""
    places = setting.data.check_ins_on_grid()
    errors = _on_grids(places, setting)
    curve = errors.curve
    x = [rows * columns for rows, columns in GRIDS]

    plot = Plot(
        f"{int(places.counts.sum()):,} check-ins, {len(places.counts):,} cells, 1 nat", "blocks", TV,
        (
            Curve("Hadamard, projected", x, curve("hadamard", "projection"), "published"),
            Curve("auto, projected", x, curve("auto", "projection"), "optimum"),
            Curve("Hadamard, empirical Bayes", x, curve("hadamard", "empirical-bayes"), "ours"),
            Curve("auto, empirical Bayes", x, curve("auto", "empirical-bayes"), "ours"),
            Curve(f"Hadamard, projected, {WHOLE:,} check-ins (drawn)", x, errors.distance_of_many, "other",
                  marks=True),
        ),
        log_x=True, log_y=True,
    )  # fmt: skip
    low, high = (curve("hadamard", "projection")[place] for place in (0, -1))
    ours = curve("auto", "empirical-bayes")[-1]
    verdict = (
        f"If everybody may know the district ({GRIDS[-1][0]} x {GRIDS[-1][1]} of them) and only the cell within it is "
        f"private, the distance of the estimated map of check-ins from the truth at 1 nat is {high:.3f}, and under LDP "
        f"{low:.3f} (a part of Gowalla). With the channel of `auto` and empirical Bayes it is {ours:.3f}."
    )
    if places.complete:
        verdict = verdict.replace("a part of Gowalla", "all of Gowalla")
    return ExperimentResult((plot,), _findings(places, errors), verdict, places.label)


def _on_grids(places: CheckIns, setting: Setting) -> _GridErrors:
    domain, truth = simulated_people.values(len(places.counts)), places.counts / places.counts.sum()
    work = [(grid, mechanism) for grid in GRIDS for mechanism in ("hadamard", "auto")]
    distance: dict[tuple[tuple[int, int], str, str], float] = {}
    error: dict[tuple[tuple[int, int], str], float] = {}
    distance_of_many: list[float] = []
    for grid, name in setting.track(work):
        reader = _on_grid(domain, grid, name)
        error[grid, name] = expected_mse(reader.campaign.channel, truth)
        surveys = setting.repeats if name == "hadamard" else min(setting.repeats, 1 if setting.quick else 10)
        tallies = [reader.tally(places.counts, setting.generator) for _ in range(surveys)]
        for method in ("projection", "empirical-bayes"):
            distance[grid, name, method] = reader.distance(tallies, truth, method)
        if name == "hadamard":
            if not setting.quick or grid in (GRIDS[0], GRIDS[-1]):  # slow: a step takes a tenth of a second
                distance[grid, name, "map"] = reader.distance(tallies[:1], truth, "map", MAP_STEPS)
            tally_of_many = reader.drawn(truth, WHOLE, setting.generator)
            distance_of_many.append(reader.distance([tally_of_many], truth, "projection"))
    return _GridErrors(distance, error, distance_of_many)


def _findings(places: CheckIns, errors: _GridErrors) -> tuple[Finding, ...]:
    distance, error, drawn, curve = errors.distance, errors.error, errors.distance_of_many, errors.curve

    def by_grid(numbers: Sequence[float]) -> str:
        return ", ".join(f"{number:.3f} ({_named(grid)})" for grid, number in zip(GRIDS, numbers, strict=True))

    def ratios(numbers: Sequence[float]) -> str:
        return ", ".join(
            f"{numbers[0] / number:.1f} ({_named(grid)})" for grid, number in zip(GRIDS[1:], numbers[1:], strict=True)
        )

    used = int(np.count_nonzero(places.counts))
    mode = [(grid, distance[grid, "hadamard", "map"]) for grid in GRIDS if (grid, "hadamard", "map") in distance]
    theirs = (
        "the same data"
        if places.complete
        else "the data have other people and fewer places, so the numbers cannot be compared with the paper's"
    )
    return (
        Finding(
            f"distances with {WHOLE:,} check-ins: {by_grid(PAPERS_TV)}",
            f"distances with {int(places.counts.sum()):,} check-ins in {used:,} cells: "
            f"{by_grid(curve('hadamard', 'projection'))}",
            theirs,
        ),
        Finding(
            "distance of LDP divided by that with blocks: " + ratios(PAPERS_TV),
            ratios(curve("hadamard", "projection")),
            "the same data"
            if places.complete
            else f"the data have fewer check-ins; with {WHOLE:,}, drawn from our distribution: {ratios(drawn)}",
        ),
        Finding(
            f"the number of check-ins is {WHOLE:,}",
            f"distances with as many drawn from our distribution: {by_grid(drawn)}",
            f"our distribution has people in {used:,} cells; the distance grows with the number of cells in use",
        ),
        Finding(
            "(Hadamard response throughout)",
            f"distances of the channel of `auto`, projected: {by_grid(curve('auto', 'projection'))}. Its exact squared "
            "error as a percentage of Hadamard's: "
            + ", ".join(f"{error[grid, 'auto'] / error[grid, 'hadamard']:.0%} ({_named(grid)})" for grid in GRIDS),
            "`auto` takes projective response here, under LDP and in every block",
        ),
        Finding(
            "(the paper does not state how the estimates become a distribution)",
            f"distances of empirical Bayes: {by_grid(curve('hadamard', 'empirical-bayes'))} with Hadamard; "
            f"{by_grid(curve('auto', 'empirical-bayes'))} with `auto`. Distances of the posterior mode under a uniform "
            "prior, with Hadamard: " + ", ".join(f"{away:.3f} ({_named(grid)})" for grid, away in mode),
            f"a uniform prior puts people into empty cells; the search for the mode stops after {MAP_STEPS} steps",
        ),
    )  # fmt: skip


def maps_of_estimates(setting: Setting) -> ExperimentResult:
    """Compute fig. 3: the map of check-ins, and its estimates with LDP and with blocks."""
    places = setting.data.check_ins_on_grid()
    domain, truth = simulated_people.values(len(places.counts)), places.counts / places.counts.sum()
    shown = {"check-ins": truth}
    for grid in setting.track((GRIDS[0], GRIDS[-1])):
        reader = _on_grid(domain, grid, "hadamard")
        tally = reader.tally(places.counts, setting.generator)
        shown[f"{_named(grid)}, 1 nat, empirical Bayes"] = reader.shares(tally, "empirical-bayes")
    plots = tuple(Plot(title, "longitude, degrees", "latitude, degrees", _map(share)) for title, share in shown.items())
    top = np.argsort(-truth, kind="stable")[:100]
    hits = [int(np.isin(np.argsort(-share, kind="stable")[:100], top).sum()) for share in list(shown.values())[1:]]
    large_cells = [int(np.count_nonzero(share >= BANDS[2][0])) for share in shown.values()]
    findings = (
        Finding(
            "a map of the check-ins; most are along the coasts and in the large cities",
            f"{int(np.count_nonzero(places.counts)):,} of {len(places.counts):,} cells are in use; the most popular "
            f"has {truth.max():.1%} of the check-ins, the 100 most popular {truth[top].sum():.0%}",
            "the paper's map shows all of Gowalla" if not places.complete else "the same data",
        ),
        Finding(
            "(no map of the estimates)",
            f"of the 100 most popular cells, {hits[0]} are among the 100 largest estimates with LDP, and {hits[1]} "
            f"with blocks. {large_cells[0]} cells have at least {BANDS[2][0]:.2%} of the check-ins; by the estimates, "
            f"{large_cells[1]} cells have it with LDP, and {large_cells[2]} with blocks",
            "with blocks, a report reveals its block, so no estimate puts people into an empty block",
        ),
    )
    verdict = (
        f"At 1 nat LDP finds {hits[0]} of the 100 most popular of {len(places.counts):,} cells. With a block for each "
        f"of {GRIDS[-1][0]} x {GRIDS[-1][1]} districts, {hits[1]} are found."
    )
    return ExperimentResult(plots, findings, verdict, places.label)


def _map(share: Floats) -> tuple[Curve, ...]:
    """Return a curve for each of ``BANDS`` with the centres of its cells; the smallest shares are left out, because a
    reader cannot see more points."""
    curves = []
    for lower, upper, name, role in reversed(BANDS):
        cells = np.flatnonzero((share >= lower) & (share < upper) & (share > BANDS[2][0] / 40))
        if len(cells):
            row, column = np.divmod(cells, GRID_COLUMNS)
            x, y = (-130 + 0.2 * column + 0.1).round(1), (25 + 0.2 * row + 0.1).round(1)
            curves.append(Curve(name, x.tolist(), y.tolist(), role, marks=True))
    return tuple(curves)
