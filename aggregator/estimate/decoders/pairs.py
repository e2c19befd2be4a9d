"""Decoding pairs: every report is two votes.

One idea: S_x, the pairs with x, have probability p* from input x and q* from every other, so p[x] is
(t[S_x] - q*) / (p* - q*) with t[S_x] the share of the reports that name x. By number, the pairs whose larger input is j
are j neighbours: sums over pairs and over their inputs go row by row through this triangle, in k steps of at most k,
and no array is larger than the counts.

    p* = (k - 1) inside,   q* = inside + (k - 2) outside          (MATH 4.1, d = 2)

Counts are summed exactly. The channel's remainder, less than 2^-90 of p* - q* at every level that can be declared, is
left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from aggregator.estimate.decoders.decoder import Decoder, Floats, Integers, Staircase
from protocol.channels.pairs import Pairs

Number = TypeVar("Number", np.float64, np.int64)


class PairsDecoder(Decoder):
    """L[y, x] = ([x in pair y] - q*) / (p* - q*)."""

    def __init__(self, channel: Pairs) -> None:
        self.inputs, self.features = channel.inputs, channel.outputs
        k, one = channel.inputs, 1 << channel.scale
        self._likely, self._unlikely = channel.inside / one, channel.outside / one
        self._outside = (channel.inside + (k - 2) * channel.outside) / one  # q*
        self._gap = (k - 2) * (channel.inside - channel.outside) / one  # p* - q*

    def _rows(self) -> Iterator[tuple[int, slice]]:
        """Every input j but the first, and where the pairs with a smaller input are."""
        start = 0
        for j in range(1, self.inputs):
            yield j, slice(start, start + j)
            start += j

    def _over_outputs(self, w: NDArray[Number]) -> NDArray[Number]:
        """(m,) -> (k,): sum of w[y] over the pairs y with each input, of integers exactly."""
        sums = np.zeros(self.inputs, dtype=w.dtype)
        for j, row in self._rows():
            sums[:j] += w[row]
            sums[j] += w[row].sum()
        return sums

    def _over_inputs(self, v: Floats) -> Floats:
        """(k,) -> (m,): v[i] + v[j] for each pair."""
        sums: Floats = np.empty(self.features)
        for j, row in self._rows():
            np.add(v[:j], v[j], out=sums[row])
        return sums

    def forward(self, p: Floats) -> Floats:
        law: Floats = self._unlikely * p.sum() + (self._likely - self._unlikely) * self._over_inputs(p)
        return law

    def forward_squares(self, p: Floats) -> Floats:
        few, many = self._unlikely**2, self._likely**2
        law: Floats = few * p.sum() + (many - few) * self._over_inputs(p)
        return law

    def backward(self, w: Floats) -> Floats:
        mean: Floats = self._unlikely * w.sum() + (self._likely - self._unlikely) * self._over_outputs(w)
        return mean

    def invert(self, share: Floats) -> Floats:
        raw: Floats = (self._over_outputs(share) - self._outside * share.sum()) / self._gap
        return raw

    def adjoint(self, v: Floats) -> Floats:
        adds: Floats = (self._over_inputs(v) - self._outside * v.sum()) / self._gap
        return adds

    def variances(self, share: Floats) -> Floats:
        reached, total = self._over_outputs(share), share.sum()
        moment = reached * (1 - self._outside) ** 2 + (total - reached) * self._outside**2
        raw = reached - self._outside * total
        variances: Floats = (moment - raw**2) / self._gap**2
        return variances

    def staircase(self, counts: Integers, reports: int) -> Staircase:
        base = np.full(self.inputs, -self._outside / self._gap)
        height = np.full((1, self.inputs), 1 / self._gap)
        return Staircase(base, height, self._over_outputs(counts)[np.newaxis], reports)

    @property
    def ceiling(self) -> Floats:
        return np.full(self.features, self._likely)

    @property
    def weight(self) -> float:
        return max(1 - self._outside, self._outside) / self._gap
