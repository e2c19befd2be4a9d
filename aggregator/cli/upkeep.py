"""Commands that maintain a study: compact, rebuild."""

from __future__ import annotations

import time
from pathlib import Path

import click

from aggregator import rebuild as rebuilding
from aggregator.cli import arguments, author_files, printing
from aggregator.cli.add_data import no_batches
from aggregator.cli.group import halftruth
from aggregator.cli.numbers import WholeNumber
from aggregator.intake import compact as compaction
from aggregator.intake.compact import HOUR, RETENTION, Compaction, FileTotals
from aggregator.intake.files import batch_files, total_bytes
from aggregator.quantity import quantity
from aggregator.rebuild import Rebuilt, Sources
from aggregator.receive import inbox
from aggregator.storage.paths import StoragePath
from aggregator.storage.tables import SCHEMAS
from aggregator.study import Study
from protocol.closing import is_closing


@halftruth.command()
@click.option(
    "--retention-hours",
    type=WholeNumber(0, 10**6),
    default=RETENTION // HOUR,
    show_default=True,
    help="Hours for which unused files are kept.",
)
@click.option(
    "--alone",
    is_flag=True,
    help="State that no other process uses the study; allows a retention of less than 24 hours.",
)
@arguments.as_json
@arguments.in_study
def compact(ctx: click.Context, retention_hours: int, alone: bool, as_json: bool) -> list[Compaction]:
    """Merge the files of the study's tables, and delete files that the tables do not use.

    Tallies do not change. Other processes may ingest and estimate at the same time.
    """
    study = Study.open(arguments.study_folder(ctx))
    now = compaction.clock_of(study)
    with printing.progress("compacting", len(SCHEMAS)) as advance:
        results = compaction.compact(study, now=now, retention=retention_hours * HOUR, alone=alone, progress=advance)
    for result in results:
        if result.unchanged:
            printing.warn(
                f"{quantity(result.unchanged, 'partition')} of {result.table} could not be merged, because other "
                "processes write to this table; compact again later"
            )
    if as_json:
        printing.print_json({result.table: result.as_json() for result in results})
    else:
        for result in results:
            printing.say(f"{result.table:9}  {_text(result.before)} -> {_text(result.after)}")
            unused = [(result.removed, "removed"), (result.retained, "unused and kept")]
            for size, state in unused:
                if size.files:
                    printing.say(f"{'':9}  {state}: {_text(size)}")
    return results


def _text(size: FileTotals) -> str:
    return f"{quantity(size.files, 'file')}, {size.bytes:,} bytes in total"


@halftruth.command()
@click.option("--out", type=arguments.new_folder, required=True, help="The new study's folder.", metavar="NEW")
@click.option(
    "--from",
    "batches",
    type=arguments.batches,
    multiple=True,
    help="File, folder or s3:// location of reports; may be repeated. [default: the study's archive, inbox/done]",
)
@click.option(
    "--campaign",
    "campaigns",
    type=arguments.existing,
    multiple=True,
    help="File of a signed campaign or of a closing notice; may be repeated.",
)
@click.option(
    "--trust", type=arguments.existing, multiple=True, help="Public key of the author of a --campaign; may be repeated."
)
@click.option(
    "--keys", "enrolments", type=arguments.existing, multiple=True, help="File of device enrolments; may be repeated."
)
@click.option(
    "--afresh",
    is_flag=True,
    help="Copy no counted reports and no refusals from the old tables: count the signed reports again, without those "
    "of revoked keys.",
)
@click.option("--count-revoked", is_flag=True, help="Count the reports of revoked keys too.")
@click.option(
    "--threads", type=WholeNumber(min=1), help="Number of verifying threads. [default: one for each processor]"
)
@arguments.as_json
@arguments.in_study
def rebuild(
    ctx: click.Context,
    out: Path,
    batches: tuple[StoragePath, ...],
    campaigns: tuple[Path, ...],
    trust: tuple[Path, ...],
    enrolments: tuple[Path, ...],
    afresh: bool,
    count_revoked: bool,
    threads: int | None,
    as_json: bool,
) -> Rebuilt:
    """Rebuild a damaged study in a new folder; the damaged study is not changed.

    Readable rows of its tables are copied. The other reports are counted again from batches: those that the study
    archived after their ingest, or those of --from.
    """
    old = arguments.study_folder(ctx)
    if campaigns and not trust:
        raise click.UsageError("--campaign needs --trust: a campaign is verified under its author's public key")
    for path in campaigns:
        if not is_closing(path.read_bytes()):
            author_files.campaign_file(path)
    trusted = [author_files.public_key(path) for path in trust]
    sources = Sources(batches or None, campaigns, trusted, enrolments)
    with printing.progress("verifying", total_bytes(batches or inbox.archives(old))) as advance:
        rebuilt = rebuilding.rebuild(
            old,
            out,
            sources,
            now=int(time.time()),
            afresh=afresh,
            count_revoked=count_revoked,
            threads=threads,
            progress=advance,
        )
    printing.warn(*rebuilt.warnings, *no_batches([*batch_files(batches), *enrolments], "--campaign"))
    if as_json:
        printing.print_json(rebuilt.as_json())
    else:
        tables_note = (
            f"; tables not copied completely: {', '.join(rebuilt.incomplete)}"
            if rebuilt.incomplete
            else "; every table could be read"
        )
        copied = f"{quantity(rebuilt.copied, 'output')} copied"
        printing.say(f"{rebuilt.path}  {copied}, {rebuilt.counted:,} counted from batches{tables_note}")
    return rebuilt
