"""Types for the input and the result of an experiment.

A result consists of numbers and sentences. It does not depend on its presentation, so a run can be stored, compared
with an earlier run and plotted again.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

import numpy as np

from aggregator.reproduce.data import DataFolder

Item = TypeVar("Item")
Key = TypeVar("Key")
Numeric = TypeVar("Numeric", bound=float)

ROLES = ("published", "invalid", "optimum", "ours", "ldp", "free", "server", "bound", "alone", "other")
"""The role of a curve, which determines its colour in every figure:

published   the paper's mechanism or estimate, where it satisfies the claimed level
invalid     the paper's mechanism, where it violates the claimed level
optimum     the optimum under the claimed level, or the channel that `auto` chooses
ours        our best mechanism or estimate, if it is not the optimum
ldp         plain LDP; if there is a prior, the estimate uses it
free        an unbiased estimate without a prior, or an older mechanism
server      a trusted curator
bound       a lower bound
alone       no report: the prior, or zero
other       any other curve; if a plot has several, their dashes differ

Maps, and figures of estimators, use some roles only for their colours.
"""

STEPS = 1000
"""Steps of a progress bar for one experiment."""


@dataclass(frozen=True)
class Curve:
    """A line in a plot, or marks without a line.

    Attributes:
        name: the name in the legend.
        x, y: the coordinates of the points, stored as tuples of floats; NaN in ``y`` makes a gap.
        role: one of ``ROLES``, which determines the colour.
        marks: whether the points are plotted without a line, such as the means of simulated surveys.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    role: str
    marks: bool = False

    def __post_init__(self) -> None:
        for axis in ("x", "y"):
            object.__setattr__(self, axis, tuple(map(float, getattr(self, axis))))
        if self.role not in ROLES:
            raise ValueError(f"unknown role {self.role!r} of a curve: expected one of {', '.join(ROLES)}")
        if len(self.x) != len(self.y) or not self.x:
            raise ValueError(
                f"curve {self.name!r} has {len(self.x)} x and {len(self.y)} y: expected equal numbers, at least 1"
            )


@dataclass(frozen=True)
class Plot:
    """One plot of a figure, with the paper's axes.

    Attributes:
        title, x_label, y_label: the texts above the plot and at its axes.
        curves: the lines and marks.
        log_x, log_y: whether the axis has a logarithmic scale.
    """

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Finding:
    """A row of the table.

    Attributes:
        paper: the paper's statement.
        ours: the result here.
        why: the reason for a difference, or "no difference"; "" if the remark above the table states the reason.
    """

    paper: str
    ours: str
    why: str


@dataclass(frozen=True)
class ExperimentResult:
    """The result of an experiment.

    Attributes:
        plots: the plots of its figure; empty without a figure.
        findings: the rows of the table, at least one.
        verdict: sentences with numbers, for a reader who chooses a mechanism.
        data: the label of the data set; None for synthetic data.
        remark: sentences above the table that apply to several rows; "" for none.
    """

    plots: tuple[Plot, ...]
    findings: tuple[Finding, ...]
    verdict: str
    data: str | None = None
    remark: str = ""


@dataclass(frozen=True)
class Setting:
    """The input of an experiment.

    Attributes:
        data: the folder of data sets.
        generator: the random generator, which depends only on the seed and the experiment's name.
        repeats: the number of repetitions of random parts.
        quick: whether the run is quick, with fewer points.
        advance: a function that moves the progress bar by a number of steps; the steps of an experiment sum to
            ``STEPS``.
    """

    data: DataFolder
    generator: np.random.Generator
    repeats: int
    quick: bool
    advance: Callable[[int], None]

    def track(self, parts: Iterable[Item]) -> Iterator[Item]:
        """Yield the parts of the work, and advance the progress bar after each part."""
        all_parts = list(parts)
        for place, part in enumerate(all_parts):
            yield part
            self.advance(STEPS * (place + 1) // len(all_parts) - STEPS * place // len(all_parts))


@dataclass(frozen=True)
class Experiment:
    """One experiment of a paper.

    Attributes:
        name: a short name, unique within the paper, which is also the name of the figure's file.
        row: the row of the experiment in docs/MECHANISMS.md, such as D4 or A9, which stands for the experiments of a
            paper; several with commas.
        title: the title of the experiment, for a heading.
        run: the function that runs the experiment.
        repeats, quick_repeats: the numbers of repetitions of random parts in a full and in a quick run.
        needs: the names in ``data.SOURCES`` of the data sets that the experiment needs.
    """

    name: str
    row: str
    title: str
    run: Callable[[Setting], ExperimentResult]
    repeats: int = 1
    quick_repeats: int = 1
    needs: tuple[str, ...] = ()

    def result(
        self, data: DataFolder, seed: int, *, quick: bool, advance: Callable[[int], None] = lambda _: None
    ) -> ExperimentResult:
        """Run the experiment, and return its result.

        Raises:
            MissingData: a data set that the experiment needs is not in ``data``.
            UnreadableData: a file does not contain the data set that its name indicates.
        """
        generator = np.random.default_rng([seed, zlib.crc32(self.name.encode())])
        return self.run(Setting(data, generator, self.quick_repeats if quick else self.repeats, quick, advance))


def parted(name: str, x: Sequence[float], y: Sequence[float], valid: Sequence[bool], notion: str) -> tuple[Curve, ...]:
    """Return a published curve as two curves: the part that satisfies the claimed level, and the part that does not,
    with "not" and the notion in its name."""
    valid_y = [value if holds else math.nan for value, holds in zip(y, valid, strict=True)]
    # The invalid part extends to the next valid point on either side, so that the line has no gap.
    near = [any(not holds for holds in valid[max(place - 1, 0) : place + 2]) for place in range(len(x))]
    broken = [value if close else math.nan for value, close in zip(y, near, strict=True)]
    both = (
        (Curve(name, x, valid_y, "published"), any(valid)),
        (Curve(f"{name}, not {notion} here", x, broken, "invalid"), not all(valid)),
    )
    return tuple(curve for curve, has_points in both if has_points)


def by_level(texts: Iterable[str], levels: Iterable[float]) -> str:
    """Return texts for levels in nats as one text. Equal texts of neighbouring levels are joined: "0.5 at 1 and 2
    nats, 0.6 at 4 nats"."""
    parts = []
    for text, places in groupby(zip(texts, levels, strict=True), key=lambda place: place[0]):
        *rest, last = (f"{eps:g}" for _, eps in places)
        nats = f"{', '.join(rest)} and {last}" if rest else last
        parts.append(f"{text} at {nats} {'nat' if nats == '1' else 'nats'}")
    return ", ".join(parts)


def reason(holds: bool, remark: str = "") -> str:
    """Return the reason of a finding on a tested claim: "no difference" with a remark if the claim holds, otherwise "it
    does not hold"."""
    return f"no difference{remark}" if holds else "it does not hold"


def series(points: Sequence[Mapping[Key, Numeric]]) -> dict[Key, list[Numeric]]:
    """Return a list of numbers for each name, from one mapping of names to numbers for each point."""
    return {name: [point[name] for point in points] for name in points[0]}
