"""The commands for joined campaigns, from consent to forgetting.

Each command uses the methods of ``Device`` and returns the result by name. No error repeats a value.

__main__ defines the parsers. The commands for joining are in the module joining, those for the store and the unit in
upkeep.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from edge_sdk.cli.exit_codes import FAILED, NOT_YET
from edge_sdk.cli.joining import campaign_file, find, naming
from edge_sdk.cli.output import Incomplete, Printed, Usage
from edge_sdk.device import Device
from edge_sdk.store.files import write_new
from edge_sdk.timestamps import moment
from protocol import exact
from protocol.campaign import unverified_campaign
from protocol.errors import HalftruthError

# At run time, these are imported only by the commands that need them.
if TYPE_CHECKING:
    from edge_sdk.transport.upload import Sent
    from protocol.domain import Answer


def consent(options: argparse.Namespace) -> Printed:
    """``consent ID``: agree to a campaign; return the amounts reserved and remaining."""
    chooses = options.choose_class is not None or options.choose_prior is not None
    if chooses and (options.prior is not None or options.level is not None):
        raise Usage(
            "the device chooses, so --prior and --level have no effect: leave them out; --history names the counts"
        )
    if options.history is not None and not chooses:
        raise Usage("--history needs --choose-class or --choose-prior: only then does the device use the counts")
    with Device.open(options.store) as device:
        campaign_id = find(device, options.id)
        prior, history = (None if file is None else _counts(file) for file in (options.prior, options.history))
        chosen = None
        try:
            if options.choose_class is not None:
                device.choose_class(campaign_id, options.choose_class, history)
            elif options.choose_prior is not None:
                chosen = device.choose_prior(campaign_id, options.choose_prior, history)
            else:
                device.consent(campaign_id, as_class=options.as_class, prior=prior, level=options.level)
        except ValueError as error:
            raise error if isinstance(error, HalftruthError) else Usage(f"invalid level: {error}") from None
        terms, budget = device.terms(campaign_id), device.budget
        printed: Printed = {
            "campaign": campaign_id.hex(),
            "reserved": exact.nats(device.records.member(campaign_id).commitment.worst_case),
            "remaining": budget.remaining,
            "enrolment": terms.enrolment,
            **({"view_description": terms.view_description} if terms.view_description else {}),
        }
        if terms.member_of is not None:
            printed["class"] = terms.member_of
        if chosen is not None:
            printed["prior"] = [f"{label}: {weight}" for label, weight in chosen.items()]
        if terms.enrolment == "enrolled" and not terms.coded:
            printed["next"] = "hand the organisation this device's enrolment: enrolment ID FILE"
        return printed


def answer(options: argparse.Namespace) -> Printed:
    """``answer ID VALUE...``: answer a campaign; return period, slot and cost of the report."""
    with Device.open(options.store) as device:
        campaign_id = find(device, options.id)
        value = _answer(device, campaign_id, options.value)
        most = device.campaign(campaign_id).answers_per_period
        if options.slot is not None and not 0 <= options.slot < most:
            raise Usage(f"--slot must be a whole number from 0 to {most - 1} in this campaign, not {options.slot}")
        if options.collect:
            kept = device.collect(campaign_id, value, options.slot)
            return {
                "campaign": campaign_id.hex(),
                "period": kept.period,
                "slot": kept.slot,
                "cost": kept.cost,
                "repeated": kept.repeated,
                "collected": device.collected(campaign_id),
            }
        receipt = device.answer(campaign_id, value, options.slot)
        return {
            "campaign": campaign_id.hex(),
            "period": receipt.period,
            "slot": receipt.slot,
            "bytes": len(receipt.envelope),
            "cost": receipt.cost,
            "repeated": receipt.repeated,
            "queued": len(device.outbox),
        }


def outbox(options: argparse.Namespace) -> Printed:
    """``outbox [export|send|bundle]``: return the waiting envelopes, or the numbers exported, sent or bundled."""
    with Device.open(options.store) as device:
        if options.verb is None:
            return {
                "queued": len(device.outbox),
                "bytes": device.outbox.bytes,
                "campaigns": _waiting(device),
                "envelopes": _envelopes(device),
            }
        if options.campaign is not None and options.verb == "bundle":
            raise Usage("--campaign is not for bundle: name the campaign as outbox bundle ID")
        chosen_id = None if options.campaign is None else find(device, options.campaign)
        if options.verb == "bundle":
            chosen = device.campaigns if options.to is None else [find(device, options.to)]
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


def _learn(device: Device, sent: Sent) -> None:
    """Fetch closing notices for the campaigns of this upload; their ids reveal no more to the study than the upload
    did."""
    from edge_sdk.transport import download
    from edge_sdk.transport.upload import Outcome

    download.learn_closings(device, dict.fromkeys(one.campaign_id for one in sent.of(Outcome.SENT)))


def _waiting(device: Device) -> list[dict[str, object]]:
    """Return the waiting envelopes by campaign, and the reason why they wait."""
    from edge_sdk.transport.waiting import waiting

    rows = []
    for one in waiting(device.outbox):
        row: dict[str, object] = {
            "campaign": one.campaign_id.hex(),
            "title": device.terms(one.campaign_id).title,
            "envelopes": one.envelopes,
            "bytes": one.size,
            "to": " or ".join(one.addresses) or "no address",
            "reason": one.reason,
        }
        if one.failures and not one.refused:
            row["next_attempt"] = one.next_attempt
        rows.append(row)
    return rows


def _envelopes(device: Device) -> list[Printed]:
    """Return each waiting envelope with its kind and the meaning of its bytes."""
    from edge_sdk.disclosure.envelopes import output_meanings, waiting_envelopes

    rows = []
    for one in waiting_envelopes(device):
        sizes: Counter[str] = Counter()
        for part in one.parts:
            sizes[f"{part.name}_bytes"] += len(part.data)
        row: Printed = {"campaign": one.campaign_id.hex(), "what": one.kind, "bytes": len(one.data), **sizes}
        meanings = output_meanings(device, one)
        if len(meanings) == 1:
            named = " or ".join(label or "none" for label in meanings[0].labels)
            row["fits"] = named or f"{meanings[0].fits} of {meanings[0].size} answers"
        rows.append(row)
    return rows


def _sent(sent: Sent, queued: int, named: bool, whole: bool) -> Printed:
    """Return the result of an upload; if any envelope was not sent, raise an error with the reason.

    Args:
        named: whether an address was named. Envelopes for other addresses then stay without an error, unless there is
            no envelope for the named address.
        whole: whether to return all counts.
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
        "refused": counts[Outcome.REFUSED],
        "elsewhere": counts[Outcome.ELSEWHERE],
        "next_attempt": sent.next_attempt,
        "stay": [
            {
                "campaign": attempt.campaign_id.hex(),
                "envelopes": attempt.envelopes,
                "outcome": attempt.outcome.value,
                "why": attempt.reason,
            }
            for attempt in sent.attempts
            if attempt.outcome is not Outcome.SENT
        ],
    }
    text = f"{sent.envelopes} sent, {queued} queued"
    if sent.next_attempt is not None:
        text += f", the next attempt not before {moment(sent.next_attempt)}"
    lost = elsewhere if not named or len(elsewhere) == len(sent.attempts) else []
    wrong = [*sent.of(Outcome.REFUSED), *sent.of(Outcome.FAILED), *sent.of(Outcome.UNKNOWN_CAMPAIGN), *lost]
    if wrong:
        several = len({one.campaign_id for one in sent.attempts}) > 1
        why = "; ".join(
            f"campaign {one.campaign_id.hex()[:8]}: {one.reason}" if several else one.reason for one in wrong
        )
        raise Incomplete(f"{why}; {text}", printed, FAILED)
    if sent.next_attempt is not None:
        raise Incomplete(text, printed, NOT_YET)
    shown = ("sent", "queued", "stay") if elsewhere else ("sent", "queued")
    return {name: value for name, value in printed.items() if whole or name in shown}


