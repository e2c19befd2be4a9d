"""Formulas of support schemes: their error, and the integer weight outside the support.

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
from protocol.channels.projective.channel import ProjectiveGeometry
from protocol.channels.sets.triples import Triples
from protocol.exact import exp_lower


def support_error(size: int, inside: float, outside: float) -> float:
    """Return the expected squared error of one report, summed over ``size`` values, at uniform shares  (MATH 4.1).

    Args:
        inside, outside: the probabilities p* and q*.
    """
    gap = inside - outside
    th = outside + gap / size
    return size * th * (1 - th) / gap**2


def outside_weight(one: int, having: int, lacking: int, level: int) -> int:
    """Return the least outside weight that satisfies the level and makes rows sum to ``one``. ``lacking`` must be 1
    modulo ``having``."""
    ideal = ceil(D * one, exp_lower(level) * having + D * lacking)
    return ideal + (one - ideal) % having


class SupportDecoder(Decoder):
    """Decoder with L[y, x] = ([y in S_x] - q*) / (p* - q*), p* = cs inside, q* = ci inside + (cs - ci) outside (MATH
    4.1)."""

    def __init__(self, channel: ProjectiveGeometry | Triples, shared: int) -> None:
        """Compute p* and q* of ``channel``; any two of its sets have ``shared`` outputs in common."""
        self.inputs, self.features = channel.inputs, channel.outputs
        one, far = 1 << channel.scale, channel.support - shared  # number of outputs in S_x and not in S_x'
        self._likely, self._unlikely = channel.inside / one, channel.outside / one
        # These are q* and p* - q*.
        self._outside = (shared * channel.inside + far * channel.outside) / one
        self._gap = far * (channel.inside - channel.outside) / one

    @abstractmethod
    def _over_outputs(self, w: Floats) -> Floats:
        """Return the sum of w[y] over the outputs y of each S_x: from (K,) to (k,)."""

    @abstractmethod
    def _over_inputs(self, v: Floats) -> Floats:
        """Return the sum of v[x] over the inputs x whose S_x contains each output: from (k,) to (K,)."""

    @abstractmethod
    def _count(self, counts: Integers) -> Integers:
        """Return ``_over_outputs`` of integers, computed exactly: from (K,) to (k,)."""

    def forward(self, p: Floats) -> Floats:
        distribution: Floats = self._unlikely * p.sum() + (self._likely - self._unlikely) * self._over_inputs(p)
        return distribution

    def forward_squares(self, p: Floats) -> Floats:
        few, many = self._unlikely**2, self._likely**2
        distribution: Floats = few * p.sum() + (many - few) * self._over_inputs(p)
        return distribution

    def backward(self, w: Floats) -> Floats:
        mean: Floats = self._unlikely * w.sum() + (self._likely - self._unlikely) * self._over_outputs(w)
        return mean

    def invert(self, share: Floats) -> Floats:
        raw: Floats = (self._over_outputs(share) - self._outside * share.sum()) / self._gap
        return raw

    def adjoint(self, v: Floats) -> Floats:
        adds: Floats = (self._over_inputs(v) - self._outside * v.sum()) / self._gap
        return adds

    def variances(self, share: Floats) -> Floats:
        reached, total = self._over_outputs(share), share.sum()
        moment = reached * (1 - self._outside) ** 2 + (total - reached) * self._outside**2
        raw = reached - self._outside * total
        variances: Floats = (moment - raw**2) / self._gap**2
        return variances

    def binomial_steps(self, counts: Integers, reports: int) -> BinomialSteps:
        base = np.full(self.inputs, -self._outside / self._gap)
        height = np.full((1, self.inputs), 1 / self._gap)
        return BinomialSteps(base, height, self._count(counts)[np.newaxis], reports)

    @property
    def ceiling(self) -> Floats:
        return np.full(self.features, self._likely)

    @property
    def people_per_report(self) -> float:
        return max(1 - self._outside, self._outside) / self._gap
