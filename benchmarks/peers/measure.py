"""One library on the surveys that the driver drew: what each mechanism costs, and how far its estimates are off.

One idea: every library runs in a process of its own, by this same code, on the same people in the same order. Times are
processor seconds of that process, the system's share included: drawing from the operating system is a system call.

A survey that would take longer than is allowed, or more memory, is left out, and its row says why. Run by the driver:
`measure.py LIBRARY INPUTS SECONDS`, which prints a line of JSON for each cell.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from ways import LIBRARIES, Way

COST_REPORTS = 10_000
SLOW = 0.02
"""Seconds of 20 reports above which a trial is of 100 and not of 1,000."""
FEWEST = 3
"""Surveys that a standard error needs at least."""
CELL_SECONDS = 0.5
MOST_MEMORY = 400 * 10**6
"""Bytes that the reports of one survey may take in the library's own form."""


def kinds(library: str) -> Iterable[type[Way]]:
    """The ways of a library, of those installed here."""
    if library == "halftruth":
        from own import WAYS

        return WAYS
    return LIBRARIES[library]


def survey(way: Way, people: list[int]) -> tuple[float, float, dict[str, Any]]:
    """Processor seconds of all clients, of the server, and the estimates."""
    began = time.process_time()
    reports = [way.client(x) for x in people]
    told = time.process_time()
    estimates = way.server(reports)
    return told - began, time.process_time() - told, estimates


def errors(estimate: Any, people: Any, k: int) -> tuple[float, float]:
    """Mean squared error over the values, and half the sum of absolute errors, against the people's own shares."""
    off = np.asarray(estimate) - np.bincount(people, minlength=k) / len(people)
    return float((off**2).mean()), float(np.abs(off).sum() / 2)


def measured(kind: type[Way], k: int, eps: float, surveys: dict[int, Any], seconds: float) -> list[dict[str, Any]]:
    """The cells of one mechanism at k and eps: its cost, then its errors at each number of people."""
    way = kind(k, eps)
    first = next(iter(surveys.values()))[0].tolist()
    survey(way, first[:10])  # what is compiled or built when first used
    few = 20 if sum(survey(way, first[:20])[:2]) > SLOW else 200
    many = 5 * few
    before = sum(survey(way, first[:few])[:2])
    told, read, _ = survey(way, first[:many])
    slope = max(0.0, told + read - before) / (many - few)
    client, server, at = told / many, read / many, many
    cells: list[dict[str, Any]] = []
    for n, drawn in surveys.items():
        cell: dict[str, Any] = {"n": n, "runs": 0, "estimates": {}}
        cells.append(cell)
        expected = told + read + slope * (n - many)
        if expected > seconds:
            cell["why"] = f"a survey takes about {expected:.1f} s"
            continue
        if way.report_memory * n > MOST_MEMORY:
            cell["why"] = f"its reports take {way.report_memory * n / 1e9:.1f} GB"
            continue
        spent: list[tuple[float, float]] = []
        for people in drawn:
            asked, answered, estimates = survey(way, people.tolist())
            spent.append((asked, answered))
            for name, estimate in estimates.items():
                cell["estimates"].setdefault(name, []).append(errors(estimate, people, k))
            cell["runs"] += 1
            if cell["runs"] >= FEWEST and sum(map(sum, spent)) * (1 + 1 / cell["runs"]) > CELL_SECONDS:
                break
        if n == COST_REPORTS:
            client, server = (float(np.median(part)) / n for part in zip(*spent, strict=True))
            at = n
    cost = {"client": client * 1e6, "server": server * 1e6, "at": at, "wire": way.wire}
    extra = {"whole": way.whole()} if hasattr(way, "whole") else {}
    return [{"mechanism": way.mechanism, "k": k, "eps": eps, "cost": cost, **extra, "cells": cells}]


def main() -> None:
    """Print a line of JSON for each mechanism, k and eps."""
    library, inputs, seconds = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    warnings.simplefilter("ignore")  # the libraries warn of small surveys and of their own deprecated calls
    plan = json.loads((inputs / "plan.json").read_text())
    for k in plan["sizes"]:
        surveys = {n: np.load(inputs / f"{k}-{n}.npy") for n in plan["people"]}
        for eps in plan["levels"]:
            for kind in kinds(library):
                try:
                    found = measured(kind, k, float(eps), surveys, seconds)
                except Exception as error:  # whatever a library raises is what its row says
                    why = f"{type(error).__name__}: {error}"[:200]
                    found = [{"mechanism": kind.mechanism, "k": k, "eps": eps, "failed": why}]
                for one in found:
                    print(json.dumps(one), flush=True)


if __name__ == "__main__":
    main()
