"""The campaigns of one store: those that are joined, and the numbers of all that ever were.

One idea: a campaign keeps its number in the store for good, since what it spent and the slots it used outlast it; and
one that is joined is verified and audited once in each process, from its signed bytes, before anything is drawn.

What a joined campaign can do: joined. What the person agreed to in it: consent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edge_sdk.errors import StoreError, UnknownCampaign
from edge_sdk.store import Store
from protocol.errors import BadData

if TYPE_CHECKING:  # loaded with the first campaign: an app that shows its ledger needs no audit
    from edge_sdk.joined import Joined


class Campaigns:
    """The campaigns of one store. ``campaign`` is the store's number of one; writes join the caller's transaction."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._opened: dict[bytes, Joined] = {}

    def ids(self) -> list[bytes]:
        """Of the joined ones, in the order they were first joined."""
        rows = self.store.rows("SELECT id FROM joined JOIN known ON campaign = number ORDER BY number")
        return [campaign_id for (campaign_id,) in rows]

    def number(self, campaign_id: bytes) -> int:
        """Of a campaign that is, or once was, joined.

        Raises:
            UnknownCampaign
        """
        row = self.store.row("SELECT number FROM known WHERE id = ?", campaign_id)
        if row is None:
            raise _unknown(campaign_id)
        return int(row[0])

    def is_joined(self, campaign: int) -> bool:
        """Whether it is joined now."""
        return self.store.row("SELECT 1 FROM joined WHERE campaign = ?", campaign) is not None

    def require_joined(self, campaign_id: bytes) -> int:
        """The number of a campaign that is joined now; another process may have forgotten it.

        Raises:
            UnknownCampaign
        """
        campaign = self.number(campaign_id)
        if not self.is_joined(campaign):
            raise _unknown(campaign_id)
        return campaign

    def find(self, campaign_id: bytes) -> Joined:
        """A joined campaign, verified and audited once in each process.

        Raises:
            UnknownCampaign
            StoreError: the store's copy is not what was joined.
        """
        joined = self._opened.get(campaign_id)
        if joined is None:
            from edge_sdk.joined import Joined

            row = self.store.row(
                "SELECT author, data FROM joined JOIN known ON campaign = number WHERE id = ?", campaign_id
            )
            if row is None:
                raise _unknown(campaign_id)
            author, data = row
            try:
                joined = Joined.open(data, [author], self.store.secret)
            except BadData as error:
                raise StoreError(f"the store's copy of campaign {campaign_id.hex()} is damaged: {error}") from None
            self._opened[campaign_id] = joined
        return joined

    def numbered(self, campaign_id: bytes) -> int:
        """The number of a campaign, which is given one if it has none."""
        self.store.execute("INSERT OR IGNORE INTO known (id) VALUES (?)", campaign_id)
        return self.number(campaign_id)

    def add(self, campaign: int, joined: Joined) -> None:
        """Keep one that is not joined yet."""
        self.store.execute("INSERT INTO joined VALUES (?, ?, ?)", campaign, joined.signed.author, joined.signed.data)

    def keep_open(self, joined: Joined) -> None:
        """Use one that is joined, as it was verified and audited, for the rest of the process."""
        self._opened[joined.signed.id] = joined

    def forget(self, campaign_id: bytes) -> None:
        """Delete all but its number."""
        self.store.execute("DELETE FROM joined WHERE campaign = ?", self.number(campaign_id))
        self._opened.pop(campaign_id, None)


def _unknown(campaign_id: bytes) -> UnknownCampaign:
    return UnknownCampaign(f"campaign {campaign_id.hex()} is not joined: join its file first")
