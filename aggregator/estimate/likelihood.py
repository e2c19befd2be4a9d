"""Maximum likelihood: the distribution that makes the reports most likely, with or without a prior.

The log-likelihood is concave in the shares, so its slope bounds what is left to gain. With g = backward(share /
forward(p)) and s reports of prior P for each report, the objective per report and its gap are

    F(p) = share . ln forward(p) + s P . ln p,      F(best) - F(p) <= max over x of (g[x] + s P[x] / p[x]) - (1 + s)

(Kiefer, Wolfowitz 1956; for s = 0 Lindsay 1983). A step of expectation maximisation is p[x] (g[x] + s P[x] / p[x]) /
(1 + s); two steps and the curvature between them make a longer one (SQUAREM: Varadhan, Roland 2008). It ends when the
log-likelihoods of the distribution and of the best one differ by a fraction of a nat, which the reports cannot detect.

It works where a channel has no inverse. There the Fisher information says which values the reports tell apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aggregator.families.decoder import Decoder, Floats

NATS = 0.5
"""The fit has settled where no distribution has a log-likelihood, of all reports together, this much higher."""

SLACK = 1e-4
"""A longer step may lose this part of it: near the end, rounding hides which of two is better."""

MAX_STEPS = 1500
"""Steps of expectation maximisation; three make a round."""

PRIOR_REPORTS = 0.01
"""The prior counts for this many reports per report in ``posterior_mode``; 0.01 and 0.001 were tried (MATH 2.9)."""

LEAST_START = 0.1
"""Part of the start that is spread evenly: a share of zero would stay zero."""

LEAST_STEP = 0.1
"""A longer step takes no share below this part of what the plain step left of it."""

MOST_CELLS = 2**20
"""Of the matrix that ``identified_values`` writes down."""

LOST = 1e-9
"""Below this part of the largest information, a direction is not seen at all."""


@dataclass(frozen=True)
class Fit:
    """A distribution, and its distance from the maximum likelihood.

    Attributes:
        share: (k,) the distribution.
        gap: nats, at most; the most that the log-likelihood of all reports (and the prior's) can be above.
        steps: of expectation maximisation.
    """

    share: Floats
    gap: float
    steps: int

    @property
    def settled(self) -> bool:
        """Whether the gap is too small to be detected."""
        return self.gap <= NATS


def em(decoder: Decoder, share: Floats, reports: int, start: Floats, *, steps: int = MAX_STEPS) -> Fit:
    """Return the maximum-likelihood distribution of the reports, by expectation maximisation.

    If several distributions are equally likely, the result depends on ``start``.

    Args:
        share: (m,) how often each output came, over the reports.
        reports: n.
        start: (k,) a distribution; near the answer is faster.
    """
    return _ascend(decoder, share, reports, start, np.zeros(decoder.inputs), steps)


def posterior_mode(decoder: Decoder, share: Floats, reports: int, prior: Floats, *, steps: int = MAX_STEPS) -> Fit:
    """The most probable distribution, if people are drawn from one that is Dirichlet around the prior   (MATH 2.9).

    The prior has the weight of ``PRIOR_REPORTS`` reports for each report. Unlike the posterior mean, the mode moves
    away from a wrong prior where the reports contradict it.

    Args:
        share, reports: as in ``em``.
        prior: (k,) a distribution, where the search starts as well.
    """
    return _ascend(decoder, share, reports, prior, PRIOR_REPORTS * prior, steps)


def _ascend(decoder: Decoder, share: Floats, reports: int, start: Floats, pull: Floats, steps: int) -> Fit:
    """Args: pull: (k,) s P."""
    if not decoder.one_hot:
        raise ValueError("a likelihood needs how often each output came, and bits are counted one by one")
    whole = 1 + pull.sum()
    seen = share > 0
    slack = SLACK * NATS / reports

    def climb(p: Floats) -> tuple[float, float, Floats]:
        """The objective at ``p``, its gap, and the next step of expectation maximisation."""
        law = decoder.forward(p)
        if (law[seen] <= 0).any():
            return -math.inf, math.inf, p
        slope = decoder.backward(np.divide(share, law, out=np.zeros_like(share), where=seen))
        # p is positive wherever pull is, since a step never takes it below pull / whole.
        value = share[seen] @ np.log(law[seen]) + pull[pull > 0] @ np.log(p[pull > 0])
        slope = slope + np.divide(pull, p, out=np.zeros_like(p), where=pull > 0)
        step = p * slope
        return float(value), float(slope.max() - whole), step / step.sum()

    p = (1 - LEAST_START) * start + LEAST_START / decoder.inputs
    _, gap, first = climb(p)
    taken = 1
    while gap * reports > NATS and taken < steps:
        second_value, second_gap, second = climb(first)
        if second_gap * reports <= NATS:
            return Fit(first, second_gap * reports, taken + 1)
        far = _extrapolate(p, first, second)
        far_value, far_gap, after = climb(far)
        taken += 2
        if far_value >= second_value - slack:
            p, gap, first = far, far_gap, after
        else:
            p = second
            _, gap, first = climb(second)
            taken += 1
    return Fit(p, max(gap, 0.0) * reports, taken)


def _extrapolate(p: Floats, first: Floats, second: Floats) -> Floats:
    """The squared step of SQUAREM (scheme S3), with every share positive and their sum one."""
    step, bend = first - p, second - 2 * first + p
    curvature = float(np.linalg.norm(bend))
    length = max(1.0, float(np.linalg.norm(step)) / curvature) if curvature > 0 else 1.0
    far = p + 2 * length * step + length**2 * bend
    far = np.maximum(far, LEAST_STEP * second)
    far /= far.sum()
    return far


@dataclass(frozen=True)
class Partial:
    """Estimates of the values that a channel without an inverse distinguishes.

    Attributes:
        raw: (k,) the estimate of each value that the reports tell from all others, unbiased but for the weights'
            being learnt from the same reports; NaN for every other value.
        variance: (k,) of what one report adds to it; NaN where raw is.
        weight: the most people one report counts for in any of them; NaN where there is none.
    """

    raw: Floats
    variance: Floats
    weight: float

    @property
    def identified(self) -> NDArray[np.bool_]:
        """(k,) bool: which values the channel distinguishes from all others."""
        identified: NDArray[np.bool_] = ~np.isnan(self.raw)
        return identified


def identified_values(decoder: Decoder, share: Floats, p: Floats) -> Partial:
    """Return estimates of the values that a channel without an inverse distinguishes from all others.

        F = Q D^-1 Q',  raw = share D^-1 Q' F^+,  variance = diag(F^+) - p^2,  D = diag(forward(p))

    F is the Fisher information of one report at ``p``. A value x is identified if its unit vector lies in the
    range of F; elsewhere other shares would give the same reports, and there is no estimate. It is one step of Fisher
    scoring from ``p``, which is asymptotically as good as maximum likelihood and, unlike it, not biased by shares of
    zero.

    Args:
        share: (m,) how often each output came, over the reports.
        p: (k,) the shares to weigh outputs by, such as the most likely ones.
    """
    if decoder.inputs * decoder.features > MOST_CELLS:
        raise ValueError(f"a matrix of more than {MOST_CELLS} cells is not written down")
    channel = np.array([decoder.forward(unit) for unit in np.eye(decoder.inputs)])
    law = p @ channel
    seen = law > 0
    scaled = channel[:, seen] / np.sqrt(law[seen])
    left, singular, right = np.linalg.svd(scaled, full_matrices=False)
    rank = int(np.count_nonzero(singular > math.sqrt(LOST) * singular[0]))
    left, singular, right = left[:, :rank], singular[:rank], right[:rank]
    inverse = (right.T / singular) @ left.T / np.sqrt(law[seen])[:, np.newaxis]  # (seen, k): D^-1 Q' F^+
    identified = np.abs((left**2).sum(axis=1) - 1) < math.sqrt(LOST)  # |projection of the unit vector|^2 = 1
    raw = share[seen] @ inverse
    variance = np.maximum(share[seen] @ inverse**2 - raw**2, 0)
    weight = float(np.abs(inverse[:, identified]).max()) if identified.any() else math.nan
    return Partial(np.where(identified, raw, np.nan), np.where(identified, variance, np.nan), weight)
