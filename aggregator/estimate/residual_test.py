"""Residual test, which detects outputs that occurred more often than any distribution of inputs can explain.

Honest outputs are distributed as a mixture of the channel's rows, and a direction that is orthogonal to all rows has
mean zero under every mixture. Among these directions, the projection of y has the most power against forgers who send
only output y. Under the output distribution q of equal shares, this projection is

    w = D^-1 (e_y - R' a),  (R D^-1 R') a = R D^-1 e_y,  D = diag(q),      so R w = 0 and w' D w = w[y]

(the efficient score: Neyman 1959). The statistic of output y is f . w with the mean features f; solving once for f
gives the statistics of all outputs. The solution takes one run of conjugate gradients. Each step multiplies by the
channel and its transpose, and the number of steps is the number of distinct singular values, which is small for
designed channels. If the rows span all directions, as in a channel with an inverse and as many outputs as inputs, no
direction is orthogonal to all rows, and the test finds nothing.

``forgeries`` uses the test.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggregator.families.decoder import Decoder, Floats

STEPS = 30
CONVERGED = 1e-7
"""Conjugate gradients end when the residual falls to this fraction of its first value, or after ``STEPS`` steps."""

ROUNDING = 1e-6
"""A direction that contains less than this fraction of the output itself is a rounding error: some shares explain the
output."""


@dataclass(frozen=True)
class Direction:
    """The direction of one output: the contribution of each report to the test statistic of the output.

    Attributes:
        contributions: (m,) the contribution of a report with each output.
        forged: the contribution of a report with the tested output, not below zero except for rounding.
        mean: the largest mean contribution of honest reports over all shares: zero except for rounding.
        variance: the largest mean square of an honest report's contribution over all inputs.
    """

    contributions: Floats
    forged: float
    mean: float
    variance: float


def scores(decoder: Decoder, mean_features: Floats) -> Floats:
    """Return the statistic of each output, in units of its standard error at equal shares.

    The standard error is right if the direction is nearly the output alone; otherwise it is too large, and the
    statistic too small. The statistics only select the outputs to test.

    Args:
        mean_features: (m,) the relative frequency of each output.
    Returns:
        (m,) the statistics.
    """
    inverse = _inverse(decoder)
    return _beyond(decoder, inverse, mean_features) / np.sqrt(np.where(inverse > 0, inverse, 1))


def direction(decoder: Decoder, y: int) -> Direction:
    """Return the most powerful direction against forgers who send output ``y``."""
    unit = np.zeros(decoder.features)
    unit[y] = 1
    inverse = _inverse(decoder)
    contributions = _beyond(decoder, inverse, unit)
    mean = max(float(np.abs(decoder.backward(contributions)).max()), ROUNDING * float(inverse[y]))
    return Direction(contributions, float(contributions[y]), mean, float(decoder.backward(contributions**2).max()))


def _inverse(decoder: Decoder) -> Floats:
    """Return the diagonal of D^-1, shape (m,); 0 for outputs of probability zero."""
    distribution = decoder.forward(np.full(decoder.input_count, 1 / decoder.input_count))
    return np.divide(1, distribution, out=np.zeros_like(distribution), where=distribution > 0)


def _beyond(decoder: Decoder, inverse: Floats, counts: Floats) -> Floats:
    """Return D^-1 (counts - R' a), with a by weighted least squares, shape (m,).

    Source: Hestenes, Stiefel 1952, on the normal equations.
    """
    explained = np.zeros(decoder.input_count)
    rest = decoder.backward(inverse * counts)
    step, size = rest, float(rest @ rest)
    enough = CONVERGED**2 * size
    for _ in range(STEPS):
        if size <= enough:
            break
        image = decoder.backward(inverse * decoder.forward(step))
        length = size / float(step @ image)
        explained, rest = explained + length * step, rest - length * image
        smaller = float(rest @ rest)
        step, size = rest + smaller / size * step, smaller
    return inverse * (counts - decoder.forward(explained))
