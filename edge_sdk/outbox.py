"""The outbox: envelopes that wait to leave, in order.

One idea: an envelope leaves the queue only once the file that carries it is on the disk. A crash in between exports
it twice, and the study counts it once.

What an envelope says: device. Carrying the file to the study: whoever holds it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

from edge_sdk.errors import NothingQueued, StoreError
from edge_sdk.store import Store, write_durably

Sealed: TypeAlias = bytes
"""An envelope as it leaves."""


class Outbox:
    """The queue of one store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def __len__(self) -> int:
        """Number of envelopes that wait."""
        [[count]] = self.store.rows("SELECT count(*) FROM outbox")
        return int(count)

    @property
    def bytes(self) -> int:
        """Bytes that wait."""
        [[total]] = self.store.rows("SELECT coalesce(sum(length(envelope)), 0) FROM outbox")
        return int(total)

    def enqueue(self, campaign: int, envelope: Sealed) -> None:
        """Add an envelope at the end; part of the caller's transaction."""
        self.store.execute("INSERT INTO outbox VALUES (NULL, ?, ?)", campaign, envelope)

    def export(self, path: str | os.PathLike[str]) -> int:
        """Write all that waits to a new file, one envelope after another, and take it off the queue.

        Returns:
            the number of envelopes.
        Raises:
            NothingQueued
            StoreError: the file exists or cannot be written; the queue is as it was.
        """
        target = Path(path)
        with self.store.transaction():
            envelopes = [envelope for (envelope,) in self.store.rows("SELECT envelope FROM outbox ORDER BY number")]
            if not envelopes:
                raise NothingQueued("nothing waits to leave: answer a campaign first")
            if target.exists():
                raise StoreError(f"{target} exists and is not overwritten: name another file")
            try:
                write_durably(target, b"".join(envelopes))
            except OSError as error:
                raise StoreError(
                    f"cannot write {target}: {error.strerror or error}; what waits is still queued"
                ) from None
            self.store.execute("DELETE FROM outbox")
        return len(envelopes)

    def forget(self, campaign: int) -> None:
        """Delete what waits of a campaign; part of the caller's transaction."""
        self.store.execute("DELETE FROM outbox WHERE campaign = ?", campaign)
