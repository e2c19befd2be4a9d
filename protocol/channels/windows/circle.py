"""Arcs on a circle of cells, in public orders, and their coverage by windows of cells (SPEC 5.9).

Borders between cells and ends of arcs are compared as integers, on a circle ``cells`` times as long. So a window covers
a whole number of an arc's 2^64 points. ``coverage`` returns, for each border, the least number of cells with which the
window from this border covers a whole arc of a set. A shorter window covers no whole arc of the set, so only the arcs
at its two ends matter.

The module ``channel`` defines weights and outputs.
"""

from __future__ import annotations

import hashlib
import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import mul
from typing import NamedTuple

POINT_BITS = 64
POINTS = 1 << POINT_BITS
"""The number of equal parts into which every arc is divided, whatever its length."""
ORDER_LABEL = b"halftruth windows order"


@dataclass(frozen=True)
class Layout:
    """The arcs in one order, and their cuts by the borders between cells.

    Attributes:
        sequence: the rare inputs in this order.
        ends: the ends of their arcs, on a circle with the length of all arcs together.
        cut: for border j = 0 .. J - 1, the position in ``sequence`` of the arc that contains it.
        before: 2^64 times the part of that arc before the border, rounded up.
    """

    sequence: Sequence[int]
    ends: Sequence[int]
    cut: list[int]
    before: list[int]


