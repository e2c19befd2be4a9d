"""The model: what each screen shows and what a touch on it does, without any screen.

One idea: every method is one call from a worker's thread that returns a frozen dataclass for one screen, with numbers
and keys of texts, never sentences; so the whole app can be tested without a window, and said in any language.

The device decides what may be answered, drawn and spent; nothing of that is decided again here. How it looks: screens.
What is said when something is refused: notice.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from demo_app.notice import NotAFile, NotTrusted
from edge_sdk import BudgetPolicy, Device

if TYPE_CHECKING:  # loaded with the first campaign
    from edge_sdk.fetch import Offer
    from edge_sdk.receipt import Preview
    from edge_sdk.send import Opener
    from edge_sdk.shown import Given, Part, Promise, Question
    from edge_sdk.terms import Terms

MOST_FILE_BYTES = 4 * 2**20 + 1024
"""Longer files are not read to their end: no campaign is as long."""

NEW, UPCOMING, OPEN, ANSWERED, OVER = "new", "upcoming", "open", "answered", "over"


@dataclass(frozen=True)
class Gauge:
    """The lifetime budget, in nats.

    Attributes:
        cap: the lifetime cap.
        spent, reserved, remaining: what became of it; beside a lowered cap they may be more than it.
        per_campaign: the cap on one campaign; None where there is none.
        window: (seconds, nats) of the shortest window that has a cap; None where none has.
    """

    cap: float
    spent: float
    reserved: float
    remaining: float
    per_campaign: float | None
    window: tuple[int, float] | None


@dataclass(frozen=True)
class Card:
    """A joined campaign in a list.

    Attributes:
        state: "new" (nobody agreed), "upcoming", "open" (an answer is wanted), "answered" (in this period) or "over".
        following: when the next period begins; None after the last.
        left: answers that this period still takes.
    """

    campaign_id: bytes
    title: str
    organisation: str
    state: str
    opens: int
    closes: int
    following: int | None
    left: int


@dataclass(frozen=True)
class Overview:
    """The first screen: what is joined, the budget, and how many reports wait."""

    cards: tuple[Card, ...]
    gauge: Gauge
    waiting: int


@dataclass(frozen=True)
class Agreement:
    """The terms: who asks what, why, how long, and what it may cost.

    Attributes:
        card: the campaign in a list.
        terms: what the device computed from the signed campaign.
        promise: what is promised, in numbers.
        preview: what one answer would tell; of the answer the audit found most exposed.
        answers: how many may be given in all.
        author: the id of the key that signed it, in hex.
        gauge: the budget before agreeing.
        fits: whether the worst case fits under the lifetime cap.
    """

    card: Card
    terms: Terms
    promise: Promise
    preview: Preview
    answers: int
    author: str
    gauge: Gauge
    fits: bool


@dataclass(frozen=True)
class Asked:
    """The question, and what it can be answered with."""

    card: Card
    text: str
    question: Question


@dataclass(frozen=True)
class Leaving:
    """What will leave this phone for an answer, and what it could tell.

    Attributes:
        kind: of the question: "values", "grid", "buckets" or "items".
        value: the answer, as it was asked about.
        truth: of 100 people who answer so, in how many reports the answer is among those it makes likeliest.
        before, after: how sure an observer who knew this person's history could be, without and with the report.
        factor: how many times likelier the report may be with this answer than with another.
        cost, after_cost: nats that are charged, and what is spent in all afterwards.
        size: bytes of the report.
        report: the signed report, once it is made; None before.
        repeated: whether it is an earlier report again.
    """

    card: Card
    kind: str
    value: str = field(repr=False)
    truth: float = field(repr=False)
    before: float = field(repr=False)
    after: float = field(repr=False)
    factor: float
    cost: float = field(repr=False)
    after_cost: float = field(repr=False)
    size: int
    report: bytes | None = field(repr=False)
    repeated: bool = field(repr=False)

    @property
    def parts(self) -> list[Part]:
        """The report's bytes by what they are for; none before it is made."""
        from edge_sdk.shown import parts

        return [] if self.report is None else parts(self.report)


