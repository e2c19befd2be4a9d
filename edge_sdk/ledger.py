"""The ledger: what was reserved, spent, released and carried.

One idea: rows are only ever added, and everything that is known about the budget is a sum of them.

    committed = sum of reserve - sum of release
    spent     = sum of charge + sum of carry

Forgetting is the one exception: the charges of a forgotten campaign, whose times would tell when an answer
changed, become one ``carry`` row of their sum.

Whether something may be spent: budget.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from edge_sdk.store import Store
from protocol import exact


class Kind(IntEnum):
    """What a row says; the numbers are the store's."""

    RESERVE = 1
    CHARGE = 2
    RELEASE = 3
    CARRY = 4


@dataclass(frozen=True)
class Entry:
    """One row. The level is in nanonats."""

    time: int
    campaign_id: bytes
    kind: Kind
    nanonats: int

    @property
    def nats(self) -> float:
        """The level for print."""
        return exact.nats(self.nanonats)


class Ledger:
    """The rows of one store. ``campaign`` is the store's number of a campaign, or None for all."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def add(self, campaign: int, kind: Kind, time: int, nanonats: int) -> None:
        """Add a row; part of the caller's transaction."""
        self.store.execute("INSERT INTO ledger VALUES (NULL, ?, ?, ?, ?)", time, campaign, kind, nanonats)

    def entries(self) -> list[Entry]:
        """All rows, oldest first."""
        rows = self.store.rows(
            "SELECT time, id, kind, nanonats FROM ledger JOIN known ON known.number = campaign ORDER BY ledger.number"
        )
        return [Entry(time, campaign_id, Kind(kind), nanonats) for time, campaign_id, kind, nanonats in rows]

    def spent(self, campaign: int | None = None) -> int:
        """Nanonats that reports have cost."""
        return self._sum("SELECT sum(nanonats) FROM ledger WHERE kind IN (2, 4)", campaign)

    def committed(self, campaign: int | None = None) -> int:
        """Nanonats spent or reserved; looked up at every answer, so the store keeps an index of just these rows."""
        signed = "SELECT sum(CASE kind WHEN 1 THEN nanonats ELSE -nanonats END) FROM ledger WHERE kind IN (1, 3)"
        return self._sum(signed, campaign)

    def carried(self) -> list[tuple[int, int]]:
        """(time, nanonats) of what forgotten campaigns spent."""
        return [
            (time, nanonats)
            for time, nanonats in self.store.rows("SELECT time, nanonats FROM ledger WHERE kind = ?", Kind.CARRY)
        ]

    def fold(self, campaign: int, now: int) -> None:
        """Release what the campaign did not spend, and carry what it did; part of the caller's transaction.

        The carry is as late as the latest charge, even where the clock went back since.
        """
        charged = self._sum("SELECT sum(nanonats) FROM ledger WHERE kind = 2", campaign)
        unspent = self.committed(campaign) - self.spent(campaign)
        [[latest]] = self.store.rows(
            "SELECT max(time) FROM ledger WHERE campaign = ? AND kind = ?", campaign, Kind.CHARGE
        )
        self.store.execute("DELETE FROM ledger WHERE campaign = ? AND kind = ?", campaign, Kind.CHARGE)
        if charged:
            self.add(campaign, Kind.CARRY, max(now, latest), charged)
        if unspent:
            self.add(campaign, Kind.RELEASE, now, unspent)

    def _sum(self, query: str, campaign: int | None) -> int:
        one = () if campaign is None else (campaign,)
        [[total]] = self.store.rows(query + (" AND campaign = ?" if one else ""), *one)
        return total or 0
