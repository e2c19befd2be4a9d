"""The structure of projective geometry response: any two inputs split the outputs alike.

One idea: an input prefers ``support`` outputs, any two share ``shared`` of them, and every pair of inputs is one kind.
Columns and marginals have no faster way here than to look at each cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from protocol.channels.projective import ProjectiveGeometry
from protocol.levels.structure import Profile, Structure


class ProjectiveStructure(Structure):
    """Projective geometry response (SPEC 5.4)."""

    channel: ProjectiveGeometry

    @property
    def kinds(self) -> Sequence[Sequence[int]]:
        return [range(self.channel.inputs)]

    def row(self, x: int) -> Iterable[tuple[int, int]]:
        channel = self.channel
        return [(channel.inside, channel.support), (channel.outside, channel.outputs - channel.support)]

    def profile(self, x: int, other: int) -> Profile:
        inside, outside = self.channel.inside, self.channel.outside
        shared, alone = self.channel.shared, self.channel.support - self.channel.shared
        rest = self.channel.outputs - shared - 2 * alone
        return [(inside, inside, shared), (inside, outside, alone), (outside, inside, alone), (outside, outside, rest)]

    @property
    def profile_steps(self) -> int:
        return 4
