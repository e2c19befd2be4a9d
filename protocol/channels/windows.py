"""Windows: local information privacy for a domain of any size, without a table of inputs x outputs (SPEC 5.9).

One idea: rare inputs lie as arcs on a circle of J cells, and an output is a window of neighbouring cells, more probable
for the inputs it covers. Every point of the circle is covered by equally many windows, so one list of numbers serves
all rare inputs; only the arcs that a window's end cuts through need a look of their own. A few frequent inputs, the
heavy ones, are told apart by types of windows instead, with an explicit weight each, and an input frequent enough to
have an output of its own is a single.

    output                  0 .. s - 1      the singles'
                            s               the rest: what is left of 2^64 after all others
                            from s + 1      type, order, window: s + 1 + (type * orders + order) * cells + window

The arcs are laid out anew in each of a few public random orders, of which every answer draws one, so that inputs that
are neighbours once are not always (MATH 2.8).

The optimal weights for a prior are the author's (aggregator.design.windows); here any weights are a channel.

Source: MATH 2.5-2.8; the singles are Jiang, Li, Tandon 2020, Theorem 3, where it is legal.
"""

from __future__ import annotations

import hashlib
import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from operator import sub
from typing import ClassVar

from protocol import codec
from protocol.channels.channel import Channel, Loss
from protocol.domain import MAX_VALUES
from protocol.errors import ChannelError

WINDOWS_SCALE = 64
ONE = 1 << WINDOWS_SCALE
MAX_CIRCLE = 2**53
"""The most that all arcs may sum to: the most that the weights of a prior may."""
MAX_ORDERS = 256
MAX_OUTPUTS = 2**24
ORDER_LABEL = b"halftruth windows order"

_TAIL, _LOW = -1, -2
"""Kinds of inputs beside the heavy ones, which are known by their place."""


@dataclass(frozen=True)
class Type:
    """One type of windows: the weight, over 2^64, of each of its J windows for every kind of input.

    Attributes:
        span: c, the cells that a window covers.
        inside, outside: for a rare input, of a window that covers it and of one that does not; inside >= outside.
            Equal where the span is 0 or J: a type has one form.
        low: for a single.
        heavy: for each heavy input.
    """

    span: int
    inside: int
    outside: int
    low: int
    heavy: tuple[int, ...]


@dataclass(frozen=True)
class Single:
    """An output of one input's own.

    Attributes:
        x: the input.
        own, other: the output's weight, over 2^64, for the input and for every other one; own >= other.
    """

    x: int
    own: int
    other: int


@dataclass(frozen=True)
class Layout:
    """The arcs in one order, and where the borders between cells cut them.

    Attributes:
        sequence: the rare inputs as they follow each other.
        ends: where their arcs end, on a circle of the arcs' sum.
        cut: for border j = 0 .. J - 1, the place in ``sequence`` of the arc that it lies in.
        before: 2^64 times the part of that arc before the border, rounded up.
    """

    sequence: Sequence[int]
    ends: Sequence[int]
    cut: Sequence[int]
    before: Sequence[int]


