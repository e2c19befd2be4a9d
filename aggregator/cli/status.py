"""The command status: the content of a study."""

from __future__ import annotations

import time

import click

from aggregator.cli import shell
from aggregator.cli.shell import halftruth
from aggregator.present.listing import status_table
from aggregator.study import Study


@halftruth.command()
@shell.as_json
@shell.in_study
def status(ctx: click.Context, as_json: bool) -> None:
    """Show the content of the study: campaigns, keys, reports and refusals."""
    rows = Study.open(shell.study_folder(ctx)).status(int(time.time()))
    if as_json:
        shell.print_json([row.as_json() for row in rows])
    else:
        shell.console().print(status_table(rows))
    for row in rows:
        shell.warn(*row.warnings, subject=row.name)
