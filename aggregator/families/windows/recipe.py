"""The recipe of the windows channel for a prior, which has nearly the least error under LIP for domains of any size.

The recipe solves the linear program of ``table.column_generation`` with three kinds of inputs. An input whose prior
mass is at least r = 1 / (e^eps + 1) has a separate output, as in the published channel, which satisfies the level for
such inputs. Each of the next few heaviest inputs is a class of the program. All other inputs together are one class,
and the lift of each of them is a or b. Windows over a circle give these lifts, except for the arcs at the ends of a
window (MATH 2.5, 2.6). The design uses floats, at a slightly lower level; it is then rounded to integers and certified.
``table.prior_table`` defines the *gain* of a channel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aggregator.families.decoder import Floats
from aggregator.families.lifts import lift_range
from aggregator.families.mechanism import DENSE, Mechanism, for_priors_near
from aggregator.families.rounding import LEVEL_RESERVE
from aggregator.families.table.column_generation import Coordinates, Mixture, best_mixture, plain_mixture
from aggregator.families.table.prior_table import ATTEMPTS, MAX_ERROR, MAX_LOST, MIN_PART
from aggregator.families.windows.decoder import MAX_INVERSE_CELLS, MAX_UNBIASED_INPUTS, WindowsDecoder
from protocol import exact
from protocol.channels.windows.arrangement import Single, WindowType
from protocol.channels.windows.channel import MAX_ORDERS, ONE, Windows
from protocol.effort import MAX_HELD, MAX_STEPS
from protocol.errors import Uncertified
from protocol.exact import NANONATS
from protocol.notions import Lip, certify
from protocol.notions.information import RADIUS_UNITS

HEAVIES = (0, 1, 2, 3, 4, 6, 8, 10, 12, 24)
"""The numbers of heavy inputs that are tried."""

_MIN_INFORMATION = 1e-3
"""Inputs are treated as distinguished if the information of one report on every difference of their shares is at least
this, in squared lifts."""

_MIN_ORDERS = 8
_ORDERS_PER_NEEDED = 4
"""The number of orders, as a multiple of the least number with which all rare inputs can be estimated."""
_ORDERS_OF_MANY = 2
"""The same multiple for domains that are too large for an unbiased estimate."""
_MAX_CELLS = 2**13
_MIN_OUTPUTS = 2**12
_OUTPUTS_PER_INPUT = 16
"""The number of outputs of one order is limited to this multiple of the inputs, but at least to ``_MIN_OUTPUTS``."""
_GAIN_MARGIN = 5e-4
"""Among the designs whose gain is within this fraction of the best gain, the design with the fewest outputs is used."""
_SPARE = 2.0**-24
"""The probability of the uninformative output that takes the rounding remainders; this fraction of the gain is lost."""
_CELL_LOSS = 1e-3
"""The number of cells is the smallest at which the loss of gain is at most the larger of two limits: this fraction of
the windows' gain, and a fifth of this fraction of the heavy inputs' gain."""


@dataclass(frozen=True)
class _Split:
    """The division of the inputs into single, heavy and rare inputs, and the range of lifts.

    Attributes:
        distribution: (k,) the prior.
        singles, heavies, rares: the inputs with a separate output, the inputs that are a class each, and the others.
        low, high: a and b, the least and the largest lift.
    """

    distribution: Floats
    singles: list[int]
    heavies: list[int]
    rares: list[int]
    low: float
    high: float

    @property
    def edge(self) -> float:
        """The mass r of a set that can have lift b if all other inputs have lift a; 1 / (e^eps + 1) without a
        radius."""
        return (1 - self.low) / (self.high - self.low)

    @property
    def budget(self) -> float:
        """For the outputs of a type: the sum of mass times lift over the inputs that are not singles. The singles have
        the lift a in these outputs."""
        return 1 - self.low * float(self.distribution[self.singles].sum())

    @cached_property
    def coordinates(self) -> Coordinates:
        """The classes of the linear program: one class for each heavy input, then one class for the rare inputs."""
        heavy, rare = self.distribution[self.heavies], self.distribution[self.rares]
        mass = np.append(heavy, rare.sum())
        # On a circle of length 1, a window of length phi may cover only a part of an arc of length p. This lowers the
        # variance of the arc's lift by the fraction p / (3 phi (1 - phi)).
        ends = np.clip(1 - rare / rare.sum() / (3 * self.edge * (1 - self.edge)), 0, 1) if len(rare) > 1 else 0 * rare
        linear = float((rare**2 * ends).sum())
        square = np.append(heavy**2, float((rare**2).sum()) - linear)
        return Coordinates(mass, square, np.append(0 * heavy, linear), self.low, self.high, self.budget, self.budget)

    @cached_property
    def mixture(self) -> Mixture:
        """The best mixture of lifts."""
        return best_mixture(self.coordinates) if self.rares else Mixture(np.empty((0, 1)), np.empty(0))


@dataclass(frozen=True)
class _Design:
    """A design in floats, before rounding: the split, the mixture, the number of cells, and the span and two lifts of
    each type."""

    split: _Split
    mixture: Mixture
    cells: int
    shapes: list[tuple[int, float, float]]

    @property
    def estimable(self) -> bool:
        """True if all inputs can be estimated: heavy inputs from the types, rare inputs from the windows.

        The best mixture may have fewer types than inputs to distinguish, or the same lift for all rare inputs in every
        type. Then no unbiased estimate of these inputs' shares exists.
        """
        lifts, weights = self.mixture.lifts, self.mixture.weights
        if not len(lifts):
            return True
        of_types = np.linalg.eigvalsh(lifts.T * weights @ lifts)[0]
        spread = [(high - mean) * (mean - low) for mean, (_, high, low) in zip(lifts[:, -1], self.shapes, strict=True)]
        of_windows = weights @ spread if len(self.split.rares) > 1 else math.inf
        return bool(min(of_types, of_windows) >= _MIN_INFORMATION)


def windows(prior: Sequence[int], level: int, radius: int = 0) -> Windows:
    """Return the windows channel with the least expected squared error among a few designs for ``prior``.

    Up to ``MAX_UNBIASED_INPUTS`` inputs, each design is meant to distinguish all inputs, so that each value has an
    unbiased estimate and an interval. Designs that are small enough for computing this estimate are preferred if their
    error is nearly the least. If all of these are too large, or some inputs are too similar, the channel has no
    unbiased estimate.

    Args:
        prior: positive integers, P[x] = prior[x] / sum; for rare inputs, the lengths of their arcs.
        level: the LIP level in nanonats.
        radius: the total variation distance from ``prior`` within which the level holds for every prior, in parts per
            billion.
    Raises:
        NotionError: the prior or the level is not valid.
        ChannelError: the solver of the linear program fails.
        Uncertified: no rounding was found that satisfies the level.
    """
    notion = Lip(level, tuple(prior), radius)
    distribution = np.asarray(prior, dtype=np.float64) / sum(prior)
    prior_error = 1 - float((distribution**2).sum())
    designs: list[tuple[float, int, int, int, float]] = []
    sizes: set[int] = set()
    for heavies in HEAVIES:
        split = _split(distribution, notion, LEVEL_RESERVE, heavies)
        if len(split.heavies) in sizes:
            continue
        sizes.add(len(split.heavies))
        for cells in _cells(split):
            part = _part(split, cells, prior)
            channel = _integer_channel(_design(split, cells, part), prior)
            if radius and designs and not _affordable(channel, notion):
                # The audit of a ball visits all windows, and only designs with few heavy inputs keep it fast enough.
                continue
            designs.append(
                (
                    _error(channel, distribution),
                    replace(channel, orders=_orders(channel, notion)).output_count,
                    heavies,
                    cells,
                    part,
                )
            )
    if len(prior) <= MAX_UNBIASED_INPUTS:
        most_error = MAX_ERROR * min(designs)[0]
        designs = [
            design for design in designs if design[0] <= most_error and design[1] <= MAX_INVERSE_CELLS // len(prior)
        ] or designs
    acceptable = prior_error - (prior_error - min(designs)[0]) * (1 - _GAIN_MARGIN)
    _, _, heavies, cells, part = min(
        (design for design in designs if design[0] <= acceptable), key=lambda design: design[1]
    )
    for attempt in range(ATTEMPTS):
        split = _split(distribution, notion, LEVEL_RESERVE * 4**attempt, heavies)
        channel = _integer_channel(_design(split, cells, part), prior)
        channel = replace(channel, orders=_orders(channel, notion))
        try:
            certify(channel, notion)
        except Uncertified as error:
            reason = error
            continue
        return channel
    raise Uncertified(
        f"no rounding of the windows satisfies {exact.in_nats(level)} ({reason}): choose another mechanism"
    )


def _split(distribution: Floats, notion: Lip, shrink: float, heavies: int) -> _Split:
    a, b = lift_range(math.exp(notion.level / NANONATS * (1 - shrink)), notion.radius / RADIUS_UNITS)
    edge = (1 - a) / (b - a)
    falling = np.argsort(-distribution, kind="stable").tolist()
    alone = int((distribution >= edge).sum())
    rest = float(distribution[falling[alone:]].sum())
    # If the remaining mass is too small for a window, the smallest single becomes a rare input.
    while alone and alone < len(falling) and rest < edge:
        alone -= 1
        rest += float(distribution[falling[alone]])
    end = min(alone + heavies, max(len(falling) - 1, alone))
    return _Split(distribution, sorted(falling[:alone]), sorted(falling[alone:end]), sorted(falling[end:]), a, b)


def _cells(split: _Split) -> list[int]:
    """Return the numbers of cells to try: the smallest sufficient number and, if all arcs are equal, the number of
    arcs."""
    if len(split.rares) < 2:
        return [1]
    room = max(_MIN_OUTPUTS, _OUTPUTS_PER_INPUT * len(split.distribution))
    maximum = max(min(room // (len(split.heavies) + 1), _MAX_CELLS), 2)
    # With few cells, the estimate of most values of a large domain would depend on the prior only.
    fewest = min(len(split.rares) // 2 + 2, maximum)
    mixture = split.mixture
    a, b = split.low, split.high
    means = mixture.lifts[:, -1]
    tried = np.unique(np.linspace(fewest, maximum, 400).astype(int))
    gains = []
    for cells in tried:
        variances = [(high - mean) * (mean - low) for mean in means for _, high, low in [_shape(mean, cells, a, b)]]
        gains.append(float(mixture.weights @ variances))
    best = max(gains)
    arcs, heavy = split.distribution[split.rares], split.distribution[split.heavies]
    spread = mixture.lifts[:, :-1] - mixture.weights @ mixture.lifts[:, :-1] / mixture.weights.sum()
    of_heavies = float(mixture.weights @ spread**2 @ heavy**2)
    lost = max(_CELL_LOSS * best, _CELL_LOSS / 5 * of_heavies / float((arcs**2).sum()))
    numbers = {int(tried[next(place for place, gain in enumerate(gains) if gain >= best - lost)])}
    if arcs.max() == arcs.min() and len(arcs) <= maximum:
        numbers.add(len(arcs))
    return sorted(numbers)


def _shape(mean: float, cells: int, a: float, b: float) -> tuple[int, float, float]:
    """Return the span, the lift inside and the lift outside of the windows whose lifts have the largest variance with
    this mean.

    Either the lift inside is b and the mean determines the lift outside, or the lift outside is a (MATH 2.5).
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


