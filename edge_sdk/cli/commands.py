"""The commands for joined campaigns, from consent to forgetting.

Each command uses the methods of ``Device`` and returns the result by name. No error repeats a value.

The module parser lists the arguments. The commands for joining are in the module joining, the command outbox in
sending, those for the store and the unit in upkeep.
"""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from edge_sdk.campaigns.files import campaign_file, naming_file_in_errors
from edge_sdk.cli.joining import find_campaign_id
from edge_sdk.cli.output import Printed, Usage
from edge_sdk.device import Device
from edge_sdk.errors import NotJoined
from edge_sdk.store.files import write_new
from protocol import exact
from protocol.campaign import unverified_campaign
from protocol.errors import HalftruthError

# At run time, these are imported only by the commands that need them.
if TYPE_CHECKING:
    from protocol.domain import Answer


def consent(options: argparse.Namespace) -> Printed:
    """``consent ID``: agree to a campaign; return the amounts reserved and remaining."""
    chooses = options.choose_class is not None or options.choose_prior is not None
    if chooses and (options.prior is not None or options.level is not None):
        raise Usage("the device chooses by your earlier answers or --history: leave out --prior and --level")
    if options.history is not None and not chooses:
        raise Usage("--history needs --choose-class or --choose-prior: only then does the device use the counts")
    with Device.open(options.store) as device:
        campaign_id = find_campaign_id(device, options.id)
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
            "reserved": budget.reserved,
            "remaining": budget.remaining,
            "enrolment": terms.enrolment,
            **({"view_description": terms.view_description} if terms.view_description else {}),
        }
        if terms.member_of is not None:
            printed["class"] = terms.member_of
        if chosen is not None:
            printed["prior"] = [f"{label}: {weight}" for label, weight in chosen.items()]
        if terms.enrolment == "enrolled" and not terms.has_code:
            printed["next"] = "write this device's enrolment with 'enrolment ID FILE', and give it to the organisation"
        return printed


def answer(options: argparse.Namespace) -> Printed:
    """``answer ID VALUE...``: answer a campaign; return period, slot and cost of the report."""
    with Device.open(options.store) as device:
        campaign_id = find_campaign_id(device, options.id)
        value = _answer(device, campaign_id, options.value)
        quota = device.campaign(campaign_id).answers_per_period
        if options.slot is not None and not 0 <= options.slot < quota:
            slots = f"a whole number from 0 to {quota - 1}" if quota > 1 else "0"
            raise Usage(f"--slot must be {slots} in this campaign, not {options.slot}")
        if options.collect:
            collected = device.collect(campaign_id, value, options.slot)
            return {
                "campaign": campaign_id.hex(),
                "period": collected.period,
                "slot": collected.slot,
                "cost": collected.cost,
                "repeated": collected.repeated,
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
                    # Spending that cannot be attributed to a campaign has an id of zeros.
                    "campaign": entry.campaign_id.hex() if any(entry.campaign_id) else "",
                    "kind": entry.kind.name.lower(),
                    "nats": entry.nats,
                }
                for entry in device.ledger
            ],
        }


def preview(options: argparse.Namespace) -> Printed:
    """``preview ID [VALUE...]``: return the size, the cost and the possible disclosure of an answer."""
    with Device.open(options.store) as device:
        campaign_id = find_campaign_id(device, options.id)
        if options.prior is not None:
            return _declaration(device, campaign_id, options)
        if options.level is not None:
            raise Usage("--level needs --prior: leave it out, or name the counts with --prior")
        value = _answer(device, campaign_id, options.value) if options.value else None
        preview, terms = device.preview(campaign_id, value), device.terms(campaign_id)
        return {
            "campaign": campaign_id.hex(),
            "about": "the answer that one report can make most probable" if value is None else "the given answer",
            "bytes": preview.report_bytes,
            "waiting_bytes": preview.waiting_bytes,
            "upload_bytes": preview.upload_bytes,
            "cost": preview.cost,
            "fits_true": preview.fits_true,
            "fits_other": preview.fits_other,
            "probability_before": preview.posterior.before,
            "probability_after": preview.posterior.after,
            **({"group": preview.group} if preview.group else {}),
            "promise": terms.promise.text(),
            **({"view_description": terms.view_description} if terms.view_description else {}),
        }


def _declaration(device: Device, campaign_id: bytes, options: argparse.Namespace) -> Printed:
    """Return the level, the costs and the possible posteriors of declaring a prior."""
    if options.value:
        raise Usage("an answer and a prior are both given: preview one of them")
    try:
        declared = device.declaration(campaign_id, _counts(options.prior), options.level)
    except ValueError as error:
        raise error if isinstance(error, HalftruthError) else Usage(f"invalid level: {error}") from None
    return {
        "campaign": campaign_id.hex(),
        "public": "the probabilities named 'before', and the level if you gave one, become public permanently: "
        "everybody who can read the study's keys can read them",
        "declared_before": declared.declared_before,
        "level": declared.level,
        "cost": declared.cost,
        "worst_case": declared.worst_case,
        "posteriors": [
            {
                "value": declared_value.label,
                "before": declared_value.before,
                "least_after": declared_value.lowest,
                "most_after": declared_value.highest,
            }
            for declared_value in declared.values
        ],
    }


