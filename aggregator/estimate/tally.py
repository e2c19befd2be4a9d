"""The tally: all that an estimate needs of the reports.

What is counted are features, which output a report has or which of its bits are set; so tallies add.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from aggregator.estimate.groups import Groups


@dataclass(frozen=True)
class Tally:
    """Counts of features, and what was refused on the way.

    Attributes:
        counts: (m,) accepted outputs that have each feature of the campaign's channel.
        reports: n, accepted outputs.
        rejected: envelopes refused for this campaign, by reject class.
        version: version of the study's report table the counts were read from; None outside a study.
        groups: the same counts by group of devices; None where each device has one output, and nothing is compared.
    """

    counts: NDArray[np.int64]
    reports: int
    rejected: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    version: int | None = None
    groups: Groups | None = field(default=None, kw_only=True)

    @classmethod
    def of(cls, counts: NDArray[np.int64]) -> Tally:
        """The tally of a channel whose reports have one feature each, their output."""
        return cls(counts, int(counts.sum()))
