"""Maps: how a view coarsens an answer before randomisation (SPEC 7.3).

A map is a public, deterministic function of one input, not a geographic map. The domain is passed in; a form is
never enumerated, because it may have too many inputs.

Add a new map to ``MAPS``. The function ``view.view_of`` chooses a device's view.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import ClassVar

from protocol import codec, runs
from protocol.domain import MAX_VALUES, Answer, Domain, Form, FormQuestion, Grid, Line, Values, require_label
from protocol.errors import CampaignError, ViewError
from protocol.runs import Runs, require_runs
from protocol.spelling import repeated


class Map(ABC):
    """A function from the inputs of a domain to the inputs 0 .. k_j - 1 of a view's channel."""

    name: ClassVar[str]

    @abstractmethod
    def input_count(self, domain: Domain) -> int:
        """Return k_j, the number of inputs of the view.

        Raises:
            CampaignError: the map does not fit the domain.
        """

    def index(self, domain: Domain, answer: Answer, dither: bytes) -> int:
        """Return the domain's input for an answer to the view's question.

        Args:
            dither: as for ``Domain.index``.
        Raises:
            NotInDomain: the question does not allow the answer.
        """
        return domain.index(answer, dither)

    @abstractmethod
    def input(self, domain: Domain, x: int) -> int:
        """Return the view's input for input ``x`` of the domain."""

    def first_input(self, domain: Domain, z: int) -> int:
        """Return the first input of the domain that is mapped to ``z``."""
        return next(x for x in range(domain.size) if self.input(domain, x) == z)

    @abstractmethod
    def label(self, domain: Domain, z: int) -> str:
        """Return the label of the view's input ``z``."""

    @property
    def named(self) -> tuple[str, ...]:
        """The names that the author gave to the view's inputs, in order; () if there are none."""
        return ()

    def renamed(self, names: Sequence[str]) -> Map:
        """Return the same map with other names.

        Args:
            names: one for each entry of ``named``, in its order.
        Raises:
            ViewError: the map does not allow one of the names.
        """
        return self

    @abstractmethod
    def encode(self) -> codec.Value:
        """Return the wire form of the map (SPEC 7.3); ``from_wire`` of its class is the inverse."""


@dataclass(frozen=True)
class Identity(Map):
    """The map that leaves the answer unchanged."""

    name: ClassVar[str] = "identity"

    def input_count(self, domain: Domain) -> int:
        if isinstance(domain, Form):
            raise CampaignError("a view of a form must have a map of one or two of its questions, not the identity map")
        return domain.size

    def input(self, domain: Domain, x: int) -> int:
        return x

    def label(self, domain: Domain, z: int) -> str:
        return domain.label(z)

    def encode(self) -> codec.Value:
        return [self.name]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Identity:
        codec.fields(value, 1, "the identity map", ViewError)
        return cls()


