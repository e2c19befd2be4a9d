"""The audit structure of projective response: all pairs of inputs have the same profile.

Each input prefers ``support`` outputs, and any two inputs have ``shared`` of them in common, so all pairs have the same
profile. Under a prior, a column is determined by the mass of the inputs that prefer the output; only these sums are
computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar

from protocol.channels.projective.channel import ProjectiveResponse
from protocol.channels.structure import OutputClass, PairProfile, Structure


class ProjectiveStructure(Structure):
    """The audit structure of projective response (SPEC 5.4)."""

    channel: ProjectiveResponse
    profile_steps: ClassVar[int] = 4

    @property
    def kinds(self) -> Sequence[Sequence[int]]:
        return [range(self.channel.input_count)]

    def row(self, x: int) -> Iterable[tuple[int, int]]:
        channel = self.channel
        return [(channel.inside, channel.support), (channel.outside, channel.output_count - channel.support)]

    def profile(self, x: int, other: int) -> PairProfile:
        inside, outside = self.channel.inside, self.channel.outside
        shared, alone = self.channel.shared, self.channel.support - self.channel.shared
        rest = self.channel.output_count - shared - 2 * alone
        return [(inside, inside, shared), (inside, outside, alone), (outside, inside, alone), (outside, outside, rest)]

    def _masses(self, prior: Sequence[int]) -> list[int]:
        """Return, for each output, the prior mass of the inputs that prefer it."""
        self.require_steps(self.channel.prior_steps, "listing its outputs")
        return self.channel.geometry.masses(prior)

    def fitting(self, y: int) -> Sequence[int]:
        self.require_steps(self.channel.input_count, "listing the inputs that prefer an output")
        return self.channel.geometry.orthogonal_inputs(y, self.channel.input_count)

    @property
    def worst_column_steps(self) -> int:
        return self.channel.prior_steps + 24 * self.channel.output_count

    def columns(self, prior: Sequence[int]) -> Iterator[OutputClass]:
        inside, outside, total = self.channel.inside, self.channel.outside, sum(prior)
        for y, mass in enumerate(self._masses(prior)):
            yield OutputClass(y, 1, tuple(part for part in ((inside, mass), (outside, total - mass)) if part[1]))

    def marginals(self, prior: Sequence[int]) -> Sequence[int]:
        base, gap = self.channel.outside * sum(prior), self.channel.inside - self.channel.outside
        return [base + gap * mass for mass in self._masses(prior)]

    def row_sums(self, marginals: Sequence[int], term: Callable[[int, int], int]) -> Iterable[int]:
        self._require_supports()
        without = [term(self.channel.outside, marginal) for marginal in marginals]
        gained = [
            term(self.channel.inside, marginal) - outside_term
            for marginal, outside_term in zip(marginals, without, strict=True)
        ]
        base = sum(without)
        # Orthogonality is symmetric, so ``masses`` sums over the outputs that are orthogonal to each input.
        return [base + more for more in self.channel.geometry.masses(gained)[: self.channel.input_count]]

    def largest_posterior(self, prior: Sequence[int], inputs: Sequence[int]) -> tuple[int, int, int]:
        self._require_supports()
        best = (0, 1, inputs[0])
        # Only its preferred outputs raise an input's posterior above the prior, and the least probable of them raises
        # it most.
        for x, marginal in self.channel.geometry.minima(inputs, self.marginals(prior)).items():
            joint = prior[x] * self.channel.inside
            if joint * best[1] > best[0] * marginal:
                best = (joint, marginal, x)
        return best

    def _require_supports(self) -> None:
        steps = 2 * self.channel.input_count * self.channel.support
        self.require_steps(steps, "listing the outputs that its inputs prefer")
