"""halftruth beside pure-LDP, multi-freq-ldpy and OpenDP: the same people, in one run.

Each library runs in a process of its own with the same measuring code. The other libraries share an environment under
`.peers/`. If a library cannot be installed, does not run or takes too long, its row gives the reason. Costs are
measured first, one library after another. Errors do not depend on other programs, so they are measured afterwards on
all processors at once.

`python -m benchmarks.peers` installs, measures and writes the tables into docs/BENCHMARKS.md; with `install`, `measure`
or `write` it does only one of these. peers/measure measures a survey, peers/mechanisms and peers/own define the
mechanisms, and peers/text.md contains the text around the tables.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import page
from benchmarks.page import table

ROOT = Path(__file__).parents[1]
SIDE = ROOT / "benchmarks" / "peers"
PLACE = ROOT / ".peers"
PYTHON = PLACE / "env" / "bin" / "python"

SIZES, LEVELS, PEOPLE, SURVEYS, SEED = (16, 128, 1024), (1, 4), (10_000, 100_000), 10, 1
COST_SECONDS, SECONDS = 2.0, 2.0
"""Maximum processor seconds of a survey that measures costs, and of each larger survey that measures errors."""
LIBRARIES = ("halftruth", "pure-ldp", "multi-freq-ldpy", "opendp")
TRIALS = {
    "pure-ldp": "from pure_ldp.frequency_oracles import DEClient as C; C(1, 16).privatise(1)",
    "multi-freq-ldpy": "from multi_freq_ldpy.pure_frequency_oracles import LH; LH.LH_Client(0, 16, 1)",
    "opendp": "import opendp.prelude as d; d.enable_features('contrib'); d.m.make_randomized_response([0, 1], .7)(0)",
}
"""For each other library, a minimal program, which shows whether the library works with its declared dependencies
alone."""


def install() -> None:
    """Make the environment of the other libraries; record which of them work as published, before mended.txt is
    installed."""
    PLACE.mkdir(exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", str(PLACE / "env")], check=True)  # noqa: S603  # no outside input
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    requirements, faults = (SIDE / "libraries.txt").read_text().splitlines(), {}
    for library in LIBRARIES[1:]:
        requirement = next(line for line in requirements if line.startswith(library + "=="))
        process = subprocess.run([*pip, requirement], capture_output=True, text=True)  # noqa: S603  # no outside input
        if process.returncode == 0:
            process = subprocess.run([str(PYTHON), "-c", TRIALS[library]], capture_output=True, text=True)  # noqa: S603
        faults[library] = "" if process.returncode == 0 else (process.stderr.strip().splitlines() or ["no reason"])[-1]
    (PLACE / "as-published.json").write_text(json.dumps(faults))
    subprocess.run([*pip, "-r", str(SIDE / "mended.txt")], check=True)  # noqa: S603  # no outside input


def measure(seconds: float) -> None:
    """Draw the people, and run each library on them."""
    rng = np.random.default_rng(SEED)
    plan = {"sizes": SIZES, "levels": LEVELS, "people": PEOPLE, "seconds": {"costs": COST_SECONDS, "errors": seconds}}
    (PLACE / "plan.json").write_text(json.dumps(plan))
    for k in SIZES:
        p = 1 / np.arange(1, k + 1)
        for n in PEOPLE:
            np.save(PLACE / f"{k}-{n}.npy", rng.choice(k, (SURVEYS, n), p=p / p.sum()).astype(np.int32))
    loads = []
    for library in LIBRARIES:
        run(library, "costs")
        loads.append(os.getloadavg()[0])
    (PLACE / "load.json").write_text(json.dumps(loads))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(run, LIBRARIES[::-1], ["errors"] * len(LIBRARIES)))  # the slowest library first


def run(library: str, part: str) -> None:
    """Measure one library's costs or errors in a process of its own."""
    print(f"{library}: {part}", file=sys.stderr, flush=True)
    python = sys.executable if library == "halftruth" else str(PYTHON)
    alone = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    command = ["nice", python, str(SIDE / "measure.py"), library, part, str(PLACE)]
    with results_file(library, part).open("w") as file:
        process = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, text=True, env=alone, cwd=ROOT)  # noqa: S603
    if process.returncode:
        why = (process.stderr.strip().splitlines() or ["no reason"])[-1]
        results_file(library, part).write_text(json.dumps({"stopped": why}))


def results_file(library: str, part: str) -> Path:
    """Return the file of a library's costs or errors: a line of JSON for each mechanism, k and eps, or one line with
    the reason if the run failed."""
    return PLACE / f"{library}-{part}.jsonl"


