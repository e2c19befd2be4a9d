"""The decoder of triples, in which each report counts for three values.

S_x, the set of triples that contain x, has probability p* from input x and q* from every other input. So p[x] is
(t[S_x] - q*) / (p* - q*), where t[S_x] is the share of the reports that contain x. The triples of a block have n
consecutive numbers, one for each place of a ring, and the block determines the distances of a triple's points from its
place. So sums over triples are sums of rotated rings, without arrays larger than the counts.

    p* = cs inside,   q* = inside + (cs - 1) outside          (MATH 4.1, ci = 1)

cs is the number of triples that contain x; inside and outside are the probabilities of a triple that contains the true
value and of one that does not.

Counts are summed exactly. The channel's remainder, less than 2^-96 of p* - q* at every level that can be declared, is
left out.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from aggregator.families.decoder import Floats, Integers
from aggregator.families.support import SupportDecoder
from protocol.channels.sets.triples import Triples

Scalar = TypeVar("Scalar", np.float64, np.int64)


class TriplesDecoder(SupportDecoder):
    """Decoder in which S_x is the set of triples that contain x."""

    def __init__(self, channel: Triples) -> None:
        super().__init__(channel, 1)
        self._ring, self._largest_distance = channel.ring_size, channel.largest_distance

    def _over_outputs(self, w: Floats) -> Floats:
        return self._turned(w)

    def _count(self, counts: Integers) -> Integers:
        return self._turned(counts)

    def _turned(self, w: NDArray[Scalar]) -> NDArray[Scalar]:
        """Return the sum of w[y] over the triples y that contain each input: from (K,) to (k,). Exact for integers."""
        columns, rings = w[: self._ring], w[self._ring :].reshape(3, self._largest_distance, self._ring)
        sums: NDArray[Scalar] = columns + np.roll(rings.sum(axis=1), 1, axis=0)
        for distance in range(1, self._largest_distance + 1):
            row = rings[:, distance - 1]
            sums += np.roll(row, -distance, axis=1)
            sums += np.roll(row, distance, axis=1)
        return sums.ravel()[: self.input_count]

    def _over_inputs(self, v: Floats) -> Floats:
        points = np.zeros((3, self._ring))
        points.ravel()[: self.input_count] = v
        sums: Floats = np.empty(self.features)
        sums[: self._ring] = points.sum(axis=0)
        rings = sums[self._ring :].reshape(3, self._largest_distance, self._ring)
        rings[:] = np.roll(points, -1, axis=0)[:, np.newaxis]
        for distance in range(1, self._largest_distance + 1):
            rings[:, distance - 1] += np.roll(points, distance, axis=1)
            rings[:, distance - 1] += np.roll(points, -distance, axis=1)
        return sums
