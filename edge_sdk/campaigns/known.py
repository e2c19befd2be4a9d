"""The campaigns of one store: the joined campaigns, and the number of every campaign that was ever joined.

A campaign keeps its number in the store permanently, because its spending and its used slots are kept after it is
forgotten. A joined campaign is verified and audited once per process, from its signed bytes, before anything is drawn.

The module joined defines the operations on a joined campaign, and budget/consents stores the person's consent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edge_sdk.errors import NotJoined, StoreError
from edge_sdk.store.sqlite import Store
from protocol.errors import BadData

# At run time, these are imported only with the first campaign: an app that shows its ledger needs no audit.
if TYPE_CHECKING:
    from edge_sdk.campaigns.joined import Joined


class Campaigns:
    """The campaigns of one store. ``number`` is the store's number of a campaign; writes join the caller's
    transaction."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._verified: dict[bytes, Joined] = {}

    def ids(self) -> list[bytes]:
        """Return the ids of the joined campaigns, in the order in which they were first joined."""
        rows = self.store.rows("SELECT id FROM joined JOIN known ON campaign = number ORDER BY number")
        return [campaign_id for (campaign_id,) in rows]

    def number(self, campaign_id: bytes) -> int:
        """Return the number of a campaign that is or was joined.

        Raises:
            NotJoined: this device never joined it.
        """
        row = self.store.row("SELECT number FROM known WHERE id = ?", require_id(campaign_id))
        if row is None:
            raise _unknown(campaign_id)
        return int(row[0])

    def is_joined(self, number: int) -> bool:
        return self.store.row("SELECT 1 FROM joined WHERE campaign = ?", number) is not None

    def require_joined(self, campaign_id: bytes) -> int:
        """Return the number of a campaign that is joined now.

        Raises:
            NotJoined: this device never joined it, or another process has forgotten it.
        """
        number = self.number(campaign_id)
        if not self.is_joined(number):
            raise _unknown(campaign_id)
        return number

    def number_and_closing(self, joined: Joined) -> tuple[int, int | None]:
        """Return the number of a campaign that is joined now, and the time of its early closing.

        Returns:
            (number, UTC seconds of the early closing); the time is None if the device has no closing notice.
        Raises:
            NotJoined: another process has forgotten the campaign.
        """
        row = self.store.row(
            "SELECT number, closes FROM known JOIN joined ON joined.campaign = number "
            "LEFT JOIN closing ON closing.campaign = number WHERE id = ?",
            joined.signed.id,
        )
        if row is None:
            raise _unknown(joined.signed.id)
        return row

    def find(self, campaign_id: bytes) -> Joined:
        """Return a joined campaign, which is verified and audited once in each process.

        Raises:
            NotJoined: this device has not joined it.
            StoreError: the store's copy of the campaign is damaged.
        """
        joined = self._verified.get(require_id(campaign_id))
        if joined is None:
            from edge_sdk.campaigns.joined import Joined

            row = self.store.row(
                "SELECT author, data FROM joined JOIN known ON campaign = number WHERE id = ?", campaign_id
            )
            if row is None:
                raise _unknown(campaign_id)
            author, data = row
            try:
                joined = Joined.open(data, [author], self.store.secret)
            except BadData as error:
                raise StoreError(
                    f"the store's copy of campaign {campaign_id.hex()} is damaged ({error}): forget the campaign, and "
                    "join it again"
                ) from None
            self._verified[campaign_id] = joined
        return joined

    def numbered(self, campaign_id: bytes) -> int:
        """Return the number of a campaign; if it has none, assign the next one."""
        self.store.execute("INSERT OR IGNORE INTO known (id) VALUES (?)", campaign_id)
        return self.number(campaign_id)

    def add(self, number: int, joined: Joined, address: str | None) -> None:
        """Store a campaign that is not joined yet.

        Args:
            address: the address of the study, from the person who joins; used only if the signed campaign names no
                address.
        """
        signed = joined.campaign.addresses
        self.store.execute(
            "INSERT INTO joined VALUES (?, ?, ?, ?, ?)",
            number,
            joined.signed.author,
            joined.signed.data,
            " ".join(signed or ([address] if address else [])),
            bool(signed),
        )

    def addresses(self, number: int) -> tuple[str, ...]:
        """Return the addresses for a joined campaign's reports, in the order in which they are tried; () if there are
        none."""
        row = self.store.row("SELECT addresses FROM joined WHERE campaign = ?", number)
        return () if row is None else tuple(row[0].split())

    def signs_addresses(self, number: int) -> bool:
        """Return whether the addresses of a joined campaign are part of its signed bytes."""
        row = self.store.row("SELECT signed FROM joined WHERE campaign = ?", number)
        return row is not None and bool(row[0])

    def set_address(self, number: int, address: str) -> None:
        """Store another address for a campaign that names no address."""
        self.store.execute("UPDATE joined SET addresses = ? WHERE campaign = ?", address, number)

    def closed_early(self, campaign_id: bytes) -> int | None:
        """Return the time of a campaign's early closing, in UTC seconds; None if the device has no closing notice."""
        row = self.store.row("SELECT closes FROM closing JOIN known ON campaign = number WHERE id = ?", campaign_id)
        return None if row is None else int(row[0])

    def close_early(self, number: int, closes: int) -> None:
        """Store permanently that a campaign is closed from ``closes`` on."""
        self.store.execute("INSERT OR REPLACE INTO closing VALUES (?, ?)", number, closes)

    def require_not_over(self, joined: Joined, now: int) -> None:
        """Refuse a campaign that is over.

        Raises:
            OutsideSchedule: its schedule has ended.
            ClosedEarly: its author has closed it.
        """
        if now >= joined.campaign.closes:
            # This call raises the error that states how long ago the campaign closed.
            joined.campaign.period_at(now)
        require_not_closed(joined, self.closed_early(joined.signed.id), now)

    def keep_verified(self, joined: Joined) -> None:
        """Keep a verified and audited campaign in memory for the rest of the process."""
        self._verified[joined.signed.id] = joined

    def forget(self, campaign_id: bytes) -> None:
        """Delete a joined campaign; its number and its closing notice stay."""
        self.store.execute("DELETE FROM joined WHERE campaign = ?", self.number(campaign_id))
        self._verified.pop(campaign_id, None)


def require_id(campaign_id: object) -> bytes:
    """Return ``campaign_id`` unchanged.

    Raises:
        TypeError: not bytes.
    """
    if not isinstance(campaign_id, bytes):
        raise TypeError(f"a campaign's id must be bytes, such as Terms.campaign_id, not {type(campaign_id).__name__}")
    return campaign_id


def require_not_closed(joined: Joined, closes: int | None, now: int) -> None:
    """Refuse a campaign from the time of its early closing on.

    Args:
        closes: this time, UTC seconds; None if its author has not closed it.
        now: UTC seconds.
    Raises:
        ClosedEarly: ``now`` is not before this time.
    """
    if closes is not None:
        from protocol.closing import require_open

        require_open(joined.campaign, closes, now)


def _unknown(campaign_id: bytes) -> NotJoined:
    return NotJoined(f"campaign {campaign_id.hex()} is not joined: check the id, or join it by its file or a link")
