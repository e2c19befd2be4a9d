"""The post as screens show it: what waits to leave, and what became of an attempt to send it.

One idea: only what the study acknowledged is sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from edge_sdk import Device

if TYPE_CHECKING:  # loaded with the first campaign
    from edge_sdk.send import Sent


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

    @classmethod
    def of(cls, device: Device, now: float, server: str) -> Queue:
        """What waits at a time in UTC seconds."""
        from edge_sdk.shown import waiting

        uploads = tuple(
            Upload(
                device.terms(one.campaign_id).title,
                one.envelopes,
                one.size,
                one.not_before if one.not_before > now else None,
                one.refused,
            )
            for one in waiting(device)
        )
        return cls(uploads, len(device.outbox), device.outbox.bytes, server)


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

    @classmethod
    def of(cls, sent: Sent, left: int) -> Delivery:
        """What became of an attempt that leaves so many envelopes."""
        from edge_sdk.send import Outcome

        refused, failed = sent.of(Outcome.REFUSED), sent.of(Outcome.FAILED)
        reasons = [attempt.reason for attempt in refused + failed + sent.of(Outcome.WAITING)]
        return cls(sent.envelopes, left, sent.again, bool(refused), reasons[0] if reasons else "")
