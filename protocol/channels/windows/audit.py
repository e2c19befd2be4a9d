"""The audit structure of windows: a column distinguishes arcs inside the window, arcs cut by its ends, and all others.

In one order of the arcs, the mass that a window covers is a difference of two cumulative sums. So a column has one part
for each heavy input, one for all singles, and four for all rare inputs. Conversely, the windows that cover an arc are
consecutive. So the sum and the minimum of their marginals are those of a stretch of the circle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from protocol.channels.structure import OutputClass, Structure
from protocol.channels.windows.arrangement import WindowType
from protocol.channels.windows.channel import ONE, WINDOWS_SCALE, Windows


@dataclass(frozen=True)
class _Arc:
    """The first and the last cell that an arc touches."""

    first: int
    last: int


class WindowsStructure(Structure):
    """The audit structure of windows over a circle of rare inputs (SPEC 5.9)."""

    channel: Windows

    @property
    def _shift_bits(self) -> int:
        """The binary logarithm of the factor between weights over 2^64 and weights over 2^scale."""
        return self.channel.scale - WINDOWS_SCALE

    def _start(self, number: int, order: int) -> int:
        """Return the output of the first window of a type and order."""
        channel = self.channel
        return len(channel.singles) + 1 + (number * channel.orders + order) * channel.cells

    # Columns under a prior

    @property
    def worst_column_steps(self) -> int:
        return self.channel.output_count * (96 + 32 * (len(self.channel.heavies) + len(self.channel.singles)))

    def worst_columns(self, prior: Sequence[int]) -> Iterator[OutputClass]:
        """Yield all columns, without a limit on their number, because the certificate needs them."""
        channel = self.channel
        yield from self._outside_windows(prior)
        for order in range(channel.orders if channel.types else 0):
            sums = self._laps(order, prior)
            for number, window_type in enumerate(channel.types):
                yield from self._windows(self._start(number, order), window_type, order, prior, sums)

    def _outside_windows(self, prior: Sequence[int]) -> Iterator[OutputClass]:
        """Yield the columns of the singles' outputs and of the output ``rest``."""
        channel, total = self.channel, sum(prior)
        for y, single in enumerate(channel.singles):
            masses = {single.other_weight << self._shift_bits: total - prior[single.x]}
            masses[single.own_weight << self._shift_bits] = (
                masses.get(single.own_weight << self._shift_bits, 0) + prior[single.x]
            )
            yield _column(y, masses)
        rare = sum(map(prior.__getitem__, channel.circle.rare))
        rests = {channel.rest(channel.circle.rare[0]) << self._shift_bits: rare} if channel.circle.rare else {}
        for x in (*channel.heavies, *channel.single_of):
            weight = channel.rest(x) << self._shift_bits
            rests[weight] = rests.get(weight, 0) + prior[x]
        yield _column(len(channel.singles), rests)

    def columns(self, prior: Sequence[int]) -> Iterator[OutputClass]:
        self._require_columns()
        return self.worst_columns(prior)

    def _require_columns(self) -> None:
        self.require_steps(self.channel.output_count * (len(self.channel.heavies) + 4), "listing its windows")

    def _laps(self, order: int, prior: Sequence[int]) -> list[int]:
        """Return the prior mass before each arc of an order, twice around the circle."""
        masses = list(map(prior.__getitem__, self.channel.circle.layout(order).sequence))
        return list(accumulate(masses + masses, initial=0))

    def _windows(
        self, start: int, window_type: WindowType, order: int, prior: Sequence[int], before: Sequence[int]
    ) -> Iterator[OutputClass]:
        """Yield the columns of all windows of a type in an order.

        Args:
            start: the output of the first window.
            before: the result of ``_laps`` for this order.
        """
        channel, layout = self.channel, self.channel.circle.layout(order)
        flat_masses: dict[int, int] = {}
        flat = [(window_type.single_weight, single.x) for single in channel.singles]
        for weight, x in [*zip(window_type.heavy_weights, channel.heavies, strict=True), *flat]:
            flat_masses[weight << WINDOWS_SCALE] = flat_masses.get(weight << WINDOWS_SCALE, 0) + prior[x]
        inside, outside = window_type.inside << WINDOWS_SCALE, window_type.outside << WINDOWS_SCALE
        slope = window_type.inside - window_type.outside
        arcs, cells = len(layout.sequence), channel.cells
        rare = before[arcs]
        for window in range(cells):
            masses = dict(flat_masses)
            if not slope:
                masses[outside] = masses.get(outside, 0) + rare
                yield _column(start + window, masses)
                continue
            lap, end = divmod(window + window_type.span, cells)
            first_arc, last_arc = layout.cut[window], layout.cut[end] + lap * arcs
            if first_arc == last_arc:
                ends = [(first_arc, layout.before[end] - layout.before[window])]
                whole_mass = 0
            elif last_arc == first_arc + arcs:
                ends = [(first_arc, ONE - layout.before[window] + layout.before[end])]
                whole_mass = before[last_arc] - before[first_arc + 1]
            else:
                ends = [(first_arc, ONE - layout.before[window]), (last_arc, layout.before[end])]
                whole_mass = before[last_arc] - before[first_arc + 1]
            left = rare - whole_mass
            for place, points in ends:
                mass = before[place + 1] - before[place]
                left -= mass
                weight = outside + slope * points
                masses[weight] = masses.get(weight, 0) + mass
            masses[inside] = masses.get(inside, 0) + whole_mass
            masses[outside] = masses.get(outside, 0) + left
            yield _column(start + window, masses)

    def marginals(self, prior: Sequence[int]) -> Sequence[int]:
        self._require_columns()
        channel = self.channel
        marginals = [column.marginal for column in self._outside_windows(prior)]
        rare = sum(map(prior.__getitem__, channel.circle.rare))
        before = [channel.circle.masses(order, prior) for order in range(channel.orders if channel.types else 0)]
        for window_type in channel.types:
            fixed = window_type.outside * rare + window_type.single_weight * sum(
                prior[single.x] for single in channel.singles
            )
            fixed += sum(
                weight * prior[x] for weight, x in zip(window_type.heavy_weights, channel.heavies, strict=True)
            )
            slope = window_type.inside - window_type.outside
            for masses in before:
                covered = zip(masses[: channel.cells], masses[window_type.span :], strict=False)
                marginals += [(fixed << WINDOWS_SCALE) + slope * (end - start) for start, end in covered]
        return marginals

    # Rows of inputs

    def _arcs(self, order: int) -> Iterator[tuple[int, _Arc]]:
        """Yield each rare input with its arc in an order."""
        channel = self.channel
        if not channel.types:
            return
        layout = channel.circle.layout(order)
        for x, end in zip(layout.sequence, layout.ends, strict=True):
            first = (end - channel.arcs[x]) * channel.cells // channel.circle.length
            yield x, _Arc(first, (end * channel.cells - 1) // channel.circle.length)

    def _points(self, order: int, x: int, arc: _Arc) -> list[int]:
        """Return the numbers of points of an arc before the border of its first cell, and after each of its cells."""
        return [self.channel.circle.points_before(order, x, border) for border in range(arc.first, arc.last + 2)]

    def _covering(self, arc: _Arc, points: Sequence[int], span: int) -> tuple[int, int, list[tuple[int, int]]]:
        """Return the first window that covers the whole of ``arc``, the number of windows that do, and (window, points)
        of the windows that may cut it.

        Args:
            points: the result of ``_points`` for this arc.
        """
        cells, across = self.channel.cells, arc.last - arc.first
        full = max(span - across, 0)
        begin = (arc.last + 1 - span) % cells
        if not across:
            return begin, full, []
        touching = min(span + across, cells)
        if full and touching < cells:  # each other window begins or ends inside the arc
            cuts = range(1, across + 1)
            ending = [((arc.first - span + cut) % cells, points[cut]) for cut in cuts]
            return begin, full, ending + [((arc.first + cut) % cells, ONE - points[cut]) for cut in cuts]

        def before(border: int) -> int:
            return points[min(max(border - arc.first, 0), across + 1)]

        covering = {(begin + step) % cells for step in range(full)}
        windows = {(arc.first + 1 - span + step) % cells for step in range(touching)} - covering
        return (
            begin,
            full,
            [
                (window, before(window + span) - before(window) + before(window + span - cells))
                for window in sorted(windows)
            ],
        )

    def row(self, x: int) -> Iterable[tuple[int, int]]:
        return [(weight, count) for weight, count, _ in self._row(x)]

    def fits(self, x: int) -> tuple[int, int, int]:
        row = [part for part in self._row(x) if part[1]]
        largest = max(weight for weight, _, _ in row)
        truth = sum(weight * count for weight, count, _ in row if weight == largest)
        wrong = sum(lower_bound * count for weight, count, lower_bound in row if weight == largest)
        return truth, wrong, 1 << self.channel.scale

    def _row(self, x: int) -> list[tuple[int, int, int]]:
        """Return triples (weight, number of outputs with this weight, lower bound of every input's weight for these
        outputs)."""
        channel = self.channel
        rests = [channel.rest(other) for other in (*channel.circle.rare[:1], *channel.heavies, *channel.single_of)]
        row = [(channel.rest(x) << self._shift_bits, 1, min(rests) << self._shift_bits)]
        row += [
            (channel.weight(x, y), 1, min(single.own_weight, single.other_weight) << self._shift_bits)
            for y, single in enumerate(channel.singles)
        ]
        place = channel.heavies.index(x) if x in channel.heavies else None
        arcs = [next((arc for rare, arc in self._arcs(order) if rare == x), None) for order in range(channel.orders)]
        points = [[] if arc is None else self._points(order, x, arc) for order, arc in enumerate(arcs)]
        for window_type in channel.types:
            single_weights = [window_type.single_weight] if channel.singles else []
            lower_bound = (
                min(window_type.inside, window_type.outside, *single_weights, *window_type.heavy_weights)
                << WINDOWS_SCALE
            )
            for order, arc in enumerate(arcs):
                if arc is None:
                    flat = window_type.single_weight if place is None else window_type.heavy_weights[place]
                    row.append((flat << WINDOWS_SCALE, channel.cells, lower_bound))
                    continue
                _, full, cut = self._covering(arc, points[order], window_type.span)
                row.append((window_type.inside << WINDOWS_SCALE, full, lower_bound))
                row.append((window_type.outside << WINDOWS_SCALE, channel.cells - full - len(cut), lower_bound))
                row += [(_weight(window_type, points), 1, lower_bound) for _, points in cut]
        return row

    def row_sums(self, marginals: Sequence[int], term: Callable[[int, int], int]) -> Iterable[int]:
        channel, shift_bits = self.channel, self._shift_bits
        steps = channel.input_count * channel.orders * len(channel.types) + 4 * channel.output_count
        self.require_steps(steps, "summing its rows over all windows")
        others = [term(single.other_weight << shift_bits, marginals[y]) for y, single in enumerate(channel.singles)]
        at_rest = marginals[len(channel.singles)]
        totals = [sum(others) + term(channel.rest(x) << shift_bits, at_rest) for x in range(channel.input_count)]
        for y, single in enumerate(channel.singles):
            totals[single.x] += term(single.own_weight << shift_bits, marginals[y]) - others[y]
        for order in range(channel.orders if channel.types else 0):
            arcs = [(x, arc, self._points(order, x, arc)) for x, arc in self._arcs(order)]
            for number, window_type in enumerate(channel.types):
                start = self._start(number, order)
                window_marginals = marginals[start : start + channel.cells]
                for weight, x in zip(window_type.heavy_weights, channel.heavies, strict=True):
                    totals[x] += sum(term(weight << WINDOWS_SCALE, marginal) for marginal in window_marginals)
                if channel.singles:
                    single_total = sum(
                        term(window_type.single_weight << WINDOWS_SCALE, marginal) for marginal in window_marginals
                    )
                    for single in channel.singles:
                        totals[single.x] += single_total
                without = [term(window_type.outside << WINDOWS_SCALE, marginal) for marginal in window_marginals]
                more = [term(window_type.inside << WINDOWS_SCALE, marginal) for marginal in window_marginals]
                gained = [inside - outside for inside, outside in zip(more, without, strict=True)]
                sums, base = list(accumulate(gained + gained, initial=0)), sum(without)
                for x, arc, points in arcs:
                    begin, full, cut = self._covering(arc, points, window_type.span)
                    totals[x] += base + sums[begin + full] - sums[begin]
                    for window, covered in cut:
                        totals[x] += term(_weight(window_type, covered), window_marginals[window]) - without[window]
        return totals

    def largest_posterior(self, prior: Sequence[int], inputs: Sequence[int]) -> tuple[int, int, int]:
        channel, shift_bits = self.channel, self._shift_bits
        marginals = self.marginals(prior)
        candidates = frozenset(inputs)
        best = (0, 1, inputs[0])

        def look(x: int, weight: int, marginal: int) -> None:
            nonlocal best
            joint = prior[x] * weight
            if joint * best[1] > best[0] * marginal:
                best = (joint, marginal, x)

        flat = [x for x in candidates if not channel.arcs[x]]
        for x in flat:
            for y in range(len(channel.singles)):
                look(x, channel.weight(x, y), marginals[y])
        for x in candidates:
            look(x, channel.rest(x) << shift_bits, marginals[len(channel.singles)])
        places = {x: place for place, x in enumerate(channel.heavies)}
        for order in range(channel.orders if channel.types else 0):
            # Of the inputs whose arcs touch the same cells, the one with the largest prior has the largest posterior.
            most_frequent: dict[_Arc, int] = {}
            for x, arc in self._arcs(order):
                if x in candidates and (arc not in most_frequent or prior[x] > prior[most_frequent[arc]]):
                    most_frequent[arc] = x
            touched = [(x, arc, self._points(order, x, arc)) for arc, x in most_frequent.items()]
            for number, window_type in enumerate(channel.types):
                start = self._start(number, order)
                window_marginals = marginals[start : start + channel.cells]
                for x in flat:
                    weight = window_type.heavy_weights[places[x]] if x in places else window_type.single_weight
                    look(x, weight << WINDOWS_SCALE, min(window_marginals))
                if not touched:
                    continue
                minima = _RangeMinima(window_marginals)
                for x, arc, points in touched:
                    begin, full, cut = self._covering(arc, points, window_type.span)
                    if full:
                        look(x, window_type.inside << WINDOWS_SCALE, minima.minimum(begin, full))
                    for window, covered in cut:
                        look(x, _weight(window_type, covered), window_marginals[window])
                    touching = min(window_type.span + arc.last - arc.first, channel.cells)
                    if touching < channel.cells:
                        first = (arc.last + 1) % channel.cells
                        look(x, window_type.outside << WINDOWS_SCALE, minima.minimum(first, channel.cells - touching))
        # On the output of a single, the largest posterior of another input is that of the input with the largest prior.
        for y, single in enumerate(channel.singles):
            others = [x for x in candidates if x != single.x]
            if others:
                look(max(others, key=prior.__getitem__), single.other_weight << shift_bits, marginals[y])
        return best


class _RangeMinima:
    """The minima of stretches of 1, 2, 4, ... numbers on a circle, for the minimum of any stretch."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._tables = [[*numbers, *numbers]]
        step = 1
        while 2 * step <= len(numbers):
            row = self._tables[-1]
            self._tables.append(list(map(min, row, row[step:])))
            step *= 2

    def minimum(self, first: int, count: int) -> int:
        """Return the least of ``count`` numbers from position ``first`` on; 1 <= count <= the length of the circle."""
        level = count.bit_length() - 1
        row = self._tables[level]
        return min(row[first], row[first + count - (1 << level)])


def _weight(window_type: WindowType, points: int) -> int:
    """Return the weight of a window that covers ``points`` of the 2^64 points of an arc."""
    return (window_type.outside << WINDOWS_SCALE) + (window_type.inside - window_type.outside) * points


def _column(y: int, masses: dict[int, int]) -> OutputClass:
    return OutputClass(y, 1, tuple(part for part in masses.items() if part[1]))
