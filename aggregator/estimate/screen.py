"""The screen: signs of reports that no population of honest devices could send.

One idea: both tests hold whatever the true shares are, so an alarm never means "an unlikely population".

    an output comes more often than from the input that makes it likeliest     count[y] <= n max over x of Q(y|x)
    the unbiased shares do not sum to one                                      E[sum over x of raw[x]] = 1

They see floods that repeat few outputs and attacks that raise many values at once (maximal gain: Cao, Jia, Gong 2021).
They do not see forgeries that look like honest people with one value, which nothing in the counts can tell; how far
those reach is the influence. The screen is shown, and never drops a report.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from aggregator.estimate.decoders import Decoder
from aggregator.estimate.decoders.decoder import Integers

FALSE_ALARM = 1e-4
"""Probability at most, for each test, that honest reports raise it."""

EVEN = 1e-9
"""Raw shares that sum to one this closely do so by construction, as in randomised response."""


def screen(decoder: Decoder, counts: Integers) -> tuple[str, ...]:
    """What is wrong with the counts, in words; empty where nothing is.

    Raises:
        NotInvertible
    """
    return tuple(finding for finding in (_repeated(decoder, counts), _unbalanced(decoder, counts)) if finding)


def _repeated(decoder: Decoder, counts: Integers) -> str | None:
    n = int(counts.sum())
    most = decoder.ceiling
    # Binomial upper tail P(C >= count) = I(count, n - count + 1) at the ceiling; Bonferroni over the outputs.
    frequent = np.flatnonzero(counts > n * most)
    tail = special.betainc(counts[frequent], n - counts[frequent] + 1, most[frequent])
    if tail.size == 0 or tail.min() >= FALSE_ALARM / decoder.outputs:
        return None
    y = int(frequent[np.argmin(tail)])
    return (
        f"output {y} came {int(counts[y]):,} times where honest devices send it {math.ceil(n * most[y]):,} times at "
        f"the most: about {(counts[y] - n * most[y]) / n:.1%} of the reports look forged"
    )


def _unbalanced(decoder: Decoder, counts: Integers) -> str | None:
    n = int(counts.sum())
    excess = decoder.adjoint(np.ones(decoder.inputs)) - 1
    if np.abs(excess).max() < EVEN:
        return None
    mean = float(counts @ excess) / n
    # Bernstein's inequality, with the largest variance that any population has: few columns weigh heavily, so the
    # normal law would not do for few reports.
    variance = float(decoder.backward(excess**2).max())
    doubt = math.log(2 / FALSE_ALARM) / n
    linear = float(np.abs(excess).max()) * doubt / 3
    limit = linear + math.sqrt(linear**2 + 2 * variance * doubt)
    if abs(mean) <= limit:
        return None
    return (
        f"the unbiased shares sum to {1 + mean:.3f}, where honest reports stay within {limit:.3f} of 1: "
        "some reports look forged"
    )
