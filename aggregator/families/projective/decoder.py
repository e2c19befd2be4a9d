"""Decoding projective geometry response: how many reports are orthogonal to each input.

Sums over orthogonal points, which everything here is made of: cycle. Formulas: support.
"""

from __future__ import annotations

from functools import cached_property

from aggregator.families.decoder import Floats, Integers
from aggregator.families.projective.cycle import Cycle
from aggregator.families.support import SupportDecoder
from protocol.channels.projective.channel import ProjectiveGeometry


class ProjectiveDecoder(SupportDecoder):
    """S_x is the points orthogonal to x."""

    def __init__(self, channel: ProjectiveGeometry) -> None:
        super().__init__(channel, channel.shared)
        self._channel = channel

    @cached_property
    def _cycle(self) -> Cycle:
        return Cycle(self._channel.geometry, self.inputs)

    def _over_outputs(self, w: Floats) -> Floats:
        return self._cycle.over_outputs(w)

    def _over_inputs(self, v: Floats) -> Floats:
        return self._cycle.over_inputs(v)

    def _count(self, counts: Integers) -> Integers:
        return self._cycle.count(counts)
