"""The screen: signs of reports that no population of honest devices could send.

One idea: both tests hold whatever the true shares are, so an alarm never means "an unlikely population".

    an output comes more often than from the input that makes it likeliest     count[y] <= n max over x of Q(y|x)
    the unbiased shares do not sum to one                                      E[sum over x of raw[x]] = 1

A device repeats the output it once drew, so where devices have several reports, the tests are of devices, each of which
weighs as much as it has reports, and are no sharper than if all had as many as the one that has most.

They see floods that repeat few outputs and attacks that raise many values at once (maximal gain: Cao, Jia, Gong 2021).
Of unary channels each bit is an output of its own. They do not see forgeries that look like honest people with one
value, which nothing in the counts can tell, nor words of bits forged to have as many ones as an honest one; how far
those reach is the influence. The screen is shown, and never drops a report.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from aggregator.estimate.decoders import Decoder, NotInvertible
from aggregator.estimate.decoders.decoder import Floats, Integers

FALSE_ALARM = 1e-4
"""Probability at most, for each test, that honest reports raise it."""

EVEN = 1e-9
"""Raw shares that sum to one this closely do so by construction, as in randomised response."""


def screen(
    decoder: Decoder, counts: Integers, reports: int, devices: int | None = None, most: int = 1
) -> tuple[str, ...]:
    """What is wrong with the counts, in words; empty where nothing is.

    Where the channel has no unbiased estimate, only the first test is made.

    Args:
        devices: how many sent the reports; None: as many as there are reports.
        most: reports of the device that sent most.
    """
    devices = reports if devices is None else devices
    try:
        unbalanced = _unbalanced(decoder, counts, reports, most)
    except NotInvertible:
        unbalanced = None
    findings = (_repeated(decoder, counts, reports, devices, most), unbalanced)
    return tuple(finding for finding in findings if finding)


def _repeated(decoder: Decoder, counts: Integers, n: int, devices: int, largest: int) -> str | None:
    most = decoder.ceiling
    # Binomial upper tail P(C >= count) = I(count, n - count + 1) at the ceiling; Bonferroni over the features. A device
    # with w of at most W reports spreads no further than one report that comes with w / W of the chance, nor do devices
    # of different chances than devices of their mean chance (Hoeffding 1956).
    frequent = np.flatnonzero((counts > n * most) & (most < 1))
    came, chance = counts[frequent] / largest, most[frequent] * (n / (largest * devices))
    tail = special.betainc(came, devices - came + 1, chance)
    if tail.size == 0 or tail.min() >= FALSE_ALARM / decoder.features:
        return None
    y = int(frequent[np.argmin(tail)])
    expected, count = n * most[y], int(counts[y])
    return (
        f"{'output' if decoder.one_hot else 'bit'} {y} came {count:,} times where honest devices send it "
        f"{math.ceil(expected):,} times at the most: about {(count - expected) / n:.1%} of the reports look forged"
    )


def _unbalanced(decoder: Decoder, counts: Integers, n: int, most: int) -> str | None:
    ones = np.ones(decoder.inputs)
    adds, excess = decoder.adjoint(ones), decoder.intercept(ones) - 1
    # The furthest from 1 that one report's sum can be; bits may all be set, or none.
    furthest = (
        np.abs(adds + excess).max()
        if decoder.one_hot
        else max(excess + adds[adds > 0].sum(), -excess - adds[adds < 0].sum())
    )
    if furthest < EVEN:
        return None
    mean = float(counts @ adds) / n + excess
    # Bernstein's inequality, with the largest variance that any population has: few columns weigh heavily, so the
    # normal law would not do for few reports.
    largest = _largest_variance(decoder, adds)
    doubt = math.log(2 / FALSE_ALARM) * most / n
    linear = float(furthest) * doubt / 3
    limit = linear + math.sqrt(linear**2 + 2 * largest * doubt)
    if abs(mean) <= limit:
        return None
    return (
        f"the unbiased shares sum to {1 + mean:.3f}, where honest reports stay within {limit:.3f} of 1: "
        "some reports look forged"
    )


def _largest_variance(decoder: Decoder, adds: Floats) -> float:
    """At least the variance of one report's sum, whatever its input."""
    if decoder.one_hot:
        return float(decoder.backward((adds - 1) ** 2).max())
    # Every input's sum is one in the mean, and the bits of one report are independent or, in a subset, negatively
    # correlated. A bit that is at most as probable as its ceiling varies most there, or at one half.
    most = np.minimum(decoder.ceiling, 0.5)
    return float(adds**2 @ (most * (1 - most)))
