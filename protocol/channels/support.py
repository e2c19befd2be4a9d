"""Support channels: each input prefers a set of outputs, with two weights over 2^128 (SPEC 5.4, 5.5, 5.10, 5.11).

Each input has a set of outputs that are more likely than all others by one factor. The outside weight determines the
inside weight, since a row sums to 2^128. No set contains another, so all pairs of inputs have the same loss. The
families projective, sets and wave define the sets.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from protocol import codec
from protocol.channels.channel import Channel, Loss
from protocol.errors import ChannelError

SCALE = 128
ONE = 1 << SCALE
WEIGHT_BYTES = 16


class SupportChannel(Channel):
    """A channel with Q(y given x) = inside / 2^128 for the outputs that x prefers, outside / 2^128 for the others.

    In the families of sets, one of the others also has the remainder of the row.

    Attributes:
        outside: the weight of an output that the input does not prefer; positive and below ``inside``.
        inside: the weight of an output that the input prefers.
    """

    outside: int
    inside: int
    scale: ClassVar[int] = SCALE
    rand_bytes: ClassVar[int] = SCALE // 8

    def selected(self, inputs: Sequence[int]) -> Sequence[int]:
        return inputs[:2]

    def loss(self, first: Sequence[int], second: Sequence[int]) -> Loss:
        pair = next(((x, other) for x in first for other in second if x != other), None)
        if pair is None:
            return Loss(1, 1, first[0], second[0], 0)
        return Loss(self.inside, self.outside, *pair, self._distinguishing(*pair))

    @abstractmethod
    def _distinguishing(self, x: int, other: int) -> int:
        """Return an output that ``x`` prefers and for which ``other`` has the outside weight."""

    def _outside_on_wire(self) -> codec.Value:
        return self.outside.to_bytes(WEIGHT_BYTES, "big")


def evenly_shared(outside: int, support: int, complement: int) -> int:
    """Return the inside weight with which a row sums to exactly 2^128.

    Args:
        support, complement: the number of outputs that an input prefers, and of outputs that it does not prefer.
    Raises:
        ChannelError: the outside weight is not positive or not below the inside weight, or no integer fills the row.
    """
    inside, remainder = _divided(outside, support, complement)
    if remainder:
        raise ChannelError(
            f"the outside weight must leave a multiple of {support} for the inside weights, but leaves a multiple plus "
            f"{remainder}: choose another outside weight"
        )
    return inside


def shared_out(outside: int, support: int, complement: int, output: str) -> tuple[int, int]:
    """Return the largest inside weight that the outside weights allow, and the remainder of the row, both over 2^128.

    Sometimes no two integer weights fill a row exactly; then one output that the input does not prefer gets the
    remainder.

    Args:
        support, complement: the number of outputs that an input prefers, and of outputs that it does not prefer.
        output: the word for an output in the text of an error.
    Raises:
        ChannelError: the outside weight is not positive or not below the inside weight; or an output with the remainder
            would be more likely than the preferred outputs.
    """
    inside, remainder = _divided(outside, support, complement)
    if remainder > inside - outside:
        raise ChannelError(
            f"the remainder would make a {output} without the true input more likely than one with it: choose another "
            "outside weight"
        )
    return inside, remainder


def _divided(outside: int, support: int, complement: int) -> tuple[int, int]:
    """Return the largest inside weight that the outside weights allow, and the remainder of the row.

    Raises:
        ChannelError: the outside weight is not positive or not below the inside weight.
    """
    inside, remainder = divmod(ONE - complement * outside, support)
    if not 0 < outside < inside:
        raise ChannelError(f"the outside weight must be above 0 and below the inside weight {inside}, not {outside}")
    return inside, remainder


def outside_from_wire(value: codec.Value) -> int:
    """Return the outside weight of a wire form.

    Raises:
        ChannelError: the weight does not have 16 bytes.
    """
    return int.from_bytes(codec.octets(value, "the outside weight", ChannelError, WEIGHT_BYTES), "big")
