"""Notions that bound the difference of two inputs: ln Q(y|x) - ln Q(y|x') <= E[x][x'] for all y.

One audit serves all of them. A notion states its classes of inputs, and a bound for each pair of classes that it
protects from each other. The channel computes the worst ratio over a pair of classes.

    ldp         one bound for all pairs
    high-low    sensitive inputs against every input                    (Acharya et al. 2020, Def. 3)
    block       inputs of one block against each other                  (Acharya et al. 2020, Def. 4)
    pairwise    an explicit matrix                                      (Acharya et al. 2020, Def. 2)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from protocol import codec, exact, runs
from protocol.channels import Channel, Loss
from protocol.domain import MAX_VALUES
from protocol.errors import NotionError, Uncertified
from protocol.notions.notion import Notion, require_level
from protocol.runs import Runs, members_of, require_runs, runs_of

UNBOUNDED = -1
"""The integer that represents an infinite level on the wire."""

MAX_MATRIX = 256


@dataclass(frozen=True)
class Pairwise(Notion):
    """A bound for each ordered pair of inputs, given by classes of inputs with equal bounds.

    Raises:
        NotionError: the level is not allowed.
    """

    level: int

    def __post_init__(self) -> None:
        require_level(self.level)

    @property
    @abstractmethod
    def inputs_by_class(self) -> Sequence[Sequence[int]] | None:
        """The inputs of each class; None if all inputs are in one class."""

    @abstractmethod
    def bounds(self) -> Iterator[tuple[int, int, int]]:
        """Yield (class of x, class of x', level in nanonats) for every pair of classes with a bound."""

    def audit_steps(self, channel: Channel) -> int:
        classes = self.inputs_by_class or [range(channel.input_count)]
        selected = [channel.selected(members) for members in classes]
        pairs = sum(channel.pair_steps(selected[first], selected[second]) for first, second, _ in self.bounds())
        return 2 * sum(map(len, classes)) + pairs

    def audit(self, channel: Channel) -> tuple[bool, int, Loss]:
        """Return whether every pair satisfies its bound, the largest level of a pair, and the pair nearest to its
        bound.

        The audit ends at the first pair above its bound and reports it.

        Raises:
            Uncertified: the ratio of a bounded pair is infinite.
        """
        selected = [channel.selected(members) for members in self.inputs_by_class or [range(channel.input_count)]]
        worst = witness = Loss(0, 1, 0, 0, 0)
        nearest = -1.0
        for first, second, bound in self.bounds():
            loss = channel.loss(selected[first], selected[second])
            if loss.denominator == 0:
                raise Uncertified(
                    f"{self.name} bounds input {loss.x} against input {loss.other}, but input {loss.x} can give output "
                    f"{channel.spelled(loss.y)}, and input {loss.other} cannot: choose a channel in which both inputs "
                    "can give it"
                )
            if not exact.satisfies(loss.numerator, loss.denominator, bound):
                return False, loss.level or 0, loss
            if loss.worse_than(worst):
                worst = loss
            # All bounds are satisfied and the witness is only shown to people, so floats may choose it.
            nearness = exact.rough_log(loss.numerator, loss.denominator) / max(bound, 1)
            if nearness > nearest:
                nearest, witness = nearness, loss
        return True, worst.level or 0, witness


@dataclass(frozen=True)
class Ldp(Pairwise):
    """Local differential privacy (LDP): one bound for all pairs."""

    name: ClassVar[str] = "ldp"
    input_count: ClassVar[int | None] = None
    inputs_by_class: ClassVar[None] = None
    carries_views: ClassVar[bool] = True
    coarsening_steps: ClassVar[int] = 0

    def bounds(self) -> Iterator[tuple[int, int, int]]:
        yield 0, 0, self.level

    def covers_sets(self, dummies: int) -> bool:
        return True

    def coarsened(self, input_of: Callable[[int], int], size: int) -> Ldp:
        return self

    def encode(self) -> codec.Value:
        return [self.name, self.level]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Ldp:
        _, level = codec.fields(value, 2, cls.name, NotionError)
        return cls(codec.integer(level, "a level", NotionError))


@dataclass(frozen=True)
class HighLow(Pairwise):
    """High-low LDP: Q(y|x) <= e^eps Q(y|x') for x sensitive and every x'   (Acharya et al. 2020, Def. 3).

    Attributes:
        size: k, the number of inputs.
        sensitive: the sensitive inputs, increasing; at least one, and not all.
    Raises:
        NotionError: an attribute is invalid, or does not fit the others.
    """

    size: int
    sensitive: tuple[int, ...]
    name: ClassVar[str] = "high-low"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < len(self.sensitive) < self.size:
            raise NotionError(
                f"high-low LDP needs 1 to {self.size - 1} sensitive values of {self.size}, not {len(self.sensitive)}"
            )
        codec.require_increasing(self.sensitive, "sensitive values", NotionError)
        for x in (self.sensitive[0], self.sensitive[-1]):
            if not 0 <= x < self.size:
                raise NotionError(f"a sensitive value must lie in 0 .. {self.size - 1}, not {x}")

    @property
    def input_count(self) -> int | None:
        return self.size

    @cached_property
    def inputs_by_class(self) -> tuple[tuple[int, ...], ...]:
        marked = frozenset(self.sensitive)
        return self.sensitive, tuple(x for x in range(self.size) if x not in marked)

    def bounds(self) -> Iterator[tuple[int, int, int]]:
        yield 0, 0, self.level
        yield 0, 1, self.level

    def encode(self) -> codec.Value:
        return [self.name, self.level, self.size, list(self.sensitive)]

    @classmethod
    def from_wire(cls, value: codec.Value) -> HighLow:
        _, level, size, sensitive = codec.fields(value, 4, cls.name, NotionError)
        return cls(
            codec.integer(level, "a level", NotionError),
            codec.integer(size, "the number of values", NotionError, 2, MAX_VALUES),
            codec.integers(sensitive, "a sensitive value", NotionError, 0, MAX_VALUES),
        )


@dataclass(frozen=True)
class Block(Pairwise):
    """Block-structured LDP: eps within a block, no bound between blocks   (Acharya et al. 2020, Def. 4).

    Attributes:
        runs: (block, length) pairs in input order; blocks numbered from 0 in order of first appearance.
    Raises:
        NotionError: an attribute is invalid, or does not fit the others.
    """

    runs: Runs
    name: ClassVar[str] = "block"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_runs(self.runs, 0, NotionError)
        if all(len(members) < 2 for members in self.inputs_by_class):
            raise NotionError(
                "each block has one value only, so nothing would be protected: make a block of at least two values"
            )

    @classmethod
    def over(cls, level: int, blocks: Sequence[int]) -> Block:
        """Return the notion for a block number per input; blocks are renumbered by first appearance."""
        return cls(level, runs_of(blocks))

    @property
    def input_count(self) -> int | None:
        return sum(length for _, length in self.runs)

    @cached_property
    def inputs_by_class(self) -> Sequence[Sequence[int]]:
        return members_of(self.runs)

    def bounds(self) -> Iterator[tuple[int, int, int]]:
        for block in range(len(self.inputs_by_class)):
            yield block, block, self.level

    def encode(self) -> codec.Value:
        return [self.name, self.level, runs.encode(self.runs)]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Block:
        _, level, blocks = codec.fields(value, 3, cls.name, NotionError)
        return cls(codec.integer(level, "a level", NotionError), runs.decode(blocks, NotionError))


@dataclass(frozen=True)
class Matrix(Pairwise):
    """Pairwise LDP with an explicit matrix of levels, for small domains   (Acharya et al. 2020, Def. 2).

    Attributes:
        levels: the k x k bounds in nanonats, ``UNBOUNDED`` for a pair without a bound; the diagonal is 0 and not used.
            ``level`` is the largest finite entry.
    Raises:
        NotionError: an attribute is invalid, or does not fit the others.
    """

    levels: tuple[tuple[int, ...], ...]
    name: ClassVar[str] = "pairwise"
    carries_views: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        size = len(self.levels)
        if not 2 <= size <= MAX_MATRIX:
            raise NotionError(f"a matrix of levels must have 2 to {MAX_MATRIX} rows, not {size}")
        for x, row in enumerate(self.levels):
            if len(row) != size:
                raise NotionError(f"row {x} of the levels must have {size} entries, not {len(row)}")
            if row[x] != 0:
                raise NotionError(f"the diagonal of a matrix of levels must be 0, and row {x} has {row[x]} there")
            for level in row:
                if level != UNBOUNDED and not 0 <= level <= exact.MAX_LEVEL:
                    maximum = exact.nats(exact.MAX_LEVEL)
                    raise NotionError(
                        f"a level of row {x} must be unbounded or lie in 0 .. {maximum:g} nats, "
                        f"not {exact.in_nats(level)} (nats: see docs/GLOSSARY.md)"
                    )
        largest = max(max(row) for row in self.levels)
        if self.level != largest:
            raise NotionError(
                f"the declared level must be {exact.in_nats(largest)}, the largest finite entry of the matrix, not "
                f"{exact.in_nats(self.level)} (nats: see docs/GLOSSARY.md)"
            )

    @property
    def input_count(self) -> int | None:
        return len(self.levels)

    @cached_property
    def inputs_by_class(self) -> tuple[tuple[int, ...], ...]:
        return tuple((x,) for x in range(len(self.levels)))

    def bound_of(self, loss: Loss) -> int:
        return self.levels[loss.x][loss.other or 0]

    def bounds(self) -> Iterator[tuple[int, int, int]]:
        for x, row in enumerate(self.levels):
            for other, level in enumerate(row):
                if x != other and level != UNBOUNDED:
                    yield x, other, level

    @property
    def coarsening_steps(self) -> int:
        return 2 * len(self.levels) ** 2

    def coarsened(self, input_of: Callable[[int], int], size: int) -> Matrix:
        cells = [input_of(x) for x in range(len(self.levels))]
        rows = [[UNBOUNDED] * size for _ in range(size)]
        for x, other, level in self.bounds():
            row, cell = rows[cells[x]], cells[other]
            row[cell] = level if row[cell] == UNBOUNDED else min(level, row[cell])
        for cell, row in enumerate(rows):
            row[cell] = 0
        largest = max(max(row) for row in rows)
        if largest == 0:
            if any(0 in row[:cell] + row[cell + 1 :] for cell, row in enumerate(rows)):
                raise NotionError(
                    f"{self.name} bounds inputs of a view by 0 nats only (see docs/GLOSSARY.md), and its level "
                    "must be above 0: raise a bound between two of the view's groups, or choose other groups"
                )
            raise NotionError(
                f"{self.name} bounds no two inputs of a view, so it would protect nothing: bound values of two of the "
                "view's groups, or choose other groups"
            )
        return Matrix(largest, tuple(map(tuple, rows)))

    def encode(self) -> codec.Value:
        return [self.name, self.level, [list(row) for row in self.levels]]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Matrix:
        _, level, rows = codec.fields(value, 3, cls.name, NotionError)
        return cls(
            codec.integer(level, "a level", NotionError),
            tuple(
                codec.integers(row, "a level", NotionError, UNBOUNDED, exact.MAX_LEVEL)
                for row in codec.array(rows, "a matrix of levels", NotionError)
            ),
        )
