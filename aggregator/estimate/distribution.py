"""Consistent distributions: shares that are not negative and sum to one.

One idea: raw estimates are unbiased but may be negative; what they lack is something known beforehand. The projection
knows only that shares form a distribution, the posterior mean knows the campaign's prior.

What is learnt from all values together is in ``bayes``, what the reports make most likely in ``likelihood``.
"""

from __future__ import annotations

import numpy as np

from aggregator.estimate.decoders import Decoder
from aggregator.estimate.decoders.decoder import Floats


def project(raw: Floats) -> Floats:
    """The distribution nearest to ``raw``: max(raw - c, 0), with c such that it sums to one.

    Source: Euclidean projection onto the simplex, Duchi et al. 2008, fig. 1; the "norm-sub" of Wang et al. 2020.
    """
    descending = np.sort(raw)[::-1]
    surplus = (np.cumsum(descending) - 1) / np.arange(1, len(raw) + 1)
    kept = np.flatnonzero(descending > surplus)[-1]
    nearest: Floats = np.maximum(raw - surplus[kept], 0)
    return nearest


def posterior_mean(decoder: Decoder, share: Floats, prior: Floats) -> Floats:
    """The mean, over the reports, of each person's posterior: the MMSE estimate if the prior is right.

        p[x] = sum over y of share[y] P[x] Q(y|x) / P(y)             (Jiang, Li, Tandon 2020, sec. III; MATH 2.9)

    It is exactly one step of expectation maximisation from the prior, so where the prior is wrong it stays wrong,
    however many report.
    """
    marginal = decoder.forward(prior)
    seen = marginal > 0
    posterior: Floats = prior * decoder.backward(np.divide(share, marginal, out=np.zeros_like(share), where=seen))
    posterior /= posterior.sum()
    return posterior
