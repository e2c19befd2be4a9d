"""The table channel: an explicit matrix of weights, for small domains (SPEC 5.1).

A row is a list of integers that sum to 2^62, so a 62-bit random integer selects exactly one cell.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import ClassVar

from protocol import codec
from protocol.channels.channel import PAIR_STEPS, Channel, Loss
from protocol.errors import ChannelError

TABLE_SCALE = 62
MAX_TABLE_CELLS = 2**20


@dataclass(frozen=True)
class Table(Channel):
    """A channel given by the weight of every cell.

    Attributes:
        rows: inputs x outputs integers, each row summing to 2^62.
    Raises:
        ChannelError: the attribute is invalid.
    """

    rows: tuple[tuple[int, ...], ...]
    input_count: int = field(init=False, repr=False, compare=False)
    output_count: int = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "table"
    scale: ClassVar[int] = TABLE_SCALE
    rand_bytes: ClassVar[int] = 8

    def __post_init__(self) -> None:
        if len(self.rows) < 2 or len(self.rows[0]) < 2:
            raise ChannelError(
                f"a table must have at least 2 inputs and 2 outputs, not {len(self.rows)} and "
                f"{len(self.rows[0]) if self.rows else 0}"
            )
        if len(self.rows) * len(self.rows[0]) > MAX_TABLE_CELLS:
            raise ChannelError(
                f"a table must have at most {MAX_TABLE_CELLS} cells, not {len(self.rows)} x {len(self.rows[0])}"
            )
        for x, row in enumerate(self.rows):
            if len(row) != len(self.rows[0]):
                raise ChannelError(f"row {x} must have as many outputs as row 0: {len(self.rows[0])}, not {len(row)}")
            if min(row) < 0:
                raise ChannelError(f"a weight in row {x} must be at least 0, not {min(row)}")
            if sum(row) != 1 << TABLE_SCALE:
                raise ChannelError(f"the weights of row {x} must sum to 2^{TABLE_SCALE}, not to {sum(row)}")
        self._derive(input_count=len(self.rows), output_count=len(self.rows[0]))

    @classmethod
    def rounded(cls, rows: Sequence[Sequence[Fraction]]) -> Table:
        """Return the table of rational rows that each sum to one, rounded to weights over 2^62.

        Every cell except the row's largest is rounded up; the largest takes the rest. Rounding may raise the ratio of
        two cells slightly. So the author's tools aim for a slightly lower level, and the audit checks the rounded
        table.

        Raises:
            ChannelError: a row has a negative cell or does not sum to one, or the table is invalid.
        """
        rounded = []
        for x, row in enumerate(rows):
            if any(cell < 0 for cell in row):
                raise ChannelError(f"a probability in row {x} of the table must be at least 0, not {float(min(row)):g}")
            if sum(row) != 1:
                raise ChannelError(
                    f"the probabilities of row {x} of the table must sum to exactly 1; their sum differs by "
                    f"{float(sum(row) - 1):.1e}"
                )
            cells = [-(-cell.numerator * 2**TABLE_SCALE // cell.denominator) for cell in row]
            largest = cells.index(max(cells))
            cells[largest] += (1 << TABLE_SCALE) - sum(cells)
            rounded.append(tuple(cells))
        return cls(tuple(rounded))

    @cached_property
    def _cumulative(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(accumulate(row)) for row in self.rows)

    def weight(self, x: int, y: int) -> int:
        return self.rows[x][y]

    def sample(self, x: int, rand: bytes) -> int:
        self._require_draw(x, rand)
        return bisect_right(self._cumulative[x], int.from_bytes(rand, "big") >> (64 - TABLE_SCALE))

    def pair_steps(self, first: Sequence[int], second: Sequence[int]) -> int:
        return PAIR_STEPS + self.output_count * (len(first) + len(second))

    @property
    def prior_steps(self) -> int:
        return self.input_count * self.output_count

    def loss(self, first: Sequence[int], second: Sequence[int]) -> Loss:
        worst, output = (1, 1), None
        for y, (largest, smallest) in enumerate(
            zip(self._extremes(first, max), self._extremes(second, min), strict=True)
        ):
            if largest * worst[1] > worst[0] * smallest:
                worst, output = (largest, smallest), y
        if output is None:
            return Loss(1, 1, first[0], second[0], 0)
        x = max(first, key=lambda x: self.rows[x][output])
        return Loss(*worst, x, min(second, key=lambda x: self.rows[x][output]), output)

    def _extremes(self, inputs: Sequence[int], choose: Callable[..., int]) -> Iterable[int]:
        """Return the largest or least weight of each output for these inputs."""
        rows = [self.rows[x] for x in inputs]
        return rows[0] if len(rows) == 1 else map(choose, *rows)

    def encode(self) -> codec.Value:
        return [self.family, [list(row) for row in self.rows]]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Table:
        _, rows = codec.fields(value, 2, "a table channel", ChannelError)
        rows = codec.array(rows, "the rows of a table", ChannelError)
        return cls(tuple(codec.integers(row, "a weight of a table", ChannelError, 0, 1 << TABLE_SCALE) for row in rows))
