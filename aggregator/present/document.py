"""Estimates as documents for programs: JSON and CSV.

One idea: fractions in full precision, one row a value, nothing rounded for the eye.
"""

from __future__ import annotations

import csv
import io
import json

from aggregator.estimate.query import Answer
from aggregator.estimate.result import Estimate

COLUMNS = ("value", "estimate", "raw", "se", "low", "high", "simultaneous_low", "simultaneous_high")


def estimate_json(found: Estimate) -> str:
    """The machine-readable form of an estimate."""
    return json.dumps(found.as_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


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