@dataclass(frozen=True)
class Windows(Channel):
    """Types of windows over a circle of rare inputs.

    Attributes:
        arcs: the length of each input's arc; 0 for heavy inputs and singles.
        cells: J.
        orders: R, a power of two.
        heavies: the heavy inputs, increasing.
        singles: by increasing input.
        types: none exactly where every input is a single; then there is one cell and one order.
    """

    arcs: tuple[int, ...]
    cells: int
    orders: int
    heavies: tuple[int, ...]
    singles: tuple[Single, ...]
    types: tuple[Type, ...]
    inputs: int = field(init=False, repr=False, compare=False)
    outputs: int = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "windows"

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", len(self.arcs))  # frozen for everybody else
        object.__setattr__(self, "outputs", len(self.singles) + 1 + len(self.types) * self.orders * self.cells)
        if not 2 <= self.inputs <= MAX_VALUES:
            raise ChannelError(f"a channel has 2 to {MAX_VALUES} inputs, not {self.inputs}")
        if min(self.arcs) < 0 or sum(self.arcs) > MAX_CIRCLE:
            raise ChannelError("arcs are not negative and sum to at most 2^53")
        if self.cells < 1 or not 1 <= self.orders <= MAX_ORDERS or self.orders & (self.orders - 1):
            raise ChannelError(f"there is at least one cell, and the orders are a power of two up to {MAX_ORDERS}")
        if not 2 <= self.outputs <= MAX_OUTPUTS:
            raise ChannelError(f"a windows channel has 2 to {MAX_OUTPUTS} outputs, not {self.outputs}")
        named = [single.x for single in self.singles]
        if any(x >= y for members in (self.heavies, named) for x, y in pairwise(members)):
            raise ChannelError("heavy inputs and singles are listed once each, in the domain's order")
        if sorted([*self.heavies, *named]) != [x for x, arc in enumerate(self.arcs) if not arc]:
            raise ChannelError("the inputs without an arc are the heavy ones and the singles")
        if bool(self.types) != (len(named) < self.inputs):
            raise ChannelError("there are types of windows exactly where not every input is a single")
        if (self.types and not self._tail) or (not self.types and (self.cells, self.orders) != (1, 1)):
            raise ChannelError("types of windows need an arc, and cells and orders need types")
        for each in self.types:
            _require_type(each, self.cells, len(self.heavies))
        if any(not 0 <= single.other <= single.own for single in self.singles):
            raise ChannelError("a single's output is for its own input at least as probable as for every other")
        if min(self._rest_of(kind) for kind in (_TAIL, *range(len(self.heavies)))) < 0 or any(
            self._rest_of(_LOW) < single.own - single.other for single in self.singles
        ):
            raise ChannelError("the weights of an input sum to at most 2^64")

    @property
    def scale(self) -> int:
        return 2 * WINDOWS_SCALE + self.orders.bit_length() - 1

    @property
    def rand_bytes(self) -> int:
        return 17

    @cached_property
    def circle(self) -> int:
        """The sum of all arcs."""
        return sum(self.arcs)

    @cached_property
    def _tail(self) -> tuple[int, ...]:
        return tuple(x for x, arc in enumerate(self.arcs) if arc)

    @cached_property
    def _place_of(self) -> dict[int, int]:
        """The place of each heavy input."""
        return {x: place for place, x in enumerate(self.heavies)}

    @cached_property
    def _single_of(self) -> dict[int, int]:
        """The output of each single."""
        return {single.x: y for y, single in enumerate(self.singles)}

    def _kind_of(self, x: int) -> int:
        return _TAIL if self.arcs[x] else self._place_of.get(x, _LOW)

    def _of_type(self, each: Type, kind: int) -> tuple[int, int]:
        """Weight of a window that covers an input of this kind, and of one that does not."""
        if kind == _TAIL:
            return each.inside, each.outside
        flat = each.low if kind == _LOW else each.heavy[kind]
        return flat, flat

    def _ends_of(self, kind: int) -> tuple[int, ...]:
        """Where the types end, of 2^64, for an input of this kind."""
        known = self._ends
        if kind not in known:
            pairs = (self._of_type(each, kind) for each in self.types)
            known[kind] = tuple(
                accumulate(
                    each.span * inside + (self.cells - each.span) * outside
                    for each, (inside, outside) in zip(self.types, pairs, strict=True)
                )
            )
        return known[kind]

    @cached_property
    def _ends(self) -> dict[int, tuple[int, ...]]:
        return {}

    @cached_property
    def _others(self) -> tuple[int, ...]:
        """Where the singles' outputs end, for every input but their own."""
        return tuple(accumulate(single.other for single in self.singles))

    def _rest_of(self, kind: int) -> int:
        """The weight of the output ``rest`` over 2^64; for singles before what they have more on their own output."""
        return ONE - (self._ends_of(kind) or (0,))[-1] - (self._others or (0,))[-1]

    @cached_property
    def _layouts(self) -> dict[int, Layout]:
        return {}

    def layout(self, order: int) -> Layout:
        """The arcs in public order ``order``: by the 64-bit keys that SHAKE-128 gives it, equal keys by input."""
        if order not in self._layouts:
            rare = len(self._tail)
            digest = hashlib.shake_128(ORDER_LABEL + order.to_bytes(4, "big")).digest(8 * rare)
            keys = struct.unpack(f">{rare}Q", digest)
            sequence = [self._tail[place] for place in sorted(range(rare), key=keys.__getitem__)]
            lengths = list(map(self.arcs.__getitem__, sequence))
            ends = list(accumulate(lengths))
            borders = [j * self.circle for j in range(self.cells)]  # on a circle cells times as long
            cut = [bisect_right(ends, border // self.cells) for border in borders]
            before = [
                -(-((border - self.cells * (ends[place] - lengths[place])) << WINDOWS_SCALE)
                  // (self.cells * lengths[place]))
                for border, place in zip(borders, cut, strict=True)
            ]  # fmt: skip
            self._layouts[order] = Layout(sequence, ends, cut, before)
        return self._layouts[order]

    @cached_property
    def _starts(self) -> dict[int, array[int]]:
        return {}

    def _start(self, order: int, x: int) -> int:
        """Where the arc of ``x`` begins; 0 for an input without one."""
        if not self.arcs[x]:
            return 0
        if order not in self._starts:
            layout = self.layout(order)
            starts = array("Q", bytes(8 * self.inputs))
            for rare, end in zip(layout.sequence, layout.ends, strict=True):
                starts[rare] = end - self.arcs[rare]
            self._starts[order] = starts
        return self._starts[order][x]

    def _draws_before(self, order: int, x: int, border: int) -> int:
        """How many of the 2^64 points of the arc of ``x`` lie before ``border``."""
        distance = border * self.circle - self.cells * self._start(order, x)
        return min(max(-(-(distance << WINDOWS_SCALE) // (self.cells * self.arcs[x])), 0), ONE)

    def covered(self, order: int, x: int, window: int, span: int) -> int:
        """How many of the 2^64 points of the arc of ``x`` lie in the ``span`` cells from ``window``."""
        end = window + span
        points = self._draws_before(order, x, min(end, self.cells)) - self._draws_before(order, x, window)
        return points + (self._draws_before(order, x, end - self.cells) if end > self.cells else 0)

    def weight(self, x: int, y: int) -> int:
        singles = len(self.singles)
        lift = self.scale - WINDOWS_SCALE
        kind = self._kind_of(x)
        if y < singles:
            single = self.singles[y]
            return (single.own if single.x == x else single.other) << lift
        if y == singles:
            return self.rest(x) << lift
        number, window = divmod(y - singles - 1, self.cells)
        number, order = divmod(number, self.orders)
        each = self.types[number]
        inside, outside = self._of_type(each, kind)
        points = self.covered(order, x, window, each.span) if kind == _TAIL else 0
        return (outside << WINDOWS_SCALE) + (inside - outside) * points

    def rest(self, x: int) -> int:
        """The weight over 2^64 of the output that holds what is left."""
        kind = self._kind_of(x)
        return self._rest_of(kind) - (self._bonus(x) if kind == _LOW else 0)

    def _bonus(self, x: int) -> int:
        """What a single has more on its own output than others; 0 for every other input."""
        y = self._single_of.get(x)
        return 0 if y is None else self.singles[y].own - self.singles[y].other

    def sample(self, x: int, rand: bytes) -> int:
        self._require_draw(x, rand)
        draw = int.from_bytes(rand[:8], "big")
        point = int.from_bytes(rand[8:16], "big")
        order = rand[16] & (self.orders - 1)
        singles = len(self.singles)
        kind = self._kind_of(x)
        ends = self._ends_of(kind)
        # All inputs go the same way: those without an arc have one of length 0, and windows that weigh the same.
        cell = self.cells * ((self._start(order, x) << WINDOWS_SCALE) + point * self.arcs[x])
        cell //= max(self.circle, 1) << WINDOWS_SCALE
        number = bisect_right(ends, draw)
        if number < len(ends):
            each = self.types[number]
            inside, outside = self._of_type(each, kind)
            offset = draw - (ends[number - 1] if number else 0)
            beyond = offset - each.span * inside
            covering = cell - offset // max(inside, 1)
            window = (covering, cell + 1 + beyond // max(outside, 1))[beyond >= 0] % self.cells
            return singles + 1 + (number * self.orders + order) * self.cells + window
        left = draw - (ends[-1] if ends else 0)
        bonus = self._bonus(x)
        return (bisect_right(self._others, left - bonus), self._single_of.get(x, 0))[left < bonus]

    def loss(self, first: Sequence[int], second: Sequence[int]) -> Loss:
        some, others = _Kinds.of(self, first), _Kinds.of(self, second)
        numerator, denominator, at = 1, 1, 0

        def look(most: int, least: int, y: int) -> None:
            nonlocal numerator, denominator, at
            if most * denominator > numerator * least:
                numerator, denominator, at = most, least, y

        for y, single in enumerate(self.singles):
            look(single.own if single.x in some.named else single.other,
                 single.own if others.only(single.x) else single.other, y)  # fmt: skip
        look(max(map(self.rest, some.rests)), min(map(self.rest, others.rests)), len(self.singles))
        for order in range(self.orders if self.types else 0):
            most, least = self._reach(order, some), self._reach(order, others)
            for number, each in enumerate(self.types):
                highest, lowest = some.flat(each, max), others.flat(each, min)
                start = len(self.singles) + 1 + (number * self.orders + order) * self.cells
                full = most.coverage(each.span)
                bare = least.coverage(self.cells - each.span)
                # Windows whose extremes are equal are looked at once.
                pairs = dict(zip(zip(full, bare[each.span :] + bare[: each.span], strict=True), range(self.cells),
                                 strict=True))  # fmt: skip
                for (covered, uncovered), window in pairs.items():
                    top, bottom = highest, lowest
                    if covered is not None:
                        value = (each.outside << WINDOWS_SCALE) + (each.inside - each.outside) * covered
                        top = value if top is None else max(top, value)
                    if uncovered is not None:
                        value = (each.inside << WINDOWS_SCALE) - (each.inside - each.outside) * uncovered
                        bottom = value if bottom is None else min(bottom, value)
                    look(_some(top), _some(bottom), start + window)
        x = self._witness(max, first, some, at)
        return Loss(numerator, denominator, x, self._witness(min, second, others, at), at)

    def loss_against_prior(self, prior: Sequence[int]) -> Loss:
        total = sum(prior)
        everything = _Kinds.of(self, range(self.inputs))
        shift = WINDOWS_SCALE
        worst = (1, 1)
        at, above = 0, True

        def look(most: int, least: int, marginal: int, y: int) -> None:
            """``most`` and ``least`` over the scale of the marginal / total."""
            nonlocal worst, at, above
            if marginal and most * total * worst[1] > worst[0] * marginal:
                worst, at, above = (most * total, marginal), y, True
            if marginal and marginal * worst[1] > worst[0] * least * total:
                worst, at, above = (marginal, least * total), y, False

        for y, single in enumerate(self.singles):
            own = prior[single.x]
            look(single.own, single.other, single.other * (total - own) + single.own * own, y)
        rests = list(map(self.rest, everything.rests))
        rare = sum(map(prior.__getitem__, self._tail))
        lows = sum(prior[single.x] for single in self.singles)
        tail_rest = self._rest_of(_TAIL) * rare if rare else 0
        named = sum(prior[x] * self.rest(x) for x in (*self.heavies, *self._single_of))
        look(max(rests), min(rests), tail_rest + named, len(self.singles))
        for order in range(self.orders if self.types else 0):
            mass = self._masses(order, prior)
            reach = self._reach(order, everything)
            for number, each in enumerate(self.types):
                heavy = sum(prior[x] * weight for x, weight in zip(self.heavies, each.heavy, strict=True))
                base = (heavy + each.low * lows + each.outside * rare) << shift
                slope = each.inside - each.outside
                span = each.span
                masses = list(map(sub, mass[span : span + self.cells], mass))
                start = len(self.singles) + 1 + (number * self.orders + order) * self.cells
                highest, lowest = everything.flat(each, max), everything.flat(each, min)
                bare = reach.coverage(self.cells - span)
                # Of the windows whose most covered input is covered alike, the least probable one is the worst.
                for covered, window in _extremes(reach.coverage(span), masses, least=True):
                    top = (each.outside << shift) + slope * covered
                    marginal = base + slope * masses[window]
                    look(max(top, top if highest is None else highest), marginal, marginal, start + window)
                for uncovered, window in _extremes(bare[span:] + bare[:span], masses, least=False):
                    bottom = (each.inside << shift) - slope * uncovered
                    marginal = base + slope * masses[window]
                    look(0, min(bottom, bottom if lowest is None else lowest), marginal, start + window)
        x = self._witness(max if above else min, range(self.inputs), everything, at)
        return Loss(*worst, x, None, at)

    def _witness(self, choose: Callable[..., int], inputs: Sequence[int], kinds: _Kinds, y: int) -> int:
        """The input of a set for which output ``y`` is the most, or least, probable."""
        window = y - len(self.singles) - 1
        if kinds.size == self.inputs and window >= 0:
            # Of all inputs only these can be: arcs at a window's ends, and the first whole ones after them.
            number, window = divmod(window, self.cells)
            layout = self.layout(number % self.orders)
            places = [
                layout.cut[(window + ahead) % self.cells] for ahead in (0, self.types[number // self.orders].span)
            ]
            around = [layout.sequence[(place + step) % len(layout.sequence)] for place in places for step in (0, 1)]
            inputs = [*self.heavies, *(single.x for single in self.singles[:1]), *around]
        return choose(inputs, key=lambda x: self.weight(x, y))

    def _masses(self, order: int, prior: Sequence[int]) -> list[int]:
        """2^64 times the prior's weight before each border, twice round the circle."""
        layout = self.layout(order)
        heights = list(map(prior.__getitem__, layout.sequence))
        ends = list(accumulate(heights))
        mass = [
            ((ends[place] - heights[place]) << WINDOWS_SCALE) + heights[place] * before
            for place, before in zip(layout.cut, layout.before, strict=True)
        ]
        whole = ends[-1] << WINDOWS_SCALE
        return [*mass, *(whole + each for each in mass), 2 * whole]

    def _reach(self, order: int, kinds: _Kinds) -> _Reach:
        layout = self.layout(order)
        if kinds.rare is None:
            chosen = range(len(layout.sequence))
            inside: Sequence[bool] = [True] * self.cells
        else:
            members = kinds.rare
            chosen = [place for place, x in enumerate(layout.sequence) if x in members]  # type: ignore[assignment]
            inside = [layout.sequence[place] in members for place in layout.cut]
        return _Reach.of(self, layout, chosen, inside)

    def encode(self) -> codec.Value:
        return [
            self.family,
            list(self.arcs),
            self.cells,
            self.orders,
            list(self.heavies),
            [number for single in self.singles for number in (single.x, single.own, single.other)],
            [[each.span, each.inside, each.outside, each.low, *each.heavy] for each in self.types],
        ]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Windows:
        _, arcs, cells, orders, heavies, singles, types = codec.fields(value, 7, "a windows channel", ChannelError)
        flat = codec.integers(singles, "a single", ChannelError)
        if len(flat) % 3:
            raise ChannelError("singles are written as an input and two weights each")
        if not isinstance(types, list):
            raise ChannelError("the types of windows are an array")
        read = []
        for each in types:
            numbers = codec.integers(each, "a type of windows", ChannelError)
            if len(numbers) < 4:
                raise ChannelError("a type of windows has a span and at least three weights")
            span, inside, outside, low = numbers[:4]
            read.append(Type(span, inside, outside, low, numbers[4:]))
        return cls(
            codec.integers(arcs, "an arc", ChannelError, 0, MAX_CIRCLE),
            codec.integer(cells, "the number of cells", ChannelError, 1, MAX_OUTPUTS),
            codec.integer(orders, "the number of orders", ChannelError, 1, MAX_ORDERS),
            codec.integers(heavies, "a heavy input", ChannelError, 0, MAX_VALUES),
            tuple(map(Single, flat[::3], flat[1::3], flat[2::3])),
            tuple(read),
        )


def _require_type(each: Type, cells: int, heavies: int) -> None:
    if len(each.heavy) != heavies:
        raise ChannelError(f"a type of windows has a weight for each of {heavies} heavy inputs, not {len(each.heavy)}")
    if not 0 <= each.span <= cells or min(each.outside, each.low, *each.heavy, 0) < 0 or each.inside < each.outside:
        raise ChannelError("a window spans 0 to all cells, its weights are not negative, and inside is not the lesser")
    if each.span in (0, cells) and each.inside != each.outside:
        raise ChannelError("a window of no or all cells has the same weight inside and outside")


def _some(value: int | None) -> int:
    """Every set of inputs has a weight: it is not empty."""
    if value is None:
        raise ValueError("a set of inputs is not empty")
    return value


def _extremes(keys: Sequence[int | None], masses: Sequence[int], *, least: bool) -> Iterable[tuple[int, int]]:
    """For each different key, the place where the mass is least, or largest."""
    if keys.count(keys[0]) == len(keys):
        extreme = min(masses) if least else max(masses)
        return [(_some(keys[0]), masses.index(extreme))]
    found: dict[int | None, int] = {}
    for place, key in enumerate(keys):
        best = found.get(key)
        if best is None or (masses[place] < masses[best] if least else masses[place] > masses[best]):
            found[key] = place
    return [(_some(key), place) for key, place in found.items()]


@dataclass(frozen=True)
class _Kinds:
    """A set of inputs by what decides their weights.

    Attributes:
        channel: whose.
        places: heavy inputs, by place.
        named: singles, by input.
        rare: the others; None for all of them.
        rests: one input of each kind that may differ in its rest.
        size: number of different inputs.
    """

    channel: Windows
    places: Sequence[int]
    named: frozenset[int]
    rare: frozenset[int] | None
    rests: Sequence[int]
    size: int

    @classmethod
    def of(cls, channel: Windows, inputs: Sequence[int]) -> _Kinds:
        members = frozenset(inputs)
        heavies = [x for x in channel.heavies if x in members]
        named = frozenset(x for x in channel._single_of if x in members)
        rare = members.difference(heavies, named)
        rests = [*heavies, *named]
        if rare:
            rests.append(next(iter(rare)))
        return cls(
            channel,
            [channel._place_of[x] for x in heavies],
            named,
            None if len(rare) == len(channel._tail) else rare,
            rests,
            len(members),
        )

    def only(self, x: int) -> bool:
        """Whether ``x``, a single, is all there is."""
        return self.size == 1 and x in self.named

    def flat(self, each: Type, choose: Callable[[list[int]], int]) -> int | None:
        """The largest or least weight, over 2^128, of a window for those without an arc; None without any."""
        weights = [each.heavy[place] for place in self.places]
        if self.named:
            weights.append(each.low)
        return choose(weights) << WINDOWS_SCALE if weights else None


@dataclass(frozen=True)
class _Reach:
    """What windows from each border cover of a set of arcs.

    Attributes:
        cells: J.
        needs: the least span with which a window from each border covers a whole arc of the set.
        cut, before, inside: the arc at each border, the part before it, and whether the arc is of the set.
        size: arcs of the set.
    """

    cells: int
    needs: Sequence[int]
    cut: Sequence[int]
    before: Sequence[int]
    inside: Sequence[bool]
    size: int

    @classmethod
    def of(cls, channel: Windows, layout: Layout, chosen: Sequence[int], inside: Sequence[bool]) -> _Reach:
        cells, circle = channel.cells, channel.circle
        if not chosen:
            return cls(cells, [], layout.cut, layout.before, inside, 0)
        needs = []
        for border, (place, before) in enumerate(zip(layout.cut, layout.before, strict=True)):
            # The first arc of the set that begins at or after the border; beyond the last one, the first once more.
            index = bisect_left(chosen, place + (before > 0))
            lap, index = divmod(index, len(chosen))
            needs.append(lap * cells - (-cells * layout.ends[chosen[index]] // circle) - border)
        return cls(cells, needs, layout.cut, layout.before, inside, len(chosen))

    def coverage(self, span: int) -> list[int | None]:
        """For the window from each border, 2^64 times the largest part that it covers of an arc; None without arcs."""
        if not self.size:
            return [None] * self.cells
        return [
            ONE if needed <= span else self._of_the_cut(window, window + span)
            for window, needed in enumerate(self.needs)
        ]

    def _of_the_cut(self, window: int, end: int) -> int:
        """The same where no whole arc is covered: only those that an end of the window cuts can be."""
        last = end % self.cells
        here, there = self.cut[window], self.cut[last]
        if here == there:
            part = self.before[last] - self.before[window] + (ONE if end >= self.cells else 0)
            return part if self.inside[window] else 0
        return max((ONE - self.before[window]) * self.inside[window], self.before[last] * self.inside[last])
