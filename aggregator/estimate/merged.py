"""The reports on ordered numbers and their channel as a matrix, neighbours merged where there are many.

Reports of a wave do not say more than a part of the range. So from ``MOST_BLOCKS`` numbers on, neighbouring numbers are
one block, in which people are spread evenly, and neighbouring outputs are counted together. Without blocks it is the
channel itself.

Which distribution is made of it: smoothed. Which masses it admits: profile.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggregator.families.decoder import Decoder, Floats, Integers

MOST_BLOCKS = 512


@dataclass(frozen=True)
class Merged:
    """The reports on ordered numbers, block by block.

    Attributes:
        ends: (K,) for each block the first number after it; the last is k.
        channel: (K, M) the probability of each block of outputs, people spread evenly over a block of numbers; of
            outputs that came.
        counts: (M,) the reports in each block of outputs, above zero.
    """

    ends: Integers
    channel: Floats
    counts: Integers

    @classmethod
    def of(cls, decoder: Decoder, counts: Integers, most: int = MOST_BLOCKS) -> Merged:
        """The reports of a channel whose outputs lie on the line of its inputs.

        Args:
            counts: (m,) how often each output came, some of them above zero.
            most: blocks, at most.
        """
        k = decoder.inputs
        blocks = min(k, most)
        ends = np.arange(1, blocks + 1) * k // blocks
        starts = np.arange(0, decoder.features, max(k // blocks, 1))
        merged = np.add.reduceat(counts, starts)
        came = merged > 0
        channel = np.empty((blocks, int(came.sum())))
        for block, (first, end) in enumerate(zip(np.r_[0, ends[:-1]], ends, strict=True)):
            people = np.zeros(k)
            people[first:end] = 1 / (end - first)
            channel[block] = np.add.reduceat(decoder.forward(people), starts)[came]
        return cls(ends, channel, merged[came])

    @property
    def blocks(self) -> int:
        """K."""
        return len(self.ends)

    @property
    def sizes(self) -> Integers:
        """(K,) how many numbers are in each block."""
        sizes: Integers = np.diff(self.ends, prepend=0)
        return sizes

    def spread(self, p: Floats) -> Floats:
        """(K,) shares of the blocks -> (k,) shares of the numbers, even within a block."""
        each: Floats = np.repeat(p / self.sizes, self.sizes)
        return each
