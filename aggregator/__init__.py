"""The analyst's side: it makes campaigns, verifies uploads, and estimates distributions from reports.

    from aggregator import Study

    Study.open("lib").estimate("education")

The names in ``__all__`` are loaded at first use, so importing one loads only the libraries that it needs. The package
``edge_sdk`` is the device, and ``protocol`` has the keys and signatures.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # type checkers treat it as true; an import of typing would take time

if TYPE_CHECKING:
    from aggregator.author.audit import Audit as Audit
    from aggregator.author.audit import audit as audit
    from aggregator.author.draft import read_draft as read_draft
    from aggregator.author.draft import read_question as read_question
    from aggregator.estimate.result import Estimate as Estimate
    from aggregator.intake.ingest import IngestResult as IngestResult
    from aggregator.intake.ingest import ingest as ingest
    from aggregator.planner.plan import Plan as Plan
    from aggregator.planner.plan import plan as plan
    from aggregator.simulation import simulate as simulate
    from aggregator.study import Study as Study
    from aggregator.truth_file import Truth as Truth
    from aggregator.truth_file import read_truth as read_truth

_HOME = {
    "Audit": "aggregator.author.audit",
    "Estimate": "aggregator.estimate.result",
    "IngestResult": "aggregator.intake.ingest",
    "Plan": "aggregator.planner.plan",
    "Study": "aggregator.study",
    "Truth": "aggregator.truth_file",
    "audit": "aggregator.author.audit",
    "ingest": "aggregator.intake.ingest",
    "plan": "aggregator.planner.plan",
    "read_draft": "aggregator.author.draft",
    "read_question": "aggregator.author.draft",
    "read_truth": "aggregator.truth_file",
    "simulate": "aggregator.simulation",
}
"""The module that defines each public name."""

__all__ = list(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"aggregator has no {name!r}; its names are {', '.join(__all__)}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
