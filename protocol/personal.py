"""The prior of one person, and the channels that everybody derives alike (SPEC 6.7, 9).

A declared prior is a few small integers, and the rule from them to the integers of a channel is fixed. The
device that samples, the study that decodes and the author of a campaign with one prior for all derive the same
channel from the same declaration, so the channel itself is never sent.

Who declares a prior, and what that means: report, notions.own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from protocol import codec
from protocol.channels.channel import Channel
from protocol.channels.response.channel import RESPONSE_SCALE, RandomizedResponse
from protocol.errors import ReportError
from protocol.exact import EXP_BITS, MAX_LEVEL, MIN_LEVEL, exp_lower

MAX_DECLARED_VALUES = 256
MAX_DECLARED_WEIGHT = 2**20
"""A declared prior has at most so many values, and weights that sum to at most this: it is sent by every device."""

DRIFT_ONE = 2**16
"""A drift of one, in the integers that a drift is written in."""

ONE = 1 << EXP_BITS


def lip_response(prior: Sequence[int], level: int) -> RandomizedResponse:
    """The best same-alphabet LIP channel; for two values, the optimum over all channels.

    With truth T and cover c, the lifts of symbol m are (c_m + T) / (c_m + P_m T) on itself and c_m / (c_m + P_m T)
    elsewhere. Both lie in [e^-eps, e^eps] exactly when c_m >= T max(P_m, 1 - e^eps P_m) / (e^eps - 1). Taking
    equality and T + sum c = 1:

        c_m = max(P_m, 1 - e^eps P_m) / (e^eps - 1 + S),   S = sum over m of max(P_m, 1 - e^eps P_m)

    This is the repaired form of Jiang, Li, Tandon 2020, Theorem 3, and equals it where that is legal: there every
    P_m >= 1 / (e^eps + 1), so S = 1 and c_m = P_m e^-eps. Every c is rounded up, which only weakens both lifts.

    Args:
        prior: positive integers, P_m = prior[m] / sum.
        level: nanonats.
    """
    bound, whole = exp_lower(level), sum(prior)
    least = [max(weight * ONE, whole * ONE - bound * weight) for weight in prior]  # max(P_m, 1 - e^eps P_m)
    total = (bound - ONE) * whole + sum(least)
    cover = tuple(-(-(part << RESPONSE_SCALE) // total) for part in least)
    return RandomizedResponse(len(cover), cover[:1] if len(set(cover)) == 1 else cover)


def gained(prior: Sequence[int], channel: Channel) -> int:
    """What an output tells of a person's histogram in the mean, over 2^64, each output's part rounded down:

        sum over y of (sum over x of (P_x Q(y|x))^2) / P(y),   one less the expected squared error of the posterior

    It takes k times the outputs steps, and no float, so everybody who compares two channels by it agrees.

    Source: Jiang, Li, Tandon 2020, eq. 13, for a histogram.
    """
    unit = sum(prior) << channel.scale
    total = 0
    for y in range(channel.outputs):
        joint = [weight * channel.weight(x, y) for x, weight in enumerate(prior)]
        marginal = sum(joint)
        if marginal:
            total += (sum(cell * cell for cell in joint) << RESPONSE_SCALE) // (marginal * unit)
    return total


@lru_cache(maxsize=4)
def own_channel(prior: tuple[int, ...], level: int, offered: Channel) -> Channel:
    """The channel of whoever declares ``prior``: the response that the rule makes, or the offered one if it tells more.

    The offered channel keeps LDP at ``level``, and with it LIP under every prior; it costs no more than ``level``,
    where a response costs up to twice as much.
    """
    response = lip_response(prior, level)
    return offered if gained(prior, offered) > gained(prior, response) else response


def after(prior: Sequence[int], channel: Channel, y: int) -> tuple[int, ...]:
    """What an observer expects who saw ``y``: Bayes' rule, with no division and so no rounding.

        P(x|y) is as P_x * w(x, y)

    Weights that differ by a factor are one prior, to the rule above too.
    """
    return tuple(weight * channel.weight(x, y) for x, weight in enumerate(prior))


def drifted(prior: Sequence[int], start: Sequence[int], drift: int) -> tuple[int, ...]:
    """What an observer expects a period later, if the value is drawn anew from ``start`` with probability ``drift``.

        (1 - d) P_x + d S_x,   times a common denominator

    Args:
        drift: over ``DRIFT_ONE``.
    """
    stays, comes = (DRIFT_ONE - drift) * sum(start), drift * sum(prior)
    return tuple(weight * stays + fresh * comes for weight, fresh in zip(prior, start, strict=True))


def choice(classes: int, level: int) -> RandomizedResponse:
    """The channel through which a person's class or prior is chosen: k-ary randomised response over those there are.

        Q(y|c) = e^eps / (e^eps + C - 1) for y = c, 1 / (e^eps + C - 1) otherwise

    The cover weight is rounded up.

    Source: Kairouz, Bonawitz, Ramage 2016, eq. 4.

    Args:
        level: nanonats.
    """
    return RandomizedResponse(classes, (-(-(ONE << RESPONSE_SCALE) // (exp_lower(level) + (classes - 1) * ONE)),))


def candidates(size: int) -> tuple[tuple[int, ...], ...]:
    """The public list from which a declared prior may be chosen by what only its person knows.

    Args:
        size: k values.
    Returns:
        k + 1 priors: the even one, and for each value the one that gives it three quarters and all others the same.
    """
    peak = 3 * (size - 1)
    return (1,) * size, *(tuple(peak if x == value else 1 for x in range(size)) for value in range(size))


def nearest(counts: Sequence[int], priors: Sequence[Sequence[int]]) -> int:
    """The place of the prior that is nearest to the shares of ``counts`` in total variation; the first, of several.

    Args:
        counts: k integers, not negative; all zero is as near to every prior.
        priors: each k positive integers.
    """
    whole = sum(counts)

    def distance(prior: Sequence[int]) -> Fraction:
        total = sum(prior)
        apart = sum(abs(count * total - weight * whole) for count, weight in zip(counts, prior, strict=True))
        return Fraction(apart, total)

    return min(range(len(priors)), key=lambda place: distance(priors[place]))


def declared(weights: Sequence[int]) -> tuple[int, ...]:
    """The one form in which a prior of these weights is declared: without a factor that all share.

    Raises:
        ReportError: not a prior that can be declared.
    """
    shared = math.gcd(*weights)
    prior = tuple(weight // shared for weight in weights) if shared else tuple(weights)
    require_declared(prior)
    return prior


def declaration_value(prior: Sequence[int], level: int) -> codec.Value:
    """A declared prior as an enrolment writes it, together with a level of one's own.

    Args:
        level: nanonats; 0 for the campaign's.
    """
    return [list(prior), level] if level else list(prior)


def declaration_of(value: codec.Value) -> tuple[tuple[int, ...], int]:
    """The inverse of ``declaration_value``.

    Returns:
        The prior, and the level of one's own in nanonats, 0 for the campaign's.
    Raises:
        ReportError: not a declared prior, or a level that is none.
    """
    level = 0
    if isinstance(value, list) and value and isinstance(value[0], list):
        value, own = codec.fields(value, 2, "a declared prior with a level", ReportError)
        level = codec.integer(own, "a level of one's own", ReportError, MIN_LEVEL, MAX_LEVEL)
    prior = codec.integers(value, "a weight of a declared prior", ReportError, 1, MAX_DECLARED_WEIGHT)
    require_declared(prior)
    return prior, level


def require_declared(prior: Sequence[int]) -> None:
    """Refuse what is no declared prior. The text does not repeat it.

    Raises:
        ReportError
    """
    if not 2 <= len(prior) <= MAX_DECLARED_VALUES:
        raise ReportError(f"a declared prior has 2 to {MAX_DECLARED_VALUES} weights, not {len(prior)}")
    if min(prior) < 1 or sum(prior) > MAX_DECLARED_WEIGHT:
        raise ReportError(f"the weights of a declared prior are above zero and sum to at most {MAX_DECLARED_WEIGHT}")
    if math.gcd(*prior) != 1:
        raise ReportError("the weights of a declared prior have no factor in common")
