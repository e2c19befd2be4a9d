"""The campaign that a command names: a campaign of the study, or a signed file with its author's key."""

from __future__ import annotations

from pathlib import Path

import click

from aggregator.cli import shell
from aggregator.holdings import Known
from aggregator.study import Study
from protocol.campaign import open_campaign

author = click.option(
    "--author", type=shell.existing, help="The author's public key, NAME.pub; for a campaign's file only."
)


def named_campaign(ctx: click.Context, what: str, author: Path | None) -> Known:
    """Return the named campaign, verified.

    Args:
        what: a file if ``author`` is given; otherwise the name or id of a campaign of the study.
    """
    if author is not None:
        return Known(Path(what).stem, open_campaign(shell.campaign_file(Path(what)), [shell.public_key(author)]))
    if ctx.obj is None:
        raise click.UsageError(
            "neither --study nor --author is given: a campaign of a study needs --study, a signed file needs --author"
        )
    study = Study.open(shell.study_folder(ctx))
    return study.known(study.campaign(what).id.hex())
