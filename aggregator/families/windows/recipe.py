"""The windows channel for a prior: LIP close to the optimum for domains of any size.

It solves the linear program of ``table.column_generation`` with three kinds of inputs. An input of prior mass r = 1 /
(e^eps + 1) or more has an output of its own, by the published rule, which is legal there. The next few heaviest are
classes of the program, told apart exactly. All others together are one class, a fluid whose lifts are a or b, which
windows over a circle realise with lifts constant but for the arcs that a window's end cuts (MATH 2.5, 2.6).

Floats design; the integers are rounded at a level a little lower and certified.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from aggregator.families.mechanism import POINTS, Mechanism, for_prior
from aggregator.families.table.column_generation import ATTEMPTS, SHRINK, Coordinates, Floats, Mixture, best_mixture
from aggregator.families.windows.decoder import WindowsDecoder
from protocol import exact
from protocol.channels.windows.arrangement import Single, Type
from protocol.channels.windows.channel import MAX_ORDERS, ONE, Windows
from protocol.effort import MOST_HELD, MOST_STEPS
from protocol.errors import Uncertified
from protocol.exact import NANONATS
from protocol.notions import Information, certify

HEAVIES = (0, 12, 24)
"""The numbers of heavy inputs that are tried."""

_LEAST_ORDERS = 4
_MOST_CELLS = 2**13
_LEAST_OUTPUTS = 2**12
_OUTPUTS_PER_INPUT = 16
_WORTH = 5e-4
"""Of the designs that come within this part of the best one's gain, the one with the fewest outputs is taken."""
_SPARE = 2.0**-24
"""The mass of the output that holds what rounding leaves; it tells nothing, so this part of the gain is lost."""
_GOOD = 1e-3
"""The cells are the fewest that lose at most this part of the windows' gain, or a fifth of it of the heavy inputs'."""


@dataclass(frozen=True)
class _Split:
    """Which inputs are what, and the range of lifts.

    Attributes:
        law: (k,) the prior.
        singles, heavies, tail: inputs.
        low, high: a and b.
    """

    law: Floats
    singles: list[int]
    heavies: list[int]
    tail: list[int]
    low: float
    high: float

    @property
    def edge(self) -> float:
        """r: the mass of a set that can have lift b where all else has lift a."""
        return 1 / (self.high + 1)

    @property
    def budget(self) -> float:
        """Mass times lift that an output of a type has beside the singles', whose lift it is a."""
        return 1 - self.low * float(self.law[self.singles].sum())


@dataclass(frozen=True)
class _Plan:
    """A design before it is integers: the split, the mixture, the cells, and each type's span and two lifts."""

    split: _Split
    mixture: Mixture
    cells: int
    shapes: list[tuple[int, float, float]]


def windows(prior: Sequence[int], level: int) -> Windows:
    """The windows channel of the least expected squared error among a few designs for ``prior``.

    Args:
        prior: positive integers, P[x] = prior[x] / sum; they are the arcs of the rare inputs as they are.
        level: nanonats.
    Raises:
        NotionError: no prior, or no level.
        Uncertified: no rounding was found that keeps the level.
    """
    notion = Information(level, tuple(prior))
    law = np.asarray(prior, dtype=np.float64) / sum(prior)
    guess = 1 - float((law**2).sum())
    found: list[tuple[float, int, int, int]] = []
    sizes: set[int] = set()
    for heavies in HEAVIES:
        split = _split(law, level, SHRINK, heavies)
        if len(split.heavies) in sizes:
            continue
        sizes.add(len(split.heavies))
        for cells in _cells(split):
            made = _rounded(_planned(split, cells), prior, orders=1)
            found.append((_error(made, law), replace(made, orders=_orders(made)).outputs, heavies, cells))
    least = guess - (guess - min(found)[0]) * (1 - _WORTH)
    _, _, heavies, cells = min((each for each in found if each[0] <= least), key=lambda each: each[1])
    for attempt in range(ATTEMPTS):
        split = _split(law, level, SHRINK * 4**attempt, heavies)
        made = _rounded(_planned(split, cells), prior, orders=1)
        made = replace(made, orders=_orders(made))
        try:
            certify(made, notion)
        except Uncertified:
            continue
        return made
    raise Uncertified(f"no rounding of the windows keeps {exact.nats(level):g} nats")


def _split(law: Floats, level: int, shrink: float, heavies: int) -> _Split:
    b = math.exp(level / NANONATS * (1 - shrink))
    edge = 1 / (b + 1)
    falling = np.argsort(-law, kind="stable").tolist()
    alone = int((law >= edge).sum())
    rest = float(law[falling[alone:]].sum())
    while alone and alone < len(falling) and rest < edge:  # too little for a window: the smallest single joins
        alone -= 1
        rest += float(law[falling[alone]])
    end = min(alone + heavies, max(len(falling) - 1, alone))
    return _Split(law, sorted(falling[:alone]), sorted(falling[alone:end]), sorted(falling[end:]), 1 / b, b)


