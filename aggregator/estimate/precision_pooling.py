"""Estimates of classes of people that are assumed to have the same shares.

Classes with different levels have different precision. If all classes have the same shares, the best unbiased
combination of the classes' estimates weights each class by its precision:

    raw = sum over classes of w_c raw_c,    w_c proportional to n_c / V_c

V_c is the variance of one report of the class, summed over the values, at equal shares or the prior of the class. So
V_c is known before any report, and never estimated from the same reports. If the shares of the classes differ, the
result is not the distribution of any population. So this method must be requested, the assumption is tested, and the
method is refused if the test finds a difference.

``classes`` estimates without this assumption.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from aggregator.estimate.classes import ClassesDecoder
from aggregator.estimate.reweighted import ReweightedDecoder
from aggregator.families.decoder import Decoder, Floats
from protocol.errors import HalftruthError

ALPHA = 0.05
"""Significance level of the test for different shares of the classes."""


class PoolingRefused(HalftruthError, ValueError):
    """The classes of a campaign cannot be pooled as if they had the same shares."""


class PrecisionDecoder(ReweightedDecoder):
    """A ``ClassesDecoder`` for classes with the same shares, which weights each class by its precision."""

    def __init__(self, decoders: Sequence[Decoder], members: Floats, priors: Floats | None) -> None:
        even = np.full(decoders[0].input_count, 1 / decoders[0].input_count)
        distributions = [even] * len(decoders) if priors is None else list(priors)
        variances = [
            decoder.variances(decoder.forward(distribution)).sum()
            for decoder, distribution in zip(decoders, distributions, strict=True)
        ]
        precision = members / np.array(variances)
        super().__init__(decoders, members, priors, precision / precision.sum())

    def p_value(self, mean_features: Floats, reports: int) -> float:
        """Return an upper bound on the p-value of the hypothesis that all classes have the same shares.

        The bound is the normal tail of the largest difference between a class and the pooled estimate, times the number
        of comparisons (Bonferroni).

        Args:
            mean_features: (m,) the relative frequency of each output.
            reports: n, the number of reports.
        """
        pooled = self.invert(mean_features)
        distribution = np.maximum(pooled, 0) / np.maximum(pooled, 0).sum()
        estimates = []
        for decoder, part, member in zip(self.decoders, np.split(mean_features, self._cuts), self.members, strict=True):
            if member:
                estimates.append(
                    (decoder.invert(part / member), decoder.variances(decoder.forward(distribution)) / member)
                )
        alone, variances = (np.array(column) for column in zip(*estimates, strict=True))
        weights = self.weights[self.members > 0, np.newaxis]
        pooled_variance = (weights**2 * variances).sum(axis=0)
        apart = np.maximum((1 - 2 * weights) * variances + pooled_variance, 0) / reports
        size = np.divide(np.abs(alone - pooled), np.sqrt(apart), out=np.zeros_like(alone), where=apart > 0)
        # Two classes differ equally from the pooled estimate, in standard errors, so each value is one comparison.
        comparisons = size.size // 2 if len(alone) == 2 else size.size
        tail = float(special.ndtr(-size.max()))
        return float(min(1.0, comparisons * 2 * tail))


def precision_pooled(decoder: Decoder, mean_features: Floats, reports: int, *, dependent: bool) -> PrecisionDecoder:
    """Return the decoder that assumes that all classes have the same shares.

    Args:
        decoder: the decoder of the campaign.
        mean_features: (m,) the relative frequency of each output.
        reports: n, the number of reports.
        dependent: whether a device has several reports.
    Raises:
        PoolingRefused: the campaign has no classes, the classes differ, or the difference cannot be tested.
    """
    if not isinstance(decoder, ClassesDecoder):
        raise PoolingRefused("pooling by precision needs classes, and this campaign has none: use --pool equal")
    if not decoder.by_value:
        raise PoolingRefused(
            "pooling by precision needs estimates of single values, which the wave mechanism does not give: use "
            "--pool equal, or --where class=NAME for one class"
        )
    if dependent:
        raise PoolingRefused(
            "pooling by precision needs one report from each device, and here devices have several: select one "
            "--period, or use --pool equal"
        )
    pooled = PrecisionDecoder(decoder.decoders, decoder.members, decoder.priors)
    p = pooled.p_value(mean_features, reports)
    if p < ALPHA:
        raise PoolingRefused(
            f"the classes have different shares (p = {max(p, 1e-6):.2g} at most): an average weighted by precision "
            "would not be the distribution of any population. Use --pool equal, or --where class=NAME for one class"
        )
    return pooled


def expected_errors(decoders: Sequence[Decoder]) -> tuple[float, float]:
    """Return the root mean square standard errors of a share from one report, for both ways to pool classes. All values
    and classes are assumed to be equally frequent.

    Returns:
        the errors of pooling "equal" (each class counts for its number of reports) and of pooling by precision, each
        the root mean square over the values; divide by sqrt(n) for n reports.
    Raises:
        NotInvertible: no unbiased estimate exists.
    """
    members = np.full(len(decoders), 1 / len(decoders))
    even = np.full(decoders[0].input_count, 1 / decoders[0].input_count)
    equal, by_precision = (
        decoder_class(decoders, members, None) for decoder_class in (ClassesDecoder, PrecisionDecoder)
    )
    distribution = equal.forward(even)
    return (
        math.sqrt(float(equal.variances(distribution).mean())),
        math.sqrt(float(by_precision.variances(distribution).mean())),
    )
