"""The wave channel: an output near the true number is more likely than any other (SPEC 5.11).

The inputs are ordered numbers. The outputs are the same line, longer by b places at each end. So every input has a
whole window of 2 b + 1 outputs around it, and E[Y given x] is affine in x. Each output of the window has one weight,
and each other output another weight. This is the square wave of Li et al. 2020, on integers. It estimates single shares
poorly, but a distribution and its quantiles better than a channel that treats numbers as labels.

Two weights fill a row of 2^128 exactly only if k - 1 and 2 b + 1 have no common factor; other half widths are refused.
There is always a permitted half width near the best one, and the error hardly depends on b.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, count, repeat
from operator import sub
from typing import ClassVar

from protocol import codec
from protocol.channels.channel import Loss
from protocol.channels.support import ONE, SupportChannel, evenly_shared, outside_from_wire
from protocol.domain import MAX_VALUES
from protocol.errors import ChannelError


@dataclass(frozen=True)
class Wave(SupportChannel):
    """The wave channel: Q(y given x) = inside / 2^128 where x <= y <= x + 2 b, outside / 2^128 elsewhere.

    Attributes:
        input_count: k, the number of inputs.
        half_width: b, the half width of the window; at least 1 and below k.
        outside: the weight of an output outside the window; positive and below ``inside``.
        inside: the weight of an output in the window, an equal part of the weight that the outside outputs leave.
        span: 2 b + 1, the number of outputs in a window.
    Raises:
        ChannelError: an attribute is invalid, or does not fit the others.
    """

    input_count: int
    half_width: int
    outside: int
    output_count: int = field(init=False, repr=False, compare=False)
    inside: int = field(init=False, repr=False, compare=False)
    span: int = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "wave"

    def __post_init__(self) -> None:
        if not 2 <= self.input_count <= MAX_VALUES:
            raise ChannelError(f"a channel must have 2 to {MAX_VALUES} inputs, not {self.input_count}")
        if not 1 <= self.half_width < self.input_count:
            raise ChannelError(
                f"the half width of a window must be 1 to {self.input_count - 1} for {self.input_count} inputs, "
                f"not {self.half_width}"
            )
        span = 2 * self.half_width + 1
        inside = evenly_shared(self.outside, span, self.input_count - 1)
        self._derive(output_count=self.input_count + 2 * self.half_width, inside=inside, span=span)

    def weight(self, x: int, y: int) -> int:
        return self.inside if x <= y < x + self.span else self.outside

    def column(self, y: int) -> list[int]:
        first, stop = self.near(y)
        others = [self.outside] * (self.input_count - (stop - first))
        return others[:first] + [self.inside] * (stop - first) + others[first:]

    def near(self, y: int) -> tuple[int, int]:
        """Return the range of the inputs whose window contains output ``y``: the first input, and the input after the
        last."""
        return max(y - 2 * self.half_width, 0), min(y, self.input_count - 1) + 1

    def masses(self, prior: Sequence[int]) -> Iterator[int]:
        """Yield, for each output, the mass of the inputs whose window contains it.

        Args:
            prior: the weight of each input: ``input_count`` integers.
        """
        return accumulate(map(sub, chain(prior, repeat(0, 2 * self.half_width)), chain(repeat(0, self.span), prior)))

    def sample(self, x: int, rand: bytes) -> int:
        self._require_draw(x, rand)
        draw = int.from_bytes(rand, "big")
        beyond = ONE - (self.input_count - 1) * self.outside
        far = draw >= beyond
        place = (draw - (0, beyond)[far]) // (self.inside, self.outside)[far]
        # For constant time, both outputs are computed before one is chosen.
        return (x + place, place + (0, self.span)[place >= x])[far]

    def _distinguishing(self, x: int, other: int) -> int:
        return x if x < other else x + 2 * self.half_width

    @property
    def prior_steps(self) -> int:
        return 4 * self.output_count

    def loss_against_prior(self, prior: Sequence[int]) -> Loss:
        # 2^128 P(y) = outside + (inside - outside) times the mass near y. The largest lift is that of an input near the
        # output of least mass. Among the outputs that some input is not near, the one of most mass has the smallest
        # lift, for an input that is not near it.
        total, gap = sum(prior), self.inside - self.outside
        mass, y = min(zip(self.masses(prior), count(), strict=False))
        up = Loss(self.inside * total, self.outside * total + gap * mass, min(y, self.input_count - 1), None, y)
        masses = zip(self.masses(prior), count(), strict=False)
        mass, y = max(((mass, y) for mass, y in masses if mass < total), default=(0, 0))
        x = 0 if y > 2 * self.half_width else self.input_count - 1
        down = Loss(self.outside * total + gap * mass, self.outside * total, x, None, y)
        return down if down.worse_than(up) else up

    def encode(self) -> codec.Value:
        return [self.family, self.input_count, self.half_width, self._outside_on_wire()]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Wave:
        _, inputs, half, outside = codec.fields(value, 4, "a wave channel", ChannelError)
        return cls(
            codec.integer(inputs, "a channel's number of inputs", ChannelError, 2, MAX_VALUES),
            codec.integer(half, "the half width of a window", ChannelError, 1, MAX_VALUES),
            outside_from_wire(outside),
        )
