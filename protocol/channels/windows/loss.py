"""The worst ratios of a windows channel, without a visit to each output for each input (SPEC 5.9).

The weight of an output depends on the input's kind and, for a rare input, on the covered part of its arc. So for a set
of inputs only the most and the least covered arc of a window matter, and windows that agree in both are computed once.

The module ``channel`` defines weights and outputs, and ``circle`` the coverage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import sub

from protocol.channels.channel import Loss
from protocol.channels.windows.arrangement import Arrangement, WindowType
from protocol.channels.windows.circle import POINT_BITS


def loss(channel: Arrangement, first: Sequence[int], second: Sequence[int]) -> Loss:
    """Return the worst Q(y given x) / Q(y given x') over y, x in ``first``, x' in ``second``."""
    some, others = InputGroups.of(channel, first), InputGroups.of(channel, second)
    beside = [
        (single.own_weight if single.x in some.singles else single.other_weight,
         single.own_weight if others.size == 1 and single.x in others.singles else single.other_weight)
        for single in channel.singles
    ]  # fmt: skip
    beside.append((max(map(channel.rest, some.rests)), min(map(channel.rest, others.rests))))
    numerator, denominator, output = 1, 1, 0
    for y, (larger, smaller) in enumerate(beside):
        if larger * denominator > numerator * smaller:
            numerator, denominator, output = larger, smaller, y
    flat = [
        (some.flat(window_type, max, 0), others.flat(window_type, min, window_type.inside << POINT_BITS))
        for window_type in channel.types
    ]
    for order in range(channel.orders if channel.types else 0):
        first_coverage = channel.circle.coverage(order, some.rare)
        second_coverage = first_coverage if some.rare == others.rare else channel.circle.coverage(order, others.rare)
        for number, (window_type, (highest, lowest)) in enumerate(zip(channel.types, flat, strict=True)):
            start = len(channel.singles) + 1 + (number * channel.orders + order) * channel.cells
            span, rise = window_type.span, window_type.inside - window_type.outside
            full, bare = first_coverage.largest_parts(span), second_coverage.largest_parts(channel.cells - span)
            # Without an arc, all windows have the weight of the other inputs.
            base, gain = (window_type.outside << POINT_BITS, rise) if first_coverage.needs else (highest, 0)
            top, lack = (window_type.inside << POINT_BITS, rise) if second_coverage.needs else (lowest, 0)
            # Windows with equal extremes are computed once.
            if first_coverage.widest <= span and second_coverage.widest <= channel.cells - span:
                pairs = {(full[0], bare[0]): 0}
            else:
                pairs = dict(zip(zip(full, bare[span:] + bare[:span], strict=True), range(channel.cells), strict=True))
            for (covered, uncovered), window in pairs.items():
                larger, smaller = max(base + gain * covered, highest), min(top - lack * uncovered, lowest)
                if larger * denominator > numerator * smaller:
                    numerator, denominator, output = larger, smaller, start + window
    return Loss(
        numerator, denominator, _witness(channel, max, some, output), _witness(channel, min, others, output), output
    )


def loss_against_prior(channel: Arrangement, prior: Sequence[int]) -> Loss:
    """Return the worst of Q(y given x) / P(y) and P(y) / Q(y given x), for the prior ``prior`` / sum(prior)."""
    total = sum(prior)
    everything = InputGroups.of(channel, range(channel.input_count))
    numerator, denominator, output, is_above = 1, 1, 0, True

    # Both functions keep the largest ratio; all weights have the scale of marginal / total.
    def above(weight: int, marginal: int, y: int) -> None:
        nonlocal numerator, denominator, output, is_above
        if weight * total * denominator > numerator * marginal > 0:
            numerator, denominator, output, is_above = weight * total, marginal, y, True

    def below(weight: int, marginal: int, y: int) -> None:
        nonlocal numerator, denominator, output, is_above
        if marginal * denominator > numerator * weight * total:
            numerator, denominator, output, is_above = marginal, weight * total, y, False

    for y, single in enumerate(channel.singles):
        single_mass = prior[single.x]
        marginal = single.other_weight * (total - single_mass) + single.own_weight * single_mass
        above(single.own_weight, marginal, y)
        below(single.other_weight, marginal, y)
    rests = list(map(channel.rest, everything.rests))
    rare = sum(map(prior.__getitem__, channel.circle.rare))
    singles_mass = sum(prior[single.x] for single in channel.singles)
    rare_rest = channel.rest(channel.circle.rare[0]) * rare if rare else 0
    marginal = rare_rest + sum(prior[x] * channel.rest(x) for x in (*channel.heavies, *channel.single_of))
    above(max(rests), marginal, len(channel.singles))
    below(min(rests), marginal, len(channel.singles))
    bases = []
    for window_type in channel.types:
        heavy = sum(prior[x] * weight for x, weight in zip(channel.heavies, window_type.heavy_weights, strict=True))
        bases.append((heavy + window_type.single_weight * singles_mass + window_type.outside * rare) << POINT_BITS)
    flat = [
        (everything.flat(window_type, max, 0), everything.flat(window_type, min, window_type.inside << POINT_BITS))
        for window_type in channel.types
    ]
    for order in range(channel.orders if channel.types else 0):
        mass = channel.circle.masses(order, prior)
        coverage = channel.circle.coverage(order, None)
        for number, (window_type, base, (highest, lowest)) in enumerate(zip(channel.types, bases, flat, strict=True)):
            start = len(channel.singles) + 1 + (number * channel.orders + order) * channel.cells
            span, slope = window_type.span, window_type.inside - window_type.outside
            outside, inside = window_type.outside << POINT_BITS, window_type.inside << POINT_BITS
            masses = list(map(sub, mass[span : span + channel.cells], mass))
            bare = coverage.largest_parts(channel.cells - span)
            # Of the windows with the same coverage of their most covered input, the least probable one is the worst.
            for covered, window in _extremes(coverage.largest_parts(span), masses, smallest=True):
                above(max(outside + slope * covered, highest), base + slope * masses[window], start + window)
            for uncovered, window in _extremes(bare[span:] + bare[:span], masses, smallest=False):
                below(min(inside - slope * uncovered, lowest), base + slope * masses[window], start + window)
    return Loss(numerator, denominator, _witness(channel, max if is_above else min, everything, output), None, output)


def _witness(channel: Arrangement, choose: Callable[..., int], kinds: InputGroups, y: int) -> int:
    """Return the input, of those in a set, for which output ``y`` is the most or the least probable."""
    candidates = sorted(kinds.rests)
    window = y - len(channel.singles) - 1
    if window >= 0:
        # Only a few inputs can be the witness: the heavy inputs, the singles, those with an arc at an end of the
        # window, and those of the first whole arc of the set after each end.
        number, window = divmod(window, channel.cells)
        layout = channel.circle.layout(number % channel.orders)
        rare = frozenset(channel.circle.rare) if kinds.rare is None else kinds.rare
        candidates = [x for x in kinds.rests if x not in rare]
        for ahead in (0, channel.types[number // channel.orders].span) if rare else ():
            place = layout.cut[(window + ahead) % channel.cells]
            onwards = [*layout.sequence[place + 1 :], *layout.sequence[: place + 1]]
            candidates += [x for x in onwards[-1:] if x in rare]
            candidates.append(next(x for x in onwards if x in rare))
    return choose(candidates, key=lambda x: channel.weight(x, y))


def _extremes(keys: Sequence[int], masses: Sequence[int], *, smallest: bool) -> Iterable[tuple[int, int]]:
    """Return (key, position of its least mass, or of its largest if ``smallest`` is False) for each different key."""
    if keys.count(keys[0]) == len(keys):
        extreme = min(masses) if smallest else max(masses)
        return [(keys[0], masses.index(extreme))]
    positions: dict[int, int] = {}
    for place, key in enumerate(keys):
        best = positions.get(key)
        if best is None or (masses[place] < masses[best] if smallest else masses[place] > masses[best]):
            positions[key] = place
    return positions.items()


@dataclass(frozen=True)
class InputGroups:
    """A set of inputs, grouped by the kinds that determine their weights.

    Attributes:
        places: the positions of the set's heavy inputs among the channel's.
        singles: the set's singles, by input.
        rare: the set's rare inputs; None for all of the channel's.
        rests: inputs of the set that together have every weight of the output ``rest``.
        size: number of different inputs.
    """

    places: Sequence[int]
    singles: frozenset[int]
    rare: frozenset[int] | None
    rests: Sequence[int]
    size: int

    @classmethod
    def of(cls, channel: Arrangement, inputs: Sequence[int]) -> InputGroups:
        members = frozenset(inputs)
        heavies = [x for x in channel.heavies if x in members]
        singles = frozenset(x for x in channel.single_of if x in members)
        rare = members.difference(heavies, singles)
        rests = [*heavies, *singles]
        if rare:
            rests.append(min(rare))
        return cls(
            [channel.place_of[x] for x in heavies],
            singles,
            None if len(rare) == len(channel.circle.rare) else rare,
            rests,
            len(members),
        )

    def flat(self, window_type: WindowType, choose: Callable[[list[int]], int], default: int) -> int:
        """Return the largest or least weight, over 2^128, of a window for inputs without an arc; ``default`` if none is
        in the set."""
        weights = [window_type.heavy_weights[place] for place in self.places]
        if self.singles:
            weights.append(window_type.single_weight)
        return choose(weights) << POINT_BITS if weights else default
