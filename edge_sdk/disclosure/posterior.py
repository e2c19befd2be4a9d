"""The person's prior from their history, and the posterior after a report.

Bayes' rule bounds the posterior of an observer whose prior is this person's history. The device computes this bound
before the person answers. Neither the counts nor the bound leave the device.

The prior is proportional to the counts plus one for each value, so a value that was never given has a positive
probability.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from protocol import exact, levels
from protocol.channels import Channel

MAX_STEPS = 2**21
"""Maximum number of steps, one or two seconds; for larger channels the bound follows from the channel's level."""

MAX_FIT_STEPS = 2**24
"""Maximum number of steps of ``fit_probabilities``. No channel needs more: a table has fewer cells, and the other
families do not visit each cell."""


@dataclass(frozen=True)
class Posterior:
    """An observer's probability of one value, before and after a report.

    Attributes:
        x: the value, an input of the channel.
        before: the probability from the history alone.
        after: an upper bound of the probability from the history and one report.
    """

    x: int
    before: Fraction
    after: Fraction


def posterior_of(channel: Channel, level: int | None, counts: Mapping[int, int], x: int | None = None) -> Posterior:
    """Return the prior of value ``x`` and an upper bound of its posterior; without ``x``, those of the value that one
    report can make most probable.

        P(x|y) = P(x) Q(y|x) / sum over x' of P(x') Q(y|x'),  the largest over y

    Args:
        level: the channel's LDP level in nanonats; None if it is infinite.
        counts: number of answers with each value so far.
        x: an input; None for the input with the highest posterior, or, if the channel is too large, with the highest
            prior.
    """
    weights = prior_of_counts(channel.input_count, counts)
    total = sum(weights)
    inputs = range(channel.input_count) if x is None else (x,)
    try:
        after, most_probable = levels.most_probable(levels.structure_of(channel, MAX_STEPS), weights, inputs)
    except levels.TooLarge:
        most_probable = max(inputs, key=weights.__getitem__)
        after = posterior_bound(Fraction(weights[most_probable], total), level)
    before = Fraction(weights[most_probable], total)
    return Posterior(most_probable, before, max(before, after))


def posterior_bound(before: Fraction, level: int | None) -> Fraction:
    """Return an upper bound, rounded up, of the posterior after one output of any channel with this LDP level.

    Every other value gives the output with at least e^-level times the probability.

    Args:
        before: the prior probability.
        level: LDP level in nanonats; None if it is infinite.
    """
    if level is None:
        return Fraction(1)
    odds = before * exact.exp_above(level)
    return odds / (odds + 1 - before)


def fit_probabilities(channel: Channel, x: int) -> tuple[Fraction, Fraction]:
    """Return the probability that a report fits input ``x`` if x is the answer, and a lower bound of this probability
    if any other input is the answer.

    A report fits an input if no other output is more likely for this input. A vector of independent bits fits the
    inputs whose bit is set.
    """
    truth, wrong, total = levels.structure_of(channel, MAX_FIT_STEPS).fits(x)
    return Fraction(truth, total), Fraction(wrong, total)


def prior_of_counts(size: int, counts: Mapping[int, int]) -> list[int]:
    """Return the prior of a history over ``size`` values as weights: the counts, plus one for each value."""
    weights = [1] * size
    for value, times in counts.items():
        weights[value] += times
    return weights