def _design(split: _Split, cells: int, part: float = 0) -> _Design:
    """Return the design of the best mixture, mixed with probability ``part`` with a mixture that distinguishes all
    inputs."""
    mixture = split.mixture
    if part:
        other = plain_mixture(split.coordinates)
        mixture = Mixture(
            np.concatenate([mixture.lifts, other.lifts]),
            np.concatenate([mixture.weights * (1 - part), other.weights * part]),
        )
    shapes = [_shape(float(mean), cells, split.low, split.high) for mean in mixture.lifts[:, -1]]
    return _Design(split, mixture, cells, shapes)


def _part(split: _Split, cells: int, prior: Sequence[int]) -> float:
    """Return the part of reports that another mixture must give to distinguish all inputs; 0 if the best mixture
    distinguishes all.

    The part is also 0 if no unbiased estimate would be computed. It increases the error by at most as much as in
    ``estimable_table``.
    """
    best = _design(split, cells)
    if best.estimable or not split.heavies or len(prior) > MAX_UNBIASED_INPUTS:
        return 0.0
    distribution = split.distribution
    best_error, other_error = (
        _error(_integer_channel(design, prior), distribution) for design in (best, _design(split, cells, 1))
    )
    gained = 1 - float((distribution**2).sum()) - best_error
    more = min((MAX_ERROR - 1) * best_error, MAX_LOST * gained) / max(other_error - best_error, 1e-12)
    return min(max(more, MIN_PART), 0.5)


