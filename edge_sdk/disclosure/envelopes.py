"""Explains waiting envelopes: the meaning of their bytes, and the answers that a report fits.

Everything is parsed from the bytes that will be sent; nothing is drawn or decided. The queue itself: transport/queue.
What an answer would add to it: preview.
"""

from __future__ import annotations

from dataclasses import dataclass

from edge_sdk.device import Device
from protocol.channels import Blocks
from protocol.domain import Items
from protocol.envelope import Kind, decode
from protocol.keys import KEY_ID_BYTES, SIGNATURE_BYTES
from protocol.levels import TooLarge, structure_of
from protocol.report import Enrolment, Report

MOST_NAMED = 6
"""The answers that a report fits are named if there are at most this many."""

MOST_STEPS = 2**18
"""Maximum number of steps, a fraction of a second; for larger channels the fitting answers are not computed."""

_SIGNATURE_HEAD = bytes([0xC4, SIGNATURE_BYTES])


@dataclass(frozen=True)
class Part:
    """A stretch of an envelope's bytes.

    Attributes:
        name: "form" (how it is written down), "key" (this device's, for this campaign alone), "campaign", "signature";
            of a report "place" (period, slot and how many outputs) and "output" (the answer after chance); of an
            enrolment "public" (the key that the signature is checked with) and "declared" (a prior of the person's
            own).
    """

    name: str
    data: bytes


@dataclass(frozen=True)
class OutputMeaning:
    """The answers that an output fits: those under which it is as likely as any output.

    Attributes:
        fits: how many of the answers these are.
        size: the number of all answers; of districts, where this device is asked for those.
        labels: these answers, where they are at most ``MOST_NAMED``; else empty. Of items, that which stands for none
            is an empty text.
    """

    fits: int
    size: int
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Outgoing:
    """An envelope that waits to leave.

    Attributes:
        campaign_id: of its campaign.
        kind: "report" or "enrolment".
        data: all of its bytes.
        parts: the same, from the first to the last, by what they are for.
    """

    campaign_id: bytes
    kind: str
    data: bytes
    parts: tuple[Part, ...]


def outgoing(device: Device, campaign_id: bytes | None = None) -> tuple[Outgoing, ...]:
    """Return the waiting envelopes by campaign, the campaign that waits longest first.

    Their bytes, one after another, are what ``outbox.export`` writes of a campaign.

    Args:
        device: whose outbox it is.
        campaign_id: of one joined campaign; None takes all.
    Returns:
        Envelopes with their parts; of each campaign in the order they were queued.
    Raises:
        UnknownCampaign: this device has not joined it.
    """
    if campaign_id is not None:
        device.campaign(campaign_id)  # raises if it is not joined
    return tuple(
        Outgoing(one.campaign_id, decode(envelope).kind.name.lower(), envelope, parts(envelope))
        for one in device.outbox.destinations()
        if campaign_id in (None, one.campaign_id)
        for envelope in device.outbox.waiting(one.campaign)
    )


def parts(data: bytes) -> tuple[Part, ...]:
    """The bytes of a sealed report or enrolment, from the first to the last, by what they are for (SPEC 3.1, 8.1)."""
    sealed = decode(data)
    signature = len(data) - SIGNATURE_BYTES
    after = signature - len(_SIGNATURE_HEAD)
    key = data.index(sealed.key_id)
    marks = [("form", 0), ("key", key), ("form", key + KEY_ID_BYTES)]
    if sealed.kind is Kind.REPORT:
        told = Report.decode(sealed.unverified)
        campaign = data.index(told.campaign_id, key + KEY_ID_BYTES)
        marks += [("campaign", campaign), ("place", campaign + len(told.campaign_id))]
        marks += [("output", after - len(told.packed))]
    else:
        one = Enrolment.decode(sealed.unverified)
        campaign = data.index(one.campaign_id, key + KEY_ID_BYTES)
        begin = data.index(one.public, campaign + len(one.campaign_id))
        marks += [("campaign", campaign), ("form", campaign + len(one.campaign_id)), ("public", begin)]
        if one.prior is not None:
            marks.append(("declared", begin + len(one.public)))
    marks += [("form", after), ("signature", signature)]
    ends = [start for _, start in marks[1:]] + [len(data)]
    return tuple(Part(name, data[start:end]) for (name, start), end in zip(marks, ends, strict=True))


def output_meanings(device: Device, envelope: Outgoing) -> tuple[OutputMeaning, ...]:
    """Return, for each output of one of this device's reports, the answers that it fits.

    Args:
        device: that joined the report's campaign.
        envelope: a report, as ``outgoing`` has it.
    Returns:
        One for each output; empty if the channel is too large, and for an enrolment.
    """
    sealed = decode(envelope.data)
    if sealed.kind is not Kind.REPORT:
        return ()
    records, campaign_id = device.records, envelope.campaign_id
    joined, told = records.member(campaign_id), Report.decode(sealed.unverified)
    if joined.campaign.transcript is not None:
        earlier = records.transcripts.of(records.campaigns.number(campaign_id))
        joined = joined.following(earlier[: told.slot], told.period)
    whole, first = joined.campaign.views[joined.view].channel, 0
    if joined.role.place is not None and isinstance(whole, Blocks):
        # Reports show the class: outputs of later classes follow those of earlier ones.
        first = whole.offsets[joined.role.place + 1]
    domain, structure = joined.campaign.domain, structure_of(joined.channel, MOST_STEPS)
    size = joined.map.inputs(domain)
    nothing = domain.count if isinstance(domain, Items) else size
    found = []
    try:
        for y in told.outputs(joined.campaign, joined.view):
            fits = structure.fitting(y - first)
            named = fits if len(fits) <= MOST_NAMED else ()
            labels = tuple(joined.label(x) if x < nothing else "" for x in named)
            found.append(OutputMeaning(len(fits), size, labels))
    except TooLarge:
        return ()
    return tuple(found)
