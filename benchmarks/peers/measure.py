"""Measure the costs or the errors of one library's mechanisms on the surveys that the driver drew.

Every library runs in a process of its own, by this same code, on the same people in the same order. Times are processor
seconds of that process, the system's share included: drawing from the operating system is a system call.

A survey that would take too much time or memory is left out, and its cell gives the reason. The smallest survey is
never left out for its time. The driver runs `measure.py LIBRARY costs|errors INPUTS`, which prints a line of JSON for
each mechanism, k and eps.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mechanisms import LIBRARIES, LibraryMechanism

COST_REPORTS = 10_000
SLOW = 0.02
"""If 20 reports take more than these seconds, a trial has 100 reports; otherwise it has 1,000."""
FEWEST = 3
"""Minimum number of surveys, for a standard error."""
CELL_SECONDS = 0.5
"""Maximum processor seconds for the surveys of a cell; at least ``FEWEST`` surveys are run."""
MAX_MEMORY = 400 * 10**6
"""Maximum number of bytes of one survey's reports, in the library's own form."""


@dataclass(frozen=True)
class Trial:
    """The cost of a few reports, before whole surveys are run.

    Attributes:
        reports: number of reports.
        client, server: processor seconds for all reports, at the client and at the server.
        slope: additional seconds for each further report.
    """

    reports: int
    client: float
    server: float
    slope: float

    def expected(self, people: int) -> float:
        """Return the expected seconds of a survey of ``people`` people."""
        return self.client + self.server + self.slope * (people - self.reports)


def kinds(library: str) -> Mapping[str, Callable[[int, float], Any]]:
    """Return the makers of a library's mechanisms, by name."""
    if library == "halftruth":
        from own import MECHANISMS

        return MECHANISMS
    return LIBRARIES[library]


def survey(mechanism: LibraryMechanism, people: list[int]) -> tuple[float, float, dict[str, Any]]:
    """Return (processor seconds of all clients, processor seconds of the server, estimates)."""
    began = time.process_time()
    reports = [mechanism.client(x) for x in people]
    simulated = time.process_time()
    estimates = mechanism.server(reports)
    return simulated - began, time.process_time() - simulated, estimates


def error(estimate: Any, people: Any, k: int) -> tuple[float, float]:
    """Return the mean squared error over the values and the total variation distance, both between the estimate and the
    shares among the people asked."""
    off = np.asarray(estimate) - np.bincount(people, minlength=k) / len(people)
    return float((off**2).mean()), float(np.abs(off).sum() / 2)


def tried(mechanism: LibraryMechanism, people: list[int]) -> Trial:
    """Return the approximate costs of a survey; the library may compile and fill its caches before the measurement."""
    survey(mechanism, people[:10])
    few = 20 if sum(survey(mechanism, people[:20])[:2]) > SLOW else 200
    count = 5 * few
    # Of two runs, the faster one counts: load on the machine makes one survey in a hundred many times slower.
    before = min(sum(survey(mechanism, people[:few])[:2]) for _ in range(2))
    client, server = min((survey(mechanism, people[:count])[:2] for _ in range(2)), key=sum)
    return Trial(count, client, server, max(0.0, client + server - before) / (count - few))


def surveys(mechanism: LibraryMechanism, drawn: Any) -> Iterator[tuple[Any, float, float, dict[str, Any]]]:
    """Yield the people, the times and the estimates of surveys: at least ``FEWEST``, for about ``CELL_SECONDS``."""
    spent = 0.0
    for runs, people in enumerate(drawn, start=1):
        client, server, estimates = survey(mechanism, people.tolist())
        yield people, client, server, estimates
        spent += client + server
        if runs >= FEWEST and spent * (1 + 1 / runs) > CELL_SECONDS:
            return


def costs(mechanism: LibraryMechanism, drawn: dict[int, Any], seconds: float) -> dict[str, Any]:
    """Return the microseconds of one report at the client and at the server, in surveys within ``seconds``, and its
    bytes."""
    trial = tried(mechanism, drawn[COST_REPORTS][0].tolist())
    client, server, reports = trial.client / trial.reports, trial.server / trial.reports, trial.reports
    if trial.expected(COST_REPORTS) <= seconds:
        spent = [(client, server) for _, client, server, _ in surveys(mechanism, drawn[COST_REPORTS])]
        client, server = (float(np.median(part)) / COST_REPORTS for part in zip(*spent, strict=True))
        reports = COST_REPORTS
    cost = {"client": client * 1e6, "server": server * 1e6, "at": reports, "wire": mechanism.wire}
    return {"cost": cost} | ({"whole": mechanism.path_costs()} if hasattr(mechanism, "path_costs") else {})


def errors(mechanism: LibraryMechanism, drawn: dict[int, Any], seconds: float) -> dict[str, Any]:
    """Return the errors of each estimate by number of people, for surveys within ``seconds`` and for the smallest
    one."""
    trial = tried(mechanism, next(iter(drawn.values()))[0].tolist())
    cells: list[dict[str, Any]] = []
    for n, of_n in drawn.items():
        cell: dict[str, Any] = {"n": n, "estimates": {}}
        cells.append(cell)
        if n > min(drawn) and trial.expected(n) > seconds:
            cell["why"] = f"a survey takes about {trial.expected(n):.1f} s"
            continue
        if mechanism.report_memory * n > MAX_MEMORY:
            cell["why"] = f"its reports take {mechanism.report_memory * n / 1e9:.1f} GB"
            continue
        for people, _, _, estimates in surveys(mechanism, of_n):
            for name, estimate in estimates.items():
                cell["estimates"].setdefault(name, []).append(error(estimate, people, mechanism.k))
    return {"cells": cells}


PARTS = {"costs": costs, "errors": errors}


def main() -> None:
    """Print a line of JSON for each mechanism, k and eps."""
    library, part, inputs = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    warnings.simplefilter("ignore")  # The libraries warn about small surveys and deprecated calls.
    plan = json.loads((inputs / "plan.json").read_text())
    for k in plan["sizes"]:
        drawn = {n: np.load(inputs / f"{k}-{n}.npy") for n in plan["people"]}
        for eps in plan["levels"]:
            for name, make in kinds(library).items():
                row: dict[str, Any] = {"mechanism": name, "k": k, "eps": eps}
                try:
                    mechanism = make(k, float(eps))
                    row |= {"mechanism": getattr(mechanism, "mechanism", name)} | PARTS[part](
                        mechanism, drawn, plan["seconds"][part]
                    )
                except Exception as failure:  # the row reports any error of a library
                    row["failed"] = f"{type(failure).__name__}: {failure}"[:200]
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
