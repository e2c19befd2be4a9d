"""Reports on ordered numbers, and their channel as a matrix in which neighbouring numbers may be merged.

A report of the wave mechanism locates a number only within a part of the range. So if there are more numbers than the
maximum number of blocks (by default ``MAX_BLOCKS``), neighbouring numbers form a block, inside which the shares are
assumed to be equal, and neighbouring outputs are counted together. Otherwise every block contains one number.

``smoothed`` estimates the distribution, and ``profile`` the intervals of the shares of ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from aggregator.families.decoder import Decoder, Floats, Integers

MAX_BLOCKS = 512


@dataclass(frozen=True)
class NumberBlocks:
    """Blocks of neighbouring numbers.

    Attributes:
        ends: (K,) for each block the index of the first number after the block; the last is k.
    """

    ends: Integers

    @property
    def sizes(self) -> Integers:
        """The count of numbers in each block, shape (K,)."""
        return np.diff(self.ends, prepend=0)

    def of_numbers(self, p: Floats) -> Floats:
        """Return the shares of the numbers, shape (k,), from the shares of the blocks, (K,), spread equally within a
        block."""
        return np.repeat(p / self.sizes, self.sizes)


@dataclass(frozen=True)
class MergedChannel(NumberBlocks):
    """A channel with ordered inputs and outputs, both merged into blocks.

    Attributes:
        starts: (M',) the first output of each block of outputs.
        channel: (K, M') the probability of each block of outputs if the numbers of the input block are equally
            frequent.
    """

    starts: Integers
    channel: Floats

    @classmethod
    def of(cls, decoder: Decoder, max_blocks: int) -> MergedChannel:
        """Return the channel of a decoder, merged into at most ``max_blocks`` blocks of inputs."""
        k = decoder.input_count
        blocks = min(k, max_blocks)
        ends = np.arange(1, blocks + 1) * k // blocks
        starts = np.arange(0, decoder.features, max(k // blocks, 1))
        channel = np.empty((blocks, len(starts)))
        for block, (first, end) in enumerate(zip(np.r_[0, ends[:-1]], ends, strict=True)):
            people = np.zeros(k)
            people[first:end] = 1 / (end - first)
            channel[block] = np.add.reduceat(decoder.forward(people), starts)
        return cls(ends, starts, channel)

    def merged(self, counts: Integers) -> MergedReports:
        """Return the merged reports of this channel, from the counts of outputs, (m,), which must not all be zero."""
        merged = np.add.reduceat(counts, self.starts)
        came = merged > 0
        return MergedReports(self.ends, np.ascontiguousarray(self.channel[:, came]), merged[came])


@dataclass(frozen=True)
class MergedReports(NumberBlocks):
    """Reports on ordered numbers, merged into blocks.

    Attributes:
        channel: (K, M) the probability of each block of outputs that occurred, if the numbers of the input block are
            equally frequent; for C classes of people (C K, M), class after class.
        counts: (M,) the number of reports in each block of outputs, above zero.
        weights: (C,) the known shares of the classes, with the sum one; None for a single class, or if each class
            counts for its share of the reports.
    """

    channel: Floats
    counts: Integers
    weights: Floats | None = None

    @classmethod
    def of(cls, decoder: Decoder, counts: Integers, max_blocks: int = MAX_BLOCKS) -> MergedReports:
        """Return the merged reports of a channel with ordered inputs and outputs.

        Args:
            decoder: the decoder of the channel.
            counts: (m,) the number of reports with each output, not all zero.
            max_blocks: the largest number of blocks.
        """
        return MergedChannel.of(decoder, max_blocks).merged(counts)

    @classmethod
    def joined(cls, classes: Sequence[MergedReports], weights: Floats | None = None) -> MergedReports:
        """Return the merged reports of several classes of people, each with its own channel.

        Args:
            classes: the merged reports of each class, over the same blocks; at least one class.
            weights: (C,) the known shares of the classes, with the sum one.
        """
        channel = block_diag(*(merged.channel for merged in classes))
        return cls(classes[0].ends, channel, np.concatenate([merged.counts for merged in classes]), weights)

    @property
    def classes(self) -> int:
        """Number of classes, C."""
        return len(self.channel) // len(self.ends)

    @property
    def blocks(self) -> int:
        """Number of blocks, K."""
        return len(self.ends)
