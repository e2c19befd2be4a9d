"""Decoding projective geometry response: how many reports are orthogonal to each input.

    p[x] = (t[S_x] - q*) / (p* - q*),   p* = cs inside,   q* = ci inside + (cs - ci) outside           (MATH 4.1)

Sums over orthogonal points, which everything here is made of: cycle.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from aggregator.families.decoder import BinomialSteps, Decoder, Floats, Integers
from aggregator.families.projective.cycle import Cycle
from protocol.channels.projective.channel import ProjectiveGeometry


class ProjectiveDecoder(Decoder):
    """L[y, x] = ([<x, y> = 0] - q*) / (p* - q*)."""

    def __init__(self, channel: ProjectiveGeometry) -> None:
        self.inputs, self.features = channel.inputs, channel.outputs
        self._channel = channel
        one = 1 << channel.scale
        far = channel.support - channel.shared  # points of S_x that are not of S_x'
        self._likely, self._unlikely = channel.inside / one, channel.outside / one
        self._outside = (channel.shared * channel.inside + far * channel.outside) / one  # q*
        self._gap = far * (channel.inside - channel.outside) / one  # p* - q*

    @cached_property
    def _cycle(self) -> Cycle:
        return Cycle(self._channel.geometry, self.inputs)

    def forward(self, p: Floats) -> Floats:
        law: Floats = self._unlikely * p.sum() + (self._likely - self._unlikely) * self._cycle.over_inputs(p)
        return law

    def forward_squares(self, p: Floats) -> Floats:
        few, many = self._unlikely**2, self._likely**2
        law: Floats = few * p.sum() + (many - few) * self._cycle.over_inputs(p)
        return law

    def backward(self, w: Floats) -> Floats:
        mean: Floats = self._unlikely * w.sum() + (self._likely - self._unlikely) * self._cycle.over_outputs(w)
        return mean

    def invert(self, share: Floats) -> Floats:
        raw: Floats = (self._cycle.over_outputs(share) - self._outside * share.sum()) / self._gap
        return raw

    def adjoint(self, v: Floats) -> Floats:
        adds: Floats = (self._cycle.over_inputs(v) - self._outside * v.sum()) / self._gap
        return adds

    def variances(self, share: Floats) -> Floats:
        reached, total = self._cycle.over_outputs(share), share.sum()
        moment = reached * (1 - self._outside) ** 2 + (total - reached) * self._outside**2
        raw = reached - self._outside * total
        variances: Floats = (moment - raw**2) / self._gap**2
        return variances

    def staircase(self, counts: Integers, reports: int) -> BinomialSteps:
        base = np.full(self.inputs, -self._outside / self._gap)
        height = np.full((1, self.inputs), 1 / self._gap)
        return BinomialSteps(base, height, self._cycle.count(counts)[np.newaxis], reports)

    @property
    def ceiling(self) -> Floats:
        return np.full(self.features, self._likely)

    @property
    def weight(self) -> float:
        return max(1 - self._outside, self._outside) / self._gap
