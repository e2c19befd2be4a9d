"""The outbox: envelopes that wait to leave, in order, and how far each campaign's upload has come.

One idea: an envelope leaves the queue only once the file that carries it is on the disk, or a receipt of the upload
that carried it has come. A crash in between lets it leave twice, and the study counts it once.

An attempt is written down as failed before it is made, and a receipt strikes it off: so neither a crash nor a second
process makes a device try again too early.

What an envelope says: answering. What goes over the network, and when again: send. Carrying a file to the study:
whoever holds it.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from edge_sdk.errors import NothingQueued, OutboxFull, StoreError
from edge_sdk.store import Store, write_durably

if TYPE_CHECKING:  # loaded with the first upload: an app that only answers needs no network
    from edge_sdk.send import Opener, Sent

MOST_ENVELOPES = 200
MOST_BYTES = 256 * 1024
"""What waits at most, all campaigns together; also the most that one upload carries, and that a study takes."""

Sealed: TypeAlias = bytes
"""An envelope as it leaves."""

Randomness: TypeAlias = Callable[[int], bytes]
"""So many random bytes, as from ``os.urandom``."""


@dataclass(frozen=True)
class Upload:
    """What is to be sent of one campaign: the same bytes until they are acknowledged.

    Attributes:
        campaign: the store's number of it.
        campaign_id: its id.
        body: envelopes in the order they were queued, ``envelopes`` of them.
        failures: attempts that were not acknowledged.
        not_before: the time of the next one, in whole seconds; 0 before the first.
        refused: the study said that these bytes can never be taken.
    """

    campaign: int
    campaign_id: bytes
    body: bytes
    envelopes: int
    failures: int = 0
    not_before: int = 0
    refused: bool = False


class Outbox:
    """The queue of one store."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time, urandom: Randomness = os.urandom) -> None:
        self.store = store
        self._clock = clock
        self._urandom = urandom

    def __len__(self) -> int:
        """Number of envelopes that wait."""
        return self._size()[0]

    @property
    def bytes(self) -> int:
        """Bytes that wait."""
        return self._size()[1]

    def _size(self) -> tuple[int, int]:
        [[count, total]] = self.store.rows("SELECT count(*), coalesce(sum(length(envelope)), 0) FROM outbox")
        return int(count), int(total)

    def require_room(self, size: int) -> None:
        """Refuse what would not fit; nothing that waits is ever dropped to make room.

        Args:
            size: bytes of one more envelope, or above it.
        Raises:
            OutboxFull
        """
        count, total = self._size()
        if count + 1 > MOST_ENVELOPES or total + size > MOST_BYTES:
            raise OutboxFull(
                f"{count} envelopes of {total} bytes wait to leave, and at most {MOST_ENVELOPES} of {MOST_BYTES} may: "
                "nothing was drawn or charged; send or export what waits first"
            )

    def enqueue(self, campaign: int, envelope: Sealed) -> None:
        """Add an envelope at the end; part of the caller's transaction.

        Raises:
            OutboxFull
        """
        self.require_room(len(envelope))
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
            self.store.execute("DELETE FROM upload")
        return len(envelopes)

    def send(
        self,
        url: str,
        *,
        now: float | None = None,
        urandom: Randomness | None = None,
        opener: Opener | None = None,
    ) -> Sent:
        """Upload what waits and is due, each campaign by itself, and take off the queue what the study acknowledges.

        May be called as often as wanted: before the time of the next attempt nothing is sent.

        Args:
            url: where the study takes uploads; ``/v1/reports`` is added. https, or http to this very machine.
            now: seconds since 1970; the device's clock if left out.
            urandom: where the delay after a failure is drawn from; the device's if left out.
            opener: makes the connection; ``send.connect`` if left out, which verifies the certificate.
        Raises:
            AddressRefused
            StoreError: what waits is still queued.
        """
        from edge_sdk.send import send

        return send(self, url, self._clock() if now is None else now, urandom or self._urandom, opener)

    def forget(self, campaign: int) -> None:
        """Delete what waits of a campaign; part of the caller's transaction."""
        self.store.execute("DELETE FROM outbox WHERE campaign = ?", campaign)
        self.store.execute("DELETE FROM upload WHERE campaign = ?", campaign)

    def waiting(self, campaign: int) -> list[Sealed]:
        """What waits of a campaign, in order."""
        rows = self.store.rows("SELECT envelope FROM outbox WHERE campaign = ? ORDER BY number", campaign)
        return [Sealed(envelope) for (envelope,) in rows]

    # Uploads

    def campaigns(self) -> list[int]:
        """Numbers of the campaigns that have envelopes waiting; the one that waits longest is first."""
        rows = self.store.rows("SELECT campaign FROM outbox GROUP BY campaign ORDER BY min(number)")
        return [int(campaign) for (campaign,) in rows]

    def begin(self, campaign: int, judge: Callable[[Upload], int | None]) -> tuple[Upload, bool] | None:
        """The upload of a campaign as it stands, and whether it is to be sent now; None where nothing waits.

        Args:
            judge: the time of the attempt after this one, should it fail; None for no attempt now.
        """
        with self.store.transaction():
            upload = self._upload(campaign)
            if upload is None:
                return None
            following = judge(upload)
            if following is None:
                return upload, False
            self.store.execute(
                "INSERT INTO upload VALUES (?, ?, ?, ?, 0) ON CONFLICT DO UPDATE "
                "SET failures = excluded.failures, not_before = excluded.not_before",
                campaign,
                upload.envelopes,
                upload.failures + 1,
                following,
            )
        return upload, True

    def acknowledged(self, sent: Upload) -> None:
        """Take exactly what was sent off the queue, if it is there still."""
        with self._unchanged(sent) as same:
            if same:
                self.store.execute(
                    "DELETE FROM outbox WHERE number IN "
                    "(SELECT number FROM outbox WHERE campaign = ? ORDER BY number LIMIT ?)",
                    sent.campaign,
                    sent.envelopes,
                )
                self.store.execute("DELETE FROM upload WHERE campaign = ?", sent.campaign)

    def postpone(self, sent: Upload, until: int) -> int:
        """Do not try again before ``until``; the time of the next attempt."""
        with self._unchanged(sent) as same:
            if same:
                self.store.execute(
                    "UPDATE upload SET not_before = max(not_before, ?) WHERE campaign = ?", until, sent.campaign
                )
            row = self.store.row("SELECT not_before FROM upload WHERE campaign = ?", sent.campaign)
        return until if row is None else int(row[0])

    def refuse(self, sent: Upload) -> None:
        """Keep what was sent and never send it again."""
        with self._unchanged(sent) as same:
            if same:
                self.store.execute("UPDATE upload SET refused = 1 WHERE campaign = ?", sent.campaign)

    @contextlib.contextmanager
    def _unchanged(self, sent: Upload) -> Iterator[bool]:
        """Whether an upload is as it was when it was sent; numbers and counts alone may be others' by now."""
        with self.store.transaction():
            standing = self._upload(sent.campaign)
            yield standing is not None and standing.failures > 0 and standing.body == sent.body

    def _upload(self, campaign: int) -> Upload | None:
        """The upload in flight; without one, the one that would be made of what waits."""
        row = self.store.row("SELECT envelopes, failures, not_before, refused FROM upload WHERE campaign = ?", campaign)
        waiting = [
            bytes(envelope)
            for (envelope,) in self.store.rows(
                "SELECT envelope FROM outbox WHERE campaign = ? ORDER BY number LIMIT ?",
                campaign,
                MOST_ENVELOPES if row is None else row[0],
            )
        ]
        if not waiting:
            return None
        [campaign_id] = self.store.row("SELECT id FROM known WHERE number = ?", campaign) or [b""]
        if row is not None:
            _, failures, not_before, refused = row
            return Upload(
                campaign, campaign_id, b"".join(waiting), len(waiting), int(failures), int(not_before), bool(refused)
            )
        # A store of an earlier format may hold more than one upload carries.
        fits = max(1, sum(total <= MOST_BYTES for total in accumulate(map(len, waiting))))
        return Upload(campaign, campaign_id, b"".join(waiting[:fits]), fits)
