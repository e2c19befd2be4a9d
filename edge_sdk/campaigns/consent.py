"""Consent to a campaign: reserve its worst case, fix the role, queue the enrolment.

Consent fixes all costs and the role. Answers, earlier values and draws never decide whether consent is granted. A class
or a declared prior may be chosen once at random from the person's history; this choice is charged.

campaigns/role defines roles, budget/consents stores a consent, budget/caps compares with the caps, and
answers/answering answers under a consent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from edge_sdk.budget.consents import Consent
from edge_sdk.budget.ledger import EntryKind
from edge_sdk.campaigns.role import (
    Role,
    candidates_of,
    counts_of,
    declared_prior,
    incomplete_role_error,
    personal_level,
    priors_of,
)
from edge_sdk.errors import ConsentMissing
from protocol.errors import CampaignError

# At run time, these are imported only with the first campaign.
if TYPE_CHECKING:
    from edge_sdk.campaigns.joined import Joined
    from edge_sdk.records import Records
    from edge_sdk.transport.stored_outbox import Randomness


def agree(
    records: Records,
    joined: Joined,
    now: int,
    urandom: Randomness,
    as_class: str | None,
    prior: Mapping[str, int] | None,
    level: float | None,
) -> None:
    """Record the consent to a campaign that is not over (see ``Device.consent``)."""
    from protocol.domain import DITHER_BYTES

    named = Role(
        None if as_class is None else joined.campaign.class_index_of(as_class),
        None if prior is None else declared_prior(joined.campaign, prior),
        personal_level(joined.campaign, level),
    )
    dither = urandom(DITHER_BYTES)
    with records.store.transaction():
        number = records.campaigns.require_joined(joined.signed.id)
        role = records.consents.declare(number, named)
        consent = records.consents.find(number)
        if consent is not None:
            if named.class_index not in (None, consent.role.class_index):
                raise CampaignError(
                    f"the person agreed as {joined.campaign.classes[consent.role.class_index or 0]!r}: forget the "
                    "campaign first to agree as another class"
                )
            return
        if not joined.with_role(role).complete:
            raise incomplete_role_error(joined.campaign)
        _agree(records, joined.with_role(role), number, now, dither)


def choose_class(
    records: Records, joined: Joined, now: int, urandom: Randomness, level: float, history: Mapping[str, int] | None
) -> str:
    """Record the consent under a class chosen at random; return its name (see ``Device.choose_class``).

    The campaign is not over.
    """
    from protocol import exact, personal
    from protocol.domain import DITHER_BYTES
    from protocol.notions import require_level

    names, priors = joined.campaign.classes, priors_of(joined.campaign)
    nanonats = exact.level_from(level)
    require_level(nanonats, "the level of the choice")
    channel = personal.choice_channel(len(names), nanonats)
    # The bytes are drawn before the history is read, so that the draw cannot depend on it.
    dither, rand = urandom(DITHER_BYTES), urandom(channel.rand_bytes)
    with records.store.transaction():
        number = records.campaigns.require_joined(joined.signed.id)
        consent = records.consents.find(number)
        if consent is not None:
            return names[consent.role.class_index or 0]
        # A refusal must not depend on the draw, so room is needed for the choice and the most expensive class.
        records.caps.require_room(number, joined.commitments, now, choice=nanonats)
        _require_enrolment_room(records, joined, number)
        counts = earlier_answers(records, joined) if history is None else counts_of(joined.campaign, history)
        class_index = channel.sample(personal.nearest_prior(counts, priors), rand)
        _agree(records, joined.with_role(Role(class_index)), number, now, dither, choice=nanonats)
    return names[class_index]


def choose_prior(
    records: Records, joined: Joined, now: int, urandom: Randomness, level: float, history: Mapping[str, int] | None
) -> tuple[int, ...]:
    """Record the consent under a prior chosen at random; return its weights (see ``Device.choose_prior``).

    The campaign is not over.
    """
    from protocol import exact, personal
    from protocol.domain import DITHER_BYTES
    from protocol.notions import require_level

    listed = candidates_of(joined.campaign)
    nanonats = exact.level_from(level)
    require_level(nanonats, "the level of the choice")
    channel, highest_commitment = personal.choice_channel(len(listed), nanonats), joined.max_commitment(listed)
    # The bytes are drawn before the history is read, so that the draw cannot depend on it.
    dither, rand = urandom(DITHER_BYTES), urandom(channel.rand_bytes)
    with records.store.transaction():
        number = records.campaigns.require_joined(joined.signed.id)
        role, charged = records.consents.declared_role(number), 0
        if role is None:
            # A refusal must not depend on the draw, so room is needed for the choice and the most expensive prior.
            records.caps.require_room(number, [highest_commitment], now, choice=nanonats)
            _require_enrolment_room(records, joined, number)
            counts = earlier_answers(records, joined) if history is None else counts_of(joined.campaign, history)
            role, charged = Role(prior=listed[channel.sample(personal.nearest_prior(counts, listed), rand)]), nanonats
            records.consents.declare(number, role)
        if records.consents.find(number) is None:
            _agree(records, joined.with_role(role), number, now, dither, charged)
    return role.prior or listed[0]


def present_code(records: Records, joined: Joined, code: str) -> None:
    """Store the code that admits this device (see ``Device.present_code``)."""
    if joined.campaign.enrolment == "open":
        raise CampaignError(
            f"{joined.campaign.title!r} takes reports from every device and needs no code: leave it out"
        )
    # Imported here, because it loads hashlib, and a unit must first choose Python's built-in digests (unit/daemon).
    from protocol import link

    if not link.is_code(code):
        raise CampaignError(f"a code must have 1 to {link.MAX_CODE} letters, digits, - and _: copy the whole code")
    with records.store.transaction():
        number = records.campaigns.require_joined(joined.signed.id)
        if records.outbox.code(number) == code:
            return
        if not records.outbox.code(number) and records.consents.find(number) is not None:
            records.outbox.require_room(joined.longest_enrolment)
            records.outbox.enqueue(number, records.joined_in_role(joined.signed.id).enrolment())
        records.outbox.set_code(number, code)


def no_consent(joined: Joined) -> ConsentMissing:
    """Return the error for a campaign without consent."""
    return ConsentMissing(f"the person has not agreed to {joined.campaign.title!r} yet: consent first")


def _agree(records: Records, joined: Joined, number: int, now: int, dither: bytes, choice: int = 0) -> None:
    """Reserve the worst case, charge the choice of class or prior, and store the consent, in the caller's
    transaction."""
    if joined.campaign.transcript and records.slots.used(number):
        raise CampaignError(
            f"{joined.campaign.title!r} was forgotten after an answer, which deleted its transcript: every later "
            "answer needs the transcript, so the campaign cannot be answered again"
        )
    commitment = joined.commitment
    records.caps.require_room(number, joined.commitments, now, choice)
    _require_enrolment_room(records, joined, number)
    records.ledger.add(number, EntryKind.RESERVE, now, commitment.worst_case + choice)
    if choice:
        records.ledger.add(number, EntryKind.CHARGE, now, choice)
    records.consents.add(number, Consent(now, dither, joined.role, commitment, choice, now, now))
    if sends_enrolment(records, joined, number):
        records.outbox.enqueue(number, joined.enrolment())


def sends_enrolment(records: Records, joined: Joined, number: int) -> bool:
    """Return whether the device sends its enrolment itself: the campaign accepts every device, or the person has a
    code."""
    return joined.campaign.enrolment == "open" or bool(records.outbox.code(number))


def _require_enrolment_room(records: Records, joined: Joined, number: int) -> None:
    """Refuse if the outbox has no room for the enrolment, which has the same length in every class."""
    if sends_enrolment(records, joined, number):
        records.outbox.require_room(joined.longest_enrolment)


def earlier_answers(records: Records, joined: Joined) -> list[int]:
    """Return the number of answers with each value, over all campaigns of the device with the same domain,
    except campaigns that ask it for a coarser answer."""
    from protocol.views import Identity

    counts = [0] * joined.campaign.domain.size
    for campaign_id in records.campaigns.ids():
        known = records.campaigns.find(campaign_id)
        if known.campaign.domain == joined.campaign.domain and isinstance(known.map, Identity):
            for x, times in records.memo.counts(records.campaigns.number(campaign_id)).items():
                counts[x] += times
    return counts
