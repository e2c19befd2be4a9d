"""The device: all operations of an app on a store, from opening it to forgetting a campaign.

Each method that changes the store carries out one decision of the person or of the device's owner. Opening, caps,
answers and forgetting are defined here. The other methods are inherited:

    session                 close
    campaigns/membership    join, accept, campaigns, campaign, terms, parse, addresses, set_address, close_early
    campaigns/agreements    consented, consent, choose_class, declaration, choose_prior, enrolment, present_code
    campaigns/trust         trusted, trust_author, distrust_author
    disclosure/disclosures  preview, exposure, history

campaigns/consent implements consent, and answers/answering the answers. store/schema contains the tables, and records
lists the class that owns each of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from edge_sdk.answers.answering import bundle, give_answer, set_clock
from edge_sdk.answers.results import Collected, Receipt
from edge_sdk.budget.ledger import LedgerEntry
from edge_sdk.budget.policy import Budget, BudgetPolicy
from edge_sdk.campaigns.membership import Membership
from edge_sdk.disclosure.disclosures import Disclosures
from edge_sdk.errors import StoreDamaged, StoreRestored
from edge_sdk.store.sqlite import MEMORY, Store

# At run time, these are imported only with the first key.
if TYPE_CHECKING:
    from edge_sdk.rollback.key_store import KeyStore
    from protocol.domain import Answer
    from protocol.keys import AuthorKey


class Device(Membership, Disclosures):
    """A device with an open store. Use it in a ``with`` statement, or ``close`` it.

    Methods that use the store raise ``StoreError`` if that is not possible, and ``StoreClosed`` after ``close``.

    Attributes:
        outbox: the envelopes that wait to leave.
        records: the tables of the store; for this package only, not for apps.
    """

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        trust: Iterable[bytes | AuthorKey] = (),
        budget: BudgetPolicy | None = None,
        *,
        key_store: KeyStore | None = None,
        clock: Callable[[], float] = time.time,
        urandom: Callable[[int], bytes] = os.urandom,
    ) -> Self:
        """Open the device whose store is in a folder; create the folder if it is missing.

        Args:
            folder: a folder that only this store uses, or ":memory:" for a device that ends with the process.
            trust: public keys of authors, each as 32 bytes or as an ``AuthorKey`` with a name. Their campaigns may be
                joined until the device is closed, in addition to those of the authors in the store (``trust_author``).
            budget: the owner's caps. They are stored, and can only be lowered later (``lower_caps``).
            key_store: stores the device's secret and the store's checkpoint. None for the key store that the store was
                created with; a new store then uses files in its folder, and on Android the Keystore. A keyring is used
                only if it is passed.
            clock: returns the time in seconds since 1970.
            urandom: returns the given number of random bytes.
        Returns:
            The open device; use it in a ``with`` statement, or close it.
        Raises:
            KeyRefused: one of the keys must not be trusted.
            ValueError: there would be more caps than a device can store.
            StoreRestored: the store is an old state or a copy, or a part of it is missing, so it may lack later
                spending. ``adopt`` continues with the store.
            StoreDamaged: the database is damaged, or database and checkpoint are missing and the secret is left. If a
                checkpoint records the spending, ``adopt`` continues without the database.
            StoreError: the store cannot be opened.
        """
        trusted = tuple(map(_author_key, trust))
        device = cls(_opened(folder, urandom, key_store), trusted, clock, urandom)
        try:
            if budget is not None:
                device.lower_caps(budget)
        except BaseException:
            device.close()
            raise
        return device

    @classmethod
    def adopt(
        cls,
        folder: str | os.PathLike[str],
        trust: Iterable[bytes | AuthorKey] = (),
        budget: BudgetPolicy | None = None,
        *,
        key_store: KeyStore | None = None,
        clock: Callable[[], float] = time.time,
        urandom: Callable[[int], bytes] = os.urandom,
    ) -> Self:
        """Continue with a store that was restored, copied or damaged; open any other store as ``open`` does.

        All campaigns are forgotten: answers, history, memo, outbox and consents. Everything reserved counts as spent;
        if the store and its checkpoint differ, the larger sum of spent and reserved counts. The caps stay. The keys
        stay too, unless the secret is missing or this machine cannot read it. Spending that cannot be attributed to a
        campaign counts in every campaign.

        A damaged database is moved to ``quarantine-1`` (or the next free number) until a campaign is forgotten. Its
        record of used slots is lost, and the study refuses a report for a slot that it has seen. No other process may
        use the folder meanwhile.

        The arguments are those of ``open``. If the database is damaged or missing, pass the key store with which the
        store was created.

        Returns:
            The open device.
        Raises:
            KeyRefused, ValueError: as for ``open``.
            StoreError: neither the database nor the checkpoint records the spending, or the store cannot be opened.
        """
        opened = partial(cls.open, folder, trust, budget, key_store=key_store, clock=clock, urandom=urandom)
        try:
            return opened()
        except (StoreRestored, StoreDamaged):
            # Imported here, because few processes call this method.
            from edge_sdk.rollback.recovery import adopt

            adopt(folder, urandom, int(clock()), key_store)
        return opened()

    # Budget

    def lower_caps(self, policy: BudgetPolicy) -> None:
        """Lower the owner's caps. Of two caps of the same kind and window length, the lower one applies.

        The first lifetime cap that the owner sets replaces the default of 8 nats, and may be higher. A cap below the
        amount already spent or reserved takes effect at once: answers are refused until forgetting has released enough
        reserve. Forgetting releases only the reserve for unused slots.

        Args:
            policy: the new caps, in nats; rounded down to nanonats.
        Raises:
            TypeError: ``policy`` is not a BudgetPolicy.
            ValueError: there would be more caps than a device can store.
        """
        if not isinstance(policy, BudgetPolicy):
            raise TypeError(f"caps must be a BudgetPolicy, not {type(policy).__name__}")
        with self._store.transaction():
            self.records.caps.lower(policy)

    @property
    def budget(self) -> Budget:
        """The caps in force, and the amounts spent, reserved and remaining."""
        return self.records.caps.budget()

    @property
    def ledger(self) -> list[LedgerEntry]:
        """All ledger entries (reserved, charged, released or carried), oldest first."""
        return self.records.ledger.entries()

    # Answers

    def answer(self, campaign_id: bytes, value: Answer, slot: int | None = None) -> Receipt:
        """Draw, charge, sign and queue one answer, in one transaction.

        The same value in the same slot returns the same bytes; nothing is charged or queued. In another slot or period,
        the same value gives a new report of the same output, at no cost. In a campaign with transcripts, every report
        has a fresh output, at full cost.

        Args:
            campaign_id: id of a joined campaign, 16 bytes.
            value: the answer. For a form, a mapping from the names of the questions that this device is asked
                (``Terms.asked_names``) to answers.
            slot: the slot of the answer in its period, 0 .. answers_per_period - 1. Slots are filled in increasing
                order: a skipped slot cannot be filled later. None for the next slot, which is always 0 if the campaign
                has one answer per period, as with transcripts. (The ``slot`` of a transcript's report is the number of
                earlier reports.)
        Returns:
            The signed report, its period and slot, and the amount charged now, in nats.
        Raises:
            NotInDomain: the question does not allow this value, which the text does not repeat. For a form, the text
                names a question that has no answer, or that this device is not asked.
            OutsideSchedule: the campaign is not open (``NotOpen`` before it opens, ``ClosedEarly`` after its author
                closed it), or the clock shows a time before the consent or before the latest report of a transcript.
            NotJoined: this device has not joined it.
            ConsentMissing: the person has not agreed to the campaign.
            QuotaReached: all slots of the period are used; or this slot was skipped, waits to be bundled, or was filled
                with another value or before the campaign was forgotten.
            BudgetRefused: the owner lowered a cap below the sum of the amounts spent and reserved; this does not
                depend on the value.
            OutboxFull: the outbox is full; this does not depend on the value.
            StoreRestored: this store is an old copy. The answer was charged and queued in it nevertheless.
            StoreError: the store failed otherwise; nothing was charged or queued.
            ValueError: no period has this slot.
        """
        return give_answer(self.records, campaign_id, value, slot, self._now(), self._urandom, collects=False)

    def collect(self, campaign_id: bytes, value: Answer, slot: int | None = None) -> Collected:
        """Draw, charge and store one answer, in one transaction; ``bundle`` seals it later, together with others.

        It also raises the errors of ``answer``.

        Args:
            campaign_id: id of a joined campaign, 16 bytes.
            value: the answer.
            slot: as in ``answer``.
        Returns:
            The period and slot of the answer, and the amount charged now, in nats.
        Raises:
            CampaignError: the campaign has transcripts, so each report has exactly one output.
            OutboxFull: 4,096 answers wait to be bundled; this does not depend on the value.
        """
        receipt = give_answer(self.records, campaign_id, value, slot, self._now(), self._urandom, collects=True)
        return Collected(receipt.campaign_id, receipt.period, receipt.slot, receipt.cost_nanonats, receipt.repeated)

    def collected(self, campaign_id: bytes) -> int:
        """Return the number of answers that wait to be bundled.

        Args:
            campaign_id: id of a joined campaign, 16 bytes.
        Returns:
            0 .. 4,096.
        Raises:
            NotJoined: this device never joined it.
        """
        return self.records.slots.waiting_count(self.records.campaigns.number(campaign_id))

    def bundle(self, campaign_id: bytes) -> int:
        """Seal and queue a campaign's waiting answers in one transaction; answers in consecutive slots share a
        signature.

        A report has at most 4,096 outputs; long outputs fill its envelope earlier. The number and length of the reports
        depend on which answers were collected, and not on the values. The campaign may have closed meanwhile: studies
        accept reports for periods that are over.

        Args:
            campaign_id: id of a joined campaign, 16 bytes.
        Returns:
            The number of reports. Answers that did not fit into the outbox stay collected.
        Raises:
            OutboxFull: nothing was sealed; all answers stay collected.
            NotJoined, StoreError: as in ``answer``.
        """
        return bundle(self.records, campaign_id)

    # Forgetting and upkeep

    def forget(self, campaign_id: bytes | None = None) -> None:
        """Delete one or all campaigns: answers, history, memo, outbox and consent, and their bytes in the store's
        files.

        Each used slot is charged like a new value, even if its value was a repeated one, and the rest of the reserve is
        released. So the remaining budget depends on the number of used slots, not on the answers. Used slots stay used:
        after joining again, none of them can be filled a second time. If a campaign with transcripts had an answer, it
        cannot be answered again, since its transcript is deleted too. A declared prior is kept.

        Under a window cap, all spending of the campaign counts as if it had happened now, or at the latest answer if
        that is later. So forgetting may make room for another campaign only after a window's length.

        Args:
            campaign_id: id of one campaign, 16 bytes, even if it is already forgotten; None for all joined campaigns.
        Raises:
            NotJoined: this device never joined it.
            StoreError: nothing was deleted; or the rows are deleted, but their old bytes could not be erased yet. The
                text says which.
        """
        records, now = self.records, self._now()
        with self._store.transaction():
            for known in records.campaigns.ids() if campaign_id is None else [campaign_id]:
                number = records.campaigns.number(known)
                latest, max_cost = records.consents.latest_and_cost_of(number, records.slots.used(number))
                records.ledger.fold(number, max(now, latest), max_cost)
                records.memo.forget(number)
                records.slots.forget(number)
                records.transcripts.forget(number)
                records.outbox.forget(number)
                records.consents.forget(number)
                records.campaigns.forget(known)
        self._store.compact()

    def set_clock(self) -> list[bytes]:
        """Accept the clock's current time as correct, if the clock was ahead before.

        While the clock shows a time before the consent, a device does not answer. A unit does not answer either while
        the clock shows a time before the start of its latest answer's period. This method lowers these two times only:
        spending and used slots stay. It is refused if, from now on, the worst case of all campaigns and the cost of
        answers with later dates together exceed a window cap. A later ``consent`` does not count answers with later
        dates. So these answers and those of a campaign that the person agrees to afterwards may together exceed a
        window cap.

        Returns:
            Ids of the campaigns whose recorded time was later. A transcript still continues only after its latest
            report.
        Raises:
            BudgetRefused: a window cap leaves no room: wait, or forget a campaign.
        """
        return set_clock(self.records, self._now())

    def doctor(self) -> dict[str, str | int]:
        """Return facts about this store for its owner.

        Returns:
            Values by a short description. The wording is for people and may change.
        Raises:
            StoreDamaged: the database is damaged.
            StoreError: the database or the key store cannot be read.
        """
        # Imported here, because few processes call this method.
        from edge_sdk.doctor import store_facts

        return store_facts(self.records, self._now())


def _opened(folder: str | os.PathLike[str], urandom: Callable[[int], bytes], key_store: KeyStore | None) -> Store:
    if folder == MEMORY:
        return Store.in_memory(urandom)
    from edge_sdk.rollback.store_identity import open_store

    return open_store(Path(folder), urandom, key_store)


def _author_key(key: bytes | AuthorKey) -> AuthorKey:
    """Return a key as a trusted author's key.

    Raises:
        KeyRefused: the key must not be trusted.
    """
    from protocol.keys import AuthorKey

    if not isinstance(key, bytes | AuthorKey):
        raise TypeError(f"an author's key must be 32 bytes or an AuthorKey, not {type(key).__name__}")
    return key if isinstance(key, AuthorKey) else AuthorKey(key)
