"""The audit structure of waves: profiles depend on the distance of two inputs, columns on the mass near the output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import ClassVar

from protocol.channels.structure import OutputClass, PairProfile, Structure
from protocol.channels.wave.channel import Wave


class WaveStructure(Structure):
    """The audit structure of waves (SPEC 5.11)."""

    channel: Wave
    profile_steps: ClassVar[int] = 4
    loss_steps: ClassVar[int] = 1

    def pairs(self) -> Iterator[tuple[int, int]]:
        # The farther two inputs are apart, the more outputs are in only one of their windows, so the two ends decide.
        yield 0, self.channel.input_count - 1

    def row(self, x: int) -> Iterable[tuple[int, int]]:
        return [(self.channel.inside, self.channel.span), (self.channel.outside, self.channel.input_count - 1)]

    def profile(self, x: int, other: int) -> PairProfile:
        channel = self.channel
        inside, outside = channel.inside, channel.outside
        alone = min(abs(x - other), channel.span)
        neither = channel.output_count - channel.span - alone
        return [
            (inside, outside, alone),
            (outside, inside, alone),
            (inside, inside, channel.span - alone),
            (outside, outside, neither),
        ]

    def fits(self, x: int) -> tuple[int, int, int]:
        channel = self.channel
        farthest = max(x, channel.input_count - 1 - x)
        shared = max(channel.span - farthest, 0)
        wrong = shared * channel.inside + (channel.span - shared) * channel.outside
        return channel.span * channel.inside, wrong, 1 << channel.scale

    def fitting(self, y: int) -> Sequence[int]:
        return range(*self.channel.near(y))

    @property
    def worst_column_steps(self) -> int:
        return 16 * self.channel.output_count

    def columns(self, prior: Sequence[int]) -> Iterator[OutputClass]:
        total, inside, outside = sum(prior), self.channel.inside, self.channel.outside
        for y, mass in enumerate(self.channel.masses(prior)):
            parts = (inside, mass), (outside, total - mass)
            yield OutputClass(y, 1, parts if mass < total else parts[:1])

    def marginals(self, prior: Sequence[int]) -> Sequence[int]:
        base, gap = self.channel.outside * sum(prior), self.channel.inside - self.channel.outside
        return [base + gap * mass for mass in self.channel.masses(prior)]

    def row_sums(self, marginals: Sequence[int], term: Callable[[int, int], int]) -> Iterable[int]:
        channel = self.channel
        without = [term(channel.outside, marginal) for marginal in marginals]
        more = (
            term(channel.inside, marginal) - outside_term
            for marginal, outside_term in zip(marginals, without, strict=True)
        )
        base, ends = sum(without), list(accumulate(more, initial=0))
        return [base + ends[x + channel.span] - ends[x] for x in range(channel.input_count)]

    def largest_posterior(self, prior: Sequence[int], inputs: Sequence[int]) -> tuple[int, int, int]:
        channel, marginals = self.channel, self.marginals(prior)
        nearest = _window_minima(marginals, channel.span)
        overall = min(marginals)
        best = (0, 1, inputs[0])
        for x in inputs:
            # For the outputs outside the window, the minimum over all outputs is enough: if that minimum is inside the
            # window, the first ratio is larger anyway.
            for joint, marginal in ((prior[x] * channel.inside, nearest[x]), (prior[x] * channel.outside, overall)):
                if joint * best[1] > best[0] * marginal:
                    best = (joint, marginal, x)
        return best


def _window_minima(numbers: Sequence[int], span: int) -> list[int]:
    """Return the minimum of every ``span`` neighbours, from the suffix and prefix minima of stretches of that
    length."""
    stretches = [numbers[start : start + span] for start in range(0, len(numbers), span)]
    starts = [minimum for stretch in stretches for minimum in accumulate(stretch, min)]
    rests = [minimum for stretch in stretches for minimum in [*accumulate(reversed(stretch), min)][::-1]]
    return [min(rests[x], starts[x + span - 1]) for x in range(len(numbers) - span + 1)]
