"""The tally: the counts from which an estimate is computed.

A tally counts features: the output of a report, or the bits that are set in the report. So tallies can be added.
Devices with different views answer different questions, so each view has its own tally.
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
    """Counts of features and of refused envelopes.

    Attributes:
        counts: (m,) the number of accepted outputs with each feature of the channel.
        reports: n, the number of accepted outputs, in bundles or not; with transcripts, the number of devices.
        refused: the number of envelopes refused for this campaign, by reason.
        version: the version of the study's report table from which the counts were read; None outside a study.
        groups: the same counts by group of devices; None if each device has one output and tallies are not compared.
    """

    counts: NDArray[np.int64]
    reports: int
    refused: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    version: int | None = None
    groups: Groups | None = field(default=None, kw_only=True)

    @classmethod
    def of(cls, counts: NDArray[np.int64]) -> Tally:
        """Return the tally of a channel in which the only feature of a report is its output."""
        return cls(counts, int(counts.sum()))

    @property
    def by_view(self) -> tuple[Tally, ...]:
        """The tally of each view, in the order of the campaign; for a campaign without views, this tally alone."""
        return (self,)

    @property
    def correlated(self) -> Groups | None:
        """The groups if a device has several reports, which are then correlated; None if reports are independent."""
        return self.groups if self.max_outputs > 1 else None

    @property
    def max_outputs(self) -> int:
        """The largest number of outputs of one device; 1 if every device has one report."""
        return 1 if self.groups is None else max(self.groups.max_outputs, 1)


@dataclass(frozen=True)
class ViewsTally(Tally):
    """Tallies of several views.

    Attributes:
        counts: the counts of all views, concatenated.
        reports: the number of accepted outputs of all views.
        groups: None, because the tally of each view has groups.
        parts: the tally of each view, which may have no reports.
    """

    parts: tuple[Tally, ...] = field(kw_only=True)

    @classmethod
    def of_parts(cls, parts: Sequence[Tally], refused: Mapping[str, int], version: int | None) -> ViewsTally:
        """Return the tally of several views.

        Args:
            parts: the tally of each view.
            refused, version: see ``Tally``.
        """
        counts = np.concatenate([part.counts for part in parts])
        return cls(counts, sum(part.reports for part in parts), refused, version, parts=tuple(parts))

    @property
    def by_view(self) -> tuple[Tally, ...]:
        return self.parts
