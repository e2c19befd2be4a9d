"""Levels under a prior: LIP, its delta, its level over a ball of priors, and the largest posterior after a report.

LIP compares Q(y given x) with P(y), the marginal of output y: the mean of its column under the prior. So LIP depends
only on the (weight, prior mass) pairs of a column, and another prior changes only the masses. The worst prior within a
distance moves as much mass as allowed to the largest or the least weight of a column. This is a fractional knapsack
problem, which a greedy method solves.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from protocol import exact
from protocol.channels.channel import Loss
from protocol.channels.structure import Structure, TooLarge
from protocol.effort import MAX_HELD, MAX_STEPS
from protocol.levels.level import Delta, Level


def lip(structure: Structure, prior: Sequence[int]) -> Level:
    """Return the LIP level: max over x and y of |ln P(x|y) - ln P(x)|   (Jiang, Li, Tandon 2020, Def. 3).

    Args:
        prior: ``input_count`` positive integers.
    Raises:
        ValueError: a weight of the prior is not positive.
        TooLarge: more than ``structure.max_steps`` steps, and no affordable closed form.
    """
    total = sum(_positive(prior))
    worst = Loss(1, 1, 0, None, 0)
    try:
        for column in structure.worst_columns(prior):
            weights = [weight for weight, _ in column.parts]
            mean = column.marginal
            worst = _worse(worst, column.y, total * max(weights), mean, mean, total * min(weights))
    except TooLarge:
        channel = structure.channel
        if channel.prior_steps > MAX_STEPS or channel.numbers_held > MAX_HELD:
            raise
        worst = channel.loss_against_prior(prior)  # some families have a closed form
    return _level(worst)


def lip_in_ball(structure: Structure, prior: Sequence[int], radius: Fraction) -> Level:
    """Return the LIP level for any observer whose prior differs from ``prior`` by at most ``radius`` (MATH 2.11).

    At radius 0 this is the LIP level, at radius 1 the LDP level.

    Args:
        prior: ``input_count`` positive integers.
        radius: a total variation, 0 .. 1.
    Raises:
        ValueError: a weight of the prior is not positive, or the radius is outside 0 .. 1.
        TooLarge: more than ``structure.max_steps`` steps.
    """
    if not 0 <= radius <= 1:
        raise ValueError(f"a total variation distance must lie in 0 .. 1, not {radius}")
    total, share = sum(_positive(prior)), radius.denominator
    moved = radius.numerator * total
    worst = Loss(1, 1, 0, None, 0)
    scaled_total = total * share
    for column in structure.worst_columns(prior):
        mean = column.marginal * share
        low, high = min(column.parts)[0], max(column.parts)[0]
        # For an upper bound of the ratios, the whole mass moves from one end to the other. The bound excludes most
        # columns without a sort.
        span = moved * (high - low)
        if span < mean and not (
            Loss(scaled_total * high, mean - span, 0, None, 0).worse_than(worst)
            or Loss(mean + span, scaled_total * low, 0, None, 0).worse_than(worst)
        ):
            continue
        parts = sorted((weight, mass * share) for weight, mass in column.parts)
        # For the least mean, mass moves from the largest weights to the smallest one; for the largest mean, from the
        # smallest weights to the largest one.
        smallest_mean = mean - sum(mass * (weight - low) for weight, mass in _first(parts[::-1], moved))
        largest_mean = mean + sum(mass * (high - weight) for weight, mass in _first(parts, moved))
        worst = _worse(worst, column.y, scaled_total * high, smallest_mean, largest_mean, scaled_total * low)
    return _level(worst)


def lip_delta(structure: Structure, prior: Sequence[int], level: int) -> Delta:
    """Return the smallest delta with which the channel is (eps, delta)-LIP   (SoK, eq. 5).

        max over x of the larger of   sum over y of max(0, e^-eps Q(y|x) - P(y))
                                and   sum over y of max(0, P(y) - e^eps Q(y|x))

    The SoK's sets of values need no separate computation: given a set, the distribution of Y is a mean of the
    distributions given its values.

    Args:
        prior: ``input_count`` positive integers.
        level: eps in nanonats.
    Raises:
        ValueError: a weight of the prior is not positive.
        TooLarge: more than ``structure.max_steps`` steps.
    """
    total = sum(_positive(prior))
    odds, unit = exact.exp_lower(level), 1 << exact.EXP_BITS
    scale, marginals = structure.channel.scale, structure.marginals(prior)
    best = Delta(Fraction(-1), 0, None)
    # Both sums are rounded up, because e^-eps <= unit / odds and e^eps >= odds / unit.
    for term, denominator in (
        (lambda weight, marginal: max(0, unit * weight * total - odds * marginal), odds * total << scale),
        (lambda weight, marginal: max(0, unit * marginal - odds * weight * total), unit * total << scale),
    ):
        sums = list(structure.row_sums(marginals, term))
        x = max(range(len(sums)), key=sums.__getitem__)
        value = Fraction(sums[x], denominator)
        if value > best.value:
            best = Delta(value, x, None)
    return best


def most_probable(structure: Structure, prior: Sequence[int], inputs: Sequence[int]) -> tuple[Fraction, int]:
    """Return the largest posterior of one of the values ``inputs`` after one report, for an observer with this prior,
    and the value that has it.

        max over y and x of P(x|y)

    Args:
        prior: ``input_count`` positive integers.
        inputs: the values x.
    Raises:
        ValueError: a weight of the prior is not positive.
        TooLarge: more than ``structure.max_steps`` steps.
    """
    numerator, denominator, x = structure.largest_posterior(_positive(prior), inputs)
    return Fraction(numerator, denominator), x


def _worse(
    worst: Loss, y: int, largest_weight: int, smallest_mean: int, largest_mean: int, smallest_weight: int
) -> Loss:
    """Return the worst of ``worst``, largest_weight / smallest_mean, and largest_mean / smallest_weight."""
    for candidate in (Loss(largest_weight, smallest_mean, 0, None, y), Loss(largest_mean, smallest_weight, 0, None, y)):
        if candidate.worse_than(worst):  # false for 0 / 0, an output that never occurs
            worst = candidate
    return worst


def _first(parts: Sequence[tuple[int, int]], amount: int) -> list[tuple[int, int]]:
    """Return the first parts, which have the mass ``amount`` together; the last one may be cut."""
    first_parts = []
    for weight, mass in parts:
        if not amount:
            break
        first_parts.append((weight, min(mass, amount)))
        amount -= first_parts[-1][1]
    return first_parts


def _positive(prior: Sequence[int]) -> Sequence[int]:
    if min(prior) < 1:
        raise ValueError(f"the prior of input {prior.index(min(prior))} must be above zero")
    return prior


def _level(loss: Loss) -> Level:
    return Level(loss.level, y=loss.y)
