"""The shares that an estimate reports, as they follow from the shares of the channel's inputs.

For most domains they are the same. For item sets the inputs are m items and l dummies, and a device samples one of
them. The estimate reports the share of people who hold each item, which is l times the share of reports of the item,
and omits the dummies. Expected errors and estimated errors both refer to these shares.

How a device chooses what it tells: protocol.domain.items.
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
    """Which inputs an estimate reports, and by what their shares are multiplied.

    Attributes:
        count: the first so many inputs: all k, of item sets the m items.
        factor: 1, of item sets the padding l. Sets larger than l count for less, so holders are underestimated where
            there are many of them.
    """

    count: int
    factor: int = 1

    @classmethod
    def of(cls, domain: Domain) -> Reported:
        """The shares that are reported of the answers of ``domain``."""
        return cls(domain.count, domain.padding) if isinstance(domain, Items) else cls(domain.size)

    def reader(self, channel: Channel, reference: Sequence[float] | Floats | None = None) -> Decoder:
        """The decoder of ``channel`` from which these shares are estimated; ``reference`` as of ``decoder_of``.

        For item sets each input is decoded by itself: the shares of holders have no known sum, and the known sum of the
        sampled inputs would save only a fraction 1 / (m + l) of the variance.
        """
        decoder = decoder_of(channel, reference)
        return decoder.plain if self.factor > 1 else decoder

    def shares(self, column: Floats) -> Floats:
        """(k,) shares, standard errors or ends of intervals -> (count,) those that are reported."""
        return column[: self.count] * self.factor

    def possible(self, shares: Floats) -> Floats:
        """(count,) the same shares, clipped to at most one; l times a share of reports may exceed one."""
        return np.minimum(shares, 1.0) if self.factor > 1 else shares

    def squared_error(self, variances: Floats) -> float:
        """(k,) variances of the inputs' shares -> the expected squared error of the reported ones, summed."""
        return float(variances[: self.count].sum()) * self.factor**2
