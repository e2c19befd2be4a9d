"""Estimates as documents for programs: CSV.

One idea: fractions in full precision, one row a value, nothing rounded for the eye.
"""

from __future__ import annotations

import csv
import io

from aggregator.estimate.query import Answer
from aggregator.estimate.result import Estimate

COLUMNS = ("value", "estimate", "raw", "se", "low", "high", "simultaneous_low", "simultaneous_high")


def estimate_csv(found: Estimate) -> str:
    """A header and a row for each value; an unknown number is empty."""
    text = io.StringIO()
    lines = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    lines.writeheader()
    lines.writerows(found.as_json()["values"])
    return text.getvalue()


def answer_csv(answer: Answer) -> str:
    """A header and one row."""
    text = io.StringIO()
    row = answer.as_json()
    lines = csv.DictWriter(text, list(row), lineterminator="\n")
    lines.writeheader()
    lines.writerow(row)
    return text.getvalue()
