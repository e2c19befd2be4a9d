"""The device: all that an app does with a store, from opening it to forgetting.

Every method is one decision of the person or of the device's owner. The device owns the clock and the random source and
passes them to the modules that decide.

What agreeing does: campaigns/consent. What an answer does: answers/answering. What it tells: disclosure/preview. Where
rows are kept: records, store/sqlite.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from edge_sdk.answers.answering import bundle, give, known_past, set_clock
from edge_sdk.answers.results import Collected, Receipt
from edge_sdk.budget.ledger import LedgerEntry
from edge_sdk.budget.policy import Budget, BudgetPolicy
from edge_sdk.campaigns.consent import agree, choose, choose_prior, no_consent, present_code
from edge_sdk.errors import AddressRefused, InvitationRefused, StoreDamaged, StoreRestored, UnknownCampaign
from edge_sdk.records import Records
from edge_sdk.store.sqlite import MEMORY, Store
from edge_sdk.timestamps import moment
from edge_sdk.transport.address import address as address_of
from edge_sdk.transport.outbox import Outbox
from protocol.errors import CampaignError

if TYPE_CHECKING:  # loaded with the first campaign: an app that shows its ledger needs no audit
    from edge_sdk.campaigns.invitation import Invitation
    from edge_sdk.campaigns.joined import Joined
    from edge_sdk.campaigns.terms import Terms
    from edge_sdk.disclosure.declaration import Declaration
    from edge_sdk.disclosure.exposure import Exposure
    from edge_sdk.disclosure.preview import Preview, Transcript
    from edge_sdk.rollback.key_store import KeyStore
    from protocol.campaign import Campaign
    from protocol.domain import Answer
    from protocol.keys import AuthorKey


class Device:
    """One device's store, open. Use it in a ``with`` statement, or ``close`` it.

    Attributes:
        outbox: what waits to leave.
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

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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

    # The authors the owner trusts

    @property
    def trusted(self) -> list[AuthorKey]:
        """The authors whose campaigns may be joined: those of this session, then those that the store keeps."""
        kept = {author.public: author for author in (*self.records.authors.all(), *self._trust)}
        return list({author.public: kept[author.public] for author in (*self._trust, *kept.values())}.values())

    def trust_author(self, author: AuthorKey) -> None:
        """Let in campaigns of an author from now on, in every session; a later name takes the place of an earlier one.

        Args:
            author: the key, as the owner was handed it, and the name that is shown.
        """
        with self._store.transaction():
            self.records.authors.add(author)

    def distrust_author(self, public: bytes) -> None:
        """Let in no more campaigns of an author; what is joined stays joined.

        Args:
            public: the author's key, 32 bytes.
        """
        with self._store.transaction():
            self.records.authors.remove(public)

    # Campaigns

    def join(self, data: bytes, address: str | None = None) -> Terms:
        """Verify and audit a signed campaign, check it against the owner's caps, and keep it.

        Joining again changes nothing, except that an address is stored if there was none. A campaign may be joined
        before it opens.

        Args:
            address: where its study takes reports, https, or http to this very machine. Used only where the signed
                campaign names no address; without any, its reports stay on the device, or leave in a file.
        Returns:
            The terms that the person is shown before consent. Raises: AddressRefused: ``address`` is malformed; or
            another one was given before (``set_address`` changes it). BadData: at the stage that fails; not signed by
            an author this session trusts, for one. OutsideSchedule: it is over; ``ClosedEarly`` where its author closed
            it before its time. BudgetRefused: its worst case, whichever view the device has, does not fit under the
            caps.
        """
        if not isinstance(data, bytes):
            raise TypeError(f"a signed campaign is bytes, as they were read from its file, not {type(data).__name__}")
        return self._join(data, None if address is None else address_of(address).text)

    def accept(self, invitation: Invitation) -> Terms:
        """Join the campaign of a link, as ``join`` does. Its author is trusted for this campaign and for no other.

        The code in the link is kept as by ``present_code``, where the campaign takes enrolled devices only.

        Args:
            invitation: what the link's study answered, ``download.fetch_invited``.
        Returns:
            The terms that the person is shown before consent. Raises: InvitationRefused: the campaign's author signed
            addresses, and the link leads to another. BadData, OutsideSchedule, BudgetRefused: as ``join``; nothing is
            kept.
        """
        link = invitation.link
        terms = self._join(invitation.data, link.address, invitation.author)
        if link.code and terms.enrolment == "enrolled":
            self.present_code(terms.campaign_id, link.code)
        return self.terms(terms.campaign_id)

    def _join(self, data: bytes, given: str | None, invited_by: bytes | None = None) -> Terms:
        """Join a campaign.

        Args:
            given: the address of its study, as text.
            invited_by: the author's key that the person's link names; None asks for a trusted author. A link leads
                to an address that the campaign names, if it names any.
        """
        from protocol.campaign import campaign_id

        campaigns, now = self.records.campaigns, self._now()
        try:
            joined = campaigns.find(campaign_id(data))
        except UnknownCampaign:
            joined = self._verified(data, invited_by)
        signed = joined.campaign.addresses
        if invited_by is not None and signed and given not in signed:
            raise InvitationRefused(
                f"the link leads to {given}, and the campaign's author signed another address: {' or '.join(signed)}"
            )
        _require_not_over(joined, now)
        with self._store.transaction():
            campaigns.require_open(joined, now)
            campaign = campaigns.numbered(joined.signed.id)
            if not campaigns.is_joined(campaign):
                self.records.caps.require_room(campaign, joined.commitments, now)
                campaigns.add(campaign, joined, given)
            elif given and not campaigns.signs_addresses(campaign):
                self._keep_address(campaign, given)
        campaigns.keep_open(joined)
        return self._told(joined)

    def _verified(self, data: bytes, invited_by: bytes | None) -> Joined:
        """Verify and audit a campaign that is not joined.

        Raises:
            BadData: at the stage that fails.
        """
        from edge_sdk.campaigns.joined import Joined

        trusted = [author.public for author in self.trusted] if invited_by is None else [invited_by]
        if not trusted:
            raise CampaignError(
                "no author is trusted: take a link to the campaign, or pass the public key of its author as trust"
            )
        return Joined.open(data, trusted, self._store.secret)

    @property
    def campaigns(self) -> list[bytes]:
        """Ids of the joined campaigns, in the order they were first joined."""
        return self.records.campaigns.ids()

    def addresses(self, campaign_id: bytes) -> tuple[str, ...]:
        """Return the addresses for a joined campaign's reports, in the order in which they are tried; may be empty.

        Args:
            campaign_id: of a joined campaign, 16 bytes.
        Returns:
            Addresses as text; none where nobody named one.
        Raises:
            UnknownCampaign: this device has not joined it.
        """
        campaigns = self.records.campaigns
        return campaigns.addresses(campaigns.require_joined(campaign_id))

    def set_address(self, campaign_id: bytes, address: str) -> None:
        """Send the reports of a joined campaign that names no address to this one from now on.

        All waiting envelopes go to the new address; those that the old address received but did not acknowledge may
        reach both.

        Args:
            campaign_id: of a joined campaign, 16 bytes.
            address: https, or http to this very machine.
        Raises:
            AddressRefused: not an address; or the campaign names its own.
            UnknownCampaign: this device has not joined it.
        """
        campaigns, given = self.records.campaigns, address_of(address).text
        with self._store.transaction():
            campaign = campaigns.require_joined(campaign_id)
            if campaigns.signs_addresses(campaign):
                raise AddressRefused(
                    f"the campaign's author signed where its reports go: {' or '.join(campaigns.addresses(campaign))}"
                )
            if campaigns.addresses(campaign) != (given,):
                campaigns.set_address(campaign, given)
                self.outbox.begin_anew(campaign)

    def _keep_address(self, campaign: int, given: str) -> None:
        """Keep the address of a campaign that has none; part of the caller's transaction.

        Raises:
            AddressRefused: it has another one.
        """
        known = self.records.campaigns.addresses(campaign)
        if known and known != (given,):
            raise AddressRefused(f"its reports are sent to {known[0]} already: use set_address to change that")
        if not known:
            self.records.campaigns.set_address(campaign, given)

    def terms(self, campaign_id: bytes, language: str | None = None) -> Terms:
        """Return the terms of a joined campaign.

        Args:
            language: of the person, as their system names it: "de", "de_AT". Where the campaign has no such texts, and
                for None, they are those it was written in.
        Returns:
            The terms in that language, with the addresses and the closing notice known now.
        """
        return self._told(self.records.member(campaign_id), language)

    def _told(self, joined: Joined, language: str | None = None) -> Terms:
        terms = joined.terms if language is None else joined.terms_in(language)
        if terms.questions and not self.consented(joined.signed.id):
            terms = replace(terms, map=None)
        campaigns, campaign_id = self.records.campaigns, joined.signed.id
        closed, addresses = campaigns.closed_early(campaign_id), self.addresses(campaign_id)
        coded = bool(self.records.outbox.code(campaigns.number(campaign_id)))
        author_name = self._name_of(terms.author)
        return replace(terms, addresses=addresses, closed_early=closed, author_name=author_name, coded=coded)

    def _name_of(self, public: bytes) -> str:
        """The name of a trusted author; "" of one that has none, or is not trusted."""
        return next((one.name for one in self._trust if one.public == public), "") or self.records.authors.name(public)

    def close_early(self, data: bytes) -> Terms:
        """Close a joined campaign early, by its author's signed notice; return its terms.

        From the notice's time on nothing is agreed to or answered (``ClosedEarly``); what was collected before is still
        bundled and sent. It holds for good, also after forgetting. The same notice again changes nothing.

        Args:
            data: the signed notice, as ``download.closing`` has it from a study, or from a file.
        Returns:
            The campaign's terms with the earlier end.
        Raises:
            BadData: at the stage that fails: not signed by the campaign's author; or it does not close the campaign
                earlier than it closes itself, or than a notice that is known.
            UnknownCampaign: it closes a campaign that is not joined.
        """
        from protocol.closing import open_closing, unverified_closing

        campaigns, campaign_id = self.records.campaigns, unverified_closing(data).campaign_id
        joined = campaigns.find(campaign_id)
        closing = open_closing(data, joined.signed)
        with self._store.transaction():
            known = campaigns.closed_early(campaign_id)
            if known is not None and known < closing.closes:
                raise CampaignError(
                    f"{joined.campaign.title!r} is closed from an earlier time on: a later notice cannot open it again"
                )
            campaigns.close_early(campaigns.require_joined(campaign_id), closing.closes)
        return self.terms(campaign_id)

    def campaign(self, campaign_id: bytes) -> Campaign:
        """A joined campaign as it was signed, verified and audited.

        Args:
            campaign_id: of a joined campaign, 16 bytes.
        Returns:
            The campaign; its texts are in the language it was written in.
        """
        return self.records.campaigns.find(campaign_id).campaign

    def parse(self, campaign_id: bytes, text: str) -> Answer:
        """Parse ``text`` as an answer to a joined campaign.

        Args:
            campaign_id: of a joined campaign, 16 bytes.
            text: an answer as a person types it or a label of the campaign.
        Returns:
            The answer, as ``answer`` and ``preview`` take it.
        Raises:
            NotInDomain: not an answer to the campaign's question.
        """
        return self.campaign(campaign_id).domain.parse(text)

    def consented(self, campaign_id: bytes) -> bool:
        """Whether the person agreed to a joined campaign.

        Args:
            campaign_id: of a joined campaign, 16 bytes.
        Returns:
            True from consent until the campaign is forgotten.
        """
        return self.records.consents.find(self.records.campaigns.number(campaign_id)) is not None

    def consent(
        self,
        campaign_id: bytes,
        *,
        as_class: str | None = None,
        prior: Mapping[str, int] | None = None,
        level: float | None = None,
    ) -> None:
        """Record the person's consent: reserve the campaign's worst case; in an open campaign, queue the enrolment.

        Agreeing again changes nothing.

        Args:
            as_class: the person's class, in a campaign that has classes. It is public, and no answer may decide it;
                ``choose_class`` has one chosen that fits a person's secrets.
            prior: how likely each value is for the person, as whole numbers above zero, in a campaign for people's own
                priors. By agreeing they declare it openly, and it holds for good.
            level: nats, with a prior: at most the campaign's level, and then the person's own. It is declared with the
                prior, so no answer may decide it.
        Raises:
            ConsentMissing: the campaign asks for a class or a prior, and none is given.
            CampaignError: no such class; or the person agreed or declared otherwise before.
            ReportError, NotInDomain: not a prior that can be declared, or of other values.
            BudgetRefused: the worst case does not fit under the caps.
            OutboxFull: too much waits to leave, and the device could not be introduced.
            OutsideSchedule: it is over.
        """
        joined, now = self._open_now(campaign_id)
        agree(self.records, joined, now, self._urandom, as_class, prior, level)

    def choose_class(self, campaign_id: bytes, level: float, history: Mapping[str, int] | None = None) -> str:
        """Record the consent under a class chosen at random, most likely the one whose prior is nearest to the person's
        history.

            the nearest class with probability e^level / (e^level + C - 1), each other with 1 / (e^level + C - 1)

        It is drawn once and charged ``level`` at once, beside the worst case of any class; a person who agreed already
        keeps their class. After forgetting, it is drawn and charged anew.

        Args:
            level: nats that the choice may reveal. history: counts of the person's values; None takes this device's
                answers to campaigns with the same question. It never leaves the device.
        Returns:
            the class.
        Raises:
            CampaignError: the campaign has no classes with priors.
            NotionError: a level that protects nothing or measures nothing.
            NotInDomain: the history is of other values.
            BudgetRefused: the choice and the costliest class do not fit under the caps.
            OutboxFull: too much waits to leave, and the device could not be introduced.
            OutsideSchedule: it is over.
        """
        joined, now = self._open_now(campaign_id)
        return choose(self.records, joined, now, self._urandom, level, history)

    def declaration(
        self, campaign_id: bytes, prior: Mapping[str, int] | None = None, level: float | None = None
    ) -> Declaration:
        """Return what declaring a prior of one's own says, promises and costs; nothing is stored, drawn or charged.

        Args:
            campaign_id: of a joined campaign for people's own priors, 16 bytes.
            prior: as for ``consent``; None for the one that was declared before or, before any, for the even one.
            level: as for ``consent``.
        Returns:
            For each value what an observer who believes the declaration could believe after a report, and the costs.
        Raises:
            CampaignError: the campaign asks for no prior; or another one was declared before, and holds.
            ReportError, NotInDomain: not a prior that can be declared, or of other values.
        """
        from edge_sdk.disclosure.declaration import declaration

        return declaration(self.records, campaign_id, prior, level)

    def choose_prior(
        self, campaign_id: bytes, level: float, history: Mapping[str, int] | None = None
    ) -> dict[str, int]:
        """Record the consent under a declared prior chosen at random from a public list, most likely the one that is
        nearest to the person's own history.

            the nearest of k + 1 with probability e^level / (e^level + k), each other with 1 / (e^level + k)

        The list has the even prior and, for each value, the one that gives it three quarters. It is drawn once, charged
        ``level`` at once, beside the worst case of any prior of the list, and then public for good: a prior that was
        declared before holds, also after forgetting, and nothing is drawn or charged.

        Args:
            campaign_id: of a joined campaign for people's own priors, 16 bytes.
            level: nats that the choice may tell.
            history: as in ``choose_class``.
        Returns:
            The declared weights by label.
        Raises:
            CampaignError: the campaign asks for no prior.
            NotionError: a level that protects nothing or measures nothing.
            NotInDomain: the history is of other values.
            BudgetRefused: the choice and the costliest prior of the list do not fit under the caps.
            OutboxFull: too much waits to leave, and the device could not be introduced.
            OutsideSchedule: it is over.
        """
        joined, now = self._open_now(campaign_id)
        prior = choose_prior(self.records, joined, now, self._urandom, level, history)
        return {joined.campaign.domain.label(x): weight for x, weight in enumerate(prior)}

    def enrolment(self, campaign_id: bytes) -> bytes:
        """Return the sealed enrolment for a campaign with consent, to be handed to the organisation.

        Args:
            campaign_id: of a joined campaign, 16 bytes.
        Returns:
            One signed envelope.
        """
        joined = self.records.member(campaign_id)
        if not self.consented(campaign_id):
            raise no_consent(joined)
        return joined.enrolment()

    def present_code(self, campaign_id: bytes, code: str) -> None:
        """Keep the code by which the study of an enrolled campaign lets this device in; ``send`` redeems it.

        It is redeemed with the first upload after consent, whose enrolment the device then sends itself, and forgotten
        once the study has let the device in. Another code replaces one that the study refused.

        Args:
            campaign_id: of a joined campaign, 16 bytes.
            code: as the invitation has it.
        Raises:
            CampaignError: no code; or the campaign takes reports of anybody.
            UnknownCampaign: this device has not joined it.
            OutboxFull
        """
        present_code(self.records, self.records.campaigns.find(campaign_id), code)

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

    # What reports reveal

    def preview(self, campaign_id: bytes, value: Answer | None = None) -> Preview:
        """Return what an answer would send and what it could reveal; nothing is drawn, charged or stored.

        Args:
            campaign_id: of a joined campaign, 16 bytes.
            value: the answer that the person considers; None describes the question alone. Of a form that nobody agreed
                to, it describes what would tell most, whichever questions are asked.
        Returns:
            The bytes, and the most that they could tell; bounds are rounded up.
        Raises:
            NotInDomain: not an answer to the campaign's question.
            ConsentMissing: an answer to a form that the person did not agree to.
        """
        from edge_sdk.disclosure.preview import preview

        return preview(self.records, campaign_id, value, self._now())

    def exposure(self, campaign_id: bytes) -> Exposure:
        """Return a bound on what all reports about the same values reveal together, over all joined campaigns.

        For the person only: the result depends on how many different values they gave.

        Args:
            campaign_id: of a joined campaign, 16 bytes.
        Returns:
            The exposure by campaign; levels are rounded up.
        """
        from edge_sdk.disclosure.preview import exposure

        return exposure(self.records, campaign_id)

    def transcript(self, campaign_id: bytes) -> Transcript:
        """Return what this device's reports reveal in a campaign whose channels depend on earlier reports; public.

        Args:
            campaign_id: of a joined campaign, 16 bytes.
        Returns:
            The periods of the reports, and two bounds on what they reveal, in nanonats.
        Raises:
            CampaignError: the campaign has no transcripts.
        """
        from edge_sdk.disclosure.preview import transcript

        return transcript(self.records, campaign_id)

    def prior(self, campaign_id: bytes) -> dict[str, int]:
        """Return the number of reports of each value: the person's history, which never leaves the device.

        If this device's view is of districts, the history is of districts; finer values were never stored.

        Args:
            campaign_id: of a joined campaign, 16 bytes.
        Returns:
            By label, a number of reports; labels without a report are left out.
        """
        joined = self.records.campaigns.find(campaign_id)
        counts = self.records.memo.counts(self.records.campaigns.number(campaign_id))
        return {joined.label(x): times for x, times in sorted(counts.items())}

    # Withdrawing

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
        folder = self._store.folder
        budget = self.budget
        found: dict[str, str | int | float] = {
            "folder": str(folder) if folder else "in memory: everything ends with the process",
            "campaigns joined": len(self.campaigns),
            "envelopes queued": len(self.outbox),
            "spent, nats": budget.spent,
            "reserved, nats": budget.reserved,
            "remaining, nats": budget.remaining,
        }
        if folder:
            for path in (folder, *sorted(path for path in folder.iterdir() if path.is_file())):
                mode = path.stat().st_mode & 0o777
                found[f"mode of {path.name}"] = f"{mode:04o}" + (" (others can read it)" if mode & 0o077 else "")
        return found | self._kept_here() | self._clock_behind() | self._store.doctor()

    def _kept_here(self) -> dict[str, str]:
        """Return the reason why envelopes wait, for each campaign with a failed upload or without an address."""
        from edge_sdk.transport.waiting import waiting

        return {
            f"waits of {self.campaign(one.campaign_id).title!r}": f"{one.envelopes} envelopes: {one.state}"
            for one in waiting(self.outbox)
            if one.failures or not one.addresses
        }

    def _clock_behind(self) -> dict[str, str]:
        """Return until when a unit accepts no answers, if the clock shows an earlier time than at a past answer."""
        records, now, found = self.records, self._now(), {}
        for campaign_id in records.campaigns.ids():
            consent = records.consents.find(records.campaigns.number(campaign_id))
            if consent is not None and now < (until := known_past(records, campaign_id)):
                title = self.campaign(campaign_id).title
                found[f"clock in {title!r}"] = (
                    f"behind its latest reading: a unit answers again at {moment(until)}; if the clock is right "
                    "now and ran ahead before: clock --set"
                )
        return found

    def _now(self) -> int:
        return int(self._clock())

    def _open_now(self, campaign_id: bytes) -> tuple[Joined, int]:
        """Return a joined campaign and the time; refuse a campaign that is over."""
        joined, now = self.records.campaigns.find(campaign_id), self._now()
        _require_not_over(joined, now)
        self.records.campaigns.require_open(joined, now)
        return joined, now


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


def _require_not_over(joined: Joined, now: int) -> None:
    if now >= joined.campaign.closes:
        joined.campaign.period_at(now)
