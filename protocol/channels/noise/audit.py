"""The audit structure of noise: it computes whole columns at once, and compares pairs of inputs by their shift.

The distribution of steps gives a whole column, and the worst loss of all pairs with the same shift, faster than a
computation cell by cell. The level of geo-indistinguishability needs only ``loss`` and these losses by shift, not
the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from operator import mul

from protocol.channels.channel import Loss
from protocol.channels.noise.channel import Noise
from protocol.channels.structure import PairProfile, Structure


class NoiseStructure(Structure):
    """The audit structure of noise on a lattice (SPEC 5.8)."""

    channel: Noise

    @cached_property
    def _columns(self) -> list[list[int]]:
        self.require_cells()
        return [self.channel.column(y) for y in range(self.channel.output_count)]

    def column(self, y: int) -> Sequence[int]:
        return self._columns[y]

    def fits(self, x: int) -> tuple[int, int, int]:
        row = [self.channel.weight(x, y) for y in range(self.channel.output_count)]
        largest = max(row)
        columns = [self.channel.column(y) for y, weight in enumerate(row) if weight == largest]
        others = (sum(column[other] for column in columns) for other in range(self.channel.input_count) if other != x)
        return largest * len(columns), min(others), 1 << self.channel.scale

    def profile(self, x: int, other: int) -> PairProfile:
        return ((column[x], column[other], 1) for column in self._columns)

    @property
    def loss_steps(self) -> int:
        return self.channel.input_count * self.channel.output_count

    def marginals(self, prior: Sequence[int]) -> Sequence[int]:
        return [sum(map(mul, column, prior)) for column in self._columns]

    def row_sums(self, marginals: Sequence[int], term: Callable[[int, int], int]) -> Iterable[int]:
        totals = [0] * self.channel.input_count
        for column, marginal in zip(self._columns, marginals, strict=True):
            for x, weight in enumerate(column):
                totals[x] += term(weight, marginal)
        return totals

    def shifts(self) -> Iterator[tuple[Loss, Sequence[tuple[int, int]]]]:
        """Yield (worst loss, pairs of inputs) for each shift; one of the pairs reaches the loss.

        All the pairs have this shift or, if the step distribution is symmetric, its mirror image.

        Raises:
            ValueError: a ratio is infinite.
            TooLarge: more than ``max_steps`` pairs of inputs.
        """
        rows, columns = self.channel.rows, self.channel.columns
        self.require_steps(self.channel.input_count**2, "comparing all pairs of its inputs")
        for down, across, loss in self.channel.losses_by_shift():
            # A symmetric distribution has the same loss for a shift to the left and to the right.
            yield (
                loss,
                [
                    (row * columns + column, (row + down) * columns + column + aside)
                    for aside in ({across, -across} if self.channel.mirrored else {across})
                    for row in range(max(0, -down), rows - max(0, down))
                    for column in range(max(0, -aside), columns - max(0, aside))
                ],
            )
