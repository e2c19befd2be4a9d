"""Turn a value into a charge, an output and a report.

An answer is given in one transaction. Charge, used slot, drawn output and queued envelope are on the disk together
before the report is returned. So a crash may lose one answer, but no report leaves the device uncharged. An answer may
also be collected: it is drawn and charged, and waits in the store until a bundle signs several outputs at once.

The level protects the values of a person. It does not protect the fact that an answer changed: an unchanged answer
repeats its output. So an observer of all periods can detect a change, and a return to an earlier value.

The time and the amount of sent data do not depend on the answer. The worst case was reserved at consent. The same
number of random bytes is always drawn, before the value is used. The length of a report depends on its period, its slot
and its number of outputs only. Every answer except a retry adds one output, even if the value is unchanged. A retry is
an answer with the same value for the same slot; it returns the same bytes.

campaigns/joined draws and seals a report, slots stores the filled slots, and conditions checks consent, caps and an
early closing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edge_sdk.answers.conditions import Conditions, require_answerable
from edge_sdk.answers.memo import MemoRow
from edge_sdk.answers.results import Receipt
from edge_sdk.answers.transcripts import for_report
from edge_sdk.budget.ledger import EntryKind
from edge_sdk.campaigns.consent import no_consent
from edge_sdk.errors import OutboxFull, QuotaReached
from edge_sdk.timestamps import utc_text
from protocol.errors import CampaignError

# At run time, these are imported only with the first campaign.
if TYPE_CHECKING:
    from edge_sdk.campaigns.joined import Joined
    from edge_sdk.records import Records
    from edge_sdk.transport.stored_outbox import Randomness
    from protocol.domain import Answer


def give_answer(
    records: Records,
    campaign_id: bytes,
    value: Answer,
    slot: int | None,
    now: int,
    urandom: Randomness,
    *,
    collects: bool,
) -> Receipt:
    """Draw, charge and queue one answer, or store it for ``bundle`` if ``collects`` is set (see ``Device.answer``).

    Returns:
        The result of the answer; its envelope is b"" if it is collected.
    """
    joined = records.campaigns.find(campaign_id)
    campaign = joined.campaign
    _require_slot(slot, campaign.answers_per_period)
    if collects and campaign.transcript:
        raise CampaignError(
            f"the reports in {campaign.title!r} depend on each other, so they cannot be bundled: answer "
            "without collecting"
        )
    period = campaign.period_at(now)
    longest = joined.longest_report
    # The bytes are drawn before the value is used, and even if they are not needed, so that draws do not depend on it.
    rand = urandom(joined.rand_bytes)
    with records.store.transaction(answering=True):
        conditions = require_answerable(records, joined, now)
        number, joined = conditions.number, conditions.joined
        if collects:
            records.slots.require_room()
        else:
            records.outbox.require_room(longest)
        x = joined.input(value, conditions.dither)
        memo_row = records.memo.recall(number, x)
        free = records.slots.next_slot(number, period)
        if slot is None:
            slot = 0 if campaign.answers_per_period == 1 else free
        if slot < free:
            earlier_report = _report_in_slot(records, joined, number, period, slot, x, collects)
            if earlier_report is None:
                raise _quota_reached(conditions, period, slot, free)
            report_slot, envelope = earlier_report
            return Receipt(campaign_id, period, report_slot, envelope, 0, repeated=True)
        if slot >= campaign.answers_per_period:
            raise _quota_reached(conditions, period, slot, free)
        report_slot = slot
        if campaign.transcript:
            earlier = records.transcripts.of(number)
            joined, report_slot, memo_row = for_report(joined, earlier, period), len(earlier), None
        # Reading the certificate audits the channel, so no output of an unaudited channel is reported.
        cost = 0 if memo_row else joined.certificate.cost
        drawn = joined.draw(x, rand)
        if cost:
            records.ledger.add(number, EntryKind.CHARGE, now, cost)
        records.consents.record_answer(number, now, campaign.opens + period * campaign.period_seconds)
        packed = memo_row.packed if memo_row else drawn
        records.memo.keep(number, x, MemoRow(packed, period, report_slot))
        if campaign.transcript:
            records.transcripts.add(number, period, packed)
            records.slots.use_up_to(number, period, slot)
        else:
            records.slots.fill(number, period, slot, x, waits=collects)
        envelope = b""
        if not collects:
            envelope = joined.report(period, report_slot, packed)
            records.outbox.enqueue(number, envelope)
    return Receipt(campaign_id, period, report_slot, envelope, cost, repeated=False)


def bundle(records: Records, campaign_id: bytes) -> int:
    """Seal and queue the waiting answers; return the number of reports (see ``Device.bundle``)."""
    joined = records.campaigns.find(campaign_id)
    sealed = 0
    with records.store.transaction():
        number = records.campaigns.require_joined(campaign_id)
        for run in records.slots.waiting_runs(number, joined.max_outputs):
            envelope = joined.report(run.period, run.slot, *run.packed)
            try:
                records.outbox.require_room(len(envelope))
            except OutboxFull:
                if not sealed:
                    raise
                break
            records.outbox.enqueue(number, envelope)
            records.slots.mark_sealed(number, run)
            sealed += 1
    return sealed


def latest_recorded_time(records: Records, campaign_id: bytes) -> int:
    """Return the latest time that is known to be past: that of the consent, or the start of the latest answer's period.

    Raises:
        NotJoined: this device has not joined the campaign.
        ConsentMissing: the person has not agreed, or the campaign was forgotten.
    """
    joined, number = records.campaigns.find(campaign_id), records.campaigns.number(campaign_id)
    consent = records.consents.find(number)
    if consent is None:
        raise no_consent(joined)
    return consent.floor


def set_clock(records: Records, now: int) -> list[bytes]:
    """Accept the current time; return the campaigns whose recorded time was lowered (see ``Device.set_clock``)."""
    with records.store.transaction():
        later_cost, late = 0, []
        for campaign_id in records.campaigns.ids():
            number = records.campaigns.number(campaign_id)
            consent = records.consents.find(number)
            if consent is None:
                continue
            campaign = records.campaigns.find(campaign_id).campaign
            period = (now - campaign.opens) // campaign.period_seconds
            cost = consent.commitment
            later_cost += cost.cost * min(cost.draws, records.slots.used(number, after=period))
            if consent.floor > now:
                late.append(campaign_id)
        if late:
            records.caps.require_windows(now, later_cost)
        for campaign_id in late:
            records.consents.set_clock(records.campaigns.number(campaign_id), now)
    return late


def _report_in_slot(
    records: Records, joined: Joined, number: int, period: int, slot: int, x: int, collects: bool
) -> tuple[int, bytes] | None:
    """Return the report that filled ``slot`` with the same input.

    Returns:
        (slot, report); the report is b"" if the answer still waits to be bundled. None if the slot was skipped; if it
        had another input; if its input is no longer known; or if its answer waits to be bundled and ``collects`` is not
        set.
    """
    filled = records.slots.find(number, period, slot)
    if filled is None:
        # The content of slots of earlier periods was deleted; with transcripts, no slot's content is ever stored. With
        # one answer per period, the input was in that slot if its latest report is of that period.
        memo_row = records.memo.recall(number, x)
        if joined.campaign.answers_per_period > 1 or memo_row is None or memo_row.period != period:
            return None
        return memo_row.slot, joined.report(period, memo_row.slot, memo_row.packed)
    if filled.first is None and not collects:
        # The result is None for every value: otherwise the value would decide whether a report is sent.
        return None
    if filled.x != x:
        return None
    if filled.first is None:
        return slot, b""
    return slot, joined.report(period, filled.first, *records.slots.outputs_of(number, period, filled.first))


def _quota_reached(conditions: Conditions, period: int, slot: int, free: int) -> QuotaReached:
    """Return the error for a slot that is used or beyond the quota; the message does not depend on the value."""
    campaign = conditions.joined.campaign
    if free < campaign.answers_per_period:
        return QuotaReached(
            f"slot {slot} of this period was already filled or skipped: use slot {free} or a later one, or name no slot"
        )
    next_period = campaign.opens + (period + 1) * campaign.period_seconds
    outlook = (
        f"the next period begins at {utc_text(next_period)}"
        if next_period < (campaign.closes if conditions.closes is None else conditions.closes)
        else "it is the last period"
    )
    quota = "1 answer" if campaign.answers_per_period == 1 else f"{campaign.answers_per_period} answers"
    return QuotaReached(f"{campaign.title!r} takes {quota} a period, and this period is full: {outlook}")


def _require_slot(slot: int | None, quota: int) -> None:
    is_whole = slot is None or (isinstance(slot, int) and not isinstance(slot, bool))
    if not is_whole or not 0 <= (slot or 0) < quota:
        raise ValueError(
            f"the slot must be the number of an answer in its period, a whole number from 0 to {quota - 1}"
        )
