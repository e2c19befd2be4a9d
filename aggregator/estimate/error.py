"""The error to expect, before anybody has answered.

One idea: the variance of a linear estimate follows from the law of its features, so the exact expected error needs one
pass through the channel and no simulation. Authors choose channels by it; the audit prints it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aggregator.estimate.decoders import decoder_of
from aggregator.estimate.decoders.decoder import Floats
from protocol import exact
from protocol.channels import Channel


def expected_mse(channel: Channel, p: Sequence[float] | Floats | None = None) -> float:
    """Expected squared error of the raw estimate of one report, summed over the values; n reports have 1/n of it.

        sum over x of the variance of what one report adds to raw[x], under p                         (MATH 4.1)

    Args:
        p: the true shares; uniform where not given.
    Raises:
        NotInvertible
    """
    share = np.full(channel.inputs, 1 / channel.inputs) if p is None else np.asarray(p, dtype=np.float64)
    decoder = decoder_of(channel)
    return float(decoder.variances(decoder.forward(share)).sum())


def lip_mse(channel: Channel, prior: Sequence[int]) -> float:
    """Expected squared error of one person's posterior as an estimate of their histogram, under the prior.

        1 - sum over y of sum over x of (P[x] Q(y|x))^2 / P(y)                                        (MATH 2.1)

    For two values this is twice the error of either coordinate, which is what Jiang, Li, Tandon 2020 plot.

    Args:
        prior: positive integers; P[x] = prior[x] / sum(prior).
    """
    decoder = decoder_of(channel)
    law = np.asarray(prior, dtype=np.float64) / sum(prior)
    marginal = decoder.forward(law)
    gained = np.divide(decoder.forward_squares(law**2), marginal, out=np.zeros_like(marginal), where=marginal > 0)
    return float(1 - gained.sum())


def prior_mse(prior: Sequence[int]) -> float:
    """The same without any report: 1 - sum over x of P[x]^2."""
    total = sum(prior)
    return 1 - math.fsum((weight / total) ** 2 for weight in prior)


def lip_mse_bound(level: int, prior: Sequence[int]) -> float:
    """No channel within ``level`` of LIP has a smaller ``lip_mse``. It is not always reached.

        1 - sum over x of P[x]^2 (1 + (u[x] - 1) (1 - l[x])),
        u[x] = min(b, (1 - a (1 - P[x])) / P[x]),   l[x] = max(a, (1 - b (1 - P[x])) / P[x]),
        b = e^level, a = e^-level                                                                     (MATH 2.2)

    Args:
        level: nanonats.
        prior: positive integers.
    """
    b = math.exp(exact.nats(level))
    a = 1 / b
    law = np.asarray(prior, dtype=np.float64) / sum(prior)
    most = np.minimum(b, (1 - a * (1 - law)) / law)
    least = np.maximum(a, (1 - b * (1 - law)) / law)
    return float(1 - (law**2 * (1 + (most - 1) * (1 - least))).sum())
