"""The decoder of windows, which uses prefix sums over a circle.

The mass in a window is a difference of two running sums. The sum over the windows that cover an arc is the mean over
the arc of one number per cell. So multiplying by the channel takes inputs x orders + outputs steps, far fewer than the
matrix has cells. Methods that only multiply ('em', 'mmse', 'map') work for any domain.

The left inverse is the least-squares left inverse of ``table``: the matrix Q D^-1 Q' is inverted and stored, and one
multiplication gives a column of the left inverse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aggregator.families.decoder import BinomialSteps, Decoder, Floats, Integers, NotInvertible
from protocol.channels.windows.channel import ONE, Windows

MAX_UNBIASED_INPUTS = 2048
"""Maximum number of inputs of the unbiased estimate, which needs the eigenvalues of a matrix of inputs x inputs."""

MAX_INVERSE_CELLS = 2**26
"""Maximum number of cells of the left inverse for the unbiased estimate; all are computed, in chunks."""

_HELD_CELLS = 2**20
"""Maximum number of cells of a left inverse that are in memory at once."""

MAX_BINOMIAL_STEPS = 32
"""Maximum number of steps of an input; outputs with nearly equal contributions share a step."""

SINGULAR = 1e-12
"""Eigenvalues of the information matrix below this fraction of the largest one are treated as zero."""


@dataclass(frozen=True)
class _Arcs:
    """Arcs of the rare inputs on the circle, in one order.

    Attributes:
        sequence: (n,) the rare inputs in this order.
        cut: (J,) for each border, the position in ``sequence`` of the arc that contains it.
        before: (J,) for each border, the part of this arc before the border.
        first: (n,) the cell in which each arc begins.
    """

    sequence: Integers
    cut: Integers
    before: Floats
    first: Integers

    @classmethod
    def of(cls, channel: Windows, order: int) -> _Arcs:
        layout = channel.circle.layout(order)
        cut = np.asarray(layout.cut, dtype=np.int64)
        before = np.array([part / ONE for part in layout.before])
        positions = np.arange(len(layout.sequence))
        first = np.searchsorted(cut + (before > 0), positions, side="right") - 1
        return cls(np.asarray(layout.sequence, dtype=np.int64), cut, before, first)

    def masses(self, p: Floats) -> Floats:
        """Return the mass before each border, for two rounds of the circle, shape (..., 2 J)."""
        ends = np.concatenate([np.zeros((*p.shape[:-1], 1)), np.cumsum(p, axis=-1)], axis=-1)
        mass = ends[..., self.cut] + p[..., self.cut] * self.before
        return np.concatenate([mass, mass + ends[..., -1:]], axis=-1)

    def mixed(self, p: Floats, span: int) -> Floats:
        """Return for each border the sum over the arcs x of p[x] c (1 - c), shape (J,). The window from the border
        covers the part c of arc x."""
        cells = len(self.cut)
        end = np.arange(cells) + span
        last = end % cells
        same = self.cut == self.cut[last]
        head = np.where(same, self.before[last] - self.before + (end >= cells), 1 - self.before)
        tail = self.before[last]
        lost: Floats = p[self.cut] * head * (1 - head) + np.where(same, 0, p[self.cut[last]] * tail * (1 - tail))
        return lost

    def means(self, cells: Floats) -> Floats:
        """Return the mean over each arc, (n,) or (a, n), of a number for each cell, (J,) or (a, J)."""
        means: Floats = cells[..., self.first].copy()
        steps = (1 - self.before) * (self.before > 0) * (cells - np.roll(cells, 1, axis=-1))
        np.add.at(means.T, self.cut, steps.T)  # an arc may contain several borders
        return means


class WindowsDecoder(Decoder):
    """Decoder of windows, in which each multiplication takes one running sum for each type and order."""

    def __init__(self, channel: Windows, reference: Sequence[float] | Floats | None = None) -> None:
        self.input_count, self.features = channel.input_count, channel.output_count
        self._channel = channel
        self._reference = (
            np.full(self.input_count, 1 / self.input_count) if reference is None else np.asarray(reference)
        )
        self._rare = np.flatnonzero(np.array([arc > 0 for arc in channel.arcs]))
        self._heavy = np.array(channel.heavies, dtype=np.int64)
        self._single = np.array([single.x for single in channel.singles], dtype=np.int64)
        self._own = np.array([single.own_weight / ONE for single in channel.singles])
        self._other = np.array([single.other_weight / ONE for single in channel.singles])
        self._rest = np.empty(self.input_count)
        if len(self._rare):
            self._rest[self._rare] = channel.rest(int(self._rare[0])) / ONE
        for x in (*channel.heavies, *self._single.tolist()):
            self._rest[x] = channel.rest(x) / ONE

    @cached_property
    def _arcs(self) -> list[_Arcs]:
        return [_Arcs.of(self._channel, order) for order in range(self._orders)]

    @property
    def _orders(self) -> int:
        return self._channel.orders if self._channel.types else 0

    def _blocks(self) -> Iterator[tuple[int, int, slice]]:
        """Yield the type, the order and the outputs of each type and order."""
        start, cells = len(self._single) + 1, self._channel.cells
        for number in range(len(self._channel.types)):
            for order in range(self._orders):
                yield number, order, slice(start, start + cells)
                start += cells

    def forward(self, p: Floats) -> Floats:
        """Return the distribution of the outputs, shape (..., m), for each distribution of inputs, (..., k)."""
        distribution = self._flat(p, 1)
        masses = [arcs.masses(p[..., arcs.sequence]) for arcs in self._arcs]
        cells = self._channel.cells
        for number, order, outputs in self._blocks():
            window_type = self._channel.types[number]
            slope = (window_type.inside - window_type.outside) / ONE / self._orders
            mass = masses[order]
            distribution[..., outputs] += slope * (
                mass[..., window_type.span : window_type.span + cells] - mass[..., :cells]
            )
        return distribution

    def forward_squares(self, p: Floats) -> Floats:
        distribution = self._flat(p, 2)
        rare = [p[arcs.sequence] for arcs in self._arcs]
        masses = [arcs.masses(numbers) for arcs, numbers in zip(self._arcs, rare, strict=True)]
        cells = self._channel.cells
        for number, order, outputs in self._blocks():
            window_type = self._channel.types[number]
            outside, inside = window_type.outside / ONE / self._orders, window_type.inside / ONE / self._orders
            covered = masses[order][window_type.span : window_type.span + cells] - masses[order][:cells]
            # (o + s c)^2 = o^2 + (i^2 - o^2) c - s^2 c (1 - c) with s = i - o, and c (1 - c) is 0 except for arcs at an
            # end of the window.
            distribution[outputs] += (inside**2 - outside**2) * covered
            distribution[outputs] -= (inside - outside) ** 2 * self._arcs[order].mixed(rare[order], window_type.span)
        return distribution

    def _flat(self, p: Floats, power: int) -> Floats:
        """Return the mean output probabilities (``power`` 1) or the mean of their squares (2), shape (..., m), without
        the additional weight of covered inputs."""
        distribution = np.empty((*p.shape[:-1], self.features))
        singles = len(self._single)
        distribution[..., :singles] = self._other**power * p.sum(axis=-1, keepdims=True)
        distribution[..., :singles] += (self._own**power - self._other**power) * p[..., self._single]
        distribution[..., singles] = p @ self._rest**power
        heavy, lows, rare = p[..., self._heavy], p[..., self._single].sum(axis=-1), p[..., self._rare].sum(axis=-1)
        for number, _, outputs in self._blocks():
            window_type = self._channel.types[number]
            of_heavy = np.array([weight / ONE / self._orders for weight in window_type.heavy_weights]) ** power
            flat = (
                heavy @ of_heavy
                + (window_type.single_weight / ONE / self._orders) ** power * lows
                + (window_type.outside / ONE / self._orders) ** power * rare
            )
            distribution[..., outputs] = flat[..., np.newaxis]
        return distribution

    def backward(self, w: Floats) -> Floats:
        """Return the mean of the outputs' numbers, (m,) or (a, m), for each input, shape (k,) or (a, k)."""
        singles = len(self._single)
        mean: Floats = self._rest * w[..., singles, np.newaxis] + (w[..., :singles] @ self._other)[..., np.newaxis]
        mean[..., self._single] += (self._own - self._other) * w[..., :singles]
        cells = self._channel.cells
        covering = np.zeros((self._orders, *w.shape[:-1], cells))
        for number, order, outputs in self._blocks():
            window_type = self._channel.types[number]
            block = w[..., outputs] / self._orders
            # A cell is inside the windows that begin in it or in one of the span - 1 preceding cells.
            running = np.zeros((*w.shape[:-1], 2 * cells + 1))
            np.cumsum(np.concatenate([block, block], axis=-1), axis=-1, out=running[..., 1:])
            total = running[..., cells, np.newaxis]
            mean[..., self._heavy] += np.array([weight / ONE for weight in window_type.heavy_weights]) * total
            mean[..., self._single] += window_type.single_weight / ONE * total
            mean[..., self._rare] += window_type.outside / ONE * total
            inside = (
                running[..., cells + 1 :]
                - running[..., cells + 1 - window_type.span : 2 * cells + 1 - window_type.span]
            )
            covering[order] += (window_type.inside - window_type.outside) / ONE * inside
        for arcs, numbers in zip(self._arcs, covering, strict=True):
            mean[..., arcs.sequence] += arcs.means(numbers)
        return mean

    def _chunks(self) -> Iterator[slice]:
        """Yield all inputs in chunks, so that an array (inputs of a chunk, outputs) fits into memory."""
        step = max(_HELD_CELLS // self.features, 1)
        for start in range(0, self.input_count, step):
            yield slice(start, min(start + step, self.input_count))

    @cached_property
    def _per_marginal(self) -> Floats:
        """The diagonal of D^-1, D = diag(reference @ Q), shape (m,); 0 for outputs that no input gives."""
        marginal = self.forward(self._reference)
        return np.divide(1.0, marginal, out=np.zeros_like(marginal), where=marginal > 0)

    @cached_property
    def _solved(self) -> Floats:
        """The inverse of Q D^-1 Q', computed by running sums, shape (k, k). L is D^-1 Q' times this inverse."""
        if self.input_count > MAX_UNBIASED_INPUTS or self.input_count * self.features > MAX_INVERSE_CELLS:
            raise NotInvertible(
                f"an unbiased estimate of {self.input_count} values from {self.features} outputs is not computed for "
                "windows of this size; use method 'mmse' if the prior is right, otherwise 'map'"
            )
        information = np.empty((self.input_count, self.input_count))
        for chunk in self._chunks():
            alone = np.zeros((chunk.stop - chunk.start, self.input_count))
            alone[np.arange(len(alone)), np.arange(self.input_count)[chunk]] = 1
            information[chunk] = self.backward(self.forward(alone) * self._per_marginal)
        values, vectors = np.linalg.eigh((information + information.T) / 2)
        if np.count_nonzero(values > SINGULAR * values[-1]) < self.input_count:
            raise NotInvertible(
                "with these windows, different shares of the values can give the same distribution of reports, so "
                "there is no unbiased estimate: use method 'mmse' or 'map'. A new campaign with windows of "
                "more orders may have an unbiased estimate"
            )
        solved: Floats = (vectors / values) @ vectors.T
        return solved

    def _columns(self, chunk: slice) -> Floats:
        """Return the columns of L for the inputs ``chunk``, shape (c, m); L as a whole is never in memory."""
        return self.forward(self._solved[chunk]) * self._per_marginal

    def invert(self, mean_features: Floats) -> Floats:
        return self.backward(mean_features * self._per_marginal) @ self._solved

    def adjoint(self, v: Floats) -> Floats:
        return self.forward(self._solved @ v) * self._per_marginal

    def variances(self, mean_features: Floats) -> Floats:
        moment = np.concatenate([self._columns(chunk) ** 2 @ mean_features for chunk in self._chunks()])
        return moment - self.invert(mean_features) ** 2

    def binomial_steps(self, counts: Integers, reports: int) -> BinomialSteps:
        # Outputs with nearly equal contributions share a step, whose height is their mean over the observed counts. So
        # the steps sum to the estimate exactly.
        groups = np.array_split(np.arange(self.features), min(MAX_BINOMIAL_STEPS + 1, self.features))
        starts = np.array([group[0] for group in groups])
        lengths = np.array([len(group) for group in groups])
        parts = np.empty((len(groups), self.input_count))
        reached = np.empty((len(groups), self.input_count), dtype=np.int64)
        for chunk in self._chunks():
            columns = self._columns(chunk).T
            order = np.argsort(-columns, axis=0, kind="stable")
            values, times = np.take_along_axis(columns, order, axis=0), counts[order]
            total = np.add.reduceat(times, starts, axis=0)
            plain = np.add.reduceat(values, starts, axis=0) / lengths[:, np.newaxis]
            weighed = np.add.reduceat(values * times, starts, axis=0)
            parts[:, chunk] = np.divide(weighed, total, out=plain, where=total > 0)
            reached[:, chunk] = np.cumsum(total, axis=0)
        return BinomialSteps(parts[-1], np.maximum(parts[:-1] - parts[1:], 0), reached[:-1], reports)

    @property
    def ceiling(self) -> Floats:
        # This is an upper bound: if a window covers no whole arc, its probability is smaller.
        largest = np.empty(self.features)
        singles = len(self._single)
        largest[:singles] = self._own
        largest[singles] = self._rest.max()
        for number, _, outputs in self._blocks():
            window_type = self._channel.types[number]
            largest[outputs] = (
                max(window_type.inside, window_type.single_weight if singles else 0, *window_type.heavy_weights, 0)
                / ONE
                / self._orders
            )
        return largest

    @property
    def people_per_report(self) -> float:
        return float(max(np.abs(self._columns(chunk)).max() for chunk in self._chunks()))
