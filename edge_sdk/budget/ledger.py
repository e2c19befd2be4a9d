"""The ledger: entries of amounts reserved, charged, released and carried.

Entries are added and not changed, except that forgetting and adoption (rollback/recovery) replace a campaign's charges
by one ``carry`` entry. The amounts of the budget are sums of entries.

    committed = sum of reserve - sum of release
    spent     = sum of charge + sum of carry

The charges are replaced because their times show when an answer changed. When a campaign is forgotten, the ``carry``
entry has the cost that its answers have if all of them differ; at an adoption, everything that the campaign had
reserved.

The module policy decides about spending, and rollback/checkpointing detects an old copy of the ledger.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from edge_sdk.store.sqlite import UNATTRIBUTED, Store
from protocol import exact


class EntryKind(IntEnum):
    """The kind of an entry; the numbers are those in the database."""

    RESERVE = 1
    CHARGE = 2
    RELEASE = 3
    CARRY = 4


@dataclass(frozen=True)
class LedgerEntry:
    """An entry of the ledger: one row of its table. Its amount is in nanonats."""

    time: int
    campaign_id: bytes
    kind: EntryKind
    nanonats: int

    @property
    def nats(self) -> float:
        """The amount in nats, for display."""
        return exact.nats(self.nanonats)


class Ledger:
    """The ledger of one store.

    ``number`` is the store's number of a campaign, or None for all campaigns. The sums of one campaign include the
    spending that cannot be attributed to a campaign.
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    def add(self, number: int, kind: EntryKind, time: int, nanonats: int) -> None:
        """Add an entry; part of the caller's transaction."""
        self.store.execute("INSERT INTO ledger VALUES (NULL, ?, ?, ?, ?)", time, number, kind, nanonats)

    def entries(self) -> list[LedgerEntry]:
        """Return all entries, oldest first."""
        rows = self.store.rows(
            "SELECT time, id, kind, nanonats FROM ledger JOIN known ON known.number = campaign ORDER BY ledger.number"
        )
        return [LedgerEntry(time, campaign_id, EntryKind(kind), nanonats) for time, campaign_id, kind, nanonats in rows]

    def spent(self, number: int | None = None) -> int:
        """Return the nanonats charged or carried."""
        return self._sum("SELECT sum(nanonats) FROM ledger WHERE kind IN (2, 4)", number)

    def committed(self, number: int | None = None) -> int:
        """Return the nanonats spent or reserved."""
        signed = "SELECT sum(CASE kind WHEN 1 THEN nanonats ELSE -nanonats END) FROM ledger WHERE kind IN (1, 3)"
        return self._sum(signed, number)

    def committed_by(self, number: int) -> tuple[int, int]:
        """Return the nanonats spent or reserved: (by all campaigns, by ``number`` and unattributed).

        The store has an index for this sum.
        """
        query = (
            "WITH signed AS (SELECT campaign, CASE kind WHEN 1 THEN nanonats ELSE -nanonats END AS level FROM ledger "
            "WHERE kind IN (1, 3)) SELECT sum(level), sum(CASE WHEN campaign IN (?, ?) THEN level END) FROM signed"
        )
        [[total, of_campaign]] = self.store.rows(query, number, UNATTRIBUTED)
        return total or 0, of_campaign or 0

    def carried(self) -> list[tuple[int, int]]:
        """Return (time, nanonats) of the carry entries: of forgotten campaigns, and of unattributed spending."""
        return [
            (time, nanonats)
            for time, nanonats in self.store.rows("SELECT time, nanonats FROM ledger WHERE kind = ?", EntryKind.CARRY)
        ]

    def forgotten(self) -> dict[int, int]:
        """Return an upper bound of the nanonats that each forgotten campaign has spent, by its number, and the
        unattributed spending."""
        query = "SELECT campaign, sum(nanonats) FROM ledger WHERE kind = ? GROUP BY campaign"
        return {int(number): int(spent) for number, spent in self.store.rows(query, EntryKind.CARRY)}

    def fold(self, number: int, time: int, max_cost: int) -> None:
        """Replace a campaign's charges by one carry entry, and release the rest of its reserve; part of the caller's
        transaction.

        Args:
            time: the time of the latest answer, or a later time.
            max_cost: nanonats that the answers would have cost if a different value had filled each used slot. At
                least this much is carried, so that the remaining budget does not reveal the number of different
                values.
        """
        charged = self._sum("SELECT sum(nanonats) FROM ledger WHERE kind = 2", number)
        carried = max(charged, max_cost)
        unspent = self.committed(number) - self.spent(number) - (carried - charged)
        self.store.execute("DELETE FROM ledger WHERE campaign = ? AND kind = ?", number, EntryKind.CHARGE)
        if carried:
            self.add(number, EntryKind.CARRY, time, carried)
        if unspent:
            self.add(number, EntryKind.RELEASE, time, unspent)

    def _sum(self, query: str, number: int | None) -> int:
        # Spending that cannot be attributed to a campaign counts in each one.
        numbers = () if number is None else (number, UNATTRIBUTED)
        [[total]] = self.store.rows(query + (" AND campaign IN (?, ?)" if numbers else ""), *numbers)
        return total or 0