def _integer_channel(design: _Design, prior: Sequence[int]) -> Windows:
    """Return the channel of a design in integers, with one order. Every weight is rounded to the nearest integer, and
    the uninformative output gets the remainder."""
    split, cells = design.split, design.cells
    unit = ONE * (1 - _SPARE)
    not_rare = {*split.singles, *split.heavies}
    singles = []
    for x in split.singles:
        p = float(split.distribution[x])
        truth = 1 - split.low * (1 - p)  # Q(x|x) of the published channel (Jiang, Li, Tandon 2020, Theorem 3)
        singles.append(Single(x, round(unit * truth), round(unit * p * split.low)))
    types = []
    for lifts, weight, (span, high, low) in zip(
        design.mixture.lifts, design.mixture.weights, design.shapes, strict=True
    ):
        scale = unit * float(weight) / cells
        inside, outside = round(scale * high), round(scale * low)
        types.append(
            WindowType(span, inside, outside if span else inside, round(scale * split.low) if singles else 0,
                 tuple(round(scale * float(lift)) for lift in lifts[:-1]))
        )  # fmt: skip
    return Windows(
        tuple(0 if x in not_rare else weight for x, weight in enumerate(prior)),
        cells, 1, tuple(split.heavies), tuple(singles), tuple(types),
    )  # fmt: skip


