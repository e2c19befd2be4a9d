"""A run of a paper's experiments as a document: what was found, with which seed, from which data.

The document holds everything that is drawn or written, so a figure, a table and a page are functions of it
alone, and two runs are compared by comparing documents.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from aggregator.reproduce import experiments
from aggregator.reproduce.data import DataFolder, MissingData, UnreadableData
from aggregator.reproduce.experiment import Curve, Experiment, ExperimentResult, Finding, Panel

DIGITS = 9
"""Significant digits that a document keeps of a number: beyond them, libraries and processors differ."""


@dataclass(frozen=True)
class Found:
    """One experiment of a document.

    Attributes:
        name, row, title: of the experiment.
        repeats: of what is random.
        outcome: what it found.
    """

    name: str
    row: str
    title: str
    repeats: int
    outcome: ExperimentResult

    @property
    def figure(self) -> bool:
        """Whether there is anything to draw."""
        return bool(self.outcome.panels)


@dataclass(frozen=True)
class Document:
    """A run of some experiments of one paper.

    Attributes:
        paper: the name of its module.
        quick: whether it was a quick run.
        seed: of everything random.
        found: the experiments that were run.
        missing: those that were not, by name, and why.
    """

    paper: str
    quick: bool
    seed: int
    found: tuple[Found, ...]
    missing: dict[str, str]

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form; its keys are a contract."""
        return {
            "paper": self.paper,
            "quick": self.quick,
            "seed": self.seed,
            "experiments": [_plain(asdict(each)) for each in self.found],
            "missing": dict(self.missing),
        }

    def as_text(self) -> str:
        """The machine-readable form as a file, an experiment a line."""
        head = {key: value for key, value in self.as_json().items() if key != "experiments"}
        lines = ",\n".join(json.dumps(_plain(asdict(each)), ensure_ascii=False) for each in self.found)
        return f'{json.dumps(head)[:-1]}, "experiments": [\n{lines}\n]}}\n'

    @classmethod
    def from_json(cls, value: Any) -> Document:
        """The document of its machine-readable form.

        Raises:
            UnreadableData: it is not one.
        """
        try:
            found = tuple(
                Found(each["name"], each["row"], each["title"], each["repeats"], _outcome(each["outcome"]))
                for each in value["experiments"]
            )
            return cls(value["paper"], value["quick"], value["seed"], found, dict(value["missing"]))
        except (KeyError, TypeError, ValueError) as error:
            raise UnreadableData(f"not the result of `halftruth reproduce`: {error!r}") from None


def run(
    paper: str,
    data: DataFolder,
    seed: int,
    *,
    quick: bool,
    only: Sequence[str] = (),
    begun: Callable[[Experiment], None] = lambda _: None,
    advance: Callable[[int], None] = lambda _: None,
) -> Document:
    """Run the experiments of a paper; those whose data are missing are left out, and said.

    Args:
        only: names of experiments; all where none is given.
        begun: told each experiment before it runs.
        advance: moves a progress bar; an experiment has ``experiment.STEPS`` parts.
    Raises:
        ValueError: ``only`` names what is no experiment of the paper.
        UnreadableData: a file of data is not what its name says.
    """
    offered = experiments(paper)
    unknown = sorted(set(only) - {each.name for each in offered})
    if unknown:
        raise ValueError(f"{paper} has no experiment {unknown[0]!r}: {', '.join(each.name for each in offered)}")
    found, missing = [], {}
    for each in offered:
        if only and each.name not in only:
            continue
        try:
            for need in each.needs:
                data.file(need)
        except MissingData as reason:
            missing[each.name] = str(reason)
            continue
        begun(each)
        outcome = each.outcome(data, seed, quick=quick, advance=advance)
        found.append(Found(each.name, each.row, each.title, each.quick_repeats if quick else each.repeats, outcome))
    return Document(paper, quick, seed, tuple(found), missing)


def _plain(value: Any) -> Any:
    """A value of JSON: floats to ``DIGITS``, what is not a number as null."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value


def _outcome(value: Any) -> ExperimentResult:
    panels = tuple(
        Panel(**panel | {"curves": tuple(_curve(curve) for curve in panel["curves"])}) for panel in value["panels"]
    )
    return ExperimentResult(
        panels, tuple(Finding(**each) for each in value["findings"]), value["verdict"], value["data"]
    )


def _curve(value: Any) -> Curve:
    numbers = {key: tuple(math.nan if each is None else float(each) for each in value[key]) for key in ("x", "y")}
    return Curve(**value | numbers)
