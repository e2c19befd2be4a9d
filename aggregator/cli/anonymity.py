"""The command anonymity: compute k-anonymity and l-diversity of a release."""

from __future__ import annotations

from pathlib import Path

import click

from aggregator.anonymity import anonymity_of_table, anonymity_of_views
from aggregator.cli import arguments, printing
from aggregator.cli.failure import FAILED, Failure
from aggregator.cli.group import halftruth
from aggregator.cli.numbers import WholeNumber
from aggregator.present.listing import release_table
from aggregator.study import Study


@halftruth.command()
@click.argument("source", metavar="FILE|CAMPAIGN")
@click.option(
    "--known", multiple=True, help="A column whose value an observer may know about a person; may be repeated."
)
@click.option("--sensitive", help="The column whose value must not become known.")
@click.option("--at-least-k", type=WholeNumber(min=1), help="End with exit code 1 if k is below this.")
@click.option("--at-least-l", type=WholeNumber(min=1), help="End with exit code 1 if l is below this.")
@arguments.as_json
@arguments.in_study
def anonymity(
    ctx: click.Context,
    source: str,
    known: tuple[str, ...],
    sensitive: str | None,
    at_least_k: int | None,
    at_least_l: int | None,
    as_json: bool,
) -> None:
    """Compute k-anonymity and l-diversity of FILE (CSV or Parquet), or of the reports of CAMPAIGN in the study.

    Rows with equal --known columns form an equivalence class: k is the size of the smallest equivalence class, l the
    smallest number of different --sensitive values in an equivalence class. Among reports, those with the same output
    (and the same view, declared prior and declared level, if devices have them) form an equivalence class; its
    sensitive values are the answers (for sets, the items and dummies) that can give this output. With transcripts,
    devices with the same outputs in all periods form an equivalence class.

    The result has the known values of a smallest equivalence class; if k is 1, they are one person's.
    """
    if known:
        if not Path(source).is_file():
            raise click.UsageError(f"{source} is not a file: name a CSV or Parquet file, or leave out --known")
        release = anonymity_of_table(Path(source), known, sensitive)
    elif ctx.obj is not None:
        if sensitive is not None:
            raise click.UsageError(
                "--sensitive is a column of a file, and needs --known; for the reports of a campaign, leave it out"
            )
        study = Study.open(arguments.study_folder(ctx))
        names = {name for entry in study.listed() for name in (entry.name, entry.id)}
        if Path(source).is_file() and source not in names:
            raise click.UsageError(f"{source} is a file: name the columns that an observer may know with --known")
        signed = study.campaign(source)
        release = anonymity_of_views([view.channel for view in signed.campaign.views], study.tally(signed).by_view)
    else:
        raise click.UsageError(
            "neither --known nor --study is given: a file needs --known columns, a campaign needs --study"
        )
    if at_least_l is not None and release.l is None:
        raise click.UsageError("--at-least-l needs --sensitive: name the sensitive column, or leave out --at-least-l")
    if as_json:
        printing.print_json(release.as_json())
    else:
        printing.console().print(release_table(release))
    more_k = "coarsen the known columns, or withhold the smallest equivalence classes"
    more_l = "coarsen the known columns"
    if not known:
        more_k = "wait for more reports, or ask for fewer values in a new campaign"
        more_l = "use another mechanism or notion in a new campaign, so that more answers can give each output"
        more_l = more_l if release.rows else "wait for reports"
    if at_least_k is not None and release.k < at_least_k:
        raise Failure(f"k is {release.k}, below {at_least_k}: {more_k}", FAILED)
    if at_least_l is not None and release.l is not None and release.l < at_least_l:
        raise Failure(f"l is {release.l}, below {at_least_l}: {more_l}", FAILED)