def _orders(channel: Windows, notion: Lip) -> int:
    """Return a number of orders with which all rare inputs can be estimated, or fewer if a device could not audit so
    large a channel. More orders need more bits, but do not reduce the accuracy (MATH 2.8).

    Windows of J cells determine J - 1 differences in one order. The least sufficient number of orders gives an unbiased
    estimate, but for a Zipf prior of 1,000 values its variance is ten to thirty times the variance with four times as
    many orders.
    """
    rare = sum(1 for arc in channel.arcs if arc)
    if rare < 3 or channel.cells == 1:
        return 1
    # Domains too large for an unbiased estimate need fewer orders, which also shortens the device's audit.
    per_input = _ORDERS_PER_NEEDED if channel.input_count <= MAX_UNBIASED_INPUTS else _ORDERS_OF_MANY
    sufficient = max(-(-per_input * rare // (channel.cells - 1)), _MIN_ORDERS)
    orders = min(1 << (sufficient - 1).bit_length(), MAX_ORDERS)
    while orders > 1 and not _affordable(replace(channel, orders=orders), notion):
        orders //= 2
    return orders


def _affordable(channel: Windows, notion: Lip) -> bool:
    """Return whether a device can audit the channel (SPEC 6.11)."""
    return notion.certificate_steps(channel) <= MAX_STEPS and channel.numbers_held <= MAX_HELD


def _error(channel: Windows, distribution: Floats) -> float:
    """Return the expected squared error of one person's posterior (``lip_mse``). It depends on the number of orders
    only through the positions of the borders in the arcs."""
    decoder = WindowsDecoder(channel)
    marginal = decoder.forward(distribution)
    gained = np.divide(
        decoder.forward_squares(distribution**2), marginal, out=np.zeros_like(marginal), where=marginal > 0
    )
    return float(1 - gained.sum())


MECHANISMS = (
    Mechanism(
        "lip-windows",
        "for a prior, also with many values: each frequent value has its own weights; the rare values lie on a "
        "circle, and a report names a random arc of it",
        "halftruth",
        DENSE,
        for_priors_near(windows),
    ),
)
