"""The decoder of noise, which uses the inverse of the channel's square matrix, up to a maximum size.

Noise has as many outputs as inputs, so the only left inverse is the inverse of the matrix. For discrete Laplace noise
the matrix is well-conditioned. For a smooth distribution such as the Gaussian the matrix is not well-conditioned, and
no unbiased estimate is computed.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from aggregator.families.decoder import Floats, NotInvertible
from aggregator.families.table.decoder import SINGULAR, TableDecoder
from protocol.channels.noise.channel import Noise

MAX_INVERTED = 2048


class NoiseDecoder(TableDecoder):
    """Decoder that stores Q, at most 2^24 numbers, and for at most ``MAX_INVERTED`` points the inverse L of Q."""

    def __init__(self, channel: Noise) -> None:
        self.input_count, self.features = channel.input_count, channel.output_count
        unit = 1 << channel.scale
        columns = [[weight / unit for weight in channel.column(y)] for y in range(channel.output_count)]
        self._distribution: Floats = np.ascontiguousarray(np.array(columns).T)

    @cached_property
    def _inverse(self) -> Floats:
        if self.input_count > MAX_INVERTED:
            raise NotInvertible(
                f"no unbiased estimate is computed for noise over {self.input_count} points, only for at most "
                f"{MAX_INVERTED}. Use method 'em'"
            )
        try:
            inverse = np.asarray(np.linalg.inv(self._distribution), dtype=np.float64)
        except np.linalg.LinAlgError:
            inverse = np.full_like(self._distribution, np.inf)
        # The product of the two norms is the condition number in the 1-norm.
        if not np.abs(self._distribution).sum(axis=0).max() * np.abs(inverse).sum(axis=0).max() < 1 / SINGULAR:
            raise NotInvertible(
                f"the noise is too smooth for its {self.input_count} points, so there is no unbiased estimate: use "
                "method 'em'. A new campaign with fewer points, or with discrete Laplace noise, may have an "
                "unbiased estimate"
            )
        return inverse