def ledger(options: argparse.Namespace) -> Printed:
    """``ledger``: return the budget, the campaigns and all entries of the ledger."""
    with Device.open(options.store) as device:
        budget = device.budget
        titles = {campaign_id: device.terms(campaign_id).title for campaign_id in device.campaigns}
        return {
            "spent": budget.spent,
            "reserved": budget.reserved,
            "remaining": budget.remaining,
            "campaigns": [
                {"campaign": campaign_id.hex(), "title": title, "consented": device.consented(campaign_id)}
                for campaign_id, title in titles.items()
            ],
            "entries": [
                {
                    "time": entry.time,
                    "campaign": entry.campaign_id.hex(),
                    "kind": entry.kind.name.lower(),
                    "nats": entry.nats,
                }
                for entry in device.ledger
            ],
        }


def preview(options: argparse.Namespace) -> Printed:
    """``preview ID [VALUE...]``: return the size, the cost and the possible disclosure of an answer."""
    with Device.open(options.store) as device:
        campaign_id = find(device, options.id)
        if options.prior is not None:
            return _declaration(device, campaign_id, options)
        value = _answer(device, campaign_id, options.value) if options.value else None
        preview, terms = device.preview(campaign_id, value), device.terms(campaign_id)
        return {
            "campaign": campaign_id.hex(),
            "bytes": preview.report_bytes,
            "waiting_bytes": preview.waiting_bytes,
            "upload_bytes": preview.upload_bytes,
            "cost": preview.cost,
            "fits_true": preview.fits_true,
            "fits_other": preview.fits_other,
            "probability_before": preview.posterior.before,
            "probability_after": preview.posterior.after,
            "promise": terms.promise.text(),
            **({"view_description": terms.view_description} if terms.view_description else {}),
        }


