"""Read CSV files with a number for each value of a campaign, such as true counts, weights or a prior.

Values are parsed by the campaign's domain, and an error names the line.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggregator.estimate.weighting import BY_CLASS
from aggregator.quantity import quantity
from protocol import exact
from protocol.domain import DITHER_BYTES, Answer, Domain, Form, Items, Values
from protocol.domain.form import SKIPPED
from protocol.domain.items import SEPARATOR
from protocol.errors import BadData, NotInDomain
from protocol.spelling import suggestion

if TYPE_CHECKING:
    from _csv import Reader

LARGEST = 10**15
"""Maximum absolute value of a number in a file; a float represents every whole number up to it exactly."""

MAX_NAMED = 5
"""Maximum number of a campaign's values that an error lists."""


class ValueTableError(BadData):
    """A file of values cannot be read, or does not fit the campaign. If a line is wrong, the text names it."""

    stage = "value table"


def read_value_table(path: Path, domain: Domain, column: str) -> Iterator[tuple[Answer, Fraction, str]]:
    """Yield the rows of a CSV file with the header ``value,<column>``.

    Yields:
        An answer of ``domain`` for each row, its number, and the file and line of the row, for errors.
    Raises:
        ValueTableError: the file is not CSV, the header is wrong, a value is outside the domain, or a number is invalid
            or above ``LARGEST`` in size.
        OSError: the file cannot be read.
    """
    for answer, number, _, location in read_value_table_by_class(path, domain, column, ()):
        yield answer, number, location


def read_value_table_by_class(
    path: Path, domain: Domain, column: str, classes: Sequence[str]
) -> Iterator[tuple[Answer, Fraction, int | None, str]]:
    """Yield the rows of a CSV file with the header ``value,<column>`` or, with classes, ``value,<column>,class``.

    Args:
        classes: the names of the campaign's classes; empty for a campaign without classes.
    Yields:
        An answer of ``domain`` for each row, its number, the position of its class (None without that column), and the
        file and line of the row, for errors.
    Raises:
        ValueTableError: a class is unknown; or as in ``read_value_table``.
        OSError: the file cannot be read.
    """
    with csv_rows(path) as lines:
        header = next(lines, None)
        by_class = bool(classes) and header == ["value", column, BY_CLASS]
        if not by_class and header != ["value", column]:
            raise ValueTableError(_wrong_header(path.name, header, column, classes))
        for row in lines:
            location = f"{path.name}, line {lines.line_num}"
            class_index = _class_of(row, column, classes, location) if by_class else None
            yield *_row(row[:-1] if by_class else row, domain, column, location), class_index, location


def read_prior(path: Path, domain: Domain, *, whole_numbers: bool = False) -> tuple[int, ...]:
    """Return the prior in a CSV file with the header ``value,count``, a count above zero for every value.

    Args:
        whole_numbers: whether the counts must be whole numbers; otherwise fractions keep their proportions exactly.
    Raises:
        ValueTableError: a count is not above zero or not whole, a value has none, or a set has several items or none;
            or as in ``read_value_table``.
        OSError: the file cannot be read.
    """
    weights = [Fraction(0)] * domain.size
    for answer, count, location in read_value_table(path, domain, "count"):
        if count <= 0 or (whole_numbers and count.denominator != 1):
            raise ValueTableError(
                f"{location}: a prior needs a {'whole ' * whole_numbers}count above zero for each value"
            )
        try:
            weights[input_of(domain, answer)] += count
        except NotInDomain as error:
            raise ValueTableError(f"{location}: {error}") from None
    missing = next((x for x, weight in enumerate(weights) if not weight), None)
    if missing is not None:
        raise ValueTableError(
            f"{path.name} has no count for {domain.label(missing)!r}. Notions with a prior promise nothing about a "
            "value of prior zero; give it a small count"
        )
    scale = math.lcm(*(weight.denominator for weight in weights))
    return tuple(int(weight * scale) for weight in weights)


