"""The decoder of projective response, which counts the reports orthogonal to each input.

The sums over orthogonal points are computed by ``cycle``; the formulas are in ``support``.
"""

from __future__ import annotations

from functools import cached_property

from aggregator.families.decoder import Floats, Integers
from aggregator.families.projective.cycle import Cycle
from aggregator.families.support import SupportDecoder
from protocol.channels.projective.channel import ProjectiveResponse


class ProjectiveDecoder(SupportDecoder):
    """Decoder in which S_x is the set of points orthogonal to x."""

    def __init__(self, channel: ProjectiveResponse) -> None:
        super().__init__(channel, channel.shared)
        self._channel = channel

    @cached_property
    def _cycle(self) -> Cycle:
        return Cycle(self._channel.geometry, self.input_count)

    def _over_outputs(self, w: Floats) -> Floats:
        return self._cycle.over_outputs(w)

    def _over_inputs(self, v: Floats) -> Floats:
        return self._cycle.over_inputs(v)

    def _count(self, counts: Integers) -> Integers:
        return self._cycle.count(counts)
