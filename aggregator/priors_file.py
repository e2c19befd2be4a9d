"""Read files of declared priors, for rehearsals of campaigns in which people declare priors.

The header of the CSV file names the campaign's values, in any order. Each row has the weights that a person declares.
An optional last column ``count`` is the number of people who declare them:

    wheat,hay,flax,count
    0.7,0.2,0.1,400
    1,1,8,250

A person's answer is drawn from their prior (Jiang, Li, Tandon 2020, fig. 8), unless a first column ``value`` states the
answer. An optional column ``epsilon`` after the values is the level that the person declares, in nats and at most the
campaign's; an empty cell means the campaign's level. A row may be a person's, so no error quotes a cell.

``simulation`` simulates devices with these priors.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aggregator.author.value_table import ValueTableError, csv_rows, not_a_persons_answer, people_of, require_cells
from aggregator.truth_file import Truth, require_people
from protocol import exact, personal
from protocol.campaign import Campaign
from protocol.domain import DITHER_BYTES, Answer, Domain, Items
from protocol.errors import NotInDomain, ReportError
from protocol.notions.declared_prior import DeclaredPrior

if TYPE_CHECKING:
    from _csv import Reader

VALUE, EPSILON, COUNT = "value", "epsilon", "count"


@dataclass(frozen=True)
class Declarers:
    """People with the same declaration.

    Attributes:
        prior: (k,) the weights, as a device declares them.
        count: the number of people.
        answer: the answer of these people; None if each draws an answer from the prior.
        level: the declared level, nanonats; 0 for the campaign's level.
    """

    prior: tuple[int, ...]
    count: int
    answer: Answer | None
    level: int = 0


def read_priors(path: Path, campaign: Campaign, *, max_people: int | None = None) -> list[Declarers]:
    """Return the people in a file of declared priors.

    Args:
        path: a CSV file in UTF-8.
        max_people: the maximum number of people; None for no limit.
    Returns:
        One entry for each row.
    Raises:
        ValueTableError: people of the campaign declare no priors, or answer with sets; or the header, a weight, a
            value, a level or a count is invalid; or the counts are all 0, or have a sum above ``max_people``.
        OSError: the file cannot be read.
    """
    if not isinstance(campaign.notion, DeclaredPrior):
        raise ValueTableError("the campaign asks for no declared priors: give a file of true counts with --truth")
    if isinstance(campaign.domain, Items):
        raise ValueTableError(
            f"{path.name} has a weight for each value, but the answers to this campaign are sets: give --truth"
        )
    with csv_rows(path) as lines:
        people = list(_rows(lines, path.name, campaign.domain, campaign.notion.level))
    require_people(path, sum(declarers.count for declarers in people), max_people)
    return people


def truth_of(people: Sequence[Declarers], domain: Domain, seed: int | None = None) -> Truth:
    """Return the true answers of these people; answers that the file does not state are drawn from the priors.

    Args:
        people: as ``read_priors`` returns them.
        domain: the campaign's domain.
        seed: for experiments; None takes the operating system's randomness.
    Returns:
        The answers, with one group for each row that states its answer, and one for each value of every other row.
        Unless rows state answers, new answers in later periods are drawn from the same prior.
    """
    values = [domain.parse(domain.label(x)) for x in range(domain.size)]
    generator = np.random.default_rng(None if seed is None else [seed, len(people), 2])
    groups: list[tuple[Answer, int, tuple[int, ...], int, float]] = []
    for declarers in people:
        if declarers.answer is not None:
            groups.append((declarers.answer, declarers.count, declarers.prior, declarers.level, float(declarers.count)))
            continue
        shares = np.array(declarers.prior) / sum(declarers.prior)
        drawn = generator.multinomial(declarers.count, shares).tolist()
        chances = (declarers.count * shares).tolist()
        groups += [
            (value, count, declarers.prior, declarers.level, chance)
            for value, count, chance in zip(values, drawn, chances, strict=True)
        ]
    answers, counts, priors, levels, chances = zip(*groups, strict=True)
    return Truth(answers, counts, priors=priors, levels=levels, chances=chances)


def drawn_answers_csv(truth: Truth, domain: Domain) -> str:
    """Return the answers, drawn and stated, as the text of a CSV file that ``read_truth`` reads.

    Args:
        truth: as ``truth_of`` returns it.
        domain: the campaign's domain.
    Returns:
        The header value,count, and a row for each value.
    """
    counts = [0] * domain.size
    for answer, count in zip(truth.answers, truth.counts, strict=True):
        counts[domain.index(answer, bytes(DITHER_BYTES))] += count
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [(VALUE, COUNT), *((domain.label(x), count) for x, count in enumerate(counts))]
    )
    return text.getvalue()


def _rows(lines: Reader, name: str, domain: Domain, max_level: int) -> Iterator[Declarers]:
    labels = {domain.label(x) for x in range(domain.size)}
    header = [cell.strip() for cell in next(lines, [])]
    has_answer = header[:1] == [VALUE] and VALUE not in labels
    has_count = header[-1:] == [COUNT] and COUNT not in labels
    has_level = EPSILON in header[-2:] and EPSILON not in labels
    end = len(header) - has_count - has_level
    columns = header[has_answer:end]
    places = _places(columns, name, domain)
    for row in lines:
        location = f"{name}, line {lines.line_num}"
        require_cells(row, header, location)
        weights = [Fraction(0)] * domain.size
        for place, cell in zip(places, row[has_answer:end], strict=True):
            weights[place] = _weight(cell, location)
        count = people_of(row[-1], location) if has_count else 1
        answer, level = (
            _answer(row[0], domain, location) if has_answer else None,
            _level(row[end], max_level, location) if has_level else 0,
        )
        yield Declarers(_declared(weights, location), count, answer, level)


def _places(columns: Sequence[str], name: str, domain: Domain) -> list[int]:
    """Return the input that each column's header names."""
    expected = (
        f"{name}: the header must name all {domain.size} values of the campaign, each once; a column {VALUE} may stand "
        f"before them, and the columns {EPSILON} and {COUNT} after them. Correct the first line"
    )
    places = []
    for number, column in enumerate(columns, 1):
        try:
            places.append(domain.index(domain.parse(column), bytes(DITHER_BYTES)))
        except NotInDomain as error:
            raise ValueTableError(f"{expected}: {not_a_persons_answer(f'value {number}', domain, error)}") from None
    if sorted(places) != list(range(domain.size)):
        raise ValueTableError(expected)
    return places