def _cells(split: _Split) -> list[int]:
    """Numbers of cells worth a try: the one for the types, and for equal arcs one cell each."""
    if len(split.tail) < 2:
        return [1]
    room = max(_LEAST_OUTPUTS, _OUTPUTS_PER_INPUT * len(split.law))
    most = max(min(room // (len(split.heavies) + 1), _MOST_CELLS), 2)
    # Few cells would leave most of a large domain to the prior, whatever is reported.
    fewest = min(len(split.tail) // 2 + 2, most)
    mixture = _mixture(split)
    a, b = split.low, split.high
    means = mixture.lifts[:, -1]
    tried = np.unique(np.linspace(fewest, most, 400).astype(int))
    gains = []
    for cells in tried:
        variances = [(high - mean) * (mean - low) for mean in means for _, high, low in [_shape(mean, cells, a, b)]]
        gains.append(float(mixture.weights @ variances))
    best = max(gains)
    arcs, heavy = split.law[split.tail], split.law[split.heavies]
    spread = mixture.lifts[:, :-1] - mixture.weights @ mixture.lifts[:, :-1] / mixture.weights.sum()
    of_heavies = float(mixture.weights @ spread**2 @ heavy**2)
    lost = max(_GOOD * best, _GOOD / 5 * of_heavies / float((arcs**2).sum()))
    found = {int(tried[next(place for place, gain in enumerate(gains) if gain >= best - lost)])}
    if arcs.max() == arcs.min() and len(arcs) <= most:
        found.add(len(arcs))
    return sorted(found)


def _shape(mean: float, cells: int, a: float, b: float) -> tuple[int, float, float]:
    """(span, lift inside, lift outside) of the windows of ``cells`` whose lifts spread most, with this mean.

    Either inside is b and outside what that leaves, or outside is a (MATH 2.5).
    """
    exact_span = (mean - a) / (b - a) * cells
    shapes = [(0, mean, mean)]
    for span in {math.floor(exact_span), math.ceil(exact_span)}:
        if not 0 < span < cells:
            continue
        if span <= exact_span:
            shapes.append((span, b, max((mean * cells - span * b) / (cells - span), a)))
        else:
            shapes.append((span, min((mean * cells - (cells - span) * a) / span, b), a))
    return max(shapes, key=lambda shape: (shape[1] - mean) * (mean - shape[2]))


def _mixture(split: _Split) -> Mixture:
    if not split.tail:
        return Mixture(np.empty((0, 1)), np.empty(0))
    heavy, tail = split.law[split.heavies], split.law[split.tail]
    single = split.law[split.singles].sum()
    mass = np.append(heavy, tail.sum())
    # An arc of part p of the circle loses p / (3 phi (1 - phi)) of the variance to the ends of windows that cover phi.
    ends = np.clip(1 - tail / tail.sum() / (3 * split.edge * (1 - split.edge)), 0, 1) if len(tail) > 1 else 0 * tail
    fluid = float((tail**2 * ends).sum())
    square = np.append(heavy**2, float((tail**2).sum()) - fluid)
    mean = split.budget / float(1 - single)
    return best_mixture(
        Coordinates(mass, square, np.append(0 * heavy, fluid), split.low, split.high, mean * (1 - single), split.budget)
    )


def _planned(split: _Split, cells: int) -> _Plan:
    mixture = _mixture(split)
    shapes = [_shape(float(mean), cells, split.low, split.high) for mean in mixture.lifts[:, -1]]
    return _Plan(split, mixture, cells, shapes)


def _rounded(plan: _Plan, prior: Sequence[int], orders: int) -> Windows:
    """The integers of a design: every weight to the nearest, what is left to the output that tells nothing."""
    split, cells = plan.split, plan.cells
    whole = ONE * (1 - _SPARE)
    named = {*split.singles, *split.heavies}
    singles = []
    for x in split.singles:
        p = float(split.law[x])
        own = 1 - split.low * (1 - p)  # P(x) u(x), eq. of Theorem 3
        singles.append(Single(x, round(whole * own), round(whole * p * split.low)))
    types = []
    for lifts, weight, (span, high, low) in zip(plan.mixture.lifts, plan.mixture.weights, plan.shapes, strict=True):
        each = whole * float(weight) / cells
        inside, outside = round(each * high), round(each * low)
        types.append(
            Type(span, inside, outside if span else inside, round(each * split.low) if singles else 0,
                 tuple(round(each * float(lift)) for lift in lifts[:-1]))
        )  # fmt: skip
    return Windows(
        tuple(0 if x in named else weight for x, weight in enumerate(prior)),
        cells, orders, tuple(split.heavies), tuple(singles), tuple(types),
    )  # fmt: skip


def _orders(made: Windows) -> int:
    """As many orders as tell all rare inputs apart; they cost bits and no error (MATH 2.8).

    Windows of J cells tell J - 1 differences in one order, so twice as many orders as that needs.
    """
    rare = sum(1 for arc in made.arcs if arc)
    if rare < 3 or made.cells == 1:
        return 1
    wanted = max(-(-2 * rare // (made.cells - 1)), _LEAST_ORDERS)
    orders = min(1 << (wanted - 1).bit_length(), MAX_ORDERS)
    while orders > 1 and not _affordable(replace(made, orders=orders)):
        orders //= 2
    return orders


def _affordable(made: Windows) -> bool:
    """Whether a device would audit it (SPEC 6.11)."""
    everything = range(made.inputs)
    steps = made.prior_steps + 2 * made.inputs + made.pair_steps(everything, everything)
    return steps <= MOST_STEPS and made.held <= MOST_HELD


def _error(made: Windows, law: Floats) -> float:
    """``lip_mse``, which is the same for every number of orders but for how their arcs happen to be cut."""
    decoder = WindowsDecoder(made)
    marginal = decoder.forward(law)
    gained = np.divide(decoder.forward_squares(law**2), marginal, out=np.zeros_like(marginal), where=marginal > 0)
    return float(1 - gained.sum())


MECHANISMS = (
    Mechanism(
        "lip-windows",
        "types for frequent values, windows of a circle for rare ones",
        "ours",
        POINTS,
        for_prior(windows),
    ),
)
