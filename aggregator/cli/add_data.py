"""Commands that add data to a study: import, enrol, revoke, ingest.

Each commit takes effect as a whole or not at all. ``enrol``, ``revoke`` and ``ingest`` may make several commits; if
such a command is interrupted, its earlier commits are kept.

``estimate``, ``compare`` and ``export`` have the commands that estimate from these data, and ``upkeep`` those that
maintain a study.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import click

from aggregator.cli import arguments, author_files, options, printing
from aggregator.cli.failure import BAD_DATA, FAILED, Failure
from aggregator.cli.group import halftruth
from aggregator.cli.numbers import WholeNumber
from aggregator.engines import engine_of
from aggregator.intake import ingest as intake
from aggregator.intake.files import batch_files, may_hold, total_bytes
from aggregator.intake.framing import HEADS
from aggregator.intake.ingest import IngestResult
from aggregator.present.listing import ingest_table
from aggregator.quantity import names_text, quantity
from aggregator.receive import inbox
from aggregator.storage.paths import StoragePath
from aggregator.study import Study
from aggregator.utc import second_text
from protocol.closing import is_closing
from protocol.envelope import Kind


@halftruth.command("import")
@click.argument("file", type=arguments.existing)
@click.option(
    "--trust",
    type=arguments.existing,
    multiple=True,
    help="The author's public key, NAME.pub; may be repeated; needed for a campaign.",
)
@click.option("--name", help="Name of the campaign in the study. [default: the file's name without its ending]")
@arguments.as_json
@arguments.in_study
def import_campaign(ctx: click.Context, file: Path, trust: tuple[Path, ...], name: str | None, as_json: bool) -> None:
    """Add a signed campaign to the study; the study is created if the folder is new. A campaign that is already
    in the study keeps its name.

    The signature is verified under a key named by --trust, and the channel is audited again. A closing notice
    (`halftruth close`) needs no --trust: it is verified under the key of the campaign's author.
    """
    data = file.read_bytes()
    if is_closing(data):
        if name is not None:
            raise click.UsageError(f"--name names a campaign, and {file} is a closing notice: leave out --name")
        with author_files.verifying(file):
            closed = Study.open(arguments.study_folder(ctx)).close_early(data)
        if as_json:
            printing.print_json(
                {"name": closed.name, "id": closed.signed.id.hex(), "closed_early": closed.closed_early}
            )
        else:
            printing.say(f"{closed.name}  early closing at {second_text(closed.closed_early or 0)}")
        return
    data = author_files.campaign_file(file)
    if not trust:
        raise click.UsageError("Missing option '--trust': a campaign is verified under its author's public key")
    study = Study.create(arguments.study_folder(ctx))
    authors = [author_files.public_key(path) for path in trust]
    with author_files.verifying(file):
        signed = study.import_campaign(data, authors, name or file.stem)
    listed_name = next(listed.name for listed in study.listed() if listed.id == signed.id.hex())
    if name not in (None, listed_name):
        printing.warn(f"the campaign is already in the study under the name {listed_name!r}, and keeps this name")
    if as_json:
        printing.print_json({"name": listed_name, "title": signed.campaign.title, "id": signed.id.hex()})
    else:
        printing.say(f"{listed_name}  {signed.campaign.title!r}, id {signed.id.hex()}")


@halftruth.command()
@click.argument("files", type=arguments.existing, nargs=-1, required=True)
@arguments.as_json
@arguments.in_study
def enrol(ctx: click.Context, files: tuple[Path, ...], as_json: bool) -> None:
    """Register the device keys in FILES, which contain enrolments from `simulate --keys` or from devices."""
    study = Study.open(arguments.study_folder(ctx))
    added, known = 0, 0
    refused: Counter[str] = Counter()
    for file in files:
        data = file.read_bytes()
        if not data:
            printing.warn(f"{file} is empty: copy it again")
        result = study.enrol(data)
        added, known = added + result.added, known + result.known
        refused.update(result.refused)
    if as_json:
        printing.print_json({"added": added, "known": known, "rejected": refused})
    else:
        printing.say(
            f"{quantity(added, 'key')} registered, {known:,} already registered, {sum(refused.values()):,} refused"
        )
        for reason, count in refused.items():
            printing.say(f"  {count:,}  {'not enrolments, or ' * (reason == 'malformed')}{reason}")
    if not added and not known:
        raise Failure(
            "no key was registered: name files of enrolments, as `simulate --keys` or a device writes them", BAD_DATA
        )


@halftruth.command()
@click.argument("files", type=arguments.existing, nargs=-1, required=True)
@click.option(
    "--from-period",
    "since",
    type=WholeNumber(min=0),
    metavar="N",
    help="Refuse only reports of period N and later periods. [default: all periods]",
)
@arguments.as_json
@arguments.in_study
def revoke(ctx: click.Context, files: tuple[Path, ...], since: int | None, as_json: bool) -> None:
    """Refuse reports under the device keys in FILES from now on; reports that were counted stay counted.

    With --from-period N, for example for a phone that was stolen in period N, reports of earlier periods still count,
    even if they arrive later. A key that is revoked again keeps its earliest period.
    """
    study = Study.open(arguments.study_folder(ctx))
    batches = [file.read_bytes() for file in files]
    revoked, counted = study.revoke(*batches, since=since or 0), study.counted_under(*batches, since=since or 0)
    if as_json:
        printing.print_json({"revoked": revoked, "from_period": since or 0, "counted": counted})
    else:
        printing.say(f"{quantity(revoked, 'key')} revoked" + (f" from period {since} on" if since else ""))
    if counted:
        periods = f", of period {since} and later periods" if since else ""
        printing.note(
            f"the study still counts {quantity(counted, 'output')} under these keys{periods}. `halftruth --study "
            f"{study.path} rebuild --afresh --out NEW` makes a study without these outputs, from the uploads in the "
            "archive. If files were ingested by name, give all batches with --from"
        )
    if not revoked:
        if not study.enrolments_in(*batches):
            raise Failure(
                "no key was revoked: the files have no enrolments for a campaign of this study; name the files of the "
                "keys' enrolments",
                BAD_DATA,
            )
        earlier = f", from period {since} or an earlier one on" if since else ""
        raise Failure(f"no key was revoked: all keys in the files are already revoked{earlier}", FAILED)


@halftruth.command()
@click.argument("paths", type=arguments.batches, nargs=-1)
@click.option(
    "--threads",
    type=WholeNumber(min=1),
    help="Number of verifying threads or processes. [default: one for each processor]",
)
@options.engine
@arguments.as_json
@arguments.in_study
def ingest(
    ctx: click.Context, paths: tuple[StoragePath, ...], threads: int | None, engine_name: str, as_json: bool
) -> IngestResult:
    """Verify the reports in PATHS (files, folders, or s3:// locations) and count each report once.

    Without PATHS, verify and count the uploads in the study's inbox, and then archive them. A bad report does not stop
    the ingest: it is refused, and the refusal is recorded under the first check that it fails.
    """
    study = Study.open(arguments.study_folder(ctx))
    uploads = [] if paths else inbox.waiting(study.path)
    if admitted := inbox.admitted(study.path):
        study.enrol(b"".join(file.read_bytes() for file in admitted), threads=threads)
        inbox.archive_admitted(study.path, admitted)
    if not paths and not uploads:
        printing.note(
            f"no uploads in {inbox.inbox_of(study.path)}; to ingest other reports, name their files or folders"
        )
    files: list[StoragePath] = [*uploads]
    for path in paths:
        batches = batch_files([path])
        if not batches:
            printing.warn(f"{path} has no files: check the path")
        files += batches
    if threads and "://" in engine_name:
        raise click.UsageError("--threads cannot be set for a scheduler, which has its own workers: leave it out")
    with engine_of(engine_name, threads) as engine, printing.progress("verifying", total_bytes(files)) as advance:
        result = engine.ingest(study, files, now=int(time.time()), progress=advance)
    others = no_batches(files, "`halftruth import`") if result.refused.get("malformed") else []
    if uploads:
        inbox.archive(study.path, uploads, result.warnings)
    printing.warn(*result.warnings, *others)
    if as_json:
        printing.print_json(result.as_json())
    else:
        printing.console().print(ingest_table(result))
    return result


def no_batches(files: list[StoragePath], adding: str) -> list[str]:
    """Return a warning for files that are campaigns or closing notices, and a warning for files without any envelope.

    Args:
        adding: the command or option that takes campaigns and closing notices.
    """

    def holds(file: StoragePath, *kinds: Kind) -> bool:
        return any(may_hold(file, HEADS[kind], intake.READ_BYTES) for kind in kinds)

    others = [file for file in files if not holds(file, Kind.REPORT, Kind.ENROLMENT)]
    signed = [file for file in others if holds(file, Kind.CAMPAIGN, Kind.CLOSING)]
    empty = [file for file in others if file not in signed]
    warnings = []
    if signed:
        warnings.append(
            f"{names_text(signed)}: no reports, but a signed campaign or closing notice; add it with {adding}"
        )
    if empty:
        warnings.append(f"no envelope in {names_text(empty)}: name only files of reports or enrolments")
    return warnings
