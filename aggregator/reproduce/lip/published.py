"""The published LIP channel and others for comparison: the error of one bit, and the level that each satisfies.

The paper's formulas are used only for its claims. Errors and levels are computed from a channel's integers. Where the
published channel violates its definition, it is computed for comparison, and its curve is named so; no campaign
can use the channel at such a level and prior.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from aggregator.estimate.error import expected_mse, lip_mse, prior_mse
from aggregator.families.decoder import Floats
from aggregator.families.mechanism import PlannedQuestion
from aggregator.families.response.recipe import published_lip_response, randomized_response
from aggregator.planner.choice import Candidate, candidates
from aggregator.reproduce import simulated_people
from aggregator.reproduce.experiment import Curve, Plot, parted
from aggregator.reproduce.simulated_people import level_of_nats
from protocol import exact
from protocol.channels import Channel, Table
from protocol.notions import Ldp

EPSILON, ERROR = "epsilon, nats", "square root of the average MSE"

FULL = tuple(half / 2 for half in range(1, 21))
"""Levels of 0.5 to 10 nats; 0 nats is not a valid level."""

SPARSE = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
"""The levels in nats of slow experiments, a selection from ``FULL``."""

CONDITION = "every share of the prior has to be at least 1/(e^eps + 1)"

BEST_LDP = "The best LDP channel is the best of the channels for plain LDP whose outputs are not sets."
"""The remark on results of ``ldp_channels``."""


def true_level(channel: Channel, prior: Sequence[int]) -> float:
    """Return the LIP level that a channel's integers satisfy under ``prior``, in nats."""
    nanonats = channel.loss_against_prior(prior).level
    return math.inf if nanonats is None else exact.nats(nanonats)


def satisfies(channel: Channel, prior: Sequence[int], eps: float) -> bool:
    """Return whether a channel's integers satisfy LIP at ``eps`` nats under ``prior``."""
    return true_level(channel, prior) <= eps


def valid_from(prior: Sequence[int]) -> float:
    """Return the smallest level in nats at which the published channel is valid: ln(1 / P_min - 1) (MATH 1.1)."""
    return math.log(sum(prior) / min(prior) - 1)


def bit_prior(share: str) -> tuple[int, int]:
    """Return the prior (no, yes) as integers, where a yes has the probability ``share``, a decimal."""
    yes = Fraction(share)
    return yes.denominator - yes.numerator, yes.numerator


def of_bit(channel: Channel, prior: Sequence[int]) -> float:
    """Return the squared error of one person's bit: half the error of their histogram."""
    return max(lip_mse(channel, prior), 0.0) / 2


def root_of_bit(channel: Channel, prior: Sequence[int]) -> float:
    return math.sqrt(of_bit(channel, prior))


def unbiased_error(channel: Channel, prior: Sequence[int]) -> float:
    """Return the squared error of one person's bit without a prior: the variance of the unbiased estimate."""
    distribution = [weight / sum(prior) for weight in prior]
    return (expected_mse(channel, distribution) - prior_mse(prior)) / 2


def warner(eps: float) -> Channel:
    """Return randomised response for one bit, which satisfies plain LDP at ``eps`` nats."""
    return randomized_response(2, level_of_nats(eps))


def ldp_channels(size: int, eps: float) -> list[Channel]:
    """Return the channels of the mechanisms for plain LDP at ``eps`` nats over ``size`` values, except those whose
    outputs are sets: their reports are counted bit by bit, and a posterior needs the whole output."""
    question = PlannedQuestion(simulated_people.values(size), Ldp(level_of_nats(eps)))
    return [
        candidate.channel
        for _, candidate in candidates(question)
        if isinstance(candidate, Candidate) and not candidate.channel.unary
    ]


def unary_bit(eps: float) -> Table:
    """Return the optimised unary encoding of one bit: P(1|yes) = 1/2, P(1|no) = 1/(e^eps + 1)."""
    lie = Fraction(1 << exact.EXP_BITS, exact.exp_lower(level_of_nats(eps)) + (1 << exact.EXP_BITS))
    return Table.rounded([[1 - lie, lie], [Fraction(1, 2), Fraction(1, 2)]])


def claimed_error(share: float, eps: float) -> float:
    """Return the squared error of one bit that the paper claims, P (1 - P) (2 e^-eps - e^-2eps) (eq. 19)."""
    return share * (1 - share) * (2 * math.exp(-eps) - math.exp(-2 * eps))


def roots(errors: Sequence[float]) -> tuple[float, ...]:
    """Return the square roots of errors; errors below zero, from rounding, count as zero."""
    return tuple(math.sqrt(max(error, 0.0)) for error in errors)


def z_score(squares: Floats, expected: float) -> float:
    """Return the distance between the mean of simulated squared errors and its expectation, in standard errors.

    A sum's error is nearly normal, so its square has a standard deviation of sqrt(2) times the mean of the square. The
    standard deviation is taken as at least this value, because that of a few surveys may be smaller by chance.
    """
    deviation = max(float(squares.std()), math.sqrt(2) * expected)
    return abs(float(squares.mean()) - expected) * math.sqrt(len(squares)) / deviation


def published_curves(
    name: str, levels: Sequence[float], prior: Sequence[int], error: Callable[[Channel], float], *, part: float = 1.0
) -> tuple[Curve, ...]:
    """Return the curves of the published channel at ``part`` of each level: one where the channel satisfies that level,
    and one where it does not."""
    channels = [published_lip_response(prior, level_of_nats(eps * part)) for eps in levels]
    valid = [satisfies(channel, prior, eps * part) for channel, eps in zip(channels, levels, strict=True)]
    notion = "eps-LIP" if part == 1 else "eps/2-LIP"
    return parted(name, levels, [error(channel) for channel in channels], valid, notion)


def compared_curves(x: Sequence[float], errors: Mapping[str, Sequence[float]], remark: str = "") -> tuple[Curve, ...]:
    """Return the curves of LDP, of the published channel and of the valid optimum, the last two also at half the level.

    Args:
        x: the levels, or other settings.
        errors: the squared errors of "ldp", "published", "published half", "best half" and "best", and the shares of
            people for whom the published channel satisfies its claimed level, "protected" and "protected half".
        remark: an addition to the notion in the names of the published curves.
    """
    valid, valid_half = ([share == 1 for share in errors[f"protected{part}"]] for part in ("", " half"))
    return (
        Curve("LDP, MMSE", x, roots(errors["ldp"]), "ldp"),
        *parted("published LIP", x, roots(errors["published"]), valid, f"eps-LIP{remark}"),
        *parted("published LIP at eps/2", x, roots(errors["published half"]), valid_half, f"eps/2-LIP{remark}"),
        Curve("valid optimum at eps/2", x, roots(errors["best half"]), "ours"),
        Curve("valid optimum", x, roots(errors["best"]), "optimum"),
    )


def error_plot(title: str, *curves: Curve) -> Plot:
    return Plot(title, EPSILON, ERROR, curves, log_y=True)


def at_levels(chosen: Sequence[float], levels: Sequence[float]) -> str:
    """Return words for the levels ``chosen`` among the plotted levels."""
    if len(chosen) == len(levels):
        return "at every level plotted"
    return f"at {', '.join(f'{eps:g}' for eps in chosen)} nats" if chosen else "at no level plotted"
