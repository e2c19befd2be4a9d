"""The tally: all that an estimate needs of the reports.

One idea: an output's feature vector is one-hot, so the sum over reports is a count per output, and tallies add.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Tally:
    """Counts of outputs, and what was refused on the way.

    Attributes:
        counts: (m,) integers, the number of accepted outputs y = 0 .. m - 1 of the campaign's channel.
        rejected: envelopes refused for this campaign, by reject class.
        version: version of the study's report table the counts were read from; None outside a study.
    """

    counts: NDArray[np.int64]
    rejected: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    version: int | None = None

    @property
    def reports(self) -> int:
        """n, the number of accepted outputs."""
        return int(self.counts.sum())
