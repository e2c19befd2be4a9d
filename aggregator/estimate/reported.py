"""The shares that an estimate reports, as they follow from the shares of the channel's inputs.

Of most domains they are the same. Of item sets the inputs are m items and l dummies, of which a device tells one; the
estimate reports the share of people who hold each item, which is l times the share of people who told it, and nothing
of the dummies. Errors stated before anybody has answered, and those of an estimate, are both of these shares.

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

        Of item sets each input is decoded by itself: their holders' shares have no known sum, and what the sum of what
        was told adds is a part 1 / (m + l) of the variance.
        """
        decoder = decoder_of(channel, reference)
        return decoder.plain if self.factor > 1 else decoder

    def shares(self, column: Floats) -> Floats:
        """(k,) shares, standard errors or ends of intervals -> (count,) those that are reported."""
        return column[: self.count] * self.factor

    def possible(self, shares: Floats) -> Floats:
        """(count,) the same shares, none above one: a law of what is told may say more of an item than people hold."""
        return np.minimum(shares, 1.0) if self.factor > 1 else shares

    def squared_error(self, variances: Floats) -> float:
        """(k,) variances of the inputs' shares -> the expected squared error of the reported ones, summed."""
        return float(variances[: self.count].sum()) * self.factor**2