@dataclass(frozen=True)
class Answers:
    """What was answered in one campaign.

    Attributes:
        kind: of the question: "values", "grid", "buckets" or "items".
        given: the values, the latest first.
        spent: nats that they cost.
        counted: whether the study says that the latest report of each value was counted; None where it was not asked.
    """

    card: Card
    kind: str
    given: tuple[Given, ...] = field(repr=False)
    spent: float = field(repr=False)
    counted: tuple[bool, ...] | None = None


@dataclass(frozen=True)
class Row:
    """A row of the ledger.

    Attributes:
        kind: "reserve", "charge", "release" or "carry".
        title: of the campaign; empty where it was forgotten.
    """

    time: int
    kind: str
    nats: float
    title: str


@dataclass(frozen=True)
class History:
    """What was answered in each campaign, and the ledger, the latest first."""

    answers: tuple[Answers, ...]
    rows: tuple[Row, ...] = field(repr=False)


@dataclass(frozen=True)
class Upload:
    """What waits to leave of one campaign.

    Attributes:
        title: of the campaign.
        envelopes, size: how many, and their bytes.
        again: no attempt before this time; None where one may be made now.
        refused: whether the study can never take these bytes.
    """

    title: str
    envelopes: int
    size: int
    again: int | None
    refused: bool


@dataclass(frozen=True)
class Queue:
    """What waits to leave, and where it would go."""

    uploads: tuple[Upload, ...]
    envelopes: int
    size: int
    server: str


@dataclass(frozen=True)
class Delivery:
    """What one attempt to send did.

    Attributes:
        sent: envelopes that the study acknowledged.
        left: envelopes that still wait.
        again: when there is something to send again; None where nothing waits for a moment.
        refused: whether the study can never take some of them.
        reason: why something is still here, in the SDK's words; empty where all was sent.
    """

    sent: int
    left: int
    again: int | None
    refused: bool
    reason: str


@dataclass(frozen=True)
class Author:
    """Somebody whose campaigns the person lets in.

    Attributes:
        key_id: in hex.
        line: the line of the key's file.
        brought: whether the app brought it, so that it cannot be removed.
    """

    key_id: str
    line: str
    brought: bool


