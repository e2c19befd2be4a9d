"""Geo-indistinguishability: the bound of two inputs is proportional to their distance (Andres et al. 2013).

Inputs are points with integer coordinates, and the bound of a pair is the level times its distance. The distance d is
the root of an integer, so the bound is rounded down without a float: floor(root(level^2 d^2 / unit^2)).

The author's tools (aggregator.families.noise) choose the coordinates: steps, numbers, degrees or kilometres.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby, pairwise
from operator import floordiv
from typing import ClassVar, TypeAlias, TypeGuard

from protocol import codec, exact, runs
from protocol.channels import Channel, Loss
from protocol.channels.noise.channel import MAX_LATTICE_POINTS, Noise
from protocol.errors import NotionError, Uncertified
from protocol.notions.pairwise import Pairwise

Axis: TypeAlias = tuple[tuple[int, int], ...]
"""(gap, number of repetitions) between neighbouring coordinates, in order; neighbouring entries differ in the gap."""

MAX_EXTENT = 2**62
MAX_PAIR_CELLS = 2**21
"""Maximum number of pairs of inputs, times the number of outputs, for an audit pair by pair."""

WEIGHT_STEPS = 32
"""Audit steps of one weight, at most: a weight in a projective geometry takes two points of up to 19 coordinates."""

MAX_BOUND = 128 * exact.NANONATS
"""A larger bound counts as this one: every finite ratio of weights of the audited channels is below e^128."""

_KEY_BITS = 64


@dataclass(frozen=True)
class Geo(Pairwise):
    """Geo-indistinguishability: ln Q(y|x) - ln Q(y|x') <= level * distance(x, x') / unit for all y, x, x'.

    The distance is Euclidean. The inputs are the points of a rectangular lattice: input row * columns + column.

    Attributes:
        level: nanonats per unit of distance. The bound of two distant points may exceed the largest level that a
            campaign may declare.
        unit: the unit of distance, in units of the coordinates; the greatest common divisor of the unit and all gaps is
            1.
        down: the gaps between rows; empty for a single row.
        across: the gaps between columns.
    Raises:
        NotionError: an attribute is invalid, or does not fit the others.
    """

    unit: int
    down: Axis
    across: Axis
    name: ClassVar[str] = "geo"

    def __post_init__(self) -> None:
        super().__post_init__()
        for axis in (self.down, self.across):
            for gap, count in axis:
                if gap < 1:
                    raise NotionError(f"a gap between neighbouring points must be at least 1, not {gap}")
                if count < 1:
                    raise NotionError(f"a gap must occur at least once, not {count} times")
            if any(gap == after for (gap, _), (after, _) in pairwise(axis)):
                raise NotionError(
                    "neighbouring entries have the same gap: write them as one entry with the sum of their counts"
                )
            if (extent := sum(gap * count for gap, count in axis)) > MAX_EXTENT:
                raise NotionError(f"the gaps of an axis must sum to at most 2^62, not to {extent}")
        if not 2 <= self.rows * self.columns <= MAX_LATTICE_POINTS:
            raise NotionError(f"geo must have 2 to {MAX_LATTICE_POINTS} points, not {self.rows * self.columns}")
        if not 1 <= self.unit <= MAX_EXTENT:
            raise NotionError(f"the unit of distance must lie in 1 .. 2^62, not {self.unit}")
        if math.gcd(self.unit, *(gap for gap, _ in self.down + self.across)) != 1:
            raise NotionError("the unit of distance and the gaps have a common factor: divide them by it")

    @classmethod
    def between(cls, level: int, unit: int, rows: Sequence[int], columns: Sequence[int]) -> Geo:
        """Return the notion for increasing coordinates of rows and columns; unit and gaps are divided by their common
        divisor.

        Raises:
            NotionError: the unit and all gaps are 0, or the notion is invalid.
        """
        factor = math.gcd(unit, *(b - a for axis in (rows, columns) for a, b in pairwise(axis)))
        if factor < 1:
            raise NotionError("the unit of distance and all gaps are 0: give a unit above 0 and different coordinates")
        return cls(level, unit // factor, _axis(rows, factor), _axis(columns, factor))

    @property
    def rows(self) -> int:
        return 1 + sum(count for _, count in self.down)

    @property
    def columns(self) -> int:
        return 1 + sum(count for _, count in self.across)

    @property
    def is_line(self) -> bool:
        """True if all points lie in one row or column."""
        return not (self.down and self.across)

    @property
    def smallest_gap(self) -> int:
        """The smallest gap between neighbours, in units of the coordinates."""
        return min(gap for gap, _ in self.down + self.across)

    @property
    def input_count(self) -> int | None:
        return self.rows * self.columns

    @cached_property
    def coordinates(self) -> tuple[tuple[int, int], ...]:
        return tuple((row, column) for row in _coordinates(self.down) for column in _coordinates(self.across))

    @property
    def inputs_by_class(self) -> tuple[tuple[int], ...]:
        return tuple((x,) for x in range(self.rows * self.columns))

    def bound(self, x: int, other: int) -> int:
        """Return floor(level * distance / unit), in nanonats."""
        return math.isqrt(self.level**2 * self._square(x, other) // self.unit**2)

    def bounds(self) -> Iterator[tuple[int, int, int]]:
        for x in range(self.rows * self.columns):
            for other in range(self.rows * self.columns):
                if x != other:
                    yield x, other, self.bound(x, other)

    def audit_steps(self, channel: Channel) -> int:
        everything = channel.selected(range(channel.input_count))
        steps = 2 * channel.input_count + channel.pair_steps(everything, everything)
        if self._on_lattice(channel):
            return steps + channel.shift_steps
        pairs, weights = channel.input_count**2, channel.input_count * channel.output_count
        by_pair = pairs * (channel.output_count + 16) + WEIGHT_STEPS * weights
        return steps + (by_pair if pairs * channel.output_count <= MAX_PAIR_CELLS else 0)

    def _on_lattice(self, channel: Channel) -> TypeGuard[Noise]:
        return isinstance(channel, Noise) and (channel.rows, channel.columns) == (self.rows, self.columns)

    def audit(self, channel: Channel) -> tuple[bool, int, Loss]:
        """Return whether every pair provably satisfies its bound, the smallest level per unit that is proved for all
        pairs, and the worst pair.

        Noise on the same lattice is audited shift by shift (SPEC 6.4). Other channels are audited pair by pair if the
        number of pairs times outputs is at most ``MAX_PAIR_CELLS``. In a larger channel, the worst ratio must satisfy
        the bound of the nearest pair, which is stricter.

        Raises:
            Uncertified: a ratio is infinite.
        """
        everything = channel.selected(range(channel.input_count))
        worst = channel.loss(everything, everything)
        if worst.denominator == 0:
            raise Uncertified(
                f"{self.name} bounds every pair of inputs, but input {worst.x} can give output "
                f"{channel.spelled(worst.y)}, and input {worst.other} cannot: choose a channel in which every input "
                "can give this output"
            )
        audited, witness = 0, worst
        for loss, square in self._losses(channel, worst):
            bound = math.isqrt(audited**2 * square // self.unit**2)
            if exact.satisfies(loss.numerator, loss.denominator, min(bound, MAX_BOUND)):
                continue
            level = loss.level
            if level is None:
                raise ValueError("a ratio is infinite, although the largest ratio is finite")
            # This is the smallest L with floor(root(L^2 square / unit^2)) >= level.
            audited, witness = math.isqrt(-(-(level**2 * self.unit**2) // square) - 1) + 1, loss
        return audited <= self.level, audited, witness

    def _losses(self, channel: Channel, worst: Loss) -> Iterator[tuple[Loss, int]]:
        """Yield the worst ratios of sets of pairs that together contain all pairs, each with a lower bound of the
        squared distance of these pairs."""
        if self._on_lattice(channel):
            down, across = _nearest(_coordinates(self.down)), _nearest(_coordinates(self.across))
            for rows, columns, loss in channel.losses_by_shift():
                yield loss, down[abs(rows)] ** 2 + across[abs(columns)] ** 2
        elif channel.input_count**2 * channel.output_count <= MAX_PAIR_CELLS:
            yield from self._losses_by_pair(channel)
        else:
            yield worst, self.smallest_gap**2

    def _losses_by_pair(self, channel: Channel) -> Iterator[tuple[Loss, int]]:
        """Yield (worst ratio, squared distance) for each ordered pair of different inputs."""
        rows = [[channel.weight(x, y) for y in range(channel.output_count)] for x in range(channel.input_count)]
        # No ratio is infinite here, so a weight of 0 means that no input gives this output; 1 avoids a division by
        # zero.
        unlikely = [[weight or 1 for weight in row] for row in rows]
        for x, row in enumerate(rows):
            likely = [weight << _KEY_BITS for weight in row]
            for other, theirs in enumerate(unlikely):
                if x != other:
                    # map() computes floor(2^64 ratio) without a Python loop; only outputs with the largest key are
                    # compared exactly.
                    keys = list(map(floordiv, likely, theirs))
                    largest = max(keys)
                    output = keys.index(largest)
                    for y in range(output + 1, len(keys)):
                        if keys[y] == largest and row[y] * theirs[output] > row[output] * theirs[y]:
                            output = y
                    loss = Loss(row[output], theirs[output], x, other, output)
                    yield loss, self._square(x, other)

    def _square(self, x: int, other: int) -> int:
        """Return the squared distance, in squared units of the coordinates."""
        (row, column), (other_row, other_column) = self.coordinates[x], self.coordinates[other]
        return (row - other_row) ** 2 + (column - other_column) ** 2

    def encode(self) -> codec.Value:
        return [self.name, self.level, self.unit, runs.encode(self.down), runs.encode(self.across)]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Geo:
        _, level, unit, down, across = codec.fields(value, 5, cls.name, NotionError)
        return cls(
            codec.integer(level, "a level", NotionError),
            codec.integer(unit, "the unit of distance", NotionError),
            _axis_from_wire(down),
            _axis_from_wire(across),
        )


def _axis(coordinates: Sequence[int], factor: int) -> Axis:
    gaps = [(b - a) // factor for a, b in pairwise(coordinates)]
    return tuple((gap, len(list(run))) for gap, run in groupby(gaps))


def _axis_from_wire(value: codec.Value) -> Axis:
    flat = codec.integers(value, "a gap or its count", NotionError, 1, MAX_EXTENT)
    if len(flat) % 2:
        raise NotionError(
            f"an axis must be pairs of a gap and its count, so an even number of integers, not {len(flat)}"
        )
    if sum(flat[1::2]) > MAX_LATTICE_POINTS:
        raise NotionError(f"an axis must have at most {MAX_LATTICE_POINTS} gaps, not {sum(flat[1::2])}")
    return tuple(zip(flat[::2], flat[1::2], strict=True))


def _coordinates(axis: Axis) -> list[int]:
    """Return the coordinates along an axis, from 0, computed from its gaps."""
    return list(accumulate((gap for gap, count in axis for _ in range(count)), initial=0))


def _nearest(coordinates: Sequence[int]) -> list[int]:
    """Return, for each s from 0, the least distance of two coordinates that are s positions apart."""
    apart = (zip(coordinates, coordinates[shift:], strict=False) for shift in range(len(coordinates)))
    return [min(b - a for a, b in pairs) for pairs in apart]
