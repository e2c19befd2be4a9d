"""The command export: write a study's tallies or estimates as a table or a map, for other programs."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from aggregator.campaign_facts import counted_text
from aggregator.cli import arguments, new_files, options, printing
from aggregator.cli.completion import CampaignName
from aggregator.cli.group import halftruth
from aggregator.present.document import estimates_geojson
from aggregator.present.estimates import estimates_by_period
from aggregator.present.tallies import WRITERS, ExportedTallies, tallies_table
from aggregator.quantity import quantity
from aggregator.study import Study
from protocol.campaign import SignedCampaign

MAP = ".geojson"


@halftruth.command()
@click.argument("campaign", type=CampaignName())
@click.option(
    "--out",
    type=new_files.NewFile(*WRITERS, MAP),
    required=True,
    help="New file, .parquet, .csv or, with --estimates of a grid, .geojson.",
)
@click.option("--estimates", is_flag=True, help="Write estimated shares with their intervals instead of tallies.")
@options.method
@options.confidence
@arguments.as_json
@arguments.in_study
def export(
    ctx: click.Context, campaign: str, out: Path, estimates: bool, method: str | None, confidence: float, as_json: bool
) -> None:
    """Write the tallies of CAMPAIGN to a file: the count of each output, by period (and by class and view). With
    --estimates, write the estimate of each period (and class) instead.

    The file contains no keys and no rows of single devices. A period (or class, or view of a tally) with fewer devices
    than the campaign's minimum is left out; if all are left out, the command ends with exit code 75.
    """
    ending = out.suffix.lower()
    if ending == MAP and not estimates:
        raise click.UsageError(
            f"a {MAP} file needs --estimates and a grid; otherwise name a {' or '.join(WRITERS)} file"
        )
    for name in () if estimates else ("method", "confidence"):
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} needs --estimates")
    study = Study.open(arguments.study_folder(ctx))
    signed = study.campaign(campaign)
    estimated = None
    if estimates:
        periods = sorted(study.periods(signed))
        spans = study.spans(signed, [(period, period) for period in periods])
        estimated = estimates_by_period(signed, periods, spans, method, confidence)
    exported = estimated or _tallies(study, signed)
    written = estimates_geojson(estimated.estimates).encode() if estimated and ending == MAP else b""
    with new_files.new_file(out) as file:
        if written:
            file.write(written)
        else:
            WRITERS[ending](exported.table, file)
    if as_json:
        printing.print_json(exported.as_json() | {"file": str(out)})
    else:
        rows, spanned = quantity(exported.table.num_rows, "row"), quantity(exported.periods, "period")
        printing.say(f"{out}  {rows}, {counted_text(exported.reports, signed.campaign)} in {spanned}")
    if exported.withheld:
        printing.warn(
            f"the file has no rows for {counted_text(exported.withheld, signed.campaign)}, because their periods, "
            "classes or views have too few devices"
        )


def _tallies(study: Study, signed: SignedCampaign) -> ExportedTallies:
    counted = study.counts(signed)
    tallies = {}
    if signed.campaign.answers_per_period > 1:
        periods = counted.periods
        spans = study.spans(signed, [(period, period) for period in periods])
        tallies = dict(zip(periods, spans, strict=True))
    return tallies_table(signed, counted, tallies)
