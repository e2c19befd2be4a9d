"""A run of a paper's experiments as a document, with its results, seed and data sets.

Figures, tables and the page are computed from the document alone, so two runs can be compared by their documents.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from aggregator.reproduce import experiments
from aggregator.reproduce.data import DataFolder, MissingData
from aggregator.reproduce.experiment import Experiment, ExperimentResult

DIGITS = 9
"""Significant digits of numbers in a document; further digits differ between libraries and processors."""


@dataclass(frozen=True)
class ExperimentRun:
    """One experiment of a document.

    Attributes:
        name, row, title: see ``experiment.Experiment``.
        repeats: the number of repetitions of random parts.
        result: the result of the experiment.
    """

    name: str
    row: str
    title: str
    repeats: int
    result: ExperimentResult

    @property
    def figure(self) -> bool:
        """True if the experiment has a figure."""
        return bool(self.result.plots)


@dataclass(frozen=True)
class Document:
    """A run of one, several or all experiments of a paper.

    Attributes:
        paper: the name of the paper's module.
        quick: whether it was a quick run.
        seed: the seed of all random draws.
        runs: the experiments that were run.
        missing: for each experiment that was not run, by name, the reason.
    """

    paper: str
    quick: bool
    seed: int
    runs: tuple[ExperimentRun, ...]
    missing: dict[str, str]

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object; scripts depend on the names of its keys."""
        return {
            "paper": self.paper,
            "quick": self.quick,
            "seed": self.seed,
            "experiments": [_plain(asdict(run)) for run in self.runs],
            "missing": dict(self.missing),
        }

    def as_text(self) -> str:
        """Return the JSON text, with one line for each experiment."""
        head = self.as_json()
        lines = ",\n".join(json.dumps(run, ensure_ascii=False) for run in head.pop("experiments"))
        return f'{json.dumps(head)[:-1]}, "experiments": [\n{lines}\n]}}\n'


def run_experiments(
    paper: str,
    data: DataFolder,
    seed: int,
    *,
    quick: bool,
    only: Sequence[str] = (),
    begun: Callable[[Experiment], None] = lambda _: None,
    advance: Callable[[int], None] = lambda _: None,
) -> Document:
    """Run the experiments of a paper, and return their document; experiments whose data are missing are listed with the
    reason.

    Args:
        only: the names of the experiments to run; empty for all.
        begun: a function that is called with each experiment before it runs.
        advance: a function that moves a progress bar by a number of steps; an experiment has ``experiment.STEPS``
            steps.
    Raises:
        ValueError: ``only`` has a name that is not an experiment of the paper.
        UnreadableData: a file does not contain the data set that its name indicates.
    """
    runs, missing = [], {}
    for experiment in experiments(paper, only):
        try:
            for need in experiment.needs:
                data.file(need)
        except MissingData as reason:
            missing[experiment.name] = str(reason)
            continue
        begun(experiment)
        result = experiment.result(data, seed, quick=quick, advance=advance)
        repeats = experiment.quick_repeats if quick else experiment.repeats
        runs.append(ExperimentRun(experiment.name, experiment.row, experiment.title, repeats, result))
    return Document(paper, quick, seed, tuple(runs), missing)


def _plain(value: Any) -> Any:
    """Return a value in a form for JSON: floats are rounded to ``DIGITS`` digits, and NaN and infinity become None."""
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(element) for element in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value
