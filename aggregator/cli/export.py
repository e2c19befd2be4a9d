"""The command export: a study's tallies as a table, for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from aggregator.cli import shell
from aggregator.cli.completion import CampaignName
from aggregator.cli.shell import BAD_DATA, Failure, halftruth
from aggregator.present.tallies import WRITERS, tallies_table
from aggregator.study import Study


@halftruth.command(short_help="Tallies by period as Parquet or CSV.")
@click.argument("campaign", type=CampaignName())
@click.option(
    "--to", "out", type=shell.writable, required=True, help="The new file; its ending says which: .parquet or .csv."
)
@shell.as_json
@click.pass_context
def export(ctx: click.Context, campaign: str, out: Path, as_json: bool) -> None:
    """Write the tallies of CAMPAIGN to a file: how often each output came, by period (and class).

    Keys, and rows of single devices, are never in it. A period (or class) with fewer devices than the campaign waits
    for is left out; where all are, the command ends with exit code 75.
    """
    if out.suffix not in WRITERS:
        raise Failure(f"{out.name} ends in none of: {', '.join(WRITERS)}", BAD_DATA)
    shell.require_new(out)
    study = Study.open(shell.study_folder(ctx))
    signed = study.campaign(campaign)
    counted = study.counts(signed)
    tallies = {}
    if signed.terms.answers_per_period > 1:
        periods = list(counted.reports)
        spans = study.spans(signed, [(period, period) for period in periods])
        tallies = dict(zip(periods, spans, strict=True))
    found = tallies_table(signed, counted, tallies)
    with shell.new_file(out) as file:
        WRITERS[out.suffix](found.table, file)
    if as_json:
        shell.print_json(found.as_json() | {"file": str(out)})
    else:
        shell.say(f"{out}  {found.table.num_rows:,} rows, {found.reports:,} reports in {found.periods:,} periods")
    if found.withheld:
        shell.warn(f"Warning: {found.withheld:,} reports are left out, in periods or classes of too few devices")
