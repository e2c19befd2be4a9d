"""Decoding triples: every report is three votes.

S_x, the triples with x, have probability p* from input x and q* from every other, so p[x] is (t[S_x] - q*) / (p* - q*)
with t[S_x] the share of the reports that name x. By number, the triples of a block are n neighbours, one for each place
of a ring, and the block tells how far each of their points is from that place: sums over triples and over their points
are sums of turned rings, in t steps of 3 n, and no array is larger than the counts.

    p* = cs inside,   q* = inside + (cs - 1) outside          (MATH 4.1, ci = 1)

Counts are summed exactly. The channel's remainder, less than 2^-96 of p* - q* at every level that can be declared, is
left out.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from aggregator.families.decoder import BinomialSteps, Decoder, Floats, Integers
from protocol.channels.sets.triples import Triples

Number = TypeVar("Number", np.float64, np.int64)


class TriplesDecoder(Decoder):
    """L[y, x] = ([x in triple y] - q*) / (p* - q*)."""

    def __init__(self, channel: Triples) -> None:
        self.inputs, self.features = channel.inputs, channel.outputs
        self._ring, self._reach = channel.ring, channel.reach
        one, far = 1 << channel.scale, channel.support - 1
        self._likely, self._unlikely = channel.inside / one, channel.outside / one
        self._outside = (channel.inside + far * channel.outside) / one  # q*
        self._gap = far * (channel.inside - channel.outside) / one  # p* - q*

    def _over_outputs(self, w: NDArray[Number]) -> NDArray[Number]:
        """(K,) -> (k,): sum of w[y] over the triples y with each input, of integers exactly."""
        columns, rings = w[: self._ring], w[self._ring :].reshape(3, self._reach, self._ring)
        sums: NDArray[Number] = columns + np.roll(rings.sum(axis=1), 1, axis=0)
        for distance in range(1, self._reach + 1):
            row = rings[:, distance - 1]
            sums += np.roll(row, -distance, axis=1)
            sums += np.roll(row, distance, axis=1)
        return sums.ravel()[: self.inputs]

    def _over_inputs(self, v: Floats) -> Floats:
        """(k,) -> (K,): sum of v[x] over the inputs x of each triple."""
        points = np.zeros((3, self._ring))
        points.ravel()[: self.inputs] = v
        sums: Floats = np.empty(self.features)
        sums[: self._ring] = points.sum(axis=0)
        rings = sums[self._ring :].reshape(3, self._reach, self._ring)
        rings[:] = np.roll(points, -1, axis=0)[:, np.newaxis]
        for distance in range(1, self._reach + 1):
            rings[:, distance - 1] += np.roll(points, distance, axis=1)
            rings[:, distance - 1] += np.roll(points, -distance, axis=1)
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

    def staircase(self, counts: Integers, reports: int) -> BinomialSteps:
        base = np.full(self.inputs, -self._outside / self._gap)
        height = np.full((1, self.inputs), 1 / self._gap)
        return BinomialSteps(base, height, self._over_outputs(counts)[np.newaxis], reports)

    @property
    def ceiling(self) -> Floats:
        return np.full(self.features, self._likely)

    @property
    def weight(self) -> float:
        return max(1 - self._outside, self._outside) / self._gap
