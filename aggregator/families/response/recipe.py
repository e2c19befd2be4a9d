"""Recipes of response channels, whose output is the true value or a draw from all values, uniform or by a prior."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from aggregator.families.blocks.recipe import for_ldp_block_and_high_low
from aggregator.families.mechanism import COUNT, LIP, Mechanism, PlannedQuestion, Recipe, for_prior
from aggregator.families.rounding import D, ceil
from protocol.channels import RandomizedResponse
from protocol.channels.response.channel import RESPONSE_SCALE
from protocol.exact import exp_lower
from protocol.notions import Lip
from protocol.personal import lip_response


def randomized_response(size: int, level: int) -> RandomizedResponse:
    """Return k-ary randomised response, which for two values is Warner's.

        Q(y|x) = e^eps / (e^eps + k - 1) for y = x, 1 / (e^eps + k - 1) otherwise

    The cover of output y, its probability from every other value, is rounded up.

    Source: Warner 1965; Kairouz, Bonawitz, Ramage 2016 (k-RR).

    Args:
        size: k, the number of values.
        level: the LDP level in nanonats.
    """
    return RandomizedResponse(size, (ceil(D << RESPONSE_SCALE, exp_lower(level) + (size - 1) * D),))


def published_lip_response(prior: Sequence[int], level: int) -> RandomizedResponse:
    """Return the published LIP channel: Q(m|m) = 1 - (1 - P_m) e^-eps, Q(y|m) = P_y e^-eps.

    The channel satisfies its level only if every P_m >= 1 / (e^eps + 1); the certificate checks it.

    Source: Jiang, Li, Tandon 2020, Theorems 2, 3 and 5.

    Args:
        prior: positive integers, P[x] = prior[x] / sum.
        level: the LIP level in nanonats.
    """
    N, W = exp_lower(level), sum(prior)
    return _response([ceil((w * D) << RESPONSE_SCALE, W * N) for w in prior])


def symmetric_lip(prior: Sequence[int], level: int) -> RandomizedResponse:
    """Return the best LIP channel for two values among channels with equal error probabilities.

        P(error) = (1 - P) / (e^eps + 1 - 2 P),     P = the smaller prior; rounded up

    Unlike the paper's channel with two error rates, it satisfies the level under ``prior``, whatever this prior is.

    Source: Jiang, Li, Tandon 2018, Prop. 4.

    Args:
        prior: two positive integers.
        level: the LIP level in nanonats.
    """
    smaller, total, N = min(prior), sum(prior), exp_lower(level)
    error = ceil((total - smaller) * D << RESPONSE_SCALE, (N + D) * total - 2 * smaller * D)
    return RandomizedResponse(2, (error,))


def random_sampling(prior: Sequence[int], level: int) -> RandomizedResponse:
    """Return random sampling under LDP, whose output is the value with probability t, else a draw from the prior.

        Q(y|x) = t [y = x] + (1 - t) P(y),    t / (1 - t) = (e^eps - 1) min P

    For a uniform prior the channel is randomised response. The cover (1 - t) P(y) of each output, its probability
    from every other value, is rounded up.

    Source: Wang, Qin, Qiu 2023, sec. IV, "random sampling mechanism".

    Args:
        prior: positive integers, P[x] = prior[x] / sum.
        level: the LDP level in nanonats.
    """
    total, N = sum(prior), exp_lower(level)
    # The cover probability is 1 - t = 1 / (1 + (e^eps - 1) min P).
    return _sampling(prior, Fraction(D * total, D * total + (N - D) * min(prior)))


def random_sampling_lip(prior: Sequence[int], level: int) -> RandomizedResponse:
    """Return random sampling under LIP. Outputs have the distribution of the prior, so the lifts are 1 - t and 1 - t +
    t / P(x).

        1 - t = max(e^-eps, 1 - (e^eps - 1) min P / (1 - min P))

    If e^-eps is the larger of the two, the channel is the published LIP channel (``published_lip_response``).

    Args:
        prior: positive integers, P[x] = prior[x] / sum.
        level: the LIP level in nanonats.
    """
    total, N, smallest = sum(prior), exp_lower(level), min(prior)
    return _sampling(prior, max(Fraction(D, N), 1 - Fraction((N - D) * smallest, D * (total - smallest))))


def _sampling(prior: Sequence[int], drawn: Fraction) -> RandomizedResponse:
    """Return the channel whose output is a draw from the prior with probability ``drawn``; each cover is rounded up."""
    cover = [ceil((weight * drawn.numerator) << RESPONSE_SCALE, sum(prior) * drawn.denominator) for weight in prior]
    return _response(cover)


def _response(cover: list[int]) -> RandomizedResponse:
    return RandomizedResponse(len(cover), (cover[0],) if len(set(cover)) == 1 else tuple(cover))


def _published(question: PlannedQuestion) -> Recipe | str:
    notion = question.notion
    if isinstance(notion, Lip):
        smallest = Fraction(min(notion.prior), sum(notion.prior))
        if smallest * (exp_lower(notion.level) + D) < D:
            return (
                f"it does not satisfy the level for this prior, which has a share of {float(smallest):.3g}: every "
                f"share must be at least 1 / (e^epsilon + 1); {LIP} has no such limit"
            )
    return for_prior(published_lip_response)(question)


MECHANISMS = (
    Mechanism(
        "randomized-response",
        "the truth, or a draw from all values",
        "Warner 1965; Kairouz et al. 2016",
        COUNT,
        for_ldp_block_and_high_low(randomized_response),
    ),
    Mechanism(
        "lip-response",
        "the truth, or a draw from all values with weights computed from the prior",
        "after Jiang, Li, Tandon 2020, Th. 3",
        COUNT,
        for_prior(lip_response),
    ),
    Mechanism(
        "lip-symmetric",
        "two values with equal error probabilities",
        "Jiang, Li, Tandon 2018, Prop. 4",
        COUNT,
        for_prior(symmetric_lip, 2),
    ),
    Mechanism(
        "lip-published",
        "the published channel, for priors for which it satisfies the level",
        "Jiang, Li, Tandon 2020, Th. 2, 3, 5",
        COUNT,
        _published,
    ),
    Mechanism(
        "random-sampling",
        "the truth, or a draw from the prior",
        "Wang, Qin, Qiu 2023",
        COUNT,
        for_prior(random_sampling_lip),
    ),
)
