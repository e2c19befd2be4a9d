"""The command simulate: reports of simulated devices, for rehearsals."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path

import click

from aggregator import simulation
from aggregator.cli import arguments, author_files, new_files, options, printing
from aggregator.cli.failure import BAD_DATA, Failure
from aggregator.cli.group import halftruth
from aggregator.cli.numbers import RealNumber, WholeNumber
from aggregator.estimate.span import Span
from aggregator.quantity import quantity
from aggregator.truth_file import Truth, read_truth
from protocol.campaign import Campaign, campaign_id, unverified_campaign
from protocol.errors import OutsideSchedule


@halftruth.command()
@click.argument("file", type=arguments.existing)
@click.option(
    "--truth",
    "truth_file",
    type=arguments.existing,
    help="CSV with the header value,count; in a campaign with classes also value,count,class. The counts of equal "
    "values are added. For a form: a column for each question, with classes optionally a column class, and "
    "optionally a last column count. Each row is one person, or as many people as its count.",
)
@click.option(
    "--priors",
    "priors_file",
    type=arguments.existing,
    help="Instead of --truth, in a campaign with declared priors: CSV whose header names the values, optionally "
    "followed by epsilon and count. Each row has the weights and the level that one person declares; with the column "
    "count, the row is for this number of people. Answers are drawn from the weights; if the first column is named "
    "value, it contains the answers.",
)
@click.option(
    "--answers",
    "answers_file",
    type=new_files.writable,
    help="With --priors: file for the drawn answers, as value,count, for estimate --truth.",
)
@click.option("--out", type=new_files.writable, required=True, help="File to write the batch of reports to.")
@click.option("--keys", "enrolments_file", type=new_files.writable, help="File to write the enrolments to.")
@click.option("--seed", type=WholeNumber(min=0), help="Seed for repeatable random numbers; for experiments only.")
@click.option(
    "--period",
    type=WholeNumber(min=0),
    help="The period in which the devices answer. [default: the current one, or the nearest]",
)
@click.option("--panel", is_flag=True, help="Let the same devices answer in several periods.")
@click.option(
    "--periods",
    type=options.SpanList("a single span, such as 0-3"),
    metavar="FIRST-LAST",
    help="With --panel: the periods, for example 0-3. [default: all up to the current one]",
)
@click.option(
    "--change",
    type=RealNumber(0, 1),
    help="With --panel: the probability that a person draws a new answer, in each period after the first. [default: 0]",
)
@arguments.as_json
def simulate(
    file: Path,
    truth_file: Path | None,
    priors_file: Path | None,
    answers_file: Path | None,
    out: Path,
    enrolments_file: Path | None,
    seed: int | None,
    period: int | None,
    panel: bool,
    periods: list[Span] | None,
    change: float | None,
    as_json: bool,
) -> None:
    """Simulate a device for each person in a file of true counts, or of declared priors.

    Every simulated device has its own key and random numbers, and signs its report as a real device does. If the
    campaign accepts any device, the batch also contains the devices' enrolments. If it accepts enrolled devices only,
    register the file of --keys with `halftruth enrol`. If the campaign has classes and --truth has no column
    class, each person's class is drawn uniformly at random. In a campaign with declared priors, everybody declares
    the shares of --truth; with --priors, each person declares the prior in their row.

    With --panel, every device answers in each period. A person keeps their answer from one period to the next with
    probability 1 - CHANGE. Otherwise they draw an answer, which may be the same one. With --truth, they draw it from
    the true shares (of their class). With --priors, they draw it from their declared prior; if the file has answers,
    from the answers of the people with the same prior. A device draws one output for each value, and repeats this
    output when the value occurs again; in a campaign with transcripts it draws an output for every report.
    """
    new = [path.resolve() for path in (out, enrolments_file, answers_file) if path is not None]
    if len(set(new)) < len(new):
        raise click.UsageError("two of --out, --keys and --answers name the same file: name a file for each")
    data = author_files.campaign_file(file)
    campaign = unverified_campaign(data)
    if (truth_file is None) == (priors_file is None):
        fault = "neither --truth nor --priors is given" if truth_file is None else "--truth and --priors are both given"
        raise click.UsageError(f"{fault}: give --truth or, for a campaign with declared priors, --priors")
    if answers_file is not None and priors_file is None:
        raise click.UsageError("--answers needs --priors: with --truth, the file states the answers")
    truth, drawn = _people_of(campaign, truth_file, priors_file, seed)
    if answers_file is not None and not drawn:
        raise Failure(f"{priors_file} already states the answers, in its column value: leave out --answers", BAD_DATA)
    if campaign.enrolment == "enrolled" and enrolments_file is None:
        raise Failure("this campaign accepts enrolled devices only: give --keys, a file for the enrolments", BAD_DATA)
    answered = _periods_of(campaign, period, panel, periods, change)
    if seed is not None:
        printing.warn("--seed is for experiments only: whoever knows the seed can compute every answer.")
    with ExitStack() as files:
        batch = files.enter_context(new_files.new_file(out))
        enrolments = files.enter_context(new_files.new_file(enrolments_file)) if enrolments_file else None
        advance = files.enter_context(printing.progress("devices answer", truth.people))
        for sent in simulation.simulate(
            campaign, campaign_id(data), truth, answered, change or 0.0, seed=seed, processes=os.cpu_count() or 1
        ):
            batch.write(sent.reports)
            if enrolments:
                enrolments.write(sent.enrolments)
            advance(sent.people)
        if answers_file is not None:
            files.enter_context(new_files.new_file(answers_file)).write(drawn.encode())
    reports = truth.people * len(answered)
    if as_json:
        files_made = {"file": str(out), "enrolments": None if enrolments_file is None else str(enrolments_file)}
        facts = {"reports": reports, "devices": truth.people, "period": answered[-1], "periods": len(answered)}
        printing.print_json(files_made | facts | {"bytes": out.stat().st_size})
        return
    span = Span(answered[0], answered[-1])
    printing.say(f"{out}  {quantity(reports, 'report')} for {span.name_in_text}, {out.stat().st_size:,} bytes")
    if enrolments_file:
        printing.say(
            f"{enrolments_file}  {quantity(truth.people, 'enrolment')}, {enrolments_file.stat().st_size:,} bytes"
        )


def _people_of(
    campaign: Campaign, truth_file: Path | None, priors_file: Path | None, seed: int | None
) -> tuple[Truth, str]:
    """Return the true answers and declared priors of the simulated people, and the drawn answers as CSV text ("" if
    none were drawn)."""
    if truth_file is not None:
        truth = read_truth(truth_file, campaign.domain, campaign.classes, max_people=simulation.MAX_DEVICES)
        return truth, ""
    from aggregator import priors_file as priors

    people = priors.read_priors(Path(priors_file or ""), campaign, max_people=simulation.MAX_DEVICES)
    truth = priors.truth_of(people, campaign.domain, seed)
    return truth, priors.drawn_answers_csv(truth, campaign.domain) if people[0].answer is None else ""


def _periods_of(
    campaign: Campaign, period: int | None, panel: bool, periods: list[Span] | None, change: float | None
) -> range:
    """Return the periods in which simulated devices answer."""
    if not panel and (periods is not None or change is not None):
        raise click.UsageError("--periods and --change need --panel")
    if panel and period is not None:
        raise click.UsageError("--period cannot be combined with --panel: give --periods FIRST-LAST")
    if periods is not None and len(periods) != 1:
        raise click.UsageError(f"--periods has {len(periods)} spans, but a panel needs a single span, such as 0-3")
    current = _period_near(campaign, int(time.time())) if period is None else period
    first, last = (0 if panel else current), current
    if periods is not None:
        first, last = periods[0].first, periods[0].last
    options.require_period(campaign, last)
    if panel and campaign.periods == 1:
        raise click.UsageError(f"--panel needs several periods, and {campaign.title!r} has one: leave out --panel")
    if panel and first == last:
        raise click.UsageError(
            f"a panel must answer in at least two periods, not in period {first} only: give --periods FIRST-LAST"
        )
    return range(first, last + 1)


def _period_near(campaign: Campaign, now: int) -> int:
    """Return the period at ``now``; the first period if the campaign is not open yet, and the last if it has closed."""
    try:
        return campaign.period_at(now)
    except OutsideSchedule:
        return 0 if now < campaign.opens else campaign.periods - 1
