"""The worst ratios of a windows channel, without a visit to each output for each input (SPEC 5.9).

The weight of an output depends on the input's kind and, for a rare input, on the covered part of its arc. So for a set
of inputs only the most and the least covered arc matter, and windows are computed once if both are equal.

The module channel defines weights and outputs, and circle the coverage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import sub

from protocol.channels.channel import Loss
from protocol.channels.windows.arrangement import Arrangement, Type
from protocol.channels.windows.circle import POINT_BITS


def loss(channel: Arrangement, first: Sequence[int], second: Sequence[int]) -> Loss:
    """Return the worst Q(y given x) / Q(y given x') over y, x in ``first``, x' in ``second``."""
    some, others = Kinds.of(channel, first), Kinds.of(channel, second)
    numerator, denominator, at = 1, 1, 0

    def look(most: int, least: int, y: int) -> None:
        nonlocal numerator, denominator, at
        if most * denominator > numerator * least:
            numerator, denominator, at = most, least, y

    for y, single in enumerate(channel.singles):
        look(single.own if single.x in some.named else single.other,
             single.own if others.only(single.x) else single.other, y)  # fmt: skip
    look(max(map(channel.rest, some.rests)), min(map(channel.rest, others.rests)), len(channel.singles))
    for order in range(channel.orders if channel.types else 0):
        most = channel.circle.reach(order, some.rare)
        least = most if some.rare == others.rare else channel.circle.reach(order, others.rare)
        for number, each in enumerate(channel.types):
            highest, lowest = some.flat(each, max), others.flat(each, min)
            start = len(channel.singles) + 1 + (number * channel.orders + order) * channel.cells
            alike = most.widest <= each.span and least.widest <= channel.cells - each.span
            full = most.coverage(each.span)
            bare = least.coverage(channel.cells - each.span)
            # Windows with equal extremes are computed once.
            pairs = (
                {(full[0], bare[0]): 0}
                if alike
                else dict(
                    zip(
                        zip(full, bare[each.span :] + bare[: each.span], strict=True), range(channel.cells), strict=True
                    )
                )
            )
            for (covered, uncovered), window in pairs.items():
                top, bottom = highest, lowest
                if covered is not None:
                    value = (each.outside << POINT_BITS) + (each.inside - each.outside) * covered
                    top = value if top is None else max(top, value)
                if uncovered is not None:
                    value = (each.inside << POINT_BITS) - (each.inside - each.outside) * uncovered
                    bottom = value if bottom is None else min(bottom, value)
                look(_some(top), _some(bottom), start + window)
    x = _witness(channel, max, first, some, at)
    return Loss(numerator, denominator, x, _witness(channel, min, second, others, at), at)


def loss_against_prior(channel: Arrangement, prior: Sequence[int]) -> Loss:
    """Return the worst of Q(y given x) / P(y) and P(y) / Q(y given x), for the prior ``prior`` / sum(prior)."""
    total = sum(prior)
    everything = Kinds.of(channel, range(channel.inputs))
    shift = POINT_BITS
    worst = (1, 1)
    at, above = 0, True

    def look(most: int, least: int, marginal: int, y: int) -> None:
        """Set ``worst`` to the worst of ``worst`` and the two lifts of ``y``; all weights have the scale of marginal /
        total."""
        nonlocal worst, at, above
        if marginal and most * total * worst[1] > worst[0] * marginal:
            worst, at, above = (most * total, marginal), y, True
        if marginal and marginal * worst[1] > worst[0] * least * total:
            worst, at, above = (marginal, least * total), y, False

    for y, single in enumerate(channel.singles):
        own = prior[single.x]
        look(single.own, single.other, single.other * (total - own) + single.own * own, y)
    rests = list(map(channel.rest, everything.rests))
    rare = sum(map(prior.__getitem__, channel.circle.rare))
    lows = sum(prior[single.x] for single in channel.singles)
    tail_rest = channel.rest(channel.circle.rare[0]) * rare if rare else 0
    named = sum(prior[x] * channel.rest(x) for x in (*channel.heavies, *channel.single_of))
    look(max(rests), min(rests), tail_rest + named, len(channel.singles))
    for order in range(channel.orders if channel.types else 0):
        mass = channel.circle.masses(order, prior)
        reach = channel.circle.reach(order, None)
        for number, each in enumerate(channel.types):
            heavy = sum(prior[x] * weight for x, weight in zip(channel.heavies, each.heavy, strict=True))
            base = (heavy + each.low * lows + each.outside * rare) << shift
            slope = each.inside - each.outside
            span = each.span
            masses = list(map(sub, mass[span : span + channel.cells], mass))
            start = len(channel.singles) + 1 + (number * channel.orders + order) * channel.cells
            highest, lowest = everything.flat(each, max), everything.flat(each, min)
            bare = reach.coverage(channel.cells - span)
            # Of the windows with the same coverage of their most covered input, the least probable one is the worst.
            for covered, window in _extremes(reach.coverage(span), masses, least=True):
                top = (each.outside << shift) + slope * covered
                marginal = base + slope * masses[window]
                look(max(top, top if highest is None else highest), marginal, marginal, start + window)
            for uncovered, window in _extremes(bare[span:] + bare[:span], masses, least=False):
                bottom = (each.inside << shift) - slope * uncovered
                marginal = base + slope * masses[window]
                look(0, min(bottom, bottom if lowest is None else lowest), marginal, start + window)
    x = _witness(channel, max if above else min, range(channel.inputs), everything, at)
    return Loss(*worst, x, None, at)


def _witness(channel: Arrangement, choose: Callable[..., int], inputs: Sequence[int], kinds: Kinds, y: int) -> int:
    """Return the input, of those in ``inputs``, for which output ``y`` is the most or the least probable."""
    window = y - len(channel.singles) - 1
    if kinds.size == channel.inputs and window >= 0:
        # Only a few inputs can be the witness: those with an arc at an end of the window, the next arcs, the heavy
        # inputs, and one single.
        number, window = divmod(window, channel.cells)
        layout = channel.circle.layout(number % channel.orders)
        places = [
            layout.cut[(window + ahead) % channel.cells] for ahead in (0, channel.types[number // channel.orders].span)
        ]
        around = [layout.sequence[(place + step) % len(layout.sequence)] for place in places for step in (0, 1)]
        inputs = [*channel.heavies, *(single.x for single in channel.singles[:1]), *around]
    return choose(inputs, key=lambda x: channel.weight(x, y))


def _some(value: int | None) -> int:
    """Return ``value``, which is not None for a set of inputs that is not empty."""
    if value is None:
        raise ValueError("no weight: the set of inputs is empty")
    return value


def _extremes(keys: Sequence[int | None], masses: Sequence[int], *, least: bool) -> Iterable[tuple[int, int]]:
    """Return, for each different key, the position of the least or the largest mass."""
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
class Kinds:
    """A set of inputs, grouped by the kinds that determine their weights.

    Attributes:
        channel: the channel of the inputs.
        places: the positions of the set's heavy inputs among the channel's.
        named: the set's singles, by input.
        rare: the set's rare inputs; None for all of the channel's.
        rests: inputs of the set that together have every weight of the output ``rest``.
        size: number of different inputs.
    """

    channel: Arrangement
    places: Sequence[int]
    named: frozenset[int]
    rare: frozenset[int] | None
    rests: Sequence[int]
    size: int

    @classmethod
    def of(cls, channel: Arrangement, inputs: Sequence[int]) -> Kinds:
        members = frozenset(inputs)
        heavies = [x for x in channel.heavies if x in members]
        named = frozenset(x for x in channel.single_of if x in members)
        rare = members.difference(heavies, named)
        rests = [*heavies, *named]
        if rare:
            rests.append(next(iter(rare)))
        return cls(
            channel,
            [channel.place_of[x] for x in heavies],
            named,
            None if len(rare) == len(channel.circle.rare) else rare,
            rests,
            len(members),
        )

    def only(self, x: int) -> bool:
        """Return whether ``x``, a single, is the only input of the set."""
        return self.size == 1 and x in self.named

    def flat(self, each: Type, choose: Callable[[list[int]], int]) -> int | None:
        """Return the largest or least weight, over 2^128, of a window for inputs without an arc; None if the set has
        none."""
        weights = [each.heavy[place] for place in self.places]
        if self.named:
            weights.append(each.low)
        return choose(weights) << POINT_BITS if weights else None
