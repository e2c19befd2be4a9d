"""Estimates of all periods of a campaign as one table for other programs.

The table has a row for each value or district in each period, and in each class if the campaign has classes.
Periods and classes with too few devices are left out; the number of reports in such periods is given.

``document`` makes the rows, and ``tallies`` exports counts instead of estimates.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from aggregator.estimate.classes import signed_of_class
from aggregator.estimate.estimator import estimate
from aggregator.estimate.minimum import error_for_no_part, is_enough
from aggregator.estimate.result import Estimate
from aggregator.estimate.tally import Tally
from aggregator.present.document import estimates_arrow
from protocol.campaign import SignedCampaign


@dataclass(frozen=True)
class ExportedEstimates:
    """The estimates of a campaign, by period and class.

    Attributes:
        estimates: pairs of an estimate and its period. In a campaign with classes, the estimate of everybody
            (class None) comes first in each period.
        withheld: number of reports in periods with fewer devices than the campaign's minimum.
    """

    estimates: tuple[tuple[Estimate, int], ...]
    withheld: int

    @property
    def table(self) -> pa.Table:
        """An Arrow table with a row for each value or district of each estimate."""
        return estimates_arrow(self.estimates)

    @property
    def reports(self) -> int:
        """The number of reports in all periods that have an estimate."""
        return sum(estimate.reports for estimate, _ in self.estimates if estimate.class_name is None)

    @property
    def periods(self) -> int:
        """The number of periods that have an estimate."""
        return len({period for _, period in self.estimates})

    def as_json(self) -> dict[str, Any]:
        """Return a summary of the table."""
        table = self.table
        return {
            "rows": table.num_rows,
            "columns": table.column_names,
            "reports": self.reports,
            "periods": self.periods,
            "withheld": self.withheld,
            "table_version": self.estimates[0][0].version,
        }


def estimates_by_period(
    signed: SignedCampaign, periods: Iterable[int], tallies: Iterable[Tally], method: str | None, confidence: float
) -> ExportedEstimates:
    """Estimate each period, and each class in it.

    Args:
        tallies: the tally of each of ``periods``.
        method, confidence: see ``estimate``.
    Raises:
        NotEnough: no period has the campaign's minimum number of devices.
        MethodRefused, NotInvertible, ValueError: see ``estimate``.
    """
    campaign, withheld = signed.campaign, 0
    estimates: list[tuple[Estimate, int]] = []
    for period, tally in zip(periods, tallies, strict=True):
        if not is_enough(campaign, tally):
            withheld += tally.reports
            continue
        estimates.append((estimate(signed, tally, method=method, confidence=confidence), period))
        for name in campaign.classes:
            restricted, part = signed_of_class(signed, tally, name)
            if is_enough(restricted.campaign, part):
                estimates.append(
                    (estimate(restricted, part, method=method, confidence=confidence, class_name=name), period)
                )
    if not estimates:
        raise error_for_no_part(campaign, "period")
    return ExportedEstimates(tuple(estimates), withheld)
