"""Tests for forged reports: they detect counts that no population of honest devices could produce.

All tests are valid for every distribution of true values, so an alarm never means "an unlikely population".

    an output occurs more often than its most favourable input produces it     count[y] <= n max over x of Q(y|x)
    an output occurs more often than the other outputs explain                 E[f . w] = 0 if R w = 0
    the unbiased shares do not sum to one                                      E[sum over x of raw[x]] = 1

Here R is the matrix R[x, y] = Q(y|x), f the relative frequencies of the outputs, and w has a weight for each output.

A device repeats its drawn output. So if devices have several reports, the tests count devices, weighted by their
reports, and assume that every device has the largest number of reports that any device has. This makes the tests less
sensitive, but not invalid.

The tests detect forged reports with only a few different outputs, and attacks that raise many values at once (maximal
gain attack: Cao, Jia, Gong 2021). The second test is the most sensitive. It needs a matrix R whose rank is below the
number of outputs, as in a channel with more outputs than inputs. For each output it uses the most powerful weights w
(``residual_test``). The second test is omitted if reports are counted bit by bit, if there are more than
``MAX_TESTED_OUTPUTS`` outputs, or if classes or people have different channels. If reports are counted bit by bit, the
first test is made for each bit instead of each output. The tests cannot detect forged reports that imitate honest
people with one value, because such counts are possible, and they cannot detect forged bit vectors with a plausible
number of ones. The influence of a forged report bounds the effect of such forgeries. The result of the tests is a
warning; no report is dropped.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from aggregator.estimate.pooled import Pooled
from aggregator.estimate.residual_test import direction, scores
from aggregator.estimate.tally import Tally
from aggregator.families.decoder import Decoder, Floats, Integers, NotInvertible
from aggregator.quantity import quantity

FALSE_ALARM = 1e-4
"""The largest probability, for each test, of an alarm from honest reports."""

EVEN = 1e-9
"""If the sum of raw shares is this close to one, it is one by construction, as in randomised response."""

CANDIDATES = 4
"""The number of outputs with the largest statistics that the residual test tests, at a limit that is valid for all
outputs."""

MAX_TESTED_OUTPUTS = 2**12
"""Maximum number of outputs for the residual test. With more outputs, each output is so rare that the first test
detects a few hundred forged reports."""


def find_forgeries(
    decoder: Decoder,
    counts: Integers,
    reports: int,
    devices: int | None = None,
    max_outputs: int = 1,
    noun: str = "report",
) -> tuple[str, ...]:
    """Return the problems found in the counts, as sentences; empty without a problem.

    The second test of the module's list is made only if the first one finds nothing, and the third only if an unbiased
    estimate exists.

    Args:
        decoder: the decoder of the campaign.
        counts: (m,) the number of outputs with each feature.
        reports: n, the number of outputs.
        devices: the number of devices that sent the outputs; None if each device sent one.
        max_outputs: the largest number of outputs of one device.
        noun: the word for an output in the sentences (see ``counted_noun``).
    """
    # A balanced decoder's shares sum to one by construction, so they cannot show an anomaly.
    decoder = decoder.uncorrected
    devices = reports if devices is None else devices
    frequent = _repeated(decoder, counts, reports, devices, max_outputs, noun)
    try:
        frequent = frequent or _unexplained(decoder, counts, reports, max_outputs, noun)
        unbalanced = _unbalanced(decoder, counts, reports, max_outputs, noun)
    except NotInvertible:
        unbalanced = None
    findings = (frequent, unbalanced)
    return tuple(finding for finding in findings if finding)


def find_forgeries_in_tally(decoder: Decoder, tally: Tally, noun: str) -> tuple[str, ...]:
    """Return the problems that ``find_forgeries`` finds in a tally."""
    devices = None if tally.correlated is None else tally.correlated.devices
    return find_forgeries(decoder, tally.counts, tally.reports, devices, tally.max_outputs, noun)


def _repeated(decoder: Decoder, counts: Integers, n: int, devices: int, largest: int, noun: str) -> str | None:
    ceiling = decoder.ceiling
    # The binomial upper tail P(C >= count) = I(count, n - count + 1) at the ceiling, with the Bonferroni correction
    # over the features, is conservative for two reasons. A device that sent w of at most W reports adds 0 or w / W,
    # which spreads no further than 0 or 1 with the same mean. A sum of such zeros and ones with different probabilities
    # (Poisson binomial) spreads no further than the binomial with the same mean (Hoeffding 1956).
    frequent = np.flatnonzero((counts > n * ceiling) & (ceiling < 1))
    came, chance = counts[frequent] / largest, ceiling[frequent] * (n / (largest * devices))
    tail = special.betainc(came, devices - came + 1, chance)
    if tail.size == 0 or tail.min() >= FALSE_ALARM / decoder.features:
        return None
    y = int(frequent[np.argmin(tail)])
    expected, count = n * ceiling[y], int(counts[y])
    return (
        f"{'output' if decoder.one_hot else 'bit'} {y} occurs {quantity(count, 'time')}, but honest devices are "
        f"expected to send it at most {quantity(math.ceil(expected), 'time')}: about {(count - expected) / n:.1%} of "
        f"the {noun}s look forged"
    )


def _unexplained(decoder: Decoder, counts: Integers, n: int, max_outputs: int, noun: str) -> str | None:
    if not decoder.one_hot or decoder.features > MAX_TESTED_OUTPUTS or isinstance(decoder, Pooled):
        return None
    mean_features = counts / n
    for y in np.argsort(-scores(decoder, mean_features), kind="stable")[:CANDIDATES].tolist():
        residual = direction(decoder, y)
        # Up to rounding, some distribution of inputs explains any count of this output.
        if residual.forged <= residual.mean:
            continue
        beyond = float(mean_features @ residual.contributions)
        limit = _limit(
            residual.contributions, residual.variance, mean_features, n, max_outputs, FALSE_ALARM / decoder.features
        )
        if beyond <= residual.mean + limit:
            continue
        forged = beyond / residual.forged
        return (
            f"output {y} occurs {quantity(int(counts[y]), 'time')}, but given the counts of the other outputs, honest "
            f"devices are expected to send it at most {quantity(max(round(counts[y] - forged * n), 0), 'time')}: "
            f"about {forged:.1%} of the {noun}s look forged"
        )
    return None


def _limit(
    contributions: Floats, variance: float, mean_features: Floats, n: int, max_outputs: int, alpha: float
) -> float:
    """Return d such that the mean contribution exceeds its expectation by more than d with probability at most
    ``alpha``.

    With one report per device, the limit is the smaller of two bounds, each at half of ``alpha``. The first uses the
    largest variance of any population. The second uses the variance of the counts, which is smaller if most people have
    values of low variance. With several reports per device only the first bound is valid, and is used at ``alpha``. A
    normal approximation fails for few reports, because a few outputs have large weights.

    Args:
        contributions: (m,) the contribution of a report with each output.
        variance: the largest variance of an honest report's contribution.
        mean_features: (m,) the relative frequency of each output.
        n: the number of reports.
        max_outputs: the largest number of reports of one device.
        alpha: the probability of exceeding the limit.
    Source: Bernstein's inequality; Maurer, Pontil 2009, Theorem 4, for independent reports with equal expectations.
    """
    if max_outputs > 1:
        return _bernstein(float(np.abs(contributions).max()), variance, math.log(1 / alpha) * max_outputs / n)
    log_alpha_per_report = math.log(2 / alpha) / n
    sample_variance = max(float(mean_features @ contributions**2) - float(mean_features @ contributions) ** 2, 0.0)
    logarithm = math.log(4 / alpha)
    empirical_bound = math.inf
    if n > 1:
        empirical_bound = math.sqrt(2 * sample_variance * logarithm / (n - 1))
        empirical_bound += 7 * float(np.ptp(contributions)) * logarithm / (3 * (n - 1))
    return min(_bernstein(float(np.abs(contributions).max()), variance, log_alpha_per_report), empirical_bound)


def _bernstein(furthest: float, variance: float, log_alpha_per_report: float) -> float:
    """Return the limit of Bernstein's inequality for the mean of n contributions.

    Args:
        log_alpha_per_report: -ln(probability) / n.
    """
    linear = furthest * log_alpha_per_report / 3
    return linear + math.sqrt(linear**2 + 2 * variance * log_alpha_per_report)


def _unbalanced(decoder: Decoder, counts: Integers, n: int, max_outputs: int, noun: str) -> str | None:
    ones = np.ones(decoder.input_count)
    contributions, excess = decoder.adjoint(ones), decoder.intercept(ones) - 1
    # The largest distance of one report's sum from 1; a bit vector may have all bits set, or none.
    furthest = (
        np.abs(contributions + excess).max()
        if decoder.one_hot
        else max(excess + contributions[contributions > 0].sum(), -excess - contributions[contributions < 0].sum())
    )
    if furthest < EVEN:
        return None
    mean = float(counts @ contributions) / n + excess
    # The population is unknown, so its variance is bounded by the largest one.
    variance = _largest_variance(decoder, contributions)
    if decoder.one_hot:
        limit = _limit(contributions + excess, variance, counts / n, n, max_outputs, FALSE_ALARM / 2)
    else:  # the joint counts of bits are unknown
        limit = _bernstein(float(furthest), variance, math.log(2 / FALSE_ALARM) * max_outputs / n)
    if abs(mean) <= limit:
        return None
    return (
        f"the unbiased shares sum to {1 + mean:.3f}, but with honest {noun}s only, the sum is between {1 - limit:.3f} "
        f"and {1 + limit:.3f}: some {noun}s look forged"
    )


def _largest_variance(decoder: Decoder, contributions: Floats) -> float:
    """Return an upper bound, over all inputs, on the variance of the sum of one report's contributions."""
    if decoder.one_hot:
        return float(decoder.backward((contributions - 1) ** 2).max())
    # For every input, the sum has mean one, and the bits of a report are independent or, in a subset, negatively
    # correlated. The variance of a bit is largest at its ceiling, or at one half if its ceiling is higher.
    ceiling = np.minimum(decoder.ceiling, 0.5)
    return float(contributions**2 @ (ceiling * (1 - ceiling)))
