"""The vectors of channels (SPEC 5), from the channels of all families in tests/families.

A channel is a matrix and a sampling function of random bytes. A case lists the matrix, and draws on both sides of every
threshold of the function. Cases of large channels list a part of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from protocol import codec
from protocol.channels import Channel
from tests.families import CHANNELS, SHAPES
from tests.families.shapes import STEPS
from tests.vectors.case import Case, number, wire

NO_FAMILY = {
    "not an array": 1,
    "empty": [],
    "unknown family": ["gaussian", 1],
    "family as bytes": [b"table", [[STEPS, 0], [0, STEPS]]],
}


def channel_cases() -> Iterator[Case]:
    for name, channel in CHANNELS.items():
        rands = SHAPES[channel.family].rands
        yield {
            **_described(name, channel),
            "weights": [
                [str(channel.weight(x, y)) for y in range(channel.output_count)] for x in range(channel.input_count)
            ],
            "draws": _draws(channel, ((x, rand) for x in _some_inputs(channel, 7) for rand in rands(channel, x))),
        }
    for name, (channel, cells) in chain(*(shapes.large.items() for shapes in SHAPES.values())):
        count = channel.rand_bytes
        three = [bytes(count), bytes([255] * count), (bytes(range(count % 256)) * 256)[:count]]
        yield {
            **_described(name, channel),
            "some_weights": [{"input": x, "output": number(y), "weight": str(channel.weight(x, y))} for x, y in cells],
            "draws": _draws(channel, ((x, rand) for x in _some_inputs(channel, 0) for rand in three)),
        }
    for name, value in chain(NO_FAMILY.items(), *(shapes.refused.items() for shapes in SHAPES.values())):
        yield {"name": name, "wire": wire(value), "stage": "channel"}


def _described(name: str, channel: Channel) -> Case:
    return {
        "name": name,
        "wire": codec.encode(channel.encode()).hex(),
        "input_count": channel.input_count,
        "output_count": number(channel.output_count),
        "output_bits": channel.output_bits,
        "features": channel.features,
        "scale": channel.scale,
        "rand_bytes": channel.rand_bytes,
    }


def _draws(channel: Channel, draws: Iterable[tuple[int, bytes]]) -> list[Case]:
    return [{"input": x, "rand": rand.hex(), "output": number(channel.sample(x, rand))} for x, rand in draws]


def _some_inputs(channel: Channel, most: int) -> Sequence[int]:
    """Return all inputs, or three of them if there are more than ``most``."""
    return (
        range(channel.input_count)
        if channel.input_count <= most
        else (0, channel.input_count // 2, channel.input_count - 1)
    )
