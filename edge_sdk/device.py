"""The device: joins campaigns, asks the owner's consent and budget, and answers.

One idea: an answer is one transaction. Charge, draw, memo, sign, enqueue and prior are on the disk together before
anything is handed out, so a crash may cost one report and never hides one. An answer may also be collected: all but
signed, it waits in the store until a bundle puts one signature under many.

What the level protects is which values a person holds. THAT an answer changed between two periods, and that it
changed back, can be seen by whoever sees all periods, because an unchanged answer repeats its output.

Whether, when and how much a device sends does not depend on the answer: the worst case was reserved at consent, the
random bytes are drawn before the value is looked at and are always as many, and all reports of as many outputs are
equally long. Every answer but a retry is one more output, also where the value is the same again; a retry says which
reading of the period it is, and is the same bytes again.

How a report is drawn and sealed: joined. Which slots are filled: reading. What fits the caps: budget. Where rows are
kept: store.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from edge_sdk.budget import (
    DEFAULT_LIFETIME,
    LIFETIME,
    Budget,
    BudgetPolicy,
    Cap,
    Commitment,
    Standing,
    require_kept,
    require_room,
)
from edge_sdk.errors import (
    ConsentMissing,
    OutboxFull,
    QuotaReached,
    StoreDamaged,
    StoreError,
    StoreRestored,
    UnknownCampaign,
)
from edge_sdk.ledger import Entry, Kind, Ledger
from edge_sdk.memo import Kept, Memo
from edge_sdk.outbox import Outbox
from edge_sdk.reading import Readings
from edge_sdk.receipt import Collected, Preview, Receipt, Transcript
from edge_sdk.role import Consent, Role, counts_of, declared_of, incomplete, priors_of
from edge_sdk.store import Store
from protocol.errors import BadData, CampaignError, OutsideSchedule

if TYPE_CHECKING:  # loaded with the first campaign: an app that shows its ledger needs no audit
    from edge_sdk.exposure import Exposure, Told
    from edge_sdk.joined import Joined
    from edge_sdk.keeper import Keeper
    from edge_sdk.terms import Terms
    from protocol.campaign import Campaign
    from protocol.channels import Channel
    from protocol.domain import Answer


class Device:
    """One device's store, open. Use it in a ``with`` statement, or ``close`` it."""

    def __init__(
        self, store: Store, trust: tuple[bytes, ...], clock: Callable[[], float], urandom: Callable[[int], bytes]
    ) -> None:
        self._store = store
        self._trust = trust
        self._clock = clock
        self._urandom = urandom
        self._ledger = Ledger(store)
        self._memo = Memo(store)
        self._readings = Readings(store)
        self._opened: dict[bytes, Joined] = {}
        self.outbox = Outbox(store, clock, urandom)

    @classmethod
    def open(
        cls,
        place: str | os.PathLike[str],
        trust: Iterable[bytes] = (),
        budget: BudgetPolicy | None = None,
        *,
        keeper: Keeper | None = None,
        clock: Callable[[], float] = time.time,
        urandom: Callable[[int], bytes] = os.urandom,
    ) -> Self:
        """The device whose store is the folder ``place``, made if there is none.

        Args:
            place: a folder of its own, or ":memory:" for a device that ends with the process.
            trust: public keys, 32 bytes each, of the authors whose campaigns may be joined in this session.
            budget: the owner's caps. They are kept, and can only be tightened: the lower of two caps holds.
            keeper: of the device's secret and the store's mark. None goes on with the one the store was made with; a
                new store's are files of its folder, and on Android the Keystore's. A keyring is used only if named.
        Raises:
            KeyRefused: a key nobody should trust.
            StoreRestored: the store is an older state or a copy of itself, and what was spent since is not in it.
            StoreDamaged: the store does not hold what was written into it. ``adopt`` goes on with either.
            StoreError
        """
        trusted = tuple(trust)
        if trusted:
            from protocol.keys import require_public

            for public in trusted:
                require_public(public)
        device = cls(Store.open(place, urandom, keeper), trusted, clock, urandom)
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
        trust: Iterable[bytes] = (),
        budget: BudgetPolicy | None = None,
        *,
        keeper: Keeper | None = None,
        clock: Callable[[], float] = time.time,
        urandom: Callable[[int], bytes] = os.urandom,
    ) -> Self:
        """Go on with a store that was restored, copied or damaged; a store that opens is opened, and not changed.

        Everything joined is forgotten: answers, prior, memo, queue and consents. All that was reserved counts as spent,
        by the store or by its mark, whichever is more; the caps stay, and so do the keys, unless the secret is lost
        with another machine. What nobody knows the campaign of counts in each. A damaged database is moved to
        ``quarantine-1`` or the next, until something is forgotten; the slots it had used are lost with it, and the
        study refuses what it has seen. No other process may use the folder meanwhile.

        Args: as of ``open``; where a database is damaged or gone, the keeper is named as it was when it was made.
        Raises:
            StoreError: neither database nor mark says what was spent.
        """
        try:
            return cls.open(place, trust, budget, keeper=keeper, clock=clock, urandom=urandom)
        except (StoreRestored, StoreDamaged):
            from edge_sdk.adoption import adopt  # which hardly any device ever needs

            adopt(place, urandom, int(clock()), keeper)
        return cls.open(place, trust, budget, keeper=keeper, clock=clock, urandom=urandom)

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # The owner's caps and what became of them

    def tighten(self, policy: BudgetPolicy) -> None:
        """Add caps; where there is one already, the lower one holds.

        A cap below what is reserved already holds at once: nothing more is answered until a campaign is forgotten.
        """
        with self._store.transaction():
            for cap in policy.caps():
                self._store.execute(
                    "INSERT INTO cap VALUES (?, ?, ?) "
                    "ON CONFLICT DO UPDATE SET nanonats = min(nanonats, excluded.nanonats)",
                    cap.kind,
                    cap.seconds,
                    cap.nanonats,
                )
            self._store.follow_caps()

    @property
    def budget(self) -> Budget:
        """The caps in force, what was spent, and what remains."""
        spent = self._ledger.spent()
        return Budget(self._caps(), spent, self._ledger.committed() - spent)

    @property
    def ledger(self) -> list[Entry]:
        """Everything that was reserved, spent, released or carried, oldest first."""
        return self._ledger.entries()

    # Campaigns

    def join(self, data: bytes) -> Terms:
        """Verify and audit a signed campaign, check it against the owner's caps, and keep it.

        Joining again changes nothing. A campaign may be joined before it opens.

        Raises:
            BadData: at the stage that fails; not signed by an author this session trusts, for one.
            OutsideSchedule: it is over.
            BudgetRefused: its worst case does not fit under the caps.
        """
        from edge_sdk.joined import Joined
        from protocol.campaign import campaign_id

        now = self._now()
        try:
            joined = self._joined(campaign_id(data))
        except UnknownCampaign:
            if not self._trust:
                raise CampaignError(
                    "this session trusts no author: name the public key of the campaign's author (trust)"
                ) from None
            joined = Joined.open(data, self._trust, self._store.secret)
        _require_not_over(joined, now)
        with self._store.transaction():
            self._store.execute("INSERT OR IGNORE INTO known (id) VALUES (?)", joined.signed.id)
            campaign = self._number(joined.signed.id)
            if not self._is_joined(campaign):
                self._require_room(campaign, joined.commitment, now)
                self._store.execute("INSERT INTO joined VALUES (?, ?, ?)", campaign, joined.signed.author, data)
        self._opened[joined.signed.id] = joined
        return joined.terms

    @property
    def campaigns(self) -> list[bytes]:
        """Ids of the joined campaigns, in the order they were first joined."""
        rows = self._store.rows("SELECT id FROM joined JOIN known ON campaign = number ORDER BY number")
        return [campaign_id for (campaign_id,) in rows]

    def terms(self, campaign_id: bytes) -> Terms:
        """What the person is told about a joined campaign."""
        return self._member(campaign_id).terms

    def parse(self, campaign_id: bytes, text: str) -> Answer:
        """The answer that ``text`` spells in a joined campaign.

        Raises:
            NotInDomain
        """
        return self._joined(campaign_id).campaign.domain.parse(text)

    def consented(self, campaign_id: bytes) -> bool:
        """Whether the person agreed to a joined campaign."""
        return self._consent(self._number(campaign_id)) is not None

    def consent(
        self, campaign_id: bytes, *, as_class: str | None = None, prior: Mapping[str, int] | None = None
    ) -> None:
        """The person agrees: reserve the campaign's worst case, and introduce the device where anyone may answer.

        Agreeing again changes nothing.

        Args:
            as_class: the person's class, in a campaign that has classes. It is public, and no answer may decide it;
                ``choose_class`` has one chosen that fits a person's secrets.
            prior: how likely each value is for the person, as whole numbers above zero, in a campaign for people's own
                priors. By agreeing they declare it openly, and it holds for good.
        Raises:
            ConsentMissing: the campaign asks for a class or a prior, and none is given.
            CampaignError: no such class; or the person agreed or declared otherwise before.
            ReportError, NotInDomain: not a prior that can be declared, or of other values.
            BudgetRefused: the worst case does not fit under the caps.
            OutboxFull: too much waits to leave, and the device could not be introduced.
            OutsideSchedule: it is over.
        """
        joined = self._joined(campaign_id)
        now = self._now()
        _require_not_over(joined, now)
        from protocol.domain import DITHER_BYTES

        asked = Role(
            None if as_class is None else joined.campaign.class_of(as_class),
            None if prior is None else declared_of(joined.campaign, prior),
        )
        dither = self._urandom(DITHER_BYTES)
        with self._store.transaction():
            campaign = self._require_joined(campaign_id)
            role = Role(asked.place, self._declare(campaign, asked.prior))
            consent = self._consent(campaign)
            if consent is not None:
                if asked.place not in (None, consent.role.place):
                    raise CampaignError(
                        f"the person agreed as {joined.campaign.classes[consent.role.place or 0]!r}: forget the "
                        "campaign first to agree as another class"
                    )
                return
            if not joined.of(role).complete:
                raise incomplete(joined.campaign)
            self._agree(joined.of(role), campaign, now, dither)

    def choose_class(self, campaign_id: bytes, level: float, history: Mapping[str, int] | None = None) -> str:
        """The person agrees, as a class chosen at random: most likely the one whose prior is nearest to their own.

            the nearest class with probability e^level / (e^level + C - 1), each other with 1 / (e^level + C - 1)

        It is drawn once and charged ``level`` at once, beside the worst case of any class; a person who agreed already
        keeps their class. After forgetting, it is drawn and charged anew.

        Args:
            level: nats that the choice may tell.
            history: how often each value was the person's; None takes this device's own answers to campaigns that ask
                for the same. It never leaves.
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
        from protocol import exact, personal
        from protocol.domain import DITHER_BYTES
        from protocol.notions import require_level

        joined = self._joined(campaign_id)
        now = self._now()
        _require_not_over(joined, now)
        names, priors = joined.campaign.classes, priors_of(joined.campaign)
        asked = exact.level_from(level)
        require_level(asked)
        channel = personal.choice(len(names), asked)
        dither, rand = self._urandom(DITHER_BYTES), self._urandom(channel.rand_bytes)  # before the history is looked at
        with self._store.transaction():
            campaign = self._require_joined(campaign_id)
            consent = self._consent(campaign)
            if consent is not None:
                return names[consent.role.place or 0]
            # What is refused may not depend on the draw: room for the choice and for the costliest class.
            self._require_room(campaign, joined.commitment, now, choice=asked)
            self._require_introduction(joined)
            counts = self._history(joined) if history is None else counts_of(joined.campaign, history)
            place = channel.sample(personal.nearest(counts, priors), rand)
            self._agree(joined.of(Role(place)), campaign, now, dither, choice=asked)
        return names[place]

    def _agree(self, joined: Joined, campaign: int, now: int, dither: bytes, choice: int = 0) -> None:
        """Reserve, charge the choice of the class, and write the consent down; part of the caller's transaction."""
        if joined.campaign.transcript and self._store.row("SELECT 1 FROM used WHERE campaign = ?", campaign):
            raise CampaignError(
                f"{joined.campaign.title!r} was forgotten after an answer, and its transcript with it; a later answer "
                "would have to build on it, so the campaign cannot be answered again"
            )
        commitment = joined.commitment
        self._require_room(campaign, commitment, now, choice)
        self._require_introduction(joined)
        self._ledger.add(campaign, Kind.RESERVE, now, commitment.worst_case + choice)
        if choice:
            self._ledger.add(campaign, Kind.CHARGE, now, choice)
        self._store.execute(
            "INSERT INTO consent VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            campaign,
            now,
            dither,
            commitment.cost,
            commitment.inputs,
            commitment.answers_per_period,
            commitment.period_seconds,
            commitment.periods,
            joined.role.place,
            choice,
            now,
        )
        if joined.campaign.enrolment == "open":
            self.outbox.enqueue(campaign, joined.enrolment())

    def _require_introduction(self, joined: Joined) -> None:
        """Room for the enrolment, which is equally long in every class."""
        if joined.campaign.enrolment == "open":
            self.outbox.require_room(len(joined.enrolment()))

    def _declare(self, campaign: int, prior: tuple[int, ...] | None) -> tuple[int, ...] | None:
        """Keep a declared prior for good; part of the caller's transaction.

        The study holds to the first one it was told, so another one could never be decoded.
        """
        from protocol import codec

        known = self._declared(campaign)
        if known is None and prior is not None:
            self._store.execute("INSERT INTO declared VALUES (?, ?)", campaign, codec.encode(list(prior)))
        elif prior not in (None, known):
            raise CampaignError("another prior was declared in this campaign before, and it holds: leave it out now")
        return known or prior

    def _declared(self, campaign: int) -> tuple[int, ...] | None:
        from protocol import codec, personal

        row = self._store.row("SELECT prior FROM declared WHERE campaign = ?", campaign)
        if row is None:
            return None
        value = codec.decode(row[0], limit=8 * personal.MAX_DECLARED_VALUES)
        return codec.integers(value, "a weight", StoreError)

    def _history(self, joined: Joined) -> list[int]:
        """How often each value was answered in all campaigns of this device that ask for the same."""
        counts = [0] * joined.campaign.domain.size
        for campaign_id in self.campaigns:
            if self._joined(campaign_id).campaign.domain == joined.campaign.domain:
                for x, times in self._memo.counts(self._number(campaign_id)).items():
                    counts[x] += times
        return counts

    def enrolment(self, campaign_id: bytes) -> bytes:
        """The sealed enrolment of a campaign agreed to, to be handed to the organisation."""
        joined = self._member(campaign_id)
        if not self.consented(campaign_id):
            raise _no_consent(joined)
        return joined.enrolment()

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
        Raises:
            NotInDomain: the question does not allow this value. The text does not repeat it.
            OutsideSchedule: the campaign is not open (``NotOpen`` before it opens), or the clock went back before
                the consent or the latest report of a transcript.
            ConsentMissing
            QuotaReached: all readings of the period are given, or this one is: with another value, or it waits to be
                bundled.
            BudgetRefused: the owner lowered a cap below what is reserved, whatever the value.
            OutboxFull: too much waits to leave, whatever the value.
            StoreError: nothing was charged and nothing left.
            ValueError: a reading that no period has.
        """
        given, envelope = self._give(campaign_id, value, reading, collects=False)
        return Receipt(given.campaign_id, given.period, given.slot, envelope, given.cost_nanonats, given.repeated)

    def collect(self, campaign_id: bytes, value: Answer, reading: int | None = None) -> Collected:
        """Draw, charge and keep one answer, in one transaction, to be sealed by ``bundle`` together with others.

        The arguments and what is raised are those of ``answer``, but:

        Raises:
            CampaignError: a campaign with transcripts, where every report has one output.
            OutboxFull: 4,096 readings wait to be bundled, whatever the value.
        """
        return self._give(campaign_id, value, reading, collects=True)[0]

    def collected(self, campaign_id: bytes) -> int:
        """How many readings wait to be bundled."""
        return self._readings.waiting(self._number(campaign_id))

    def bundle(self, campaign_id: bytes) -> int:
        """Seal and queue all that waits of a campaign, in one transaction: neighbouring readings of a period share a
        signature.

        A bundle has at most 4,096 outputs, and fewer where an envelope holds no more. How many there are and how long
        they are depends on which readings were collected, and not on the values. A campaign that closed meanwhile is
        bundled all the same: reports of periods that are over are taken.

        Returns:
            the number of reports; what the outbox had no room for stays collected.
        Raises:
            OutboxFull: nothing was sealed, and all stays collected.
            UnknownCampaign, StoreError
        """
        joined = self._joined(campaign_id)
        sealed = 0
        with self._store.transaction():
            campaign = self._require_joined(campaign_id)
            for run in self._readings.runs(campaign, joined.most_outputs):
                try:
                    self.outbox.enqueue(campaign, joined.report(run.period, run.slot, *run.packed))
                except OutboxFull:
                    if not sealed:
                        raise
                    break
                self._readings.sealed(campaign, run)
                sealed += 1
        return sealed

    def _give(
        self, campaign_id: bytes, value: Answer, reading: int | None, *, collects: bool
    ) -> tuple[Collected, bytes]:
        """One answer, and the report that carries it; b"" where it is collected."""
        joined = self._joined(campaign_id)
        terms = joined.campaign
        _require_reading(reading, terms.answers_per_period)
        if collects and terms.transcript:
            raise CampaignError(
                f"the reports in {terms.title!r} build on each other, and each leaves by itself: answer instead"
            )
        now = self._now()
        period = terms.period_at(now)
        longest = joined.longest_report
        rand = self._urandom(terms.channel.rand_bytes)  # before the value is looked at, needed or not
        with self._store.transaction():
            campaign = self._require_joined(campaign_id)
            consent = self._consent(campaign)
            if consent is None:
                raise _no_consent(joined)
            joined = joined.of(consent.role)
            if now < consent.time:
                raise OutsideSchedule("the clock shows a time before the consent: set it right, and answer again")
            require_kept(self._caps(), self._standing(campaign))
            if collects:
                self._readings.require_room()
            else:
                self.outbox.require_room(longest)
            x = terms.domain.index(value, consent.dither)
            kept = self._memo.recall(campaign, x)
            following = self._readings.following(campaign, period)
            place = reading if reading is not None else 0 if terms.answers_per_period == 1 else following
            if place < following:
                again = self._again(joined, campaign, period, place, x, collects)
                if again is None:
                    raise self._quota_reached(terms, period, place, following)
                slot, envelope = again
                return Collected(campaign_id, period, slot, 0, repeated=True), envelope
            if place >= terms.answers_per_period:
                raise self._quota_reached(terms, period, place, following)
            slot = place
            if terms.transcript:
                earlier = self._told(campaign)
                joined, slot, kept = _following(joined, earlier, period), len(earlier), None
            cost = 0 if kept else joined.commitment.cost  # certified before it is sampled
            drawn = joined.draw(x, rand)
            if cost:
                self._ledger.add(campaign, Kind.CHARGE, now, cost)
            self._store.execute("UPDATE consent SET latest = max(latest, ?) WHERE campaign = ?", now, campaign)
            packed = kept.packed if kept else drawn
            self._memo.keep(campaign, x, Kept(packed, period, slot))
            if terms.transcript:
                self._store.execute("INSERT INTO transcript VALUES (?, ?, ?)", campaign, period, packed)
                self._readings.pass_to(campaign, period, place)
            else:
                self._readings.fill(campaign, period, place, x, waits=collects)
            envelope = b""
            if not collects:
                envelope = joined.report(period, slot, packed)
                self.outbox.enqueue(campaign, envelope)
        return Collected(campaign_id, period, slot, cost, repeated=False), envelope

    def _again(
        self, joined: Joined, campaign: int, period: int, place: int, x: int, collects: bool
    ) -> tuple[int, bytes] | None:
        """The slot of a reading that was given with this very input before, and the report that carries it; None
        where it was not, or is not remembered."""
        filled = self._readings.find(campaign, period, place)
        if filled is None:
            # Transcripts need no rows, and a clock that went back finds none: where a period takes one answer, the
            # memo tells the latest report of each input.
            kept = self._memo.recall(campaign, x)
            if joined.campaign.answers_per_period > 1 or kept is None or kept.period != period:
                return None
            return kept.slot, joined.report(period, kept.slot, kept.packed)
        if filled.first is None and not collects:
            return None  # whatever the value: else a report would leave for the same one, and for another none
        if filled.x != x:
            return None
        if filled.first is None:
            return place, b""
        return place, joined.report(period, filled.first, *self._readings.packed(campaign, period, filled.first))

    def preview(self, campaign_id: bytes, value: Answer | None = None) -> Preview:
        """What would leave and what it could tell; nothing is drawn, charged or kept.

        Raises:
            NotInDomain
        """
        from edge_sdk.prior import belief, truth
        from protocol.domain import DITHER_BYTES

        joined = self._member(campaign_id)
        campaign = self._number(campaign_id)
        earlier, period = self._told(campaign), self._period_near(joined)
        if earlier:
            joined = joined.following(earlier, max(period, earlier[-1][0] + 1))
        channel, certificate = joined.channel, joined.certificate
        x = cost = None
        if value is not None:
            consent = self._consent(campaign)
            # Before the consent there is no dither, and any will do: the memo is empty.
            x = joined.campaign.domain.index(value, bytes(DITHER_BYTES) if consent is None else consent.dither)
            kept = self._memo.recall(campaign, x)
            free = kept is not None and (joined.campaign.transcript is None or kept.period == period)
            cost = 0 if free else certificate.cost
        exposed = certificate.witness.x if x is None else x
        return Preview(
            joined.longest_report,
            truth(channel, exposed),
            belief(channel, certificate.ldp, self._memo.counts(campaign), x),
            certificate.cost if cost is None else cost,
        )

    def exposure(self, campaign_id: bytes) -> Exposure:
        """What the reports of all joined campaigns about the same values as this one told together.

        For the person alone: it tells how many different values they gave.
        """
        from edge_sdk.exposure import Exposure
        from protocol.domain import DITHER_BYTES

        domain = self._joined(campaign_id).campaign.domain
        alike = [known for known in self.campaigns if self._joined(known).campaign.domain == domain]
        forgotten = self._ledger.forgotten()
        told = tuple(self._told_in(known, forgotten.pop(self._number(known), 0)) for known in alike)
        gone = sum(spent for campaign, spent in forgotten.items() if not self._is_joined(campaign))
        consent = self._consent(self._number(campaign_id))
        return Exposure(domain, bytes(DITHER_BYTES) if consent is None else consent.dither, told, gone)

    def _told_in(self, campaign_id: bytes, carried: int) -> Told:
        """What a campaign's draws told.

        Args:
            carried: what was charged for draws before it was forgotten and joined again.
        """
        from edge_sdk.exposure import Told
        from protocol.notions import MinId

        joined, campaign = self._member(campaign_id), self._number(campaign_id)
        terms = joined.campaign
        draws: Counter[Channel] = Counter()
        if terms.transcript:
            told = self._told(campaign)
            draws.update(joined.following(told[:place], period).channel for place, (period, _) in enumerate(told))
            carried *= 2  # an LDP level is at most twice the LIP level that was charged
        else:
            draws[joined.channel] = len(self._memo.counts(campaign))
        [choice] = self._store.row("SELECT choice FROM consent WHERE campaign = ?", campaign) or [0]
        # Where a level is infinite, what was charged for a draw bounds some pairs only.
        unbounded = carried and any(certificate.ldp is None for certificate in terms.certificates)
        notion = terms.notion if isinstance(terms.notion, MinId) and not terms.notion.unbounded else None
        return Told(campaign_id, terms.title, terms.domain.size, draws, None if unbounded else choice + carried, notion)

    def transcript(self, campaign_id: bytes) -> Transcript:
        """What the reports of this device told in a campaign where each is designed for the earlier ones; public.

        Raises:
            CampaignError: the campaign has no transcripts.
        """
        joined = self._joined(campaign_id)
        if joined.campaign.transcript is None:
            raise CampaignError(f"the reports in {joined.campaign.title!r} do not build on each other")
        told = self._told(self._number(campaign_id))
        ldp = [joined.following(told[:place], period).certificate.ldp for place, (period, _) in enumerate(told)]
        return Transcript(
            tuple(period for period, _ in told),
            len(told) * joined.certificate.cost,
            sum(level for level in ldp if level is not None),  # a response channel's is finite
        )

    def prior(self, campaign_id: bytes) -> dict[str, int]:
        """How many reports were of each value: the person's own history, which never leaves the device."""
        domain = self._joined(campaign_id).campaign.domain
        return {domain.label(x): times for x, times in sorted(self._memo.counts(self._number(campaign_id)).items())}

    # Opting out

    def forget(self, campaign_id: bytes | None = None) -> None:
        """Delete a campaign, or all: answers, prior, memo, queue and consent, and their bytes in the store's files.

        What was spent stays counted, as if every answer had been another one, and what was reserved beyond it is
        released: what fits under the caps afterwards depends on how often was asked, and not on what was answered. The
        slots already used stay used, so joining again neither refills a budget nor answers a period twice. A campaign
        with transcripts in which anything was answered cannot be answered again: its transcript is deleted too.

        Raises:
            UnknownCampaign
            StoreError: deleted, but old bytes could not be cleared yet.
        """
        now = self._now()
        with self._store.transaction():
            if campaign_id is None:
                numbers = [number for (number,) in self._store.rows("SELECT campaign FROM joined")]
            else:
                numbers = [self._number(campaign_id)]
            for campaign in numbers:
                self._ledger.fold(campaign, *self._told_at_most(campaign, now))
                self._memo.forget(campaign)
                self._readings.forget(campaign)
                self._store.execute("DELETE FROM transcript WHERE campaign = ?", campaign)
                self.outbox.forget(campaign)
                self._store.execute("DELETE FROM consent WHERE campaign = ?", campaign)
                self._store.execute("DELETE FROM joined WHERE campaign = ?", campaign)
        self._opened = {known: joined for known, joined in self._opened.items() if campaign_id not in (None, known)}
        self._store.compact()

    def _told_at_most(self, campaign: int, now: int) -> tuple[int, int]:
        """The time of the latest answer or now, whichever is later, and the nanonats that the answers would have cost
        had each been another one."""
        row = self._store.row("SELECT cost, inputs, choice, latest FROM consent WHERE campaign = ?", campaign)
        if row is None:
            return now, 0
        cost, inputs, choice, latest = row
        return max(now, int(latest)), int(choice + cost * min(inputs, self._readings.used(campaign)))

    def doctor(self) -> dict[str, str | int | float]:
        """What the owner should know about this store, by name."""
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
        found |= self._store.settings()
        found |= self._store.watch()
        return found

    # Rows

    def _now(self) -> int:
        return int(self._clock())

    def _caps(self) -> tuple[Cap, ...]:
        caps = tuple(Cap(*row) for row in self._store.rows("SELECT kind, seconds, nanonats FROM cap"))
        named = any(cap.kind == LIFETIME for cap in caps)
        return caps if named else (Cap(LIFETIME, 0, DEFAULT_LIFETIME), *caps)

    def _standing(self, campaign: int) -> Standing:
        rows = self._store.rows("SELECT cost, inputs, answers, period_seconds, periods, choice FROM consent")
        consented = [Commitment(*row) for *row, _ in rows] + [_chosen(choice) for *_, choice in rows if choice]
        return Standing(self._ledger.committed(), self._ledger.committed(campaign), consented)

    def _require_room(self, campaign: int, asked: Commitment, now: int, choice: int = 0) -> None:
        standing = self._standing(campaign)
        if choice:
            standing = Standing(
                standing.committed + choice, standing.here + choice, [*standing.consented, _chosen(choice)]
            )
        require_room(self._caps(), standing, self._ledger.carried(), asked, now)

    def _number(self, campaign_id: bytes) -> int:
        """The store's number of a campaign that is, or once was, joined."""
        row = self._store.row("SELECT number FROM known WHERE id = ?", campaign_id)
        if row is None:
            raise _unknown(campaign_id)
        return int(row[0])

    def _is_joined(self, campaign: int) -> bool:
        return self._store.row("SELECT 1 FROM joined WHERE campaign = ?", campaign) is not None

    def _require_joined(self, campaign_id: bytes) -> int:
        campaign = self._number(campaign_id)
        if not self._is_joined(campaign):  # forgotten by another process
            raise _unknown(campaign_id)
        return campaign

    def _joined(self, campaign_id: bytes) -> Joined:
        """A joined campaign, verified and audited once in each process."""
        joined = self._opened.get(campaign_id)
        if joined is None:
            from edge_sdk.joined import Joined

            row = self._store.row(
                "SELECT author, data FROM joined JOIN known ON campaign = number WHERE id = ?", campaign_id
            )
            if row is None:
                raise _unknown(campaign_id)
            author, data = row
            try:
                joined = Joined.open(data, [author], self._store.secret)
            except BadData as error:
                raise StoreError(f"the store's copy of campaign {campaign_id.hex()} is damaged: {error}") from None
            self._opened[campaign_id] = joined
        return joined

    def _consent(self, campaign: int) -> Consent | None:
        row = self._store.row("SELECT time, dither, place FROM consent WHERE campaign = ?", campaign)
        if row is None:
            return None

        return Consent(int(row[0]), bytes(row[1]), Role(row[2], self._declared(campaign)))

    def _told(self, campaign: int) -> list[tuple[int, bytes]]:
        """(period, packed output) of the reports in a campaign with transcripts, in order."""
        query = "SELECT period, y FROM transcript WHERE campaign = ? ORDER BY period"
        return [(int(period), bytes(packed)) for period, packed in self._store.rows(query, campaign)]

    def _period_near(self, joined: Joined) -> int:
        """The period that it is; before the opening the first, after the closing the last."""
        terms = joined.campaign
        return min(max(0, (self._now() - terms.opens) // terms.period_seconds), terms.periods - 1)

    def _member(self, campaign_id: bytes) -> Joined:
        """A joined campaign, in the role that the person agreed to."""
        joined = self._joined(campaign_id)
        consent = self._consent(self._number(campaign_id))
        return joined if consent is None else joined.of(consent.role)

    def _quota_reached(self, terms: Campaign, period: int, place: int, following: int) -> QuotaReached:
        """Why a reading is not taken, for every value in the same words."""
        if following < terms.answers_per_period:
            return QuotaReached(
                f"reading {place} of this period is given already or was passed over: the next one is {following}"
            )
        next_period = terms.opens + (period + 1) * terms.period_seconds
        again = (
            f"the next begins in {next_period - self._now()} seconds"
            if next_period < terms.closes
            else "it was the last"
        )
        return QuotaReached(f"{terms.title!r} takes {terms.answers_per_period} answers a period; {again}")


def _require_reading(reading: int | None, most: int) -> None:
    whole = reading is None or (isinstance(reading, int) and not isinstance(reading, bool))
    if not whole or not 0 <= (reading or 0) < most:
        raise ValueError(f"a reading is a whole number from 0 to {most - 1}: which of the period's answers it is")


def _chosen(level: int) -> Commitment:
    """What the choice of a class commits to: one draw."""
    return Commitment(level, 1, 1, 1, 1)


def _following(joined: Joined, earlier: list[tuple[int, bytes]], period: int) -> Joined:
    if earlier and earlier[-1][0] >= period:
        raise OutsideSchedule("the clock shows a time before the latest report: set it right, and answer again")
    return joined.following(earlier, period)


def _require_not_over(joined: Joined, now: int) -> None:
    if now >= joined.campaign.closes:
        joined.campaign.period_at(now)


def _no_consent(joined: Joined) -> ConsentMissing:
    return ConsentMissing(f"nobody agreed to {joined.campaign.title!r} yet: consent first")


def _unknown(campaign_id: bytes) -> UnknownCampaign:
    return UnknownCampaign(f"campaign {campaign_id.hex()} is not joined: join its file first")
