"""The command invite: the link of a campaign, as text, QR code and poster."""

from __future__ import annotations

import time
from pathlib import Path

import click

from aggregator.cli import arguments, new_files, printing, signed
from aggregator.cli.completion import CampaignName
from aggregator.cli.group import halftruth
from aggregator.invite.invitation import invite as invitation
from aggregator.invite.qr import as_text, modules_of


@halftruth.command()
@click.argument("campaign", type=CampaignName())
@signed.trust
@click.option("--address", metavar="URL", help="Address of the study. [default: the first that the campaign names]")
@click.option("--language", metavar="TAG", help="Language of the poster, such as de. [default: the campaign's]")
@click.option(
    "--out",
    type=new_files.NewFile(".svg", ".pdf", ".png", ".html"),
    help="File to draw the poster to: .svg, .pdf, .png or .html.",
)
@arguments.as_json
@arguments.in_study
def invite(
    ctx: click.Context,
    campaign: str,
    trust: Path | None,
    address: str | None,
    language: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Invite people to CAMPAIGN, a campaign of the study or a signed campaign's file.

    Print the link and its QR code; with --out, print the link, and draw a poster of one A4 page with both. The link
    contains the study's address, the campaign's id and the fingerprint of the author's key. A person needs nothing else
    to join, except a code if the campaign accepts enrolled devices only.
    """
    if language is not None and out is None:
        raise click.UsageError("--language needs --out, the poster")
    known = signed.named_campaign(ctx, campaign, trust)
    link = invitation(known.signed, int(time.time()), address, known.closed_early)
    if out is not None:
        from aggregator.invite.content import PosterContent
        from aggregator.invite.poster import draw_poster, undrawn  # matplotlib takes a second to load
        from aggregator.invite.wording import missing_texts

        content = PosterContent.of(known.signed, link, language, known.closed_early)
        drawn = draw_poster(content, out.suffix.lower().removeprefix("."))
        with new_files.new_file(out) as file:
            file.write(drawn)
        printing.warn(*missing_texts(known.signed.campaign, language))
        if missing := undrawn(content):
            printing.warn(
                f"the poster does not show these letters correctly: {' '.join(missing)}. Make your own poster "
                "with the link"
            )
    if link.address.startswith("http:"):
        printing.warn(f"{link.host} is this machine, so the link works on this machine only")
    if known.signed.campaign.enrolment == "enrolled":
        printing.warn("the campaign accepts enrolled devices only, so people also need a code: see `halftruth codes`")
    if as_json:
        facts = {"link": str(link), "address": link.address, "host": link.host, "id": known.signed.id.hex()}
        fingerprint = link.fingerprint_text
        printing.print_json(facts | {"fingerprint": fingerprint, "file": None if out is None else str(out)})
        return
    if out is not None:
        printing.note(f"{out}  drawn")
    else:
        _show_code(as_text(modules_of(str(link))))
    printing.say(str(link))


def _show_code(code: str) -> None:
    """Print a QR code, dark on light in terminals with any colours."""
    from rich.text import Text

    console = printing.console()
    if console.width < len(code.splitlines()[0]):
        printing.warn("the window is too narrow for the QR code: draw it with --out")
        return
    console.print(Text(code, style="#000000 on #ffffff", no_wrap=True))
