"""The test material of a family: channels of every shape, refused ones, and a second decoder written from SPEC alone.

Vectors that are only written by the code do not show that the code follows the text. The second decoder is written
from SPEC 5 alone, with lists and loops. If it gives the same weights and draws, the text is sufficient for an
independent implementation. It is slow and refuses nothing; the negative vectors cover refusals. Weights are computed
from closed forms and integer levels, like an author's; they need not be those of the best mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from protocol import exact
from protocol.channels import Channel
from protocol.notions import Notion

ONE = 1 << 64
WIDE = 1 << 128
STEPS = 1 << 62
NAT = exact.NANONATS
MOST = exact.MAX_LEVEL
EXP_ONE = 1 << exact.EXP_BITS
SEED = 20260101


@dataclass(frozen=True)
class DecodedChannel:
    """A channel in the terms of SPEC 5: its sizes, its weights, and the output for an input and random bytes."""

    input_count: int
    output_count: int
    scale: int
    rand_bytes: int
    weight: Callable[[int, int], int]
    sample: Callable[[int, bytes], int]


@dataclass(frozen=True)
class Shapes:
    """The test material of a family.

    Attributes:
        rands: a function of a channel and an input that returns byte strings for draws: the ends of the range, and the
            two numbers at each threshold.
        second_decoder: computes the channel that the fields of a wire form describe, without ``protocol``.
        small: channels whose vectors list every weight.
        large: channels whose vectors list only the weights of the given cells.
        refused: wire forms that must be refused.
        more: further small channels for the tests of all families, besides those of the vectors.
        drawn: large channels whose draws are compared with their weights.
        costly: small channels of the shape with the costliest audit, each with a notion.
        one_run: whether the values of the one large random integer that give an output are adjacent.
    """

    rands: Callable[[Any, int], list[bytes]]
    second_decoder: Callable[..., DecodedChannel]
    small: dict[str, Channel] = field(default_factory=dict)
    large: dict[str, tuple[Channel, list[tuple[int, int]]]] = field(default_factory=dict)
    refused: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Channel] = field(default_factory=dict)
    drawn: dict[str, Channel] = field(default_factory=dict)
    costly: dict[str, tuple[Notion, Channel]] = field(default_factory=dict)
    one_run: bool = False


def outside_of(level: int, having: int, lacking: int) -> int:
    """Return ceil(2^128 / (having * e^level + lacking)): the weight of an output without the true input."""
    return -(-(WIDE << exact.EXP_BITS) // (exact.exp_lower(level) * having + EXP_ONE * lacking))


def edges(lengths: Iterable[int], stop: int) -> list[int]:
    """Return the last number of every interval from 0 on, the first number of the next interval, and both ends of 0 ..
    stop - 1."""
    ends = accumulate(lengths)
    return sorted({0, stop - 1} | {edge for end in ends for edge in (end - 1, end) if 0 <= edge < stop})


def at_edges(lengths: Callable[[Any, int], list[int]]) -> Callable[[Any, int], list[bytes]]:
    """Return ``rands`` of a family that draws one integer.

    Args:
        lengths: the number of values of the integer, from 0 on, that give each output or step at an input, in the order
            of SPEC 5.
    """

    def rands(channel: Channel, x: int) -> list[bytes]:
        width = channel.rand_bytes
        return [edge.to_bytes(width, "big") for edge in edges(lengths(channel, x), 1 << 8 * width)]

    return rands


def big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def first_above(number: int, lengths: Iterable[int]) -> int:
    """Return the smallest index at which ``number`` is below the sum of the lengths up to it."""
    return next(place for place, end in enumerate(accumulate(lengths)) if number < end)


def of_runs(runs: list[int]) -> list[int]:
    return [block for block, length in zip(runs[::2], runs[1::2], strict=True) for _ in range(length)]
