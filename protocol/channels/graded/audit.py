"""The audit structure of graded projective response: a pair's profile depends only on the two classes.

Any two inputs divide the outputs into four sets whose sizes are the same for every pair; the weights depend on the two
classes. Under a prior, a column is determined by the mass, in each class, of the inputs that prefer the output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar

from protocol.channels.graded.channel import GradedProjective
from protocol.channels.structure import OutputClass, PairProfile, Structure


class GradedStructure(Structure):
    """The audit structure of graded projective response (SPEC 5.12)."""

    channel: GradedProjective
    profile_steps: ClassVar[int] = 4

    @property
    def kinds(self) -> Sequence[Sequence[int]]:
        return self.channel.inputs_by_class

    def _weights(self, x: int) -> tuple[int, int]:
        number = self.channel.class_of[x]
        return self.channel.inside[number], self.channel.outside[number]

    def row(self, x: int) -> Iterable[tuple[int, int]]:
        (inside, outside), support = self._weights(x), self.channel.geometry.support
        return [(inside, support), (outside, self.channel.output_count - support)]

    def profile(self, x: int, other: int) -> PairProfile:
        (inside, outside), (others_inside, others_outside) = self._weights(x), self._weights(other)
        shared = self.channel.geometry.shared
        alone = self.channel.geometry.support - shared
        rest = self.channel.output_count - shared - 2 * alone
        return [
            (inside, others_inside, shared),
            (inside, others_outside, alone),
            (outside, others_inside, alone),
            (outside, others_outside, rest),
        ]

    def fitting(self, y: int) -> Sequence[int]:
        self.require_steps(self.channel.input_count, "listing the inputs that prefer an output")
        return self.channel.geometry.orthogonal_inputs(y, self.channel.input_count)

    @property
    def worst_column_steps(self) -> int:
        return self.channel.prior_steps + 24 * len(self.channel.outside) * self.channel.output_count

    def columns(self, prior: Sequence[int]) -> Iterator[OutputClass]:
        channel = self.channel
        self.require_steps(self.channel.prior_steps, "listing its outputs")
        masses_by_class = [channel.masses_of(prior, number) for number in range(len(channel.outside))]
        class_masses = [sum(map(prior.__getitem__, members)) for members in channel.inputs_by_class]
        for y, parts in enumerate(zip(*masses_by_class, strict=True)):
            masses: dict[int, int] = {}
            for number, mass in enumerate(parts):
                for weight, part in (
                    (channel.inside[number], mass),
                    (channel.outside[number], class_masses[number] - mass),
                ):
                    if part:
                        masses[weight] = masses.get(weight, 0) + part
            yield OutputClass(y, 1, tuple(masses.items()))

    def marginals(self, prior: Sequence[int]) -> Sequence[int]:
        self.require_steps(self.channel.prior_steps, "listing its outputs")
        return self.channel.marginals(prior)

    def row_sums(self, marginals: Sequence[int], term: Callable[[int, int], int]) -> Iterable[int]:
        self._require_supports()
        totals = [0] * self.channel.input_count
        for number, members in enumerate(self.channel.inputs_by_class):
            inside, outside = self.channel.inside[number], self.channel.outside[number]
            without = [term(outside, marginal) for marginal in marginals]
            gained = [
                term(inside, marginal) - outside_term for marginal, outside_term in zip(marginals, without, strict=True)
            ]
            base = sum(without)
            # Orthogonality is symmetric, so ``masses`` sums over the outputs that are orthogonal to each input.
            raised = self.channel.geometry.masses(gained)
            for x in members:
                totals[x] = base + raised[x]
        return totals

    def largest_posterior(self, prior: Sequence[int], inputs: Sequence[int]) -> tuple[int, int, int]:
        self._require_supports()
        marginals = self.marginals(prior)
        overall, best = min(marginals), (0, 1, inputs[0])
        # For the outputs that an input does not prefer, the minimum over all outputs is enough: if the input prefers
        # the output with that minimum, its first ratio is larger anyway.
        for x, preferred in self.channel.geometry.minima(inputs, marginals).items():
            inside, outside = self._weights(x)
            for joint, marginal in ((prior[x] * inside, preferred), (prior[x] * outside, overall)):
                if joint * best[1] > best[0] * marginal:
                    best = (joint, marginal, x)
        return best

    def _require_supports(self) -> None:
        steps = 2 * len(self.channel.outside) * self.channel.input_count * self.channel.geometry.support
        self.require_steps(steps, "listing the outputs that its inputs prefer")
