"""The consent: what the person agreed to, and in which role.

One idea: everything that may cost them is settled when they agree. The worst case is reserved, the role holds from
then on, and no answer, no earlier value and no draw decides whether it is granted. A class may be chosen by what only
the device knows, once, at random, and charged.

What a role is: role. What fits the caps: caps. Answers under a consent: answering.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from edge_sdk.budget import Commitment
from edge_sdk.errors import ConsentMissing, StoreError
from edge_sdk.ledger import Kind
from edge_sdk.role import Role, counts_of, declared_of, incomplete, priors_of
from edge_sdk.store import Store
from protocol.errors import CampaignError

if TYPE_CHECKING:  # loaded with the first campaign
    from edge_sdk.joined import Joined
    from edge_sdk.outbox import Randomness
    from edge_sdk.records import Records


@dataclass(frozen=True)
class Consent:
    """What the person agreed to.

    Attributes:
        time: when, UTC seconds.
        dither: of all their numbers in the campaign; a secret.
        role: what they answer as.
        commitment: what it can cost.
        choice: nanonats that the choice of their class was charged.
        latest: the time of the latest answer; before the first, that of the consent.
    """

    time: int
    dither: bytes = field(repr=False)
    role: Role
    commitment: Commitment
    choice: int
    latest: int


class Consents:
    """The consents of one store, and the priors declared in it, which hold for good. ``campaign`` is the store's number
    of one; writes join the caller's transaction."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def find(self, campaign: int) -> Consent | None:
        """What the person agreed to in a campaign."""
        row = self.store.row(
            "SELECT cost, inputs, answers, period_seconds, periods, time, dither, place, choice, latest FROM consent "
            "WHERE campaign = ?",
            campaign,
        )
        if row is None:
            return None
        *terms, time, dither, place, choice, latest = row
        role = Role(place, self.declared(campaign))
        return Consent(int(time), bytes(dither), role, Commitment(*terms), int(choice), int(latest))

    def commitments(self) -> list[Commitment]:
        """What all consents can cost; the choice of a class is one draw of its own."""
        rows = self.store.rows("SELECT cost, inputs, answers, period_seconds, periods, choice FROM consent")
        chosen = [Commitment.once(choice) for *_, choice in rows if choice]
        return [Commitment(*terms) for *terms, _ in rows] + chosen

    def add(self, campaign: int, consent: Consent) -> None:
        """Write down what the person agreed to."""
        terms = consent.commitment
        self.store.execute(
            "INSERT INTO consent VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            campaign,
            consent.time,
            consent.dither,
            terms.cost,
            terms.inputs,
            terms.answers_per_period,
            terms.period_seconds,
            terms.periods,
            consent.role.place,
            consent.choice,
            consent.latest,
        )

    def answered(self, campaign: int, now: int) -> None:
        """An answer is given at ``now``."""
        self.store.execute("UPDATE consent SET latest = max(latest, ?) WHERE campaign = ?", now, campaign)

    def told_at_most(self, campaign: int, answers: int) -> tuple[int, int]:
        """(the time of the latest answer, the nanonats that so many answers would have cost had each been another one);
        (0, 0) where nobody agreed."""
        row = self.store.row("SELECT latest, choice, cost, inputs FROM consent WHERE campaign = ?", campaign)
        if row is None:
            return 0, 0
        latest, choice, cost, inputs = map(int, row)
        return latest, choice + cost * min(inputs, answers)

    def forget(self, campaign: int) -> None:
        """Delete a consent; what was declared stays."""
        self.store.execute("DELETE FROM consent WHERE campaign = ?", campaign)

    def declared(self, campaign: int) -> tuple[int, ...] | None:
        """The prior that was declared in a campaign, whether it was forgotten since or not."""
        from protocol import codec, personal

        row = self.store.row("SELECT prior FROM declared WHERE campaign = ?", campaign)
        if row is None:
            return None
        value = codec.decode(row[0], limit=8 * personal.MAX_DECLARED_VALUES)
        return codec.integers(value, "a weight", StoreError)

    def declare(self, campaign: int, prior: tuple[int, ...] | None) -> tuple[int, ...] | None:
        """Keep a declared prior for good, and return the one that holds.

        The study holds to the first one it was told, so another one could never be decoded.

        Raises:
            CampaignError: another one was declared before.
        """
        from protocol import codec

        known = self.declared(campaign)
        if known is None and prior is not None:
            self.store.execute("INSERT INTO declared VALUES (?, ?)", campaign, codec.encode(list(prior)))
        elif prior not in (None, known):
            raise CampaignError("another prior was declared in this campaign before, and it holds: leave it out now")
        return known or prior