def rows_of(library: str) -> list[dict[str, Any]]:
    """Return the rows of a library, each with its costs and its errors."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for part in ("costs", "errors"):
        for line in results_file(library, part).read_text().splitlines():
            row = json.loads(line)
            rows.setdefault(tuple(map(row.get, ("mechanism", "k", "eps"))), {"library": library}).update(row)
    return list(rows.values())


def write() -> None:
    """Write the tables of the last run between the marks of docs/BENCHMARKS.md."""
    plan = json.loads((PLACE / "plan.json").read_text())
    loads = json.loads((PLACE / "load.json").read_text())
    rows = [row for library in LIBRARIES for row in rows_of(library)]
    pip = [str(PYTHON), "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"]
    listed = subprocess.run(pip, check=True, capture_output=True, text=True).stdout  # noqa: S603  # no outside input
    known = {package["name"].lower(): package["version"] for package in json.loads(listed)}
    faults = json.loads((PLACE / "as-published.json").read_text())
    page.write(
        "peers",
        SIDE / "text.md",
        versions=", ".join(f"{name} {known.get(name, '?')}" for name in LIBRARIES[1:]),
        python=".".join(map(str, sys.version_info[:3])),
        published=table(["library", "result of the call"], [[n, why or "works"] for n, why in faults.items()]),
        sizes=" / ".join(map(str, plan["sizes"])),
        cost_people=f"{plan['people'][0]:,}",
        ingested="5,000",
        cost_seconds=plan["seconds"]["costs"],
        seconds=plan["seconds"]["errors"],
        processors=os.cpu_count(),
        load=f"{min(loads):.1f} to {max(loads):.1f}",
        more_people=", ".join(f"{n:,}" for n in plan["people"][1:]),
        costs="\n\n".join(f"eps = {eps}\n\n{costs(rows, eps)}" for eps in plan["levels"]),
        whole=path_costs(rows),
        errors="\n\n".join(
            f"eps = {eps}, n = {n:,}\n\n{errors(rows, eps, n)}" for eps in plan["levels"] for n in plan["people"]
        ),
    )


def named(row: dict[str, Any]) -> str:
    """Return the name of the mechanism of a row; ``auto`` chooses another channel for another k."""
    return "auto" if row["mechanism"].startswith("auto") else row["mechanism"]


def grouped(rows: list[dict[str, Any]], eps: float) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the rows at one level by library and mechanism, in the order of k."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        if row.get("eps") == eps:
            groups.setdefault((row["library"], named(row)), []).append(row)
    return groups


def costs(rows: list[dict[str, Any]], eps: float) -> str:
    """Return the table of costs: client, server and bytes, each for all k."""
    lines = []
    for (library, mechanism), some in grouped(rows, eps).items():
        cells = {"client": [], "server": [], "wire": []}
        for row in some:
            cost = row.get("cost")
            mark = "" if cost is None or cost["at"] == PEOPLE[0] else "*"
            for part, cell in cells.items():
                number = "failed" if cost is None else f"{cost[part]}" if part == "wire" else f"{cost[part]:.3g}{mark}"
                cell.append(number)
        lines.append([library, mechanism, *(" / ".join(cell) for cell in cells.values())])
    whys = sorted({f"{r['library']}, {named(r)}, k = {r['k']}: {r['failed']}" for r in rows if "failed" in r})
    whys += [f"{r['library']} did not run: {r['stopped']}" for r in rows if "stopped" in r]
    failed = "".join(f"\n- {why}" for why in whys)
    cost_table = table(["library", "mechanism", "client, us", "server, us", "bytes"], lines)
    return f"{cost_table}\n\nFailed:\n{failed}" if failed and eps == LEVELS[-1] else cost_table


def path_costs(rows: list[dict[str, Any]]) -> str:
    """Return the table of halftruth's costs: an answer, an enrolled key and a counted report."""
    lines = []
    for row in rows:
        if cost := row.get("whole"):
            answer = f"{cost['answer']:.0f} ({cost['answer, elapsed']:.0f})"
            times = [answer, f"{cost['enrolled']:.0f}", f"{cost['counted']:.0f}", f"{cost['envelope']}"]
            lines.append([str(row["k"]), f"{row['eps']:g}", row["mechanism"], *times])
    return table(["k", "eps", "mechanism", "answer, us", "enrolled, us", "counted, us", "bytes, signed"], lines)


def errors(rows: list[dict[str, Any]], eps: float, n: int) -> str:
    """Return the table of errors: MSE and TV of each estimate for all k."""
    lines = []
    for (library, mechanism), some in grouped(rows, eps).items():
        cell_of = {row["k"]: next((cell for cell in row.get("cells", []) if cell["n"] == n), {}) for row in some}
        kinds = list(dict.fromkeys(column_of(name) for cell in cell_of.values() for name in cell.get("estimates", {})))
        for kind in kinds or ["-"]:
            line = [library, mechanism, kind]
            for k in SIZES:
                cell = cell_of.get(k, {})
                runs = next((runs for name, runs in cell.get("estimates", {}).items() if column_of(name) == kind), None)
                if runs is None:
                    line.append(cell.get("why", "failed"))
                    continue
                mse, tv = ([run[part] for run in runs] for part in (0, 1))
                line.append(f"{spread(mse, 'e')}; {spread(tv, 'f')} ({len(runs)})")
            lines.append(line)
    return table(["library", "mechanism", "estimate", *(f"k = {k}: MSE; TV (runs)" for k in SIZES)], lines)


def column_of(estimate: str) -> str:
    """Return "default" for a method that halftruth uses by default, and any other name unchanged."""
    return "default" if estimate in ("projection", "empirical bayes") else estimate


def spread(numbers: list[float], kind: str) -> str:
    """Return a mean and its standard error as text."""
    mean, error = statistics.mean(numbers), statistics.stdev(numbers) / len(numbers) ** 0.5
    return f"{mean:.2e} +- {error:.0e}" if kind == "e" else f"{mean:.3f} +- {error:.3f}"


def main() -> None:
    """Run the steps named on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = ("install", "measure", "write")
    parser.add_argument("step", nargs="?", choices=steps, help="run only this step [default: all]")
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        help="maximum processor seconds of a larger survey [default: %(default)s]",
    )
    arguments = parser.parse_args()
    if arguments.step == "install" or (arguments.step is None and not (PLACE / "as-published.json").exists()):
        install()
    if arguments.step in (None, "measure"):
        measure(arguments.seconds)
    if arguments.step in (None, "write"):
        write()


if __name__ == "__main__":
    main()
