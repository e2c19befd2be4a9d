"""Decoding windows: prefix sums over a circle.

How much of a law lies in a window is a difference of two running sums, and what an arc sees of all windows is the mean
of one number per cell over the arc. So a pass costs the inputs times the orders plus the outputs, whatever the matrix
would be, and methods that only pass back and forth ('mmse', 'map') reach any domain.

The least-squares left inverse, as in ``table``, is a matrix and serves small domains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aggregator.families.decoder import Decoder, Floats, Integers, NotInvertible, Staircase
from protocol.channels.windows.channel import ONE, Windows

MOST_CELLS = 2**24
"""A left inverse of more cells than this is not made."""

MOST_STEPS = 32
"""Outputs whose parts in an estimate are close share a step; so many steps, at most, has a staircase."""

SINGULAR = 1e-12
"""Below this part of the largest eigenvalue of the information, a direction is lost."""


@dataclass(frozen=True)
class _Circle:
    """One order of the arcs.

    Attributes:
        sequence: (n,) rare inputs as they follow each other.
        cut: (J,) place of the arc at each border.
        before: (J,) the part of it before the border.
        first: (n,) the cell where each arc begins.
    """

    sequence: Integers
    cut: Integers
    before: Floats
    first: Integers

    @classmethod
    def of(cls, channel: Windows, order: int) -> _Circle:
        layout = channel.circle.layout(order)
        cut = np.asarray(layout.cut, dtype=np.int64)
        before = np.array([part / ONE for part in layout.before])
        places = np.arange(len(layout.sequence))
        first = np.searchsorted(cut + (before > 0), places, side="right") - 1
        return cls(np.asarray(layout.sequence, dtype=np.int64), cut, before, first)

    def masses(self, p: Floats) -> Floats:
        """(n,) in sequence -> (2 J,): what of it lies before each border, twice round."""
        ends = np.concatenate([[0.0], np.cumsum(p)])
        mass = ends[self.cut] + p[self.cut] * self.before
        return np.concatenate([mass, mass + ends[-1]])

    def mixed(self, p: Floats, span: int) -> Floats:
        """(J,): sum of p[x] c (1 - c) over the arcs that a window from each border covers to a part c alone."""
        cells = len(self.cut)
        end = np.arange(cells) + span
        last = end % cells
        same = self.cut == self.cut[last]
        head = np.where(same, self.before[last] - self.before + (end >= cells), 1 - self.before)
        tail = self.before[last]
        lost: Floats = p[self.cut] * head * (1 - head) + np.where(same, 0, p[self.cut[last]] * tail * (1 - tail))
        return lost

    def means(self, cells: Floats) -> Floats:
        """(J,) or (a, J) -> (n,) or (a, n): the mean over each arc of a number per cell."""
        means: Floats = cells[..., self.first].copy()
        steps = (1 - self.before) * (self.before > 0) * (cells - np.roll(cells, 1, axis=-1))
        np.add.at(means.T, self.cut, steps.T)  # an arc may be cut more than once
        return means


class WindowsDecoder(Decoder):
    """Running sums, once per type and order."""

    def __init__(self, channel: Windows, reference: Sequence[float] | Floats | None = None) -> None:
        self.inputs, self.features = channel.inputs, channel.outputs
        self._channel = channel
        self._reference = np.full(self.inputs, 1 / self.inputs) if reference is None else np.asarray(reference)
        self._rare = np.flatnonzero(np.array([arc > 0 for arc in channel.arcs]))
        self._heavy = np.array(channel.heavies, dtype=np.int64)
        self._single = np.array([single.x for single in channel.singles], dtype=np.int64)
        self._own = np.array([single.own / ONE for single in channel.singles])
        self._other = np.array([single.other / ONE for single in channel.singles])
        self._rest = np.empty(self.inputs)
        if len(self._rare):
            self._rest[self._rare] = channel.rest(int(self._rare[0])) / ONE
        for x in (*channel.heavies, *self._single.tolist()):
            self._rest[x] = channel.rest(x) / ONE

    @cached_property
    def _circles(self) -> list[_Circle]:
        return [_Circle.of(self._channel, order) for order in range(self._orders)]

    @property
    def _orders(self) -> int:
        return self._channel.orders if self._channel.types else 0

    def _blocks(self) -> Iterator[tuple[int, int, slice]]:
        """(type, order, its outputs)."""
        start, cells = len(self._single) + 1, self._channel.cells
        for number in range(len(self._channel.types)):
            for order in range(self._orders):
                yield number, order, slice(start, start + cells)
                start += cells

    def forward(self, p: Floats) -> Floats:
        law = self._flat(p, 1)
        masses = [circle.masses(p[circle.sequence]) for circle in self._circles]
        cells = self._channel.cells
        for number, order, outputs in self._blocks():
            each = self._channel.types[number]
            slope = (each.inside - each.outside) / ONE / self._orders
            law[outputs] += slope * (masses[order][each.span : each.span + cells] - masses[order][:cells])
        return law

    def forward_squares(self, p: Floats) -> Floats:
        law = self._flat(p, 2)
        rare = [p[circle.sequence] for circle in self._circles]
        masses = [circle.masses(numbers) for circle, numbers in zip(self._circles, rare, strict=True)]
        cells = self._channel.cells
        for number, order, outputs in self._blocks():
            each = self._channel.types[number]
            outside, inside = each.outside / ONE / self._orders, each.inside / ONE / self._orders
            covered = masses[order][each.span : each.span + cells] - masses[order][:cells]
            # (o + s c)^2 = o^2 + (i^2 - o^2) c - s^2 c (1 - c), and c (1 - c) is 0 but for arcs that are cut.
            law[outputs] += (inside**2 - outside**2) * covered
            law[outputs] -= (inside - outside) ** 2 * self._circles[order].mixed(rare[order], each.span)
        return law

    def _flat(self, p: Floats, power: int) -> Floats:
        """The law, or its squares, as if no window covered a rare input."""
        law = np.empty(self.features)
        singles = len(self._single)
        law[:singles] = self._other**power * p.sum()
        law[:singles] += (self._own**power - self._other**power) * p[self._single]
        law[singles] = self._rest**power @ p
        heavy, lows, rare = p[self._heavy], p[self._single].sum(), p[self._rare].sum()
        for number, _, outputs in self._blocks():
            each = self._channel.types[number]
            of_heavy = np.array([weight / ONE / self._orders for weight in each.heavy]) ** power
            law[outputs] = (
                of_heavy @ heavy
                + (each.low / ONE / self._orders) ** power * lows
                + (each.outside / ONE / self._orders) ** power * rare
            )
        return law

    def backward(self, w: Floats) -> Floats:
        singles = len(self._single)
        mean: Floats = self._rest * w[singles] + self._other @ w[:singles]
        mean[self._single] += (self._own - self._other) * w[:singles]
        cells = self._channel.cells
        seen = np.zeros((self._orders, cells))
        for number, order, outputs in self._blocks():
            each = self._channel.types[number]
            block = w[outputs] / self._orders
            total = block.sum()
            mean[self._heavy] += np.array([weight / ONE for weight in each.heavy]) * total
            mean[self._single] += each.low / ONE * total
            mean[self._rare] += each.outside / ONE * total
            # A cell is in the windows that begin in it or in one of the span - 1 cells before.
            running = np.concatenate([[0.0], np.cumsum(np.concatenate([block, block]))])
            inside = running[cells + 1 : 2 * cells + 1] - running[cells + 1 - each.span : 2 * cells + 1 - each.span]
            seen[order] += (each.inside - each.outside) / ONE * inside
        for circle, numbers in zip(self._circles, seen, strict=True):
            mean[circle.sequence] += circle.means(numbers)
        return mean

    def _rows(self, number: int, order: int) -> Floats:
        """(k, J): the probabilities of the windows of one type and order."""
        each = self._channel.types[number]
        cells = self._channel.cells
        rows = np.empty((self.inputs, cells))
        rows[self._heavy] = np.array([weight / ONE for weight in each.heavy])[:, np.newaxis]
        rows[self._single] = each.low / ONE
        circle = self._circles[order]
        inside = (np.arange(cells) - np.arange(cells)[:, np.newaxis]) % cells < each.span  # [window, cell]
        covered = circle.means(inside.astype(np.float64))
        rows[circle.sequence] = (each.outside + (each.inside - each.outside) * covered.T) / ONE
        return rows / self._orders

    @cached_property
    def _inverse(self) -> Floats:
        """L, (m, k): D^-1 Q' (Q D^-1 Q')^-1 with D = diag(reference @ Q), as of a table."""
        if self.inputs * self.features > MOST_CELLS:
            raise NotInvertible(
                f"an unbiased estimate of {self.inputs} values from {self.features} outputs is not computed for "
                "windows of this size; use method 'map' (reports outweigh the prior) or 'mmse' (the prior is right)"
            )
        marginal = self.forward(self._reference)
        law = np.empty((self.features, self.inputs))
        singles = len(self._single)
        law[:singles] = self._other[:, np.newaxis]
        law[np.arange(singles), self._single] = self._own
        law[singles] = self._rest
        for number, order, outputs in self._blocks():
            law[outputs] = self._rows(number, order).T
        seen = marginal > 0  # what no input emits is never counted
        law /= np.sqrt(np.where(seen, marginal, 1.0))[:, np.newaxis]
        values, vectors = np.linalg.eigh(law.T @ law)
        rank = int(np.count_nonzero(values > SINGULAR * values[-1]))
        if rank < self.inputs:
            raise NotInvertible(
                f"the windows have {self.inputs} inputs and rank {rank}: shares that differ can give the same reports, "
                "so there is no unbiased estimate; use method 'mmse' or 'map', or author the campaign with more orders"
            )
        inverse: Floats = law @ ((vectors / values) @ vectors.T)
        inverse /= np.sqrt(np.where(seen, marginal, 1.0))[:, np.newaxis]
        inverse[~seen] = 0
        return inverse

    def invert(self, share: Floats) -> Floats:
        raw: Floats = share @ self._inverse
        return raw

    def adjoint(self, v: Floats) -> Floats:
        adds: Floats = self._inverse @ v
        return adds

    def variances(self, share: Floats) -> Floats:
        raw = self.invert(share)
        moment: Floats = np.einsum("y,yx,yx->x", share, self._inverse, self._inverse)
        return moment - raw**2

    def staircase(self, counts: Integers, reports: int) -> Staircase:
        # Outputs of close parts are taken together; their common part is the mean over these very counts, so that the
        # staircase climbs to the estimate exactly.
        groups = np.array_split(np.arange(self.features), min(MOST_STEPS + 1, self.features))
        starts = np.array([group[0] for group in groups])
        lengths = np.array([len(group) for group in groups])
        parts = np.empty((len(groups), self.inputs))
        reached = np.empty((len(groups), self.inputs), dtype=np.int64)
        for chunk in np.array_split(np.arange(self.inputs), -(-self.inputs // 64)):
            columns = self._inverse[:, chunk]
            order = np.argsort(-columns, axis=0, kind="stable")
            values, times = np.take_along_axis(columns, order, axis=0), counts[order]
            total = np.add.reduceat(times, starts, axis=0)
            plain = np.add.reduceat(values, starts, axis=0) / lengths[:, np.newaxis]
            weighed = np.add.reduceat(values * times, starts, axis=0)
            parts[:, chunk] = np.divide(weighed, total, out=plain, where=total > 0)
            reached[:, chunk] = np.cumsum(total, axis=0)
        return Staircase(parts[-1], np.maximum(parts[:-1] - parts[1:], 0), reached[:-1], reports)

    @property
    def ceiling(self) -> Floats:
        # A window that covers no whole arc stays below this.
        largest = np.empty(self.features)
        singles = len(self._single)
        largest[:singles] = self._own
        largest[singles] = self._rest.max()
        for number, _, outputs in self._blocks():
            each = self._channel.types[number]
            largest[outputs] = max(each.inside, each.low if singles else 0, *each.heavy, 0) / ONE / self._orders
        return largest

    @property
    def weight(self) -> float:
        return float(max(self._inverse.max(), -self._inverse.min()))
