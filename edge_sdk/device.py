"""The device: all that an app does with a store, from opening it to forgetting.

Every method is one decision of the person or of the device's owner. Opening, caps, answers and forgetting are here; the
other methods are inherited from the folders that they are about:

    campaigns/membership    join, accept, terms, addresses, close_early
    campaigns/agreements    consent, choose_class, choose_prior, enrolment, present_code
    campaigns/trust         trust_author, distrust_author
    disclosure/disclosures  preview, exposure, transcript, prior

What agreeing does: campaigns/consent. What an answer does: answers/answering. Where rows are kept: records,
store/sqlite.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from edge_sdk.answers.answering import bundle, give, set_clock
from edge_sdk.answers.results import Collected, Receipt
from edge_sdk.budget.ledger import LedgerEntry
from edge_sdk.budget.policy import Budget, BudgetPolicy
from edge_sdk.campaigns.membership import Membership
from edge_sdk.disclosure.disclosures import Disclosures
from edge_sdk.errors import StoreDamaged, StoreRestored
from edge_sdk.store.sqlite import MEMORY, Store

if TYPE_CHECKING:  # loaded with the first key
    from edge_sdk.rollback.key_store import KeyStore
    from protocol.domain import Answer
    from protocol.keys import AuthorKey


class Device(Membership, Disclosures):
    """One device's store, open. Use it in a ``with`` statement, or ``close`` it.

    Attributes:
        outbox: the envelopes that wait to leave.
        records: the tables of the store; for this package only, not for apps.
    """

    @classmethod
    def open(
        cls,
        place: str | os.PathLike[str],
        trust: Iterable[bytes | AuthorKey] = (),
        budget: BudgetPolicy | None = None,
        *,
        key_store: KeyStore | None = None,
        clock: Callable[[], float] = time.time,
        urandom: Callable[[int], bytes] = os.urandom,
    ) -> Self:
        """Open the device whose store is the folder ``place``; create the folder if it is missing.

        Args:
            place: a folder of its own, or ":memory:" for a device that ends with the process.
            trust: public keys, 32 bytes each or with a name, of the authors whose campaigns may be joined in this
                session, beside those that the store keeps (``trust_author``).
            budget: the owner's caps. They are kept, and can only be tightened: the lower of two caps holds.
            key_store: keeps the device's secret and the store's checkpoint. None takes the one that the store was made
                with; for a new store files of its folder, and on Android the Keystore. A keyring is used only if named.
        Returns:
            The open device; use it in a ``with`` statement, or close it.
        Raises:
            KeyRefused: a key nobody should trust.
            StoreRestored: the store is an older state or a copy of itself, and what was spent since is not in it.
            StoreDamaged: the store does not hold what was written into it. ``adopt`` goes on with either.
            StoreError
        """
        trusted = tuple(map(_author_key, trust))
        device = cls(_opened(place, urandom, key_store), trusted, clock, urandom)
        try:
            if budget is not None:
                device.tighten(budget)
        except BaseException:
            device.close()
            raise
        return device

    @classmethod
    def adopt(
        cls,
        place: str | os.PathLike[str],
        trust: Iterable[bytes | AuthorKey] = (),
        budget: BudgetPolicy | None = None,
        *,
        key_store: KeyStore | None = None,
        clock: Callable[[], float] = time.time,
        urandom: Callable[[int], bytes] = os.urandom,
    ) -> Self:
        """Continue with a store that was restored, copied or damaged; a store that can be opened is not changed.

        Everything joined is forgotten: answers, prior, memo, queue and consents. All that was reserved counts as spent,
        by the store or by its checkpoint, whichever is more; the caps stay, and so do the keys, unless the secret is
        lost with another machine. Spending that cannot be attributed to a campaign counts in each one. A damaged
        database is moved to ``quarantine-1`` or the next, until something is forgotten; the slots it had used are lost
        with it, and the study refuses what it has seen. No other process may use the folder meanwhile.

        The arguments are those of ``open``; where a database is damaged or gone, name the key store as at the start.
        Returns:
            The open device.
        Raises:
            StoreError: neither database nor checkpoint says what was spent.
        """
        opened = partial(cls.open, place, trust, budget, key_store=key_store, clock=clock, urandom=urandom)
        try:
            return opened()
        except (StoreRestored, StoreDamaged):
            from edge_sdk.rollback.recovery import adopt  # rarely needed, so loaded here

            adopt(place, urandom, int(clock()), key_store)
        return opened()

    # The owner's caps, and spending under them

    def tighten(self, policy: BudgetPolicy) -> None:
        """Add caps; where there is one already, the lower one holds.

        A cap below what is reserved already holds at once: nothing more is answered until a campaign is forgotten.

        Args:
            policy: the caps to add, in nats; rounded down to nanonats.
        """
        if not isinstance(policy, BudgetPolicy):
            raise TypeError(f"caps must be a BudgetPolicy, not {type(policy).__name__}")
        with self._store.transaction():
            self.records.caps.tighten(policy)

    @property
    def budget(self) -> Budget:
        """The caps in force, what was spent, and what remains."""
        return self.records.caps.budget()

    @property
    def ledger(self) -> list[LedgerEntry]:
        """Everything that was reserved, spent, released or carried, oldest first."""
        return self.records.ledger.entries()

    # Answers

    def answer(self, campaign_id: bytes, value: Answer, reading: int | None = None) -> Receipt:
        """Draw, charge, sign and queue one answer, in one transaction.

        The same reading again with the same value is the same report again: the same bytes, no cost, nothing queued.
        In another reading or period the same value is a new report of the same output, at no cost; in a campaign with
        transcripts it is drawn anew, at the same cost as any.

        Args:
            reading: which of the period's answers this is, 0 .. answers_per_period - 1; they go forward, and one that
                was passed over is not gone back to. None is the next one, and in a campaign of one answer a period
                always reading 0.
        Returns:
            The signed report, its place, and what was charged now, in nats.
        Raises:
            NotInDomain: the question does not allow this value. The text does not repeat it. Of a form the value is a
                mapping from the names of the questions that this device is asked (``Terms.asked_names``) to answers;
                one that is missing and cannot be skipped is named, and so is one that is not asked.
            OutsideSchedule: the campaign is not open (``NotOpen`` before it opens, ``ClosedEarly`` once its author
                closed it), or the clock went back before
                the consent or the latest report of a transcript.
            ConsentMissing
            QuotaReached: all readings of the period are given, or this one is: with another value, or it waits to be
                bundled.
            BudgetRefused: the owner lowered a cap below what is reserved, whatever the value.
            OutboxFull: too much waits to leave, whatever the value.
            StoreError: nothing was charged and nothing left.
            ValueError: a reading that no period has.
        """
        return give(self.records, campaign_id, value, reading, self._now(), self._urandom, collects=False)

    def collect(self, campaign_id: bytes, value: Answer, reading: int | None = None) -> Collected:
        """Draw, charge and keep one answer, in one transaction, to be sealed by ``bundle`` together with others.

        The arguments and what is raised are those of ``answer``, but:

        Args:
            campaign_id: of a joined campaign, 16 bytes.
            value: the answer.
            reading: as in ``answer``.
        Returns:
            The reading's place, and what was charged now, in nats.
        Raises:
            CampaignError: a campaign with transcripts, where every report has one output.
            OutboxFull: 4,096 readings wait to be bundled, whatever the value.
        """
        given = give(self.records, campaign_id, value, reading, self._now(), self._urandom, collects=True)
        return Collected(given.campaign_id, given.period, given.slot, given.cost_nanonats, given.repeated)

    def collected(self, campaign_id: bytes) -> int:
        """Return the number of readings that wait to be bundled.

        Args:
            campaign_id: of a joined campaign, 16 bytes.
        Returns:
            A number of readings, 0 .. 4,096.
        """
        return self.records.readings.waiting(self.records.campaigns.number(campaign_id))

    def bundle(self, campaign_id: bytes) -> int:
        """Seal and queue a campaign's waiting readings in one transaction; neighbouring ones share a signature.

        A bundle has at most 4,096 outputs, and fewer where an envelope holds no more. How many there are and how long
        they are depends on which readings were collected, and not on the values. A campaign that closed meanwhile is
        bundled all the same: reports of periods that are over are taken.

        Args:
            campaign_id: of a joined campaign, 16 bytes.
        Returns:
            the number of reports; what the outbox had no room for stays collected.
        Raises:
            OutboxFull: nothing was sealed, and all stays collected.
            UnknownCampaign, StoreError
        """
        return bundle(self.records, campaign_id)

    # Withdrawing, and upkeep

    def forget(self, campaign_id: bytes | None = None) -> None:
        """Delete a campaign, or all: answers, prior, memo, queue and consent, and their bytes in the store's files.

        Spending stays counted, as if all answers had been different, and the rest of the reserve is released. So the
        remaining budget depends on how often the person was asked, not on the answers. The slots already used stay
        used, so joining again neither refills a budget nor answers a period twice. A campaign with transcripts in which
        anything was answered cannot be answered again: its transcript is deleted too.

        Args:
            campaign_id: of one joined campaign; None forgets all of them.
        Raises:
            UnknownCampaign: this device has not joined it.
            StoreError: deleted, but old bytes could not be cleared yet.
        """
        records, now = self.records, self._now()
        with self._store.transaction():
            for known in records.campaigns.ids() if campaign_id is None else [campaign_id]:
                campaign = records.campaigns.number(known)
                latest, told = records.consents.told_at_most(campaign, records.readings.used(campaign))
                records.ledger.fold(campaign, max(now, latest), told)
                records.memo.forget(campaign)
                records.readings.forget(campaign)
                records.transcripts.forget(campaign)
                records.outbox.forget(campaign)
                records.consents.forget(campaign)
                records.campaigns.forget(known)
        self._store.compact()

    def set_clock(self) -> list[bytes]:
        """Accept the clock's present time, if it was ahead before.

        A device treats the time of its latest answer as past, and a unit does not answer until the clock shows a later
        time. This method resets only that: spending and used slots stay. With window caps, answers under later dates
        count in addition to the worst case from now on.

        Returns:
            ids of the campaigns that had a later time; transcripts still go on only after their latest report.
        Raises:
            BudgetRefused: a window's cap leaves no room: wait, or forget a campaign.
        """
        return set_clock(self.records, self._now())

    def doctor(self) -> dict[str, str | int | float]:
        """Return facts about this store for its owner, by name.

        Returns:
            By a short description, what was found; for people to read, and not a contract.
        """
        from edge_sdk.doctor import facts  # rarely needed, so loaded here

        return facts(self.records, self._now())


def _opened(place: str | os.PathLike[str], urandom: Callable[[int], bytes], key_store: KeyStore | None) -> Store:
    if place == MEMORY:
        return Store.in_memory(urandom)
    from edge_sdk.rollback.store_identity import open_store

    return open_store(Path(place), urandom, key_store)


def _author_key(key: bytes | AuthorKey) -> AuthorKey:
    """A key that a session trusts.

    Raises:
        KeyRefused: a key nobody should trust.
    """
    from protocol.keys import AuthorKey

    return key if isinstance(key, AuthorKey) else AuthorKey(key)
