"""The published LIP channel as numbers, and its peers: what each tells of one bit, and what level it keeps.

Nothing is taken from the paper's formulas but what the paper says. Errors are those of a channel's own
integers, and a claim of privacy is the exact level of the same integers; where the published channel breaks its own
definition it is computed all the same, for a comparison, and its curve says so. No campaign can be made of it there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from aggregator.estimate.error import expected_mse, lip_mse, prior_mse
from aggregator.families.decoder import Floats
from aggregator.families.response.recipe import published_lip_response, randomized_response
from aggregator.reproduce.crowd import level
from aggregator.reproduce.experiment import Curve, parted
from protocol import exact
from protocol.channels import Channel, Table

EPSILON, ERROR = "epsilon, nats", "square root of the average MSE"

FULL = tuple(half / 2 for half in range(1, 21))
"""Half a nat to ten: at none there is no campaign."""

SPARSE = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
"""Of these, enough for a quick run of what takes long."""

BROKEN = "every share of the prior has to be at least 1/(e^eps + 1)"


def true_level(channel: Channel, prior: Sequence[int]) -> float:
    """The LIP level that a channel's integers keep under ``prior``, nats."""
    found = channel.loss_against_prior(prior).level
    return math.inf if found is None else exact.nats(found)


def keeps(channel: Channel, prior: Sequence[int], eps: float) -> bool:
    """Whether they keep ``eps``."""
    return true_level(channel, prior) <= eps


def legal_from(prior: Sequence[int]) -> float:
    """The level from which the published channel is legal: ln(1 / P_min - 1)   (MATH 1.1)."""
    return math.log(sum(prior) / min(prior) - 1)


def bit(share: str) -> tuple[int, int]:
    """The prior of a yes of ``share``, a decimal: no first."""
    yes = Fraction(share)
    return yes.denominator - yes.numerator, yes.numerator


def of_bit(channel: Channel, prior: Sequence[int]) -> float:
    """The error of one person's bit: half of their histogram's."""
    return max(lip_mse(channel, prior), 0.0) / 2


def unbiased(channel: Channel, prior: Sequence[int]) -> float:
    """The same without a prior: the noise of the unbiased estimate about the people who are there."""
    law = [weight / sum(prior) for weight in prior]
    return (expected_mse(channel, law) - prior_mse(prior)) / 2


def warner(eps: float) -> Channel:
    """Randomised response for one bit: plain LDP."""
    return randomized_response(2, level(eps))


def rare_bit(eps: float) -> Table:
    """The optimised unary encoding of one bit: a yes is told with probability 1/2, a no with 1/(e^eps + 1)."""
    lie = Fraction(1 << exact.EXP_BITS, exact.exp_lower(level(eps)) + (1 << exact.EXP_BITS))
    return Table.nearest([[1 - lie, lie], [Fraction(1, 2), Fraction(1, 2)]])


def claimed(share: float, eps: float) -> float:
    """The published error of one bit, P (1 - P) (2 e^-eps - e^-2eps)   (eq. 19)."""
    return share * (1 - share) * (2 * math.exp(-eps) - math.exp(-2 * eps))


def roots(errors: Sequence[float]) -> tuple[float, ...]:
    """Square roots, of rounding below zero too."""
    return tuple(math.sqrt(max(error, 0.0)) for error in errors)


def standard_errors(squares: Floats, expected: float) -> float:
    """How many standard errors the mean of simulated squared errors is from its expectation.

    A sum's error is nearly normal, and its square has a standard deviation of sqrt(2) times its mean; in few surveys it
    may look smaller.
    """
    deviation = max(float(squares.std()), math.sqrt(2) * expected)
    return abs(float(squares.mean()) - expected) * math.sqrt(len(squares)) / deviation


def published(
    name: str, levels: Sequence[float], prior: Sequence[int], error: Callable[[Channel], float], *, part: float = 1.0
) -> tuple[Curve, ...]:
    """The curve of the published channel at ``part`` of each level, parted by whether it keeps that."""
    channels = [published_lip_response(prior, level(eps * part)) for eps in levels]
    legal = [keeps(channel, prior, eps * part) for channel, eps in zip(channels, levels, strict=True)]
    notion = "eps-LIP" if part == 1 else "eps/2-LIP"
    return parted(name, levels, [error(channel) for channel in channels], legal, notion)
