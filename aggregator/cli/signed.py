"""The campaign that a command names: a campaign of the study, or a signed file with its author's key."""

from __future__ import annotations

from pathlib import Path

import click

from aggregator.cli import arguments, author_files
from aggregator.holdings import VerifiedCampaign
from aggregator.study import Study
from protocol.campaign import open_campaign

trust = click.option(
    "--trust", type=arguments.existing, help="The author's public key, NAME.pub; for a campaign's file only."
)


def named_campaign(ctx: click.Context, name: str, trust: Path | None) -> VerifiedCampaign:
    """Return the named campaign, verified.

    Args:
        name: a file if ``trust`` is given; otherwise the name or id of a campaign of the study.
    """
    if trust is not None:
        path = Path(name)
        if not path.is_file():
            raise click.UsageError(
                f"{name} is not a file: name a signed campaign's file, or leave out --trust for a campaign of --study"
            )
        data = author_files.campaign_file(path)
        with author_files.verifying(path):
            return VerifiedCampaign(path.stem, open_campaign(data, [author_files.public_key(trust)]))
    if ctx.obj is None:
        raise click.UsageError(
            "neither --study nor --trust is given: a campaign of a study needs --study, a signed file needs --trust"
        )
    study = Study.open(arguments.study_folder(ctx))
    return study.cached_campaign(study.campaign(name).id.hex())
