"""Randomised response: the output is the true input, or drawn from one fixed cover distribution (SPEC 5.2).

This family contains Warner's and k-ary randomised response, the random sampling mechanism and the LIP channels whose
outputs are the inputs themselves. The output is the input with probability 1 - C, or each y of the cover with
probability c[y], where C = sum of c. So Q(y given x) = c[y] + (1 - C) [y = x]. The mechanisms differ only in c, which
aggregator.families.response derives (k-ary: c = 1 / (e^eps + k - 1); LIP: MATH 2.4). Rounding any c up lowers every
ratio, so the channel never exceeds its level.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import ClassVar

from protocol import codec
from protocol.channels.channel import Channel, Loss
from protocol.domain import MAX_VALUES
from protocol.errors import ChannelError

RESPONSE_SCALE = 64

RESPONSE_STEPS = 16
"""Audit steps for the lifts of one input."""


@dataclass(frozen=True)
class RandomizedResponse(Channel):
    """Randomised response: Q(y given x) = cover[y] + truth [y = x], in integers over 2^64; outputs are the inputs.

    Attributes:
        input_count: k, the number of inputs.
        cover: k integers that are not all equal, or a single integer if all k are equal, so that a channel has one wire
            form.
    Raises:
        ChannelError: an attribute is invalid, or does not fit the others.
    """

    input_count: int
    cover: tuple[int, ...]
    output_count: int = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "response"
    scale: ClassVar[int] = RESPONSE_SCALE
    rand_bytes: ClassVar[int] = 8

    def __post_init__(self) -> None:
        if not 2 <= self.input_count <= MAX_VALUES:
            raise ChannelError(f"a channel must have 2 to {MAX_VALUES} inputs, not {self.input_count}")
        if len(self.cover) not in (1, self.input_count):
            raise ChannelError(f"a cover must have 1 or {self.input_count} weights, not {len(self.cover)}")
        if len(self.cover) > 1 and len(set(self.cover)) == 1:
            raise ChannelError("the weights of this cover are equal: write them as one weight")
        if min(self.cover) < 0:
            raise ChannelError(f"a cover weight must be at least 0, not {min(self.cover)}")
        if self.truth < 0:
            raise ChannelError(f"the cover weights must sum to at most 2^{RESPONSE_SCALE}, not to {self.covered}")
        self._derive(output_count=self.input_count)

    @cached_property
    def covered(self) -> int:
        """The sum of the cover weights: C * 2^64."""
        return self.cover[0] * self.input_count if len(self.cover) == 1 else sum(self.cover)

    @property
    def truth(self) -> int:
        """The weight of output x for input x above its cover weight: (1 - C) * 2^64."""
        return (1 << RESPONSE_SCALE) - self.covered

    def cover_of(self, y: int) -> int:
        """Return the cover weight of output ``y``."""
        return self.cover[0] if len(self.cover) == 1 else self.cover[y]

    @cached_property
    def _cumulative(self) -> tuple[int, ...]:
        return tuple(accumulate(self.cover))

    def weight(self, x: int, y: int) -> int:
        return self.cover_of(y) + (self.truth if x == y else 0)

    def sample(self, x: int, rand: bytes) -> int:
        self._require_draw(x, rand)
        draw = int.from_bytes(rand, "big")
        if len(self.cover) == 1:
            other = draw // max(self.cover[0], 1)
        else:
            other = bisect_right(self._cumulative, draw)
        return (other, x)[draw >= self.covered]  # both are computed first, for constant time

    def selected(self, inputs: Sequence[int]) -> Sequence[int]:
        if len(self.cover) == 1:
            return inputs[:2]
        return sorted(heapq.nsmallest(2, inputs, key=self.cover_of))

    @property
    def prior_steps(self) -> int:
        return RESPONSE_STEPS * self.input_count

    def loss(self, first: Sequence[int], second: Sequence[int]) -> Loss:
        # For input x, only output x has a ratio above 1: 1 + truth / cover[x]. This ratio is largest for the smallest
        # cover weight.
        only = second[0] if all(other == second[0] for other in second) else None
        candidates = [x for x in first if x != only]
        if not candidates or not self.truth:
            return Loss(1, 1, first[0], second[0], first[0])
        x = min(candidates, key=self.cover_of)
        other = next(other for other in second if other != x)
        return Loss(self.cover_of(x) + self.truth, self.cover_of(x), x, other, x)

    def loss_against_prior(self, prior: Sequence[int]) -> Loss:
        total = sum(prior)
        worst = Loss(1, 1, 0, None, 0)
        for y, p in enumerate(prior):
            cover = self.cover_of(y)
            marginal = cover * total + p * self.truth
            other = 0 if y else 1
            for candidate in (
                Loss((cover + self.truth) * total, marginal, y, None, y),
                Loss(marginal, cover * total, other, None, y),
            ):
                if candidate.worse_than(worst):
                    worst = candidate
        return worst

    def encode(self) -> codec.Value:
        return [self.family, self.input_count, list(self.cover)]

    @classmethod
    def from_wire(cls, value: codec.Value) -> RandomizedResponse:
        _, inputs, cover = codec.fields(value, 3, "a response channel", ChannelError)
        return cls(
            codec.integer(inputs, "a channel's number of inputs", ChannelError, 2, MAX_VALUES),
            codec.integers(cover, "a cover weight", ChannelError),
        )
