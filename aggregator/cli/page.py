"""The command page: the page on which people answer, as one file."""

from __future__ import annotations

import time
from pathlib import Path

import click

from aggregator.cli import arguments, new_files, printing, signed
from aggregator.cli.completion import CampaignName
from aggregator.cli.group import halftruth
from aggregator.page.alone import page_file
from aggregator.page.document import page_code


@halftruth.command()
@click.argument("campaign", type=CampaignName())
@signed.trust
@click.option("--out", type=new_files.NewFile(".html"), required=True, help="File to write the page to, .html.")
@click.option(
    "--download", is_flag=True, help="Let people save their reports as files; for campaigns without an address."
)
@arguments.as_json
@arguments.in_study
def page(ctx: click.Context, campaign: str, trust: Path | None, out: Path, download: bool, as_json: bool) -> None:
    """Write the page of CAMPAIGN, a campaign of the study or a signed campaign's file, as one HTML file.

    People open the file in a browser; it needs no server. The page loads nothing from the network, and sends reports to
    the campaign's addresses, where `halftruth receive` accepts them for the study. `receive` also serves this page,
    without a file. With --download, people save their reports as files instead of sending them.
    """
    known = signed.named_campaign(ctx, campaign, trust)
    html = page_file(known.signed, int(time.time()), closing=known.closing, download=download).encode()
    with new_files.new_file(out) as file:
        file.write(html)
    addresses = known.signed.campaign.addresses
    if as_json:
        facts = {"file": str(out), "bytes": len(html), "id": known.signed.id.hex(), "addresses": list(addresses)}
        printing.print_json(facts | {"script": page_code().script_source.strip("'")})
        return
    printing.say(
        f"{out}  {len(html):,} bytes, sends to {', '.join(addresses) or 'no address: people save their reports'}"
    )
    printing.warn(
        "some browsers let other local files read the data of this page, the device's key included: if "
        "possible, serve the page with `halftruth receive`"
    )
