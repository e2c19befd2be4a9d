"""The interface of audits to a channel: pairs of inputs, columns, marginals, row sums.

A large channel is never walked through. Its outputs fall into few classes: as a pair of inputs sees them, and
as a prior sees them; a structured family names the classes and how many outputs each has, and every level is a sum or
a maximum over classes. ``Structure`` asks four questions and answers them cell by cell; a family that has a faster way
overrides them, and is registered by ``structure_of``.

Every answer is in integers over 2^scale; what is computed from them: pairs, priors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import TypeAlias

from protocol.channels.channel import Channel
from protocol.errors import HalftruthError

MOST_STEPS = 2**21
"""The most cells, or outputs of pairs, that an audit walks through unless it is told otherwise."""

Profile: TypeAlias = Iterable[tuple[int, int, int]]
"""(weight of x, weight of x', how many outputs have both): the whole of what tells two inputs apart.

Outputs where the two stand in the same ratio may be added up to one."""


class TooLarge(HalftruthError):
    """The level is not computed: the channel is too large, and its family has no faster method."""


@dataclass(frozen=True)
class OutputClass:
    """A class of outputs that a prior sees alike.

    Attributes:
        y: one of them.
        count: how many there are.
        parts: (weight, prior mass of the inputs that give it) pairs, weights different, masses above zero.
    """

    y: int
    count: int
    parts: tuple[tuple[int, int], ...]

    @property
    def marginal(self) -> int:
        """2^scale * sum(prior) * P(y)."""
        return sum(weight * mass for weight, mass in self.parts)


class Structure:
    """A channel as audits see it; this one looks at each cell.

    Attributes:
        channel: what is audited.
        most: the most steps of a walk; more raise ``TooLarge``.
    """

    def __init__(self, channel: Channel, most: int = MOST_STEPS) -> None:
        self.channel = channel
        self.most = most

    @property
    def kinds(self) -> Sequence[Sequence[int]]:
        """Inputs by kind: the profile of two different inputs depends on their kinds alone."""
        self.require_steps(self.channel.inputs, "its inputs are all of different kinds")
        return [(x,) for x in range(self.channel.inputs)]

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Ordered pairs of different inputs, among them the worst by any measure of a profile."""
        kinds = self.kinds
        self.require_steps(len(kinds) ** 2, "too many pairs of inputs differ")
        for first in kinds:
            for second in kinds:
                if first is not second:
                    yield first[0], second[0]
                elif len(first) > 1:
                    yield first[0], first[1]

    def row(self, x: int) -> Iterable[tuple[int, int]]:
        """(weight, how many outputs have it) pairs of input ``x``; weights of 0 may be left out."""
        self.require_steps(self.channel.outputs, "it has too many outputs")
        return [(self.channel.weight(x, y), 1) for y in range(self.channel.outputs)]

    @cached_property
    def _rows(self) -> list[list[int]]:
        self.require_cells()
        return [[self.channel.weight(x, y) for y in range(self.channel.outputs)] for x in range(self.channel.inputs)]

    def profile(self, x: int, other: int) -> Profile:
        """Return the profile of two inputs: the weights of both, by class of outputs."""
        return zip(self._rows[x], self._rows[other], repeat(1))

    @property
    def profile_steps(self) -> int:
        """Steps that one profile takes."""
        return self.channel.outputs

    @property
    def loss_steps(self) -> int:
        """Steps that the channel's loss of one pair takes."""
        return self.profile_steps

    @property
    def profile_scale(self) -> int:
        """log2 of what the weights of a profile sum to."""
        return self.channel.scale

    def columns(self, prior: Sequence[int]) -> Iterator[OutputClass]:
        """All outputs by class; among them some that are never seen.

        Args:
            prior: ``inputs`` positive integers.
        """
        self.require_cells()
        for y in range(self.channel.outputs):
            masses: dict[int, int] = {}
            for weight, mass in zip(self.column(y), prior, strict=True):
                masses[weight] = masses.get(weight, 0) + mass
            yield OutputClass(y, 1, tuple(masses.items()))

    @property
    def lift_steps(self) -> int:
        """Steps of the worst ratios over all ``lifts`` and priors near one (SPEC 6.11)."""
        return 2 * self.channel.inputs * self.channel.outputs

    def lifts(self, prior: Sequence[int]) -> Iterator[OutputClass]:
        """Columns, among them those where a weight is largest, and least, beside the mean under any prior that is
        reached from ``prior`` by moving mass or by factors, the same for all inputs.

        Each may be given up to a factor of its weights.

        Args:
            prior: ``inputs`` positive integers.
        """
        return self.columns(prior)

    def column(self, y: int) -> Sequence[int]:
        """The weight of output ``y`` for every input."""
        return [self.channel.weight(x, y) for x in range(self.channel.inputs)]

    def fits(self, x: int) -> tuple[int, int, int]:
        """How often an output fits input ``x``: it is one of those that x makes likeliest; of independent bits, the
        bit of x is set.

        Returns:
            (truth, wrong, whole): an output fits x with probability truth / whole where x is the input, and with
            wrong / whole at least where it is another, whichever.
        """
        truth, wrong = 0, None
        for kind in self.kinds:
            other = next((found for found in kind if found != x), None)
            if other is None:
                continue
            profile = list(self.profile(x, other))
            likeliest = max(mine for mine, _, count in profile if count)
            truth = sum(mine * count for mine, _, count in profile if mine == likeliest)
            fit = sum(theirs * count for mine, theirs, count in profile if mine == likeliest)
            wrong = fit if wrong is None else min(wrong, fit)
        return truth, wrong or 0, 1 << self.profile_scale

    def fitting(self, y: int) -> Sequence[int]:
        """The inputs that an output fits: those that make it as likely as any; of independent bits, those whose bit is
        set.

        Raises:
            TooLarge
        """
        kinds = self.kinds
        self.require_steps(len(kinds) * self.profile_steps, "every row would be looked at")
        found = []
        for kind in kinds:
            likeliest = max(weight for weight, count in self.row(kind[0]) if count)
            found += [x for x in kind if self.channel.weight(x, y) == likeliest]
        return sorted(found)

    def marginals(self, law: Sequence[int]) -> Sequence[int]:
        """2^scale * sum(law) * P(y) for every output.

        Args:
            law: ``inputs`` integers, not negative.
        """
        self.require_cells()
        held = [(x, mass) for x, mass in enumerate(law) if mass]
        return [sum(mass * self.channel.weight(x, y) for x, mass in held) for y in range(self.channel.outputs)]

    def row_sums(self, marginals: Sequence[int], of: Callable[[int, int], int]) -> Iterable[int]:
        """For each input x the sum over outputs of ``of``(weight(x, y), marginals[y])."""
        self.require_cells()
        for x in range(self.channel.inputs):
            yield sum(of(self.channel.weight(x, y), marginal) for y, marginal in enumerate(marginals))

    def belief(self, prior: Sequence[int], inputs: Sequence[int]) -> tuple[int, int]:
        """The largest P(x|y) over all outputs and the given inputs, as a ratio of integers.

        Args:
            prior: ``inputs`` positive integers.
        """
        self.require_cells()
        best = (0, 1)
        for y in range(self.channel.outputs):
            column = [weight * mass for weight, mass in zip(self.column(y), prior, strict=True)]
            marginal, most = sum(column), max(column[x] for x in inputs)
            if most * best[1] > best[0] * marginal:
                best = (most, marginal)
        return best

    def require_steps(self, steps: int, why: str) -> None:
        """Refuse a walk of more than ``most`` steps.

        Raises:
            TooLarge
        """
        if steps > self.most:
            raise TooLarge(f"a {self.channel.family} channel of {self.channel.inputs} inputs is too large: {why}")

    def require_cells(self) -> None:
        """Refuse a walk through all cells where these are more than ``most``.

        Raises:
            TooLarge
        """
        self.require_steps(self.channel.inputs * self.channel.outputs, "it would be walked through cell by cell")