def agree(
    records: Records,
    joined: Joined,
    now: int,
    urandom: Randomness,
    as_class: str | None,
    prior: Mapping[str, int] | None,
) -> None:
    """``Device.consent``, to a campaign that is not over."""
    from protocol.domain import DITHER_BYTES

    asked = Role(
        None if as_class is None else joined.campaign.class_of(as_class),
        None if prior is None else declared_of(joined.campaign, prior),
    )
    dither = urandom(DITHER_BYTES)
    with records.store.transaction():
        campaign = records.campaigns.require_joined(joined.signed.id)
        role = Role(asked.place, records.consents.declare(campaign, asked.prior))
        consent = records.consents.find(campaign)
        if consent is not None:
            if asked.place not in (None, consent.role.place):
                raise CampaignError(
                    f"the person agreed as {joined.campaign.classes[consent.role.place or 0]!r}: forget the "
                    "campaign first to agree as another class"
                )
            return
        if not joined.of(role).complete:
            raise incomplete(joined.campaign)
        _agree(records, joined.of(role), campaign, now, dither)


def choose(
    records: Records,
    joined: Joined,
    now: int,
    urandom: Randomness,
    level: float,
    history: Mapping[str, int] | None,
) -> str:
    """``Device.choose_class``, in a campaign that is not over."""
    from protocol import exact, personal
    from protocol.domain import DITHER_BYTES
    from protocol.notions import require_level

    names, priors = joined.campaign.classes, priors_of(joined.campaign)
    asked = exact.level_from(level)
    require_level(asked)
    channel = personal.choice(len(names), asked)
    dither, rand = urandom(DITHER_BYTES), urandom(channel.rand_bytes)  # before the history is looked at
    with records.store.transaction():
        campaign = records.campaigns.require_joined(joined.signed.id)
        consent = records.consents.find(campaign)
        if consent is not None:
            return names[consent.role.place or 0]
        # What is refused may not depend on the draw: room for the choice and for the costliest class.
        records.caps.require_room(campaign, joined.commitment, now, choice=asked)
        _require_introduction(records, joined)
        counts = _history(records, joined) if history is None else counts_of(joined.campaign, history)
        place = channel.sample(personal.nearest(counts, priors), rand)
        _agree(records, joined.of(Role(place)), campaign, now, dither, choice=asked)
    return names[place]


def no_consent(joined: Joined) -> ConsentMissing:
    """Why nothing is done in a campaign that nobody agreed to."""
    return ConsentMissing(f"nobody agreed to {joined.campaign.title!r} yet: consent first")


def _agree(records: Records, joined: Joined, campaign: int, now: int, dither: bytes, choice: int = 0) -> None:
    """Reserve, charge the choice of the class, and write the consent down; part of the caller's transaction."""
    if joined.campaign.transcript and records.readings.used(campaign):
        raise CampaignError(
            f"{joined.campaign.title!r} was forgotten after an answer, and its transcript with it; a later answer "
            "would have to build on it, so the campaign cannot be answered again"
        )
    commitment = joined.commitment
    records.caps.require_room(campaign, commitment, now, choice)
    _require_introduction(records, joined)
    records.ledger.add(campaign, Kind.RESERVE, now, commitment.worst_case + choice)
    if choice:
        records.ledger.add(campaign, Kind.CHARGE, now, choice)
    records.consents.add(campaign, Consent(now, dither, joined.role, commitment, choice, now))
    if joined.campaign.enrolment == "open":
        records.outbox.enqueue(campaign, joined.enrolment())


def _require_introduction(records: Records, joined: Joined) -> None:
    """Room for the enrolment, which is equally long in every class."""
    if joined.campaign.enrolment == "open":
        records.outbox.require_room(len(joined.enrolment()))


def _history(records: Records, joined: Joined) -> list[int]:
    """How often each value was answered in all campaigns of this device that ask for the same."""
    counts = [0] * joined.campaign.domain.size
    for campaign_id in records.campaigns.ids():
        if records.campaigns.find(campaign_id).campaign.domain == joined.campaign.domain:
            for x, times in records.memo.counts(records.campaigns.number(campaign_id)).items():
                counts[x] += times
    return counts
