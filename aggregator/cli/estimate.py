"""The command estimate: estimate the distribution of a campaign's answers, or one number computed from it.

Options that cannot be combined are refused before anything is counted. Then the engine makes one tally, and every
output of the command comes from that tally.

Estimates by period, and their changes: changes. The estimators are imported when an estimate is made, so that the
completion of an option stays fast.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aggregator.cli import options, shell
from aggregator.cli.completion import CampaignName
from aggregator.cli.forms import (
    FormRequest,
    asked_of_form,
    print_form,
    print_form_classes,
    print_form_course,
    require_form,
    write_form_page,
)
from aggregator.cli.numbers import Number, WholeNumber
from aggregator.cli.ranges import Over, Ranges, estimate_course, estimate_ranges, print_course, print_ranges
from aggregator.cli.shell import FAILED, Failure, halftruth
from aggregator.engines import engine_of
from aggregator.estimate.names import POOLS
from aggregator.estimate.span import Span
from protocol.domain import Domain, Form

if TYPE_CHECKING:  # imported at run time only when an estimate is made
    from aggregator.estimate import query
    from aggregator.estimate.form_course import FormClasses, FormCourse
    from aggregator.estimate.form_result import FormEstimate
    from aggregator.estimate.ordered import Ordered
    from aggregator.estimate.ordered_course import OrderedCourse
    from aggregator.estimate.result import Estimate
    from aggregator.estimate.tally import Tally
    from aggregator.estimate.trend import Trend
    from aggregator.families.decoder import Floats

FILES = ("parquet", "geojson")
"""Formats that hold a whole distribution, for other programs."""


@halftruth.command()
@click.argument("campaign", type=CampaignName())
@click.option(
    "--format",
    "form",
    type=click.Choice((*options.FORMS, *FILES)),
    default=options.FORMS[0],
    show_default=True,
    help="Output format. parquet is binary, so redirect it to a file; geojson is for grids only.",
)
@options.as_json
@options.plot("Draw the shares with their intervals (a map for grids and for tables of two questions)")
@click.option("--report", type=shell.writable, help="Write the report page: one self-contained HTML file.")
@click.option(
    "--period", type=WholeNumber(min=0), help="Estimate one period. [default: the latest report of each device]"
)
@click.option(
    "--by",
    type=click.Choice(["period", "class"]),
    help="Estimate each period and the change between periods. With quantiles and ranges also: each class.",
)
@click.option(
    "--periods",
    type=options.SpanList(),
    help="With --by period: combine periods, for example 0-3,4-7.",
    metavar="SPANS",
)
@click.option(
    "--between",
    metavar="A,B",
    help="The share of people from value A to value B. With --by period: the two periods to compare.",
)
@click.option("--steps", is_flag=True, help="With --by period: also the change from each period to the next.")
@click.option("--where", help="Only this class of people.", metavar="class=NAME")
@options.method
@options.confidence
@click.option(
    "--truth",
    "truth_files",
    type=shell.existing,
    multiple=True,
    help="True counts for comparison, in the format of simulate --truth. With --by period: one file for all periods, "
    "or one for each.",
)
@click.option(
    "--pool",
    type=click.Choice(POOLS),
    default=POOLS[0],
    show_default=True,
    help="How classes are pooled: all reports with equal weight, or by precision if classes have the same shares "
    "(tested; refused if they differ).",
)
@click.option(
    "--question", metavar="NAME", help="Form: the shares of one question, from all devices that were asked it."
)
@click.option("--cross", "pair", metavar="NAME,NAME", help="Form: the table of two questions.")
@click.option(
    "--value",
    help="Only this value, or district of a map with views: its share; with --population also the number of people.",
)
@click.option("--mean", is_flag=True, help="The mean of a campaign that asks for a number.")
@click.option("--quantiles", metavar="P,...", help="Quantiles of ordered values, for example .1,.5,.9.")
@click.option("--cdf", is_flag=True, help="Cumulative distribution function with a confidence band.")
@click.option(
    "--bins", metavar="V,...", help="The shares of people between these values; an edge belongs to the upper bin."
)
@click.option("--above", metavar="V", help="The share of people above this value.")
@click.option("--sum", "total", is_flag=True, help="The sum of a number over the reports, or over --population.")
@click.option(
    "--weights", type=shell.existing, help="CSV value,weight: the sum over all people of the weight of their answer."
)
@click.option(
    "--coefficients",
    type=shell.existing,
    help="TOML: a weight and an offset for each class of people, for a weighted --sum, --weights or --value.",
)
@click.option(
    "--margins",
    "margins_file",
    type=shell.existing,
    help="TOML: known shares of the population by class or by questions of a form; the estimate is weighted to them.",
)
@click.option("--offset", type=Number(-1e15, 1e15), default=0.0, help="Constant added to every weight.")
@click.option(
    "--population", type=WholeNumber(1, options.MOST), help="Size of the population that the reports represent."
)
@click.option("--forged", type=WholeNumber(1, options.MOST), help="Print the influence of this many forged reports.")
@options.engine
@shell.in_study
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
    between: str | None,
    steps: bool,
    where: str | None,
    method: str | None,
    confidence: float,
    truth_files: tuple[Path, ...],
    pool: str,
    question: str | None,
    pair: str | None,
    value: str | None,
    mean: bool,
    quantiles: str | None,
    cdf: bool,
    bins: str | None,
    above: str | None,
    total: bool,
    weights: Path | None,
    coefficients: Path | None,
    margins_file: Path | None,
    offset: float,
    population: int | None,
    forged: int | None,
    engine_name: str,
) -> Estimate | Trend | query.Answer | Ordered | OrderedCourse | FormEstimate | FormCourse | FormClasses | None:
    """Estimate the distribution of answers from the reports of CAMPAIGN (its name in the study, or its id).

    Each share has a confidence interval, and a simultaneous interval for all values together. --value, --mean, --sum
    and --weights print one number instead.

    For numbers, dates and ordered values, --quantiles, --cdf, --bins, --above and --between print quantiles and shares
    of ranges. They can be combined with --mean, and with --plot, which draws the distribution function. With --by
    period or --by class, the command prints these numbers for each period or class, and the differences.

    With --by period and none of these options, the command prints the estimate of each period and the change from the
    first to the last. --between A,B compares two other periods, --steps adds the change from each period to the next,
    and --value prints one value only.

    A form needs --question for one question, --cross for the table of two questions, or --report for a page of all
    questions. With --by period or --by class, --question and --cross print the shares of each period or class, and the
    differences.

    If fewer devices have answered than the campaign's minimum, the command ends with exit code 75.
    """
    form = "json" if as_json else form
    questions = asked_of_form(question, pair)
    if questions:
        conflicts: list[tuple[str, object]] = [("method", method), ("value", value), ("pool", pool != POOLS[0])]
        conflicts += [("mean", mean), ("sum", total), ("weights", weights)]
        conflicts += [("report", report), ("forged", forged), ("population", population), ("format", form in FILES)]
        conflicts += [(name, by and given) for name, given in (("plot", plot), ("truth", truth_files))]
        conflicts += [("margins", by == "class" and margins_file)]
        conflicts += [
            (name, True) for name in Ranges(quantiles, cdf, bins, above, None if by == "period" else between).named
        ]
        if given := [name for name, asked in conflicts if asked]:
            raise click.UsageError(f"--question and --cross print shares with intervals: leave out --{given[0]}")
    over_periods = by == "period"
    ranges = Ranges(quantiles, cdf, bins, above, None if over_periods else between)
    spans = options.SpanList().convert(between, None, ctx) if over_periods and between is not None else None
    if by == "class" and where is not None:
        raise click.UsageError("--by class estimates every class, --where a single one: leave out one of the two")
    if ranges.named:
        others = [("value", value), ("sum", total), ("weights", weights), ("truth", truth_files)]
        _require_alone(ranges.named[0], [*others, ("forged", forged), ("pool", pool != POOLS[0])])
        if form in FILES:
            raise click.UsageError(f"--format {form} writes a whole distribution: leave out --{ranges.named[0]}")
    if form in FILES and (by is not None or mean or total or weights is not None or value is not None):
        raise click.UsageError(
            f"--format {form} writes a whole distribution: leave out --by, --value, --mean, --sum and --weights"
        )
    if margins_file is not None and questions and where is not None:
        raise click.UsageError("--margins weights all classes: leave out --where")
    unweighted = [total, weights, value is not None, by, where]
    if margins_file is not None and any(unweighted) and not questions:
        raise click.UsageError(
            "--margins weights the distribution, ranges or mean of everybody, or --question or --cross: leave out "
            "--by, --where, --value, --sum and --weights"
        )
    if pool != POOLS[0] and (by is not None or where is not None or mean or total or weights or value is not None):
        raise click.UsageError(
            f"--pool {pool} estimates the distribution of everybody: leave out --by, --where and options for one number"
        )
    numbers = (("value", value is not None), ("mean", mean), ("sum", total), ("weights", weights is not None))
    queries = [word for word, asked in numbers if asked and not (ranges.named or (word == "mean" and by is not None))]
    of_all = [("plot", plot), ("truth", truth_files or None)] if by is None else []
    _require_one_number(queries, [*of_all, ("report", report), ("forged", forged)])
    if population is not None and queries not in (["value"], ["sum"], ["weights"]):
        raise click.UsageError("--population needs --value, --sum or --weights")
    if coefficients is not None:
        _require_sum_by_class(queries, [("by", by), ("where", where), ("population", population), ("offset", offset)])
    if offset and queries != ["weights"]:
        raise click.UsageError("--offset needs --weights")
    if not over_periods:
        _require_by_period(periods, steps, truth_files)
    else:
        _require_alone_by_period(queries, period, population, forged)
    name = _class_of(where)

    from aggregator.cli.changes import ChangeOutput, Course, show_trend
    from aggregator.cli.one_number import Wanted, one_number, print_answer
    from aggregator.cli.value_names import place_of
    from aggregator.estimate.classes import signed_within
    from aggregator.estimate.estimator import estimate as estimate_shares
    from aggregator.estimate.ordered import has_mean, has_summary
    from aggregator.population import read_population
    from aggregator.study import Study

    study = Study.open(shell.study_folder(ctx))
    signed = study.campaign(campaign)
    of_form = isinstance(signed.terms.domain, Form) and not questions
    require_form(signed.terms, questions, page=report is not None)
    if of_form:
        not_of_page: list[tuple[str, object]] = [
            ("by", by),
            ("where", where),
            ("method", method),
            ("plot", plot),
            ("truth", truth_files),
        ]
        not_of_page += [("forged", forged), ("format", form != options.FORMS[0]), *((word, True) for word in queries)]
        not_of_page += [(word, True) for word in ranges.named]
        if given := [word for word, asked_for in not_of_page if asked_for]:
            raise click.UsageError(f"--report of a form covers all its questions: leave out --{given[0]}")
    if period is not None:
        options.require_period(signed.terms, period)
    if name is not None and not signed.terms.classes:
        raise click.UsageError(f"{signed.terms.title!r} has no classes of people: leave out --where")
    course: Trend | None = None
    sides: OrderedCourse | None = None
    in_order = bool(ranges.named) or mean
    if by is not None and not questions and not in_order and value is None and has_summary(signed.terms):
        if truth_files:
            raise click.UsageError(
                "--truth cannot be compared with the means and deciles of several periods or classes: leave out --by"
            )
        ranges, mean, in_order = Ranges.usual(signed.terms), has_mean(signed.terms), True
    if by == "class" and not in_order and not questions:
        raise click.UsageError(
            "--by class needs --quantiles, --cdf, --bins, --above, --between or --mean; for the shares of one class "
            "give --where class=NAME, for the differences of two classes `compare --classes`"
        )
    with engine_of(engine_name) as engine:
        margins = () if margins_file is None else read_population(margins_file, signed.terms)
        form_request = FormRequest(questions, confidence, margins, form)
        if by == "period" and questions:
            return print_form_course(study, engine, signed, form_request, periods, spans, steps, name)
        if by is not None and in_order:
            over = Over(by, period, periods, spans, steps)
            drawn = replace(ranges, cdf=cdf or plot is not None or report is not None)
            sides = estimate_course(drawn, study, engine, signed, over, mean, method, confidence, name)
            print_course(sides, ranges, form, plot)
            if report is None:
                return sides
        elif by is not None and not questions:
            truths = [_true_shares(file, signed.terms.domain, signed.terms.classes, name) for file in truth_files]
            one = None if value is None else place_of(signed.terms, value)
            asked = Course(periods, spans, steps, one, truths)
            course = show_trend(engine, study, signed, asked, name, method, confidence, ChangeOutput(form, plot))
            if report is None:
                return course
        tally = engine.tally(study, signed, period)
    if of_form and report is not None:
        write_form_page(report, signed, tally, period, confidence, margins)
        return None
    if questions:
        truth_file = truth_files[-1] if truth_files else None
        if by == "class":
            return print_form_classes(signed, tally, form_request)
        return print_form(signed, tally, questions, confidence, form, margins, truth_file, plot, name)
    classes = signed.terms.classes
    signed, tally = signed_within(signed, tally, name)
    terms = signed.terms
    if by is None and ranges.named:
        drawn = replace(ranges, cdf=cdf or plot is not None or report is not None)
        read = estimate_ranges(drawn, signed, tally, mean, method, confidence, name, margins)
        print_ranges(read, ranges, form, plot)
        if report:
            _write_page(report, read.found, tally, period, ordered=read)
        return read
    if queries:
        wanted = Wanted(value, mean, weights, offset, population, coefficients)
        answer = one_number(wanted, terms, tally, confidence, margins)
        print_answer(answer, form, terms, name, tally.reports)
        return answer
    if forged is not None and forged > tally.reports:
        raise click.UsageError(f"--forged must be at most the number of reports, {tally.reports:,}, not {forged:,}")
    found = estimate_shares(
        signed, tally, method=method, level=confidence, forged=forged, where=name, pool=pool, margins=margins
    )
    truth = _true_shares(truth_files[-1], terms.domain, classes, name) if truth_files else None
    if by is None:
        _print_shares(found, tally, period, form, plot, truth)
    if report:
        _write_page(report, found, tally, period, truth=truth, course=course or sides)
    return sides or course or found


def _print_shares(
    found: Estimate, tally: Tally, period: int | None, form: str, plot: Path | None, truth: Floats | None
) -> None:
    from aggregator.estimate.ordered import has_summary, summary
    from aggregator.present.document import estimate_csv, estimate_parquet, estimates_geojson
    from aggregator.present.ordered import summary_table
    from aggregator.present.table import estimate_table

    read = summary(tally, found) if has_summary(found.terms) and (form in ("table", "json") or plot) else None
    if form == "json":
        shell.print_json(found.as_json() | ({} if read is None else read.numbers()))
    elif form == "csv":
        shell.say(estimate_csv(found, period).rstrip())
    elif form == "geojson":
        shell.say(estimates_geojson([(found, period)]).rstrip())
    elif form == "parquet":
        _write_binary(estimate_parquet(found, period))
    else:
        shell.console().print(estimate_table(found, truth) if read is None else summary_table(read, truth))
    for warning in found.warnings if read is None or form != "table" else read.warnings:
        shell.warn(f"Warning: {warning}")
    if plot:
        # The imports are here because matplotlib takes a second to load.
        if read is not None and read.bins:
            from aggregator.present.ordered_plot import draw_histogram

            draw_histogram(read, plot, truth)
        else:
            from aggregator.present.plot import draw

            draw(found, plot, truth)
        shell.warn(f"{plot}  drawn")


def _write_binary(data: bytes) -> None:
    """Write bytes to stdout; refuse if stdout is a terminal."""
    if sys.stdout.isatty():
        raise Failure("parquet is binary: redirect it to a file, with > estimate.parquet", FAILED)
    click.echo(data, nl=False)


def _true_shares(path: Path, domain: Domain, classes: tuple[str, ...], name: str | None) -> Floats:
    """Return the true shares in a file of the format that ``simulate`` reads; only those of the class ``name``, if
    given."""
    from aggregator.simulation import read_truth

    truth = read_truth(path, domain, classes)
    return (truth if name is None else truth.within(classes.index(name))).shares(domain)


def _class_of(where: str | None) -> str | None:
    """Return NAME from the option ``--where class=NAME``; None without the option."""
    if where is None:
        return None
    kind, sign, name = where.partition("=")
    if kind.strip() != "class" or not sign or not name:
        raise click.UsageError(f"--where {where[:60]!r} does not name a class: write --where class=NAME")
    return name


def _require_alone(range_: str, others: list[tuple[str, object]]) -> None:
    given = [name for name, value in others if value]
    if given:
        raise click.UsageError(f"--{range_} and --{given[0]} cannot be combined: run the command once for each")


def _require_one_number(queries: list[str], of_all: list[tuple[str, object]]) -> None:
    if len(queries) > 1:
        raise click.UsageError(f"--{queries[0]} and --{queries[1]} cannot be combined: run the command once for each")
    given = [word for word, value in of_all if value is not None]
    if queries and given:
        raise click.UsageError(
            f"--{queries[0]} prints one number, --{given[0]} needs the distribution: leave out one of the two"
        )


def _require_sum_by_class(queries: list[str], others: list[tuple[str, object]]) -> None:
    if queries not in (["value"], ["sum"], ["weights"]):
        raise click.UsageError("--coefficients needs --sum, --weights or --value")
    if given := [word for word, value in others if value]:
        raise click.UsageError(
            f"--coefficients takes all classes, offsets and people from its file: leave out --{given[0]}"
        )


def _require_alone_by_period(
    queries: list[str], period: int | None, population: int | None, forged: int | None
) -> None:
    given = [("period", period), ("population", population), ("forged", forged)]
    others = [name for name in queries if name != "value"] + [name for name, value in given if value is not None]
    if others:
        raise click.UsageError(f"--by period estimates each period: leave out --{others[0]}")


def _require_by_period(periods: list[Span] | None, steps: bool, truth_files: tuple[Path, ...]) -> None:
    given = [("periods", periods), ("steps", steps or None)]
    for name, value in given:
        if value is not None:
            raise click.UsageError(f"--{name} needs --by period")
    if len(truth_files) > 1:
        raise click.UsageError("--truth can be repeated only with --by period")


def _write_page(
    path: Path,
    found: Estimate,
    tally: Tally,
    period: int | None,
    *,
    truth: Floats | None = None,
    ordered: Ordered | None = None,
    course: Trend | OrderedCourse | None = None,
) -> None:
    from aggregator.author.audit import ask, audit
    from aggregator.present.page import page

    terms = found.terms
    with shell.progress("auditing", None):
        # Levels under other notions are defined for a channel that all people share, which campaigns with classes lack.
        audited = audit(terms, None if terms.classes else replace(ask(terms), epsilons=()))
    with shell.new_file(path) as file:
        text = page(found, audited, tally, period=period, truth=truth, ordered=ordered, course=course)
        file.write(text.encode("utf-8"))
    shell.warn(f"{path}  written")
