"""The windows channel against brute force: weights, draws, losses and forms (SPEC 5.9)."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator

import pytest

from protocol.channels.windows.arrangement import Single, WindowType
from protocol.channels.windows.channel import ONE, Windows
from protocol.channels.windows.loss import InputGroups
from tests.families.windows import random_windows
from tests.protocol.test_channels import ChannelProperties

SEED = 20260101


GRID: dict[str, Windows] = {
    "one cell": random_windows(4, 2, 0, 1, 1, 2, SEED),
    "one arc": random_windows(5, 3, 1, 3, 2, 2, SEED + 1),
    "only rare inputs": random_windows(6, 0, 0, 8, 2, 2, SEED + 2),
    "arcs longer than cells": random_windows(5, 1, 1, 16, 2, 3, SEED + 3),
    "cells longer than arcs": random_windows(20, 2, 2, 3, 4, 3, SEED + 4),
    "aligned": Windows((5,) * 6, 6, 2, (), (), (WindowType(2, ONE // 13, ONE // 30, 0, ()),)),
    "inputs of every kind": random_windows(12, 3, 2, 7, 4, 4, SEED + 5),
    "all singles": Windows((0, 0, 0), 1, 1, (), tuple(Single(x, ONE // 2, ONE // 5) for x in range(3)), ()),
    **{f"random {n}": random_windows(9, n % 3, n % 2, 2 + n, 1 << n % 3, 1 + n % 4, SEED + 10 + n) for n in range(9)},
}


@pytest.mark.parametrize("channel", GRID.values(), ids=GRID)
class TestWindows(ChannelProperties):
    """The properties of every channel, over this grid."""


def runs(channel: Windows, x: int, rest_of_rand: bytes) -> Iterator[tuple[int, int]]:
    """Yield (output, draws) for runs of first draws with the same output, by bisection. An output has one run, except
    that the output of a single value has two runs for this value, between which the draws are split."""
    own = {single.x: single.own_weight - single.other_weight for single in channel.singles}
    types = channel._ends[channel._kind_of(x)]
    low = 0
    for stop in ((types or (0,))[-1] + own.get(x, 0), ONE):
        while low < stop:
            y = channel.sample(x, low.to_bytes(8, "big") + rest_of_rand)
            end, beyond = low, stop
            while beyond - end > 1:
                middle = (end + beyond) // 2
                if channel.sample(x, middle.to_bytes(8, "big") + rest_of_rand) == y:
                    end = middle
                else:
                    beyond = middle
            yield y, beyond - low
            low = beyond


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["one cell", "one arc", "arcs longer than cells", "aligned", "inputs of every kind", "all singles", "random 5"],
)
def test_sample_has_the_weights(name: str) -> None:
    """The number of draws that give an output, found by bisection in both random numbers and for every order, equals
    its weight exactly."""
    channel = GRID[name]
    for x in range(channel.input_count):
        counts: Counter[int] = Counter()
        for order in range(channel.orders):
            borders = sorted({0, ONE, *(channel.circle.points_before(order, x, j) if channel.arcs[x] else 0
                                        for j in range(1, channel.cells))})  # fmt: skip
            for low, high in itertools.pairwise(borders):
                tails = [point.to_bytes(8, "big") + bytes([order + 128]) for point in (low, high - 1)]
                start = 0
                for y, count in runs(channel, x, tails[0]):
                    counts[y] += count * (high - low)
                    # All points between two borders have the same runs.
                    for draw in (start, start + count - 1):
                        assert channel.sample(x, draw.to_bytes(8, "big") + tails[1]) == y
                    start += count
        assert [counts[y] for y in range(channel.output_count)] == [
            channel.weight(x, y) for y in range(channel.output_count)
        ]


@pytest.mark.parametrize("name", [name for name, channel in GRID.items() if channel.types])
def test_the_largest_covered_part_is_the_maximum_over_arcs(name: str) -> None:
    """For every tested set of arcs, span and window, the largest covered part equals the maximum over single arcs."""
    channel, draw = GRID[name], random.Random(SEED)
    rare = [x for x, arc in enumerate(channel.arcs) if arc]
    for members in [rare, *([x] for x in rare), *(draw.sample(rare, draw.randint(1, len(rare))) for _ in rare)]:
        for order in range(channel.orders):
            coverage = channel.circle.coverage(order, InputGroups.of(channel, members).rare)
            for span in range(channel.cells + 1):
                assert coverage.largest_parts(span) == [
                    max(channel.circle.covered(order, x, window, span) for x in members)
                    for window in range(channel.cells)
                ]


def test_orders_are_public_permutations() -> None:
    """Every order contains every rare input once, orders differ, and both orders of four arcs are the expected ones."""
    channel = random_windows(50, 3, 2, 7, 8, 1, SEED)
    rare = [x for x, arc in enumerate(channel.arcs) if arc]
    sequences = [tuple(channel.circle.layout(order).sequence) for order in range(8)]
    assert all(sorted(sequence) == rare for sequence in sequences)
    assert len(set(sequences)) == 8
    small = Windows((1, 1, 1, 1), 2, 2, (), (), (WindowType(1, 2, 1, 0, ()),))
    assert [list(small.circle.layout(order).sequence) for order in range(2)] == [[1, 3, 0, 2], [2, 0, 1, 3]]
