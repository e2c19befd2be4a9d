"""The citations of protocol/MATH.md: every number that a file names is a heading there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_architecture import ROOT

MATH = (ROOT / "protocol" / "MATH.md").read_text(encoding="utf-8")
HEADINGS = set(re.findall(r"^###? ([0-9]+(?:\.[0-9]+)?)", MATH, re.MULTILINE))
CITED = re.compile(r"\bMATH ((?:[0-9]+(?:\.[0-9]+)?(?:, |-| and )?)+)")
FOLDERS = ("protocol", "edge_sdk", "aggregator", "demo_app", "benchmarks", "tests", "docs")


def files() -> list[Path]:
    return [path for folder in FOLDERS for kind in ("*.py", "*.md") for path in (ROOT / folder).rglob(kind)]


def citations(text: str) -> set[str]:
    """Return the heading numbers that a text cites."""
    return {number for found in CITED.findall(text) for number in re.findall(r"[0-9]+(?:\.[0-9]+)?", found)}


def test_every_citation_is_a_heading() -> None:
    """Every number of MATH.md that a file cites is a heading there."""
    cited = {number: path for path in files() for number in citations(path.read_text(encoding="utf-8"))}
    # The pattern must still find citations.
    assert len(cited) > 20
    assert not {number: path for number, path in cited.items() if number not in HEADINGS}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("(MATH 2.3)", {"2.3"}),
        ("MATH 1.2, 1.3)", {"1.2", "1.3"}),
        ("MATH 2.5-2.8;", {"2.5", "2.8"}),
        ("MATH.md", set()),
    ],
)
def test_citations_are_numbers_lists_and_ranges(text: str, numbers: set[str]) -> None:
    """Single numbers, lists and ranges are found in a text as citations."""
    assert citations(text) == numbers
