"""Read the document of a run of `halftruth reproduce` from its JSON form."""

from __future__ import annotations

import math

from aggregator.reproduce.document import Document, ExperimentRun
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Plot


def document_of(value):
    """Return the document whose ``as_json`` is ``value``; gaps in curves are NaN."""
    runs = tuple(
        ExperimentRun(each["name"], each["row"], each["title"], each["repeats"], _result(each["result"]))
        for each in value["experiments"]
    )
    return Document(value["paper"], value["quick"], value["seed"], runs, value["missing"])


def _result(value):
    plots = tuple(Plot(**plot | {"curves": tuple(map(_curve, plot["curves"]))}) for plot in value["plots"])
    findings = tuple(Finding(**each) for each in value["findings"])
    return ExperimentResult(plots, findings, value["verdict"], value["data"], value["remark"])


def _curve(value):
    numbers = {key: tuple(math.nan if each is None else float(each) for each in value[key]) for key in ("x", "y")}
    return Curve(**value | numbers)
