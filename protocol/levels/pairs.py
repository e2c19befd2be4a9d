"""Levels that compare two inputs: (eps, delta)-LDP, geo-indistinguishability, differential identifiability.

The profile of two inputs determines how well they can be distinguished, so each level is a maximum over pairs of kinds
of inputs. The plain LDP level is computed from the channel's ``loss``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

from protocol import exact
from protocol.channels.channel import Loss
from protocol.channels.noise.audit import NoiseStructure
from protocol.channels.response.audit import ResponseStructure
from protocol.channels.structure import Structure
from protocol.levels.level import Delta, Level
from protocol.levels.metric import Metric

ROOT_UNITS = 10**12
"""A distance is the root of a rational, taken in 10^-12 units and rounded down."""


COMPARED = 8
"""Maximum number of pairs of points that a search for the nearest two inputs compares in one audit step."""


def ldp(structure: Structure) -> Level:
    """Return the LDP level, with the pair and the output that reach it (SoK, Def. 1)."""
    everything = range(structure.channel.input_count)
    return _level(structure.channel.loss(everything, everything))


def delta(structure: Structure, level: int) -> Delta:
    """Return the smallest delta with which the channel is (eps, delta)-LDP.

        max over x, x' of sum over y of max(0, Q(y|x) - e^eps Q(y|x'))

    Args:
        level: eps in nanonats.
    Raises:
        TooLarge: more than ``structure.max_steps`` steps.
    """
    odds, unit = exact.exp_lower(level), 1 << exact.EXP_BITS
    best, worst_pair = -1, (0, 0)
    pairs = list(structure.pairs())
    structure.require_steps(len(pairs) * structure.profile_steps, "comparing all pairs of its inputs over all outputs")
    for x, other in pairs:
        excess = sum(
            count * (mine * unit - odds * theirs)
            for mine, theirs, count in structure.profile(x, other)
            if mine * unit > odds * theirs
        )
        if excess > best:
            best, worst_pair = excess, (x, other)
    return Delta(Fraction(best, unit << structure.profile_scale), *worst_pair)


def geo(structure: Structure, metric: Metric) -> Level:
    """Return the smallest level per unit of distance: ln Q(y|x) - ln Q(y|x') <= level * d(x, x')   (SoK, eq. 8).

    For noise on unevenly spaced points, the result is an upper bound of this smallest level.

    Raises:
        TooLarge: too many steps or pairs of inputs for ``structure.max_steps``.
    """
    if isinstance(structure, NoiseStructure):
        return _noise_geo(structure, metric)
    kinds = structure.kinds
    # Over all ordered pairs of kinds, the searches for the nearest pair visit this number of points.
    sweeps = 2 * len(kinds) * structure.channel.input_count
    steps = len(kinds) ** 2 * structure.loss_steps + (sweeps if len(kinds) < structure.channel.input_count else 0)
    structure.require_steps(steps, "comparing all pairs of its inputs")
    max_pairs = COMPARED * structure.max_steps // len(kinds) ** 2
    worst = Level(0)
    for first in kinds:
        for second in kinds:
            if first is second and len(first) == 1:
                continue
            # All pairs of two kinds have the same loss, so the nearest pair is the worst.
            x, other, square = metric.nearest_pair(first, second, max_pairs)
            level = _per_unit(structure.channel.loss([x], [other]), square)
            if level.nanonats is None:
                return level
            if level.nanonats > (worst.nanonats or 0):
                worst = level
    return worst


def _noise_geo(structure: NoiseStructure, metric: Metric) -> Level:
    # The worst loss of a shift bounds all its pairs. On a lattice, the pairs also have one distance; on other points,
    # the distance of the nearest pair gives an upper bound.
    infinite = ldp(structure)
    if infinite.nanonats is None:
        return infinite
    worst = Level(0)
    for loss, pairs in structure.shifts():
        level = _per_unit(loss, min(metric.square(x, other) for x, other in pairs))
        if (level.nanonats or 0) > (worst.nanonats or 0):
            worst = level
    return worst


def _per_unit(loss: Loss, square: Fraction) -> Level:
    """Return the level of a ratio per unit of distance, rounded up, for a squared distance."""
    level = loss.level
    if level is None:
        return _level(loss)
    distance = isqrt(square.numerator * ROOT_UNITS**2 // square.denominator)
    return Level(-(-level * ROOT_UNITS // distance), loss.x, loss.other, loss.y)


def identifiability(structure: Structure, prior: Sequence[int]) -> Level:
    """Return the level of differential identifiability between single values (Wang, Ying, Zhang 2016, Def. 1).

        max over y and x, x' of ln P(x|y) / P(x'|y),   P(x|y) = P(x) Q(y|x) / P(y)

    The SoK (Def. 7) defines it for sets of values. With sets, even a channel that reveals nothing has the level
    ln(1 / least prior): the set of all values against one value.

    Args:
        prior: ``input_count`` positive integers.
    Raises:
        TooLarge: more than ``structure.max_steps`` steps.
    """
    loss = structure.channel.loss
    if isinstance(structure, ResponseStructure):
        return _response_identifiability(structure, prior)
    kinds = structure.kinds
    if len(kinds) == len(prior):
        return _columns_identifiability(structure, prior)
    structure.require_steps(len(kinds) ** 2 * structure.loss_steps, "comparing all pairs of its inputs")
    likely = [sorted(kind, key=prior.__getitem__, reverse=True)[:2] for kind in kinds]
    unlikely = [sorted(kind, key=prior.__getitem__)[:2] for kind in kinds]
    worst = Loss(1, 1, 0, None, 0)
    for first in likely:
        for second in unlikely:
            for x, other in ((x, other) for x in first for other in second if x != other):
                pair_loss = loss([x], [other])
                odds = Loss(prior[x] * pair_loss.numerator, prior[other] * pair_loss.denominator, x, other, pair_loss.y)
                if odds.denominator == 0:
                    return _level(odds)
                if odds.worse_than(worst):
                    worst = odds
    return _level(worst)


def _columns_identifiability(structure: Structure, prior: Sequence[int]) -> Level:
    structure.require_cells()
    worst = Loss(1, 1, 0, None, 0)
    for y in range(structure.channel.output_count):
        joint = [weight * mass for weight, mass in zip(structure.column(y), prior, strict=True)]
        largest, smallest = max(joint), min(joint)
        odds = Loss(largest, smallest, joint.index(largest), joint.index(smallest), y)
        if odds.worse_than(worst):
            worst = odds
    return _level(worst)


def _response_identifiability(structure: ResponseStructure, prior: Sequence[int]) -> Level:
    # The loss of a pair depends only on its first input, so the second one is the other input with the smallest prior.
    rarest = sorted(range(len(prior)), key=prior.__getitem__)[:2]
    channel = structure.channel
    worst = Loss(0, 1, 0, None, 0)
    for x, mass in enumerate(prior):
        other = rarest[0] if rarest[0] != x else rarest[1]
        cover = channel.cover_of(x)
        odds = Loss(mass * (cover + channel.truth), prior[other] * cover, x, other, x)
        if not odds.numerator:
            continue  # output x never occurs
        if odds.denominator == 0 or odds.worse_than(worst):
            worst = odds
        if worst.denominator == 0:
            break
    # On the output of a third input, the odds of x and other are those of their priors, which are never worse.
    return _level(worst)


def _level(loss: Loss) -> Level:
    return Level(loss.level, loss.x, loss.other, loss.y)