@dataclass(frozen=True)
class Coarse(Map):
    """Groups of neighbours: squares of grid cells, or stretches of a list; groups at the border may be smaller.

    Attributes:
        factor: cells on each side of a square, or values in a stretch.
    Raises:
        ViewError: the attribute is invalid.
    """

    factor: int
    name: ClassVar[str] = "coarse"

    def __post_init__(self) -> None:
        if not 2 <= self.factor <= MAX_VALUES:
            raise ViewError(f"the factor of a coarse map must lie in 2 .. {MAX_VALUES}, not {self.factor}")

    def rows(self, domain: Grid) -> int:
        """Return the number of rows of squares."""
        return -(-domain.rows // self.factor)

    def columns(self, domain: Grid) -> int:
        """Return the number of columns of squares."""
        return -(-domain.columns // self.factor)

    def input_count(self, domain: Domain) -> int:
        if isinstance(domain, Grid):
            count = self.rows(domain) * self.columns(domain)
        else:
            _require_single(domain, self.name)
            count = -(-domain.size // self.factor)
        if count < 2:
            raise CampaignError(
                f"a coarse map of factor {self.factor} maps all {domain.size} values to one group: choose a smaller "
                "factor"
            )
        return count

    def input(self, domain: Domain, x: int) -> int:
        if isinstance(domain, Grid):
            row, column = divmod(x, domain.columns)
            return row // self.factor * self.columns(domain) + column // self.factor
        return x // self.factor

    def label(self, domain: Domain, z: int) -> str:
        if isinstance(domain, Grid):
            row, column = (self.factor * place for place in divmod(z, self.columns(domain)))
            last_row = min(row + self.factor, domain.rows) - 1
            last_column = min(column + self.factor, domain.columns) - 1
            first, last = row * domain.columns + column, last_row * domain.columns + last_column
        else:
            first, last = z * self.factor, min((z + 1) * self.factor, domain.size) - 1
        return domain.label(first) if first == last else f"{domain.label(first)} .. {domain.label(last)}"

    def encode(self) -> codec.Value:
        return [self.name, self.factor]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Coarse:
        _, factor = codec.fields(value, 2, "a coarse map", ViewError)
        return cls(codec.integer(factor, "a coarse map's factor", ViewError))


@dataclass(frozen=True)
class Districts(Map):
    """Any partition of the inputs, such as the districts of a country on a grid.

    Attributes:
        runs: (district, length) pairs in input order; districts numbered from 0 in order of first appearance.
        names: the names of the districts, by number; empty if they have no names.
    Raises:
        ViewError: an attribute is invalid, or does not fit the others.
    """

    runs: Runs
    names: tuple[str, ...] = ()
    name: ClassVar[str] = "districts"

    def __post_init__(self) -> None:
        require_runs(self.runs, 0, ViewError)
        size = sum(length for _, length in self.runs)
        if not 2 <= self._count < size:
            raise ViewError(
                f"a map must have at least 2 districts and fewer districts than inputs, not {self._count} for {size} "
                "inputs"
            )
        if self.names and len(self.names) != self._count:
            raise ViewError(f"{self._count} districts must have {self._count} names or none, not {len(self.names)}")
        for name in self.names:
            require_label(name, "a district's name", ViewError)
        if len(set(self.names)) != len(self.names):
            raise ViewError(f"two districts have the name {(repeated(self.names) or '')[:40]!r}: rename one")

    @property
    def named(self) -> tuple[str, ...]:
        return self.names

    def renamed(self, names: Sequence[str]) -> Districts:
        return replace(self, names=tuple(names)) if names else self

    @cached_property
    def _count(self) -> int:
        return 1 + max((district for district, _ in self.runs), default=-1)

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(length for _, length in self.runs))

    def input_count(self, domain: Domain) -> int:
        _require_single(domain, self.name)
        if self._ends[-1] != domain.size:
            raise CampaignError(
                f"the districts must have all {domain.size} inputs of the domain, not {self._ends[-1]}: correct the "
                "lengths of the runs"
            )
        return self._count

    def input(self, domain: Domain, x: int) -> int:
        return self.runs[bisect_right(self._ends, x)][0]

    def label(self, domain: Domain, z: int) -> str:
        return self.names[z] if self.names else f"district {z + 1}"

    def encode(self) -> codec.Value:
        return [self.name, runs.encode(self.runs), list(self.names)]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Districts:
        _, blocks, names = codec.fields(value, 3, "a map of districts", ViewError)
        texts = codec.array(names, "the names of districts", ViewError)
        return cls(
            runs.decode(blocks, ViewError), tuple(codec.text(text, "a district's name", ViewError) for text in texts)
        )


@dataclass(frozen=True)
class QuestionsMap(Map):
    """A map to the answers of one or two questions of a form.

    Attributes:
        positions: the positions of the questions in the form, increasing.
    Raises:
        ViewError: the attribute is invalid.
    """

    positions: tuple[int, ...]
    name: ClassVar[str] = "questions"

    def __post_init__(self) -> None:
        if (
            not 1 <= len(self.positions) <= 2
            or min(self.positions) < 0
            or list(self.positions) != sorted(set(self.positions))
        ):
            raise ViewError(
                "a map of questions must have the numbers of one or two questions, from 0, in increasing order, not "
                f"{list(self.positions)}"
            )

    def input_count(self, domain: Domain) -> int:
        count = math.prod(question.size for question in self.questions(domain))
        if count > MAX_VALUES:
            names = " and ".join(repr(question.name) for question in self.questions(domain))
            raise CampaignError(
                f"a view has at most {MAX_VALUES} pairs of answers, and {names} have {count}: use two views"
            )
        return count

    def questions(self, domain: Domain) -> tuple[FormQuestion, ...]:
        """Return the questions that the view asks.

        Raises:
            CampaignError: the domain has no such questions.
        """
        questions = form_of(domain).questions
        if self.positions[-1] >= len(questions):
            raise CampaignError(
                f"a view asks question number {self.positions[-1]}, counted from 0, but the form has only "
                f"{len(questions)} of them: the largest allowed number is {len(questions) - 1}"
            )
        return tuple(questions[position] for position in self.positions)

    def index(self, domain: Domain, answer: Answer, dither: bytes) -> int:
        return form_of(domain).index_of(self.positions, answer, dither)

    def input(self, domain: Domain, x: int) -> int:
        inputs, z = form_of(domain).split(x), 0
        for position, question in zip(self.positions, self.questions(domain), strict=True):
            z = z * question.size + inputs[position]
        return z

    def first_input(self, domain: Domain, z: int) -> int:
        form = form_of(domain)
        inputs_by_position = dict(zip(self.positions, self.split(domain, z), strict=True))
        return form.join([inputs_by_position.get(position, 0) for position in range(len(form.questions))])

    def split(self, domain: Domain, z: int) -> tuple[int, ...]:
        """Return the input of each asked question that the view's input ``z`` is composed of."""
        *_, last = self.questions(domain)
        return (z,) if len(self.positions) == 1 else divmod(z, last.size)

    def label(self, domain: Domain, z: int) -> str:
        return form_of(domain).answer_text(self.positions, self.split(domain, z))

    def encode(self) -> codec.Value:
        return [self.name, list(self.positions)]

    @classmethod
    def from_wire(cls, value: codec.Value) -> QuestionsMap:
        _, places = codec.fields(value, 2, "a map of questions", ViewError)
        return cls(codec.integers(places, "the number of a question", ViewError))


def form_of(domain: Domain) -> Form:
    """Return the domain if it is a form.

    Raises:
        CampaignError: the domain is not a form.
    """
    if not isinstance(domain, Form):
        raise CampaignError(f"a map of questions needs a form, not a domain of {domain.kind}")
    return domain


def _require_single(domain: Domain, name: str) -> None:
    if not isinstance(domain, Grid | Values | Line):
        raise CampaignError(f"a map {name!r} needs a domain of values, numbers, dates or a grid, not of {domain.kind}")


MAPS: dict[str, Callable[[codec.Value], Map]] = {
    kind.name: kind.from_wire for kind in (Identity, Coarse, Districts, QuestionsMap)
}
"""All maps, by their names on the wire."""


def decode(value: codec.Value) -> Map:
    """Return the map of a wire form (SPEC 7.3).

    Raises:
        ViewError: unknown name, wrong fields, or an invalid map.
    """
    name = codec.tag(value, "a map", "name", ViewError)
    if name not in MAPS:
        raise ViewError(f"a map must be one of {', '.join(MAPS)}, not {name[:40]!r}")
    return MAPS[name](value)
