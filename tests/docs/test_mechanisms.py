"""docs/MECHANISMS.md: its computed tables are current, and each row of the papers' results names a test."""

from __future__ import annotations

import re

import pytest

from aggregator.planner.catalogue import CATALOGUE
from tests.docs.tables import PAGE, TABLES, computed

ROWS = (
    *(f"A{number}" for number in (1, 2, 3, 4, 5, 6, 7, 8, 10)),
    *(f"B{number}" for number in range(1, 10)),
    *(f"C{number}" for number in (1, 2, 3, 4, 5, 6, 8)),
    *(f"D{number}" for number in range(1, 5)),
)
"""The labels of the rows in the last table of docs/MECHANISMS.md; each row is a result of the papers, experiments
excluded."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name == "ball-errors" else name for name in TABLES]
)
def test_computed_tables_are_current(name: str) -> None:
    """Every computed table equals the library's result; `make tables` writes them again.

    The table of errors within a ball takes as long as all others, so `make test` leaves it out;
    tests/protocol/test_ball.py and tests/aggregator/test_design_ball.py test its channels.
    """
    page = PAGE.read_text(encoding="utf-8")
    assert computed(page, name) == page


def test_every_row_of_the_papers_results_names_a_test() -> None:
    """The last table has every row, and each row names a test."""
    found = re.findall(r"^\| ([A-D][0-9]+) \| [^|]+ \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert tuple(row for row, _ in found) == ROWS
    for row, cell in found:
        assert re.search(r"`[a-z_0-9/]+\.py::test_\w+`", cell), row


def test_every_mechanism_is_described() -> None:
    """Every mechanism has a line with its description, a line with its source, and the cost of decoding."""
    for mechanism in CATALOGUE:
        assert mechanism.description
        assert mechanism.source
        assert mechanism.decoding_cost
