"""The audit structure of randomised response: an output has one weight for its own input, another for the rest.

Q(y given x) = c[y] + T [y = x], so a column has two weights, and a row differs from the cover in one cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nlargest
from typing import ClassVar

from protocol.channels.response.channel import RandomizedResponse
from protocol.channels.structure import COLUMN_STEPS, OutputClass, PairProfile, Structure


class ResponseStructure(Structure):
    """The audit structure of randomised response (SPEC 5.2)."""

    channel: RandomizedResponse
    loss_steps: ClassVar[int] = 1

    @property
    def kinds(self) -> Sequence[Sequence[int]]:
        if len(self.channel.cover) == 1:
            return [range(self.channel.input_count)]
        kinds: dict[int, list[int]] = {}
        for x, weight in enumerate(self.channel.cover):
            kinds.setdefault(weight, []).append(x)
        return list(kinds.values())

    def pairs(self) -> Iterator[tuple[int, int]]:
        # An input raises only the weight of its own output, most in proportion where the cover weight is smallest.
        x = min(range(self.channel.input_count), key=self.channel.cover_of) if len(self.channel.cover) > 1 else 0
        yield x, 1 if x == 0 else 0

    def row(self, x: int) -> Iterable[tuple[int, int]]:
        channel = self.channel
        own_part = (channel.cover_of(x) + channel.truth, 1)
        if len(channel.cover) == 1:
            return [own_part, (channel.cover[0], channel.input_count - 1)]
        return [own_part, *((weight, 1) for y, weight in enumerate(channel.cover) if y != x)]

    def profile(self, x: int, other: int) -> PairProfile:
        channel = self.channel
        mine, theirs = channel.cover_of(x), channel.cover_of(other)
        own_parts = [(mine + channel.truth, mine, 1), (theirs, theirs + channel.truth, 1)]
        if len(channel.cover) == 1:
            return [*own_parts, (mine, mine, channel.input_count - 2)]
        return [*own_parts, *((weight, weight, 1) for y, weight in enumerate(channel.cover) if y not in (x, other))]

    def fits(self, x: int) -> tuple[int, int, int]:
        channel = self.channel
        total, own_weight = 1 << channel.scale, channel.cover_of(x) + channel.truth
        if len(channel.cover) == 1:
            return (own_weight, channel.cover[0], total) if channel.truth else (total, total, total)
        largest = max(own_weight, *(weight for y, weight in enumerate(channel.cover) if y != x))
        outputs = [y for y, weight in enumerate(channel.cover) if y != x and weight == largest]
        # Other inputs give output x with its cover weight only. An input in ``outputs`` gives its own output with more.
        truth = largest * (len(outputs) + (own_weight == largest))
        wrong = truth - (channel.truth if own_weight == largest else 0)
        return truth, wrong + (channel.truth if len(outputs) == channel.input_count - 1 else 0), total

    @property
    def profile_steps(self) -> int:
        return 3 if len(self.channel.cover) == 1 else self.channel.input_count

    @property
    def worst_column_steps(self) -> int:
        return 2 * self.channel.prior_steps

    def columns(self, prior: Sequence[int]) -> Iterator[OutputClass]:
        total, truth = sum(prior), self.channel.truth
        for y, mass in enumerate(prior):
            cover = self.channel.cover_of(y)
            if not truth:
                yield OutputClass(y, 1, ((cover, total),))
            else:
                yield OutputClass(y, 1, ((cover + truth, mass), (cover, total - mass)))

    def marginals(self, prior: Sequence[int]) -> Sequence[int]:
        total, truth = sum(prior), self.channel.truth
        return [self.channel.cover_of(y) * total + mass * truth for y, mass in enumerate(prior)]

    def row_sums(self, marginals: Sequence[int], term: Callable[[int, int], int]) -> Iterable[int]:
        covers = [term(self.channel.cover_of(y), marginal) for y, marginal in enumerate(marginals)]
        total, truth = sum(covers), self.channel.truth
        for x, marginal in enumerate(marginals):
            yield total - covers[x] + term(self.channel.cover_of(x) + truth, marginal)

    def largest_posterior(self, prior: Sequence[int], inputs: Sequence[int]) -> tuple[int, int, int]:
        channel, total = self.channel, sum(prior)
        self.require_steps(
            2 * channel.input_count + COLUMN_STEPS * len(inputs), "comparing the posteriors of its inputs"
        )
        best = (0, 1, inputs[0])

        def look(x: int, y: int) -> None:
            nonlocal best
            joint = prior[x] * channel.weight(x, y)
            marginal = channel.cover_of(y) * total + prior[y] * channel.truth
            if joint * best[1] > best[0] * marginal:
                best = (joint, marginal, x)

        # Among the outputs y of other inputs, the posterior of x is largest where c[y] / P[y] is largest.
        hidden = nlargest(3, range(channel.input_count), key=lambda y: (channel.cover_of(y) << 128) // prior[y])
        for x in inputs:
            for y in (x, *hidden):
                look(x, y)
        return best
