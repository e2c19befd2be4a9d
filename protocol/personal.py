"""The declared prior of one person, and the deterministic rule that derives a channel from it (SPEC 6.7, 9).

A declared prior is a few small integers, and a fixed rule turns them into the integers of a channel. The device that
samples and the study that decodes derive the same channel from the same declaration, so the channel is never sent. The
author of a campaign with one prior for all people uses the rule too.

The module ``report`` puts the declaration into an enrolment; ``notions.declared_prior`` defines the privacy notion.
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
"""Limits of a declared prior: the number of values, and the sum of the weights."""

DRIFT_ONE = 2**16
"""The integer that represents a drift of 1."""

ONE = 1 << EXP_BITS


def lip_response(prior: Sequence[int], level: int) -> RandomizedResponse:
    """Return the best randomised response under LIP; for two values, the optimum over all channels (MATH 2.3, 2.4).

    With truth T and cover c, the lifts of output m are (c_m + T) / (c_m + P_m T) for input m and c_m / (c_m + P_m T)
    elsewhere. Both lie in [e^-eps, e^eps] exactly when c_m >= T max(P_m, 1 - e^eps P_m) / (e^eps - 1). Taking equality
    and T + sum c = 1:

        c_m = max(P_m, 1 - e^eps P_m) / (e^eps - 1 + S),   S = sum over m of max(P_m, 1 - e^eps P_m)

    This is the repaired form of Jiang, Li, Tandon 2020, Theorem 3. It equals the theorem's channel if every
    P_m >= 1 / (e^eps + 1), where the theorem is valid: then S = 1 and c_m = P_m e^-eps. Every c is rounded up, which
    only moves both lifts towards 1.

    Args:
        prior: positive integers, P_m = prior[m] / sum.
        level: nanonats.
    """
    bound, prior_sum = exp_lower(level), sum(prior)
    # The cover is proportional to max(P_m, 1 - e^eps P_m).
    proportions = [max(weight * ONE, prior_sum * ONE - bound * weight) for weight in prior]
    total = (bound - ONE) * prior_sum + sum(proportions)
    cover = tuple(-(-(part << RESPONSE_SCALE) // total) for part in proportions)
    return RandomizedResponse(len(cover), cover[:1] if len(set(cover)) == 1 else cover)


def mean_squared_posterior(prior: Sequence[int], channel: Channel) -> int:
    """Return the mean squared length of the posterior over all outputs, times 2^64; each output's term is rounded down:

        sum over y of (sum over x of (P_x Q(y|x))^2) / P(y)

    The expected squared error of the posterior is 1 minus this sum, so a larger sum is better.

    It takes inputs times outputs steps and uses no float, so every machine that compares two channels agrees.

    Source: MATH 2.1.
    """
    unit = sum(prior) << channel.scale
    total = 0
    for y in range(channel.output_count):
        joint = [weight * channel.weight(x, y) for x, weight in enumerate(prior)]
        marginal = sum(joint)
        if marginal:
            total += (sum(cell * cell for cell in joint) << RESPONSE_SCALE) // (marginal * unit)
    return total


@lru_cache(maxsize=4)
def declared_prior_channel(prior: tuple[int, ...], level: int, campaign_channel: Channel) -> Channel:
    """Return the channel for a declared ``prior``: the rule's channel, or the campaign's LDP channel if it is more
    accurate.

    The campaign's channel satisfies LDP at ``level``, and therefore LIP under every prior. It costs at most ``level``;
    the rule's channel costs up to twice ``level``.
    """
    response = lip_response(prior, level)
    return (
        campaign_channel
        if mean_squared_posterior(prior, campaign_channel) > mean_squared_posterior(prior, response)
        else response
    )


def posterior(prior: Sequence[int], channel: Channel, y: int) -> tuple[int, ...]:
    """Return the posterior after output ``y`` as integer weights: Bayes' rule without division, so without rounding.

        P(x|y) is proportional to P_x * w(x, y)

    Weights that differ by a common factor are the same prior, and ``lip_response`` returns the same channel for them.
    """
    return tuple(weight * channel.weight(x, y) for x, weight in enumerate(prior))


def prior_after_drift(prior: Sequence[int], start_prior: Sequence[int], drift: int) -> tuple[int, ...]:
    """Return the prior one period later, as integer weights: with probability ``drift`` the value is drawn again, from
    ``start_prior``.

        (1 - d) P_x + d S_x,   times a common denominator

    Args:
        drift: the probability times ``DRIFT_ONE``.
    """
    stays, comes = (DRIFT_ONE - drift) * sum(start_prior), drift * sum(prior)
    return tuple(weight * stays + fresh * comes for weight, fresh in zip(prior, start_prior, strict=True))


def choice_channel(class_count: int, level: int) -> RandomizedResponse:
    """Return the channel that chooses a person's class or prior: k-ary randomised response over all candidates.

        Q(y|c) = e^eps / (e^eps + C - 1) for y = c, 1 / (e^eps + C - 1) otherwise

    The cover weight is rounded up.

    Source: Kairouz, Bonawitz, Ramage 2016 (k-RR).

    Args:
        class_count: C, the number of candidates.
        level: nanonats.
    """
    return RandomizedResponse(
        class_count, (-(-(ONE << RESPONSE_SCALE) // (exp_lower(level) + (class_count - 1) * ONE)),)
    )


def candidate_priors(size: int) -> tuple[tuple[int, ...], ...]:
    """Return the public list of priors from which a device draws the declared one, depending on the person's history.

    Args:
        size: k, the number of values.
    Returns:
        k + 1 priors: the uniform one, and for each value one that gives it the probability 3/4 and divides the rest
            equally among the others.
    """
    peak = 3 * (size - 1)
    return (1,) * size, *(tuple(peak if x == value else 1 for x in range(size)) for value in range(size))


def nearest_prior(counts: Sequence[int], priors: Sequence[Sequence[int]]) -> int:
    """Return the index of the prior that is nearest to the shares of ``counts`` in total variation; if several are
    equally near, the lowest index.

    Args:
        counts: k integers, not negative; if all are zero, every prior is equally near.
        priors: each k positive integers.
    """
    count_sum = sum(counts)

    def distance(prior: Sequence[int]) -> Fraction:
        total = sum(prior)
        numerator = sum(abs(count * total - weight * count_sum) for count, weight in zip(counts, prior, strict=True))
        return Fraction(numerator, total)

    return min(range(len(priors)), key=lambda place: distance(priors[place]))


def canonical_prior(weights: Sequence[int]) -> tuple[int, ...]:
    """Return the canonical form of a declared prior: its weights divided by their greatest common divisor.

    Raises:
        ReportError: this prior cannot be declared.
    """
    shared = math.gcd(*weights)
    prior = tuple(weight // shared for weight in weights) if shared else tuple(weights)
    require_declared(prior)
    return prior


def declaration_value(prior: Sequence[int], level: int) -> codec.Value:
    """Return the wire form of a declared prior and a personal level in an enrolment.

    Args:
        level: the personal level in nanonats; 0 for the campaign's level.
    """
    return [list(prior), level] if level else list(prior)


def declaration_of(value: codec.Value) -> tuple[tuple[int, ...], int]:
    """Return the prior and the personal level of a wire form, the inverse of ``declaration_value``.

    Returns:
        The prior, and the personal level in nanonats; 0 for the campaign's level.
    Raises:
        ReportError: the wire form has no valid prior or no valid level.
    """
    level = 0
    if isinstance(value, list) and value and isinstance(value[0], list):
        value, personal_level = codec.fields(value, 2, "a declared prior with a level", ReportError)
        level = codec.integer(personal_level, "a personal level", ReportError, MIN_LEVEL, MAX_LEVEL)
    prior = codec.integers(value, "a weight of a declared prior", ReportError, 1, MAX_DECLARED_WEIGHT)
    require_declared(prior)
    return prior, level


def require_declared(prior: Sequence[int]) -> None:
    """Refuse an invalid declared prior. The error does not repeat it.

    Raises:
        ReportError: the number, a weight or the sum is out of range, or the weights have a common factor.
    """
    if not 2 <= len(prior) <= MAX_DECLARED_VALUES:
        raise ReportError(f"a declared prior must have 2 to {MAX_DECLARED_VALUES} weights, not {len(prior)}")
    if min(prior) < 1:
        raise ReportError("each weight of a declared prior must be above zero: give every value a weight")
    if sum(prior) > MAX_DECLARED_WEIGHT:
        raise ReportError(f"the weights of a declared prior must sum to at most {MAX_DECLARED_WEIGHT}")
    if math.gcd(*prior) != 1:
        raise ReportError("the weights of a declared prior have a common factor: divide them by it")
