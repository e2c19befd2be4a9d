"""Commands that need no study: inspect, doctor."""

from __future__ import annotations

import datetime
from pathlib import Path

import click

from aggregator.audit import audit_campaign
from aggregator.checkup import check_up
from aggregator.cli import shell
from aggregator.cli.shell import FAILED, Failure, halftruth
from aggregator.inspection import CampaignFile, look_into
from aggregator.present.listing import audit_table, batch_table, checkup_table


@halftruth.command(short_help="What a campaign or a batch claims to be.")
@click.argument("file", type=shell.existing)
@shell.as_json
def inspect(file: Path, as_json: bool) -> None:
    """What a campaign or a batch claims to be. Nothing is verified."""
    found = look_into(file.read_bytes())
    if isinstance(found, CampaignFile):
        terms = found.terms
        claims = {
            "title": terms.title,
            "question": terms.question,
            "purpose": terms.purpose,
            "organisation": terms.organisation,
            "id": found.id.hex(),
            "author": found.author.hex(),
            "bytes": found.size,
            "opens": _date(terms.opens),
            "closes": _date(terms.closes),
            "periods": terms.periods,
            "answers_per_period": terms.answers_per_period,
            "minimum_reports": terms.minimum_reports,
            "enrolment": terms.enrolment,
        }
        audit = audit_campaign(terms)
        if as_json:
            shell.print_json(claims | {"audit": audit.as_json()})
            return
        for name, claim in claims.items():
            shell.say(f"{name.replace('_', ' '):>20}  {claim}")
        shell.console().print(audit_table(audit))
    elif as_json:
        shell.print_json(found.as_json())
    else:
        shell.console().print(batch_table(found))


@halftruth.command(short_help="Whether this machine can do the work.")
@shell.as_json
def doctor(as_json: bool) -> None:
    """Whether this machine can do the work: libraries, signatures, storage, randomness."""
    findings = check_up()
    if as_json:
        shell.print_json([{"check": found.name, "ok": found.ok, "found": found.text} for found in findings])
    else:
        shell.console().print(checkup_table(findings))
    if not all(found.ok for found in findings):
        raise Failure("something is wrong; see above", FAILED)


def _date(seconds: int) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat()