def _weight(cell: str, location: str) -> Fraction:
    try:
        weight = exact.rational(cell)
    except ValueError:
        raise ValueTableError(f"{location}: a weight must be a number") from None
    if weight <= 0:
        raise ValueTableError(
            f"{location}: a weight must be above zero, because a declared prior protects only values that it gives a "
            "weight: write a small weight"
        )
    return weight


def _declared(weights: Sequence[Fraction], location: str) -> tuple[int, ...]:
    """Return the weights as a device declares them: whole numbers without a common factor."""
    denominator = math.lcm(*(weight.denominator for weight in weights))
    try:
        return personal.canonical_prior([int(weight * denominator) for weight in weights])
    except ReportError as error:
        raise ValueTableError(f"{location}: {error}; write the weights with fewer digits") from None


def _level(cell: str, max_level: int, location: str) -> int:
    """Return the declared level in nanonats; 0 if the cell is empty or contains the campaign's level."""
    if not cell.strip():
        return 0
    try:
        level = exact.level_from(cell)
    except ValueError:
        raise ValueTableError(f"{location}: {EPSILON} must be a number of nats (see docs/GLOSSARY.md)") from None
    if not exact.MIN_LEVEL <= level <= max_level:
        minimum = exact.nats(exact.MIN_LEVEL)
        raise ValueTableError(
            f"{location}: {EPSILON} must be from {minimum:g} to the campaign's {exact.in_nats(max_level)} "
            "(nats: see docs/GLOSSARY.md)"
        )
    return level if level < max_level else 0


def _answer(cell: str, domain: Domain, location: str) -> Answer:
    try:
        answer = domain.parse(cell)
        domain.index(answer, bytes(DITHER_BYTES))
    except NotInDomain as error:
        raise ValueTableError(f"{location}: {not_a_persons_answer('the first cell', domain, error)}") from None
    return answer
