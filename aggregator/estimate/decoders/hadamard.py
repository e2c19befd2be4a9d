"""Decoding Hadamard response: plain, in blocks, and with a sensitive set.

One idea: a report speaks for the inputs of its block whose row is +1 at its column, and against the others of the
block, with equal weight. Written so, three published formulas are one,

    L[y, x] = (+1 or -1) / (2 pi - 1)   for y in the block of x         (pi: the probability of the truth)
    L[y, x] = [y is x's own output] / (1 - tau)   for x open            (tau: the probability of the cover)

    plain       p[x] = (t[S_x] - 1/2) / (pi - 1/2)                      (Acharya, Sun, Zhang 2019)
    blocks      p[x] = (t[S_x] - t[block] / 2) / (pi - 1/2)             (Acharya et al. 2020, eq. 19)
    high-low    p[x] = (t[S_x] - p(A) / 2 - (1 - p(A)) tau / 2) / (pi - 1/2), p(A) = (t[S] - tau) / (1 - tau)
                                                                        (Acharya et al. 2020, eq. 15-16)

since in the last p(A) + (1 - p(A)) tau = t[S]. Row sums over a block are a Walsh-Hadamard transform; blocks of one
order are transformed together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggregator.estimate.decoders.decoder import Decoder, Floats, Integers, Staircase
from aggregator.estimate.walsh import walsh
from protocol.channels import Hadamard
from protocol.channels.hadamard import ONE, OPEN


@dataclass(frozen=True)
class _Blocks:
    """The blocks of one order K.

    Attributes:
        columns: (b, K) the outputs of each block.
        members: (i,) the inputs of all of them.
        block, row: (i,) block and row that each of these inputs owns.
    """

    columns: Integers
    members: Integers
    block: Integers
    row: Integers

    @property
    def order(self) -> int:
        return int(self.columns.shape[1])

    def scatter(self, p: Floats) -> Floats:
        """(k,) -> (b, K): each input's number at its row."""
        rows = np.zeros(self.columns.shape)
        rows[self.block, self.row] = p[self.members]
        return rows


class HadamardDecoder(Decoder):
    """Transforms within blocks, copies for open inputs."""

    def __init__(self, channel: Hadamard) -> None:
        self.inputs, self.outputs = channel.inputs, channel.outputs
        self._contrast = (2 * channel.truth - ONE) / ONE  # 2 pi - 1
        self._cover = channel.cover / ONE  # tau
        self._shown = (ONE - channel.cover) / ONE  # 1 - tau
        block_of = np.asarray(channel.block_of, dtype=np.int64)
        place_of = np.asarray(channel.place_of, dtype=np.int64)
        orders = np.array(channel.orders)
        offsets = np.array(channel.offsets)
        self._open = np.flatnonzero(block_of == OPEN)
        self._own = offsets[OPEN] + place_of[self._open]
        self._hiding = slice(0, channel.orders[1])  # the outputs of block 1, where open inputs hide
        self._groups = []
        for order in np.unique(orders[1:]):
            blocks = np.flatnonzero(orders == order)
            members = np.flatnonzero(orders[block_of] == order)
            self._groups.append(
                _Blocks(
                    offsets[blocks, np.newaxis] + np.arange(order),
                    members,
                    np.searchsorted(blocks, block_of[members]),
                    place_of[members] + 1,
                )
            )

    def forward(self, p: Floats) -> Floats:
        # A block's column has (sum of p + (2 pi - 1) sum of +-p) / K.
        return self._spread(p, 1.0, self._contrast, self._shown, self._cover, power=1)

    def forward_squares(self, p: Floats) -> Floats:
        # (1 +- c)^2 = (1 + c^2) +- 2 c
        c = self._contrast
        return self._spread(p, 1 + c**2, 2 * c, self._shown**2, self._cover**2, power=2)

    def _spread(self, p: Floats, even: float, odd: float, shown: float, hidden: float, power: int) -> Floats:
        law = np.empty(self.outputs)
        for group in self._groups:
            rows = group.scatter(p)
            total = rows.sum(axis=1, keepdims=True)
            law[group.columns] = (even * total + odd * walsh(rows)) / group.order**power
        law[self._own] = shown * p[self._open]
        if self._cover:
            order = self._hiding.stop
            law[self._hiding] += hidden * p[self._open].sum() / order**power
        return law

    def backward(self, w: Floats) -> Floats:
        mean = np.empty(self.inputs)
        for group in self._groups:
            columns = w[group.columns]
            total = columns.sum(axis=1)
            signed = walsh(columns)[group.block, group.row]
            mean[group.members] = (total[group.block] + self._contrast * signed) / group.order
        mean[self._open] = self._shown * w[self._own]
        if self._cover:
            mean[self._open] += self._cover * w[self._hiding].mean()
        return mean

    def invert(self, share: Floats) -> Floats:
        raw = np.empty(self.inputs)
        for group in self._groups:
            raw[group.members] = walsh(share[group.columns])[group.block, group.row] / self._contrast
        raw[self._open] = share[self._own] / self._shown
        return raw

    def adjoint(self, v: Floats) -> Floats:
        adds = np.empty(self.outputs)
        for group in self._groups:
            adds[group.columns] = walsh(group.scatter(v)) / self._contrast
        adds[self._own] = v[self._open] / self._shown
        return adds

    def second_moment(self, share: Floats) -> Floats:
        moment = np.empty(self.inputs)
        for group in self._groups:
            moment[group.members] = share[group.columns].sum(axis=1)[group.block] / self._contrast**2
        moment[self._open] = share[self._own] / self._shown**2
        return moment

    def staircase(self, counts: Integers) -> Staircase:
        reports = int(counts.sum())
        base = np.zeros(self.inputs)
        heights = np.zeros((2, self.inputs))
        reached = np.zeros((2, self.inputs), dtype=np.int64)
        for group in self._groups:
            columns = counts[group.columns]
            total = columns.sum(axis=1)[group.block]
            signed = walsh(columns)[group.block, group.row]
            # Steps from -1 over 0 to +1: reports that are not against x, reports that are for x.
            base[group.members] = -1 / self._contrast
            heights[:, group.members] = 1 / self._contrast
            reached[0, group.members] = reports - (total - signed) // 2
            reached[1, group.members] = (total + signed) // 2
        heights[0, self._open] = 1 / self._shown
        reached[0, self._open] = counts[self._own]
        if len(self._open) or len(self._groups) > 1 or len(self._groups[0].columns) > 1:
            return Staircase(base, heights, reached, reports)
        # One block of all inputs: no report is neither, the two steps are one. S_x = where row x is +1, q* = 1/2.
        return Staircase(base, 2 * heights[1:], reached[1:], reports)

    @property
    def ceiling(self) -> Floats:
        # A column with no +1 in the block's rows stays below this.
        largest = np.empty(self.outputs)
        for group in self._groups:
            largest[group.columns] = (1 + self._contrast) / group.order
        largest[self._own] = self._shown
        return largest

    @property
    def weight(self) -> float:
        return max(1 / self._contrast, 1 / self._shown if len(self._open) else 0.0)
