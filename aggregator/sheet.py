"""Sheets: CSV files with a number for each value of a campaign, such as true counts or weights.

One idea: a sheet is read by the campaign's domain, strictly, and an error names the line.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

from protocol import exact
from protocol.domain import DITHER_BYTES, Answer, Domain
from protocol.errors import BadData, NotInDomain


class SheetError(BadData):
    """A sheet that cannot be read. The text names the line."""

    stage = "sheet"


def read_sheet(path: Path, domain: Domain, column: str) -> Iterator[tuple[Answer, Fraction, str]]:
    """The rows of a CSV file with the header ``value,<column>``.

    Yields:
        An answer of ``domain``, its number, and the row's place for errors.
    Raises:
        SheetError: the header, a value outside the domain, or a number that is none.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = csv.reader(file)
            if next(lines, None) != ["value", column]:
                raise SheetError(f"{path.name} must begin with the header value,{column}")
            for row in lines:
                where = f"{path.name}, line {lines.line_num}"
                yield *_row(row, domain, column, where), where
    except UnicodeDecodeError:
        raise SheetError(f"{path.name} is not UTF-8 text: a CSV file is expected") from None
    except csv.Error as error:
        raise SheetError(f"{path.name} is not a CSV file: {error}") from None


def _row(row: Sequence[str], domain: Domain, column: str, where: str) -> tuple[Answer, Fraction]:
    # A position is "latitude,longitude": quoted it is one field, unquoted it is two.
    if len(row) < 2:
        raise SheetError(f"{where}: a row is a value and a {column}")
    text = ",".join(row[:-1])
    try:
        answer = domain.parse(text)
        domain.index(answer, bytes(DITHER_BYTES))
    except NotInDomain as error:
        raise SheetError(f"{where}: {text[:40]!r} is no value of the campaign: {error}") from None
    try:
        return answer, exact.rational(row[-1])
    except ValueError:
        raise SheetError(f"{where}: a {column} is a number, not {row[-1][:20]!r}") from None
