"""The outbox as screens show it: waiting envelopes, and the result of an attempt to send them.

An envelope counts as sent only if the study accepted it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from demo_app.texts import language
from edge_sdk import Device

if TYPE_CHECKING:  # imported at run time only with the first campaign
    from edge_sdk.disclosure.envelopes import WaitingEnvelope
    from edge_sdk.transport.upload import UploadResults


@dataclass(frozen=True)
class WaitingUpload:
    """The waiting envelopes of one campaign, which are sent together.

    Attributes:
        title: the campaign's title.
        addresses: the study's addresses; empty if unknown.
        addressable: True if the person may enter an address, because the campaign names none.
        envelopes, size: the number of envelopes, and their total size in bytes.
        kinds: (kind, number, bytes) of the enrolments and of the reports.
        next_attempt: time of the next attempt, in UTC seconds; None if an attempt is possible now.
        refused: True if the study refused these bytes or the person's code, and would refuse them again.
        code_refused: True if it refused the code, so that another code may help.
        unknown_campaign: True if the study does not have this campaign; the study may import the campaign later.
    """

    campaign_id: bytes
    title: str
    addresses: tuple[str, ...]
    addressable: bool
    envelopes: int
    size: int
    kinds: tuple[tuple[str, int, int], ...]
    next_attempt: int | None
    refused: bool
    code_refused: bool
    unknown_campaign: bool


@dataclass(frozen=True)
class OutboxContent:
    """The waiting envelopes of all campaigns, and the enrolments that the person can hand over.

    Attributes:
        enrolments: (id, title) of the campaigns with consent that accept enrolled devices only and are not over, except
            those whose code waits to be redeemed. The device deletes a redeemed code, so a campaign may be in this list
            although its code admitted this device.
    """

    uploads: tuple[WaitingUpload, ...]
    envelopes: int
    size: int
    enrolments: tuple[tuple[bytes, str], ...]

    @classmethod
    def of(cls, device: Device, now: float) -> OutboxContent:
        """Return the waiting envelopes; ``now`` is in UTC seconds."""
        from edge_sdk.disclosure.envelopes import waiting_envelopes
        from edge_sdk.transport.waiting import waiting_by_campaign

        waits = waiting_envelopes(device)
        uploads = tuple(
            WaitingUpload(
                upload.campaign_id,
                device.terms(upload.campaign_id, language()).title,
                upload.addresses,
                upload.addressable,
                upload.envelopes,
                upload.size,
                _kinds([envelope for envelope in waits if envelope.campaign_id == upload.campaign_id]),
                upload.next_attempt if upload.next_attempt > now else None,
                upload.refused,
                upload.code_refused,
                upload.unknown_campaign,
            )
            for upload in waiting_by_campaign(device.outbox)
        )
        joined = [
            device.terms(campaign_id, language()) for campaign_id in device.campaigns if device.consented(campaign_id)
        ]
        enrolments = tuple(
            (terms.campaign_id, terms.title)
            for terms in joined
            if terms.enrolment == "enrolled" and not terms.has_code and now < terms.ends
        )
        return cls(uploads, len(device.outbox), device.outbox.bytes, enrolments)


def _kinds(waits: Sequence[WaitingEnvelope]) -> tuple[tuple[str, int, int], ...]:
    """Return (kind, number, bytes) of the waiting envelopes for each kind."""
    sizes_by_kind: dict[str, list[int]] = {}
    for envelope in waits:
        sizes_by_kind.setdefault(envelope.kind, []).append(len(envelope.data))
    return tuple((kind, len(sizes), sum(sizes)) for kind, sizes in sizes_by_kind.items())


@dataclass(frozen=True)
class Delivery:
    """The result of one attempt to send.

    Attributes:
        sent: number of envelopes that the studies accepted.
        left: number of envelopes that still wait.
        next_attempt: time of the next attempt, in UTC seconds; None if there is no next attempt.
        refused: True if a study refused envelopes or a code, and would refuse them again.
        reason: the SDK's text on why envelopes still wait; empty if all were sent.
    """

    sent: int
    left: int
    next_attempt: int | None
    refused: bool
    reason: str

    @classmethod
    def of(cls, sent: UploadResults, left: int) -> Delivery:
        """Return the result of an attempt after which ``left`` envelopes wait."""
        from edge_sdk.transport.upload import Outcome

        order = (Outcome.UPLOAD_REFUSED, Outcome.ELSEWHERE, Outcome.UNKNOWN_CAMPAIGN, Outcome.FAILED, Outcome.WAITING)
        reasons = [attempt.reason for outcome in order for attempt in sent.of(outcome)]
        return cls(
            sent.envelopes,
            left,
            sent.next_attempt,
            bool(sent.of(Outcome.UPLOAD_REFUSED)),
            "\n".join(dict.fromkeys(reasons)),
        )
