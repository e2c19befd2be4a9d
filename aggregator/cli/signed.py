"""The campaign that a command names: one of the study, or a signed campaign's file with its author's key."""

from __future__ import annotations

from pathlib import Path

import click

from aggregator.cli import shell
from aggregator.holdings import Known
from aggregator.study import Study
from protocol.campaign import open_campaign, require_campaign

author = click.option(
    "--author", type=shell.existing, help="The author's public key, NAME.pub; for a campaign's file only."
)


def named_campaign(ctx: click.Context, what: str, author: Path | None) -> Known:
    """The campaign that is named, verified.

    Args:
        what: a file with ``author``, else a campaign of the study.
    """
    if author is not None:
        data = Path(what).read_bytes()
        require_campaign(data)
        return Known(Path(what).stem, open_campaign(data, [shell.public_key(author)]))
    if ctx.obj is None:
        raise click.UsageError("name the --study of the campaign, or a campaign's file and its --author's public key")
    study = Study.open(shell.study_folder(ctx))
    return study.known(study.campaign(what).id.hex())