@dataclass(frozen=True)
class Circle:
    """A circle of ``cells`` cells with arcs of integer lengths, in one sequence for each public order.

    Attributes:
        arcs: the length of each input's arc; 0 for an input without an arc.
        cells: J, the number of cells.
    """

    arcs: tuple[int, ...]
    cells: int

    @cached_property
    def length(self) -> int:
        """The sum of all arcs."""
        return sum(self.arcs)

    @cached_property
    def rare(self) -> tuple[int, ...]:
        """The inputs with an arc."""
        return tuple(x for x, arc in enumerate(self.arcs) if arc)

    @cached_property
    def _layouts(self) -> dict[int, Layout]:
        return {}

    def layout(self, order: int) -> Layout:
        """Return the arcs in public order ``order``: sorted by 64-bit keys from SHAKE-128, and by input if keys are
        equal."""
        if order not in self._layouts:
            rare = len(self.rare)
            digest = hashlib.shake_128(ORDER_LABEL + order.to_bytes(4, "big")).digest(8 * rare)
            keys = struct.unpack(f">{rare}Q", digest)
            sequence = [self.rare[place] for place in sorted(range(rare), key=keys.__getitem__)]
            lengths = list(map(self.arcs.__getitem__, sequence))
            ends = list(accumulate(lengths))
            # Positions are multiplied by ``cells``, so that the borders are integers.
            borders = [j * self.length for j in range(self.cells)]
            cut = [bisect_right(ends, border // self.cells) for border in borders]
            before = [
                -(-((border - self.cells * (ends[place] - lengths[place])) << POINT_BITS)
                  // (self.cells * lengths[place]))
                for border, place in zip(borders, cut, strict=True)
            ]  # fmt: skip
            self._layouts[order] = Layout(sequence, ends, cut, before)
        return self._layouts[order]

    @cached_property
    def _starts(self) -> dict[int, array[int]]:
        return {}

    def start(self, order: int, x: int) -> int:
        """Return the start of the arc of ``x``; 0 for an input without an arc, after the same number of steps."""
        if not self.rare:
            return 0
        if order not in self._starts:
            layout = self.layout(order)
            starts = array("Q", bytes(8 * len(self.arcs)))
            for rare, end in zip(layout.sequence, layout.ends, strict=True):
                starts[rare] = end - self.arcs[rare]
            self._starts[order] = starts
        return self._starts[order][x]

    def cell(self, order: int, x: int, point: int) -> int:
        """Return the cell of a point of the arc of ``x``; 0 for an input without an arc."""
        place = self.cells * ((self.start(order, x) << POINT_BITS) + point * self.arcs[x])
        return place // (max(self.length, 1) << POINT_BITS)

    def points_before(self, order: int, x: int, border: int) -> int:
        """Return the number of the 2^64 points of the arc of ``x`` that lie before ``border``."""
        distance = border * self.length - self.cells * self.start(order, x)
        return min(max(-(-(distance << POINT_BITS) // (self.cells * self.arcs[x])), 0), POINTS)

    def covered(self, order: int, x: int, window: int, span: int) -> int:
        """Return the number of the 2^64 points of the arc of ``x`` that lie in the ``span`` cells from ``window``."""
        end = window + span
        points = self.points_before(order, x, min(end, self.cells)) - self.points_before(order, x, window)
        return points + (self.points_before(order, x, end - self.cells) if end > self.cells else 0)

    def masses(self, order: int, prior: Sequence[int]) -> list[int]:
        """Return 2^64 times the prior's weight before each border, twice around the circle."""
        layout = self.layout(order)
        heights = list(map(prior.__getitem__, layout.sequence))
        ends = list(accumulate(heights))
        masses = [
            ((ends[place] - heights[place]) << POINT_BITS) + heights[place] * before
            for place, before in zip(layout.cut, layout.before, strict=True)
        ]
        total = ends[-1] << POINT_BITS
        return [*masses, *(total + mass for mass in masses), 2 * total]

    def coverage(self, order: int, members: Collection[int] | None) -> Coverage:
        """Return the coverage of the arcs of ``members`` by the windows; ``members`` of None means all arcs."""
        layout = self.layout(order)
        chosen: Sequence[int] = range(len(layout.sequence))
        ahead, behind = [POINTS - part for part in layout.before], layout.before
        if members is not None:
            chosen = [place for place, x in enumerate(layout.sequence) if x in members]
            inside = [layout.sequence[place] in members for place in layout.cut]
            ahead, behind = list(map(mul, ahead, inside)), list(map(mul, behind, inside))
        if not chosen:
            return Coverage([], 0, layout.cut, ahead, behind)
        # For each border, take the first arc of the set that begins at or after it; after the last arc, the first one
        # again.
        places = [place + (before > 0) for place, before in zip(layout.cut, layout.before, strict=True)]
        if members is not None:
            places = [bisect_left(chosen, place) for place in places]
        reached = [-(-self.cells * layout.ends[place] // self.length) for place in chosen]
        reached.append(reached[0] + self.cells)
        needs = [reached[place] - border for border, place in enumerate(places)]
        return Coverage(needs, max(needs), layout.cut, ahead, behind)


class Coverage(NamedTuple):
    """The coverage of a set of arcs by the windows from each border.

    Attributes:
        needs: for each border, the least span of a window that covers a whole arc of the set; empty without arcs.
        widest: the least span with which every window covers a whole arc of the set; 0 without arcs.
        cut: the position of the arc at each border.
        ahead, behind: 2^64 times the parts of that arc after and before the border; 0 if it is not in the set.
    """

    needs: Sequence[int]
    widest: int
    cut: list[int]
    ahead: list[int]
    behind: list[int]

    def largest_parts(self, span: int) -> list[int]:
        """Return, for the window from each border, 2^64 times the largest covered part of an arc; 0 without arcs."""
        if not self.needs or not span:
            return [0] * len(self.cut)
        if self.widest <= span:
            return [POINTS] * len(self.cut)
        # A window that covers no whole arc covers parts of the arcs at its two ends. If both ends are in one arc, the
        # window lies in this arc, or goes round the circle and covers the two ends of the arc.
        last_arcs, behind = self.cut[span:] + self.cut[:span], self.behind[span:] + self.behind[:span]
        return [
            POINTS if need <= span
            else first if first_arc != last_arc and first > second
            else second if first_arc != last_arc
            else first + second - POINTS if first + second > POINTS
            else first + second
            for need, first_arc, last_arc, first, second in zip(
                self.needs, self.cut, last_arcs, self.ahead, behind, strict=True
            )
        ]  # fmt: skip
