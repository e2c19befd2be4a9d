"""Graded projective response: budgets that differ by value, in little more than log2 k bits (SPEC 5.12).

Inputs and outputs are the points of a projective geometry, as in projective response. An input gives each point
orthogonal to it with a larger probability than any other point. The ratio of the two probabilities depends on the class
of the input: values that need less protection have a larger contrast. With f = cs / K and the contrast c_x of x,

    Q(y|x) = e^c_x / (K g_x)  in S_x,   1 / (K g_x)  elsewhere,   g_x = f e^c_x + 1 - f      (MATH 4.5)

All S_x have one size, so a larger inside weight means a smaller outside weight. So for all classes, the ratio Q(y|x) /
Q(y|x') is largest for the outputs that are in S_x and not in S_x'. The level of the pair is

    ln (inside_x / outside_x') = c_x + ln g_x' - ln g_x

The three other kinds of output have smaller ratios. Each class has two weights, which make a row sum to exactly 2^128:
K - cs is congruent to 1 modulo cs, so every outside weight that is congruent to 2^128 modulo cs leaves a whole inside
weight.

This channel is new. It uses the design of Feldman, Nelson, Nguyen, Talwar 2022. The idea of one budget for each value
is from Gu, Li, Xiong, Cao 2020, whose channel needs one bit for each value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from protocol import codec, runs
from protocol.channels.channel import PAIR_STEPS, Channel, Loss, best_two
from protocol.channels.projective.channel import geometry_for
from protocol.channels.projective.field import MAX_ORDER
from protocol.channels.projective.geometry import MAX_DIMENSION, ProjectiveGeometry
from protocol.channels.support import SCALE, WEIGHT_BYTES, evenly_shared, outside_from_wire
from protocol.errors import ChannelError
from protocol.runs import Runs, blocks_of, require_runs, runs_of

MAX_INPUT_CLASSES = 64
"""Maximum number of input classes, equal to ``MAX_BUDGET_CLASSES`` of a graded notion."""


@dataclass(frozen=True)
class GradedProjective(Channel):
    """Graded projective response: Q(y given x) = inside / 2^128 where <x, y> = 0, else outside / 2^128, by the class of
    x.

    Attributes:
        order, dimension: the order q of the field and the number t of coordinates.
        outside: for each input class, the weight of an output that is not orthogonal to the input; positive, below the
            inside weight, and congruent to 2^128 modulo cs. No two classes have the same weight.
        runs: (input class, length) pairs in input order; at least two classes, numbered from 0 in order of first
            appearance.
        inside: for each class, the weight of an output that is orthogonal to the input.
        geometry: the projective geometry, whose points are the inputs and the outputs.
        class_of: the input class of each input.
    Raises:
        ChannelError: an attribute is invalid, or does not fit the others.
    """

    order: int
    dimension: int
    outside: tuple[int, ...]
    runs: Runs
    inside: tuple[int, ...] = field(init=False, repr=False, compare=False)
    geometry: ProjectiveGeometry = field(init=False, repr=False, compare=False)
    input_count: int = field(init=False, repr=False, compare=False)
    output_count: int = field(init=False, repr=False, compare=False)
    class_of: Sequence[int] = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "graded"
    scale: ClassVar[int] = SCALE
    rand_bytes: ClassVar[int] = SCALE // 8

    def __post_init__(self) -> None:
        require_runs(self.runs, 0, ChannelError)
        classes = 1 + max((number for number, _ in self.runs), default=-1)
        if not 2 <= classes <= MAX_INPUT_CLASSES or len(self.outside) != classes:
            raise ChannelError(
                f"a graded channel must have 2 to {MAX_INPUT_CLASSES} input classes with one outside weight each, "
                f"not {classes} with {len(self.outside)}"
            )
        if len(set(self.outside)) != classes:
            raise ChannelError("two input classes have equal outside weights: write them as one")
        input_count = sum(length for _, length in self.runs)
        geometry = geometry_for(input_count, self.order, self.dimension)
        points, support = geometry.point_count, geometry.support
        inside = tuple(evenly_shared(outside, support, points - support) for outside in self.outside)
        self._derive(input_count=input_count, output_count=points, geometry=geometry)
        self._derive(class_of=blocks_of(self.runs), inside=inside)

    @classmethod
    def over(cls, order: int, dimension: int, outside: Iterable[int]) -> GradedProjective:
        """Return the channel for an outside weight per input."""
        numbers: dict[int, int] = {}
        classes = [numbers.setdefault(weight, len(numbers)) for weight in outside]
        return cls(order, dimension, tuple(numbers), runs_of(classes))

    def weight(self, x: int, y: int) -> int:
        weights = self.inside if self.geometry.orthogonal(x, y) else self.outside
        return weights[self.class_of[x]]

    def sample(self, x: int, rand: bytes) -> int:
        self._require_draw(x, rand)
        number = self.class_of[x]
        return self.geometry.sample(x, int.from_bytes(rand, "big"), self.inside[number], self.outside[number])

    def selected(self, inputs: Sequence[int]) -> Sequence[int]:
        return sorted(best_two(inputs, self._outside_of))

    def _outside_of(self, x: int) -> int:
        return self.outside[self.class_of[x]]

    def loss(self, first: Sequence[int], second: Sequence[int]) -> Loss:
        # The class with the smallest outside weight also has the largest inside weight. Two candidates are kept for
        # each side, because the best of both sides may be the same input.
        firsts, seconds = best_two(first, self._outside_of), best_two(second, self._outside_of)
        worst, place = Fraction(1), (first[0], second[0])
        for x in firsts:
            for other in seconds:
                ratio = Fraction(self.inside[self.class_of[x]], self._outside_of(other))
                if x != other and ratio > worst:
                    worst, place = ratio, (x, other)
        y = self.geometry.distinguishing(*place) if worst > 1 else 0
        return Loss(worst.numerator, worst.denominator, *place, y)

    def pair_steps(self, first: Sequence[int], second: Sequence[int]) -> int:
        return 2 * PAIR_STEPS  # finding the witness computes up to 24 coordinates

    @property
    def prior_steps(self) -> int:
        classes = len(self.outside)
        return (classes + 1) * (
            self.input_count + self.geometry.mass_steps(self.input_count)
        ) + 2 * classes * self.output_count

    def masses_of(self, prior: Sequence[int], number: int) -> list[int]:
        """Return, for each output, the prior mass of the inputs of class ``number`` that are orthogonal to it."""
        return self.geometry.masses([mass if c == number else 0 for mass, c in zip(prior, self.class_of, strict=True)])

    def marginals(self, prior: Sequence[int]) -> list[int]:
        """Return 2^128 times the sum over inputs of prior[x] Q(y|x), for each output.

        Args:
            prior: the weight of each input: ``input_count`` integers.
        """
        gaps = [inside - outside for inside, outside in zip(self.inside, self.outside, strict=True)]
        base = sum(mass * self.outside[c] for mass, c in zip(prior, self.class_of, strict=True))
        raised = self.geometry.masses([mass * gaps[c] for mass, c in zip(prior, self.class_of, strict=True)])
        return [base + mass for mass in raised]

    def loss_against_prior(self, prior: Sequence[int]) -> Loss:
        """Return the worst lift.

        For some class, one of two outputs reaches it: the least likely output that an input of the class prefers, or
        the most likely output that an input of the class does not prefer.
        """
        total, marginals = sum(prior), self.marginals(prior)
        worst = Loss(1, 1, 0, None, 0)
        for number, members in enumerate(self.inputs_by_class):
            masses = self.masses_of(prior, number)
            class_mass = sum(map(prior.__getitem__, members))
            rarest = min((y for y, mass in enumerate(masses) if mass), key=marginals.__getitem__)
            most_frequent = max((y for y, mass in enumerate(masses) if mass < class_mass), key=marginals.__getitem__)
            up = Loss(self.inside[number] * total, marginals[rarest], -1, None, rarest)
            down = Loss(marginals[most_frequent], self.outside[number] * total, -1, None, most_frequent)
            for candidate, preferred in ((up, True), (down, False)):
                if candidate.worse_than(worst):
                    y = candidate.y
                    x = next(x for x in members if self.geometry.orthogonal(x, y) is preferred)
                    worst = Loss(candidate.numerator, candidate.denominator, x, None, y)
        return worst

    @cached_property
    def inputs_by_class(self) -> Sequence[Sequence[int]]:
        return runs.members_of(self.runs)

    def encode(self) -> codec.Value:
        weights: list[codec.Value] = [outside.to_bytes(WEIGHT_BYTES, "big") for outside in self.outside]
        return [self.family, self.order, self.dimension, weights, runs.encode(self.runs)]

    @classmethod
    def from_wire(cls, value: codec.Value) -> GradedProjective:
        _, order, dimension, weights, blocks = codec.fields(value, 5, "a graded channel", ChannelError)
        return cls(
            codec.integer(order, "the order of a field", ChannelError, 2, MAX_ORDER),
            codec.integer(dimension, "the number of coordinates", ChannelError, 2, MAX_DIMENSION),
            tuple(map(outside_from_wire, codec.array(weights, "the outside weights", ChannelError))),
            runs.decode(blocks, ChannelError),
        )
