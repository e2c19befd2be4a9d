"""Windows: local information privacy for a domain of any size, without a table of inputs x outputs (SPEC 5.9).

Each rare input is an arc of a circle of J cells. An output is a window of neighbouring cells, and is more probable for
the inputs whose arcs it covers. Every point of the circle is covered by the same number of windows, so all rare inputs
share one list of weights. There are several types of windows. A few frequent inputs, the heavy inputs, have an explicit
weight for each type. An input that is frequent enough to have an output of its own is a single.

    output                  0 .. s - 1      the singles'
                            s               ``rest``: 2^64 minus the weights of all other outputs
                            from s + 1      type, order, window: s + 1 + (type * orders + order) * cells + window

The arcs are laid out in each of a few public random orders, and every answer draws one order. So two inputs that are
neighbours in one order need not be neighbours in the others (MATH 2.8).

The module ``arrangement`` defines types, singles and the places of inputs, ``circle`` computes the covered part of an
arc, and ``loss`` the worst ratios. The author's aggregator.families.windows.recipe chooses the weights for a prior;
this module accepts all valid weights.

Source: MATH 2.5-2.8; for singles, Jiang, Li, Tandon 2020, Theorem 3, where it is valid.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import ClassVar

from protocol import codec
from protocol.channels.channel import PAIR_STEPS, Loss
from protocol.channels.windows import loss
from protocol.channels.windows.arrangement import Arrangement, Single, WindowType
from protocol.channels.windows.circle import POINT_BITS
from protocol.domain import MAX_VALUES
from protocol.errors import ChannelError

WINDOWS_SCALE = 64
ONE = 1 << WINDOWS_SCALE
MAX_CIRCLE = 2**53
"""Maximum sum of all arcs, equal to the maximum sum of the weights of a prior."""
MAX_ORDERS = 256
WINDOW_STEPS = 4
"""Audit steps for one border between cells in one order, without the further steps for each type of windows."""

MAX_OUTPUTS = 2**24

_RARE, _SINGLE = -1, -2
"""The kinds of rare inputs and of singles. Each heavy input is a kind of its own, numbered from 0. A list with an entry
for each kind ends with the entries of ``_SINGLE`` and ``_RARE``."""


@dataclass(frozen=True)
class Windows(Arrangement):
    """A windows channel: types of windows over a circle of rare inputs.

    Attributes:
        arcs: the length of each input's arc; 0 for heavy inputs and singles.
        cells: J, the number of cells of the circle.
        orders: R, the number of public orders, a power of two.
        heavies: the heavy inputs, increasing.
        singles: the singles, by increasing input.
        types: the types of windows; empty exactly if every input is a single, and then the channel has one cell and one
            order.
    Raises:
        ChannelError: an attribute is invalid, or does not fit the others.
    """

    arcs: tuple[int, ...]
    cells: int
    orders: int
    heavies: tuple[int, ...]
    singles: tuple[Single, ...]
    types: tuple[WindowType, ...]
    input_count: int = field(init=False, repr=False, compare=False)
    output_count: int = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "windows"
    rand_bytes: ClassVar[int] = 17

    def __post_init__(self) -> None:
        window_count = len(self.types) * self.orders * self.cells
        self._derive(input_count=len(self.arcs), output_count=len(self.singles) + 1 + window_count)
        if not 2 <= self.input_count <= MAX_VALUES:
            raise ChannelError(f"a channel must have 2 to {MAX_VALUES} inputs, not {self.input_count}")
        if min(self.arcs) < 0:
            raise ChannelError(f"the length of an arc must be at least 0, not {min(self.arcs)}")
        if sum(self.arcs) > MAX_CIRCLE:
            raise ChannelError(f"the arcs must sum to at most 2^53, not to {sum(self.arcs)}")
        if self.cells < 1:
            raise ChannelError(f"a windows channel must have at least 1 cell, not {self.cells}")
        if not 1 <= self.orders <= MAX_ORDERS or self.orders & (self.orders - 1):
            raise ChannelError(
                f"the number of orders of a windows channel must be a power of two, at most {MAX_ORDERS}, not "
                f"{self.orders}"
            )
        if not 2 <= self.output_count <= MAX_OUTPUTS:
            raise ChannelError(f"a windows channel must have 2 to {MAX_OUTPUTS} outputs, not {self.output_count}")
        single_inputs = [single.x for single in self.singles]
        codec.require_increasing(self.heavies, "heavy inputs", ChannelError)
        codec.require_increasing(single_inputs, "singles", ChannelError)
        self._require_kinds([*self.heavies, *single_inputs])
        if self.types and not self.circle.rare:
            raise ChannelError("a windows channel with types must have an input with an arc")
        if not self.types and len(single_inputs) < self.input_count:
            raise ChannelError(
                f"a windows channel without types must have a single for each of {self.input_count} inputs, "
                f"not {len(single_inputs)}"
            )
        if not self.types and (self.cells, self.orders) != (1, 1):
            raise ChannelError(
                f"a windows channel without types must have 1 cell and 1 order, not {self.cells} and {self.orders}"
            )
        for window_type in self.types:
            _require_type(window_type, self.cells, len(self.heavies))
        for single in self.singles:
            if not 0 <= single.other_weight <= single.own_weight:
                raise ChannelError(
                    "the weights of a single's output must satisfy 0 <= other <= own, not other = "
                    f"{single.other_weight} and own = {single.own_weight}"
                )
        rests = [self._rest_of(kind) for kind in (_RARE, *range(len(self.heavies)))]
        rests += [self._rest_of(_SINGLE) - single.own_weight + single.other_weight for single in self.singles]
        if min(rests) < 0:
            raise ChannelError(f"the weights of an input must sum to at most 2^64, not to {ONE - min(rests)}")

    def _require_kinds(self, listed: Sequence[int]) -> None:
        """Refuse an input that is not exactly one of rare (it has an arc), heavy or single."""
        without_arc = [x for x, arc in enumerate(self.arcs) if not arc]
        if sorted(listed) == without_arc:
            return
        counts = Counter(listed)
        for x in sorted({*listed, *without_arc}):
            if not 0 <= x < self.input_count:
                raise ChannelError(f"a heavy input or a single must lie in 0 .. {self.input_count - 1}, not {x}")
            if (kinds := bool(self.arcs[x]) + counts[x]) != 1:
                raise ChannelError(
                    f"each input must be exactly one of rare (with an arc), heavy and single; input {x} is in {kinds} "
                    "of these groups"
                )

    @property
    def scale(self) -> int:
        return WINDOWS_SCALE + POINT_BITS + self.orders.bit_length() - 1

    @cached_property
    def bonus_of(self) -> dict[int, int]:
        """The additional weight of each single input on its own output."""
        return {single.x: single.own_weight - single.other_weight for single in self.singles}

    def _kind_of(self, x: int) -> int:
        return (self.place_of.get(x, _SINGLE), _RARE)[self.arcs[x] > 0]

    @cached_property
    def _ends(self) -> tuple[tuple[int, ...], ...]:
        """The cumulative weights of the types, over 2^64, for each kind of input."""
        weights = [
            [
                window_type.span * inside + (self.cells - window_type.span) * outside
                for inside, outside in window_type.by_kind
            ]
            for window_type in self.types
        ]
        kinds = len(self.heavies) + 2
        return tuple(tuple(accumulate(parts[kind] for parts in weights)) for kind in range(kinds))

    @cached_property
    def _others(self) -> tuple[int, ...]:
        """The cumulative weights of the singles' outputs, for every input except their own."""
        return tuple(accumulate(single.other_weight for single in self.singles))

    def _rest_of(self, kind: int) -> int:
        """Return the weight of the output ``rest`` over 2^64; for singles, before their bonus is subtracted."""
        return ONE - (self._ends[kind] or (0,))[-1] - (self._others or (0,))[-1]

    def weight(self, x: int, y: int) -> int:
        singles = len(self.singles)
        shift_bits = self.scale - WINDOWS_SCALE
        kind = self._kind_of(x)
        if y < singles:
            single = self.singles[y]
            return (single.own_weight if single.x == x else single.other_weight) << shift_bits
        if y == singles:
            return self.rest(x) << shift_bits
        number, window = divmod(y - singles - 1, self.cells)
        number, order = divmod(number, self.orders)
        window_type = self.types[number]
        inside, outside = window_type.by_kind[kind]
        points = self.circle.covered(order, x, window, window_type.span) if kind == _RARE else 0
        return (outside << POINT_BITS) + (inside - outside) * points

    def rest(self, x: int) -> int:
        return self._rest_of(self._kind_of(x)) - self.bonus_of.get(x, 0)

    def sample(self, x: int, rand: bytes) -> int:
        self._require_draw(x, rand)
        draw = int.from_bytes(rand[:8], "big")
        point = int.from_bytes(rand[8:16], "big")
        order = rand[16] & (self.orders - 1)
        singles = len(self.singles)
        kind = self._kind_of(x)
        ends = self._ends[kind]
        # For constant time, every input takes the same steps: an input without an arc is treated as one with an arc of
        # length 0 and equal weights inside and outside. The first draw fills the cached tables for all kinds of inputs,
        # not only for its own kind.
        cell = self.circle.cell(order, x, point)
        number = bisect_right(ends, draw)
        if number < len(ends):
            window_type = self.types[number]
            inside, outside = window_type.by_kind[kind]
            offset = draw - (ends[number - 1] if number else 0)
            beyond = offset - window_type.span * inside
            covering = cell - offset // max(inside, 1)
            window = (covering, cell + 1 + beyond // max(outside, 1))[beyond >= 0] % self.cells
            return singles + 1 + (number * self.orders + order) * self.cells + window
        left = draw - (ends[-1] if ends else 0)
        bonus = self.bonus_of.get(x, 0)
        return (bisect_right(self._others, left - bonus), self.single_of.get(x, 0))[left < bonus]

    def pair_steps(self, first: Sequence[int], second: Sequence[int]) -> int:
        return PAIR_STEPS + len(first) + len(second) + self._laid_out

    @property
    def prior_steps(self) -> int:
        return self._laid_out

    @property
    def numbers_held(self) -> int:
        return self.orders * (self.cells + len(self.circle.rare)) if self.types else 0

    @property
    def _laid_out(self) -> int:
        """Number of audit steps for the worst ratios over all windows and over all other outputs."""
        beside = 2 * self.input_count + 8 * len(self.singles)
        if not self.types:
            return beside
        # A window more than twice as wide as the longest arc covers a whole arc wherever it begins. If the rest of the
        # circle is as wide, it contains a whole arc too, so one window represents all of them.
        wide = 2 * -(-max(self.arcs) * self.cells // self.circle.length) + 1
        halves = sum(1 if wide <= window_type.span <= self.cells - wide else 4 for window_type in self.types)
        kinds = (len(self.heavies) + len(self.singles) + 8) * len(self.types)
        windows = self.cells * (2 * WINDOW_STEPS + halves) // 2
        return beside + self.orders * (len(self.circle.rare) + kinds + windows)

    def loss(self, first: Sequence[int], second: Sequence[int]) -> Loss:
        return loss.loss(self, first, second)

    def loss_against_prior(self, prior: Sequence[int]) -> Loss:
        return loss.loss_against_prior(self, prior)

    def encode(self) -> codec.Value:
        return [
            self.family,
            list(self.arcs),
            self.cells,
            self.orders,
            list(self.heavies),
            [number for single in self.singles for number in (single.x, single.own_weight, single.other_weight)],
            [
                [
                    window_type.span,
                    window_type.inside,
                    window_type.outside,
                    window_type.single_weight,
                    *window_type.heavy_weights,
                ]
                for window_type in self.types
            ],
        ]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Windows:
        _, arcs, cells, orders, heavies, singles, types = codec.fields(value, 7, "a windows channel", ChannelError)
        flat = codec.integers(singles, "the input or a weight of a single", ChannelError)
        if len(flat) % 3:
            raise ChannelError(
                f"singles must be triples of an input and two weights, so a multiple of 3 integers, not {len(flat)}"
            )
        read = []
        for type_value in codec.array(types, "the types of windows", ChannelError):
            numbers = codec.integers(type_value, "a number of a type of windows", ChannelError)
            if len(numbers) < 4:
                raise ChannelError(f"a type of windows must have 4 numbers or more, not {len(numbers)}")
            span, inside, outside, single_weight = numbers[:4]
            read.append(WindowType(span, inside, outside, single_weight, numbers[4:]))
        return cls(
            codec.integers(arcs, "an arc", ChannelError, 0, MAX_CIRCLE),
            codec.integer(cells, "the number of cells", ChannelError, 1, MAX_OUTPUTS),
            codec.integer(orders, "the number of orders", ChannelError, 1, MAX_ORDERS),
            codec.integers(heavies, "a heavy input", ChannelError, 0, MAX_VALUES),
            tuple(map(Single, flat[::3], flat[1::3], flat[2::3])),
            tuple(read),
        )


def _require_type(window_type: WindowType, cells: int, heavies: int) -> None:
    if len(window_type.heavy_weights) != heavies:
        raise ChannelError(
            f"a type of windows must have one weight for each heavy input: {heavies} in all, "
            f"not {len(window_type.heavy_weights)}"
        )
    if not 0 <= window_type.span <= cells:
        raise ChannelError(f"a window must span 0 to {cells} cells, not {window_type.span}")
    if (smallest := min(window_type.outside, window_type.single_weight, *window_type.heavy_weights)) < 0:
        raise ChannelError(f"the weight of a window must be at least 0, not {smallest}")
    if window_type.inside < window_type.outside:
        raise ChannelError(
            f"the inside weight of a window must be at least its outside weight, {window_type.outside}, "
            f"not {window_type.inside}"
        )
    if window_type.span in (0, cells) and window_type.inside != window_type.outside:
        raise ChannelError(
            f"a window of no or all cells must have the same weight inside and outside, not {window_type.inside} and "
            f"{window_type.outside}"
        )
