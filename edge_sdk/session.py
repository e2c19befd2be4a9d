"""The session: an open store with its tables, its clock and its random source.

The methods for apps are in device and in the classes that it inherits from: campaigns/membership, campaigns/agreements,
campaigns/trust, disclosure/disclosures.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from edge_sdk.records import Records
from edge_sdk.store.sqlite import Store
from edge_sdk.transport.outbox import Outbox

# At run time, these are imported only with the first campaign: an app that shows its ledger needs no audit.
if TYPE_CHECKING:
    from edge_sdk.campaigns.joined import Joined
    from protocol.keys import AuthorKey


class Session:
    """An open store, and the authors that are trusted until it is closed.

    Attributes:
        outbox: the envelopes that wait to leave.
        records: the tables of the store; for this package only, not for apps.
    """

    def __init__(
        self, store: Store, trust: tuple[AuthorKey, ...], clock: Callable[[], float], urandom: Callable[[int], bytes]
    ) -> None:
        self._store = store
        self._trust = trust
        self._clock = clock
        self._urandom = urandom
        self.outbox = Outbox(store, clock, urandom)
        self.records = Records(store, self.outbox)

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _now(self) -> int:
        return int(self._clock())

    def _not_over(self, campaign_id: bytes) -> tuple[Joined, int]:
        """Return a joined campaign that is not over, and the current time in UTC seconds.

        Raises:
            NotJoined: this device has not joined it.
            OutsideSchedule: the campaign is over.
        """
        joined, now = self.records.campaigns.find(campaign_id), self._now()
        self.records.campaigns.require_not_over(joined, now)
        return joined, now
