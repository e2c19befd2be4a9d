"""The command outbox: list the waiting envelopes, bundle collected answers, export the envelopes or send them.

The module parser lists the arguments. The other commands for joined campaigns are in the module commands.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from typing import TYPE_CHECKING

from edge_sdk.cli.exit_codes import FAILED, NOT_YET
from edge_sdk.cli.joining import find_campaign_id
from edge_sdk.cli.output import Incomplete, Printed, Usage
from edge_sdk.device import Device
from edge_sdk.timestamps import utc_text

# At run time, this is imported only when something is sent.
if TYPE_CHECKING:
    from edge_sdk.transport.upload import UploadResults


def outbox(options: argparse.Namespace) -> Printed:
    """``outbox [export|send|bundle]``: return the waiting envelopes, or the numbers exported, sent or bundled."""
    with Device.open(options.store) as device:
        if options.campaign is not None and options.verb not in ("export", "send"):
            raise Usage("--campaign is only for export and send; to bundle one campaign, write outbox bundle ID")
        if options.verb is None:
            return {
                "queued": len(device.outbox),
                "bytes": device.outbox.bytes,
                "campaigns": _waiting(device),
                "envelopes": _envelopes(device),
            }
        chosen_id = None if options.campaign is None else find_campaign_id(device, options.campaign)
        if options.verb == "bundle":
            chosen = device.campaigns if options.to is None else [find_campaign_id(device, options.to)]
            chosen = [campaign_id for campaign_id in chosen if device.collected(campaign_id)]
            return {
                "bundled": sum(map(device.bundle, chosen)),
                "collected": sum(map(device.collected, chosen)),
                "queued": len(device.outbox),
            }
        if options.verb == "export":
            if options.to is None:
                raise Usage("the file to write is missing: name it as outbox export FILE")
            return {"exported": device.outbox.export(options.to, chosen_id), "file": options.to}
        sent = device.outbox.send(options.to, campaign_id=chosen_id)
        _learn(device, sent)
        return _sent(sent, len(device.outbox), options.to is not None, options.json)


def _learn(device: Device, sent: UploadResults) -> None:
    """Fetch closing notices for the campaigns of this upload; their ids reveal no more to the study than the upload
    did."""
    from edge_sdk.transport import download
    from edge_sdk.transport.upload import Outcome

    download.learn_closings(device, dict.fromkeys(attempt.campaign_id for attempt in sent.of(Outcome.SENT)))


def _waiting(device: Device) -> list[dict[str, object]]:
    """Return the waiting envelopes by campaign, and the reason why they wait."""
    from edge_sdk.transport.waiting import waiting_by_campaign

    rows = []
    for upload in waiting_by_campaign(device.outbox):
        row: dict[str, object] = {
            "campaign": upload.campaign_id.hex(),
            "title": device.terms(upload.campaign_id).title,
            "envelopes": upload.envelopes,
            "bytes": upload.size,
            "to": " or ".join(upload.addresses) or "no address",
            "reason": upload.reason,
        }
        if upload.next_attempt > time.time() and not upload.refused:
            row["next_attempt"] = upload.next_attempt
        rows.append(row)
    return rows


def _envelopes(device: Device) -> list[Printed]:
    """Return each waiting envelope with its kind and the meaning of its bytes."""
    from edge_sdk.disclosure.envelopes import output_meanings, waiting_envelopes

    rows = []
    for envelope in waiting_envelopes(device):
        sizes: Counter[str] = Counter()
        for part in envelope.parts:
            sizes[f"{part.name}_bytes"] += len(part.data)
        row: Printed = {
            "campaign": envelope.campaign_id.hex(),
            "kind": envelope.kind,
            "bytes": len(envelope.data),
            **sizes,
        }
        meanings = output_meanings(device, envelope)
        if len(meanings) == 1:
            named = " or ".join(f'"{label}"' if label else "no item" for label in meanings[0].labels)
            row["fits"] = named or f"{meanings[0].fits} of {meanings[0].size} answers"
        rows.append(row)
    return rows


def _sent(sent: UploadResults, queued: int, named: bool, complete: bool) -> Printed:
    """Return the result of an upload; if any envelope was not sent, raise an error with the reason.

    Args:
        named: whether an address was named. Envelopes for other addresses then stay without an error, unless there is
            no envelope for the named address.
        complete: whether to return all counts.
    Raises:
        Incomplete: an attempt is not due yet, an attempt failed, the study refused an envelope or does not have its
            campaign, an envelope has no address, or no envelope is for the named address.
    """
    from edge_sdk.transport.upload import Outcome

    counts = {outcome: sum(attempt.envelopes for attempt in sent.of(outcome)) for outcome in Outcome}
    elsewhere = sent.of(Outcome.ELSEWHERE)
    printed: Printed = {
        "sent": sent.envelopes,
        "queued": queued,
        "failed": counts[Outcome.FAILED],
        "unknown_campaign": counts[Outcome.UNKNOWN_CAMPAIGN],
        "upload_refused": counts[Outcome.UPLOAD_REFUSED],
        "elsewhere": counts[Outcome.ELSEWHERE],
        "next_attempt": sent.next_attempt,
        "not_sent": [
            {
                "campaign": attempt.campaign_id.hex(),
                "envelopes": attempt.envelopes,
                "outcome": attempt.outcome.value,
                "reason": attempt.reason,
            }
            for attempt in sent.attempts
            if attempt.outcome is not Outcome.SENT
        ],
    }
    text = f"{sent.envelopes} sent, {queued} queued"
    if sent.next_attempt is not None:
        text += f", the next attempt not before {utc_text(sent.next_attempt)}"
    failed_elsewhere = elsewhere if not named or len(elsewhere) == len(sent.attempts) else []
    wrong = [
        *sent.of(Outcome.UPLOAD_REFUSED),
        *sent.of(Outcome.FAILED),
        *sent.of(Outcome.UNKNOWN_CAMPAIGN),
        *failed_elsewhere,
    ]
    if wrong:
        several = len({attempt.campaign_id for attempt in sent.attempts}) > 1
        why = "; ".join(
            f"campaign {attempt.campaign_id.hex()[:8]}: {attempt.reason}" if several else attempt.reason
            for attempt in wrong
        )
        raise Incomplete(f"{why}; {text}", printed, FAILED)
    if sent.next_attempt is not None:
        raise Incomplete(text, printed, NOT_YET)
    shown = ("sent", "queued", "not_sent") if elsewhere else ("sent", "queued")
    return {name: value for name, value in printed.items() if complete or name in shown}