def read_people(
    path: Path, form: Form, classes: Sequence[str] = ()
) -> Iterator[tuple[tuple[str, ...], Answer, int | None, int]]:
    """Yield the rows of a CSV file whose header names the questions of a form, in any order.

    An optional last column ``count`` gives the number of people of a row. An empty cell skips a skippable question.
    With classes, an optional column ``class`` names the class of a person. A row may be a person's, so no error quotes
    a cell.

    Args:
        classes: the names of the campaign's classes.
    Yields:
        The texts of each row, the answer to all questions, the position of the class (None without that column), and
        the number of people.
    Raises:
        ValueTableError: the header is wrong, an answer is outside the domain of its question, a class is unknown, or a
            count is not a whole number.
        OSError: the file cannot be read.
    """
    names = list(form.positions)
    with csv_rows(path) as lines:
        header = [name.strip() for name in next(lines, [])]
        counted = header[-1:] == ["count"] and "count" not in names
        columns = header[:-1] if counted else header
        by_class = BY_CLASS in columns and BY_CLASS not in names
        if by_class and not classes:
            raise ValueTableError(
                f"{path.name} has a column {BY_CLASS}, but the campaign has no classes: leave out the column"
            )
        if sorted(columns) != sorted([*names, BY_CLASS] if by_class else names):
            also = f"a column {BY_CLASS}, and " if classes else ""
            raise ValueTableError(
                f"the header of {path.name} is not the form's questions; write {','.join(names)}, and optionally "
                f"{also}a last column count"
            )
        for row in lines:
            location = f"{path.name}, line {lines.line_num}"
            require_cells(row, header, location)
            texts = tuple(row[: len(columns)])
            cells = dict(zip(columns, texts, strict=True))
            class_index = _index_of_class(cells[BY_CLASS].strip(), classes, location) if by_class else None
            yield texts, _filled(form, cells, location), class_index, people_of(row[-1], location) if counted else 1


