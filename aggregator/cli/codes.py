"""The command codes: single-use codes that admit devices to a campaign, as links, CSV or cards to print."""

from __future__ import annotations

import csv
import io
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import click

from aggregator.cli import arguments, new_files, printing
from aggregator.cli.completion import CampaignName
from aggregator.cli.failure import FAILED, Failure
from aggregator.cli.group import halftruth
from aggregator.cli.numbers import WholeNumber
from aggregator.invite.invitation import invite
from aggregator.quantity import quantity
from aggregator.receive.codes import MAX_CODES, Codes, grouped
from aggregator.study import Study
from protocol.campaign import SignedCampaign
from protocol.link import Link


@halftruth.command()
@click.argument("campaign", type=CampaignName())
@click.option(
    "--count",
    type=WholeNumber(1, MAX_CODES),
    help="Number of codes to make. [default: make none; print the numbers of codes made and used]",
)
@click.option("--address", metavar="URL", help="Address of the study. [default: the first that the campaign names]")
@click.option("--language", metavar="TAG", help="Language of the cards, such as de. [default: the campaign's]")
@click.option(
    "--out", type=new_files.NewFile(".csv", ".pdf"), help="File to write: a .csv for mailing, or a .pdf of cards."
)
@arguments.as_json
@arguments.in_study_on_disk
def codes(
    ctx: click.Context,
    campaign: str,
    count: int | None,
    address: str | None,
    language: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Make single-use codes for CAMPAIGN, which must accept enrolled devices only.

    Each code admits one device, and is part of a link. The links are printed, or written to --out, and stored nowhere
    else: the study has only hashes of the codes. Without --count, print the numbers of codes that were made and used.

    Keep no list of people and their codes: it would reveal which reports each person sent. The answers in the reports
    stay protected.
    """
    study = Study.open(arguments.study_folder(ctx))
    signed = study.campaign(campaign)
    closed_early = study.cached_campaign(signed.id.hex()).closed_early
    if signed.campaign.enrolment != "enrolled":
        raise Failure(
            f"{signed.campaign.title!r} accepts reports of any device, so it needs no codes: use `halftruth invite`",
            FAILED,
        )
    store = Codes(study.path)
    if count is None:
        others = {"out": out, "address": address, "language": language}
        if unused := [name for name, option in others.items() if option is not None]:
            raise click.UsageError(f"--{unused[0]} needs --count, the number of codes to make")
        counts = store.counts(signed.id)
        if as_json:
            printing.print_json({"id": signed.id.hex(), "made": counts.total, "redeemed": counts.redeemed})
        else:
            printing.say(f"{quantity(counts.total, 'code')} made, {counts.redeemed:,} used")
        return
    link = invite(signed, int(time.time()), address, closed_early)
    with new_files.new_file(out, 0o600) if out else nullcontext() as file:
        links = [replace(link, code=code) for code in store.make(signed.id, count)]
        if file is not None and out is not None:
            file.write(_drawn(signed, links, out, language, closed_early))
    if as_json:
        facts = {"id": signed.id.hex(), "made": count, "file": None if out is None else str(out)}
        printing.print_json(facts | {"links": [] if out else [str(code_link) for code_link in links]})
    elif out is not None:
        printing.say(f"{out}  {quantity(count, 'code')}, each for one device")
    else:
        for code_link in links:
            printing.say(str(code_link))


def _drawn(
    signed: SignedCampaign, links: list[Link], out: Path, language: str | None, closed_early: int | None
) -> bytes:
    """Return the content of the file ``out``: a CSV file of codes and links, or a PDF file of cards."""
    if out.suffix.lower() == ".csv":
        written = io.StringIO()
        table = csv.writer(written, lineterminator="\n")
        table.writerow(("code", "link"))
        table.writerows((grouped(link.code), str(link)) for link in links)
        return written.getvalue().encode()
    from aggregator.invite.cards import CardTexts, draw_cards  # matplotlib takes a second to load
    from aggregator.invite.wording import missing_texts

    printing.warn(*missing_texts(signed.campaign, language))
    with printing.progress("drawing", len(links)) as advance:
        return draw_cards(
            CardTexts.of(signed, language, closed_early), [(link, grouped(link.code)) for link in links], advance
        )
