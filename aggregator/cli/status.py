"""The command status: the content of a study."""

from __future__ import annotations

import time

import click

from aggregator.cli import arguments, printing
from aggregator.cli.group import halftruth
from aggregator.present.listing import status_table
from aggregator.study import Study


@halftruth.command()
@arguments.as_json
@arguments.in_study
def status(ctx: click.Context, as_json: bool) -> None:
    """Show the content of the study: campaigns, keys, reports and refusals."""
    rows = Study.open(arguments.study_folder(ctx)).status(int(time.time()))
    if as_json:
        printing.print_json([row.as_json() for row in rows])
    else:
        printing.console().print(status_table(rows))
    for row in rows:
        printing.warn(*row.warnings, subject=row.name)
