"""Explain waiting envelopes: the meaning of their bytes, and the answers that a report fits.

Everything is parsed from the bytes that will be sent; nothing is drawn or decided. transport/stored_outbox stores the
envelopes, and the module preview computes the effect of one more answer.
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

MAX_NAMED = 6
"""The answers that a report fits are named if there are at most this many."""

MAX_STEPS = 2**18
"""Maximum number of steps, a fraction of a second; for larger channels the fitting answers are not computed."""

_SIGNATURE_HEAD = bytes([0xC4, SIGNATURE_BYTES])


@dataclass(frozen=True)
class EnvelopePart:
    """A range of an envelope's bytes.

    Attributes:
        name: the meaning of the bytes. In every envelope: "format" (the encoding), "key" (id of this device's key for
            this campaign), "campaign" and "signature". In a report: "slot" (period, slot and number of outputs) and
            "output" (the perturbed answer). In an enrolment: "public" (the key that verifies the signature) and
            "declared" (a declared prior).
        data: the bytes.
    """

    name: str
    data: bytes


@dataclass(frozen=True)
class OutputMeaning:
    """The answers that an output fits: for each of these answers, no other output is more likely.

    A vector of independent bits fits the answers whose bit is set.

    Attributes:
        fits: number of answers that the output fits.
        size: number of all answers of this device's view.
        labels: the answers that the output fits, if they are at most ``MAX_NAMED``; else empty. In a domain of items,
            "" is the answer without an item.
    """

    fits: int
    size: int
    labels: tuple[str, ...]


@dataclass(frozen=True)
class WaitingEnvelope:
    """An envelope that waits to leave.

    Attributes:
        campaign_id: id of its campaign.
        kind: "report" or "enrolment".
        data: the bytes.
        parts: these bytes in order, split by meaning.
    """

    campaign_id: bytes
    kind: str
    data: bytes
    parts: tuple[EnvelopePart, ...]


def waiting_envelopes(device: Device, campaign_id: bytes | None = None) -> tuple[WaitingEnvelope, ...]:
    """Return the waiting envelopes, grouped by campaign; the campaign that waits longest comes first.

    The concatenation of a campaign's envelopes is the file that ``outbox.export`` writes.

    Args:
        device: the device with the outbox.
        campaign_id: id of one joined campaign; None for all campaigns.
    Returns:
        The envelopes with their parts; those of a campaign are in the order in which they were queued.
    Raises:
        NotJoined: this device has not joined it.
    """
    if campaign_id is not None:
        # This call refuses a campaign that is not joined.
        device.campaign(campaign_id)
    return tuple(
        WaitingEnvelope(destination.campaign_id, decode(envelope).kind.name.lower(), envelope, parts(envelope))
        for destination in device.outbox.destinations()
        if campaign_id in (None, destination.campaign_id)
        for envelope in device.outbox.envelopes(destination.number)
    )


def parts(data: bytes) -> tuple[EnvelopePart, ...]:
    """Return the bytes of a sealed report or enrolment in order, split by meaning (SPEC 3.1, 8.1)."""
    sealed = decode(data)
    signature = len(data) - SIGNATURE_BYTES
    after = signature - len(_SIGNATURE_HEAD)
    key = data.index(sealed.key_id)
    marks = [("format", 0), ("key", key), ("format", key + KEY_ID_BYTES)]
    if sealed.kind is Kind.REPORT:
        report = Report.decode(sealed.unverified)
        campaign = data.index(report.campaign_id, key + KEY_ID_BYTES)
        marks += [("campaign", campaign), ("slot", campaign + len(report.campaign_id))]
        marks += [("output", after - len(report.packed))]
    else:
        enrolment = Enrolment.decode(sealed.unverified)
        campaign = data.index(enrolment.campaign_id, key + KEY_ID_BYTES)
        begin = data.index(enrolment.public, campaign + len(enrolment.campaign_id))
        marks += [("campaign", campaign), ("format", campaign + len(enrolment.campaign_id)), ("public", begin)]
        if enrolment.prior is not None:
            marks.append(("declared", begin + len(enrolment.public)))
    marks += [("format", after), ("signature", signature)]
    ends = [start for _, start in marks[1:]] + [len(data)]
    return tuple(EnvelopePart(name, data[start:end]) for (name, start), end in zip(marks, ends, strict=True))


def output_meanings(device: Device, envelope: WaitingEnvelope) -> tuple[OutputMeaning, ...]:
    """Return, for each output of a report from this device, the answers that it fits.

    Args:
        device: a device that joined the report's campaign.
        envelope: a report from ``waiting_envelopes``.
    Returns:
        One meaning for each output; empty if the channel is too large, and for an enrolment.
    Raises:
        NotJoined: this device has not joined the campaign.
    """
    sealed = decode(envelope.data)
    if sealed.kind is not Kind.REPORT:
        return ()
    records, campaign_id = device.records, envelope.campaign_id
    joined, report = records.joined_in_role(campaign_id), Report.decode(sealed.unverified)
    if joined.campaign.transcript is not None:
        earlier = records.transcripts.of(records.campaigns.number(campaign_id))
        joined = joined.for_report(earlier[: report.slot], report.period)
    view_channel, first = joined.campaign.views[joined.view].channel, 0
    if joined.role.class_index is not None and isinstance(view_channel, Blocks):
        # Each class has its own outputs, in the order of the classes, so a report shows the class.
        first = view_channel.offsets[joined.role.class_index + 1]
    domain, structure = joined.campaign.domain, structure_of(joined.channel, MAX_STEPS)
    size = joined.map.input_count(domain)
    nothing = domain.item_count if isinstance(domain, Items) else size
    meanings = []
    try:
        for y in report.outputs(joined.campaign, joined.view):
            fits = structure.fitting(y - first)
            named = fits if len(fits) <= MAX_NAMED else ()
            labels = tuple(joined.label(x) if x < nothing else "" for x in named)
            meanings.append(OutputMeaning(len(fits), size, labels))
    except TooLarge:
        return ()
    return tuple(meanings)
