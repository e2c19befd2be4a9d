"""The command inspect: show the content of a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from aggregator.campaign_facts import certificate_facts, study_facts
from aggregator.cli import arguments, author_files, printing
from aggregator.cli.failure import BAD_DATA, Failure
from aggregator.cli.group import halftruth
from aggregator.inspection import CampaignFile, ClosingFile, read_content
from aggregator.present.listing import batch_table, certificate_table
from aggregator.utc import second_text
from protocol import keys
from protocol.campaign import open_campaign
from protocol.errors import BadData
from protocol.keys import AuthorKey

LABELS = {"minimum_reports": "minimum devices"}
"""Printed names of claims that differ from their keys: ``minimum_reports`` counts devices."""


@halftruth.command()
@click.argument("file", type=arguments.existing)
@click.option(
    "--trust",
    type=arguments.existing,
    multiple=True,
    help="The author's public key, NAME.pub, for a campaign's file; may be repeated.",
)
@arguments.as_json
def inspect(file: Path, trust: tuple[Path, ...], as_json: bool) -> None:
    """Show the content of a campaign, a closing notice or a batch. No signature is verified, except that of a campaign
    with --trust.

    For a campaign, also show its certificate, computed from the channel's integers; `halftruth audit` adds the expected
    errors, the levels under other notions and the posterior. With --trust, one of these keys must have signed the
    campaign; its signature is verified, and the author's name is shown.
    """
    data = file.read_bytes()
    try:
        content = read_content(data)
    except BadData as error:
        raise Failure(f"{file}: {error}", BAD_DATA) from None
    if trust and not isinstance(content, CampaignFile):
        kind, command = ("closing notice", "import") if isinstance(content, ClosingFile) else ("batch", "ingest")
        raise click.UsageError(
            f"--trust verifies a campaign, and {file} is a {kind}: leave out --trust to see its content unverified; "
            f"`halftruth {command}` verifies it"
        )
    if isinstance(content, CampaignFile):
        campaign = content.campaign
        claims = {
            "title": campaign.title,
            "question": campaign.question,
            "purpose": campaign.purpose,
            "organisation": campaign.organisation,
            **study_facts(campaign),
            "id": content.id.hex(),
            "author_key_id": content.author_key_id.hex(),
            **_verified(file, data, content.author_key_id, [author_files.author_key(path) for path in trust]),
            "bytes": content.size,
            "opens": second_text(campaign.opens),
            "closes": second_text(campaign.closes),
            "periods": campaign.periods,
            "answers_per_period": campaign.answers_per_period,
            "minimum_reports": campaign.minimum_devices,
            "enrolment": campaign.enrolment,
        }
        if as_json:
            printing.print_json(claims | {"certificate": certificate_facts(campaign)})
            return
        for name, claim in claims.items():
            if isinstance(claim, list):
                claim = ", ".join(claim)
            if claim != "":
                _say_claim(name, claim)
        printing.console().print(certificate_table(campaign))
    elif isinstance(content, ClosingFile):
        claims = {
            "closes": second_text(content.closing.closes),
            "campaign": content.closing.campaign_id.hex(),
            "author_key_id": content.author_key_id.hex(),
            "bytes": content.size,
        }
        if as_json:
            printing.print_json(claims)
            return
        printing.say("a closing notice, which closes a campaign early")
        for name, claim in claims.items():
            _say_claim(name, claim)
    elif as_json:
        printing.print_json(content.as_json())
    else:
        printing.console().print(batch_table(content))


def _say_claim(name: str, claim: object) -> None:
    """Print one claim; further lines, as of a form's questions, are indented like the first."""
    text = f"{claim:,}" if isinstance(claim, int) else str(claim)
    printing.say(f"{LABELS.get(name, name.replace('_', ' ')):>20}  " + text.replace("\n", "\n" + " " * 22))


def _verified(file: Path, data: bytes, key_id: bytes, authors: Sequence[AuthorKey]) -> dict[str, str]:
    """Return the name and the fingerprint of the known author who signed a campaign; empty if no author is given.

    Raises:
        Failure: authors are given, and none of them signed the campaign, or the signature does not verify.
    """
    if not authors:
        return {}
    known = next((author for author in authors if keys.key_id(author.public) == key_id), None)
    if known is None:
        raise Failure(
            f"{file}: no key of --trust signed this campaign: name the public key of its author, or leave --trust out "
            "to see the content unverified",
            BAD_DATA,
        )
    with author_files.verifying(file):
        open_campaign(data, [known.public])
    return {"signed_by": known.name or "an author without a name", "key": known.fingerprint_text}
