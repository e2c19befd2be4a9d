"""The desk's commands, on a study: import, enrol, revoke, ingest, status, estimate."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import click
import numpy as np

from aggregator.audit import ask, audit_campaign
from aggregator.cli import shell
from aggregator.cli.changes import Form, Spans, show_trend
from aggregator.cli.completion import CampaignName
from aggregator.cli.shell import BAD_DATA, FAILED, Failure, halftruth
from aggregator.engines import engine_of, is_engine
from aggregator.estimate import query
from aggregator.estimate.classes import within
from aggregator.estimate.decoders.decoder import Floats
from aggregator.estimate.result import METHODS, Estimate
from aggregator.estimate.result import estimate as estimate_shares
from aggregator.estimate.tally import Tally
from aggregator.estimate.trend import Span, Trend
from aggregator.intake import ingest as intake
from aggregator.intake.ingest import IngestResult
from aggregator.present.document import answer_csv, estimate_csv
from aggregator.present.listing import ingest_table, status_table
from aggregator.present.page import page
from aggregator.present.table import answer_table, estimate_table
from aggregator.receive import inbox
from aggregator.sheet import read_sheet
from aggregator.simulate import read_truth
from aggregator.study import Study
from protocol.domain import DITHER_BYTES, Answer, Domain, Items


def _engine_name(_ctx: click.Context, _parameter: click.Parameter, name: str) -> str:
    if not is_engine(name):
        raise click.BadParameter("local, dask, dask://HOST:PORT or dask+tls://HOST:PORT")
    return name


_engine = click.option(
    "--engine",
    "engine_name",
    default="local",
    show_default=True,
    callback=_engine_name,
    metavar="ENGINE",
    help="Where the work is done: local (threads), dask (processes on this machine), or a scheduler, dask://HOST:PORT.",
)


@halftruth.command("import", short_help="Take a signed campaign into the study.")
@click.argument("file", type=shell.existing)
@click.option("--trust", type=shell.existing, multiple=True, required=True, help="The author's public key, NAME.pub.")
@click.option("--name", help="What the study calls it. [default: the file's name without its ending]")
@shell.as_json
@click.pass_context
def import_campaign(ctx: click.Context, file: Path, trust: tuple[Path, ...], name: str | None, as_json: bool) -> None:
    """Take a signed campaign into the study; a new folder becomes a study.

    The signature is verified under a key named by --trust, and the channel audited again.
    """
    study = Study.create(shell.study_folder(ctx))
    name = name or file.stem
    signed = study.import_campaign(file.read_bytes(), [shell.public_key(path) for path in trust], name)
    if as_json:
        shell.print_json({"name": name, "title": signed.terms.title, "id": signed.id.hex()})
    else:
        shell.say(f"{name}  {signed.terms.title!r}, id {signed.id.hex()}")


@halftruth.command(short_help="Register device keys.")
@click.argument("files", type=shell.existing, nargs=-1, required=True)
@shell.as_json
@click.pass_context
def enrol(ctx: click.Context, files: tuple[Path, ...], as_json: bool) -> None:
    """Register the device keys in FILES (enrolments, as `simulate --keys` or a device writes them)."""
    study = Study.open(shell.study_folder(ctx))
    added, known = 0, 0
    refused: Counter[str] = Counter()
    for file in files:
        result = study.enrol(file.read_bytes())
        added, known = added + result.added, known + result.known
        refused.update(result.refused)
    if as_json:
        shell.print_json({"added": added, "known": known, "refused": refused})
    else:
        shell.say(f"{added} keys enrolled, {known} known before, {sum(refused.values())} refused")
        for reason, count in refused.items():
            shell.say(f"  {count}  {reason}")
    if refused and not added and not known:
        raise Failure("no key was enrolled", BAD_DATA)


@halftruth.command(short_help="Refuse reports under device keys from now on.")
@click.argument("files", type=shell.existing, nargs=-1, required=True)
@click.option(
    "--from-period",
    "since",
    type=click.IntRange(min=0),
    metavar="N",
    help="Refuse reports of period N and later ones only. [default: of all periods]",
)
@shell.as_json
@click.pass_context
def revoke(ctx: click.Context, files: tuple[Path, ...], since: int | None, as_json: bool) -> None:
    """Refuse reports under the device keys in FILES from now on; what was counted stays counted.

    With --from-period N, for example of a phone that was stolen in period N, reports of earlier periods still count,
    late ones too. A key that is revoked again keeps the earliest period.
    """
    study = Study.open(shell.study_folder(ctx))
    batches = [file.read_bytes() for file in files]
    revoked, counted = study.revoke(*batches, since=since or 0), study.counted_under(*batches, since=since or 0)
    if as_json:
        shell.print_json({"revoked": revoked, "from_period": since or 0, "counted": counted})
    else:
        shell.say(f"{revoked} keys revoked" + (f" from period {since} on" if since else ""))
    if counted:
        what = f"of period {since} and later ones" if since else "under these keys"
        shell.warn(
            f"{counted:,} outputs {what} were counted before, and stay; "
            f"`halftruth --study {study.path} rebuild --afresh --out NEW` makes a study without them"
        )
    if not revoked:
        more = f" from period {since} or an earlier one on" if since else ""
        raise Failure(f"the study knows none of these keys, or had revoked them all{more}", FAILED)


@halftruth.command(short_help="Verify reports and count each once.")
@click.argument("paths", type=shell.existing_or_folder, nargs=-1)
@click.option("--threads", type=click.IntRange(min=1), help="Threads or processes that verify. [default: one a core]")
@_engine
@shell.as_json
@click.pass_context
def ingest(
    ctx: click.Context, paths: tuple[Path, ...], threads: int | None, engine_name: str, as_json: bool
) -> IngestResult:
    """Verify the reports in PATHS (files or folders) and count each once, however often it comes.

    Without PATHS, the uploads in the study's inbox, which are then put away. Nothing stops for a bad report: each is
    counted under the first check it fails.
    """
    study = Study.open(shell.study_folder(ctx))
    files = list(paths) or inbox.waiting(study.path)
    if not files:
        shell.warn(f"nothing waits in {inbox.inbox_of(study.path)}; name files or folders to read others")
    if threads and "://" in engine_name:
        raise click.UsageError("--threads: a scheduler has the workers that it has")
    with engine_of(engine_name, threads) as engine, shell.progress("verifying", intake.size_of(files)) as advance:
        result = engine.ingest(study, files, now=int(time.time()), progress=advance)
    if not paths and files:
        inbox.put_away(study.path, files, result.warnings)
    for warning in result.warnings:
        shell.warn(f"Warning: {warning}")
    if as_json:
        shell.print_json(result.as_json())
    else:
        shell.console().print(ingest_table(result))
    return result


@halftruth.command(short_help="What the study holds.")
@shell.as_json
@click.pass_context
def status(ctx: click.Context, as_json: bool) -> None:
    """What the study holds: campaigns, keys, reports and refusals."""
    rows = Study.open(shell.study_folder(ctx)).status(int(time.time()))
    if as_json:
        shell.print_json([row.as_json() for row in rows])
    else:
        shell.console().print(status_table(rows))


@halftruth.command(short_help="The distribution behind a campaign's reports.")
@click.argument("campaign", type=CampaignName())
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    show_default=True,
    help="How it is printed.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--plot", type=shell.writable, help="Draw the shares with their intervals (a map for grids), PNG.")
@click.option("--report", type=shell.writable, help="Write the page to hand on: one HTML file that stands alone.")
@click.option("--period", type=click.IntRange(min=0), help="One period. [default: everybody's latest answer]")
@click.option("--by", type=click.Choice(["period"]), help="An estimate of each period, and what has changed.")
@click.option("--periods", type=Spans(), help="With --by period: take periods together, as 0-3,4-7.", metavar="SPANS")
@click.option("--where", help="One class of people only, as class=NAME.", metavar="class=NAME")
@click.option("--method", type=click.Choice(METHODS), help="The estimator. [default: what suits the campaign]")
@click.option(
    "--confidence", type=click.FloatRange(0.5, 0.9999), default=0.95, show_default=True, help="Of the intervals."
)
@click.option("--truth", "truth_file", type=shell.existing, help="CSV value,count to set beside it, in rehearsals.")
@click.option("--value", help="Only this value: its share, and people with --population.")
@click.option("--mean", is_flag=True, help="The mean of a campaign that asks for a number.")
@click.option("--sum", "total", is_flag=True, help="Its sum, over the reports or --population.")
@click.option("--weights", type=shell.existing, help="CSV value,weight: the sum of everybody's weight.")
@click.option("--offset", type=float, default=0.0, help="Added to every weight.")
@click.option("--population", type=click.IntRange(min=1), help="How many people the reports stand for.")
@click.option("--forged", type=click.IntRange(min=1), help="State the influence of this many forged reports.")
@_engine
@click.pass_context
def estimate(
    ctx: click.Context,
    campaign: str,
    form: str,
    as_json: bool,
    plot: Path | None,
    report: Path | None,
    period: int | None,
    by: str | None,
    periods: list[Span] | None,
    where: str | None,
    method: str | None,
    confidence: float,
    truth_file: Path | None,
    value: str | None,
    mean: bool,
    total: bool,
    weights: Path | None,
    offset: float,
    population: int | None,
    forged: int | None,
    engine_name: str,
) -> Estimate | Trend | query.Answer:
    """The distribution behind the reports of CAMPAIGN (its name in the study, or its id).

    Shares come with intervals for each value by itself, and for all values together. With --value, --mean, --sum or
    --weights, one number instead. With --by period, the course over the periods, and the change from the first to the
    last. Fewer reports than the campaign's minimum end with exit code 75.
    """
    form = "json" if as_json else form
    study = Study.open(shell.study_folder(ctx))
    signed = study.campaign(campaign)
    name = _class_of(where)
    queries = [
        name for name, asked in (("value", value), ("mean", mean), ("sum", total), ("weights", weights)) if asked
    ]
    if len(queries) > 1:
        raise click.UsageError(f"--{queries[0]} and --{queries[1]} ask for two numbers: ask twice")
    if queries and plot:
        raise click.UsageError(f"--plot draws the distribution, --{queries[0]} asks for one number: ask twice")
    if queries and report:
        raise click.UsageError(f"--report tells of the distribution, --{queries[0]} asks for one number: ask twice")
    if by is None and periods is not None:
        raise click.UsageError("--periods goes with --by period")
    course: Trend | None = None
    if by is not None:
        _require_alone_by_period(queries, period, truth_file, forged)
        course = show_trend(study, signed, periods, name, method, confidence, Form(form, plot))
        if report is None:
            return course
    with engine_of(engine_name) as engine:
        tally = study.grouped(signed, engine.tally(study, signed, period), period)
    if name is not None:
        cut, tally = within(signed.terms, tally, name)
        signed = replace(signed, terms=cut)
    terms = signed.terms
    if value is not None:
        x = _value(terms.domain, terms.domain.parse(value))
        answer = query.survey(terms, tally, x, level=confidence)
        if population:
            answer = answer.times(population, f"people with {terms.domain.label(x)}")
    elif mean:
        answer = query.mean(terms, tally, level=confidence)
    elif total:
        answer = query.total(terms, tally, population=population, level=confidence)
    elif weights:
        answer = query.weighted_sum(
            terms, tally, _weights(weights, terms.domain), offset=offset, population=population, level=confidence
        )
    else:
        if forged is not None and forged > tally.reports:
            raise click.UsageError(f"--forged: there are {tally.reports:,} reports")
        found = estimate_shares(signed, tally, method=method, level=confidence, forged=forged, where=name)
        truth = read_truth(truth_file, terms.domain, terms.classes).shares(terms.domain) if truth_file else None
        if course is None:
            _print_shares(found, form, plot, truth)
        if report:
            _write_page(report, found, tally, period, truth, course)
        return course or found
    if form == "json":
        shell.print_json({"campaign": terms.title, "class": name, "reports": tally.reports} | answer.as_json())
    elif form == "csv":
        shell.say(answer_csv(answer).rstrip())
    else:
        shell.console().print(answer_table(answer, terms, tally.reports))
    return answer


def _print_shares(found: Estimate, form: str, plot: Path | None, truth: Floats | None) -> None:
    if form == "json":
        shell.print_json(found.as_json())
    elif form == "csv":
        shell.say(estimate_csv(found).rstrip())
    else:
        shell.console().print(estimate_table(found, truth))
    for warning in found.warnings:
        shell.warn(f"Warning: {warning}")
    if plot:
        from aggregator.present.plot import draw  # matplotlib takes a second to load

        draw(found, plot, truth)
        shell.warn(f"{plot}  drawn")


def _class_of(where: str | None) -> str | None:
    """The class in ``class=NAME``."""
    if where is None:
        return None
    kind, sign, name = where.partition("=")
    if kind.strip() != "class" or not sign or not name:
        raise click.UsageError("--where is of one class, as --where class=NAME")
    return name


def _require_alone_by_period(
    queries: list[str], period: int | None, truth_file: Path | None, forged: int | None
) -> None:
    given = [("period", period), ("truth", truth_file), ("forged", forged)]
    others = queries + [name for name, value in given if value is not None]
    if others:
        raise click.UsageError(f"--by period gives whole distributions, and takes no --{others[0]}: ask twice")


def _write_page(
    path: Path, found: Estimate, tally: Tally, period: int | None, truth: Floats | None, course: Trend | None
) -> None:
    terms = found.terms
    with shell.progress("auditing", None):
        # Levels under other notions are of one law for all people, which classes do not have.
        audit = audit_campaign(terms, None if terms.classes else replace(ask(terms), epsilons=()))
    with shell.new_file(path) as file:
        file.write(page(found, audit, tally, period=period, truth=truth, trend=course).encode("utf-8"))
    shell.warn(f"{path}  written")


def _value(domain: Domain, answer: Answer) -> int:
    """The input that ``answer`` names, whatever the dither: of numbers, only the edges are values."""
    if isinstance(domain, Items):
        members = [x for x in domain.members(answer) if x < domain.count]
        if len(members) != 1:
            raise Failure("shares are of one item each: name one", BAD_DATA)
        return members[0]
    x = domain.index(answer, bytes(DITHER_BYTES))
    if x != domain.index(answer, b"\xff" * DITHER_BYTES):
        edges = ", ".join(map(domain.label, range(domain.size)))
        raise Failure(f"a number between two edges is counted at both; ask for an edge: {edges}", BAD_DATA)
    return x


def _weights(path: Path, domain: Domain) -> Floats:
    """A weight for each value, from a sheet."""
    found = {_value(domain, answer): float(weight) for answer, weight, _ in read_sheet(path, domain, "weight")}
    size = domain.count if isinstance(domain, Items) else domain.size
    missing = next((x for x in range(size) if x not in found), None)
    if missing is not None:
        raise Failure(f"{path.name} has no weight for {domain.label(missing)!r}", BAD_DATA)
    return np.array([found[x] for x in range(size)])
