"""docs/RESULTS.md has the findings of the command: its text is computed from stored runs, and these are current."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from aggregator.reproduce import PAPERS, experiments
from aggregator.reproduce.data import DataFolder
from aggregator.reproduce.document import run_experiments
from aggregator.reproduce.page import replace_section
from tests.aggregator.stored_run import document_of

DOCS = Path(__file__).parents[2] / "docs"
FAST = {"validity", "numbers", "example1", "fig5", "fig6-cns", "notions", "sweep", "utility", "relations"}
"""Experiments of a second or less; the others are run by `make test-long`."""


def kept(paper):
    return json.loads((DOCS / "results" / f"{paper}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("paper", PAPERS)
def test_the_page_has_the_text_of_the_stored_run(paper):
    """The part of each paper is the text of its stored quick run, and contains every experiment with its figure."""
    page = (DOCS / "RESULTS.md").read_text(encoding="utf-8")
    document = document_of(kept(paper))
    assert document.quick
    assert not document.missing
    assert [found.name for found in document.runs] == [each.name for each in experiments(paper)]
    assert replace_section(page, document, "results") == page


@pytest.mark.parametrize("paper", PAPERS)
def test_every_experiment_has_a_small_figure(paper):
    """Every experiment with plots has a figure of less than 60 KB in the page's folder, which has no other figures."""
    names = {f"{paper}-{found.name}.png" for found in document_of(kept(paper)).runs if found.figure}
    assert {path.name for path in (DOCS / "results").glob(f"{paper}-*.png")} == names
    for name in names:
        assert (DOCS / "results" / name).stat().st_size < 60_000, name


def cases():
    for paper in PAPERS:
        for each in experiments(paper):
            if not each.needs:
                yield pytest.param(paper, each.name, marks=() if each.name in FAST else pytest.mark.long)


@pytest.mark.parametrize(("paper", "name"), list(cases()))
def test_the_stored_numbers_equal_those_of_a_new_run(paper, name):
    """A quick run of an experiment without data gives the stored sentences, and the stored curves to six digits."""
    before = kept(paper)
    (old,) = (each for each in before["experiments"] if each["name"] == name)
    document = run_experiments(paper, DataFolder(None), before["seed"], quick=True, only=[name])
    (new,) = json.loads(json.dumps(document.as_json()))["experiments"]
    assert new["result"]["verdict"] == old["result"]["verdict"]
    assert new["result"]["findings"] == old["result"]["findings"]
    assert new["result"]["remark"] == old["result"]["remark"]
    assert len(new["result"]["plots"]) == len(old["result"]["plots"])
    for plot, was in zip(new["result"]["plots"], old["result"]["plots"], strict=True):
        for curve, line in zip(plot["curves"], was["curves"], strict=True):
            assert (curve["name"], curve["role"]) == (line["name"], line["role"])
            for key in ("x", "y"):
                numbers, others = ([math.nan if y is None else y for y in each[key]] for each in (curve, line))
                assert numbers == pytest.approx(others, rel=1e-6, abs=1e-9, nan_ok=True)
