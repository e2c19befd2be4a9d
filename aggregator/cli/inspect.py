"""The command inspect: show the content of a file, unverified."""

from __future__ import annotations

import datetime
from pathlib import Path

import click

from aggregator.cli import shell
from aggregator.cli.shell import halftruth
from aggregator.inspection import CampaignFile, ClosingFile, certificate_facts, look_into, study_facts
from aggregator.present.listing import batch_table, certificate_table


@halftruth.command()
@click.argument("file", type=shell.existing)
@shell.as_json
def inspect(file: Path, as_json: bool) -> None:
    """Show the content of a campaign, a closing notice or a batch. No signature is verified.

    For a campaign, also show its certificate, computed from its integers; `halftruth audit` adds the expected errors.
    """
    found = look_into(file.read_bytes())
    if isinstance(found, CampaignFile):
        terms = found.terms
        claims = {
            "title": terms.title,
            "question": terms.question,
            "purpose": terms.purpose,
            "organisation": terms.organisation,
            **study_facts(terms),
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
        if as_json:
            shell.print_json(claims | {"certificate": certificate_facts(terms)})
            return
        for name, claim in claims.items():
            if isinstance(claim, list):
                claim = ", ".join(claim)
            shell.say(f"{name.replace('_', ' '):>20}  {claim}")
        shell.console().print(certificate_table(terms))
    elif isinstance(found, ClosingFile):
        claims = {
            "closes": _date(found.closing.closes),
            "campaign": found.closing.campaign_id.hex(),
            "author": found.author.hex(),
            "bytes": found.size,
        }
        if as_json:
            shell.print_json(claims)
            return
        shell.say("a notice that closes a campaign early")
        for name, claim in claims.items():
            shell.say(f"{name:>20}  {claim}")
    elif as_json:
        shell.print_json(found.as_json())
    else:
        shell.console().print(batch_table(found))


def _date(seconds: int) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat()
