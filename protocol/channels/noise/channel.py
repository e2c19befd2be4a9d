"""Noise: a random step on a lattice of points, stopped at its border (SPEC 5.8).

The distribution of the step does not depend on where the step starts, so one distribution serves all points. A step
that would leave the lattice ends on its border. So a row of the channel is a part of the step distribution, and the
mass beyond each end is added to that end.

    discrete Laplace, discrete Gaussian      rows = 1: a line of points
    planar noise                             a grid of cells

aggregator.families.noise chooses the step distribution for a notion.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from operator import floordiv
from typing import ClassVar, TypeAlias

from protocol import codec
from protocol.channels.channel import PAIR_STEPS, Channel, Loss
from protocol.errors import ChannelError

NOISE_SCALE = 62
MAX_LATTICE_POINTS = 2**12

WeightRows: TypeAlias = list[list[int]]
"""Weights, or sums of weights, by row and column."""

_KEY_BITS = 64


@dataclass(frozen=True)
class _AxisPart:
    """The inner points, the first point or the last point of one axis.

    Attributes:
        kind: 0 for the inner points; 1 for the first point, and 2 for the last point, which also receive all steps
            beyond them.
        first, last: the first and the last point of this kind.
    """

    kind: int
    first: int
    last: int

    def steps(self, size: int, shift: int) -> tuple[int, int]:
        """Return the smallest and the largest step from an x to a point of this kind, if x and x + shift are two of the
        ``size`` points of the axis."""
        return self.first - (size - 1) + max(shift, 0), self.last + min(shift, 0)


@dataclass(frozen=True)
class Noise(Channel):
    """The channel y = x plus a random step, with each coordinate clamped to the border; x and y are row * columns +
    column.

    Attributes:
        rows, columns: the lattice, at least two columns and at most ``MAX_LATTICE_POINTS`` points; a line has one row.
        step_weights: the weight of each step; the weights of all steps sum to 2^62. A symmetric distribution must be
            given as rows x columns integers, for the steps (r, c) with 0 <= r < rows and 0 <= c < columns; each also
            applies to its mirror images. Any other distribution is given as (2 rows - 1) x (2 columns - 1) integers,
            beginning with the step (-(rows - 1), -(columns - 1)).
    Raises:
        ChannelError: an attribute is invalid, or does not fit the others.
    """

    rows: int
    columns: int
    step_weights: tuple[int, ...]
    input_count: int = field(init=False, repr=False, compare=False)
    output_count: int = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "noise"
    scale: ClassVar[int] = NOISE_SCALE
    rand_bytes: ClassVar[int] = 8

    def __post_init__(self) -> None:
        if self.rows < 1 or self.columns < 2 or self.rows * self.columns > MAX_LATTICE_POINTS:
            raise ChannelError(
                "the lattice of a noise channel must have at least 1 row and 2 columns, and at most "
                f"{MAX_LATTICE_POINTS} points, not {self.rows} x {self.columns}"
            )
        if len(self.step_weights) not in (self.rows * self.columns, self._height * self._width):
            raise ChannelError(
                f"a distribution of steps must have {self.rows * self.columns} weights if it is symmetric, otherwise "
                f"{self._height * self._width}, not {len(self.step_weights)}"
            )
        if min(self.step_weights) < 0:
            raise ChannelError(f"the weight of a step must be at least 0, not {min(self.step_weights)}")
        if (total := sum(map(sum, self._steps))) != 1 << NOISE_SCALE:
            raise ChannelError(f"the weights of all steps must sum to 2^{NOISE_SCALE}, not to {total}")
        if not self.mirrored and self._steps == self._steps[::-1] == [row[::-1] for row in self._steps]:
            raise ChannelError(f"the distribution of steps is symmetric: give only {self.rows * self.columns} weights")
        self._derive(input_count=self.rows * self.columns, output_count=self.rows * self.columns)

    @property
    def mirrored(self) -> bool:
        """True if the step distribution is symmetric in both axes."""
        return len(self.step_weights) == self.rows * self.columns

    @property
    def _height(self) -> int:
        return 2 * self.rows - 1

    @property
    def _width(self) -> int:
        return 2 * self.columns - 1

    @cached_property
    def _steps(self) -> WeightRows:
        """The weight of step (r, c) at [r + rows - 1][c + columns - 1]."""
        across = self.columns if self.mirrored else self._width
        steps = [list(self.step_weights[start : start + across]) for start in range(0, len(self.step_weights), across)]
        if self.mirrored:
            steps = [row[:0:-1] + row for row in steps]
            steps = steps[:0:-1] + steps
        return steps

    @cached_property
    def _tables(self) -> tuple[tuple[WeightRows, WeightRows, WeightRows], ...]:
        """The sums of ``_steps`` over the steps that end at the same point, by [kind of row][kind of column]."""
        by_row = (self._steps, _sums_down(self._steps), _sums_down(self._steps[::-1])[::-1])
        return tuple(
            (table, [list(accumulate(row)) for row in table], [list(accumulate(row[::-1]))[::-1] for row in table])
            for table in by_row
        )

    @cached_property
    def _mirror_tables(self) -> tuple[tuple[WeightRows, WeightRows, WeightRows], ...]:
        """The tables of ``_tables`` with each row reversed, so that a slice of a row is in increasing order of the
        input."""
        return tuple(
            tuple([row[::-1] for row in table] for table in tables)  # type: ignore[misc]  # three tables each
            for tables in self._tables
        )

    @cached_property
    def _cumulative(self) -> list[int]:
        return list(accumulate(weight for row in self._steps for weight in row))

    def weight(self, x: int, y: int) -> int:
        (row, column), (to_row, to_column) = divmod(x, self.columns), divmod(y, self.columns)
        table = self._tables[_kind(to_row, self.rows)][_kind(to_column, self.columns)]
        return table[to_row - row + self.rows - 1][to_column - column + self.columns - 1]

    def column(self, y: int) -> list[int]:
        row, column = divmod(y, self.columns)
        table = self._mirror_tables[_kind(row, self.rows)][_kind(column, self.columns)]
        window = slice(self.columns - 1 - column, 2 * self.columns - 1 - column)
        return [weight for step in range(row + self.rows - 1, row - 1, -1) for weight in table[step][window]]

    def sample(self, x: int, rand: bytes) -> int:
        self._require_draw(x, rand)
        place = bisect_right(self._cumulative, int.from_bytes(rand, "big") >> (64 - NOISE_SCALE))
        (row, column), (down, across) = divmod(x, self.columns), divmod(place, self._width)
        row, column = row + down - (self.rows - 1), column + across - (self.columns - 1)
        return self.columns * _stopped(row, self.rows) + _stopped(column, self.columns)

    def pair_steps(self, first: Sequence[int], second: Sequence[int]) -> int:
        return PAIR_STEPS + self.output_count * (64 + self.input_count + len(first) + len(second)) // 8

    @property
    def prior_steps(self) -> int:
        return self.input_count * self.output_count

    def loss(self, first: Sequence[int], second: Sequence[int]) -> Loss:
        worst = Loss(1, 1, first[0], second[0], 0)
        for y in range(self.output_count):
            column = self.column(y)
            largest = max(map(column.__getitem__, first))
            smallest = min(map(column.__getitem__, second))
            if largest * worst.denominator > worst.numerator * smallest:
                x = next(x for x in first if column[x] == largest)
                other = next(other for other in second if column[other] == smallest)
                worst = Loss(largest, smallest, x, other, y)
        return worst

    @property
    def shift_steps(self) -> int:
        """Number of audit steps of ``losses_by_shift`` (SPEC 6.11)."""
        shifts = self.input_count if self.mirrored else self._height * self._width
        return shifts * (3 * self.input_count + 96 * self.rows)

    def losses_by_shift(self) -> Iterator[tuple[int, int, Loss]]:
        """Yield (r, c, ratio): the worst Q(y given x) / Q(y given x') over all y and all pairs with x' = x + (r, c).

        Every shift except (0, 0) is yielded; for a symmetric distribution only shifts with r, c >= 0, because the
        others have the same ratios. Outputs that neither input of a pair gives are skipped.

        Raises:
            ValueError: a ratio is infinite. ``loss`` finds such a pair.
        """
        for down in range(0 if self.mirrored else 1 - self.rows, self.rows):
            for across in range(0 if self.mirrored else 1 - self.columns, self.columns):
                if down or across:
                    yield down, across, self._shift_loss(down, across)

    def _shift_loss(self, down: int, across: int) -> Loss:
        """Return the worst ratio of all pairs of inputs with x' = x + (down, across).

        Raises:
            ValueError: the ratio is infinite.
        """
        best = -1
        candidates: list[tuple[_AxisPart, _AxisPart, int]] = []
        for vertical in _axis_parts(self.rows):
            first_step, last_step = vertical.steps(self.rows, down)
            for horizontal in _axis_parts(self.columns):
                start, stop = horizontal.steps(self.columns, across)
                start, stop = start + self.columns - 1, stop + self.columns
                mine, theirs = self._keys[vertical.kind][horizontal.kind]
                for step in range(first_step + self.rows - 1, last_step + self.rows):
                    # floor(2^64 ratio) is compared first because it needs no Python code for each ratio; it is exact to
                    # 2^-64.
                    ratios = map(floordiv, mine[step][start:stop], theirs[step - down][start - across : stop - across])
                    largest = max(ratios, default=-1)
                    if largest >= best:
                        candidates = [place for place in candidates if largest == best] + [(vertical, horizontal, step)]
                        best = largest
        worst = Loss(0, 1, 0, 0, 0)
        for vertical, horizontal, step in candidates:
            table = self._tables[vertical.kind][horizontal.kind]
            start, stop = horizontal.steps(self.columns, across)
            for c in range(start, stop + 1):
                numerator = table[step][c + self.columns - 1]
                denominator = table[step - down][c - across + self.columns - 1]
                if (numerator << _KEY_BITS) // max(denominator, 1) < best:
                    continue
                if numerator and not denominator:
                    raise ValueError("the worst ratio of a shift is infinite: use loss, which names the pair")
                if numerator * worst.denominator > worst.numerator * denominator:
                    to_row = _end(vertical, step - (self.rows - 1), down)
                    to_column = _end(horizontal, c, across)
                    row, column = to_row - (step - (self.rows - 1)), to_column - c
                    x = row * self.columns + column
                    other = (row + down) * self.columns + column + across
                    worst = Loss(numerator, denominator, x, other, to_row * self.columns + to_column)
        return worst

    @cached_property
    def _keys(self) -> tuple[tuple[tuple[WeightRows, WeightRows], ...], ...]:
        """The tables of ``_tables`` as (numerators times 2^64, denominators); a denominator of 0 is replaced by 1."""
        return tuple(
            tuple(
                ([[weight << _KEY_BITS for weight in row] for row in table], [[w or 1 for w in row] for row in table])
                for table in tables
            )
            for tables in self._tables
        )

    def encode(self) -> codec.Value:
        return [self.family, self.rows, self.columns, list(self.step_weights)]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Noise:
        _, rows, columns, weights = codec.fields(value, 4, "a noise channel", ChannelError)
        return cls(
            codec.integer(rows, "a lattice's rows", ChannelError, 1, MAX_LATTICE_POINTS),
            codec.integer(columns, "a lattice's columns", ChannelError, 2, MAX_LATTICE_POINTS),
            codec.integers(weights, "the weight of a step", ChannelError, 0, 1 << NOISE_SCALE),
        )


def _kind(point: int, size: int) -> int:
    """Return 0 inside an axis, 1 at its first point, 2 at its last; an axis of one point has kind 0."""
    return 0 if size == 1 else (point == 0) + 2 * (point == size - 1)


def _axis_parts(size: int) -> tuple[_AxisPart, ...]:
    """Return the kinds of points that an axis of ``size`` points has; a single point counts as an inner point."""
    if size == 1:
        return (_AxisPart(0, 0, 0),)
    ends = (_AxisPart(1, 0, 0), _AxisPart(2, size - 1, size - 1))
    return (_AxisPart(0, 1, size - 2), *ends) if size > 2 else ends


def _end(part: _AxisPart, step: int, shift: int) -> int:
    """Return the first point of ``part`` that ``step`` reaches from an x, if x and x + shift are on the axis."""
    return max(part.first, step - min(shift, 0))


def _stopped(point: int, size: int) -> int:
    """Return ``point`` clamped to the axis; all three candidates are computed first, for constant time."""
    return (0, point, size - 1)[(point >= 0) + (point >= size)]


def _sums_down(rows: WeightRows) -> WeightRows:
    """Return the cumulative sums of rows: row i is the sum of the rows 0 .. i."""
    return [list(row) for row in accumulate(rows, lambda above, row: [a + b for a, b in zip(above, row, strict=True)])]
