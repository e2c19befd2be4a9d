"""The tally: all that an estimate needs of the reports.

What is counted are features, which output a report has or which of its bits are set; so tallies add. Devices with
different views answer different questions, so each view has a tally of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        counts: (m,) accepted outputs that have each feature of the channel.
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

    @property
    def by_view(self) -> tuple[Tally, ...]:
        """The tally of each view of the campaign, in their order; of a plain campaign this one."""
        return (self,)

    @property
    def correlated(self) -> Groups | None:
        """The groups, if some device has several reports, which are then correlated; None if all are independent."""
        return self.groups if self.groups is not None and self.groups.most > 1 else None


@dataclass(frozen=True)
class ViewsTally(Tally):
    """The tallies of several views.

    Attributes:
        counts: those of all views, one after another.
        reports: the accepted outputs of all views.
        groups: None; the tally of each view has its own.
        parts: the tally of each view, without reports where nobody with that view has answered.
    """

    parts: tuple[Tally, ...] = field(kw_only=True)

    @classmethod
    def of_parts(cls, parts: Sequence[Tally], rejected: Mapping[str, int], version: int | None) -> ViewsTally:
        """The tally of views that have these tallies.

        Args:
            rejected, version: as of ``Tally``.
        """
        counts = np.concatenate([part.counts for part in parts])
        return cls(counts, sum(part.reports for part in parts), rejected, version, parts=tuple(parts))

    @property
    def by_view(self) -> tuple[Tally, ...]:
        return self.parts
