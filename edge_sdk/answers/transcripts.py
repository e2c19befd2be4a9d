"""The transcripts of one store: the earlier reports of campaigns whose next channel depends on them.

A transcript is not secret from the study, which has its reports. The device stores it because the channel of the next
report depends on it. Periods must increase: a study could not decode a second report for a period, or one for an
earlier period.

campaigns/joined and protocol.notions.transcript derive the channel from the earlier reports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edge_sdk.store.sqlite import Store
from protocol.errors import OutsideSchedule

# At run time, these are imported only with the first campaign.
if TYPE_CHECKING:
    from edge_sdk.campaigns.joined import Joined


class Transcripts:
    """The transcripts of one store. ``number`` is the store's number of a campaign; writes join the caller's
    transaction."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def of(self, number: int) -> list[tuple[int, bytes]]:
        """Return (period, packed output) of each report, in order."""
        query = "SELECT period, y FROM transcript WHERE campaign = ? ORDER BY period"
        return [(int(period), bytes(packed)) for period, packed in self.store.rows(query, number)]

    def add(self, number: int, period: int, packed: bytes) -> None:
        """Append one report."""
        self.store.execute("INSERT INTO transcript VALUES (?, ?, ?)", number, period, packed)

    def forget(self, number: int) -> None:
        """Delete a campaign's transcript."""
        self.store.execute("DELETE FROM transcript WHERE campaign = ?", number)


def for_report(joined: Joined, earlier: list[tuple[int, bytes]], period: int) -> Joined:
    """Return the campaign with the channel for a report in ``period``.

    Args:
        earlier: (period, packed output) of the device's earlier reports, by increasing period.
    Raises:
        OutsideSchedule: the latest report is for this period or a later one.
    """
    if earlier and earlier[-1][0] >= period:
        raise OutsideSchedule(
            "the clock shows a time before the latest report: correct the clock; or, if it was ahead at that report, "
            "wait for the period after that report"
        )
    return joined.for_report(earlier, period)
