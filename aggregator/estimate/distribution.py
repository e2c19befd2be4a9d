"""Consistent distributions (shares that are not negative and sum to one), and their distance.

Raw estimates are unbiased but may be negative. The projection only uses the constraint that shares form a distribution;
the posterior mean also uses the campaign's prior.

The module ``bayes`` contains empirical Bayes, and ``likelihood`` maximum likelihood.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from aggregator.estimate.shown_inputs import ShownInputs
from aggregator.families.decoder import Decoder, Floats

SMALLEST = 1e-9
"""Weights that differ by at most this fraction of the largest weight are treated as equal. Otherwise, weights below
this fraction are raised to it."""

ALPHA = 0.05
"""Simultaneous intervals of confidence 1 - ALPHA decide which shares are significantly above zero."""


def project(raw: Floats, shown_inputs: ShownInputs | None = None, weights: Floats | None = None) -> Floats:
    """Return the distribution nearest to ``raw``: max(raw - c v, 0), with c such that the sum is one.

    Args:
        raw: (k,) unbiased shares.
        shown_inputs: the inputs whose shares are shown; for item sets the inputs have further constraints
            (``_project_sets``).
        weights: (k,) v, by which squared distances are divided; equal if not given.
    Returns:
        (k,) the distribution.
    Source: for equal weights, the Euclidean projection onto the simplex of Duchi et al. 2008, fig. 1, which is the
    "norm-sub" of Wang et al. 2020.
    """
    if shown_inputs is not None and shown_inputs.factor > 1:
        return _project_sets(raw, shown_inputs)
    v = np.ones_like(raw) if weights is None or _equal(weights) else _positive(weights)
    order = np.argsort(-raw / v, kind="stable")
    c = (np.cumsum(raw[order]) - 1) / np.cumsum(v[order])
    last = np.flatnonzero((raw / v)[order] > c)[-1]
    nearest: Floats = np.maximum(raw - c[last] * v, 0)
    return nearest


def projected_shares(
    decoder: Decoder, raw: Floats, reports: int, prior: Floats | None, shown_inputs: ShownInputs | None = None
) -> Floats:
    """Return the estimate of method "projection": for item sets that of ``project``, otherwise that of
    ``project_unequal``.

    Args:
        decoder: the decoder of the campaign.
        raw: (k,) unbiased shares.
        reports: n, the number of reports.
        prior: (k,) the shares under which the variances are computed; None for equal shares.
        shown_inputs: see ``project``.
    """
    if shown_inputs is not None and shown_inputs.factor > 1:
        return project(raw, shown_inputs)
    reference = np.full(decoder.input_count, 1 / decoder.input_count) if prior is None else prior
    return project_unequal(raw, decoder.variances(decoder.forward(reference)), reports)


def project_unequal(raw: Floats, variances: Floats, reports: int) -> Floats:
    """Return a distribution near shares whose variances differ, in two steps.

    1. The sum becomes one: raw - v (sum raw - 1) / sum v, the correction of least variance for independent errors.
    2. Negative shares become zero, so the sum exceeds one. The excess is subtracted from the other shares in proportion
       to their standard errors. Shares significantly above zero lose only as much as the share with the smallest
       standard error, because the excess comes from noise around zero.

    For equal variances the result is that of ``project``. docs/MECHANISMS.md compares the squared errors.

    Args:
        raw: (k,) unbiased shares.
        variances: (k,) v, the variances of one report. They must not be estimated from the same reports: large shares
            have larger variances and would be biased downwards.
        reports: n, the number of reports.
    Returns:
        (k,) the distribution.
    """
    if _equal(variances):
        return project(raw)
    v = _positive(variances)
    corrected = raw - v * (raw.sum() - 1) / v.sum()
    se = np.sqrt(v / reports)
    significant = corrected > NormalDist().inv_cdf(1 - ALPHA / (2 * len(raw))) * se
    return project(corrected, weights=np.where(significant, se.min(), se))


def _equal(weights: Floats) -> bool:
    return bool(np.ptp(weights) <= SMALLEST * weights.max())


def _positive(weights: Floats) -> Floats:
    positive: Floats = np.maximum(weights, SMALLEST * weights.max())
    return positive


def _project_sets(raw: Floats, shown_inputs: ShownInputs) -> Floats:
    """Return the distribution of sampled items that is nearest to ``raw`` among the distributions that item sets can
    produce.

    A person reports each item with probability at most 1 / l, and all dummies have the same probability:

        p[x] = min(max(raw[x] - c, 0), 1 / l)  of items,      max(mean raw of the dummies - c, 0)  of each dummy,

    with c such that p sums to one. So l p[x] lies in 0 .. 1, and the shares of all items sum to l at most.

    Args:
        raw: (m + l,) unbiased shares of the inputs.
        shown_inputs: the m items and the padding l.
    """
    ceiling = 1 / shown_inputs.factor
    items, dummies = raw[: shown_inputs.count], raw[shown_inputs.count :]
    level = float(dummies.mean())

    def shares_at(c: float) -> Floats:
        of_dummies = np.full(len(dummies), max(level - c, 0.0))
        return np.concatenate([np.clip(items - c, 0, ceiling), of_dummies])

    # The sum decreases in c. It is linear between these points, where an input reaches 0 or 1 / l.
    ends = np.unique(np.concatenate([items, items - ceiling, [level, min(level, items.min()) - 1]]))
    first, past = 0, len(ends) - 1
    while past - first > 1:
        middle = (first + past) // 2
        first, past = (middle, past) if shares_at(ends[middle]).sum() > 1 else (first, middle)
    above, below = shares_at(ends[first]), shares_at(ends[past])
    part = (above.sum() - 1) / (above.sum() - below.sum())
    nearest: Floats = above + part * (below - above)
    return nearest


def posterior_mean(decoder: Decoder, mean_features: Floats, prior: Floats) -> Floats:
    """Return the mean posterior over all reports: the MMSE estimate if the prior is right.

        p[x] = sum over y of mean_features[y] P[x] Q(y|x) / P(y)    (Jiang, Li, Tandon 2020, sec. III; MATH 2.9)

    The estimate is exactly one step of expectation maximisation from the prior, so the bias of a wrong prior remains
    for any number of reports.

    Args:
        mean_features: (m,) the relative frequency of each output.
        prior: (k,) the campaign's prior.
    Returns:
        (k,) the shares.
    """
    marginal = decoder.forward(prior)
    possible = marginal > 0
    posterior: Floats = prior * decoder.backward(
        np.divide(mean_features, marginal, out=np.zeros_like(mean_features), where=possible)
    )
    posterior /= posterior.sum()
    return posterior


def total_variation(p: Floats, q: Floats) -> float:
    """Return the total-variation distance: half the sum of absolute differences. It is the smallest share of people
    whose value must change to turn p into q."""
    return float(np.abs(p - q).sum() / 2)
