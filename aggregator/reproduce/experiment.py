"""What an experiment is given and what it gives back.

An outcome is numbers and sentences. Nothing in it depends on where or how it is shown, so a run can be kept,
compared with an earlier one and drawn again.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from aggregator.reproduce.data import DataFolder

Part = TypeVar("Part")

ROLES = ("published", "illegal", "optimum", "ours", "ldp", "free", "server", "bound", "alone", "other")
"""What a curve is, which gives it its colour, the same in every figure:

published   the paper's curve, where it keeps what it claims
illegal     the paper's curve, where it does not
optimum     the best there is that keeps the claim
ours        our best mechanism or estimate, where it is not the optimum
ldp         plain LDP with an estimate that knows the prior
free        without a prior at all
server      a trusted server
bound       below it is nothing
alone       the prior without any report
other       anything else; several in a panel differ in their dashes
"""

STEPS = 1000
"""What one experiment advances a progress bar by."""


@dataclass(frozen=True)
class Curve:
    """One line of a panel, or marks without a line.

    Attributes:
        name: for the legend.
        x, y: as many of both; NaN in ``y`` is a gap.
        role: one of ``ROLES``.
        marks: simulated points, drawn without a line.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    role: str
    marks: bool = False

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"the role of a curve is one of {', '.join(ROLES)}, not {self.role!r}")
        if len(self.x) != len(self.y) or not self.x:
            raise ValueError(f"curve {self.name!r} has {len(self.x)} x and {len(self.y)} y")


@dataclass(frozen=True)
class Panel:
    """One picture of a figure, in the paper's axes."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Finding:
    """A row of the table: what the paper says, what we get, and why they differ (or that they do not)."""

    paper: str
    ours: str
    why: str


@dataclass(frozen=True)
class ExperimentResult:
    """What an experiment found.

    Attributes:
        panels: of its figure; none where there is nothing to draw.
        findings: rows of the table, at least one.
        verdict: one sentence for a reader who decides what to use, with its numbers.
        data: name and size of the data set, as its reader labels it; None for synthetic data.
    """

    panels: tuple[Panel, ...]
    findings: tuple[Finding, ...]
    verdict: str
    data: str | None = None


@dataclass(frozen=True)
class Setting:
    """What an experiment is given.

    Attributes:
        data: where the data sets are.
        generator: its randomness; the same for the same seed, whatever else runs.
        repeats: how often to repeat what is random.
        quick: whether fewer points will do as well.
        advance: moves the progress bar; the parts of an experiment sum to ``STEPS``.
    """

    data: DataFolder
    generator: np.random.Generator
    repeats: int
    quick: bool
    advance: Callable[[int], None]

    def track(self, parts: Iterable[Part]) -> Iterator[Part]:
        """The parts of the work, one by one, telling the progress bar."""
        whole = list(parts)
        for place, part in enumerate(whole):
            yield part
            self.advance(STEPS * (place + 1) // len(whole) - STEPS * place // len(whole))


@dataclass(frozen=True)
class Experiment:
    """One experiment of a paper.

    Attributes:
        name: short, unique within its paper; figures are files of this name.
        row: of the list of what the papers describe, such as A9.
        title: what it is, for a heading.
        run: the experiment.
        repeats, quick_repeats: how often what is random is repeated, as in the paper, and in a quick run.
        needs: names of the data sets without which it cannot run, as ``data.SOURCES`` has them.
    """

    name: str
    row: str
    title: str
    run: Callable[[Setting], ExperimentResult]
    repeats: int = 1
    quick_repeats: int = 1
    needs: tuple[str, ...] = ()

    def outcome(
        self, data: DataFolder, seed: int, *, quick: bool, advance: Callable[[int], None] = lambda _: None
    ) -> ExperimentResult:
        """Run it.

        Raises:
            MissingData: one of the data sets it needs is not in ``data``.
            UnreadableData: one is not what its name says.
        """
        generator = np.random.default_rng([seed, zlib.crc32(self.name.encode())])
        return self.run(Setting(data, generator, self.quick_repeats if quick else self.repeats, quick, advance))


def parted(name: str, x: Sequence[float], y: Sequence[float], legal: Sequence[bool], notion: str) -> tuple[Curve, ...]:
    """A published curve in two: where it keeps what it claims, and where it does not and its name says so."""
    kept = tuple(value if keeps else math.nan for value, keeps in zip(y, legal, strict=True))
    # To the next legal point on either side, so that the line has no gap.
    near = [any(not keeps for keeps in legal[max(place - 1, 0) : place + 2]) for place in range(len(x))]
    broken = tuple(value if close else math.nan for value, close in zip(y, near, strict=True))
    both = (
        (Curve(name, tuple(x), kept, "published"), any(legal)),
        (Curve(f"{name}, not {notion} here", tuple(x), broken, "illegal"), not all(legal)),
    )
    return tuple(curve for curve, wanted in both if wanted)
