"""The matrix of a channel in floats, and the probabilities of a decoder's steps."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from aggregator.families.decoder import BinomialSteps
from protocol.channels import Channel


@lru_cache
def dense(channel: Channel) -> NDArray[np.float64]:
    """Return Q, (k, m), from the integer weights alone; computed once for each channel, and read-only."""
    one = 1 << channel.scale
    Q = np.array(
        [[channel.weight(x, y) / one for y in range(channel.output_count)] for x in range(channel.input_count)]
    )
    Q.flags.writeable = False
    return Q


def step_probabilities(steps: BinomialSteps) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return p* and q*, (k,), the probabilities that the true input and another input reach the step of an input; they
    have no meaning for inputs with several steps."""
    heights = steps.heights.sum(axis=0)
    return (1 - steps.base) / heights, -steps.base / heights
