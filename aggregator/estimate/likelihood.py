"""Maximum likelihood: the distribution that makes the reports most likely, with or without a prior.

The log-likelihood is concave in the shares, so its gradient bounds the distance from the maximum. With
the mean features f, g = backward(f / forward(p)) and a prior P with the weight of s n reports, the objective per
report and its gap are

    F(p) = f . ln forward(p) + s P . ln p,      F(best) - F(p) <= max over x of (g[x] + s P[x] / p[x]) - (1 + s)

(Kiefer, Wolfowitz 1956; for s = 0 Lindsay 1983). A step of expectation maximisation replaces p[x] by (g[x] p[x] + s
P[x]) / (1 + s). Two such steps and the curvature between them give a longer step (SQUAREM: Varadhan, Roland 2008). The
iteration ends when the log-likelihood is within a fraction of a nat of its maximum, a difference that the reports
cannot detect.

Maximum likelihood needs no inverse of the channel. Without an inverse, the Fisher information shows which values the
reports distinguish.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aggregator.families.decoder import Decoder, Floats

CONVERGED_NATS = 0.5
"""The fit has converged if the log-likelihood of all reports is within this many nats of its maximum."""

SLACK = 1e-4
"""A longer step may lose this fraction of ``CONVERGED_NATS``: near the maximum, rounding hides which of two steps is
better."""

MAX_EM_STEPS = 1500
"""The largest number of steps of expectation maximisation; a round takes up to three steps."""

PRIOR_REPORTS = 0.01
"""The weight of the prior in ``posterior_mode`` (MATH 2.9), as a fraction of the number of reports."""

MIN_START = 0.1
"""The fraction of the starting point that is spread evenly, because a share of zero would stay zero."""

MIN_STEP = 0.1
"""An accelerated step keeps each share at or above this fraction of its value after the plain step."""

MAX_MATRIX_CELLS = 2**20
"""The largest number of cells of the matrix in ``identified_values``."""

LOST = 1e-9
"""A direction with less than this fraction of the largest Fisher information is treated as not observable."""


@dataclass(frozen=True)
class Fit:
    """A distribution, and the distance of its log-likelihood from the maximum.

    Attributes:
        share: (k,) the distribution.
        gap: an upper bound on the distance of the log-likelihood of all reports (and the prior) from its maximum, nats.
        steps: the number of steps of expectation maximisation.
    """

    share: Floats
    gap: float
    steps: int

    @property
    def converged(self) -> bool:
        """True if the gap is too small for the reports to detect it."""
        return self.gap <= CONVERGED_NATS


def em(decoder: Decoder, mean_features: Floats, reports: int, start: Floats) -> Fit:
    """Return the maximum-likelihood distribution of the reports, by expectation maximisation.

    If several distributions are equally likely, the result depends on ``start``.

    Args:
        decoder: the decoder of a channel whose outputs are counted one by one.
        mean_features: (m,) the relative frequency of each output.
        reports: n, the number of reports.
        start: (k,) a distribution; the search is faster if this distribution is near the result.
    Raises:
        ValueError: reports are counted bit by bit.
    """
    return _ascend(decoder, mean_features, reports, start, np.zeros(decoder.input_count), MAX_EM_STEPS)


def posterior_mode(
    decoder: Decoder, mean_features: Floats, reports: int, prior: Floats, *, steps: int = MAX_EM_STEPS
) -> Fit:
    """Return the posterior mode of the distribution under a Dirichlet prior centred at ``prior`` (MATH 2.9).

    The prior has the weight of ``PRIOR_REPORTS`` reports for each report. Unlike the posterior mean, the mode moves
    away from a wrong prior where the reports contradict it.

    Args:
        decoder, mean_features, reports: see ``em``.
        prior: (k,) a distribution, which is the starting point too.
        steps: the largest number of steps.
    Raises:
        ValueError: reports are counted bit by bit.
    """
    return _ascend(decoder, mean_features, reports, prior, PRIOR_REPORTS * prior, steps)


def _ascend(decoder: Decoder, mean_features: Floats, reports: int, start: Floats, pull: Floats, steps: int) -> Fit:
    """Return the distribution with the largest objective F of the module's formula; ``pull`` is s P, shape (k,)."""
    if not decoder.one_hot:
        raise ValueError(
            "a likelihood needs counts of whole outputs, and here bits are counted one by one: check ``one_hot`` first"
        )
    total = 1 + pull.sum()
    observed = mean_features > 0
    slack = SLACK * CONVERGED_NATS / reports

    def evaluate(p: Floats) -> tuple[float, float, Floats]:
        """Return the objective at ``p``, its gap, and the next step of expectation maximisation."""
        distribution = decoder.forward(p)
        if (distribution[observed] <= 0).any():
            return -math.inf, math.inf, p
        slope = decoder.backward(
            np.divide(mean_features, distribution, out=np.zeros_like(mean_features), where=observed)
        )
        # No step takes p below pull / total, so p is positive wherever pull is.
        value = mean_features[observed] @ np.log(distribution[observed]) + pull[pull > 0] @ np.log(p[pull > 0])
        slope = slope + np.divide(pull, p, out=np.zeros_like(p), where=pull > 0)
        step = p * slope
        return float(value), float(slope.max() - total), step / step.sum()

    p = (1 - MIN_START) * start + MIN_START / decoder.input_count
    _, gap, first = evaluate(p)
    evaluations = 1
    while gap * reports > CONVERGED_NATS and evaluations < steps:
        second_value, second_gap, second = evaluate(first)
        if second_gap * reports <= CONVERGED_NATS:
            return Fit(first, second_gap * reports, evaluations + 1)
        far = _extrapolate(p, first, second)
        far_value, far_gap, after = evaluate(far)
        evaluations += 2
        if far_value >= second_value - slack:
            p, gap, first = far, far_gap, after
        else:
            p = second
            _, gap, first = evaluate(second)
            evaluations += 1
    return Fit(p, max(gap, 0.0) * reports, evaluations)