def exposure(options: argparse.Namespace) -> Printed:
    """``exposure ID [VALUE...]``: return a bound on the joint disclosure by all reports about the same values."""
    with Device.open(options.store) as device:
        campaign_id = find_campaign_id(device, options.id)
        value = _answer(device, campaign_id, options.value) if options.value else None
        exposure = device.exposure(campaign_id)
        level = exposure.together if value is None else exposure.about(value)
        return {
            "campaign": campaign_id.hex(),
            "about": "the value with the highest bound" if value is None else "the given value, against any other",
            "together": level.nats,
            "likelihood_factor": None
            if level.nanonats is None
            else float(min(exact.factor_above(level.nanonats), Fraction(10**300))),
            "changing": exposure.changing.nats,
            "forgotten_nats": exposure.forgotten,
            **(
                {"questions": {name: level.nats for name, level in exposure.question_levels.items()}}
                if exposure.question_levels
                else {}
            ),
            "campaigns": [
                {
                    "campaign": campaign.campaign_id.hex(),
                    "title": campaign.title,
                    "draws": campaign.drawn,
                    "level": campaign.nats,
                }
                for campaign in exposure.campaigns
            ],
        }


def audit(options: argparse.Namespace) -> Printed:
    """``audit ID|FILE``: return the levels under every notion."""
    from edge_sdk.campaigns import audit as campaign_audit
    from protocol.levels import as_json
    from protocol.views import is_plain

    file = Path(options.campaign)
    if file.is_file():
        data = campaign_file(file)
        with naming_file_in_errors(file):
            own_audit = campaign_audit.audit(unverified_campaign(data))
    else:
        if options.store is None:
            raise Usage(
                f"there is no file {options.campaign!r}; for the id of a joined campaign, name the device's --store too"
            )
        with Device.open(options.store) as device:
            try:
                campaign_id = find_campaign_id(device, options.campaign)
            except NotJoined as error:
                raise NotJoined(f"there is no file {options.campaign!r}, and {error}") from None
            # The questions that a device is asked are not shown before consent.
            shown = device.consented(campaign_id) or not device.terms(campaign_id).questions
            view = device.records.campaigns.find(campaign_id).view if shown else None
            own_audit = campaign_audit.audit(device.campaign(campaign_id), device.history(campaign_id), view)
    views = own_audit.campaign.views
    certificate = own_audit.campaign.certificate
    audited: Printed = {
        "title": own_audit.campaign.title,
        "notion": own_audit.campaign.notion.name,
        "declared": exact.nats(certificate.declared_level),
        "audited": exact.nats(certificate.audited_level),
        **({} if certificate.ball_level is None else {"lip-ball": exact.nats(certificate.ball_level)}),
        "prior": "your earlier answers" if own_audit.uses_history else "uniform",
        **({} if is_plain(views) else {"view": own_audit.view, "views": len(views)}),
        **as_json(own_audit.table, [views[own_audit.view].channel]),
    }
    if options.json:
        return audited
    del audited["posterior"], audited["witnesses"]
    if own_audit.table.posterior is not None:
        audited |= zip(("largest_before", "largest_after"), own_audit.table.posterior, strict=True)
    return audited


def forget(options: argparse.Namespace) -> Printed:
    """``forget [ID]``: forget campaigns; return their ids and the amount spent."""
    with Device.open(options.store) as device:
        if options.id is None:
            gone = device.campaigns
            device.forget()
        else:
            gone = [find_campaign_id(device, options.id)]
            device.forget(gone[0])
        return {"forgotten": [campaign_id.hex() for campaign_id in gone], "spent": device.budget.spent}


def enrolment(options: argparse.Namespace) -> Printed:
    """``enrolment ID FILE``: write the enrolment; return the name and length of the file."""
    with Device.open(options.store) as device:
        data = device.enrolment(find_campaign_id(device, options.id))
    write_new(options.file, data)
    return {"file": str(options.file), "bytes": len(data)}


def _answer(device: Device, campaign_id: bytes, words: list[str]) -> Answer:
    """Return the answer on the command line; for a form, one word for each question.

    Raises:
        NotInDomain: the question does not allow the answer.
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


def _count(row: list[str], place: str) -> tuple[str, int]:
    """Return the label and the count in a row; no error repeats them."""
    try:
        # A position is "latitude,longitude": quoted it is one field, unquoted it is two.
        return ",".join(row[:-1]), int(row[-1])
    except (ValueError, IndexError):
        raise Usage(f"{place}: the row must have a value and a whole number") from None