def _declaration(device: Device, campaign_id: bytes, options: argparse.Namespace) -> Printed:
    """Return the promise and the costs of declaring a prior."""
    if options.value:
        raise Usage("an answer and a prior are both given: preview one of them")
    try:
        declared = device.declaration(campaign_id, _counts(options.prior), options.level)
    except ValueError as error:
        raise error if isinstance(error, HalftruthError) else Usage(f"invalid level: {error}") from None
    return {
        "campaign": campaign_id.hex(),
        "public": "the probabilities in the column 'before' become public permanently, for everybody who can read the "
        "study's keys",
        "declared_before": declared.declared_before,
        "level": declared.level,
        "cost": declared.cost,
        "worst_case": declared.worst_case,
        "posteriors": [
            {"value": one.label, "before": one.before, "least_after": one.least, "most_after": one.most}
            for one in declared.values
        ],
    }


def exposure(options: argparse.Namespace) -> Printed:
    """``exposure ID [VALUE...]``: return a bound on the joint disclosure by all reports about the same values."""
    with Device.open(options.store) as device:
        campaign_id = find(device, options.id)
        value = _answer(device, campaign_id, options.value) if options.value else None
        exposure = device.exposure(campaign_id)
        found = exposure.worst if value is None else exposure.about(value)
        return {
            "campaign": campaign_id.hex(),
            "about": "the value with the highest bound" if value is None else "the given value, against any other",
            "together": found.nats,
            "odds": None
            if found.nanonats is None
            else float(min(exact.factor_above(found.nanonats), Fraction(10**300))),
            "changing": exposure.changing.nats,
            "forgotten": exact.nats(exposure.forgotten_nanonats),
            **(
                {"questions": {name: level.nats for name, level in exposure.question_levels.items()}}
                if exposure.question_levels
                else {}
            ),
            "campaigns": [
                {
                    "campaign": one.campaign_id.hex(),
                    "title": one.title,
                    "draws": one.drawn,
                    "level": None if one.nanonats is None else exact.nats(one.nanonats),
                }
                for one in exposure.campaigns
            ],
        }