class Model:
    """One person's device behind the screens. Make it, and ``open`` it in the thread that uses it.

    Args:
        place: the device's own folder.
        authors: key lines of the authors the person trusts.
        brought: key lines that the app brings.
        server: the study's address; empty until there is one.
        clock, urandom, opener: as the SDK takes them.
    """

    def __init__(
        self,
        place: str | os.PathLike[str],
        authors: Iterable[str] = (),
        brought: Iterable[str] = (),
        server: str = "",
        *,
        clock: Callable[[], float] = time.time,
        urandom: Callable[[int], bytes] = os.urandom,
        opener: Opener | None = None,
    ) -> None:
        self._place = place
        self._authors = tuple(dict.fromkeys(line.strip() for line in authors))
        self._brought = tuple(dict.fromkeys(line.strip() for line in brought))
        self.server = server
        self._clock = clock
        self._urandom = urandom
        self._opener = opener
        self._opened: Device | None = None

    # The store

    def open(self) -> None:
        """Open the device's store, or open it again after the authors changed.

        Raises:
            StoreRestored, StoreDamaged: ``adopt`` goes on with it.
            StoreError, KeyRefused
        """
        self.close()
        self._opened = Device.open(self._place, self._keys(), clock=self._clock, urandom=self._urandom)

    def adopt(self) -> None:
        """Go on with a store that was restored, copied or damaged: what was reserved counts as spent.

        Raises:
            StoreError
        """
        self.close()
        self._opened = Device.adopt(self._place, self._keys(), clock=self._clock, urandom=self._urandom)

    def close(self) -> None:
        """Close the store."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @property
    def is_open(self) -> bool:
        """Whether the store is open."""
        return self._opened is not None

    @property
    def _device(self) -> Device:
        if self._opened is None:
            raise ValueError("open the model first, in the thread that uses it")
        return self._opened

    # Whom the person trusts

    def _keys(self) -> list[bytes]:
        if not (self._authors or self._brought):
            return []  # the first start of all pays for no key
        from edge_sdk.shown import author_key

        return [author_key(line) for line in (*self._brought, *self._authors)]

    def authors(self) -> tuple[Author, ...]:
        """The authors whose campaigns may be joined."""
        from edge_sdk.shown import author_id, author_key

        return tuple(
            Author(author_id(author_key(line)).hex(), line, line in self._brought)
            for line in dict.fromkeys((*self._brought, *self._authors))
        )

    def trust(self, line: str) -> tuple[Author, ...]:
        """Let in campaigns that are signed with the key of ``line``; all authors afterwards.

        Raises:
            KeyRefused: not a key's line.
        """
        from edge_sdk.shown import author_key

        author_key(line)
        self._authors = tuple(dict.fromkeys((*self._authors, line.strip())))
        self.open()
        return self.authors()

    def distrust(self, line: str) -> tuple[Author, ...]:
        """Let in no more campaigns of an author; what is joined stays joined."""
        self._authors = tuple(known for known in self._authors if known != line)
        self.open()
        return self.authors()

    # Campaigns

    def overview(self) -> Overview:
        """The joined campaigns: those that want an answer first, then those nobody agreed to, then the others."""
        order = (OPEN, NEW, ANSWERED, UPCOMING, OVER)
        cards = sorted(
            (self._card(campaign_id) for campaign_id in self._device.campaigns),
            key=lambda card: (order.index(card.state), card.closes),
        )
        return Overview(tuple(cards), self.gauge(), len(self._device.outbox))

    def _card(self, campaign_id: bytes) -> Card:
        from edge_sdk.shown import left

        terms, now = self._device.terms(campaign_id), int(self._clock())
        period = max(0, now - terms.opens) // terms.period_seconds
        following = terms.opens + (period + (now >= terms.opens)) * terms.period_seconds
        free = left(self._device, campaign_id, period) if terms.opens <= now < terms.closes else 0
        if now >= terms.closes:
            state = OVER
        elif not self._device.consented(campaign_id):
            state = NEW
        elif now < terms.opens:
            state = UPCOMING
        else:
            state = OPEN if free else ANSWERED
        return Card(
            campaign_id,
            terms.title,
            terms.organisation,
            state,
            terms.opens,
            terms.closes,
            following if following < terms.closes else None,
            free,
        )

    def offers(self) -> tuple[Offer, ...]:
        """What the study asks and is not over; of those that are not joined. Nothing of it is signed.

        Raises:
            AddressRefused, NoAnswer
        """
        from edge_sdk import fetch

        joined, now = set(self._device.campaigns), self._clock()
        offered = fetch.campaigns(self.server, self._opener)
        return tuple(offer for offer in offered if offer.closes > now and offer.campaign_id not in joined)

    def fetch(self, campaign_id: bytes) -> bytes:
        """The signed bytes of an offered campaign, to be joined. Needs no store, only the network.

        Raises:
            AddressRefused, NoAnswer
            CampaignError: the study sent something else.
        """
        from edge_sdk import fetch

        return fetch.campaign(self.server, campaign_id, self._opener)

    def read(self, path: str | os.PathLike[str]) -> Agreement:
        """Join the campaign of a file, and show its terms.

        Raises:
            NotAFile, NotTrusted, BudgetRefused, OutsideSchedule
            BadData: at the stage that fails.
        """
        try:
            with Path(path).expanduser().open("rb") as file:
                data = file.read(MOST_FILE_BYTES)
        except OSError as error:
            raise NotAFile(f"{path}: {error.strerror or error}") from None
        except ValueError:
            raise NotAFile("this cannot be a file's name") from None
        return self.join(data)

    def join(self, data: bytes) -> Agreement:
        """Join a signed campaign, and show its terms.

        Raises:
            NotTrusted: the person named no author with its key.
            BudgetRefused, OutsideSchedule
            BadData: at the stage that fails.
        """
        from edge_sdk.shown import author_id, signer

        signed_by = signer(data)
        if signed_by not in map(author_id, self._keys()):
            raise NotTrusted(signed_by.hex(" ", 2))
        return self.agreement(self._device.join(data).campaign_id)

    def agreement(self, campaign_id: bytes) -> Agreement:
        """The terms of a joined campaign."""
        from edge_sdk.shown import author_of, promise

        device = self._device
        terms, gauge = device.terms(campaign_id), self.gauge()
        periods = -(-(terms.closes - terms.opens) // terms.period_seconds)
        return Agreement(
            self._card(campaign_id),
            terms,
            promise(device, campaign_id),
            device.preview(campaign_id),
            periods * terms.answers_per_period,
            author_of(device, campaign_id).hex(),
            gauge,
            terms.worst_case <= gauge.remaining,
        )

    def consent(self, campaign_id: bytes, as_class: str | None = None) -> Asked:
        """The person agrees; the question.

        Where the campaign asks for a prior of one's own, the app declares that each answer is equally likely: it tells
        nothing of the person.

        Raises:
            ConsentMissing, CampaignError, BudgetRefused, OutboxFull, OutsideSchedule
        """
        from edge_sdk.shown import even_prior

        declares = self._device.terms(campaign_id).declares_prior
        prior = even_prior(self._device, campaign_id) if declares else None
        self._device.consent(campaign_id, as_class=as_class, prior=prior)
        return self.asked(campaign_id)

    def forget(self, campaign_id: bytes | None = None) -> Overview:
        """Delete a campaign, or all: answers, prior, queue and consent. What was spent stays spent.

        Raises:
            UnknownCampaign, StoreError
        """
        self._device.forget(campaign_id)
        return self.overview()

    # Answers

    def asked(self, campaign_id: bytes) -> Asked:
        """The question of a joined campaign."""
        from edge_sdk.shown import question

        terms = self._device.terms(campaign_id)
        return Asked(self._card(campaign_id), terms.question, question(self._device, campaign_id))

    def leaving(self, campaign_id: bytes, value: str) -> Leaving:
        """What would leave for an answer and what it could tell; nothing is drawn or charged.

        Args:
            value: as the question's own kind of answer is written: a label, a number, "latitude,longitude", or items
                with a semicolon between them.
        Raises:
            NotInDomain
        """
        answer = self._device.parse(campaign_id, value)
        return self._leaving(campaign_id, value, self._device.preview(campaign_id, answer))

    def answer(self, campaign_id: bytes, value: str) -> Leaving:
        """Draw, charge, sign and queue the answer; what will leave, with its bytes.

        Raises:
            NotInDomain, OutsideSchedule, ConsentMissing, QuotaReached, BudgetRefused, OutboxFull, StoreError
        """
        answer = self._device.parse(campaign_id, value)
        before = self._device.preview(campaign_id, answer)
        receipt = self._device.answer(campaign_id, answer)
        return self._leaving(campaign_id, value, before, receipt.envelope, receipt.cost, receipt.repeated)

    def _leaving(
        self,
        campaign_id: bytes,
        value: str,
        preview: Preview,
        report: bytes | None = None,
        cost: float | None = None,
        repeated: bool = False,
    ) -> Leaving:
        from edge_sdk.shown import promise, question

        asked = preview.cost if cost is None else cost
        return Leaving(
            self._card(campaign_id),
            question(self._device, campaign_id).kind,
            value,
            preview.truth,
            preview.belief.before,
            preview.belief.after,
            promise(self._device, campaign_id).factor,
            asked,
            self._device.budget.spent + (asked if report is None else 0.0),
            preview.report_bytes if report is None else len(report),
            report,
            repeated,
        )

    # The budget

    def gauge(self) -> Gauge:
        """The budget as it stands."""
        budget = self._device.budget
        caps = {(cap.kind, cap.seconds): cap.nanonats / 10**9 for cap in budget.caps}
        windows = sorted((seconds, nats) for (_, seconds), nats in caps.items() if seconds)
        return Gauge(
            caps["lifetime", 0],
            budget.spent,
            budget.reserved,
            budget.remaining,
            caps.get(("campaign", 0)),
            windows[0] if windows else None,
        )

    def lower(
        self,
        lifetime: float | None = None,
        per_campaign: float | None = None,
        window: tuple[int, float] | None = None,
    ) -> Gauge:
        """Lower caps; what is not lower than before changes nothing.

        Raises:
            ValueError: no such cap.
        """
        self._device.tighten(BudgetPolicy(lifetime, per_campaign, window))
        return self.gauge()

    # What was told, and what waits

    def history(self) -> History:
        """What was answered, and the ledger."""
        titles = {campaign_id: self._device.terms(campaign_id).title for campaign_id in self._device.campaigns}
        rows = tuple(
            Row(entry.time, entry.kind.name.lower(), entry.nats, titles.get(entry.campaign_id, ""))
            for entry in reversed(self._device.ledger)
        )
        return History(tuple(filter(lambda one: one.given, map(self._answers, titles))), rows)

    def _answers(self, campaign_id: bytes) -> Answers:
        from edge_sdk.shown import given, question

        spent = sum(
            entry.nats
            for entry in self._device.ledger
            if entry.campaign_id == campaign_id and entry.kind.name in ("CHARGE", "CARRY")
        )
        kind = question(self._device, campaign_id).kind
        return Answers(self._card(campaign_id), kind, tuple(given(self._device, campaign_id)), spent)

    def counted(self, answers: Answers) -> Answers:
        """The same, with whether the study counted the latest report of each value. Needs no store, only the network.

        Raises:
            AddressRefused, NoAnswer
        """
        from edge_sdk import fetch

        said = fetch.counted(self.server, (one.report for one in answers.given), self._opener)
        return replace(answers, counted=tuple(said))

    def queue(self) -> Queue:
        """What waits to leave."""
        from edge_sdk.shown import waiting

        now, outbox = self._clock(), self._device.outbox
        uploads = tuple(
            Upload(
                self._device.terms(one.campaign_id).title,
                one.envelopes,
                one.size,
                one.not_before if one.not_before > now else None,
                one.refused,
            )
            for one in waiting(self._device)
        )
        return Queue(uploads, len(outbox), outbox.bytes, self.server)

    def send(self) -> Delivery:
        """Upload what waits and is due.

        Raises:
            AddressRefused, StoreError
        """
        from edge_sdk.send import Outcome

        sent = self._device.outbox.send(self.server, opener=self._opener)
        refused, failed = sent.of(Outcome.REFUSED), sent.of(Outcome.FAILED)
        reasons = [attempt.reason for attempt in refused + failed + sent.of(Outcome.WAITING)]
        return Delivery(
            sent.envelopes, len(self._device.outbox), sent.again, bool(refused), reasons[0] if reasons else ""
        )

    def export(self, path: str | os.PathLike[str]) -> int:
        """Write what waits to a new file, and take it off the queue; how many envelopes.

        Raises:
            NothingQueued, StoreError
        """
        return self._device.outbox.export(Path(path).expanduser())

    def doctor(self) -> dict[str, str | int | float]:
        """What the owner should know about the store."""
        return self._device.doctor()
