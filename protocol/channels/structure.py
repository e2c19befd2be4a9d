"""The interface of channels for audits: pairs of inputs, columns, marginals, row sums.

An audit never visits every cell of a large channel. Outputs with the same weights form a class: the same pair of
weights for a pair of inputs, or the same column of weights for a prior. A family states its classes and their sizes,
and every level is a sum or a maximum over classes. ``Structure`` computes the classes cell by cell, a family with a
faster method overrides it, and ``structure_of`` chooses between the two.

All results are integers; protocol.levels computes the levels from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import TypeAlias

from protocol.channels.channel import Channel
from protocol.errors import HalftruthError

MAX_ENUMERATED = 2**21
"""Default maximum of cells, or outputs of pairs, that an audit enumerates."""

CELL_STEPS = 4
"""Audit steps of one weight, in a family whose ``fitting`` looks at the weight of every input."""

COLUMN_STEPS = 8
"""Audit steps of the least or the largest mean of a column over a ball of priors, besides those of its weights."""

PairProfile: TypeAlias = Iterable[tuple[int, int, int]]
"""(weight of x, weight of x', number of outputs with both): everything that distinguishes two inputs.

Outputs with the same ratio of the two weights may be merged into one."""


class TooLarge(HalftruthError):
    """A computation would take too many steps, because a channel or a domain is too large."""


@dataclass(frozen=True)
class OutputClass:
    """A class of outputs that have the same weights and prior masses.

    Attributes:
        y: an output of the class.
        count: number of outputs in the class.
        parts: pairs (weight, prior mass of the inputs that have this weight); all weights differ, and all masses are
            above zero.
    """

    y: int
    count: int
    parts: tuple[tuple[int, int], ...]

    @property
    def marginal(self) -> int:
        """The marginal of one output of the class: 2^scale * sum(prior) * P(y)."""
        return sum(weight * mass for weight, mass in self.parts)


class Structure:
    """The interface of a channel for audits; this implementation visits every cell.

    Attributes:
        channel: the audited channel.
        max_steps: maximum number of steps; a method that needs more raises ``TooLarge``.
    """

    def __init__(self, channel: Channel, max_steps: int = MAX_ENUMERATED) -> None:
        self.channel = channel
        self.max_steps = max_steps

    @property
    def kinds(self) -> Sequence[Sequence[int]]:
        """The inputs grouped by kind; the profile of two different inputs depends only on their kinds."""
        self.require_steps(self.channel.input_count, "comparing all its inputs")
        return [(x,) for x in range(self.channel.input_count)]

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield ordered pairs of different inputs that include the worst pair for every measure of a profile."""
        kinds = self.kinds
        self.require_steps(len(kinds) ** 2, "comparing all pairs of its inputs")
        for first in kinds:
            for second in kinds:
                if first is not second:
                    yield first[0], second[0]
                elif len(first) > 1:
                    yield first[0], first[1]

    def row(self, x: int) -> Iterable[tuple[int, int]]:
        """Return (weight, number of outputs with this weight) pairs of row ``x``; weights of 0 may be left out."""
        self.require_steps(self.channel.output_count, "listing its outputs")
        return [(self.channel.weight(x, y), 1) for y in range(self.channel.output_count)]

    @cached_property
    def _rows(self) -> list[list[int]]:
        self.require_cells()
        return [
            [self.channel.weight(x, y) for y in range(self.channel.output_count)]
            for x in range(self.channel.input_count)
        ]

    def profile(self, x: int, other: int) -> PairProfile:
        """Return the profile of two inputs: the weights of both, by class of outputs."""
        return zip(self._rows[x], self._rows[other], repeat(1))

    @property
    def profile_steps(self) -> int:
        """Number of audit steps of one ``profile``."""
        return self.channel.output_count

    @property
    def loss_steps(self) -> int:
        """Number of audit steps of the channel's ``loss`` for one pair of inputs."""
        return self.profile_steps

    @property
    def profile_scale(self) -> int:
        """The binary logarithm of the sum of a profile's weights."""
        return self.channel.scale

    def columns(self, prior: Sequence[int]) -> Iterator[OutputClass]:
        """Yield the classes of all outputs; outputs that never occur may be included.

        Args:
            prior: ``input_count`` positive integers.
        """
        self.require_cells()
        for y in range(self.channel.output_count):
            masses: dict[int, int] = {}
            for weight, mass in zip(self.column(y), prior, strict=True):
                masses[weight] = masses.get(weight, 0) + mass
            yield OutputClass(y, 1, tuple(masses.items()))

    @property
    def worst_column_steps(self) -> int:
        """Number of audit steps for the worst ratios over all ``worst_columns`` and a ball of priors (SPEC 6.11)."""
        return 2 * self.channel.output_count * (self.channel.input_count + COLUMN_STEPS)

    def worst_columns(self, prior: Sequence[int]) -> Iterator[OutputClass]:
        """Yield columns, among them the worst columns for every prior near ``prior``.

        The worst columns contain the largest and the smallest quotient weight / marginal of all columns. The priors
        near ``prior`` form a ball: each differs from it by at most some total variation. The weights of a column may
        have been multiplied by a common factor.

        Args:
            prior: ``input_count`` positive integers.
        """
        return self.columns(prior)

    def column(self, y: int) -> Sequence[int]:
        """Return the weight of output ``y`` for every input."""
        return self.channel.column(y)

    def fits(self, x: int) -> tuple[int, int, int]:
        """Return the probabilities that an output fits input ``x``, given x and given another input.

        An output fits x if its weight is the largest of row x; a bit vector fits x if bit x is set.

        Returns:
            The integers (truth, wrong, total): the probability that an output fits x is truth / total if x is the
            input, and at least wrong / total for every other input.
        """
        truth, wrong = 0, None
        for kind in self.kinds:
            other = next((member for member in kind if member != x), None)
            if other is None:
                continue
            profile = list(self.profile(x, other))
            largest = max(mine for mine, _, count in profile if count)
            truth = sum(mine * count for mine, _, count in profile if mine == largest)
            fit = sum(theirs * count for mine, theirs, count in profile if mine == largest)
            wrong = fit if wrong is None else min(wrong, fit)
        return truth, wrong or 0, 1 << self.profile_scale

    def fitting(self, y: int) -> Sequence[int]:
        """Return the inputs that an output fits, as ``fits`` defines it."""
        kinds = self.kinds
        steps = len(kinds) * self.profile_steps + CELL_STEPS * self.channel.input_count
        self.require_steps(steps, "listing its rows and the weights of the output")
        inputs = []
        for kind in kinds:
            largest = max(weight for weight, count in self.row(kind[0]) if count)
            inputs += [x for x in kind if self.channel.weight(x, y) == largest]
        return sorted(inputs)

    def marginals(self, prior: Sequence[int]) -> Sequence[int]:
        """Return 2^scale * sum(prior) * P(y) for every output y, exactly.

        Args:
            prior: the weight of each input: ``input_count`` integers, not negative.
        """
        self.require_cells()
        positive = [(x, mass) for x, mass in enumerate(prior) if mass]
        return [sum(mass * self.channel.weight(x, y) for x, mass in positive) for y in range(self.channel.output_count)]

    def row_sums(self, marginals: Sequence[int], term: Callable[[int, int], int]) -> Iterable[int]:
        """Return, for each input x, the sum over outputs y of ``term``(weight(x, y), marginals[y]); may be a
        generator."""
        self.require_cells()
        for x in range(self.channel.input_count):
            yield sum(term(self.channel.weight(x, y), marginal) for y, marginal in enumerate(marginals))

    def largest_posterior(self, prior: Sequence[int], inputs: Sequence[int]) -> tuple[int, int, int]:
        """Return the largest posterior P(x|y) over all outputs y and the given inputs x, exactly, and an input with it.

        Args:
            prior: ``input_count`` positive integers.
        Returns:
            The integers (numerator, denominator, x).
        """
        self.require_cells()
        best = (0, 1, inputs[0])
        for y in range(self.channel.output_count):
            column = [weight * mass for weight, mass in zip(self.column(y), prior, strict=True)]
            marginal, x = sum(column), max(inputs, key=column.__getitem__)
            if column[x] * best[1] > best[0] * marginal:
                best = (column[x], marginal, x)
        return best

    def require_steps(self, steps: int, work: str) -> None:
        """Refuse a computation that takes too many steps.

        Args:
            work: the work that needs the steps, as the subject of "takes" in the error.
        Raises:
            TooLarge: ``steps`` is above ``max_steps``.
        """
        if steps > self.max_steps:
            raise TooLarge(
                f"a {self.channel.family} channel of {self.channel.input_count:,} inputs is too large: {work} takes "
                f"more than {self.max_steps:,} steps"
            )

    def require_cells(self) -> None:
        """Refuse a channel with too many cells.

        Raises:
            TooLarge: more than ``max_steps`` cells.
        """
        self.require_steps(self.channel.input_count * self.channel.output_count, "listing its cells")
