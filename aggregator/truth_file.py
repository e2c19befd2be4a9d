"""The true answers of a population: a CSV file of counts, and the distribution of the answers.

``simulation`` simulates a device for each of these people, and an estimate is compared with their distribution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aggregator.author.value_table import ValueTableError, read_people, read_value_table_by_class
from protocol.domain import DITHER_BYTES, Answer, Domain, Form, Items, Line


@dataclass(frozen=True)
class Truth:
    """The true answers of a simulated population, by group of people with the same answer.

    Attributes:
        answers: the answer of each group, in the campaign's domain.
        counts: number of people in each group.
        class_indices: index of each group's class, in a campaign with classes; if empty, each person's class is drawn
            uniformly.
        priors: declared prior of each group, in a campaign with declared priors; if empty, everybody declares the
            distribution of the whole population.
        levels: declared level of each group in nanonats, 0 for the campaign's level; if empty, everybody has the
            campaign's level.
        chances: relative probability of each group when a person draws a new answer; if empty, proportional to
            ``counts``.
    """

    answers: tuple[Answer, ...]
    counts: tuple[int, ...]
    class_indices: tuple[int, ...] = ()
    priors: tuple[tuple[int, ...], ...] = ()
    levels: tuple[int, ...] = ()
    chances: tuple[float, ...] = ()

    @property
    def people(self) -> int:
        """The number of people."""
        return sum(self.counts)

    def within(self, class_index: int) -> Truth:
        """Return the true answers of the people of one class, or of everybody if the file has no classes.

        Args:
            class_index: index of the class in the campaign.
        Returns:
            The true answers of these people.
        Raises:
            ValueTableError: the class has no people.
        """
        if not self.class_indices:
            return self
        groups = [group for group, index in enumerate(self.class_indices) if index == class_index]
        if not sum(self.counts[group] for group in groups):
            raise ValueTableError("the file of true counts has no people of this class: add at least one person")
        return Truth(tuple(self.answers[group] for group in groups), tuple(self.counts[group] for group in groups))

    def shares(self, domain: Domain) -> NDArray[np.float64]:
        """Return the distribution over the domain's inputs.

        A number that devices round randomly counts in part for each of the two inputs around it, so that the mean is
        kept.

        Args:
            domain: the campaign's domain.
        Returns:
            (k,) shares that sum to 1; for items, the (m,) shares of the people who have each item.
        """
        if isinstance(domain, Items):
            return self._holders(domain)
        shares = np.zeros(domain.size)
        for answer, count in zip(self.answers, self.counts, strict=True):
            if isinstance(domain, Line) and domain.rounds_randomly:
                lower, part = domain.lower_input(answer)
                shares[lower + 1] += count * part
                shares[lower] += count * (1 - part)
            else:
                shares[domain.index(answer, bytes(DITHER_BYTES))] += count
        return shares / self.people

    def among_answered(self, form: Form, names: Sequence[str]) -> NDArray[np.float64]:
        """Return the distribution of the answers to questions of a form, among the people who answer all of them.

        Args:
            form: the campaign's form.
            names: the names of one or two questions.
        Returns:
            Shares that sum to 1, (a,) for one question and (a * b,) row by row for two.
        Raises:
            ValueTableError: nobody answers these questions.
            ValueError: the answers are not those to a form.
        """
        domains = [form.questions[form.positions[name]].domain for name in names]
        shares, people = np.zeros([domain.size for domain in domains]), 0
        for answer, count in zip(self.answers, self.counts, strict=True):
            if not isinstance(answer, Mapping):
                raise ValueError("the answer to a form is not a mapping from question names to answers")
            values = [value for name in names if (value := answer[name]) is not None]
            if count and len(values) == len(names):
                parts = [Truth((value,), (1,)).shares(domain) for value, domain in zip(values, domains, strict=True)]
                shares += count * reduce(np.multiply.outer, parts)
                people += count
        if not people:
            raise ValueTableError(
                f"the file of true counts has no people who answer {' and '.join(names)}: add their answers"
            )
        return shares.ravel() / people

    def _holders(self, domain: Items) -> NDArray[np.float64]:
        """Return the share of people who have each item, (m,)."""
        holders = np.zeros(domain.item_count)
        for answer, count in zip(self.answers, self.counts, strict=True):
            members = [x for x in domain.members(answer) if x < domain.item_count]
            holders[members] += count
        return holders / self.people


def read_truth(path: Path, domain: Domain, classes: Sequence[str] = (), *, max_people: int | None = None) -> Truth:
    """Read true counts from a CSV file with the header ``value,count`` or, with classes, ``value,count,class``.

    For a form, the header has the questions' names, and ``class`` if the file has classes. Each row is one person, or
    the number of people in a last column ``count``.

    Args:
        path: a CSV file in UTF-8.
        domain: the campaign's domain.
        classes: names of the campaign's classes.
        max_people: maximum number of people; None for no limit.
    Returns:
        The number of people by answer, and by class if the file has classes.
    Raises:
        ValueTableError: a wrong header, a value outside the domain, an unknown class, a count that is not a whole
            number, no people, or more than ``max_people``.
        OSError: the file cannot be read.
    """
    truth = _people(path, domain, classes) if isinstance(domain, Form) else _counts(path, domain, classes)
    require_people(path, truth.people, max_people)
    return truth


def _counts(path: Path, domain: Domain, classes: Sequence[str]) -> Truth:
    """Read a CSV file of counts by value; each row forms a group."""
    answers, counts, class_indices = [], [], []
    for answer, count, class_index, location in read_value_table_by_class(path, domain, "count", classes):
        if count.denominator != 1 or count < 0:
            raise ValueTableError(f"{location}: a count must be a whole number of at least 0, not {float(count):g}")
        answers.append(answer)
        counts.append(count.numerator)
        if class_index is not None:
            class_indices.append(class_index)
    return Truth(tuple(answers), tuple(counts), tuple(class_indices))


def _people(path: Path, form: Form, classes: Sequence[str]) -> Truth:
    """Read a CSV file of people who answer a form; equal rows form one group."""
    group_of: dict[tuple[str, ...], int] = {}
    answers: list[Answer] = []
    counts: list[int] = []
    class_indices: list[int] = []
    for texts, answer, class_index, count in read_people(path, form, classes):
        group = group_of.setdefault(texts, len(answers))
        if group == len(answers):
            answers.append(answer)
            counts.append(0)
            class_indices += [] if class_index is None else [class_index]
        counts[group] += count
    return Truth(tuple(answers), tuple(counts), tuple(class_indices))


def require_people(path: Path, people: int, max_people: int | None) -> None:
    """Refuse a file without people, or with more than ``max_people``.

    Raises:
        ValueTableError: there are no people, or more than ``max_people``.
    """
    if not people:
        raise ValueTableError(f"{path.name} has no people: give at least one count above 0")
    if max_people is not None and people > max_people:
        raise ValueTableError(
            f"{path.name} has more than {max_people:,} people, the maximum number of simulated devices: "
            "give smaller counts"
        )
