"""Formulas of support channels: their error, and the integer weight outside the support.

From input x, every output in a set S_x is e^eps times as likely as any output outside S_x. From every other input x',
S_x has the same probability. So two probabilities determine the error,

    p* = P(Y in S_x | x),   q* = P(Y in S_x | x'),
    n MSE = sum over x of th (1 - th) / (p* - q*)^2,   th = q* + p[x] (p* - q*)                        (MATH 4.1)

The recipes of projective geometry and subset selection compute this error for every possible geometry or set size, and
choose the smallest. In high-low channels the error also depends on the probability with which other values give the
sensitive outputs. These comparisons use floats, which do not affect privacy: the integers are derived from the rational
lower bound of e^eps, and the outside weight is rounded up.

The decoders of projective geometry and of triples have the same formulas, and differ only in the way in which they sum
over sets.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from aggregator.families.decoder import BinomialSteps, Decoder, Floats, Integers
from aggregator.families.rounding import D, ceil
from protocol.channels.projective.channel import ProjectiveResponse
from protocol.channels.sets.triples import Triples
from protocol.channels.support import ONE
from protocol.exact import exp_lower


def support_error(size: int, p: float, q: float) -> float:
    """Return the expected squared error of one report, summed over ``size`` values, at uniform shares  (MATH 4.1).

    Args:
        p, q: the probabilities p* and q*.
    """
    gap = p - q
    th = q + gap / size
    return size * th * (1 - th) / gap**2


def outside_weight(support: int, others: int, level: int) -> int:
    """Return the least outside weight that satisfies the level and makes rows sum to 2^128.

    Args:
        support, others: the numbers of outputs inside and outside S_x; ``others`` must be 1 modulo ``support``.
        level: the LDP level in nanonats.
    """
    ideal = ceil(D * ONE, exp_lower(level) * support + D * others)
    return ideal + (ONE - ideal) % support


class SupportDecoder(Decoder):
    """Decoder with L[y, x] = ([y in S_x] - q*) / (p* - q*)  (MATH 4.1).

        p* = cs inside,   q* = ci inside + (cs - ci) outside

    S_x has cs outputs, and two such sets have ci in common. From x, an output has the probability ``inside`` if it is
    in S_x, else ``outside``.
    """

    def __init__(self, channel: ProjectiveResponse | Triples, shared: int) -> None:
        """Compute p* and q* of ``channel``; any two of its sets have ``shared`` outputs in common."""
        self.input_count, self.features = channel.input_count, channel.output_count
        unit, only_in_one = 1 << channel.scale, channel.support - shared
        self._likely, self._unlikely = channel.inside / unit, channel.outside / unit
        # These are q* and p* - q*.
        self._other = (shared * channel.inside + only_in_one * channel.outside) / unit
        self._gap = only_in_one * (channel.inside - channel.outside) / unit

    @abstractmethod
    def _over_outputs(self, w: Floats) -> Floats:
        """Return the sum of w[y] over the outputs y of each S_x: from (K,) to (k,)."""

    @abstractmethod
    def _over_inputs(self, v: Floats) -> Floats:
        """Return the sum of v[x] over the inputs x whose S_x contains each output: from (k,) to (K,)."""

    @abstractmethod
    def _count(self, counts: Integers) -> Integers:
        """Return the exact sum of the counts of the outputs of each S_x: from (K,) to (k,)."""

    def forward(self, p: Floats) -> Floats:
        distribution: Floats = self._unlikely * p.sum() + (self._likely - self._unlikely) * self._over_inputs(p)
        return distribution

    def forward_squares(self, p: Floats) -> Floats:
        outside, inside = self._unlikely**2, self._likely**2
        distribution: Floats = outside * p.sum() + (inside - outside) * self._over_inputs(p)
        return distribution

    def backward(self, w: Floats) -> Floats:
        mean: Floats = self._unlikely * w.sum() + (self._likely - self._unlikely) * self._over_outputs(w)
        return mean

    def invert(self, mean_features: Floats) -> Floats:
        raw: Floats = (self._over_outputs(mean_features) - self._other * mean_features.sum()) / self._gap
        return raw

    def adjoint(self, v: Floats) -> Floats:
        adds: Floats = (self._over_inputs(v) - self._other * v.sum()) / self._gap
        return adds

    def variances(self, mean_features: Floats) -> Floats:
        reached, total = self._over_outputs(mean_features), mean_features.sum()
        moment = reached * (1 - self._other) ** 2 + (total - reached) * self._other**2
        raw = reached - self._other * total
        variances: Floats = (moment - raw**2) / self._gap**2
        return variances

    def binomial_steps(self, counts: Integers, reports: int) -> BinomialSteps:
        base = np.full(self.input_count, -self._other / self._gap)
        height = np.full((1, self.input_count), 1 / self._gap)
        return BinomialSteps(base, height, self._count(counts)[np.newaxis], reports)

    @property
    def ceiling(self) -> Floats:
        return np.full(self.features, self._likely)

    @property
    def people_per_report(self) -> float:
        return max(1 - self._other, self._other) / self._gap
