"""Options of `halftruth estimate` that cannot be combined, and options that can."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.aggregator.command import run

REFUSED = {
    "--question age --method projection": "--question and --cross cannot be combined with --method: leave out --method",
    "--cross age,vote --cdf": "--question and --cross cannot be combined with --cdf: leave out --cdf",
    "--question age --format parquet": "--question and --cross cannot be combined with --format parquet: choose",
    "--question age --by period --plot p.png": "--question and --cross by period cannot be combined with --plot",
    "--question age --by class --margins file": "--question and --cross by class cannot be combined with --margins",
    "--by class --where class=a": "--by class estimates every class, and --where a single one: leave out one",
    "--cdf --value a": "--cdf and --value cannot be combined: run the command once for each",
    "--above 3 --pool precision": "--above and --pool cannot be combined: run the command once for each",
    "--between 3,4 --sum": "--between and --sum cannot be combined: run the command once for each",
    "--format geojson --bins 3": "--format geojson writes a whole distribution: leave out --bins",
    "--format parquet --by period": "--format parquet writes a whole distribution: leave out --by",
    "--format parquet --mean": "--format parquet writes a whole distribution: leave out --mean",
    "--question age --margins file --where class=a": "--margins needs all classes: leave out --where",
    "--margins file --sum": "--margins needs the distribution, ranges or mean of everybody: leave out --sum",
    "--margins file --by class": "--margins needs the distribution, ranges or mean of everybody: leave out --by",
    "--pool precision --mean": "--pool precision estimates the distribution of everybody: leave out --mean",
    "--value a --mean": "--value and --mean cannot be combined: run the command once for each",
    "--mean --plot p.png": "--mean prints one number, and --plot needs the distribution: leave out one of the two",
    "--value a --by period --report r.html": "--value prints one number, and --report needs the distribution: leave",
    "--population 9": "--population needs --value, --sum or --weights",
    "--mean --population 9": "--population needs --value, --sum or --weights",
    "--coefficients file": "--coefficients needs --value, --sum or --weights",
    "--sum --coefficients file --offset 2": "states the offset and the number of people of each class",
    "--sum --offset 2": "--offset needs --weights",
    "--periods 0-1": "--periods needs --by period",
    "--by class --steps": "--steps needs --by period",
    "--truth file --truth file": "--truth can be repeated only with --by period",
    "--by period --period 1": "--by period cannot be combined with --period: leave out one of the two",
    "--by period --sum": "--by period cannot be combined with --sum: leave out one of the two",
    "--by period --cdf --forged 1": "--cdf and --forged cannot be combined: run the command once for each",
    "--where a": "--where 'a' does not name a class: write --where class=NAME",
    "--by period --ends a,b": "'a' is not a period",
    "--question age --cross age,vote": "--question and --cross cannot be combined: run the command once for each",
}
"""Options that cannot be combined, or lack another, each with a part of its error message."""


@pytest.mark.parametrize("typed", REFUSED)
def test_options_that_exclude_each_other_are_refused(typed: str, tmp_path: Path, monkeypatch) -> None:
    """Options that cannot be combined, or lack another, are refused with their message before the study, which does not
    exist, is opened."""
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    refused = run("--study", "study", "estimate", "education", *typed.split(), code=2)
    assert REFUSED[typed] in " ".join(refused.stderr.split())


@pytest.mark.parametrize(
    "typed",
    ["", "--cdf --mean", "--question age --margins file", "--value a --by period --plot p.png", "--mean --by class",
     "--sum --coefficients file", "--weights file --offset 2 --population 9", "--by period --ends 0,1 --steps"],
)  # fmt: skip
def test_options_that_can_be_combined_are_accepted(typed: str, tmp_path: Path, monkeypatch) -> None:
    """Options that can be combined are accepted: the only error is that the study does not exist."""
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    refused = run("--study", "study", "estimate", "education", *typed.split(), code=1)
    assert refused.stderr.startswith("Error: study does not exist")
