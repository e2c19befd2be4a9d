"""The command invite: the link of a campaign, as text, QR code and poster."""

from __future__ import annotations

import time
from pathlib import Path

import click

from aggregator.cli import shell
from aggregator.cli.completion import CampaignName
from aggregator.cli.shell import halftruth
from aggregator.invite.code import as_text, modules_of
from aggregator.invite.invitation import invite as invitation
from aggregator.study import Study
from protocol.campaign import SignedCampaign, open_campaign, require_campaign

FORMATS = ("svg", "pdf", "png", "html")


def _require_form(ctx: click.Context, param: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a name that promises another kind of file than a poster is."""
    if path is not None and path.suffix.lower().removeprefix(".") not in FORMATS:
        raise click.BadParameter(f"a poster is a file that ends in .{', .'.join(FORMATS)}, not {path.name}", ctx, param)
    return path


@halftruth.command()
@click.argument("what", metavar="CAMPAIGN", type=CampaignName())
@click.option("--author", type=shell.existing, help="The author's public key, NAME.pub; for a campaign's file only.")
@click.option("--address", metavar="URL", help="Address of the study. [default: the first that the campaign names]")
@click.option("--language", metavar="TAG", help="Language of the poster, such as de. [default: the campaign's]")
@click.option("--out", type=shell.writable, callback=_require_form, help="Poster to draw: a .svg, .pdf, .png or .html.")
@shell.as_json
@shell.in_study
def invite(
    ctx: click.Context,
    what: str,
    author: Path | None,
    address: str | None,
    language: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Invite people to CAMPAIGN, a campaign of the study or a signed campaign's file.

    Prints the link and its QR code; with --out, draws a poster of one A4 page with both. The link names the study's
    address, the campaign and its author's key, so that whoever follows it needs nothing else.
    """
    if author is not None:
        signed = _signed_file(Path(what), author)
    elif ctx.obj is not None:
        signed = Study.open(shell.study_folder(ctx)).campaign(what)
    else:
        raise click.UsageError("name the --study of the campaign, or a campaign's file and its --author's public key")
    link = invitation(signed, int(time.time()), address)
    if out is not None:
        from aggregator.invite.content import PosterContent
        from aggregator.invite.poster import draw_poster, undrawn  # matplotlib takes a second to load

        content = PosterContent.of(signed, link, language)
        drawn = draw_poster(content, out.suffix.lower().removeprefix("."))
        with shell.new_file(out) as file:
            file.write(drawn)
        missing = undrawn(content)
        if missing:
            shell.warn(f"Warning: the poster cannot show these letters as they are written: {' '.join(missing)}")
    if link.address.startswith("http:"):
        shell.warn(f"Warning: {link.host} is this machine: the link leads nobody else to the study")
    if as_json:
        told = {"link": str(link), "address": link.address, "host": link.host, "id": signed.id.hex()}
        fingerprint = link.fingerprint_text
        shell.print_json(told | {"fingerprint": fingerprint, "file": None if out is None else str(out)})
        return
    if out is not None:
        shell.warn(f"{out}  drawn")
    else:
        _show_code(as_text(modules_of(str(link))))
    shell.say(str(link))


def _signed_file(path: Path, author: Path) -> SignedCampaign:
    """The campaign of a file, verified with its author's key."""
    data = path.read_bytes()
    require_campaign(data)
    return open_campaign(data, [shell.public_key(author)])


def _show_code(code: str) -> None:
    """Show a code in the terminal, dark on light whatever its colours are."""
    from rich.text import Text

    console = shell.console()
    if console.width < len(code.splitlines()[0]):
        shell.warn("Warning: the window is too narrow for the QR code: --out draws it")
        return
    console.print(Text(code, style="#000000 on #ffffff", no_wrap=True))
