"""Projective response: for many inputs, the error is near the minimum at every level (SPEC 5.4).

An output takes about log2 k bits. Inputs and outputs are points of the projective space PG(t-1, q). An input x gives
each of the points orthogonal to it, S_x = {y : <x, y> = 0}, with a larger probability than any other point. All S_x
have the same size, and so have all intersections of two of them. So all pairs of inputs have the same profile (Feldman,
Nelson, Nguyen, Talwar 2022). An input prefers about 1/q of all outputs, where q is the order of the field; the error is
smallest at the fraction 1 / (e^eps + 1).

The paper uses rejection sampling. Here the two weights are chosen so that a row sums to exactly 2^128, and one draw
determines the output. Such weights exist: K - cs = q^(t-1) is congruent to 1 modulo cs, so of any cs consecutive
outside weights one leaves a whole inside weight.

If K exceeds k, the points from k on are outputs only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from protocol import codec
from protocol.channels.channel import PAIR_STEPS, Loss
from protocol.channels.projective.field import MAX_ORDER
from protocol.channels.projective.geometry import MAX_DIMENSION, MAX_POINTS, ProjectiveGeometry
from protocol.channels.support import SupportChannel, evenly_shared, outside_from_wire
from protocol.domain import MAX_VALUES
from protocol.errors import ChannelError


@dataclass(frozen=True)
class ProjectiveResponse(SupportChannel):
    """Projective response: Q(y given x) = inside / 2^128 where <x, y> = 0, outside / 2^128 elsewhere.

    Attributes:
        input_count: k, the number of inputs.
        order: q, the order of the field: a prime below 2^20, or 4, 8 or 9.
        dimension: t, the number of coordinates, at least 2.
        outside: the weight of one output that is not orthogonal to the input; positive, below ``inside``, and congruent
            to 2^128 modulo cs.
        geometry: the projective geometry, whose points are the inputs and the outputs.
        output_count: K, the number of points; at least k, at most 2^24.
        support: cs, the number of outputs that an input prefers.
        shared: ci, the number of outputs that two inputs both prefer.
        inside: the weight of one output that is orthogonal to the input.
    Raises:
        ChannelError: an attribute is invalid, or does not fit the others.
    """

    input_count: int
    order: int
    dimension: int
    outside: int
    geometry: ProjectiveGeometry = field(init=False, repr=False, compare=False)
    output_count: int = field(init=False, repr=False, compare=False)
    support: int = field(init=False, repr=False, compare=False)
    shared: int = field(init=False, repr=False, compare=False)
    inside: int = field(init=False, repr=False, compare=False)
    family: ClassVar[str] = "projective"

    def __post_init__(self) -> None:
        geometry = geometry_for(self.input_count, self.order, self.dimension)
        points, support = geometry.point_count, geometry.support
        inside = evenly_shared(self.outside, support, points - support)
        self._derive(output_count=points, support=support, shared=geometry.shared, inside=inside, geometry=geometry)

    def weight(self, x: int, y: int) -> int:
        return self.inside if self.geometry.orthogonal(x, y) else self.outside

    def sample(self, x: int, rand: bytes) -> int:
        self._require_draw(x, rand)
        return self.geometry.sample(x, int.from_bytes(rand, "big"), self.inside, self.outside)

    def preferred(self, x: int) -> int:
        """Return an output that input ``x`` prefers."""
        return next(self.geometry.supported(x))

    def _distinguishing(self, x: int, other: int) -> int:
        return self.geometry.distinguishing(x, other)

    @property
    def prior_steps(self) -> int:
        return self.geometry.mass_steps(self.input_count)

    def pair_steps(self, first: Sequence[int], second: Sequence[int]) -> int:
        return 2 * PAIR_STEPS  # finding the witness computes up to 24 coordinates

    def loss_against_prior(self, prior: Sequence[int]) -> Loss:
        """Return the worst lift, from the prior mass of the inputs orthogonal to each output.

            2^128 P(y) = outside + (inside - outside) mass[y],   mass[y] = sum of P(x) over x with <x, y> = 0

        So the least probable output has the largest lift, for an input that prefers it. The most probable output has
        the smallest lift, for an input that does not prefer it.
        """
        mass = self.geometry.masses(prior)
        total = sum(prior)
        # Prior weights are positive, so an output with mass 0 is preferred by no input, and one with the total mass by
        # all.
        rarest = min((y for y in range(self.output_count) if mass[y]), key=mass.__getitem__)
        most_frequent = max((y for y in range(self.output_count) if mass[y] < total), key=mass.__getitem__)
        gap = self.inside - self.outside
        preferring = next(x for x in range(self.input_count) if self.geometry.orthogonal(x, rarest))
        avoiding = next(x for x in range(self.input_count) if not self.geometry.orthogonal(x, most_frequent))
        up = Loss(self.inside * total, self.outside * total + gap * mass[rarest], preferring, None, rarest)
        down = Loss(
            self.outside * total + gap * mass[most_frequent], self.outside * total, avoiding, None, most_frequent
        )
        return down if down.worse_than(up) else up

    def encode(self) -> codec.Value:
        return [self.family, self.input_count, self.order, self.dimension, self._outside_on_wire()]

    @classmethod
    def from_wire(cls, value: codec.Value) -> ProjectiveResponse:
        _, inputs, order, dimension, outside = codec.fields(value, 5, "a projective channel", ChannelError)
        return cls(
            codec.integer(inputs, "a channel's number of inputs", ChannelError, 2, MAX_VALUES),
            codec.integer(order, "the order of a field", ChannelError, 2, MAX_ORDER),
            codec.integer(dimension, "the number of coordinates", ChannelError, 2, MAX_DIMENSION),
            outside_from_wire(outside),
        )


def geometry_for(input_count: int, order: int, dimension: int) -> ProjectiveGeometry:
    """Return the geometry of a channel: the points are the outputs, the first ``input_count`` points the inputs.

    Raises:
        ChannelError: too few or too many inputs, an invalid order or dimension, or fewer points than inputs.
    """
    if not 2 <= input_count <= MAX_VALUES:
        raise ChannelError(f"a channel must have 2 to {MAX_VALUES} inputs, not {input_count}")
    geometry = ProjectiveGeometry(order, dimension)
    if input_count > geometry.point_count:
        raise ChannelError(
            f"{input_count} inputs need a geometry of {input_count} to {MAX_POINTS} points, not {geometry.point_count}"
        )
    return geometry