def _extrapolate(p: Floats, first: Floats, second: Floats) -> Floats:
    """Return the squared step of SQUAREM (scheme S3), with positive shares that sum to one."""
    step, bend = first - p, second - 2 * first + p
    curvature = float(np.linalg.norm(bend))
    length = max(1.0, float(np.linalg.norm(step)) / curvature) if curvature > 0 else 1.0
    far = p + 2 * length * step + length**2 * bend
    far = np.maximum(far, MIN_STEP * second)
    far /= far.sum()
    return far


@dataclass(frozen=True)
class IdentifiedValues:
    """Estimates of the values that a channel without an inverse distinguishes.

    Attributes:
        raw: (k,) the estimate of each value that is distinguished from all others; NaN for other values. It is unbiased
            except that its weights are estimated from the same reports.
        variance: (k,) the variance of one report's contribution to ``raw``; NaN where ``raw`` is NaN.
        people_per_report: the largest number of people that one report counts for in any estimate; NaN if no value is
            distinguished.
    """

    raw: Floats
    variance: Floats
    people_per_report: float

    @property
    def identified(self) -> NDArray[np.bool_]:
        """True for each value that the channel distinguishes from all others, shape (k,)."""
        return ~np.isnan(self.raw)


def identified_values(decoder: Decoder, mean_features: Floats, p: Floats) -> IdentifiedValues:
    """Return estimates of the values that a channel without an inverse distinguishes from all others.

        F = Q D^-1 Q',  L = D^-1 Q' F^+,  D = diag(forward(p)),
        raw = mean_features L,  variance = mean_features L^2 - raw^2      (L^2 cell by cell)

    F is the Fisher information of one report at ``p``. A value x is identified if its unit vector lies in the range of
    F; otherwise different shares of x give the same output distribution, and x has no estimate. The estimate is one
    step of Fisher scoring from ``p``. It is asymptotically as good as maximum likelihood and, unlike maximum
    likelihood, not biased by shares of zero.

    Args:
        decoder: the decoder of the channel.
        mean_features: (m,) the relative frequency of each output.
        p: (k,) the shares at which outputs are weighted, such as the maximum-likelihood shares.
    Raises:
        ValueError: the channel has more than ``MAX_MATRIX_CELLS`` cells.
    """
    if decoder.input_count * decoder.features > MAX_MATRIX_CELLS:
        raise ValueError(
            f"the channel's matrix has {decoder.input_count * decoder.features:,} cells; at most {MAX_MATRIX_CELLS:,} "
            "are inverted: use ``em`` alone"
        )
    channel = np.array([decoder.forward(unit) for unit in np.eye(decoder.input_count)])
    distribution = p @ channel
    possible = distribution > 0
    scaled = channel[:, possible] / np.sqrt(distribution[possible])
    left, singular, right = np.linalg.svd(scaled, full_matrices=False)
    rank = int(np.count_nonzero(singular > math.sqrt(LOST) * singular[0]))
    left, singular, right = left[:, :rank], singular[:rank], right[:rank]
    # This is D^-1 Q' F^+, of the shape (possible outputs, k).
    inverse = (right.T / singular) @ left.T / np.sqrt(distribution[possible])[:, np.newaxis]
    # A value is identified if the projection of its unit vector has the length 1.
    identified = np.abs((left**2).sum(axis=1) - 1) < math.sqrt(LOST)
    raw = mean_features[possible] @ inverse
    variance = np.maximum(mean_features[possible] @ inverse**2 - raw**2, 0)
    weight = float(np.abs(inverse[:, identified]).max()) if identified.any() else math.nan
    return IdentifiedValues(np.where(identified, raw, np.nan), np.where(identified, variance, np.nan), weight)