def audit(options: argparse.Namespace) -> Printed:
    """``audit ID|FILE``: return the levels under every notion."""
    from edge_sdk.campaigns import audit as own
    from protocol.levels import as_json
    from protocol.views import is_plain

    file = Path(options.campaign)
    if file.is_file():
        data = campaign_file(file)
        with naming(file):
            found = own.audit(unverified_campaign(data))
    else:
        if options.store is None:
            raise Usage(
                f"there is no file {options.campaign!r}; for the id of a joined campaign, name the device's --store too"
            )
        with Device.open(options.store) as device:
            campaign_id = find(device, options.campaign)
            # The questions that a device is asked are not shown before consent.
            shown = device.consented(campaign_id) or not device.terms(campaign_id).questions
            view = device.records.campaigns.find(campaign_id).view if shown else None
            found = own.audit(device.campaign(campaign_id), device.history(campaign_id), view)
    views = found.campaign.views
    certificate = found.campaign.certificate
    surveyed: Printed = {
        "title": found.campaign.title,
        "notion": found.campaign.notion.name,
        "declared": exact.nats(certificate.declared),
        "audited": exact.nats(certificate.audited),
        **({} if certificate.ball is None else {"lip-ball": exact.nats(certificate.ball)}),
        "prior": "own" if found.own else "uniform",
        **({} if is_plain(views) else {"view": found.view, "views": len(views)}),
        **as_json(found.table, [views[found.view].channel]),
    }
    if options.json:
        return surveyed
    posterior = surveyed.pop("posterior")
    del surveyed["witnesses"]
    for name in ("levels", "missing"):
        rows = surveyed[name]
        if isinstance(rows, dict):
            what = "nats" if name == "levels" else "why"
            surveyed[name] = [{"name": key, what: value} for key, value in rows.items()]
    if isinstance(posterior, dict):
        surveyed |= {"probability_before": posterior["before"], "probability_after": posterior["after"]}
    return surveyed


def forget(options: argparse.Namespace) -> Printed:
    """``forget [ID]``: forget campaigns; return their ids and the amount spent."""
    with Device.open(options.store) as device:
        if options.id is None:
            gone = device.campaigns
            device.forget()
        else:
            gone = [find(device, options.id)]
            device.forget(gone[0])
        return {"forgotten": [campaign_id.hex() for campaign_id in gone], "spent": device.budget.spent}


def enrolment(options: argparse.Namespace) -> Printed:
    """``enrolment ID FILE``: write the enrolment; return the name and length of the file."""
    with Device.open(options.store) as device:
        data = device.enrolment(find(device, options.id))
    write_new(options.file, data)
    return {"file": str(options.file), "bytes": len(data)}


def _answer(device: Device, campaign_id: bytes, words: list[str]) -> Answer:
    """Return the answer on the command line; for a form, one word for each question.

    Raises:
        NotInDomain
    """
    if len(words) > 1 and not device.terms(campaign_id).questions:
        raise Usage("too many values: the campaign takes one answer; put it in quotes if it contains blanks")
    return device.parse(campaign_id, ";".join(map(_value, words)))


def _value(text: str) -> str:
    """Return the value on the command line or on standard input; no error can repeat it."""
    return sys.stdin.buffer.readline().decode(errors="replace").rstrip("\r\n") if text == "-" else text


def _counts(path: Path) -> dict[str, int]:
    """Return counts by label, read from a CSV file with the header ``value,count``. No error repeats a row."""
    import csv

    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = csv.reader(file)
            if next(lines, None) != ["value", "count"]:
                raise Usage(f"{path.name} must begin with the header value,count")
            return dict(_count(row, f"{path.name}, line {lines.line_num}") for row in lines)
    except (UnicodeDecodeError, csv.Error):
        raise Usage(f"{path.name} must be a CSV file in UTF-8, with the header value,count") from None


def _count(row: list[str], where: str) -> tuple[str, int]:
    """Return the label and the count in a row; no error repeats them."""
    try:
        # A position is "latitude,longitude": quoted it is one field, unquoted it is two.
        return ",".join(row[:-1]), int(row[-1])
    except (ValueError, IndexError):
        raise Usage(f"{where}: the row must have a value and a whole number") from None
