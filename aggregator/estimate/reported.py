"""The shares that an estimate reports, computed from the shares of the channel's inputs.

For most domains they are the same. For item sets the inputs are m items and l dummies, and a device samples one of
them. The estimate reports the share of people who hold each item, which is l times the share of the item among the
sampled inputs, and omits the dummies. Expected errors and standard errors both refer to these shares.

How a device samples an item: protocol.domain.items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aggregator.families.decoder import Decoder, Floats
from aggregator.families.registry import decoder_of
from protocol.channels import Channel
from protocol.domain import Domain, Items


@dataclass(frozen=True)
class Reported:
    """The number of inputs that an estimate reports, and the factor of their shares.

    Attributes:
        count: the number of reported inputs, which come first: all k; for item sets the m items.
        factor: 1; for item sets the padding l. Larger sets are truncated to l, so with many of them the shares of
            holders are underestimated.
    """

    count: int
    factor: int = 1

    @classmethod
    def of(cls, domain: Domain) -> Reported:
        """Return the shares that are reported for a domain."""
        return cls(domain.count, domain.padding) if isinstance(domain, Items) else cls(domain.size)

    def reader(self, channel: Channel, reference: Sequence[float] | Floats | None = None) -> Decoder:
        """Return the decoder from which these shares are estimated.

        For item sets each input is decoded by itself: the shares of holders have no known sum, and the known sum of the
        sampled inputs would save only a fraction 1 / (m + l) of the variance.

        Args:
            channel, reference: as of ``decoder_of``.
        """
        decoder = decoder_of(channel, reference)
        return decoder.plain if self.factor > 1 else decoder

    def shares(self, column: Floats) -> Floats:
        """Return (count,) the reported numbers from (k,) shares, standard errors or ends of intervals of the inputs."""
        return column[: self.count] * self.factor

    def possible(self, shares: Floats) -> Floats:
        """Return (count,) the same shares, clipped to one for item sets, where l times a share may exceed one."""
        return np.minimum(shares, 1.0) if self.factor > 1 else shares

    def squared_error(self, variances: Floats) -> float:
        """Return the summed squared error of the reported shares from (k,) variances of the inputs' shares."""
        return float(variances[: self.count].sum()) * self.factor**2
