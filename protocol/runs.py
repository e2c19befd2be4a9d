"""Runs: the block of each input, as (block, length) pairs in input order (SPEC 5.7).

A partition has one canonical form: blocks are numbered in order of first appearance, runs are not empty, and
neighbouring runs belong to different blocks. So equal partitions have equal bytes, and a map of 43,750 cells in blocks
takes a few kilobytes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from protocol import codec
from protocol.domain import MAX_VALUES

Runs: TypeAlias = tuple[tuple[int, int], ...]


def runs_of(blocks: Iterable[int], known: int = 0) -> Runs:
    """Return the runs of a partition given as one block number per input.

    Args:
        blocks: the block number of each input; numbers from ``known`` on are renumbered by first appearance.
        known: the number of blocks that keep their numbers, 0 .. ``known`` - 1.
    """
    numbers = {number: number for number in range(known)}
    runs: list[tuple[int, int]] = []
    for block in blocks:
        number = numbers.setdefault(block, len(numbers))
        if runs and runs[-1][0] == number:
            runs[-1] = (number, runs[-1][1] + 1)
        else:
            runs.append((number, 1))
    return tuple(runs)


def require_runs(runs: Runs, known: int, error: type[Exception]) -> None:
    """Refuse runs that are not canonical.

    Args:
        known: the number of first blocks (0 .. ``known`` - 1) that may appear in any order.
        error: the class to raise.
    Raises:
        error: blocks out of order, two neighbouring runs of one block, or an empty run.
    """
    highest, before = known - 1, None
    for block, length in runs:
        if not 0 <= block <= highest + 1:
            raise error(
                f"block {block} is out of order: blocks must be numbered from {known} in order of first appearance"
            )
        if block == before:
            raise error(f"two neighbouring runs belong to block {block}: write them as one run")
        if length < 1:
            raise error(f"a run of block {block} has no inputs: leave it out")
        highest, before = max(highest, block), block


def members_of(runs: Runs) -> tuple[Sequence[int], ...]:
    """Return the inputs of each block, block 0 first, as arrays that take at most 8 bytes for an input."""
    members = [array("L") for _ in range(1 + max((block for block, _ in runs), default=-1))]
    x = 0
    for block, length in runs:
        members[block].extend(range(x, x + length))
        x += length
    return tuple(members)


def blocks_of(runs: Runs) -> Sequence[int]:
    """Return the block of each input, as an array that takes at most 8 bytes for an input."""
    blocks = array("L")
    for block, length in runs:
        blocks.extend(array("L", [block]) * length)
    return blocks


def encode(runs: Runs) -> codec.Value:
    """Return the wire form of runs: block, length, block, length, ..."""
    return [number for run in runs for number in run]


def decode(value: codec.Value, error: type[Exception]) -> Runs:
    """Return the runs of a wire form. Whether they are canonical is not checked.

    Args:
        error: the class to raise.
    Raises:
        error: the wire form is not pairs of integers, or has more than ``MAX_VALUES`` inputs.
    """
    flat = codec.integers(value, "the block or length of a run", error, 0, MAX_VALUES)
    if len(flat) % 2:
        raise error(f"runs must be pairs of a block and a length, so an even number of integers, not {len(flat)}")
    if sum(flat[1::2]) > MAX_VALUES:
        raise error(f"runs must have at most {MAX_VALUES} inputs, not {sum(flat[1::2])}")
    return tuple(zip(flat[::2], flat[1::2], strict=True))
