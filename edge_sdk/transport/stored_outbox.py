"""The sealed envelopes of the outbox, in order, and the state of each campaign's upload.

An attempt is recorded as failed before it is made, and the record is removed when all its envelopes are accepted. So
neither a crash nor a second process makes a device try again too early.

The module outbox exports envelopes to a file and offers the method for apps, upload sends envelopes, and
answers/answering makes the reports.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TypeAlias

from edge_sdk.errors import OutboxFull
from edge_sdk.store.sqlite import Store

MAX_ENVELOPES = 200
MAX_WAITING_BYTES = 256 * 1024
"""Limits of the outbox, over all campaigns; also the limits of one upload."""

SealedEnvelope: TypeAlias = bytes
"""The bytes of a sealed envelope."""

CampaignId: TypeAlias = bytes
"""The id of a campaign."""

Randomness: TypeAlias = Callable[[int], bytes]
"""A function that returns this number of random bytes, such as ``os.urandom``."""


class Trouble(IntEnum):
    """The reason why the latest attempt of an upload failed; the numbers are those in the database."""

    NONE = 0
    """No attempt was made, or the study gave no reason."""
    REFUSED = 1
    """The study can never accept these bytes; they are not sent until the address or the code changes."""
    UNKNOWN_CAMPAIGN = 2
    """The study does not have the campaign; the study may import the campaign later."""
    CODE_REFUSED = 3
    """The study refused the code; the envelopes are not sent again until the address or the code changes."""

    @property
    def permanent(self) -> bool:
        """True if the study would refuse the same upload again."""
        return self in (Trouble.REFUSED, Trouble.CODE_REFUSED)


@dataclass(frozen=True)
class Upload:
    """One campaign's upload: the same bytes until they are acknowledged.

    Attributes:
        number: the store's number of the campaign.
        campaign_id: the campaign's id, 16 bytes.
        sealed: the envelopes in the order in which they were queued.
        failures: number of attempts in a row after which an envelope was not accepted.
        next_attempt: the earliest time of the next attempt, in whole seconds; 0 before the first.
        trouble: the reason why the latest attempt failed.
        code: the code that admits the device; "" if the study has admitted it, or needs no code.
    """

    number: int
    campaign_id: bytes
    sealed: tuple[SealedEnvelope, ...]
    failures: int = 0
    next_attempt: int = 0
    trouble: Trouble = Trouble.NONE
    code: str = field(default="", repr=False)

    @property
    def envelopes(self) -> int:
        """Number of envelopes."""
        return len(self.sealed)

    @property
    def body(self) -> bytes:
        """The concatenated envelopes."""
        return b"".join(self.sealed)


@dataclass(frozen=True)
class UploadDestination:
    """The destination of one campaign's envelopes: its study's addresses.

    Attributes:
        number: the store's number of the campaign.
        campaign_id: the campaign's id, 16 bytes.
        addresses: the addresses of its study, tried in this order; empty if there are none.
        envelopes: number of waiting envelopes.
    """

    number: int
    campaign_id: bytes
    addresses: tuple[str, ...]
    envelopes: int


class StoredOutbox:
    """The stored envelopes of the outbox. ``number`` is the store's number of a campaign."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def __len__(self) -> int:
        """Return the number of waiting envelopes."""
        return self._size()[0]

    @property
    def bytes(self) -> int:
        """Total length of the waiting envelopes in bytes."""
        return self._size()[1]

    def _size(self) -> tuple[int, int]:
        [[count, total]] = self.store.rows("SELECT count(*), coalesce(sum(length(envelope)), 0) FROM outbox")
        return int(count), int(total)

    def require_room(self, size: int) -> None:
        """Refuse an envelope that does not fit; waiting envelopes are never dropped. Part of the caller's transaction.

        Args:
            size: an upper bound of the next envelope's length in bytes.
        Raises:
            OutboxFull: too many envelopes or bytes would wait.
        """
        count, total = self._size_now()
        if count + 1 > MAX_ENVELOPES or total + size > MAX_WAITING_BYTES:
            raise OutboxFull(
                f"{count} envelopes with {total} bytes in all wait to be sent, and the limit is {MAX_ENVELOPES} "
                f"envelopes with {MAX_WAITING_BYTES} bytes: nothing was drawn or charged; send or export them first"
            )

    def enqueue(self, number: int, envelope: SealedEnvelope) -> None:
        """Add an envelope at the end; part of the caller's transaction, which has called ``require_room`` before."""
        count, total = self._size_now()
        self.store.execute("INSERT INTO outbox VALUES (NULL, ?, ?)", number, envelope)
        self.store.cache[StoredOutbox] = count + 1, total + len(envelope)

    def _size_now(self) -> tuple[int, int]:
        """Return the number and the total length of the waiting envelopes, from the store's cache if it has them."""
        size: tuple[int, int] | None = self.store.cache.get(StoredOutbox)
        if size is None:
            size = self.store.cache[StoredOutbox] = self._size()
        return size

    def forget(self, number: int) -> None:
        """Delete a campaign's waiting envelopes, its upload and its code; part of the caller's transaction."""
        self.store.execute("DELETE FROM outbox WHERE campaign = ?", number)
        self.store.execute("DELETE FROM upload WHERE campaign = ?", number)
        self.store.execute("DELETE FROM code WHERE campaign = ?", number)

    def code(self, number: int) -> str:
        """Return the code that the next upload redeems; "" if there is none."""
        row = self.store.row("SELECT code FROM code WHERE campaign = ?", number)
        return "" if row is None else str(row[0])

    def set_code(self, number: int, code: str) -> None:
        """Store the code that the next upload redeems; part of the caller's transaction."""
        self.store.execute("INSERT OR REPLACE INTO code VALUES (?, ?)", number, code)
        self.restart_upload(number)

    def envelopes(self, number: int, limit: int = MAX_ENVELOPES) -> list[SealedEnvelope]:
        """Return the first ``limit`` waiting envelopes of a campaign, in order."""
        query = "SELECT envelope FROM outbox WHERE campaign = ? ORDER BY number LIMIT ?"
        rows = self.store.rows(query, number, limit)
        return [SealedEnvelope(envelope) for (envelope,) in rows]

    # Uploads

    def destinations(self) -> list[UploadDestination]:
        """Return the destination of each campaign with waiting envelopes, in the order of its oldest envelope."""
        rows = self.store.rows(
            "SELECT outbox.campaign, id, addresses, count(*) FROM outbox JOIN joined USING (campaign) "
            "JOIN known ON known.number = outbox.campaign GROUP BY outbox.campaign ORDER BY min(outbox.number)"
        )
        return [
            UploadDestination(int(number), bytes(campaign_id), tuple(addresses.split()), int(count))
            for number, campaign_id, addresses, count in rows
        ]

    def begin(self, number: int, schedule_attempt: Callable[[Upload], int | None]) -> tuple[Upload, bool] | None:
        """Return the campaign's upload and whether it is due; if it is due, record its attempt as failed before it is
        made.

        Args:
            schedule_attempt: function of the upload that returns the time of the next attempt if this attempt fails, or
                None to make no attempt now.
        Returns:
            (upload, whether it is due); None if no envelope waits.
        """
        with self.store.transaction():
            upload = self.upload(number)
            if upload is None:
                return None
            following = schedule_attempt(upload)
            if following is None:
                return upload, False
            self.store.execute(
                "INSERT INTO upload VALUES (?, ?, ?, ?, 0) ON CONFLICT DO UPDATE "
                "SET failures = excluded.failures, next_attempt = excluded.next_attempt",
                number,
                upload.envelopes,
                upload.failures + 1,
                following,
            )
        return upload, True

    def acknowledged(self, sent: Upload, not_accepted: Sequence[int] = ()) -> Upload:
        """Remove from the outbox the envelopes that the study accepted, if they are still there.

        Args:
            not_accepted: positions in the upload of the envelopes that the study did not accept.
        Returns:
            The upload of the envelopes that the study did not accept.
        """
        left = replace(sent, sealed=tuple(sent.sealed[position] for position in not_accepted))
        with self._unchanged(sent) as same:
            if same:
                numbers = self._numbers(sent)
                for position in set(range(sent.envelopes)) - set(not_accepted):
                    self.store.execute("DELETE FROM outbox WHERE number = ?", numbers[position])
                if not_accepted:
                    self.store.execute(
                        "UPDATE upload SET envelopes = ? WHERE campaign = ?", left.envelopes, sent.number
                    )
                else:
                    self.store.execute("DELETE FROM upload WHERE campaign = ?", sent.number)
                    self.store.execute("DELETE FROM code WHERE campaign = ? AND code = ?", sent.number, sent.code)
        return left

    def postpone(self, sent: Upload, until: int, unknown_campaign: bool) -> int:
        """Set the time of the next attempt to ``until``, or keep a later one; return the time.

        Args:
            unknown_campaign: whether a study said that it does not have the campaign.
        """
        with self._unchanged(sent) as same:
            if same:
                self.store.execute(
                    "UPDATE upload SET next_attempt = max(next_attempt, ?), trouble = ? WHERE campaign = ?",
                    until,
                    Trouble.UNKNOWN_CAMPAIGN if unknown_campaign else Trouble.NONE,
                    sent.number,
                )
            row = self.store.row("SELECT next_attempt FROM upload WHERE campaign = ?", sent.number)
        return until if row is None else int(row[0])

    def restart_upload(self, number: int) -> None:
        """Delete the record of failures after the address or the code changed; part of the caller's transaction."""
        self.store.execute("DELETE FROM upload WHERE campaign = ?", number)

    def refuse(self, sent: Upload, trouble: Trouble) -> None:
        """Mark an upload as refused: its envelopes stay in the outbox, and are not sent until the address or the
        code changes.

        Args:
            trouble: the permanent reason.
        """
        with self._unchanged(sent) as same:
            if same:
                self.store.execute("UPDATE upload SET trouble = ? WHERE campaign = ?", trouble, sent.number)

    @contextlib.contextmanager
    def _unchanged(self, sent: Upload) -> Iterator[bool]:
        """Context manager: begin a transaction, and return whether the outbox still has the envelopes of an upload.

        The bytes are compared, and not the row numbers, because row numbers are reused.
        """
        with self.store.transaction():
            current = self.upload(sent.number)
            yield current is not None and current.failures > 0 and current.body == sent.body

    def upload(self, number: int) -> Upload | None:
        """Return the upload that was begun, or else an upload of all waiting envelopes; None if no envelope waits."""
        row = self.store.row("SELECT envelopes, failures, next_attempt, trouble FROM upload WHERE campaign = ?", number)
        count, failures, next_attempt, trouble = row or (MAX_ENVELOPES, 0, 0, Trouble.NONE)
        envelopes = self.envelopes(number, count)
        if not envelopes:
            return None
        [campaign_id] = self.store.row("SELECT id FROM known WHERE number = ?", number) or [b""]
        state = int(failures), int(next_attempt), Trouble(trouble)
        return Upload(number, campaign_id, tuple(envelopes), *state, self.code(number))

    def _numbers(self, upload: Upload) -> list[int]:
        """Return the numbers of an upload's envelopes in the outbox, in order."""
        query = "SELECT number FROM outbox WHERE campaign = ? ORDER BY number LIMIT ?"
        return [int(number) for (number,) in self.store.rows(query, upload.number, upload.envelopes)]