@contextmanager
def csv_rows(path: Path) -> Iterator[Reader]:
    """Context manager: the rows of a CSV file.

    Raises:
        ValueTableError: the file is not UTF-8 or not CSV.
        OSError: the file cannot be read.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            yield csv.reader(file)
    except UnicodeDecodeError:
        raise ValueTableError(f"{path.name} is not UTF-8 text: name a CSV file, or save it as UTF-8") from None
    except csv.Error as error:
        raise ValueTableError(f"{path.name} is not a CSV file: {error}. Correct it, or name a CSV file") from None


def require_cells(row: Sequence[str], header: Sequence[str], location: str) -> None:
    """Refuse a row that has more or fewer cells than the header.

    Raises:
        ValueTableError: the numbers of cells differ.
    """
    if len(row) != len(header):
        raise ValueTableError(f"{location}: the row must have {len(header)} cells, as the header has, not {len(row)}")


def people_of(cell: str, location: str) -> int:
    """Return the number of people in a cell, which the error does not quote.

    Raises:
        ValueTableError: the cell is not a whole number of at most 15 digits.
    """
    if not (cell.strip().isascii() and cell.strip().isdigit()) or len(cell) > 15:
        raise ValueTableError(f"{location}: a count must be a whole number of at most 15 digits")
    return int(cell)


def _filled(form: Form, cells: dict[str, str], location: str) -> Answer:
    answer: dict[str, Any] = {}
    for question in form.questions:
        text = cells[question.name].strip()
        if question.skippable and text in ("", SKIPPED):
            answer[question.name] = None
            continue
        try:
            answer[question.name] = question.domain.parse(text)
            question.domain.index(answer[question.name], bytes(DITHER_BYTES))
        except NotInDomain as error:
            fault = not_a_persons_answer("the cell", question.domain, error)
            raise ValueTableError(f"{location}: question {question.name!r}: {fault}") from None
    return answer


def input_of(domain: Domain, answer: Answer) -> int:
    """Return the input that the author names by an answer; in a domain of items, an input is one item or one dummy.

    Raises:
        NotInDomain: the answer is outside the domain, or a set of several items or of none.
    """
    if isinstance(domain, Items) and len(domain.members(answer)) != 1:
        raise NotInDomain(
            f"each entry must be one item, or one dummy such as {domain.label(domain.item_count)!r}; write the "
            "items of a set as separate entries"
        )
    return domain.index(answer, bytes(DITHER_BYTES))


def not_a_value(domain: Domain, text: str, error: NotInDomain) -> str:
    """Return the text of an error for ``text``, which the analyst wrote and which is not a value of ``domain``.

    The error quotes the value, or for a set the first unknown item. If the values have names, it suggests the nearest
    name or lists the first names; otherwise it gives the reason in ``error``.
    """
    part = _unknown_item(domain, text) if isinstance(domain, Items) else text
    names = domain.named if isinstance(domain, Items | Values) else ()
    if part is None or not names:
        return f"{(part or text)[:40]!r} is not an answer to the question: {error}"
    expected = suggestion(part, names) or f": expected {_first_of(names)}"
    noun = "items" if isinstance(domain, Items) else "values"
    return f"{part[:40]!r} is not one of the question's {len(names):,} {noun}{expected}"


def not_a_persons_answer(subject: str, domain: Domain, error: NotInDomain) -> str:
    """Return the text of an error for a text that may be a person's answer and is not a value of ``domain``.

    Unlike the error of ``not_a_value``, this one does not quote the text, and suggests no similar name.

    Args:
        subject: the place of the text, such as "the cell".
    """
    names = domain.named if isinstance(domain, Items | Values) else ()
    if not names:
        return f"{subject} is not an answer to the question: {error}"
    if isinstance(domain, Items):
        kind = f"a set of items of the question, separated by {SEPARATOR!r}"
    else:
        kind = f"one of the question's {len(names):,} values"
    return f"{subject} is not {kind}: expected {_first_of(names)}"


def _first_of(names: Sequence[str]) -> str:
    return ", ".join([repr(name[:40]) for name in names[:MAX_NAMED]] + ["..."] * (len(names) > MAX_NAMED))


def _unknown_item(domain: Items, text: str) -> str | None:
    """Return the first part of a set that is not an item of ``domain``; None if every part is an item."""
    for part in (part.strip() for part in text.split(SEPARATOR)):
        try:
            domain.members(domain.parse(part))
        except NotInDomain:
            return part
    return None


def _wrong_header(name: str, header: list[str] | None, column: str, classes: Sequence[str]) -> str:
    if header == ["value", column, BY_CLASS]:
        return f"{name} has a column class, but the campaign has no classes: use the header value,{column}"
    also = f", or value,{column},class" if classes else ""
    return f"{name} does not begin with the header value,{column}{also}: write it as the first line"


def _class_of(row: Sequence[str], column: str, classes: Sequence[str], location: str) -> int:
    if len(row) < 3:
        raise ValueTableError(
            f"{location}: the row has {quantity(len(row), 'cell')}; write a value, a {column} and a class"
        )
    return _index_of_class(row[-1], classes, location)


def _index_of_class(name: str, classes: Sequence[str], location: str) -> int:
    if name not in classes:
        raise ValueTableError(
            f"{location}: the cell of column class must be a class of the campaign: {', '.join(classes)}"
        )
    return classes.index(name)


def _row(row: Sequence[str], domain: Domain, column: str, location: str) -> tuple[Answer, Fraction]:
    # A position is "latitude,longitude": quoted it is one field, unquoted it is two.
    if len(row) < 2:
        raise ValueTableError(f"{location}: the row has {quantity(len(row), 'cell')}; write a value and a {column}")
    text = ",".join(row[:-1])
    try:
        answer = domain.parse(text)
        domain.index(answer, bytes(DITHER_BYTES))
    except NotInDomain as error:
        raise ValueTableError(f"{location}: {not_a_value(domain, text, error)}") from None
    try:
        number = exact.rational(row[-1])
    except ValueError:
        raise ValueTableError(f"{location}: a {column} must be a number, not {row[-1][:20]!r}") from None
    if abs(number) > LARGEST:
        raise ValueTableError(f"{location}: a {column} must be from -10^15 to 10^15, not {row[-1][:20]}")
    return answer, number
