"""Experiments of the papers, run with halftruth and compared with the papers' statements.

An experiment is a function from a ``Setting`` to an ``ExperimentResult``. It plots and prints nothing: curves and
findings are data, which ``document`` stores as JSON, ``draw`` plots and ``page`` writes as a table.

To add a paper, write a module ``aggregator.reproduce.NAME`` with a tuple ``EXPERIMENTS``, and add a line to ``PAPERS``
and the comments of its part to docs/RESULTS.md.

    EXPERIMENTS = (
        Experiment("fig5", "A9", "Fig. 5: with and without a prior", _figure_5, repeats=10_000, quick_repeats=300),
        Experiment("fig9a", "A9", "Fig. 9a: Kosarak", _figure_9a, needs=("kosarak",)),
    )

    def _figure_5(setting: Setting) -> ExperimentResult:
        for eps in setting.track(LEVELS):                           # progress; once in an experiment
            ...                                                     # setting.generator, .repeats, .quick
        return ExperimentResult(
            plots=(Plot("P1 = 0.5", "epsilon, nats", "error", (Curve("LDP", x, y, "ldp"), ...), log_y=True),),
            findings=(Finding(paper="...", ours=f"{number:.3g}", why="..."),),
            verdict="One sentence with numbers, for readers who choose a mechanism.",
            data=None,                                       # or the label of the data set
        )

Experiments may use ``simulated_people.tally``, which simulates the reports of a population from the device's exact
distribution, ``simulated_people.campaign``, which makes a campaign from a question and the name of a mechanism, and the
data sets ``setting.data.baskets("retail")``, ``clothing``, ``check_ins_on_grid`` and ``last_check_ins``. The
``role`` of a curve determines its colour (``experiment.ROLES``). Numbers in findings must be computed; only the papers'
statements may be quoted.

``halftruth reproduce`` runs a paper's experiments, and ``python -m aggregator.reproduce`` writes docs/RESULTS.md.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module

from aggregator.reproduce.experiment import Experiment

PAPERS = {
    "lip": "Jiang, Li, Tandon 2018 and 2020: context-aware data aggregation with localized information privacy",
    "idldp": "Gu, Li, Xiong, Cao 2020: providing input-discriminative protection for local differential privacy",
    "context": "Acharya, Bonawitz, Kairouz, Ramage, Sun 2020: context-aware local differential privacy",
    "sok": "Wang, Qin, Qiu 2023: privacy definitions and classical mechanisms in the local setting",
}
"""The papers, by name of their module."""


def experiments(paper: str, only: Collection[str] = ()) -> list[Experiment]:
    """Return the experiments of a paper, or those whose names are in ``only``, in the paper's order.

    Raises:
        ValueError: ``only`` has a name that is not an experiment of the paper.
    """
    offered: tuple[Experiment, ...] = import_module(f"aggregator.reproduce.{paper}").EXPERIMENTS
    names = [experiment.name for experiment in offered]
    unknown = sorted(set(only) - set(names))
    if unknown:
        raise ValueError(f"{paper} has no experiment {unknown[0]!r}; its experiments are: {', '.join(names)}")
    return [experiment for experiment in offered if not only or experiment.name in only]
