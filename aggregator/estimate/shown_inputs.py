"""Conversion of the shares of a channel's inputs to the shares that an estimate shows.

For most domains both are the same. For item sets the inputs are m items and l dummies, and a device samples one of its
items and dummies. The estimate shows the share of people who have each item, which is l times the share of the item
among the sampled inputs, and omits the dummies. Expected errors and standard errors refer to the shown shares.

``protocol.domain.items`` describes how a device samples an item.
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
class ShownInputs:
    """The number of inputs whose shares an estimate shows, and the factor by which their shares are multiplied.

    Attributes:
        count: the number of shown inputs, which are the first inputs: all k, or the m items of item sets.
        factor: 1, or for item sets the padding l. Sets with more than l items are truncated to l, so the shares of
            people with an item are too low if there are many larger sets.
    """

    count: int
    factor: int = 1

    @classmethod
    def of(cls, domain: Domain) -> ShownInputs:
        """Return the number of shown inputs and their factor for a domain."""
        return cls(domain.item_count, domain.padding) if isinstance(domain, Items) else cls(domain.size)

    def decoder(self, channel: Channel, reference: Sequence[float] | Floats | None = None) -> Decoder:
        """Return the decoder with which the shown shares are estimated.

        For item sets padded to two or more items, each input is decoded by itself. The shares of people who have each
        item have no known sum, and the known sum of the sampled inputs would reduce the variance only by a part
        1 / (m + l).

        Args:
            channel, reference: see ``decoder_of``.
        """
        decoder = decoder_of(channel, reference)
        return decoder.uncorrected if self.factor > 1 else decoder

    def shares(self, column: Floats) -> Floats:
        """Return the shown numbers, (count,), from shares, standard errors or interval ends of the inputs, (k,)."""
        return column[: self.count] * self.factor

    def possible(self, shares: Floats) -> Floats:
        """Return the shown shares, (count,), clipped to one for item sets, where l times a share may exceed one."""
        return np.minimum(shares, 1.0) if self.factor > 1 else shares

    def squared_error(self, variances: Floats) -> float:
        """Return the expected squared error summed over the shown shares, from the variances of the inputs' shares,
        (k,)."""
        return float(variances[: self.count].sum()) * self.factor**2
