"""The matrix of a channel in floats."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

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
