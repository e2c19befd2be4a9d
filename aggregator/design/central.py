"""A trusted server for comparison: the error that centralised information privacy could allow.

One idea: a server that holds everybody's bit and publishes one number is asked only that the number tell little of any
one person. The best it can do is not known in closed form; it lies between a bound, from the laws of total variance and
expectation, and a rule that is known to be allowed. Both are yardsticks beside local mechanisms; no campaign runs them.

Source: Jiang, Li, Tandon (long version), sec. VI-D, Def. 4, Theorem 6 and Prop. 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from protocol import exact


@dataclass(frozen=True)
class Central:
    """What a sum of n bits, published by a trusted server, may tell.

    Attributes:
        low, high: every estimate E[S|Y] lies between these.
        mse: no mechanism has a smaller E[(S - E[S|Y])^2].
        reached: an allowed rule has this one; the smaller of ``merged_mse`` and ``local_mse``.
        silent: the same error when nothing is published, n p (1 - p).
    """

    low: float
    high: float
    mse: float
    reached: float
    silent: float


def central(people: int, share: float, level: int) -> Central:
    """The bound of Prop. 5 on the error of a sum of ``people`` independent bits of ``share`` ones.

    For each person, e^-eps <= P(X_i) / P(X_i|y) <= e^eps for both values; added up over the people, S' = E[S|Y] lies in

        max(e^-eps n p, n - e^eps n (1 - p)) <= S' <= min(e^eps n p, n - e^-eps n (1 - p))

    (the paper states e^-eps n p <= S' <= n - e^-eps n (1 - p), which is looser for a share far from 1/2). A variable of
    mean n p between low and high has variance at most (n p - low) (high - n p), and

        E[(S - S')^2] = Var S - Var S' >= n p (1 - p) - (n p - low) (high - n p),

    but never below 0. Prop. 5's program has more constraints than these: this is a lower bound of its optimum.

    Args:
        people: n, at least 1.
        share: p, in (0, 1).
        level: nanonats.
    """
    if people < 1 or not 0 < share < 1:
        raise ValueError("a sum is of one person's bit or more, whose share of ones is between 0 and 1")
    odds = math.exp(exact.nats(level))
    mean = people * share
    low = max(mean / odds, people - odds * (people - mean))
    high = min(mean * odds, people - (people - mean) / odds)
    silent = mean * (1 - share)
    reached = min(merged_mse(people, share, low, high), people * local_mse(share, level))
    return Central(low, high, max(0.0, silent - (mean - low) * (high - mean)), reached, silent)


def merged_mse(people: int, share: float, low: float, high: float) -> float:
    """The error of a server that publishes the sum, but for its extremes, which it does not tell apart.

    Given a set of sums, every person has a one with probability E[S | the set] / n. So the least sums are published as
    one, as few as make their mean at least ``low``, and the largest as one whose mean is at most ``high``.
    """
    sums = np.arange(people + 1)
    law = stats.binom.pmf(sums, people, share)
    mass, first, second = (np.cumsum(law * sums**power) for power in range(3))
    below = int(np.argmax((first >= low * mass) & (mass > 0)))
    rest, rest_first, rest_second = (np.cumsum((law * sums**power)[::-1])[::-1] for power in range(3))
    above = people - int(np.argmax(((rest_first <= high * rest) & (rest > 0))[::-1]))
    if below >= above:
        return people * share * (1 - share)
    lower = second[below] - first[below] ** 2 / mass[below]
    upper = rest_second[above] - rest_first[above] ** 2 / rest[above]
    return float(max(lower, 0.0) + max(upper, 0.0))


def local_mse(share: float, level: int) -> float:
    """The error of one bit under the best binary LIP mechanism, which is allowed to a server too (Theorem 6).

        p q (2 a - a^2) for p >= 1 / (e^eps + 1), else p q - p^2 (e^eps - 1) (1 - a)             (MATH 2.3)

    with p the rarer value's share, q = 1 - p, a = e^-eps.
    """
    odds = math.exp(exact.nats(level))
    rare = min(share, 1 - share)
    if rare >= 1 / (odds + 1):
        return rare * (1 - rare) * (2 - 1 / odds) / odds
    return rare * (1 - rare) - rare**2 * (odds - 1) * (1 - 1 / odds)
