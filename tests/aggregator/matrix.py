"""The matrices of a channel and of its decoder in floats, and the probabilities of a decoder's steps."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from aggregator.families.decoder import BinomialSteps, Decoder
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


@lru_cache
def features_of(channel: Channel) -> NDArray[np.int64]:
    """Return the features of each output, (m, features): the bits of a word, the most significant first, or the output
    itself."""
    if not channel.unary:
        return np.eye(channel.output_count, dtype=np.int64)
    return np.arange(channel.output_count)[:, np.newaxis] >> np.arange(channel.input_count)[::-1] & 1


def left_inverse(decoder: Decoder) -> NDArray[np.float64]:
    """Return L, (features, k): ``adjoint`` of every unit vector."""
    return np.array([decoder.adjoint(unit) for unit in np.eye(decoder.input_count)]).T


def step_probabilities(steps: BinomialSteps) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return p* and q*, (k,), the probabilities that the true input and another input reach the step of an input; they
    have no meaning for inputs with several steps."""
    heights = steps.heights.sum(axis=0)
    return (1 - steps.base) / heights, -steps.base / heights
