"""A channel as a matrix of floats."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from protocol.channels import Channel


def dense(channel: Channel) -> NDArray[np.float64]:
    """Q, (k, m), from the weights alone."""
    one = 1 << channel.scale
    return np.array([[channel.weight(x, y) / one for y in range(channel.outputs)] for x in range(channel.inputs)])
